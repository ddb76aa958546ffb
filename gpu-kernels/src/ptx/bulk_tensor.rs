//! Copies of boxes of a tensor between global and shared memory (PTX ISA, "cp.async.bulk.tensor").
//!
//! Coordinates are those of the box's first element: column, row, matrix of the batch. Elements
//! outside the tensor are read as 0 and not written.
//!
//! A tensor map is a kernel parameter: parameters come with the launch, so that the first copy need
//! not wait for the map to come from memory.
#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_variables))]

/// An encoded tensor map, made by the driver (`cuTensorMapEncodeTiled`).
///
/// It is to be aligned to 64 bytes, as a parameter too; rustc knows 16 at most there, so `ptx-build`
/// writes the 64.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub struct TensorMap([u64; 16]);

/// Address of the tensor map that is parameter `$index` of the kernel `$entry`.
///
/// rustc would copy the parameter to local memory if its address were taken in Rust; PTX names
/// parameters after the entry (LLVM's NVPTX usage guide).
macro_rules! tensor_map_parameter {
    ($entry:ident, $index:literal) => {{
        let mut address = core::ptr::null::<u8>();
        // SAFETY: takes an address; touches no memory.
        unsafe {
            ptx!(
                concat!("mov.b64 {0}, ", stringify!($entry), "_param_", $index, "; \
                         cvta.param.u64 {0}, {0};"),
                out(reg64) address, options(pure, nomem, nostack)
            );
        }
        address
    }};
}

/// Asks for a tensor map, so that the first copy with it need not wait for it
/// (`prefetch.tensormap`).
///
/// # Safety
/// `map` is the address of a tensor map.
#[inline(always)]
pub unsafe fn prefetch_map(map: *const u8) {
    // SAFETY: the caller vouches for the map.
    unsafe {
        ptx!("prefetch.tensormap [{0}];", in(reg64) map, options(nostack));
    }
}

/// Starts the copy of a box into this block's shared memory; its bytes are counted by `barrier`.
///
/// # Safety
/// `map` is the address of a tensor map; `to` is 1024-byte aligned, with room for the box, and
/// nothing accesses it until the barrier's phase ends; `barrier` is a barrier of this block.
#[inline(always)]
pub unsafe fn load(to: u32, map: *const u8, [column, row, matrix]: [u32; 3], barrier: u32) {
    // SAFETY: the caller vouches for map, addresses and barrier.
    unsafe {
        ptx!("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes \
              [{0}], [{1}, {{{2}, {3}, {4}}}], [{5}];",
            in(reg32) to, in(reg64) map, in(reg32) column, in(reg32) row, in(reg32) matrix,
            in(reg32) barrier, options(nostack));
    }
}

/// Starts the copy of a box into the same place of every block of the cluster whose bit in
/// `blocks` is set; each block's own `barrier` counts the bytes.
///
/// # Safety
/// As for [`load`], in each of the blocks, none of which has exited.
#[inline(always)]
pub unsafe fn load_multicast(
    to: u32,
    map: *const u8,
    [column, row, matrix]: [u32; 3],
    barrier: u32,
    blocks: u16,
) {
    // SAFETY: the caller vouches for map, addresses, barriers and blocks.
    unsafe {
        ptx!("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes\
              .multicast::cluster [{0}], [{1}, {{{2}, {3}, {4}}}], [{5}], {6};",
            in(reg32) to, in(reg64) map, in(reg32) column, in(reg32) row, in(reg32) matrix,
            in(reg32) barrier, in(reg16) blocks, options(nostack));
    }
}

/// Starts the copy of a box from shared memory.
///
/// # Safety
/// `map` is the address of a tensor map; the box lies at `from`, 1024-byte aligned, its stores
/// made visible by [`super::fence::shared_written`]; nothing overwrites it before [`wait_read`].
#[inline(always)]
pub unsafe fn store(map: *const u8, [column, row, matrix]: [u32; 3], from: u32) {
    // SAFETY: the caller vouches for map and address.
    unsafe {
        ptx!("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group \
              [{0}, {{{1}, {2}, {3}}}], [{4}];",
            in(reg64) map, in(reg32) column, in(reg32) row, in(reg32) matrix, in(reg32) from,
            options(nostack));
    }
}

/// Closes the group of the stores that this thread has started (`cp.async.bulk.commit_group`).
#[inline(always)]
pub fn commit() {
    // SAFETY: orders copies; accesses no memory of its own.
    unsafe {
        ptx!("cp.async.bulk.commit_group;", options(nostack));
    }
}

/// Waits until all but the last `PENDING` groups of this thread's stores have read their shared memory
/// (`cp.async.bulk.wait_group.read`). They are complete when the launch is.
#[inline(always)]
pub fn wait_read<const PENDING: u32>() {
    // SAFETY: orders copies; accesses no memory of its own.
    unsafe {
        ptx!("cp.async.bulk.wait_group.read {0};", const PENDING, options(nostack));
    }
}
