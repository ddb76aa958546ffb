//! Tensor maps: how `cp.async.bulk.tensor` finds a box of a tensor (PTX ISA, "Tensors").
//!
//! The driver's encoding is not documented. Kernels treat the map as opaque, so this crate has
//! an encoding of its own, made from the same parameters as `cuTensorMapEncodeTiled` takes.

use crate::memory::{Memory, Ptr};

/// Bytes of an encoded map, as in the driver.
pub const TENSOR_MAP_BYTES: usize = 128;

/// First bytes of an encoded map: a kernel that is handed something else is told so.
const MAGIC: u32 = 0x7074_786d;

/// Permutation of 16-byte units in shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Swizzle {
    /// Rows as they are.
    #[default]
    None,
    /// Within 32 bytes.
    B32,
    /// Within 64 bytes.
    B64,
    /// Within 128 bytes.
    B128,
}

impl Swizzle {
    /// Address bits 4.. that bits 7.. are added to, modulo 2.
    fn bits(self) -> u32 {
        match self {
            Self::None => 0,
            Self::B32 => 1,
            Self::B64 => 2,
            Self::B128 => 3,
        }
    }

    pub(crate) fn from_bits(bits: u32) -> Option<Self> {
        [Self::None, Self::B32, Self::B64, Self::B128]
            .into_iter()
            .find(|s| s.bits() == bits)
    }

    /// Where a byte of the plain layout lies.
    #[inline]
    pub(crate) fn apply(self, address: u64) -> u64 {
        let mask = (1 << self.bits()) - 1;
        address ^ (address >> 7 & mask) << 4
    }

    /// Bytes that a row spans at most.
    pub(crate) fn span(self) -> u32 {
        match self {
            Self::None => u32::MAX,
            Self::B32 => 32,
            Self::B64 => 64,
            Self::B128 => 128,
        }
    }
}

/// A tensor in global memory and the box that one copy moves. Dimension 0 is contiguous.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorMap {
    /// Address of the first element, a multiple of 16.
    pub base: Ptr,
    /// Bytes of an element: 1, 2, 4 or 8.
    pub element_bytes: u32,
    /// Elements per dimension; 1 to 5 dimensions.
    pub sizes: Vec<u64>,
    /// Bytes between neighbours in dimensions 1 and up, multiples of 16.
    pub strides: Vec<u64>,
    /// Elements of the box per dimension, at most 256 each.
    pub box_sizes: Vec<u32>,
    /// Layout of the box in shared memory.
    pub swizzle: Swizzle,
}

/// A tensor map outside the limits that the driver enforces.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("tensor map: {0}")]
pub struct TensorMapError(String);

impl TensorMap {
    /// Encodes the map for kernels run by this crate.
    ///
    /// # Errors
    /// If a parameter is outside the limits of `cuTensorMapEncodeTiled`.
    pub fn encode(&self) -> Result<[u8; TENSOR_MAP_BYTES], TensorMapError> {
        self.check()?;
        let mut out = [0; TENSOR_MAP_BYTES];
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            out[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(&MAGIC.to_le_bytes());
        put(&[
            self.sizes.len() as u8,
            self.element_bytes as u8,
            self.swizzle.bits() as u8,
            0,
        ]);
        put(&self.base.0.to_le_bytes());
        for dimension in 0..5 {
            put(&self.sizes.get(dimension).unwrap_or(&1).to_le_bytes());
        }
        for dimension in 0..4 {
            put(&self.strides.get(dimension).unwrap_or(&0).to_le_bytes());
        }
        for dimension in 0..5 {
            put(&self.box_sizes.get(dimension).unwrap_or(&1).to_le_bytes());
        }
        Ok(out)
    }

    /// Allocates memory for the encoded map, aligned to 64 bytes as the ISA demands.
    ///
    /// # Errors
    /// As [`encode`](Self::encode).
    pub fn alloc(&self, memory: &mut Memory, name: &str) -> Result<Ptr, TensorMapError> {
        let bytes = self.encode()?;
        let ptr = memory.alloc(name, bytes.len());
        memory
            .write(ptr, &bytes)
            .map_err(|error| TensorMapError(error.to_string()))?;
        Ok(ptr)
    }

    fn check(&self) -> Result<(), TensorMapError> {
        let fail = |message: String| Err(TensorMapError(message));
        let rank = self.sizes.len();
        if !(1..=5).contains(&rank)
            || self.strides.len() != rank - 1
            || self.box_sizes.len() != rank
        {
            return fail(format!(
                "{rank} sizes, {} strides, {} box sizes",
                self.strides.len(),
                self.box_sizes.len()
            ));
        }
        if !matches!(self.element_bytes, 1 | 2 | 4 | 8) {
            return fail(format!("elements of {} bytes", self.element_bytes));
        }
        if !self.base.0.is_multiple_of(16) || self.strides.iter().any(|s| !s.is_multiple_of(16)) {
            return fail("address and strides are multiples of 16".into());
        }
        if self.box_sizes.iter().any(|b| !(1..=256).contains(b)) {
            return fail("a box has 1 to 256 elements per dimension".into());
        }
        let inner = self.box_sizes[0] * self.element_bytes;
        if !inner.is_multiple_of(16) || inner > self.swizzle.span() {
            return fail(format!(
                "inner rows of {inner} bytes: a multiple of 16 within the swizzle is demanded"
            ));
        }
        Ok(())
    }

    /// Reads an encoded map back.
    pub(crate) fn decode(bytes: &[u8; TENSOR_MAP_BYTES]) -> Option<Self> {
        let u32_at = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        let rank = bytes[4] as usize;
        if u32_at(0) != MAGIC || !(1..=5).contains(&rank) {
            return None;
        }
        let map = Self {
            base: Ptr(u64_at(8)),
            element_bytes: bytes[5].into(),
            sizes: (0..rank).map(|i| u64_at(16 + 8 * i)).collect(),
            strides: (0..rank - 1).map(|i| u64_at(56 + 8 * i)).collect(),
            box_sizes: (0..rank).map(|i| u32_at(88 + 4 * i)).collect(),
            swizzle: Swizzle::from_bits(bytes[6].into())?,
        };
        map.check().ok().map(|()| map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_survive_encoding() {
        let map = TensorMap {
            base: Ptr(0x1000),
            element_bytes: 2,
            sizes: vec![100, 200, 3],
            strides: vec![208, 41_600],
            box_sizes: vec![64, 8, 1],
            swizzle: Swizzle::B128,
        };
        assert_eq!(TensorMap::decode(&map.encode().unwrap()), Some(map.clone()));
        assert_eq!(TensorMap::decode(&[0; 128]), None);
        assert!(
            TensorMap {
                box_sizes: vec![128, 8, 1],
                ..map.clone()
            }
            .encode()
            .is_err()
        );
        assert!(
            TensorMap {
                strides: vec![200, 41_600],
                ..map
            }
            .encode()
            .is_err()
        );
    }

    #[test]
    fn the_swizzle_of_128_bytes_permutes_units_of_16() {
        // Row 3 of 128 bytes: unit 0 goes to unit 3.
        assert_eq!(Swizzle::B128.apply(3 * 128), 3 * 128 + 3 * 16);
        assert_eq!(Swizzle::B128.apply(9 * 128 + 5), 9 * 128 + 16 + 5);
        assert_eq!(Swizzle::B32.apply(128), 128 + 16);
        assert_eq!(Swizzle::None.apply(1234), 1234);
    }
}
