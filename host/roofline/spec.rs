//! Reads the GPU database's TOML and checks every field.
//!
//! The document is walked by hand rather than deserialised, because an error has to name the
//! file, the line, the field and what is allowed there, and because a figure whose unit
//! prefix was forgotten (3.35 for 3.35e12) must not pass.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::db::{Gpu, Peak};
use super::peak::ComputeCapability;
use super::pipe::Pipe;

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
    memory_bandwidth_byte_per_s, lecture_bandwidth_byte_per_s, l2_bytes, memory_bytes, tdp_w, \
    source, note, peaks";
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

/// The document, for turning byte offsets into lines.
struct Source<'a> {
    text: &'a str,
    file: &'a str,
}

impl Source<'_> {
    fn error(&self, span: Range<usize>, field: &str, problem: &str, allowed: &str) -> SpecError {
        let upto = self
            .text
            .as_bytes()
            .get(..span.start)
            .unwrap_or(self.text.as_bytes());
        SpecError {
            file: self.file.to_owned(),
            line: 1 + upto.iter().filter(|&&b| b == b'\n').count(),
            field: field.to_owned(),
            problem: problem.to_owned(),
            allowed: allowed.to_owned(),
        }
    }

    fn wrong_type(&self, value: &Spanned<DeValue>, field: &str, allowed: &str) -> SpecError {
        let given = self.text.get(value.span()).unwrap_or_default();
        let problem = format!("{given} is of type {}", value.get_ref().type_str());
        self.error(value.span(), field, &problem, allowed)
    }
}

/// One table being read. A field that nobody asked for is an error at the end: a misspelt
/// name must not be taken for a missing figure.
struct Fields<'a> {
    source: &'a Source<'a>,
    table: &'a DeTable<'a>,
    span: Range<usize>,
    path: String,
    seen: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    fn new(
        source: &'a Source<'a>,
        table: &'a DeTable<'a>,
        span: Range<usize>,
        path: String,
    ) -> Self {
        Fields {
            source,
            table,
            span,
            path,
            seen: Vec::new(),
        }
    }

    fn get(&mut self, key: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.seen.push(key);
        self.table.get(key)
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    fn error(&self, key: &str, problem: &str, allowed: &str) -> SpecError {
        let span = self.table.get(key).map_or(self.span.clone(), Spanned::span);
        self.source
            .error(span, &self.path_of(key), problem, allowed)
    }

    fn missing(&self, key: &str, allowed: &str) -> SpecError {
        self.error(key, "is missing", allowed)
    }

    fn wrong_type(&self, value: &Spanned<DeValue>, key: &str, allowed: &str) -> SpecError {
        self.source.wrong_type(value, &self.path_of(key), allowed)
    }

    fn string(&mut self, key: &'static str) -> Result<Option<String>, SpecError> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        match value.get_ref().as_str().map(str::trim) {
            Some("") => Err(self.error(key, "is empty", "a text; leave the field out if unknown")),
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(self.wrong_type(value, key, "a text in quotes")),
        }
    }

    fn required_string(&mut self, key: &'static str) -> Result<String, SpecError> {
        let allowed = if key == "source" {
            "the document that the figures are from, in quotes"
        } else {
            "a text in quotes"
        };
        self.string(key)?.ok_or_else(|| self.missing(key, allowed))
    }

    fn strings(&mut self, key: &'static str) -> Result<Vec<String>, SpecError> {
        let Some(value) = self.get(key) else {
            return Ok(Vec::new());
        };
        let allowed = "a list of texts such as [\"A100\", \"A100 SXM\"]";
        let Some(items) = value.get_ref().as_array() else {
            return Err(self.wrong_type(value, key, allowed));
        };
        let text = |item: &Spanned<DeValue>| match item.get_ref().as_str() {
            Some(s) => Ok(s.to_owned()),
            None => Err(self.wrong_type(item, key, allowed)),
        };
        items.iter().map(text).collect()
    }

    fn number(
        &mut self,
        key: &'static str,
        range: RangeInclusive<f64>,
        unit: &str,
    ) -> Result<Option<f64>, SpecError> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        let allowed = format!(
            "a number of {unit} from {:e} to {:e}",
            range.start(),
            range.end()
        );
        let number = match value.get_ref() {
            DeValue::Float(x) => x.as_str().parse::<f64>().ok(),
            DeValue::Integer(i) if i.radix() == 10 => i.as_str().parse::<f64>().ok(),
            _ => return Err(self.wrong_type(value, key, &allowed)),
        };
        match number.filter(|x| range.contains(x)) {
            Some(x) => Ok(Some(x)),
            None => Err(self.out_of_range(value, key, &allowed)),
        }
    }

    fn out_of_range(&self, value: &Spanned<DeValue>, key: &str, allowed: &str) -> SpecError {
        let given = self.source.text.get(value.span()).unwrap_or_default();
        let problem = format!("{given} is out of range; units carry no prefix");
        self.source
            .error(value.span(), &self.path_of(key), &problem, allowed)
    }

    fn integer<T: TryFrom<u64>>(
        &mut self,
        key: &'static str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<T>, SpecError> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        self.one_integer(value, key, range).map(Some)
    }

    fn integers(
        &mut self,
        key: &'static str,
        range: RangeInclusive<u64>,
    ) -> Result<Vec<u32>, SpecError> {
        let Some(value) = self.get(key) else {
            return Ok(Vec::new());
        };
        let Some(items) = value.get_ref().as_array() else {
            return Err(self.wrong_type(value, key, "a list of whole numbers such as [591, 592]"));
        };
        items
            .iter()
            .map(|item| self.one_integer(item, key, range.clone()))
            .collect()
    }

    fn one_integer<T: TryFrom<u64>>(
        &self,
        value: &Spanned<DeValue>,
        key: &str,
        range: RangeInclusive<u64>,
    ) -> Result<T, SpecError> {
        let allowed = format!("a whole number from {} to {}", range.start(), range.end());
        let Some(integer) = value.get_ref().as_integer() else {
            return Err(self.wrong_type(value, key, &allowed));
        };
        u64::from_str_radix(integer.as_str(), integer.radix())
            .ok()
            .filter(|n| range.contains(n))
            .and_then(|n| T::try_from(n).ok())
            .ok_or_else(|| self.out_of_range(value, key, &allowed))
    }

    fn capability(&mut self, key: &'static str) -> Result<Option<ComputeCapability>, SpecError> {
        let allowed = "major.minor in quotes, such as \"9.0\"";
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        let Some(text) = value.get_ref().as_str() else {
            return Err(self.wrong_type(value, key, allowed));
        };
        let parsed = text.parse::<ComputeCapability>();
        parsed
            .map(Some)
            .map_err(|e| self.error(key, &e.to_string(), allowed))
    }

    fn table(
        &mut self,
        key: &'static str,
    ) -> Result<Option<(&'a DeTable<'a>, Range<usize>)>, SpecError> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        match value.get_ref().as_table() {
            Some(table) => Ok(Some((table, value.span()))),
            None => Err(self.wrong_type(value, key, "a table, [gpu.peaks]")),
        }
    }

    fn tables(
        &mut self,
        key: &'static str,
    ) -> Result<Vec<(&'a DeTable<'a>, Range<usize>)>, SpecError> {
        let Some(value) = self.get(key) else {
            return Ok(Vec::new());
        };
        let allowed = "tables, each under its own [[gpu]]";
        let Some(items) = value.get_ref().as_array() else {
            return Err(self.wrong_type(value, key, allowed));
        };
        let table = |item: &'a Spanned<DeValue<'a>>| match item.get_ref().as_table() {
            Some(table) => Ok((table, item.span())),
            None => Err(self.wrong_type(item, key, allowed)),
        };
        items.iter().map(table).collect()
    }

    fn finish(self, allowed: &str) -> Result<(), SpecError> {
        for key in self.table.keys() {
            let name: &str = key.get_ref();
            if !self.seen.contains(&name) {
                let path = self.path_of(name);
                return Err(self
                    .source
                    .error(key.span(), &path, "unknown field", allowed));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "spec_tests.rs"]
mod tests;
