//! The table of predictions: every claim on every roofline that is known.

use super::Subject;
use crate::cli::error::CliError;
use crate::cli::nearest::unknown;
use crate::cli::render::{Cell, Column, CommandError, Sheet};
use crate::roofline::crossover::{Claim, Crossover, claims};
use crate::roofline::units::significant;
use crate::roofline::{Gpu, Pipe, Roofline};
use std::io::Write;

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

/// What the table calls roofs that the rows' runs measured.
const MEASURED: &str = "measured";

/// The claims that a kernel could test; of `sgemm` also the lecture's.
///
/// # Errors
/// A usage error for a kernel that tests none, with the nearest that does.
pub(super) fn chosen(kernel: &str) -> Result<Vec<Claim>, CliError> {
    let all = claims();
    let mut names = testers(&all);
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

/// The kernels that test these claims, each once.
pub(super) fn testers(claims: &[Claim]) -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for claim in claims {
        if !names.contains(&claim.tested_by) {
            names.push(claim.tested_by);
        }
    }
    names
}

/// The predictions of the claims: one line for each claim and roofline.
///
/// # Errors
/// A GPU without a rate for a claim's pipe.
pub(super) fn sheet(claims: &[Claim], subject: &Subject<'_>) -> Result<Sheet, CommandError> {
    let mut sheet = Sheet::new(COLUMNS.to_vec());
    for claim in claims {
        for (roofs, roofline) in rooflines(subject, claim.pipe)? {
            sheet.push(row(claim, subject.name(), roofs, &roofline));
        }
    }
    Ok(sheet)
}

/// The nearest integer at or above a claim's crossover, and the roofs that it is predicted from:
/// measured ones where there are any, otherwise the first known.
pub(super) fn best(claim: &Claim, subject: &Subject<'_>) -> Option<(u64, &'static str)> {
    let mut known = rooflines(subject, claim.pipe).ok()?;
    let measured = known.iter().position(|(roofs, _)| *roofs == MEASURED);
    let (roofs, roofline) = known.drain(measured.unwrap_or(0)..).next()?;
    match claim.on(&roofline) {
        Crossover::At { next, .. } => Some((next, roofs)),
        _ => None,
    }
}

/// The roofs that a claim is placed on: as the lecture rounds them, the datasheet's, measured.
fn rooflines(
    subject: &Subject<'_>,
    pipe: Pipe,
) -> Result<Vec<(&'static str, Roofline)>, CommandError> {
    let mut rooflines = Vec::new();
    if let Some(gpu) = subject.gpu {
        rooflines.extend(known(gpu, pipe)?);
    }
    if let Some(roofs) = subject.measured(pipe) {
        let measured = Roofline::new(roofs.flop_per_s.value, roofs.byte_per_s.value)?;
        rooflines.push((MEASURED, measured));
    }
    Ok(rooflines)
}

fn known(gpu: &Gpu, pipe: Pipe) -> Result<Vec<(&'static str, Roofline)>, CommandError> {
    let mut rooflines = Vec::new();
    if let Some(lecture) = gpu.lecture_roofline(pipe) {
        // The lecture rounds the ridge point before it multiplies.
        let ridge = lecture.ridge().round();
        let rounded = Roofline::new(ridge * lecture.peak_byte_per_s, lecture.peak_byte_per_s)?;
        rooflines.push(("lecture, ridge rounded", rounded));
        rooflines.push(("lecture", lecture));
    }
    rooflines.push(("datasheet", gpu.roofline(pipe)?));
    Ok(rooflines)
}

fn row(claim: &Claim, device: &str, roofs: &str, roofline: &Roofline) -> Vec<Cell> {
    let (n, next) = match claim.on(roofline) {
        Crossover::At { n, next } => (Some(n), Some(next)),
        _ => (None, None),
    };
    let ridge = roofline.ridge();
    vec![
        Cell::text(claim.label),
        Cell::text(device),
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

/// What each claim assumes, and what the table is not.
pub(super) fn explain(
    claims: &[Claim],
    subject: &Subject<'_>,
    out: &mut dyn Write,
) -> std::io::Result<()> {
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
    writeln!(
        out,
        "Predictions for {}, not measurements: a kernel crosses where its own efficiencies put it,\n\
         at N* times its compute efficiency over its memory efficiency.",
        subject.name()
    )
}
