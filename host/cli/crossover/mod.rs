//! `rooftrace crossover`: from which N a matrix product should be compute-bound, and whether a
//! measured one is.
//!
//! | module | what it is for |
//! |---|---|
//! | `predict` | the table of predictions |
//! | `measure` | the sweep that tests them |
//! | `verdict` | what became of them, for people and programs |

mod measure;
mod predict;
mod verdict;

use super::Verbosity;
use super::error::CliError;
use super::plot::load;
use super::render::{CommandError, Common, Format};
use crate::crossover::{self, Tested, roofs};
use crate::device::DeviceChoice;
use crate::figure::select;
use crate::record::Row;
use crate::roofline::crossover::{MeasuredRoofs, Verdict};
use crate::roofline::{Database, Gpu, Pipe};
use std::io::Write;
use std::path::PathBuf;

/// The GPU that is meant when neither a name nor rows are given: the lecture's.
const LECTURE_GPU: &str = "h100";

/// Predict from which N a matrix product is compute-bound, and put the prediction to the test.
///
/// The lecture's claim, N >= 2360 on an H100, joins the bytes of fp32 storage to the roof of the
/// BF16 tensor cores. Each line of the table is such a claim: a storage, a pipe, and whether C is
/// read.
///
/// --device measures a claim's kernel over N, with enough independent problems to fill the card
/// and one alone, and the roofs in the same run; --from takes rows that were measured before, and
/// needs no GPU. Left of the predicted crossover the time must be that of the bytes, right of it
/// that of the FLOPs: where these asymptotes cross is observed, and the prediction from the
/// measured roofs is confirmed, refuted, or not testable (docs/how-we-measure.md has the
/// criterion). Then --format json is one document with the predictions, the criterion and every
/// number of the tests, --format csv a line for each test.
#[derive(Debug, Clone, clap::Args)]
#[command(
    group = clap::ArgGroup::new("rows").args(["from", "device"]),
    after_help = "Examples:
  rooftrace crossover sgemm --gpu h100
      the lecture's 2360 and what it assumes, beside the crossover on fp32 cores
  rooftrace crossover all --gpu h200 --format json
      every claim, for a program
  rooftrace crossover sgemm --device cuda --out crossover.csv
      measures, writes the rows, judges
  rooftrace crossover sgemm --from crossover.csv --fail
      judges rows measured before; exit code 1 if the prediction is refuted"
)]
pub struct CrossoverArgs {
    /// sgemm, gemm-mixed, gemm-bf16, gemm-tf32, or all: the kernel that could test the claim;
    /// sgemm also shows the lecture's claim, which it is often taken for
    #[arg(value_name = "KERNEL", default_value = "all")]
    pub kernel: String,

    /// The GPU to predict for: a name, an alias or the driver's device name; without it that of
    /// the rows, or h100
    #[arg(long, value_name = "NAME", conflicts_with = "device")]
    pub gpu: Option<String>,

    /// Rows to judge, of one device: written by this command or by `sweep`
    #[arg(long, value_name = "FILES", num_args = 1..)]
    pub from: Vec<PathBuf>,

    /// Measure first: auto, cpu, cuda or cuda:I
    #[arg(long, value_name = "DEVICE", conflicts_with = "from")]
    pub device: Option<DeviceChoice>,

    /// End with exit code 1 if a prediction is refuted
    #[arg(long, requires = "rows")]
    pub fail: bool,

    /// Common flags.
    #[command(flatten)]
    pub common: Common,

    /// What is measured.
    #[command(flatten)]
    pub measuring: measure::MeasuringArgs,
}

/// What is predicted for: a GPU of the database, a device whose roofs were measured, or both.
struct Subject<'a> {
    /// The GPU, if the database has it.
    gpu: Option<&'a Gpu>,
    /// The device of the rows.
    device: Option<&'a str>,
    /// The rows.
    rows: &'a [&'a Row],
}

impl<'a> Subject<'a> {
    /// # Errors
    /// A GPU that is not known or is not that of the rows; rows of several devices.
    fn of(
        name: Option<&str>,
        rows: &'a [&'a Row],
        database: &'a Database,
    ) -> Result<Self, CliError> {
        let devices = select::devices(rows.iter().copied());
        if devices.len() > 1 {
            return Err(CliError::Usage(format!(
                "--from: the rows are of {} devices ({}), and a crossover belongs to one of them; \
                 give the files of one device",
                devices.len(),
                devices.join(", ")
            )));
        }
        let device = devices.first().copied();
        let gpu = match (name, device) {
            (None, Some(device)) => database.find_by_driver_name(device),
            (name, _) => {
                let name = name.unwrap_or(LECTURE_GPU);
                Some(database.find(name).map_err(CommandError::from)?)
            }
        };
        if let (Some(_), Some(gpu), Some(device)) = (name, gpu, device)
            && !gpu.driver_names.iter().any(|known| known == device)
        {
            return Err(CliError::Usage(format!(
                "--from: the rows are of {device}, the prediction is for {}; name the GPU of the \
                 rows with --gpu, or leave it out",
                gpu.name
            )));
        }
        Ok(Subject { gpu, device, rows })
    }

    /// Its name.
    fn name(&self) -> &str {
        match (self.gpu, self.device) {
            (Some(gpu), _) => &gpu.name,
            (None, device) => device.unwrap_or("no device"),
        }
    }

    /// The roofs of a pipe that were measured in the rows.
    fn measured(&self, pipe: Pipe) -> Option<MeasuredRoofs> {
        roofs::measured(self.rows, self.device?, pipe.id())
    }
}

/// Writes the predictions, and with rows what became of them.
///
/// # Errors
/// An unknown kernel or GPU, files that cannot be read, a failed write; what ended the sweep;
/// [`CliError::Failed`] for a refuted prediction under `--fail`, and for points that failed.
pub fn run(
    args: &CrossoverArgs,
    verbosity: Verbosity,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let database = args.common.database()?;
    let claims = predict::chosen(&args.kernel)?;
    let testers = predict::testers(&claims);
    let (rows, conclusion) = match args.device {
        Some(device) => measure::measure(args, device, &testers, verbosity)?,
        None => (load(&args.from, verbosity)?, Ok(())),
    };
    let rows: Vec<&Row> = rows.iter().collect();
    let measured = args.device.is_some() || !args.from.is_empty();
    let subject = Subject::of(args.gpu.as_deref(), &rows, &database)?;
    let tested = crossover::test(&rows, &testers);
    if measured {
        check_use(&tested, &testers, &subject)?;
    }
    if args.fail && tested.is_empty() {
        return Err(CliError::Usage(format!(
            "--fail: no row is of {}, so nothing is judged; give such rows with --from, or measure \
             them with --device cuda",
            testers.join(" or ")
        )));
    }

    let predictions = predict::sheet(&claims, &subject)?;
    match args.common.format {
        Format::Table => {
            predictions.write(Format::Table, out)?;
            predict::explain(&claims, &subject, out)?;
            verdict::words(&tested, out)?;
            if args.kernel == "sgemm" {
                verdict::two_questions(&claims, &subject, &tested, out)?;
            }
        }
        Format::Csv if measured => verdict::sheet(&tested).write(Format::Csv, out)?,
        Format::Json if measured => verdict::json(&predictions, &tested, out)?,
        format => predictions.write(format, out)?,
    }
    out.flush()?;
    conclusion?;
    match refuted(&tested).as_slice() {
        names if args.fail && !names.is_empty() => Err(CliError::Failed(format!(
            "the prediction is refuted for {}",
            names.join(", ")
        ))),
        _ => Ok(()),
    }
}

/// Finds rows that neither test a claim nor have roofs to predict from.
fn check_use(tested: &[Tested], testers: &[&str], subject: &Subject<'_>) -> Result<(), CliError> {
    let predicts = Pipe::ALL
        .iter()
        .any(|&pipe| subject.measured(pipe).is_some());
    if !tested.is_empty() || predicts {
        return Ok(());
    }
    Err(CliError::Usage(format!(
        "--from: no row is of {}, and none has measured roofs; give the rows of \
         `rooftrace crossover KERNEL --device cuda` or of a sweep",
        testers.join(" or ")
    )))
}

/// Kernels and variants whose prediction is refuted.
fn refuted(tested: &[Tested]) -> Vec<String> {
    tested
        .iter()
        .filter(|tested| tested.judgement.verdict == Verdict::Refuted)
        .map(|tested| format!("{} {}", tested.series.kernel, tested.series.variant))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(kernel: &str, gpu: &str) -> Vec<String> {
        let args = CrossoverArgs {
            kernel: kernel.to_owned(),
            gpu: Some(gpu.to_owned()),
            from: Vec::new(),
            device: None,
            fail: false,
            measuring: measure::MeasuringArgs::default(),
            common: Common {
                format: Format::Csv,
                ..Common::default()
            },
        };
        let mut out = Vec::new();
        run(&args, Verbosity::Quiet, &mut out).unwrap();
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
        let error = predict::chosen("gemm-bf61").unwrap_err().to_string();
        assert!(error.contains("did you mean \"gemm-bf16\""), "{error}");
    }
}
