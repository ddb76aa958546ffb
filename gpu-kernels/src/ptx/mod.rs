//! The only inline assembly of this crate: one thin wrapper per PTX instruction.
//!
//! rustc may or may not merge four scalar accesses into a 16-byte one; these always are.
//! Shared memory is addressed with the 32-bit addresses of its own window: a Rust pointer
//! would compile to a generic access, which is slower.

/// Emits PTX on the GPU; on the host, where the crate is only type-checked, never runs.
macro_rules! ptx {
    ($($tokens:tt)*) => {
        #[cfg(target_arch = "nvptx64")]
        {
            core::arch::asm!($($tokens)*);
        }
    };
}

#[cfg(sm_90a)]
#[macro_use]
pub mod bulk_tensor;
#[cfg(sm_90a)]
pub mod cluster;
pub mod compiler;
pub mod convert;
pub mod copy_async;
pub mod device_wide;
#[cfg(sm_90a)]
pub mod fence;
pub mod global;
#[cfg(sm_90a)]
pub mod grid;
pub mod ldmatrix;
#[cfg(sm_90a)]
pub mod matrix;
#[cfg(sm_90a)]
pub mod mbarrier;
pub mod mma;
pub mod shared;
pub mod special;
pub mod warp;
#[cfg(sm_90a)]
pub mod warpgroup;
#[cfg(sm_90a)]
pub mod wgmma;
#[cfg(sm_90a)]
pub mod wgmma_wide;
