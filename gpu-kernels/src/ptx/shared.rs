//! Dynamic shared memory and its accesses (PTX ISA, "ld.shared", "st.shared").
#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_variables, unused_mut, unused_assignments))]

// The size comes with the launch; 1024 bytes is the strictest alignment a swizzled tile needs.
#[cfg(target_arch = "nvptx64")]
core::arch::global_asm!(".extern .shared .align 1024 .b8 dynamic_shared[];");

/// Address of the block's dynamic shared memory, in the shared window.
#[inline(always)]
pub fn dynamic_base() -> u32 {
    let mut address = 0u32;
    // SAFETY: takes an address; touches no memory.
    unsafe {
        ptx!("mov.u32 {0}, dynamic_shared;", out(reg32) address, options(pure, nomem, nostack));
    }
    address
}

/// Loads an f32 from shared memory (`ld.shared.f32`).
///
/// # Safety
/// `address` is 4-byte aligned and inside the block's shared memory; no thread writes it
/// between the barriers around this load.
#[inline(always)]
pub unsafe fn load(address: u32) -> f32 {
    let mut value = 0f32;
    // SAFETY: the caller vouches for the address and the barriers.
    unsafe {
        ptx!("ld.shared.f32 {0}, [{1}];", out(reg32) value, in(reg32) address, options(readonly, nostack));
    }
    value
}

/// Loads 16 bytes from shared memory (`ld.shared.v4.f32`).
///
/// # Safety
/// As for [`load`], with 16-byte alignment.
#[inline(always)]
pub unsafe fn load_v4(address: u32) -> [f32; 4] {
    let (mut x, mut y, mut z, mut w) = (0f32, 0f32, 0f32, 0f32);
    // SAFETY: the caller vouches for the address and the barriers.
    unsafe {
        ptx!("ld.shared.v4.f32 {{{0}, {1}, {2}, {3}}}, [{4}];",
            out(reg32) x, out(reg32) y, out(reg32) z, out(reg32) w, in(reg32) address,
            options(readonly, nostack));
    }
    [x, y, z, w]
}

/// Loads 16 bytes from the shared memory of a block of the cluster (`ld.shared::cluster.v4.f32`).
///
/// # Safety
/// `address` is one of [`super::cluster::address_in`], 16-byte aligned; the block has not exited, and no
/// thread writes there between the cluster's barriers around this load.
#[cfg(sm_90a)]
#[inline(always)]
pub unsafe fn load_v4_of(address: u32) -> [f32; 4] {
    let (mut x, mut y, mut z, mut w) = (0f32, 0f32, 0f32, 0f32);
    // SAFETY: the caller vouches for the address and the barriers.
    unsafe {
        ptx!("ld.shared::cluster.v4.f32 {{{0}, {1}, {2}, {3}}}, [{4}];",
            out(reg32) x, out(reg32) y, out(reg32) z, out(reg32) w, in(reg32) address,
            options(readonly, nostack));
    }
    [x, y, z, w]
}

/// Loads 8 bytes from shared memory (`ld.shared.v2.f32`).
///
/// # Safety
/// As for [`load`], with 8-byte alignment.
#[cfg(sm_90a)]
#[inline(always)]
pub unsafe fn load_v2(address: u32) -> [f32; 2] {
    let (mut x, mut y) = (0f32, 0f32);
    // SAFETY: the caller vouches for the address and the barriers.
    unsafe {
        ptx!("ld.shared.v2.f32 {{{0}, {1}}}, [{2}];",
            out(reg32) x, out(reg32) y, in(reg32) address, options(readonly, nostack));
    }
    [x, y]
}

/// Stores an f32 to shared memory (`st.shared.f32`).
///
/// # Safety
/// `address` is 4-byte aligned and inside the block's shared memory; no other thread
/// accesses it between the barriers around this store.
#[inline(always)]
pub unsafe fn store(address: u32, value: f32) {
    // SAFETY: the caller vouches for the address and the barriers.
    unsafe {
        ptx!("st.shared.f32 [{0}], {1};", in(reg32) address, in(reg32) value, options(nostack));
    }
}

/// Loads a u32 from shared memory (`ld.shared.u32`).
///
/// # Safety
/// As for [`load`].
#[inline(always)]
pub unsafe fn load_u32(address: u32) -> u32 {
    let mut value = 0u32;
    // SAFETY: the caller vouches for the address and the barriers.
    unsafe {
        ptx!("ld.shared.u32 {0}, [{1}];", out(reg32) value, in(reg32) address, options(readonly, nostack));
    }
    value
}

/// Loads two u32 from shared memory over `old` if `condition` is not 0 (`ld.shared.v2.b32` under a
/// predicate).
///
/// Under a condition that is always true, and that the compiler cannot know, it loads without giving
/// it a reason to believe that what the registers hold is not needed until then: they stay as long as
/// products that are under way read them.
///
/// # Safety
/// As for [`load`], with 8-byte alignment, whatever the condition.
#[cfg(sm_90a)]
#[inline(always)]
pub unsafe fn load_pair_over(old: &mut [u32; 2], address: u32, condition: u32) {
    // SAFETY: the caller vouches for the address and the barriers.
    unsafe {
        ptx!("{{ .reg .pred condition; setp.ne.u32 condition, {3}, 0; \
              @condition ld.shared.v2.b32 {{{0}, {1}}}, [{2}]; }}",
            inout(reg32) old[0], inout(reg32) old[1], in(reg32) address, in(reg32) condition,
            options(nostack));
    }
}

/// Stores 16 bytes to shared memory (`st.shared.v4.f32`).
///
/// # Safety
/// As for [`store`], with 16-byte alignment.
#[cfg(sm_90a)]
#[inline(always)]
pub unsafe fn store_v4(address: u32, v: [f32; 4]) {
    // SAFETY: the caller vouches for the address and the barriers.
    unsafe {
        ptx!("st.shared.v4.f32 [{4}], {{{0}, {1}, {2}, {3}}};",
            in(reg32) v[0], in(reg32) v[1], in(reg32) v[2], in(reg32) v[3], in(reg32) address,
            options(nostack));
    }
}

/// Stores a u16 to shared memory (`st.shared.u16`).
///
/// # Safety
/// As for [`store`], with 2-byte alignment.
#[inline(always)]
pub unsafe fn store_u16(address: u32, value: u16) {
    // SAFETY: the caller vouches for the address and the barriers.
    unsafe {
        ptx!("st.shared.u16 [{0}], {1};", in(reg32) address, in(reg16) value, options(nostack));
    }
}

/// Stores a u32 to shared memory (`st.shared.u32`).
///
/// # Safety
/// As for [`store`].
#[inline(always)]
pub unsafe fn store_u32(address: u32, value: u32) {
    // SAFETY: the caller vouches for the address and the barriers.
    unsafe {
        ptx!("st.shared.u32 [{0}], {1};", in(reg32) address, in(reg32) value, options(nostack));
    }
}

/// Stores 8 bytes to shared memory (`st.shared.v2.u32`).
///
/// # Safety
/// As for [`store`], with 8-byte alignment.
#[cfg(sm_90a)]
#[inline(always)]
pub unsafe fn store_v2(address: u32, [low, high]: [u32; 2]) {
    // SAFETY: the caller vouches for the address and the barriers.
    unsafe {
        ptx!("st.shared.v2.u32 [{0}], {{{1}, {2}}};",
            in(reg32) address, in(reg32) low, in(reg32) high, options(nostack));
    }
}
