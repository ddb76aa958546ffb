//! One allocation of global memory.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::Relaxed};

use crate::count::{Footprint, SECTOR_BYTES};

/// Words, and what is known of each.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub base: u64,
    pub bytes: u64,
    pub name: String,
    pub read_only: bool,
    /// Offsets that kernels may access; the host may access all.
    pub open: Range<u64>,
    /// Whether every byte is known to be written: spares the look-up.
    pub all_written: AtomicBool,
    pub words: Vec<AtomicU32>,
    /// Per word, one bit per byte in the low half: written.
    pub written: Vec<AtomicU8>,
    /// Per word, one bit per byte: read in the low half, stored in the high half, by the launch.
    pub touched: Vec<AtomicU8>,
}

impl Allocation {
    /// Reads 1, 2, 4 or 8 aligned bytes within bounds.
    #[inline]
    pub fn load(&self, offset: u64, bytes: u32) -> u64 {
        let at = offset as usize / 4;
        let word = u64::from(self.words[at].load(Relaxed));
        match bytes {
            4 => word,
            8 => word | u64::from(self.words[at + 1].load(Relaxed)) << 32,
            _ => word >> (8 * (offset & 3)) & ((1 << (8 * bytes)) - 1),
        }
    }

    /// Writes 1, 2, 4 or 8 aligned bytes within bounds.
    #[inline]
    pub fn store(&self, offset: u64, bytes: u32, value: u64) {
        let at = offset as usize / 4;
        match bytes {
            4 | 8 => {
                for i in 0..bytes as usize / 4 {
                    self.words[at + i].store((value >> (32 * i)) as u32, Relaxed);
                    self.written[at + i].store(0xf, Relaxed);
                }
            }
            _ => {
                for i in 0..u64::from(bytes) {
                    self.store_byte(offset + i, (value >> (8 * i)) as u8);
                }
            }
        }
    }

    pub fn store_byte(&self, offset: u64, value: u8) {
        let (at, shift) = (offset as usize / 4, 8 * (offset as u32 & 3));
        // Other threads may store the word's other bytes at the same time.
        let _ = self.words[at].fetch_update(Relaxed, Relaxed, |w| {
            Some(w & !(0xff << shift) | u32::from(value) << shift)
        });
        self.written[at].fetch_or(1 << (offset & 3), Relaxed);
    }

    /// The word that holds an aligned 4-byte location, for atomics.
    pub fn word(&self, offset: u64) -> &AtomicU32 {
        &self.words[offset as usize / 4]
    }

    /// Whether all these bytes, aligned to their number, have been written.
    #[inline]
    pub fn is_written(&self, offset: u64, bytes: u32) -> bool {
        if self.all_written.load(Relaxed) {
            return true;
        }
        let at = offset as usize / 4;
        let mask = |bytes: u32| ((1u8 << bytes) - 1) << (offset & 3);
        match bytes {
            8 => self.written[at].load(Relaxed) & self.written[at + 1].load(Relaxed) == 0xf,
            _ => self.written[at].load(Relaxed) & mask(bytes) == mask(bytes),
        }
    }

    /// Notes that the launch read (or stored) these bytes, aligned to their number.
    #[inline]
    pub fn touch(&self, offset: u64, bytes: u32, stored: bool) {
        let at = offset as usize / 4;
        let shift = if stored { 4 } else { 0 };
        let mask = if bytes >= 4 {
            0xf
        } else {
            ((1u8 << bytes) - 1) << (offset & 3)
        };
        for touched in &self.touched[at..at + (bytes as usize).div_ceil(4)] {
            if touched.load(Relaxed) & mask << shift != mask << shift {
                touched.fetch_or(mask << shift, Relaxed);
            }
        }
    }

    pub fn footprint(&self) -> Footprint {
        let mut f = Footprint {
            name: self.name.clone(),
            ..Footprint::default()
        };
        for sector in self.touched.chunks(SECTOR_BYTES as usize / 4) {
            let (mut read, mut written) = (0, 0);
            for touched in sector {
                let touched = touched.load(Relaxed);
                read += u64::from((touched & 0xf).count_ones());
                written += u64::from((touched >> 4).count_ones());
            }
            f.read_bytes += read;
            f.written_bytes += written;
            f.read_sectors += u64::from(read > 0);
            f.written_sectors += u64::from(written > 0);
        }
        f
    }
}
