//! Thread indices, barriers, fused multiply-add and the `kernel!` macro.
//!
//! The names and signatures are those of Rust-CUDA's `cuda_std` where it has them. Under the
//! feature `rust-cuda` they *are* `cuda_std`'s; otherwise they stand on `core::arch::nvptx`.

#[cfg(feature = "rust-cuda")]
pub use cuda_std::thread;

/// Thread, block and grid indices, and the block-wide barrier.
#[cfg(not(feature = "rust-cuda"))]
pub mod thread {
    use core::arch::nvptx;

    /// Names a special register after `cuda_std::thread`.
    macro_rules! special_register {
        ($($(#[$doc:meta])* $name:ident => $intrinsic:ident;)*) => {
            $(
                $(#[$doc])*
                #[inline(always)]
                pub fn $name() -> u32 {
                    // SAFETY: reads a special register, which has no precondition.
                    unsafe { nvptx::$intrinsic() as u32 }
                }
            )*
        };
    }

    special_register! {
        /// Index of the thread in its block, x.
        thread_idx_x => _thread_idx_x;
        /// Index of the thread in its block, y.
        thread_idx_y => _thread_idx_y;
        /// Index of the block in its grid, x.
        block_idx_x => _block_idx_x;
        /// Threads of a block, x.
        block_dim_x => _block_dim_x;
        /// Blocks of the grid, x.
        grid_dim_x => _grid_dim_x;
    }

    /// Waits for every thread of the block; orders their shared and global accesses.
    #[inline(always)]
    pub fn sync_threads() {
        // SAFETY: every caller reaches the barrier with its whole block (no barrier in this
        // crate stands behind a condition that differs between threads of a block).
        unsafe { nvptx::_syncthreads() }
    }
}

/// `a * b + c` with one rounding (`fma.rn.f32`).
#[inline(always)]
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    #[cfg(not(feature = "rust-cuda"))]
    {
        core::intrinsics::fmaf32(a, b, c)
    }
    #[cfg(feature = "rust-cuda")]
    {
        cuda_std::GpuFloat::mul_add(a, b, c)
    }
}

/// `a * b + c` in double precision with one rounding (`fma.rn.f64`).
#[inline(always)]
pub fn fma_f64(a: f64, b: f64, c: f64) -> f64 {
    #[cfg(not(feature = "rust-cuda"))]
    {
        core::intrinsics::fmaf64(a, b, c)
    }
    #[cfg(feature = "rust-cuda")]
    {
        cuda_std::GpuFloat::mul_add(a, b, c)
    }
}

/// Defines a kernel: an entry point of the PTX under its own name.
macro_rules! kernel {
    ($(#[$attr:meta])* pub unsafe fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block) => {
        $(#[$attr])*
        #[cfg(not(feature = "rust-cuda"))]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name($($arg: $ty),*) $body

        $(#[$attr])*
        #[cfg(feature = "rust-cuda")]
        #[cuda_std::kernel]
        pub unsafe fn $name($($arg: $ty),*) $body
    };
}

/// What a panic becomes: the launch ends with an error the host sees.
#[cfg(all(target_arch = "nvptx64", not(feature = "rust-cuda")))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // SAFETY: `trap` aborts the grid; nothing runs after it.
    unsafe { core::arch::nvptx::trap() }
}
