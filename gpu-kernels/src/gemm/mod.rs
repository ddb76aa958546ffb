//! `gemm-bf16` and `gemm-tf32`: C = A @ B + beta C on tensor cores, row-major: for `sm_90a`, but for
//! [`mma`].
//!
//! | module | what it holds |
//! |---|---|
//! | [`walk`] | which tiles of C fall to a block, in which order |
//! | [`ring`] | the stages of A and B in shared memory, their barriers, the copies into them |
//! | [`output`] | C: from registers to memory |
//! | [`first`] | the ladder's first steps: every warp waits, then multiplies |
//! | [`mma`] | the portable first step: `mma.sync`, for every target |
//! | [`tf32`] | `gemm-tf32`, of the same parts |
//! | [`fused`] | `gemm-mixed` without copies in memory: f32 that is rounded on the way |
//! | [`rows`] | A and B copied, where bulk copies or tensor cores do not take them as they lie |
//! | [`specialised`] | one warp copies, the others multiply; persistent blocks, clusters |
//!
//! A k tile is 64 deep: 128 bytes of A's rows. A lies in shared memory with its rows along k, B as
//! it lies in memory, in panels of 64 columns whose rows run across k: `wgmma` takes either.

/// Defines the entry of a tile, which calls the `run` of the module that it stands in.
#[cfg(sm_90a)]
macro_rules! tensor_kernels {
    ($($(#[$doc:meta])* $entry:ident: $shape:ident = $tile:ident, $sums:ident;)*) => {
        $(
            $(#[$doc])*
            struct $shape;

            impl Tile for $shape {
                const TILE: TensorTile = $tile;
                type Sums = $sums;
            }

            kernel! {
                $(#[$doc])*
                ///
                /// # Safety
                /// As for [`run`].
                pub unsafe fn $entry(
                    _a: TensorMap, _b: TensorMap, _c: TensorMap, c: *mut u8, m: u32, n: u32, k: u32, batch: u32, flags: u32,
                ) {
                    let a = tensor_map_parameter!($entry, 0);
                    let b = tensor_map_parameter!($entry, 1);
                    let c_map = tensor_map_parameter!($entry, 2);
                    // SAFETY: as the caller vouches.
                    unsafe { run::<$shape>(Products { a, b, c_map, c, m, n, k, batch, flags }) }
                }
            }
        )*
    };
}

#[cfg(sm_90a)]
mod first;
#[cfg(sm_90a)]
mod fused;
mod mma;
#[cfg(sm_90a)]
mod output;
#[cfg(sm_90a)]
mod ring;
#[cfg(sm_90a)]
mod rows;
#[cfg(sm_90a)]
mod specialised;
#[cfg(sm_90a)]
mod tf32;
mod walk;

#[cfg(sm_90a)]
use crate::params::TensorTile;
#[cfg(sm_90a)]
use crate::ptx::wgmma::Sums;

/// The products of a launch.
///
/// A is m x k, B k x n, C m x n, all row-major; the `batch` matrices of each lie one behind the
/// other. The tensor maps have boxes of 64 columns and [`TensorTile::m`] (A), 64 over
/// [`TensorTile::cluster`] (B) and 64 (C) rows.
#[cfg(sm_90a)]
#[derive(Clone, Copy)]
struct Products {
    a: *const u8,
    b: *const u8,
    c_map: *const u8,
    c: *mut u8,
    m: u32,
    n: u32,
    k: u32,
    batch: u32,
    /// [`crate::params::READS_C`] and its neighbours.
    flags: u32,
}

/// A tile and where its sums are held.
#[cfg(sm_90a)]
trait Tile {
    /// Its shape.
    const TILE: TensorTile;
    /// Sums of a warpgroup: as many columns as the tile has.
    type Sums: Sums;
}

#[cfg(sm_90a)]
impl Products {
    /// Rows and columns of C, and matrices.
    fn extent(&self) -> [u32; 3] {
        [self.m, self.n, self.batch]
    }

    /// Whether C is added to the product, in bfloat16 in rows of whole 16-byte units, so that it can be
    /// copied in panels.
    fn reads_panels(&self) -> bool {
        let both = crate::params::READS_C | crate::params::STAGES_C;
        self.flags & both == both
    }

    /// Whether C is added to the product by the threads that write it, who wait for what they read.
    fn reads_directly(&self) -> bool {
        let both = crate::params::READS_C | crate::params::STAGES_C;
        self.flags & both == crate::params::READS_C
    }

    /// Asks for the tensor maps that the launch uses.
    ///
    /// # Safety
    /// The pointers are as the struct says.
    unsafe fn prefetch_maps(&self) {
        // SAFETY: as the caller vouches.
        unsafe {
            crate::ptx::bulk_tensor::prefetch_map(self.a);
            crate::ptx::bulk_tensor::prefetch_map(self.b);
            if self.flags & crate::params::STAGES_C != 0 {
                crate::ptx::bulk_tensor::prefetch_map(self.c_map);
            }
        }
    }

    /// k tiles of a tile of C.
    fn depth(&self) -> u32 {
        self.k.div_ceil(crate::params::TENSOR_DEPTH)
    }
}
