//! The entries for large products from an A that has been transposed (`transpose`), whose stages bulk tensor
//! copies fill; and one more for a C whose rows are not aligned to 16 bytes.

use super::tile::{Ring, Schedule, Shape, Target, run};
use crate::params::{TRANSPOSED, TileShape, VECTOR_ELEMENTS};
use crate::ptx::bulk_tensor::TensorMap;
use crate::ptx::grid;

/// The tile of large products.
struct Transposed;

impl Shape for Transposed {
    const TILE: TileShape = TRANSPOSED;
}

/// Defines an entry whose accesses to C are `VEC` elements wide.
macro_rules! transposed_kernels {
    ($($(#[$doc:meta])* $entry:ident: $vec:expr;)*) => {
        $(
            kernel! {
                $(#[$doc])*
                ///
                /// C = A @ B + C; `a` is a map of the transpose of A. Which tiles fall to a block, and which
                /// part of them, say `waves`, `share` and `extra` (see [`Schedule`]).
                ///
                /// # Safety
                /// As for [`run`]; the tensor maps have boxes of the shape's k tiles, without swizzle.
                pub unsafe fn $entry(
                    _a: TensorMap, _b: TensorMap, c: *mut f32, m: u32, n: u32, k: u32,
                    waves: u32, share: u32, extra: u32, scratch: *mut u32,
                ) {
                    const TM: usize = TRANSPOSED.thread_m as usize;
                    const TN: usize = TRANSPOSED.thread_n as usize;
                    let a = tensor_map_parameter!($entry, 0);
                    let b = tensor_map_parameter!($entry, 1);
                    // SAFETY: as the caller vouches; the shared memory has not been used.
                    unsafe {
                        let ring = Ring::<Transposed>::new(a, b);
                        grid::wait_for_last();
                        run::<Transposed, TM, TN, { $vec }>(
                            Target { c, m, n, k },
                            Schedule { waves, share, extra, scratch },
                            ring,
                        )
                    }
                }
            }
        )*
    };
}

transposed_kernels! {
    /// Large products.
    sgemm_transposed: VECTOR_ELEMENTS;
    /// Large products, a C of any alignment.
    sgemm_transposed_any: 1;
}
