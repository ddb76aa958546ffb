//! Reads the GPU database's TOML and checks every field.
//!
//! The document is walked by hand rather than deserialised, because an error has to name the
//! file, the line, the field and what is allowed there, and because a figure whose unit
//! prefix was forgotten (3.35 for 3.35e12) must not pass.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use toml::de::DeTable;

use super::db::{Gpu, Peak};
use super::pipe::Pipe;

mod fields;
use fields::{Fields, Source};

/// A fault in a GPU file: where it is, what is wrong, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {field}: {problem}; allowed: {allowed}")]
pub struct SpecError {
    /// The file as it was named by the caller.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// The field, with the table that it is in.
    pub field: String,
    /// What is wrong with it, quoting what was given.
    pub problem: String,
    /// What the field takes.
    pub allowed: String,
}

/// The fields that a `[[gpu]]` table takes.
const GPU_FIELDS: &str = "name, aliases, driver_names, compute_capability, sms, \
    fp32_cores_per_sm, boost_clock_hz, memory, memory_bus_bits, memory_clock_hz, \
    memory_bandwidth_byte_per_s, lecture_bandwidth_byte_per_s, l2_bytes, \
    l2_read_bytes_per_cycle, memory_bytes, tdp_w, source, note, peaks";
/// The fields of one peak.
const PEAK_FIELDS: &str = "dense, sparse, lecture, lecture_ridge";

// Plausible ranges, wide enough for any accelerator of the coming years and narrow enough to
// catch a forgotten prefix.
const RATE: RangeInclusive<f64> = 1e9..=1e18;
const CLOCK: RangeInclusive<f64> = 1e7..=1e11;
const BANDWIDTH: RangeInclusive<f64> = 1e9..=1e15;
const WATTS: RangeInclusive<f64> = 1.0..=1e5;

/// Reads the GPUs of a TOML document. `file` only names it in errors.
///
/// # Errors
/// [`SpecError`] for the first fault: TOML syntax, an unknown or repeated field, a wrong type,
/// a value out of its plausible range, a GPU without `name` or `source`, no `[[gpu]]` at all.
pub fn parse(text: &str, file: &str) -> Result<Vec<Gpu>, SpecError> {
    let source = Source { text, file };
    let document = DeTable::parse(text).map_err(|e| {
        source.error(
            e.span().unwrap_or(0..0),
            "TOML syntax",
            e.message(),
            "a TOML document",
        )
    })?;
    let mut root = Fields::new(&source, document.get_ref(), document.span(), String::new());
    let tables = root.tables("gpu")?;
    root.finish("gpu, as one [[gpu]] table for each GPU")?;
    if tables.is_empty() {
        return Err(source.error(
            0..0,
            "gpu",
            "no GPU in the file",
            "one or more [[gpu]] tables",
        ));
    }
    let mut gpus: Vec<Gpu> = Vec::new();
    for (table, span) in tables {
        let gpu = read_gpu(&source, table, span.clone())?;
        if gpus.iter().any(|g| g.name.eq_ignore_ascii_case(&gpu.name)) {
            let problem = format!("\"{}\" occurs twice", gpu.name);
            return Err(source.error(span, "gpu.name", &problem, "each name once in a file"));
        }
        gpus.push(gpu);
    }
    Ok(gpus)
}

fn read_gpu(source: &Source, table: &DeTable, span: Range<usize>) -> Result<Gpu, SpecError> {
    let mut f = Fields::new(source, table, span, "gpu".to_owned());
    let name = f.required_string("name")?;
    // From here on an error says which GPU it is about.
    f.path = format!("gpu \"{name}\"");
    let gpu = Gpu {
        aliases: f.strings("aliases")?,
        driver_names: f.strings("driver_names")?,
        compute_capability: f.capability("compute_capability")?,
        sms: f.integer("sms", 1..=100_000)?,
        fp32_cores_per_sm: f.integer("fp32_cores_per_sm", 1..=10_000)?,
        boost_clock_hz: f.number("boost_clock_hz", CLOCK, "Hz")?,
        memory: f.string("memory")?,
        memory_bus_bits: f.integer("memory_bus_bits", 8..=1_000_000)?,
        memory_clock_hz: f.number("memory_clock_hz", CLOCK, "Hz")?,
        memory_bandwidth_byte_per_s: f.number(
            "memory_bandwidth_byte_per_s",
            BANDWIDTH,
            "byte/s",
        )?,
        lecture_bandwidth_byte_per_s: f.number(
            "lecture_bandwidth_byte_per_s",
            BANDWIDTH,
            "byte/s",
        )?,
        l2_bytes: f.integer("l2_bytes", 1024..=1 << 40)?,
        l2_read_bytes_per_cycle: f.integer("l2_read_bytes_per_cycle", 1..=10_000_000)?,
        memory_bytes: f.integer("memory_bytes", 1 << 20..=1 << 50)?,
        tdp_w: f.number("tdp_w", WATTS, "W")?,
        source: f.required_string("source")?,
        note: f.string("note")?,
        peaks: read_peaks(source, &mut f)?,
        name,
    };
    f.finish(GPU_FIELDS)?;
    Ok(gpu)
}

fn read_peaks(source: &Source, gpu: &mut Fields) -> Result<BTreeMap<Pipe, Peak>, SpecError> {
    let mut peaks = BTreeMap::new();
    let Some((table, _)) = gpu.table("peaks")? else {
        return Ok(peaks);
    };
    for (key, value) in table {
        let path = format!("{}.peaks.{}", gpu.path, key.get_ref());
        let pipe: Pipe = key.get_ref().parse().map_err(|_| {
            let allowed = Pipe::ALL.map(Pipe::id).join(", ");
            source.error(key.span(), &path, "unknown pipe", &allowed)
        })?;
        let Some(table) = value.get_ref().as_table() else {
            return Err(source.wrong_type(value, &path, "a table such as { dense = 66.9e12 }"));
        };
        let mut f = Fields::new(source, table, value.span(), path);
        let dense = f.number("dense", RATE, "FLOP/s")?;
        let sparse = f.number("sparse", RATE, "FLOP/s")?;
        let Some(dense_flop_per_s) = dense else {
            return Err(f.missing("dense", "the dense rate in FLOP/s"));
        };
        if sparse.is_some_and(|s| s < dense_flop_per_s) {
            let problem = "the sparse rate is below the dense one: are the two exchanged?";
            return Err(f.error("sparse", problem, "a rate of at least the dense one"));
        }
        let peak = Peak {
            dense_flop_per_s,
            sparse_flop_per_s: sparse,
            lecture_flop_per_s: f.number("lecture", RATE, "FLOP/s")?,
            lecture_ridge: f.integers("lecture_ridge", 1..=1_000_000)?,
        };
        f.finish(PEAK_FIELDS)?;
        peaks.insert(pipe, peak);
    }
    Ok(peaks)
}

#[cfg(test)]
#[path = "spec_tests.rs"]
mod tests;
