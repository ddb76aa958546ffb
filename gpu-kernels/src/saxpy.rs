//! `saxpy`: y = alpha * x + y. Two FLOPs an element on 12 bytes: memory-bound always.

use crate::gpu::fma;
use crate::params::SAXPY_VECTORS;
use crate::ptx::global::{load_nc_v4, load_v4, store_v4};
use crate::stream::{grid_stride, one_shot};

kernel! {
    /// One 4-byte element of each array a turn of a grid-stride loop.
    ///
    /// # Safety
    /// `x` and `y` hold `n` elements each and do not overlap.
    pub unsafe fn saxpy_scalar(x: *const f32, y: *mut f32, n: usize, alpha: f32) {
        grid_stride(n, |i| {
            // SAFETY: i < n, and each i falls to one thread.
            unsafe { *y.add(i) = fma(alpha, *x.add(i), *y.add(i)) }
        });
    }
}

kernel! {
    /// 16-byte accesses, [`SAXPY_VECTORS`] an array in flight a thread.
    ///
    /// # Safety
    /// `x` and `y` hold `n` elements each, are 16-byte aligned and do not overlap.
    pub unsafe fn saxpy_vector(x: *const f32, y: *mut f32, n: usize, alpha: f32) {
        one_shot::<{ SAXPY_VECTORS as usize }, _>(
            n,
            // SAFETY: one_shot passes multiples of 4 with p + 4 <= n, each to one thread.
            |p| unsafe { (load_nc_v4(x.add(p)), load_v4(y.add(p))) },
            |p, (xs, ys)| {
                let r = core::array::from_fn(|i| fma(alpha, xs[i], ys[i]));
                // SAFETY: as above.
                unsafe { store_v4(y.add(p), r) }
            },
            // SAFETY: i < n.
            |i| unsafe { *y.add(i) = fma(alpha, *x.add(i), *y.add(i)) },
        );
    }
}
