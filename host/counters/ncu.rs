//! What Nsight Compute (`ncu --csv`) prints, read back.

use std::collections::HashMap;

/// One profiled launch.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Name of the kernel.
    pub kernel: String,
    /// Metrics by name, in base units (bytes, instructions, percent).
    pub metrics: HashMap<String, f64>,
}

impl Profile {
    /// A metric, if it was collected.
    pub fn metric(&self, name: &str) -> Option<f64> {
        self.metrics.get(name).copied()
    }
}

/// Why the output could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NcuError {
    /// There is no table in it; its own words say why.
    #[error("ncu printed no counters: {said}")]
    NoTable {
        /// What it said instead.
        said: String,
    },
    /// The table lacks a column.
    #[error("the table that ncu printed has no column `{0}`: its format is not known")]
    NoColumn(&'static str),
    /// The table is damaged.
    #[error("the table that ncu printed cannot be read: {0}")]
    Table(String),
}

/// First column of the table's header.
const HEADER: &str = "\"ID\"";

/// Reads the launches in the order they were profiled.
///
/// Lines before the table, and lines that `ncu` or the program print between its lines (none of
/// which begin with a quote), are passed over. A metric that was not available is left out.
///
/// # Errors
/// [`NcuError`] if there is no table of the known form.
pub fn parse(output: &str) -> Result<Vec<Profile>, NcuError> {
    let table: Vec<&str> = output
        .lines()
        .map(str::trim)
        .skip_while(|line| !line.starts_with(HEADER))
        .filter(|line| line.starts_with('"'))
        .collect();
    if table.is_empty() {
        let said: Vec<&str> = output
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        return Err(NcuError::NoTable {
            said: said[said.len().saturating_sub(5)..].join("; "),
        });
    }
    let text = table.join("\n");
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_reader(text.as_bytes());
    let damaged = |error: csv::Error| NcuError::Table(error.to_string());
    let header = reader.headers().map_err(damaged)?.clone();
    let column = |name: &'static str| {
        let found = header.iter().position(|column| column == name);
        found.ok_or(NcuError::NoColumn(name))
    };
    let (id, kernel) = (column("ID")?, column("Kernel Name")?);
    let [name, unit, value] = [
        column("Metric Name")?,
        column("Metric Unit")?,
        column("Metric Value")?,
    ];
    let mut profiles: Vec<(String, Profile)> = Vec::new();
    for record in reader.records() {
        let record = record.map_err(damaged)?;
        let field = |at: usize| record.get(at).unwrap_or_default();
        if profiles.last().is_none_or(|(last, _)| last != field(id)) {
            let profile = Profile {
                kernel: field(kernel).to_owned(),
                metrics: HashMap::new(),
            };
            profiles.push((field(id).to_owned(), profile));
        }
        let read = number(field(value)).zip(factor(field(unit)));
        if let (Some((number, factor)), Some((_, profile))) = (read, profiles.last_mut()) {
            profile
                .metrics
                .insert(field(name).to_owned(), number * factor);
        }
    }
    Ok(profiles.into_iter().map(|(_, profile)| profile).collect())
}

/// A number with a point for the decimals and commas between the thousands.
fn number(text: &str) -> Option<f64> {
    let number: f64 = text.replace(',', "").parse().ok()?;
    number.is_finite().then_some(number)
}

/// What a unit stands for in base units; `None` for one that is not known here.
fn factor(unit: &str) -> Option<f64> {
    match unit {
        "" | "byte" | "inst" | "sector" | "%" | "cycle" | "block" | "ns" | "nsecond" => Some(1.0),
        "Kbyte" => Some(1e3),
        "Mbyte" => Some(1e6),
        "Gbyte" => Some(1e9),
        "Tbyte" => Some(1e12),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two launches on an H200, recorded with Nsight Compute 2025.3.
    const RECORDED: &str = include_str!("ncu-recorded.txt");

    #[test]
    fn a_recording_is_read() {
        let profiles = parse(RECORDED).unwrap();
        let names: Vec<&str> = profiles.iter().map(|p| p.kernel.as_str()).collect();
        assert_eq!(names, ["copy_vector", "sgemm_naive"]);
        let [copy, sgemm] = [&profiles[0], &profiles[1]];
        assert_eq!(copy.metric("dram__bytes_read.sum"), Some(4_201_216.0));
        assert_eq!(
            copy.metric("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"),
            Some(20.89)
        );
        let ffma = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum";
        assert_eq!(copy.metric(ffma), Some(0.0));
        assert_eq!(sgemm.metric(ffma), Some(16_777_216.0));
    }

    #[test]
    fn numbers_have_points_and_commas() {
        assert_eq!(number("1,073,741,824"), Some(1_073_741_824.0));
        assert_eq!(number("63.25"), Some(63.25));
        for none in ["n/a", "", "nan", "inf", "(!) n/a"] {
            assert_eq!(number(none), None, "{none}");
        }
    }

    #[test]
    fn launches_are_told_apart_by_id_and_units_are_removed() {
        let output = "==PROF== Connected to process 7\n\
            ==PROF== Profiling \"copy_vector\" - 0: 0%....50%....100% - 8 passes\n\
            \"ID\",\"Kernel Name\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\
            \"0\",\"copy_vector\",\"Command line profiler metrics\",\"dram__bytes_read.sum\",\"Mbyte\",\"1,073.5\"\n\
            ==PROF== Disconnected from process 7\n\
            \"0\",\"copy_vector\",\"Command line profiler metrics\",\"missing\",\"byte\",\"n/a\"\n\
            \"1\",\"copy_vector\",\"Command line profiler metrics\",\"dram__bytes_read.sum\",\"byte\",\"64\"\n";
        let profiles = parse(output).unwrap();
        assert_eq!(profiles.len(), 2);
        assert_eq!(profiles[0].metric("dram__bytes_read.sum"), Some(1.0735e9));
        assert_eq!(profiles[0].metric("missing"), None);
        assert_eq!(profiles[1].metric("dram__bytes_read.sum"), Some(64.0));
    }

    #[test]
    fn without_a_table_its_own_words_are_given() {
        let error = parse("==ERROR== ERR_NVGPUCTRPERM - no permission\n\n").unwrap_err();
        assert!(error.to_string().contains("ERR_NVGPUCTRPERM"), "{error}");
        let error = parse("\"ID\",\"Kernel Name\",\"dram__bytes_read.sum\"\n").unwrap_err();
        assert_eq!(error, NcuError::NoColumn("Metric Name"));
    }
}
