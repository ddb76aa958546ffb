//! `triad`: a = b + scalar * c, the STREAM triad over three arrays.
//!
//! J. D. McCalpin, "STREAM: Sustainable memory bandwidth in high performance computers".

use crate::gpu::fma;
use crate::params::TRIAD_VECTORS;
use crate::ptx::global::{load_nc_v4, store_v4};
use crate::stream::{grid_stride, one_shot};

kernel! {
    /// One 4-byte element of each array a turn of a grid-stride loop.
    ///
    /// # Safety
    /// `a`, `b` and `c` hold `n` elements each; `a` overlaps neither of the others.
    pub unsafe fn triad_scalar(a: *mut f32, b: *const f32, c: *const f32, n: usize, scalar: f32) {
        grid_stride(n, |i| {
            // SAFETY: i < n, and each i falls to one thread.
            unsafe { *a.add(i) = fma(scalar, *c.add(i), *b.add(i)) }
        });
    }
}

kernel! {
    /// 16-byte accesses, [`TRIAD_VECTORS`] an array in flight a thread.
    ///
    /// # Safety
    /// `a`, `b` and `c` hold `n` elements each and are 16-byte aligned; `a` overlaps neither
    /// of the others.
    pub unsafe fn triad_vector(a: *mut f32, b: *const f32, c: *const f32, n: usize, scalar: f32) {
        one_shot::<{ TRIAD_VECTORS as usize }, _>(
            n,
            // SAFETY: one_shot passes multiples of 4 with p + 4 <= n, each to one thread.
            |p| unsafe { (load_nc_v4(b.add(p)), load_nc_v4(c.add(p))) },
            |p, (bs, cs)| {
                let r = core::array::from_fn(|i| fma(scalar, cs[i], bs[i]));
                // SAFETY: as above.
                unsafe { store_v4(a.add(p), r) }
            },
            // SAFETY: i < n.
            |i| unsafe { *a.add(i) = fma(scalar, *c.add(i), *b.add(i)) },
        );
    }
}
