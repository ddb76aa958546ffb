//! rooftrace's GPU kernels: `no_std` Rust, compiled to PTX when the host crate is built.
//!
//! | module | what it holds |
//! |---|---|
//! | [`params`] | tile shapes, entry names, launch bounds: the single source for host and device |
//! | [`random`] | the counter-based generator behind every operand, the same bits on host and device |
//! | [`operands`] | what the peak kernels of the tensor cores multiply, the same bits on host and device |
//! | `gpu` | thread indices, barriers and the `kernel!` macro: `cuda_std`'s names, or a thin module with its signatures |
//! | `ptx` | the only inline assembly, one wrapper per instruction |
//! | `stream` | the two loops of the streaming kernels: grid-stride and one-shot 16-byte |
//! | `stage` | stages of a ring in shared memory, for the products that bulk copies feed |
//! | `copy`, `saxpy`, `triad`, `fma`, `mix`, `sgemm` | one kernel family each, its variants a ladder |
//! | `peak` | `fma` on the other pipes: tensor cores and fp64 |
//! | `gemm` | matrix products on tensor cores |
//! | `support` | what measuring needs: operand fills, the L2 sweep, the clock probe |
//!
//! On the host target only [`operands`], [`params`] and [`random`] exist. The feature `rust-cuda` also
//! type-checks the kernels there, against the published `cuda_std`.
#![no_std]
// Type-checked on the host, `ptx!` is empty, and the attribute macro of the published cuda_std
// asks for a target that no longer exists.
#![cfg_attr(
    all(feature = "rust-cuda", not(target_arch = "nvptx64")),
    allow(unused_mut, unused_unsafe, unexpected_cfgs)
)]
#![cfg_attr(
    all(target_arch = "nvptx64", not(feature = "rust-cuda")),
    feature(abi_ptx, stdarch_nvptx, asm_experimental_arch, core_intrinsics),
    allow(internal_features)
)]

pub mod operands;
pub mod params;
pub mod random;

/// Includes modules that exist on a GPU only.
macro_rules! device_modules {
    ($($(#[$attr:meta])* $name:ident),* $(,)?) => {
        $(
            #[cfg(any(target_arch = "nvptx64", feature = "rust-cuda"))]
            $(#[$attr])*
            mod $name;
        )*
    };
}

device_modules!(
    #[macro_use]
    gpu,
    #[macro_use]
    ptx,
    #[cfg(sm_90a)]
    stage,
    stream,
    copy,
    saxpy,
    triad,
    fma,
    mix,
    peak,
    gemm,
    sgemm,
    support
);
