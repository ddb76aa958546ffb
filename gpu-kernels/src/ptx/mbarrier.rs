//! Barriers in shared memory that count arrivals and bytes (PTX ISA, "mbarrier").
#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_variables, unused_mut, unused_assignments))]

/// Bytes of a barrier.
pub const BYTES: u32 = 8;

/// Makes a barrier whose phases end after `arrivals` arrivals (`mbarrier.init`).
///
/// # Safety
/// `barrier` is an 8-byte aligned address inside the block's shared memory that is not a barrier
/// yet; [`super::fence::barriers_made`] and a block-wide (with clusters cluster-wide) barrier stand
/// between this and its first use by others.
#[inline(always)]
pub unsafe fn init(barrier: u32, arrivals: u32) {
    // SAFETY: the caller vouches for the address.
    unsafe {
        ptx!("mbarrier.init.shared::cta.b64 [{0}], {1};",
            in(reg32) barrier, in(reg32) arrivals, options(nostack));
    }
}

/// Arrives, and makes the phase wait for `bytes` bytes of bulk copies as well
/// (`mbarrier.arrive.expect_tx`).
///
/// # Safety
/// `barrier` is a barrier of this block.
#[inline(always)]
pub unsafe fn arrive_expecting(barrier: u32, bytes: u32) {
    // SAFETY: the caller vouches for the barrier.
    unsafe {
        ptx!("mbarrier.arrive.expect_tx.shared::cta.b64 _, [{0}], {1};",
            in(reg32) barrier, in(reg32) bytes, options(nostack));
    }
}

/// Arrives at a barrier of this block (`mbarrier.arrive`).
///
/// # Safety
/// `barrier` is a barrier of this block.
#[inline(always)]
pub unsafe fn arrive(barrier: u32) {
    // SAFETY: the caller vouches for the barrier.
    unsafe {
        ptx!("mbarrier.arrive.shared::cta.b64 _, [{0}];", in(reg32) barrier, options(nostack));
    }
}

/// Arrives at the barrier at the same place of another block of the cluster.
///
/// It orders what this thread has waited for (products, copies) and nothing else: a release for the
/// cluster would also wait for every store that is on its way to memory.
///
/// # Safety
/// `barrier` is a barrier of this block and of block `rank` of the cluster, which has not exited.
#[inline(always)]
pub unsafe fn arrive_at(barrier: u32, rank: u32) {
    // SAFETY: the caller vouches for barrier and block.
    unsafe {
        ptx!("{{ .reg .b32 remote; \
              mapa.shared::cluster.u32 remote, {0}, {1}; \
              mbarrier.arrive.shared::cluster.b64 _, [remote]; }}",
            in(reg32) barrier, in(reg32) rank, options(nostack));
    }
}

/// Waits until the phase with this parity has ended (`mbarrier.try_wait.parity`).
///
/// # Safety
/// `barrier` is a barrier of this block.
#[inline(always)]
pub unsafe fn wait(barrier: u32, parity: u32) {
    loop {
        let mut done = 1u32;
        // SAFETY: the caller vouches for the barrier.
        unsafe {
            ptx!("{{ .reg .pred done; \
                  mbarrier.try_wait.parity.shared::cta.b64 done, [{1}], {2}; \
                  selp.u32 {0}, 1, 0, done; }}",
                out(reg32) done, in(reg32) barrier, in(reg32) parity, options(nostack));
        }
        if done != 0 {
            break;
        }
    }
}
