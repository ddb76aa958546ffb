//! `--explain`: the formulas, the count at the first size, and the classic mistakes.

use std::io::Write;

use super::plan::{Dimensions, Kernel, Plan};
use super::{is_lecture_gemm, work};
use crate::cli::render::{Cell, Column, CommandError, Format, Sheet};
use crate::roofline::Roofline;
use crate::roofline::units::{binary_excess, engineering, grouped, significant};
use crate::roofline::work::Work;

/// Writes the explanation.
pub fn write(
    plan: &Plan,
    roofline: Option<Roofline>,
    out: &mut dyn Write,
) -> Result<(), CommandError> {
    let Some(size) = plan.sizes.first() else {
        return Ok(());
    };
    writeln!(out)?;
    let mut works = plan.work(*size)?;
    for (bytes_model, work) in &works {
        let model = bytes_model.map(|m| format!(" ({m})")).unwrap_or_default();
        let (flops, bytes, intensity) = formulas(plan, *bytes_model);
        let of_batch = |formula: String| match plan.batch {
            1 => formula,
            batch => format!("{} x ({formula})", grouped(batch)),
        };
        let (flops, bytes) = (of_batch(flops), of_batch(bytes));
        writeln!(out, "{}{model} at {size}:", plan.kernel.id())?;
        writeln!(out, "  FLOPs = {}", equals(&flops, grouped(work.flops)))?;
        writeln!(out, "  bytes = {}", equals(&bytes, grouped(work.bytes)))?;
        let value = equals(&intensity, significant(work.intensity(), 4));
        writeln!(out, "  intensity = FLOPs / bytes = {value} FLOP/byte")?;
    }
    // The consistent model is the last one; mistakes are measured against it.
    let Some((_, work)) = works.pop() else {
        return Ok(());
    };
    writeln!(out, "\nClassic mistakes, at {size}:")?;
    mistakes(plan, work).write(Format::Table, out)?;
    unit_lines(roofline, out)
}

/// A formula and its value; once if they are the same text.
fn equals(formula: &str, value: String) -> String {
    if formula == value {
        value
    } else {
        format!("{formula} = {value}")
    }
}

/// FLOPs, bytes and intensity as formulas in the plan's own storage.
fn formulas(plan: &Plan, bytes_model: Option<&str>) -> (String, String, String) {
    let known = plan.formulas(bytes_model);
    let f32_vector = !plan.kernel.is_gemm() && plan.storage.a == work::Storage::F32;
    if f32_vector || (plan.kernel.is_gemm() && is_lecture_gemm(plan.storage)) {
        return (
            known.flops.into(),
            known.bytes.into(),
            known.intensity.into(),
        );
    }
    let bytes_of = |bits: u32| significant(f64::from(bits) / 8.0, 3);
    let inputs = bytes_of(plan.storage.a.bits());
    if !plan.kernel.is_gemm() {
        let arrays = if plan.kernel == Kernel::Copy { 2 } else { 3 };
        return (
            known.flops.into(),
            format!("{arrays} x {inputs} N"),
            "constant".into(),
        );
    }
    let results = if plan.storage.reads_c { "2" } else { "" };
    let result = bytes_of(plan.storage.out.bits());
    let bytes = format!("{inputs} (MK + KN) + {result} x {results}MN");
    let divisor = significant(f64::from(plan.storage.bits_per_square()) / 16.0, 4);
    (known.flops.into(), bytes, format!("N/{divisor} if square"))
}

const COLUMNS: [Column; 5] = [
    ("mistake", Some("Mistake")),
    ("flops", Some("FLOPs")),
    ("bytes", Some("Bytes")),
    ("intensity_flop_per_byte", Some("FLOP/byte")),
    ("effect", Some("What it does")),
];

fn mistakes(plan: &Plan, right: Work) -> Sheet {
    let mut sheet = Sheet::new(COLUMNS.to_vec());
    let mut push = |name: &str, flops: f64, bytes: f64, effect: &str| {
        let intensity = if flops == 0.0 { 0.0 } else { flops / bytes };
        sheet.push(vec![
            Cell::text(name),
            Cell::quantity(flops, "FLOP"),
            Cell::quantity(bytes, "B"),
            Cell::number(intensity, significant(intensity, 4)),
            Cell::text(effect),
        ]);
    };
    let (flops, bytes) = (right.flops as f64, right.bytes as f64);
    push("(none: the right count)", flops, bytes, "");
    if !matches!(plan.kernel, Kernel::Copy | Kernel::Fft) {
        push(
            "FMA counted once",
            flops / 2.0,
            bytes,
            "half the FLOP/s against a peak that counts 2",
        );
    }
    match plan.kernel {
        Kernel::Copy => push(
            "each element counted once",
            flops,
            bytes / 2.0,
            "90 % of the bandwidth looks like 45 %; a copy reads and writes",
        ),
        Kernel::Saxpy | Kernel::Triad => push(
            "two arrays counted, not three",
            flops,
            bytes * 2.0 / 3.0,
            "90 % of the bandwidth looks like 60 %",
        ),
        Kernel::Mix => push(
            "each element counted once",
            flops,
            bytes / 2.0,
            "twice the intensity: an element is read and written",
        ),
        Kernel::Fma => push(
            "operands in registers counted as traffic",
            flops,
            bytes + 12.0 * flops / 2.0,
            "a peak kernel would look memory-bound",
        ),
        Kernel::Fft => push(
            "a complex transform's bytes",
            flops,
            bytes * 2.0,
            "half the intensity: the lecture's row pairs real FLOPs with complex bytes",
        ),
        _ => {
            // Every FMA reads one element of A and one of B.
            let loads = f64::from(plan.storage.a.bits() + plan.storage.b.bits()) / 8.0;
            push(
                "operands counted once a use",
                flops,
                loads * flops / 2.0,
                "bytes into registers, not across the memory bus: reuse is forgotten",
            );
        }
    }
    if plan.kernel.is_gemm() && plan.storage.reads_c {
        // A square count is enough to show it: C is one of the result's two passes.
        if let Some(size) = plan.sizes.first() {
            let Dimensions { m, n, .. } = (*size).into();
            let products = plan.batch as f64;
            let c = products * m as f64 * n as f64 * f64::from(plan.storage.c.bits()) / 8.0;
            push(
                "reading C forgotten",
                flops,
                bytes - c,
                "the crossover comes out too low",
            );
        }
    }
    sheet
}

fn unit_lines(roofline: Option<Roofline>, out: &mut dyn Write) -> Result<(), CommandError> {
    let percent = |power| binary_excess(power) * 100.0;
    writeln!(
        out,
        "TB against TiB: bandwidth is decimal (1 TB/s = 10^12 B/s). A rate divided by 2^40 and \
         called TB/s is {:.0} % too low, by 2^30 and called GB/s {:.0} %.",
        (1.0 - 1.0 / (1.0 + binary_excess(4))) * 100.0,
        (1.0 - 1.0 / (1.0 + binary_excess(3))) * 100.0,
    )?;
    writeln!(
        out,
        "(1 TiB is {:.0} % more than 1 TB, 1 GiB {:.0} % more than 1 GB.)",
        percent(4),
        percent(3)
    )?;
    if let Some(roofline) = roofline {
        let peak = roofline.peak_byte_per_s;
        writeln!(
            out,
            "Here: {} is {} TiB/s.",
            engineering(peak, "B/s"),
            significant(peak / 1024f64.powi(4), 3)
        )?;
    }
    Ok(())
}
