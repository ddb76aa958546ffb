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
                format!(
                    "{pipe} {} {origin}",
                    engineering(self.rate, rate_unit(pipe))
                )
            }
        }
    }

    /// What is written where there are roofs of several pipes: one label for the roof of the
    /// datasheet and the measured one, at the upper roof of a pipe and the lower one of a memory.
    /// Empty for the other of the two.
    #[must_use]
    pub fn short_label(&self, roofs: &[Roof]) -> String {
        let partner = roofs.iter().find(|other| {
            other.limit == self.limit
                && other.device == self.device
                && other.is_measured() != self.is_measured()
        });
        let Some(partner) = partner else {
            return self.label();
        };
        let (known, measured) = match self.is_measured() {
            true => (partner, self),
            false => (self, partner),
        };
        let measured_is_upper = measured.rate > known.rate;
        let labels_measured = match self.limit {
            Limit::Memory => !measured_is_upper,
            Limit::Compute(_) => measured_is_upper,
        };
        if labels_measured != self.is_measured() {
            return String::new();
        }
        match &self.limit {
            Limit::Memory => both(known.rate, measured.rate, "B/s"),
            Limit::Compute(pipe) => {
                format!(
                    "{pipe} {}",
                    both(known.rate, measured.rate, rate_unit(pipe))
                )
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

/// Two rates with their unit, which is written once if both have it: `989.4/887.5 TFLOP/s`.
fn both(known: f64, measured: f64, unit: &str) -> String {
    let (known, measured) = (engineering(known, unit), engineering(measured, unit));
    match (known.split_once(' '), measured.split_once(' ')) {
        (Some((number, prefixed)), Some((_, same))) if prefixed == same => {
            format!("{number}/{measured}")
        }
        _ => format!("{known}/{measured}"),
    }
}

/// Number of pipes that have a roof.
#[must_use]
pub fn compute(roofs: &[Roof]) -> usize {
    let mut pipes: Vec<&Limit> = Vec::new();
    for roof in roofs.iter().filter(|roof| roof.limit != Limit::Memory) {
        if !pipes.contains(&&roof.limit) {
            pipes.push(&roof.limit);
        }
    }
    pipes.len()
}

/// Whether the roofs are of more than one pipe.
#[must_use]
pub fn of_several_pipes(roofs: &[Roof]) -> bool {
    compute(roofs) > 1
}

/// The unit of the rate of a pipe with this name in figures.
fn rate_unit(name: &str) -> &'static str {
    Pipe::ALL
        .into_iter()
        .find(|pipe| pipe_name(Some(pipe.id())) == name)
        .map_or("FLOP/s", Pipe::rate_unit)
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
