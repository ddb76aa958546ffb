//! Optional numbers that are finite in every file.
//!
//! JSON has no NaN or infinity, and CSV readers disagree on their spelling, so
//! they are written as unknown; one that turns up in a file is an error.

use serde::de::{Deserialize, Deserializer, Error, Unexpected};
use serde::{Serialize, Serializer};

// By reference because that is the signature serde's `with` calls.
#[allow(clippy::ref_option)]
pub(super) fn serialize<S: Serializer>(value: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    value.filter(|number| number.is_finite()).serialize(to)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    match Option::<f64>::deserialize(from)? {
        Some(number) if !number.is_finite() => Err(D::Error::invalid_value(
            Unexpected::Float(number),
            &"a finite number, or nothing where it is unknown",
        )),
        value => Ok(value),
    }
}
