//! Global memory: allocations with names, bounds, and a record of what was written and touched.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::count::{Footprint, SECTOR_BYTES};

/// Address of the first allocation. Below lie no valid addresses, so that small integers and
/// null pointers are caught.
const FIRST: u64 = 0x10_0000_0000;
/// Alignment of allocations, that of `cuMemAlloc`.
const ALIGN: u64 = 256;
/// Unmapped bytes between allocations: an index that is off by a little hits nothing valid.
const GAP: u64 = 4096;

/// Address of global memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ptr(pub u64);

impl Ptr {
    /// The address `bytes` further on.
    #[must_use]
    pub fn offset(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(bytes))
    }
}

/// A host access outside an allocation, or to bytes that nothing has written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// Not inside one allocation.
    #[error("{bytes} bytes at {address:#x} are not inside one allocation")]
    OutOfBounds {
        /// First address.
        address: u64,
        /// Length.
        bytes: usize,
    },
    /// Read of a byte that nothing has written.
    #[error("byte {offset} of `{name}` was never written")]
    Uninitialized {
        /// Allocation.
        name: String,
        /// Offset in bytes.
        offset: u64,
    },
}

#[derive(Debug)]
pub(crate) struct Allocation {
    pub base: u64,
    pub bytes: u64,
    pub name: String,
    pub read_only: bool,
    /// Whether every byte is known to be written: spares the look-up.
    all_written: AtomicBool,
    words: Vec<AtomicU32>,
    /// Per word, one bit per byte in the low half: written.
    written: Vec<AtomicU8>,
    /// Per word, one bit per byte: read in the low half, stored in the high half, by the launch.
    touched: Vec<AtomicU8>,
}

/// The device's global memory. Kernels of one launch access it from many host threads.
#[derive(Debug, Default)]
pub struct Memory {
    allocations: Vec<Allocation>,
    next: u64,
    /// Held during a 64-bit atomic, which takes two words.
    wide_atomics: Mutex<()>,
}

impl Memory {
    /// Memory without allocations.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Allocates `bytes` bytes, aligned to 256. They are uninitialised: reading them before
    /// something is written there is diagnosed. `name` appears in diagnoses and footprints.
    pub fn alloc(&mut self, name: &str, bytes: usize) -> Ptr {
        let base = self.next.max(FIRST);
        self.next = (base + bytes as u64 + GAP).next_multiple_of(ALIGN);
        self.insert(name, base, bytes, false)
    }

    pub(crate) fn insert(&mut self, name: &str, base: u64, bytes: usize, read_only: bool) -> Ptr {
        let words = bytes.div_ceil(4);
        let allocation = Allocation {
            base,
            bytes: bytes as u64,
            name: name.to_string(),
            read_only,
            all_written: AtomicBool::new(bytes == 0),
            words: (0..words).map(|_| AtomicU32::new(0)).collect(),
            written: (0..words).map(|_| AtomicU8::new(0)).collect(),
            touched: (0..words).map(|_| AtomicU8::new(0)).collect(),
        };
        let at = self.allocations.partition_point(|a| a.base < base);
        self.allocations.insert(at, allocation);
        Ptr(base)
    }

    /// Whether an allocation starts at `base`.
    pub(crate) fn has(&self, base: u64) -> bool {
        self.allocations.iter().any(|a| a.base == base)
    }

    /// Adds a module's variable with its initial bytes.
    pub(crate) fn insert_variable(&mut self, name: &str, base: u64, bytes: &[u8], read_only: bool) {
        let ptr = self.insert(name, base, bytes.len(), read_only);
        // The bytes fit: the allocation was made for them.
        let _ = self.write(ptr, bytes);
    }

    /// Frees the allocation that starts at `ptr`; later accesses to it are out of bounds.
    ///
    /// # Errors
    /// If no allocation starts there.
    pub fn free(&mut self, ptr: Ptr) -> Result<(), MemoryError> {
        match self.allocations.iter().position(|a| a.base == ptr.0) {
            Some(at) => {
                self.allocations.remove(at);
                Ok(())
            }
            None => Err(MemoryError::OutOfBounds {
                address: ptr.0,
                bytes: 0,
            }),
        }
    }

    /// Copies `data` to `ptr`.
    ///
    /// # Errors
    /// If the bytes are not inside one allocation.
    pub fn write(&mut self, ptr: Ptr, data: &[u8]) -> Result<(), MemoryError> {
        let (allocation, offset) = self.locate(ptr, data.len())?;
        let mut at = offset;
        for chunk in chunks(offset, data) {
            match <[u8; 4]>::try_from(chunk) {
                Ok(word) if at % 4 == 0 => allocation.store(at, 4, u32::from_le_bytes(word).into()),
                _ => (at..)
                    .zip(chunk)
                    .for_each(|(at, byte)| allocation.store_byte(at, *byte)),
            }
            at += chunk.len() as u64;
        }
        if data.len() as u64 == allocation.bytes {
            allocation.all_written.store(true, Relaxed);
        }
        Ok(())
    }

    /// Copies from `ptr` into `out`.
    ///
    /// # Errors
    /// If the bytes are not inside one allocation, or one of them was never written.
    pub fn read(&self, ptr: Ptr, out: &mut [u8]) -> Result<(), MemoryError> {
        let (allocation, offset) = self.locate(ptr, out.len())?;
        for (i, byte) in out.iter_mut().enumerate() {
            let at = offset + i as u64;
            if !allocation.is_written(at, 1) {
                return Err(MemoryError::Uninitialized {
                    name: allocation.name.clone(),
                    offset: at,
                });
            }
            *byte = allocation.load(at, 1) as u8;
        }
        Ok(())
    }

    /// Allocates for `data` and copies it there.
    pub fn alloc_f32(&mut self, name: &str, data: &[f32]) -> Ptr {
        let bits: Vec<u32> = data.iter().map(|x| x.to_bits()).collect();
        self.alloc_u32(name, &bits)
    }

    /// Allocates for `data` and copies it there.
    pub fn alloc_u32(&mut self, name: &str, data: &[u32]) -> Ptr {
        let ptr = self.alloc(name, data.len() * 4);
        if let Ok((allocation, _)) = self.locate(ptr, 0) {
            for (i, bits) in data.iter().enumerate() {
                allocation.words[i].store(*bits, Relaxed);
                allocation.written[i].store(0xf, Relaxed);
            }
            allocation.all_written.store(true, Relaxed);
        }
        ptr
    }

    /// Reads `n` values from `ptr`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_f32(&self, ptr: Ptr, n: usize) -> Result<Vec<f32>, MemoryError> {
        Ok(self
            .read_u32(ptr, n)?
            .into_iter()
            .map(f32::from_bits)
            .collect())
    }

    /// Reads `n` values from `ptr`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_u32(&self, ptr: Ptr, n: usize) -> Result<Vec<u32>, MemoryError> {
        let mut bytes = vec![0; n * 4];
        self.read(ptr, &mut bytes)?;
        Ok(bytes
            .chunks_exact(4)
            .map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]))
            .collect())
    }

    fn locate(&self, ptr: Ptr, bytes: usize) -> Result<(&Allocation, u64), MemoryError> {
        self.find(ptr.0)
            .map(|index| &self.allocations[index])
            .filter(|a| ptr.0 - a.base + bytes as u64 <= a.bytes)
            .map(|a| (a, ptr.0 - a.base))
            .ok_or(MemoryError::OutOfBounds {
                address: ptr.0,
                bytes,
            })
    }

    /// Index of the allocation whose base is the last at or below `address`.
    pub(crate) fn find(&self, address: u64) -> Option<usize> {
        self.allocations
            .partition_point(|a| a.base <= address)
            .checked_sub(1)
    }

    pub(crate) fn try_get(&self, index: usize) -> Option<&Allocation> {
        self.allocations.get(index)
    }

    pub(crate) fn get(&self, index: usize) -> &Allocation {
        &self.allocations[index]
    }

    pub(crate) fn lock_wide_atomics(&self) -> MutexGuard<'_, ()> {
        self.wide_atomics
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn forget_touches(&self) {
        for allocation in &self.allocations {
            allocation.touched.iter().for_each(|t| t.store(0, Relaxed));
        }
    }

    /// Distinct bytes touched since [`forget_touches`](Self::forget_touches).
    pub(crate) fn footprints(&self) -> Vec<Footprint> {
        self.allocations
            .iter()
            .map(Allocation::footprint)
            .filter(|f| f.read_bytes + f.written_bytes > 0)
            .collect()
    }
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

    fn store_byte(&self, offset: u64, value: u8) {
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

    fn footprint(&self) -> Footprint {
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

/// `data` in pieces that end at word boundaries, given the offset it starts at.
fn chunks(offset: u64, data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let head = (offset.wrapping_neg() % 4).min(data.len() as u64) as usize;
    let (head, rest) = data.split_at(head);
    std::iter::once(head).chain(rest.chunks(4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_unwritten_ones_do_not() {
        let mut memory = Memory::new();
        let p = memory.alloc("a", 10);
        memory.write(p.offset(1), &[1, 2, 3, 4, 5]).unwrap();
        let mut out = [0; 5];
        memory.read(p.offset(1), &mut out).unwrap();
        assert_eq!(out, [1, 2, 3, 4, 5]);
        let error = memory.read(p, &mut out).unwrap_err();
        assert_eq!(
            error,
            MemoryError::Uninitialized {
                name: "a".into(),
                offset: 0
            }
        );
        assert!(memory.write(p.offset(8), &[0; 3]).is_err());
        let all: Vec<u8> = (0..10).collect();
        for start in 0..10 {
            memory.write(p, &[0xff; 10]).unwrap();
            memory
                .write(p.offset(start), &all[start as usize..])
                .unwrap();
            let mut out = [0; 10];
            memory.read(p, &mut out).unwrap();
            assert_eq!(out[start as usize..], all[start as usize..]);
            assert!(out[..start as usize].iter().all(|byte| *byte == 0xff));
        }
        memory.free(p).unwrap();
        assert!(memory.read(p.offset(1), &mut out).is_err());
    }
}
