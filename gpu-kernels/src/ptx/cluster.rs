//! Clusters of blocks (PTX ISA, "barrier.cluster", "Special registers").
#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_mut, unused_assignments))]

/// Index of the block in its cluster (`%cluster_ctarank`).
#[inline(always)]
pub fn rank() -> u32 {
    let mut rank = 0u32;
    // SAFETY: reads a special register.
    unsafe {
        ptx!("mov.u32 {0}, %cluster_ctarank;", out(reg32) rank, options(pure, nomem, nostack));
    }
    rank
}

/// Waits for every thread of the cluster.
///
/// It orders nothing but itself: a release would wait for every store that is on its way to memory.
/// Barriers that were made before are made known by [`super::fence::barriers_made`].
///
/// Every thread of the cluster calls it.
#[inline(always)]
pub fn sync() {
    // SAFETY: accesses no memory. No caller stands behind a condition that
    // differs between threads of a cluster.
    unsafe {
        ptx!("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;", options(nostack));
    }
}
