//! The parts of a tile that several blocks share, added up.
//!
//! In a cluster each block leaves its sums in its own shared memory; behind the cluster's barrier each
//! adds up all parts of its share of the tile, in the order of k, and adds that to C.
//!
//! Without one the parts are added up in pairs, and pairs of these, as a tree over the order of k. Of
//! the two sides of a node the one that comes first leaves its sums in the scratch memory and
//! goes; the other adds them to its own, in registers, and goes on. So the way from the last
//! product to C grows with the logarithm of the number of parts, the result does not depend on
//! who comes last, because an addition does not on the order of its two operands, and no block
//! ever waits for another.

#[cfg(sm_90a)]
use super::output::Output;
use super::{Schedule, Shape};
use crate::gpu::thread;
use crate::params::Copies;
use crate::ptx::global::{load_v4, store_v4};
#[cfg(sm_90a)]
use crate::ptx::cluster;
use crate::ptx::{device_wide, shared};

/// Adds the parts of a tile that others computed to this block's, as far as they are there; true
/// if they all are. The parts are those of the `parts` blocks from `from` on.
///
/// # Safety
/// Every thread of one of these blocks calls it, with its own sums, when the stages are no longer
/// filled.
#[inline(always)]
pub unsafe fn gather<S: Shape, const TM: usize, const TN: usize>(
    schedule: &Schedule,
    from: u32,
    parts: u32,
    sums: &mut [[f32; TN]; TM],
) -> bool {
    let own = thread::block_idx_x() - from;
    let first_thread = thread::thread_idx_x() == 0;
    normalise(sums);
    // The flags of two nodes in a row.
    let mut flag = shared::dynamic_base() + S::TILE.flags_offset();
    if matches!(S::TILE.copies, Copies::Threads) {
        // All have read the last stage.
        thread::sync_threads();
    }
    let mut width = 1;
    while width < parts {
        let left = own & !(2 * width - 1);
        let right = left + width;
        if right < parts {
            let counter = schedule.counter(from + right);
            let slot = |side| schedule.slot::<S>(from + side, side == 0);
            let (mine, other) = if own & width == 0 { (left, right) } else { (right, left) };
            // SAFETY: each side of a node is one block's, which alone writes to its slot until it
            // has added to the counter; the fences order slots and counter, the barriers the flag.
            unsafe {
                if first_thread {
                    let come = device_wide::load(counter);
                    device_wide::fence();
                    shared::store_u32(flag, come);
                }
                thread::sync_threads();
                if shared::load_u32(flag) == 0 {
                    store_partial::<S, TM, TN>(slot(mine), sums);
                    thread::sync_threads();
                    if first_thread {
                        device_wide::fence();
                        let come = device_wide::fetch_add(counter, 1);
                        device_wide::fence();
                        shared::store_u32(flag, come);
                    }
                    thread::sync_threads();
                    if shared::load_u32(flag) == 0 {
                        return false;
                    }
                }
                if first_thread {
                    // Both have come: ready for the next launch.
                    *counter = 0;
                }
                add_partial::<S, TM, TN>(slot(other), sums);
            }
            flag ^= 4;
        }
        width *= 2;
    }
    true
}

/// Adds up the parts of a tile that the blocks of the cluster share, and adds them to C.
///
/// # Safety
/// Every thread of the cluster calls it, with its own sums, when the stages are no longer filled;
/// no other block accesses this tile of C.
#[cfg(sm_90a)]
#[inline(always)]
pub unsafe fn combine<S: Shape, const TM: usize, const TN: usize, const VEC: u32>(
    sums: &mut [[f32; TN]; TM],
    output: &Output<S, VEC>,
) {
    /// Vectors whose loads are under way together.
    const TOGETHER: usize = 4;
    const { assert!(S::TILE.m * S::TILE.n * 4 <= S::TILE.shared_bytes()) };
    let (rank, parts) = (cluster::rank(), cluster::size());
    let vectors = (TM * TN / 4) as u32;
    let thread = thread::thread_idx_x();
    let at = |v: u32| shared::dynamic_base() + (v * S::TILE.threads() + thread) * 16;
    normalise(sums);
    // SAFETY: the stages are no longer read behind the block's barrier; each thread writes its own
    // vectors, which others read behind the cluster's; each vector of C is one thread's.
    unsafe {
        thread::sync_threads();
        let mut v = 0;
        while v < TM * TN / 4 {
            let (i, j) = (v / (TN / 4), v % (TN / 4) * 4);
            shared::store_v4(at(v as u32), core::array::from_fn(|e| sums[i][j + e]));
            v += 1;
        }
        cluster::exchange();
        let mut first = rank;
        while first < vectors {
            let each: [u32; TOGETHER] = core::array::from_fn(|g| first + g as u32 * parts);
            let place = |v: u32| ((v / (TN as u32 / 4)) as usize, (v % (TN as u32 / 4)) as usize);
            let old = each.map(|v| match v < vectors {
                true => output.read(place(v).0, place(v).1),
                false => [0.0; 4],
            });
            let of = |part: u32| {
                each.map(|v| match v < vectors {
                    true => shared::load_v4_of(cluster::address_in(part, at(v))),
                    false => [0.0; 4],
                })
            };
            let mut total = of(0);
            let mut part = 1;
            while part < parts {
                let loaded = of(part);
                let mut g = 0;
                while g < TOGETHER {
                    if each[g] < vectors {
                        total[g] = core::array::from_fn(|e| total[g][e] + loaded[g][e]);
                    }
                    g += 1;
                }
                part += 1;
            }
            let mut g = 0;
            while g < TOGETHER {
                if each[g] < vectors {
                    let (i, j) = place(each[g]);
                    output.write(i, j, core::array::from_fn(|e| old[g][e] + total[g][e]));
                }
                g += 1;
            }
            first += TOGETHER as u32 * parts;
        }
        // Nobody leaves while others read its shared memory.
        cluster::sync();
    }
}

/// Address of the `v`-th vector of this thread in a partial sum: the vectors of a block's
/// threads lie side by side.
#[inline(always)]
fn partial_vector<S: Shape>(slot: *mut f32, v: usize) -> *mut f32 {
    let t = thread::thread_idx_x() as usize;
    slot.wrapping_add((v * S::TILE.threads() as usize + t) * 4)
}

/// Adds 0 to each sum: -0 becomes 0, so that it makes no difference whether a part has been
/// stored.
///
/// And what is stored afterwards is not the sums themselves: four of these would have to lie in
/// four neighbouring registers, and with them in the register bank of the operands that they are
/// multiplied from, which costs the main loop an eighth of its speed.
#[inline(always)]
fn normalise<const TM: usize, const TN: usize>(sums: &mut [[f32; TN]; TM]) {
    let mut v = 0;
    while v < TM * TN {
        sums[v / TN][v % TN] += 0.0;
        v += 1;
    }
}

/// Stores `sums` as a partial sum.
///
/// # Safety
/// `slot` holds a tile, 16-byte aligned, that only this block writes.
#[inline(always)]
unsafe fn store_partial<S: Shape, const TM: usize, const TN: usize>(
    slot: *mut f32,
    sums: &[[f32; TN]; TM],
) {
    let mut v = 0;
    while v < TM * TN / 4 {
        let (i, j) = (v / (TN / 4), v % (TN / 4) * 4);
        // SAFETY: as the caller vouches.
        unsafe { store_v4(partial_vector::<S>(slot, v), core::array::from_fn(|e| sums[i][j + e])) }
        v += 1;
    }
}

/// Adds a partial sum to `sums`.
///
/// # Safety
/// `slot` holds a tile that [`store_partial`] wrote, and the write is visible to this block.
#[inline(always)]
unsafe fn add_partial<S: Shape, const TM: usize, const TN: usize>(
    slot: *mut f32,
    sums: &mut [[f32; TN]; TM],
) {
    let mut v = 0;
    while v < TM * TN / 4 {
        let (i, j) = (v / (TN / 4), v % (TN / 4) * 4);
        // SAFETY: as the caller vouches.
        let part = unsafe { load_v4(partial_vector::<S>(slot, v)) };
        let mut e = 0;
        while e < 4 {
            sums[i][j + e] += part[e];
            e += 1;
        }
        v += 1;
    }
}
