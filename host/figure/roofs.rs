//! The roofs that the rows name: datasheet and measured, memory and compute.

use std::str::FromStr;

use super::levels::Level;
use crate::record::Row;
use crate::roofline::Pipe;
use crate::roofline::units::engineering;

/// What a roof limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Traffic to a level of the memory, byte/s.
    Memory(Level),
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
    /// The roof of rates of several runs: their median, and how far they reach. `rates` is not empty.
    pub(super) fn of_rates(
        limit: Limit,
        origin: Origin,
        device: &str,
        mut rates: Vec<f64>,
    ) -> Roof {
        rates.sort_by(f64::total_cmp);
        Roof {
            limit,
            origin,
            device: device.to_owned(),
            rate: rates[rates.len() / 2],
            range: (rates[0], rates[rates.len() - 1]),
        }
    }

    /// What is written at it: `FP32 66.9 TFLOP/s datasheet`. The device memory goes without its name.
    #[must_use]
    pub fn label(&self) -> String {
        let origin = match self.origin {
            Origin::Known(word) => word,
            Origin::Measured => "measured",
        };
        let rate = engineering(self.rate, self.unit());
        match &self.limit {
            Limit::Memory(Level::Dram) => format!("{rate} {origin}"),
            _ => format!("{} {rate} {origin}", self.name()),
        }
    }

    /// What it limits, in a word or two: a level of the memory or a pipe.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.limit {
            Limit::Memory(level) => level.name(),
            Limit::Compute(pipe) => pipe,
        }
    }

    /// The unit of its rate.
    fn unit(&self) -> &'static str {
        match &self.limit {
            Limit::Memory(_) => "B/s",
            Limit::Compute(pipe) => rate_unit(pipe),
        }
    }

    /// What is written where there are roofs of several pipes or levels: one label for the roof of the
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
            return match self.limit {
                Limit::Memory(Level::Dram) if of_several_levels(roofs) => {
                    format!("{} {}", self.name(), self.label())
                }
                _ => self.label(),
            };
        };
        let (known, measured) = match self.is_measured() {
            true => (partner, self),
            false => (self, partner),
        };
        let measured_is_upper = measured.rate > known.rate;
        let labels_measured = match self.limit {
            Limit::Memory(_) => !measured_is_upper,
            Limit::Compute(_) => measured_is_upper,
        };
        if labels_measured != self.is_measured() {
            return String::new();
        }
        let rates = both(known.rate, measured.rate, self.unit());
        match self.limit {
            Limit::Memory(Level::Dram) if !of_several_levels(roofs) => rates,
            _ => format!("{} {rates}", self.name()),
        }
    }

    /// Whether it limits the traffic to a level of the memory.
    #[must_use]
    pub fn is_of_memory(&self) -> bool {
        matches!(self.limit, Limit::Memory(_))
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
        let memory = Limit::Memory(Level::Dram);
        let known = Origin::Known(known_word(row.peak_source.as_deref()));
        for (limit, origin, rate) in [
            (memory.clone(), known.clone(), row.peak_byte_per_s),
            (
                memory.clone(),
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
        .map(|(roof, rates)| Roof::of_rates(roof.limit, roof.origin, &roof.device, rates))
        .collect()
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
    different(roofs, |roof| !roof.is_of_memory())
}

/// Whether the roofs are of more than one pipe.
#[must_use]
pub fn of_several_pipes(roofs: &[Roof]) -> bool {
    compute(roofs) > 1
}

/// Whether the roofs are of more than one level of the memory.
#[must_use]
pub fn of_several_levels(roofs: &[Roof]) -> bool {
    different(roofs, Roof::is_of_memory) > 1
}

/// How many different things the chosen roofs limit.
fn different(roofs: &[Roof], chosen: impl Fn(&Roof) -> bool) -> usize {
    let mut limits: Vec<&Limit> = Vec::new();
    for roof in roofs.iter().filter(|roof| chosen(roof)) {
        if !limits.contains(&&roof.limit) {
            limits.push(&roof.limit);
        }
    }
    limits.len()
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
    for memory in roofs.iter().filter(|roof| roof.is_of_memory()) {
        for compute in roofs {
            if !compute.is_of_memory()
                && compute.origin == memory.origin
                && compute.device == memory.device
            {
                pairs.push((memory, compute));
            }
        }
    }
    pairs
}

/// The pair of each device and pipe whose ridge point is drawn: with the memory that lies furthest
/// from the multiprocessors, the datasheet's or else the measured one.
#[must_use]
pub fn ridges<'a>(pairs: &[(&'a Roof, &'a Roof)]) -> Vec<(&'a Roof, &'a Roof)> {
    let furthest = |device: &str| {
        let of_device = pairs.iter().filter(|(memory, _)| memory.device == device);
        let levels = of_device.filter_map(|(memory, _)| match memory.limit {
            Limit::Memory(level) => Some(level),
            Limit::Compute(_) => None,
        });
        levels.min().map(Limit::Memory)
    };
    let pairs: Vec<(&Roof, &Roof)> = pairs
        .iter()
        .copied()
        .filter(|(memory, _)| furthest(&memory.device).as_ref() == Some(&memory.limit))
        .collect();
    let known = |compute: &Roof| {
        pairs.iter().any(|(other, over)| {
            !other.is_measured() && other.device == compute.device && over.limit == compute.limit
        })
    };
    pairs
        .iter()
        .copied()
        .filter(|(memory, compute)| !memory.is_measured() || !known(compute))
        .collect()
}
