//! 16-byte accesses to global memory (PTX ISA, "ld", "ld.global.nc", "st"), and prefetches.
#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_variables, unused_mut, unused_assignments))]

/// Four consecutive f32.
pub type Vec4 = [f32; 4];

/// Defines a 16-byte load.
macro_rules! load {
    ($(#[$doc:meta])* $name:ident, $instruction:literal, $($option:ident),*) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// `p` is aligned to 16 bytes and 16 readable bytes of global memory lie there.
        #[inline(always)]
        pub unsafe fn $name(p: *const f32) -> Vec4 {
            let (mut x, mut y, mut z, mut w) = (0f32, 0f32, 0f32, 0f32);
            // SAFETY: the caller vouches for address and alignment.
            unsafe {
                ptx!(
                    concat!($instruction, " {{{0}, {1}, {2}, {3}}}, [{4}];"),
                    out(reg32) x, out(reg32) y, out(reg32) z, out(reg32) w, in(reg64) p,
                    options($($option,)* nostack)
                );
            }
            [x, y, z, w]
        }
    };
}

/// Defines a 16-byte store.
macro_rules! store {
    ($(#[$doc:meta])* $name:ident, $instruction:literal) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// `p` is aligned to 16 bytes and 16 writable bytes of global memory lie there, which
        /// no other thread accesses meanwhile.
        #[inline(always)]
        pub unsafe fn $name(p: *mut f32, v: Vec4) {
            // SAFETY: the caller vouches for address, alignment and exclusiveness.
            unsafe {
                ptx!(
                    concat!($instruction, " [{4}], {{{0}, {1}, {2}, {3}}};"),
                    in(reg32) v[0], in(reg32) v[1], in(reg32) v[2], in(reg32) v[3], in(reg64) p,
                    options(nostack)
                );
            }
        }
    };
}

load!(
    /// Loads 16 bytes that nothing writes while the kernel runs (`ld.global.nc.v4.f32`).
    load_nc_v4, "ld.global.nc.v4.f32", pure, readonly
);
load!(
    /// Loads 16 bytes (`ld.global.v4.f32`).
    load_v4, "ld.global.v4.f32", readonly
);
/// Loads 8 bytes (`ld.global.v2.f32`).
///
/// # Safety
/// `p` is aligned to 8 bytes and 8 readable bytes of global memory lie there.
#[cfg(sm_90a)]
#[inline(always)]
pub unsafe fn load_v2(p: *const f32) -> [f32; 2] {
    let (mut x, mut y) = (0f32, 0f32);
    // SAFETY: the caller vouches for address and alignment.
    unsafe {
        ptx!("ld.global.v2.f32 {{{0}, {1}}}, [{2}];",
            out(reg32) x, out(reg32) y, in(reg64) p, options(readonly, nostack));
    }
    [x, y]
}

/// Stores 8 bytes (`st.global.v2.f32`).
///
/// # Safety
/// `p` is aligned to 8 bytes and 8 writable bytes of global memory lie there, which no other thread
/// accesses meanwhile.
#[cfg(sm_90a)]
#[inline(always)]
pub unsafe fn store_v2(p: *mut f32, v: [f32; 2]) {
    // SAFETY: the caller vouches for address, alignment and exclusiveness.
    unsafe {
        ptx!("st.global.v2.f32 [{2}], {{{0}, {1}}};",
            in(reg32) v[0], in(reg32) v[1], in(reg64) p, options(nostack));
    }
}

/// Loads 4 bytes if `condition` is not 0 (`ld.global.b32` under a predicate), else returns 0.
///
/// # Safety
/// If `condition` is not 0, `p` is aligned to 4 bytes and 4 readable bytes of global memory lie
/// there.
#[cfg(sm_90a)]
#[inline(always)]
pub unsafe fn load_if(p: *const u32, condition: u32) -> u32 {
    let mut word = 0u32;
    // SAFETY: the caller vouches for address and alignment.
    unsafe {
        ptx!("{{ .reg .pred condition; setp.ne.u32 condition, {2}, 0; mov.b32 {0}, 0; \
              @condition ld.global.b32 {0}, [{1}]; }}",
            out(reg32) word, in(reg64) p, in(reg32) condition, options(nostack));
    }
    word
}

store!(
    /// Stores 16 bytes (`st.global.v4.f32`).
    store_v4, "st.global.v4.f32"
);

/// Asks for the 128 bytes around `p` to be brought into the L2 (`prefetch.global.L2`).
///
/// # Safety
/// 4 readable bytes of global memory lie at `p`.
#[inline(always)]
pub unsafe fn prefetch_l2(p: *const f32) {
    // SAFETY: the caller vouches for the address.
    unsafe {
        ptx!("prefetch.global.L2 [{0}];", in(reg64) p, options(nostack));
    }
}
