//! Global memory: allocations with names, bounds, and a record of what was written and touched.

mod allocation;

pub(crate) use allocation::Allocation;

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::count::Footprint;

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
            open: 0..bytes as u64,
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

    /// Opens to kernels only the `bytes` bytes at `ptr` of the allocation that holds them; accesses
    /// to its other bytes are out of bounds. The host may still access all of it: guard bands stay
    /// readable by whoever checks them, while a kernel that so much as reads one is caught.
    ///
    /// # Errors
    /// If the bytes are not inside one allocation.
    pub fn open_only(&mut self, ptr: Ptr, bytes: u64) -> Result<(), MemoryError> {
        let out_of_bounds = MemoryError::OutOfBounds {
            address: ptr.0,
            bytes: bytes as usize,
        };
        let Some(index) = self.find(ptr.0) else {
            return Err(out_of_bounds);
        };
        let allocation = &mut self.allocations[index];
        let first = ptr.0 - allocation.base;
        match first.checked_add(bytes) {
            Some(end) if end <= allocation.bytes => {
                allocation.open = first..end;
                Ok(())
            }
            _ => Err(out_of_bounds),
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
        let head = (offset.wrapping_neg() % 4).min(out.len() as u64) as usize;
        let (head, rest) = out.split_at_mut(head);
        let mut at = offset;
        for chunk in std::iter::once(head).chain(rest.chunks_mut(4)) {
            if chunk.len() == 4 && allocation.is_written(at, 4) {
                chunk.copy_from_slice(&(allocation.load(at, 4) as u32).to_le_bytes());
                at += 4;
                continue;
            }
            for byte in chunk {
                if !allocation.is_written(at, 1) {
                    return Err(MemoryError::Uninitialized {
                        name: allocation.name.clone(),
                        offset: at,
                    });
                }
                *byte = allocation.load(at, 1) as u8;
                at += 1;
            }
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
        assert!(memory.open_only(p.offset(4), 7).is_err());
        memory.open_only(p.offset(4), 6).unwrap();
        // The host reads what is closed to kernels.
        assert_eq!(memory.read_u32(p, 1).unwrap(), [0xffff_ffff]);
        memory.free(p).unwrap();
        assert!(memory.read(p.offset(1), &mut out).is_err());
    }
}
