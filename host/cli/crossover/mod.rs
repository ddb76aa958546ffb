//! `rooftrace crossover`: from which N a matrix product should be compute-bound.

use super::error::CliError;
use super::nearest::unknown;
use super::render::{Cell, Column, CommandError, Common, Format, Sheet};
use crate::kernels::KernelId;
use crate::record::{self, Row};
use crate::roofline::crossover::{Claim, Crossover, claims};
use crate::roofline::units::significant;
use crate::roofline::{Gpu, Pipe, Roofline};
use std::io::Write;
use std::path::PathBuf;

/// Predict from which N a matrix product is compute-bound, with the assumptions of each claim.
///
/// The lecture's claim, N >= 2360 on an H100, joins the bytes of fp32 storage to the roof of the
/// BF16 tensor cores. Each line of the table is such a claim: a storage, a pipe, and whether C is
/// read. Nothing is measured here; --from takes the roofs that a sweep measured.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Examples:
  rooftrace crossover sgemm --gpu h100
      the lecture's 2360 and what it assumes, beside the crossover on fp32 cores
  rooftrace crossover all --gpu h200 --format json
      every claim, for a program")]
pub struct CrossoverArgs {
    /// sgemm, gemm-mixed, gemm-bf16, gemm-tf32, or all: the kernel that could test the claim;
    /// sgemm also shows the lecture's claim, which it is often taken for
    #[arg(value_name = "KERNEL", default_value = "all")]
    pub kernel: String,

    /// The GPU: a name, an alias or the driver's device name
    #[arg(long, value_name = "NAME", default_value = "h100")]
    pub gpu: String,

    /// Rows of a sweep: predict from the roofs measured in it as well (fp32 cores)
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,

    /// Common flags.
    #[command(flatten)]
    pub common: Common,
}

const COLUMNS: [Column; 10] = [
    ("claim", Some("Claim")),
    ("gpu", None),
    ("pipe", Some("Pipe")),
    ("reads_c", Some("C read")),
    ("roofs", Some("Roofs")),
    ("ridge_flop_per_byte", Some("Ridge")),
    ("n", Some("N*")),
    ("n_next", Some("N >=")),
    ("testable_with", Some("Testable with")),
    ("assumption", None),
];

/// Writes the predictions; below the table, what each assumes.
///
/// # Errors
/// An unknown kernel or GPU, a file that cannot be read, a failed write.
pub fn run(args: &CrossoverArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let database = args.common.database()?;
    let gpu = database.find(&args.gpu).map_err(CommandError::from)?;
    let claims = chosen(&args.kernel)?;
    let measured = match &args.from {
        Some(file) => Some(measured(&record::read_file(file)?.rows, gpu, file)?),
        None => None,
    };
    let mut sheet = Sheet::new(COLUMNS.to_vec());
    for claim in &claims {
        for (roofs, roofline) in rooflines(gpu, claim.pipe, measured)? {
            sheet.push(row(claim, gpu, roofs, &roofline));
        }
    }
    sheet.write(args.common.format, out)?;
    if args.common.format == Format::Table {
        explain(&claims, gpu, out)?;
    }
    Ok(())
}

/// The claims that a kernel could test.
fn chosen(kernel: &str) -> Result<Vec<Claim>, CliError> {
    let all = claims();
    let mut names: Vec<&str> = Vec::new();
    for claim in &all {
        if !names.contains(&claim.tested_by) {
            names.push(claim.tested_by);
        }
    }
    names.push("all");
    if !names.contains(&kernel) {
        return Err(CliError::Usage(unknown("kernel", kernel, names)));
    }
    let shown = |claim: &Claim| match kernel {
        "all" => true,
        "sgemm" => ["sgemm", "gemm-mixed"].contains(&claim.tested_by),
        _ => claim.tested_by == kernel,
    };
    Ok(all.into_iter().filter(shown).collect())
}

/// The roofs that a claim is placed on: as the lecture rounds them, the datasheet's, measured.
fn rooflines(
    gpu: &Gpu,
    pipe: Pipe,
    measured: Option<Roofline>,
) -> Result<Vec<(&'static str, Roofline)>, CommandError> {
    let mut rooflines = Vec::new();
    if let Some(lecture) = gpu.lecture_roofline(pipe) {
        // The lecture rounds the ridge point before it multiplies.
        let ridge = lecture.ridge().round();
        let rounded = Roofline::new(ridge * lecture.peak_byte_per_s, lecture.peak_byte_per_s)?;
        rooflines.push(("lecture, ridge rounded", rounded));
        rooflines.push(("lecture", lecture));
    }
    rooflines.push(("datasheet", gpu.roofline(pipe)?));
    rooflines.extend(
        measured
            .filter(|_| pipe == Pipe::Fp32)
            .map(|roofs| ("measured", roofs)),
    );
    Ok(rooflines)
}

/// The roofs that the rows' run measured, if it ran on this GPU.
fn measured(rows: &[Row], gpu: &Gpu, file: &std::path::Path) -> Result<Roofline, CliError> {
    let usage = |problem: String| CliError::Usage(format!("--from {}: {problem}", file.display()));
    let row = rows
        .iter()
        .find(|row| {
            row.measured_peak_flop_per_s.is_some() && row.measured_peak_byte_per_s.is_some()
        })
        .ok_or_else(|| usage("no row has measured roofs; give the rows of a sweep".to_owned()))?;
    if !gpu.driver_names.contains(&row.device) {
        return Err(usage(format!(
            "its rows are of {}, the prediction is for {}; name the GPU of the rows with --gpu",
            row.device, gpu.name
        )));
    }
    let flops = row.measured_peak_flop_per_s.unwrap_or_default();
    let bytes = row.measured_peak_byte_per_s.unwrap_or_default();
    Roofline::new(flops, bytes).map_err(|error| usage(error.to_string()))
}

fn row(claim: &Claim, gpu: &Gpu, roofs: &str, roofline: &Roofline) -> Vec<Cell> {
    let (n, next) = match claim.on(roofline) {
        Crossover::At { n, next } => (Some(n), Some(next)),
        _ => (None, None),
    };
    let ridge = roofline.ridge();
    vec![
        Cell::text(claim.label),
        Cell::text(&gpu.name),
        Cell::text(claim.pipe.id()),
        Cell::flag(claim.storage.reads_c),
        Cell::text(roofs),
        Cell::number(ridge, significant(ridge, 5)),
        Cell::maybe(n, |n| Cell::number(n, format!("{n:.1}"))),
        Cell::maybe(next, |next| Cell::whole(next, next.to_string())),
        Cell::text(claim.tested_by),
        Cell::text(claim.assumption),
    ]
}

/// What each claim assumes, and what this table is not.
fn explain(claims: &[Claim], gpu: &Gpu, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(
        out,
        "Square matrices; N* = ridge x bits of A, B, result and (if read) C / 16."
    )?;
    let mut seen: Vec<&str> = Vec::new();
    for claim in claims {
        if !seen.contains(&claim.label) {
            seen.push(claim.label);
            writeln!(out, "{}: assumes that {}.", claim.label, claim.assumption)?;
        }
    }
    let mut missing: Vec<&str> = Vec::new();
    for name in claims.iter().map(|claim| claim.tested_by) {
        if !missing.contains(&name) && !KernelId::ALL.iter().any(|id| id.name() == name) {
            missing.push(name);
        }
    }
    if !missing.is_empty() {
        writeln!(
            out,
            "Not in this version, so not testable with it: {}.",
            missing.join(", ")
        )?;
    }
    writeln!(
        out,
        "Predictions for {}, not measurements: a kernel crosses where its own efficiencies put it,\n\
         at N* times its compute efficiency over its memory efficiency.",
        gpu.name
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(kernel: &str, gpu: &str) -> Vec<String> {
        let args = CrossoverArgs {
            kernel: kernel.to_owned(),
            gpu: gpu.to_owned(),
            from: None,
            common: Common {
                format: Format::Csv,
                ..Common::default()
            },
        };
        let mut out = Vec::new();
        run(&args, &mut out).unwrap();
        String::from_utf8(out)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// N* to one decimal and the next integer of the line that has all of `parts`.
    fn found(lines: &[String], parts: &[&str]) -> (String, String) {
        let line = lines
            .iter()
            .find(|line| parts.iter().all(|part| line.contains(part)));
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .from_reader(line.unwrap().as_bytes());
        let record = reader.records().next().unwrap().unwrap();
        (
            format!("{:.1}", record[6].parse::<f64>().unwrap()),
            record[7].to_owned(),
        )
    }

    #[test]
    fn sgemm_on_an_h100_shows_both_questions() {
        let lines = lines("sgemm", "h100");
        let lecture = |roofs| found(&lines, &["the lecture's", ",true,", roofs]);
        assert_eq!(lecture("ridge rounded"), ("2360.0".into(), "2360".into()));
        assert_eq!(lecture(",lecture,"), ("2361.8".into(), "2362".into()));
        assert_eq!(lecture("datasheet"), ("2362.7".into(), "2363".into()));
        let cores = found(&lines, &["fp32 CUDA cores", ",true,", "datasheet"]);
        assert_eq!(cores, ("159.8".into(), "160".into()));
    }

    #[test]
    fn the_h200_has_its_own_crossovers() {
        let lines = lines("all", "h200");
        let at = |claim: &str, roofs| found(&lines, &[claim, ",true,", roofs]).0;
        assert_eq!(at("fp32 CUDA cores", "datasheet"), "111.5");
        assert_eq!(at("TF32", "datasheet"), "824.5");
        assert_eq!(at("the lecture's", ",lecture,"), "1648.3");
        assert_eq!(at("BF16 storage", ",lecture,"), "824.2");
    }

    #[test]
    fn an_unknown_kernel_is_refused_with_the_nearest() {
        let error = chosen("gemm-bf61").unwrap_err().to_string();
        assert!(error.contains("did you mean \"gemm-bf16\""), "{error}");
    }
}
