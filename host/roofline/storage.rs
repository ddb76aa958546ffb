//! How operands are stored in device memory.

use std::fmt;
use std::str::FromStr;

/// A storage type that is not one of [`Storage::ALL`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown storage type \"{given}\"; allowed: {}", storage_ids())]
pub struct UnknownStorage {
    /// What was given.
    pub given: String,
}

/// How an operand is stored in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Storage {
    /// 64-bit floating point.
    F64,
    /// 32-bit floating point; also what TF32 operands are stored as.
    F32,
    /// bfloat16.
    Bf16,
    /// 16-bit floating point.
    F16,
    /// 8-bit floating point.
    Fp8,
    /// 8-bit integer.
    I8,
    /// 4-bit floating point, two to a byte; scale factors are not counted.
    Fp4,
}

impl Storage {
    /// Every storage type.
    pub const ALL: [Storage; 7] = [
        Storage::F64,
        Storage::F32,
        Storage::Bf16,
        Storage::F16,
        Storage::Fp8,
        Storage::I8,
        Storage::Fp4,
    ];

    /// The identifier used by `--storage` and the `storage` column.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Storage::F64 => "f64",
            Storage::F32 => "f32",
            Storage::Bf16 => "bf16",
            Storage::F16 => "f16",
            Storage::Fp8 => "fp8",
            Storage::I8 => "i8",
            Storage::Fp4 => "fp4",
        }
    }

    /// Width of one element, bits.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Storage::F64 => 64,
            Storage::F32 => 32,
            Storage::Bf16 | Storage::F16 => 16,
            Storage::Fp8 | Storage::I8 => 8,
            Storage::Fp4 => 4,
        }
    }
}

fn storage_ids() -> String {
    Storage::ALL.map(Storage::id).join(", ")
}

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl FromStr for Storage {
    type Err = UnknownStorage;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Storage::ALL
            .into_iter()
            .find(|t| t.id().eq_ignore_ascii_case(s.trim()))
            .ok_or_else(|| UnknownStorage {
                given: s.to_owned(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_types_parse_and_unknown_ones_list_the_allowed() {
        for storage in Storage::ALL {
            assert_eq!(storage.id().parse(), Ok(storage));
        }
        let error = "f31".parse::<Storage>().unwrap_err().to_string();
        assert!(
            error.contains("\"f31\"") && error.contains("bf16"),
            "{error}"
        );
    }
}
