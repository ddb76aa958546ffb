//! `rooftrace ridge`: ridge points of the known GPUs, exact and as the lectures print them.

use std::io::Write;

use super::render::{Cell, Column, CommandError, Common, Format, Sheet};
use crate::roofline::units::{rounded, significant};
use crate::roofline::{Gpu, Pipe};

/// Ridge points, exact and as the lectures print them.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(after_help = "Examples:
  rooftrace ridge
      every GPU and pipe, with the lectures' rounded ridge points beside the exact ones
  rooftrace ridge --gpu H100 --pipe bf16 --format json
      one ridge point, for a program")]
pub struct RidgeArgs {
    /// Only this GPU: a name, an alias or the driver's device name
    #[arg(long, value_name = "NAME")]
    pub gpu: Option<String>,
    /// Only this pipe: fp32, fp64, int32, fp64-tensor, tf32, bf16, fp16, fp8, int8, fp4
    #[arg(long, value_name = "PIPE")]
    pub pipe: Option<Pipe>,
    /// Common flags.
    #[command(flatten)]
    pub common: Common,
}

const COLUMNS: [Column; 12] = [
    ("gpu", Some("GPU")),
    ("pipe", Some("Pipe")),
    ("unit", None),
    ("memory", Some("Memory")),
    ("peak_flop_per_s", Some("Peak")),
    ("peak_byte_per_s", Some("Bandwidth")),
    ("ridge_flop_per_byte", Some("Ridge")),
    ("lecture_flop_per_s", None),
    ("lecture_byte_per_s", None),
    ("lecture_ridge_flop_per_byte", Some("Lecture's ridge")),
    ("lecture_ridge_rounded", Some("Rounded")),
    ("lecture_ridge_printed", Some("Lecture prints")),
];

/// Writes the ridge points. Ridge points are in FLOP/byte.
///
/// # Errors
/// [`CommandError`] for an unknown GPU or pipe, a faulty `--spec` file, or a failed write.
pub fn run(args: &RidgeArgs, out: &mut dyn Write) -> Result<(), CommandError> {
    let database = args.common.database()?;
    let chosen: Vec<&Gpu> = match &args.gpu {
        Some(name) => vec![database.find(name)?],
        None => database.gpus().iter().collect(),
    };
    let mut sheet = Sheet::new(COLUMNS.to_vec());
    let mut disagreements = Vec::new();
    for gpu in &chosen {
        // A GPU that was asked for must have a bandwidth; in the full list it is passed over.
        if args.gpu.is_none() && gpu.bandwidth().is_err() {
            continue;
        }
        if let (Some(pipe), Some(_)) = (args.pipe, &args.gpu) {
            gpu.peak(pipe)?;
        }
        for pipe in gpu
            .peaks
            .keys()
            .filter(|p| args.pipe.is_none_or(|only| only == **p))
        {
            sheet.push(row(gpu, *pipe)?);
            disagreements.extend(disagreement(gpu, *pipe)?);
        }
    }
    sheet.write(args.common.format, out)?;
    if args.common.format == Format::Table {
        writeln!(
            out,
            "Ridge points in FLOP/byte: dense peak over datasheet memory bandwidth."
        )?;
        for line in disagreements {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

fn row(gpu: &Gpu, pipe: Pipe) -> Result<Vec<Cell>, CommandError> {
    let roof = gpu.roofline(pipe)?;
    let lecture = gpu.lecture_roofline(pipe);
    let printed: Vec<String> = gpu
        .peaks
        .get(&pipe)
        .map(|p| p.lecture_ridge.iter().map(u32::to_string).collect())
        .unwrap_or_default();
    let ridge = |value: f64| Cell::number(value, significant(value, 5));
    Ok(vec![
        Cell::text(&gpu.name),
        Cell::text(pipe.id()),
        Cell::text(pipe.unit().to_string()),
        Cell::maybe(gpu.memory.clone(), Cell::text),
        Cell::quantity(roof.peak_flop_per_s, pipe.rate_unit()),
        Cell::quantity(roof.peak_byte_per_s, "B/s"),
        ridge(roof.ridge()),
        Cell::maybe(lecture.map(|l| l.peak_flop_per_s), |x| {
            Cell::quantity(x, "FLOP/s")
        }),
        Cell::maybe(lecture.map(|l| l.peak_byte_per_s), |x| {
            Cell::quantity(x, "B/s")
        }),
        Cell::maybe(lecture.map(|l| l.ridge()), ridge),
        Cell::maybe(lecture.map(|l| rounded(l.ridge())), |x| {
            Cell::number(x, x.to_string())
        }),
        Cell::maybe(
            (!printed.is_empty()).then(|| printed.join(" / ")),
            Cell::text,
        ),
    ])
}

/// What to say where the lectures print two different ridge points.
fn disagreement(gpu: &Gpu, pipe: Pipe) -> Result<Option<String>, CommandError> {
    let printed = gpu.peaks.get(&pipe).map_or(&[][..], |p| &p.lecture_ridge);
    let [one, other, ..] = printed else {
        return Ok(None);
    };
    let exact = gpu
        .lecture_roofline(pipe)
        .map_or(gpu.roofline(pipe)?, |l| l)
        .ridge();
    Ok(Some(format!(
        "{} {}: one lecture prints {one}, the other {other}; the quotient is {exact:.1}.",
        gpu.name,
        pipe.precision()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(args: &RidgeArgs) -> String {
        let mut out = Vec::new();
        run(args, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn args(gpu: Option<&str>, pipe: Option<Pipe>, format: Format) -> RidgeArgs {
        let common = Common { spec: None, format };
        RidgeArgs {
            gpu: gpu.map(str::to_owned),
            pipe,
            common,
        }
    }

    #[test]
    fn the_table_prints_the_lectures_ridge_points_beside_the_exact_ones() {
        let table = output(&args(None, None, Format::Table));
        for (gpu, pipe, exact, printed) in [
            ("A100 80GB SXM", "bf16", "153.02", "156"),
            ("H100 SXM", "bf16", "295.34", "295"),
            ("B200", "bf16", "281.25", "281"),
            ("H100 SXM", "fp8", "590.72", "591 / 592"),
            ("B200", "fp8", "562.5", "562"),
            ("B200", "fp4", "1125", "1125"),
        ] {
            let found = table.lines().any(|line| {
                let mut cells = line.split(['│', '┆']).map(str::trim);
                line.contains(gpu)
                    && cells.clone().any(|c| c == pipe)
                    && cells.clone().any(|c| c == exact)
                    && cells.any(|c| c == printed)
            });
            assert!(found, "{gpu} {pipe} {exact} {printed} in\n{table}");
        }
    }

    #[test]
    fn the_lectures_disagreement_on_h100_fp8_is_said() {
        let table = output(&args(Some("h100"), Some(Pipe::Fp8), Format::Table));
        let note = "H100 SXM FP8: one lecture prints 591, the other 592; the quotient is 590.7.";
        assert!(table.contains(note), "{table}");
        assert!(!output(&args(Some("h100"), Some(Pipe::Bf16), Format::Table)).contains("quotient"));
    }

    #[test]
    fn csv_holds_data_only_and_unrounded_figures() {
        let csv = output(&args(Some("H100"), Some(Pipe::Fp32), Format::Csv));
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines.len(), 2, "{csv}");
        assert!(
            lines[1].starts_with("H100 SXM,fp32,CUDA cores,HBM3,66900000000000,3350000000000,")
        );
        assert!(lines[1].contains(",19.97014925373134"), "{csv}");
        assert!(
            lines[1].ends_with(','),
            "nothing is printed by the lecture: {csv}"
        );
    }

    #[test]
    fn a_pipe_that_a_gpu_lacks_is_an_error_only_if_both_were_asked_for() {
        let wrong = args(Some("A100"), Some(Pipe::Fp4), Format::Table);
        let message = run(&wrong, &mut Vec::new()).unwrap_err().to_string();
        assert!(
            message.starts_with("--pipe: A100 80GB SXM has no fp4 rate"),
            "{message}"
        );
        let csv = output(&args(None, Some(Pipe::Fp4), Format::Csv));
        assert!(csv.contains("B200,fp4") && !csv.contains("A100"), "{csv}");
    }

    #[test]
    fn an_unknown_gpu_names_the_flag_and_the_nearest() {
        let message = run(&args(Some("H20O"), None, Format::Table), &mut Vec::new());
        let message = message.unwrap_err().to_string();
        assert!(
            message.starts_with("--gpu: unknown GPU \"H20O\"; nearest: \"H200\""),
            "{message}"
        );
    }
}
