//! Clusters of blocks (PTX ISA, "barrier.cluster", "Special registers").
#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_variables, unused_mut, unused_assignments))]

/// Defines the read of a special register.
macro_rules! special_register {
    ($(#[$doc:meta])* $name:ident, $register:literal) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() -> u32 {
            let mut value = 0u32;
            // SAFETY: reads a special register.
            unsafe {
                ptx!(
                    concat!("mov.u32 {0}, ", $register, ";"),
                    out(reg32) value, options(pure, nomem, nostack)
                );
            }
            value
        }
    };
}

special_register!(
    /// Index of the block in its cluster (`%cluster_ctarank`).
    rank, "%cluster_ctarank"
);
special_register!(
    /// Index of the cluster in a one-dimensional grid (`%clusterid.x`).
    index, "%clusterid.x"
);
special_register!(
    /// Blocks of the cluster (`%cluster_nctarank`): 1 where there are none.
    size, "%cluster_nctarank"
);

/// The address in the shared memory of block `rank` of the cluster that `address` is in this block's
/// (`mapa`): for [`super::shared::load_v4_of`].
#[inline(always)]
pub fn address_in(rank: u32, address: u32) -> u32 {
    let mut there = 0u32;
    // SAFETY: computes an address; touches no memory.
    unsafe {
        ptx!("mapa.shared::cluster.u32 {0}, {1}, {2};",
            out(reg32) there, in(reg32) address, in(reg32) rank, options(pure, nomem, nostack));
    }
    there
}

/// Waits for every thread of the cluster; what each has written before, the others see behind it.
///
/// Every thread of the cluster calls it.
#[inline(always)]
pub fn exchange() {
    // SAFETY: orders accesses; makes none of its own. No caller stands behind a condition that
    // differs between threads of a cluster.
    unsafe {
        ptx!("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;",
            options(nostack));
    }
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
