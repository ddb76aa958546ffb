//! Order between ordinary accesses and those of the copy and tensor units (PTX ISA, "fence").

/// Makes this thread's `mbarrier.init`s visible to the cluster and to bulk copies.
#[inline(always)]
pub fn barriers_made() {
    // SAFETY: orders accesses; makes none of its own.
    unsafe {
        ptx!("fence.mbarrier_init.release.cluster;", options(nostack));
    }
    shared_written();
}

/// Makes this thread's stores to shared memory visible to bulk copies and to `wgmma`
/// (`fence.proxy.async`).
#[inline(always)]
pub fn shared_written() {
    // SAFETY: orders accesses; makes none of its own.
    unsafe {
        ptx!("fence.proxy.async.shared::cta;", options(nostack));
    }
}
