//! `copy`: b = a. No arithmetic; every element is read once and written once.

use crate::params::COPY_VECTORS;
use crate::ptx::global::{load_nc_v4, store_v4};
use crate::stream::{grid_stride, one_shot};

kernel! {
    /// The lecture's copy: one 4-byte element a turn of a grid-stride loop.
    ///
    /// # Safety
    /// `a` and `b` hold `n` elements each and do not overlap.
    pub unsafe fn copy_scalar(a: *const f32, b: *mut f32, n: usize) {
        grid_stride(n, |i| {
            // SAFETY: i < n, and each i falls to one thread.
            unsafe { *b.add(i) = *a.add(i) }
        });
    }
}

kernel! {
    /// 16-byte accesses, [`COPY_VECTORS`] in flight a thread.
    ///
    /// # Safety
    /// `a` and `b` hold `n` elements each, are 16-byte aligned and do not overlap.
    pub unsafe fn copy_vector(a: *const f32, b: *mut f32, n: usize) {
        one_shot::<{ COPY_VECTORS as usize }, _>(
            n,
            // SAFETY: one_shot passes multiples of 4 with p + 4 <= n, each to one thread.
            |p| unsafe { load_nc_v4(a.add(p)) },
            // SAFETY: as above.
            |p, v| unsafe { store_v4(b.add(p), v) },
            // SAFETY: i < n.
            |i| unsafe { *b.add(i) = *a.add(i) },
        );
    }
}
