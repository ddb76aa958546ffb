//! The roofs that the rows name: datasheet and measured, memory and compute.

use std::str::FromStr;

use crate::record::Row;
use crate::roofline::Pipe;
use crate::roofline::units::engineering;

/// What a roof limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Traffic to device memory, byte/s.
    Memory,
    /// The operations of a pipe, FLOP/s; the pipe's name as figures write it.
    Compute(String),
}

/// Where a roof is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A datasheet or the device's attributes; the word for it.
    Known(&'static str),
    /// Measured in the run of the rows.
    Measured,
}

/// A roof.
#[derive(Clone, Debug, PartialEq)]
pub struct Roof {
    /// What it limits.
    pub limit: Limit,
    /// Where it is from.
    pub origin: Origin,
    /// Name of the device.
    pub device: String,
    /// The rate, the median where runs differ.
    pub rate: f64,
    /// Least and greatest rate of the runs.
    pub range: (f64, f64),
}

impl Roof {
    /// What is written at it: `FP32 66.9 TFLOP/s datasheet`.
    #[must_use]
    pub fn label(&self) -> String {
        let origin = match self.origin {
            Origin::Known(word) => word,
            Origin::Measured => "measured",
        };
        match &self.limit {
            Limit::Memory => format!("{} {origin}", engineering(self.rate, "B/s")),
            Limit::Compute(pipe) => {
                format!("{pipe} {} {origin}", engineering(self.rate, "FLOP/s"))
            }
        }
    }

    /// Whether it was measured.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        self.origin == Origin::Measured
    }
}

/// The roofs, for each device those of memory first; known before measured.
#[must_use]
pub fn roofs(rows: &[&Row]) -> Vec<Roof> {
    let mut found: Vec<(Roof, Vec<f64>)> = Vec::new();
    for row in rows {
        let compute = Limit::Compute(pipe_name(row.pipe.as_deref()));
        let known = Origin::Known(known_word(row.peak_source.as_deref()));
        for (limit, origin, rate) in [
            (Limit::Memory, known.clone(), row.peak_byte_per_s),
            (
                Limit::Memory,
                Origin::Measured,
                row.measured_peak_byte_per_s,
            ),
            (compute.clone(), known, row.peak_flop_per_s),
            (compute, Origin::Measured, row.measured_peak_flop_per_s),
        ] {
            let Some(rate) = rate.filter(|rate| *rate > 0.0 && rate.is_finite()) else {
                continue;
            };
            let same = found.iter_mut().find(|(roof, _)| {
                roof.limit == limit && roof.origin == origin && roof.device == row.device
            });
            match same {
                Some((_, rates)) => rates.push(rate),
                None => found.push((
                    Roof {
                        limit,
                        origin,
                        device: row.device.clone(),
                        rate,
                        range: (rate, rate),
                    },
                    vec![rate],
                )),
            }
        }
    }
    found
        .into_iter()
        .map(|(roof, rates)| summarized(roof, rates))
        .collect()
}

fn summarized(roof: Roof, mut rates: Vec<f64>) -> Roof {
    rates.sort_by(f64::total_cmp);
    Roof {
        rate: rates[rates.len() / 2],
        range: (rates[0], rates[rates.len() - 1]),
        ..roof
    }
}

/// The short word for a source of peaks.
fn known_word(source: Option<&str>) -> &'static str {
    match source {
        Some(source) if source.contains("attributes") => "attributes",
        _ => "datasheet",
    }
}

/// A pipe as figures write it: `FP32`, `BF16 tensor`.
#[must_use]
pub fn pipe_name(id: Option<&str>) -> String {
    let Some(id) = id else {
        return "compute".to_owned();
    };
    match Pipe::from_str(id) {
        Ok(pipe) if pipe.unit() == crate::roofline::pipe::Unit::TensorCore => {
            format!("{} tensor", pipe.precision())
        }
        Ok(pipe) => pipe.precision().to_owned(),
        Err(_) => id.to_owned(),
    }
}

/// Pairs of a memory and a compute roof of the same device and origin: each has a ridge point.
#[must_use]
pub fn pairs(roofs: &[Roof]) -> Vec<(&Roof, &Roof)> {
    let mut pairs = Vec::new();
    for memory in roofs.iter().filter(|roof| roof.limit == Limit::Memory) {
        for compute in roofs {
            if compute.limit != Limit::Memory
                && compute.origin == memory.origin
                && compute.device == memory.device
            {
                pairs.push((memory, compute));
            }
        }
    }
    pairs
}
