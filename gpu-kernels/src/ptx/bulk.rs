//! Copies of contiguous bytes between the blocks of a cluster (PTX ISA, "cp.async.bulk").
#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_variables))]

/// Starts the copy of `bytes` bytes at `address` of this block to the same place of block `rank` of the
/// cluster, whose `barrier` counts them.
///
/// # Safety
/// `address` and `bytes` are multiples of 16, inside the shared memory of both blocks; the bytes are made
/// visible by [`super::fence::shared_written`] and stay until the barrier's phase ends, before which
/// nobody accesses them there; the block has not exited.
#[inline(always)]
pub unsafe fn send(address: u32, bytes: u32, barrier: u32, rank: u32) {
    // SAFETY: the caller vouches for addresses, barrier and block.
    unsafe {
        ptx!("{{ .reg .b32 to, remote; \
              mapa.shared::cluster.u32 to, {0}, {3}; mapa.shared::cluster.u32 remote, {2}, {3}; \
              cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes \
              [to], [{0}], {1}, [remote]; }}",
            in(reg32) address, in(reg32) bytes, in(reg32) barrier, in(reg32) rank,
            options(nostack));
    }
}
