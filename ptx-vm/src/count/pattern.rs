//! Access patterns of one warp: sectors of global accesses, wavefronts of shared ones.

use crate::ir::WARP;

/// Distinct 32-byte sectors that the active lanes touch. An aligned access of at most 32 bytes
/// lies in one sector.
pub(crate) fn sectors(addresses: &[u64; WARP], mask: u32) -> u32 {
    let mut count = 0;
    let mut last = u64::MAX;
    let mut ascending = true;
    let mut rest = mask;
    while rest != 0 {
        let sector = addresses[rest.trailing_zeros() as usize] >> 5;
        rest &= rest - 1;
        ascending &= last == u64::MAX || sector >= last;
        count += u32::from(sector != last);
        last = sector;
    }
    if ascending {
        return count;
    }
    let mut sorted: Vec<u64> = (0..WARP)
        .filter(|lane| mask >> lane & 1 == 1)
        .map(|lane| addresses[lane] >> 5)
        .collect();
    sorted.sort_unstable();
    sorted.dedup();
    sorted.len() as u32
}

/// Wavefronts that a shared access of `bytes` per lane needs, and how many it would need
/// without bank conflicts.
pub(crate) fn wavefronts(addresses: &[u64; WARP], mask: u32, bytes: u32) -> (u32, u32) {
    let lanes_at_once = match bytes {
        16 => 8,
        8 => 16,
        _ => 32,
    };
    let words = (bytes / 4).max(1);
    let (mut total, mut ideal) = (0, 0);
    for group in 0..WARP as u32 / lanes_at_once {
        let active = (mask >> (group * lanes_at_once)) & (u32::MAX >> (32 - lanes_at_once));
        if active == 0 {
            continue;
        }
        ideal += 1;
        total += group_wavefronts(addresses, active, group * lanes_at_once, words);
    }
    (total, ideal)
}

/// The largest number of different words in one bank.
fn group_wavefronts(addresses: &[u64; WARP], active: u32, first: u32, words: u32) -> u32 {
    let mut word_of = [0u64; 32];
    let mut seen = 0u32;
    let mut conflict = false;
    let mut rest = active;
    while rest != 0 {
        let lane = rest.trailing_zeros() + first;
        rest &= rest - 1;
        for w in 0..u64::from(words) {
            let word = addresses[lane as usize] / 4 + w;
            let bank = (word % 32) as usize;
            conflict |= seen >> bank & 1 == 1 && word_of[bank] != word;
            word_of[bank] = word;
            seen |= 1 << bank;
        }
    }
    if !conflict {
        return 1;
    }
    let mut all: Vec<u64> = (0..32u32)
        .filter(|lane| active >> lane & 1 == 1)
        .flat_map(|lane| {
            (0..u64::from(words)).map(move |w| addresses[(lane + first) as usize] / 4 + w)
        })
        .collect();
    all.sort_unstable();
    all.dedup();
    let mut depth = [0u32; 32];
    all.iter().for_each(|word| depth[(word % 32) as usize] += 1);
    depth.into_iter().max().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strided(stride: u64) -> [u64; WARP] {
        std::array::from_fn(|lane| lane as u64 * stride)
    }

    #[test]
    fn sectors_of_coalesced_strided_and_reversed_accesses() {
        assert_eq!(sectors(&strided(4), u32::MAX), 4);
        assert_eq!(sectors(&strided(16), u32::MAX), 16);
        assert_eq!(sectors(&strided(32), u32::MAX), 32);
        assert_eq!(sectors(&strided(0), u32::MAX), 1);
        let mut reversed = strided(4);
        reversed.reverse();
        assert_eq!(sectors(&reversed, u32::MAX), 4);
        assert_eq!(sectors(&strided(4), 0x0000_00ff), 1);
    }

    #[test]
    fn bank_conflicts_of_the_textbook_patterns() {
        assert_eq!(wavefronts(&strided(4), u32::MAX, 4), (1, 1));
        assert_eq!(wavefronts(&strided(0), u32::MAX, 4), (1, 1), "broadcast");
        assert_eq!(wavefronts(&strided(8), u32::MAX, 4), (2, 1));
        assert_eq!(wavefronts(&strided(128), u32::MAX, 4), (32, 1));
        assert_eq!(
            wavefronts(&strided(132), u32::MAX, 4),
            (1, 1),
            "padded column"
        );
        assert_eq!(wavefronts(&strided(8), u32::MAX, 8), (2, 2));
        assert_eq!(wavefronts(&strided(16), u32::MAX, 16), (4, 4));
        assert_eq!(wavefronts(&strided(32), u32::MAX, 16), (8, 4));
    }
}
