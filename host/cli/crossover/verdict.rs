//! What became of the predictions, for people and programs.

use super::{Subject, predict};
use crate::cli::render::{Cell, Column, Sheet};
use crate::crossover::roofs::UNCERTAINTY;
use crate::crossover::{Tested, words as sentences};
use crate::roofline::crossover::fit::{BAND, LEAST_POINTS, RESAMPLES};
use crate::roofline::crossover::judge::{LEAST_EFFICIENCY, MOST_EFFICIENCY, TOLERANCE};
use crate::roofline::crossover::{Asymptote, Claim, Estimate, Obstacle, Point, Side};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Writes each test as a paragraph.
pub(super) fn words(tested: &[Tested], out: &mut dyn Write) -> io::Result<()> {
    for tested in tested {
        writeln!(out, "\n{}", sentences::heading(tested))?;
        for (head, text) in sentences::lines(tested) {
            writeln!(out, "  {head:<12} {text}")?;
        }
    }
    Ok(())
}

/// The two questions that are asked of `sgemm`, answered apart.
pub(super) fn two_questions(
    claims: &[Claim],
    subject: &Subject<'_>,
    tested: &[Tested],
    out: &mut dyn Write,
) -> io::Result<()> {
    let predicted = |kernel: &str| {
        let claim = claims
            .iter()
            .find(|claim| claim.tested_by == kernel && claim.storage.reads_c)?;
        let (n, roofs) = predict::best(claim, subject)?;
        Some(format!("{} predicts N >= {n} ({roofs})", subject.name()))
    };
    let answer = |kernel: &str| {
        let of_kernel = tested.iter().filter(|t| t.series.kernel == kernel);
        let mut parts: Vec<String> = predicted(kernel).into_iter().collect();
        parts.extend(of_kernel.map(|tested| {
            let variant = &tested.series.variant;
            let verdict = tested.judgement.verdict.name();
            match tested.judgement.fit.as_ref().and_then(|fit| fit.crossover) {
                Some(n) => format!("{kernel} {variant} crosses at {:.0}: {verdict}", n.value),
                None => format!("{kernel} {variant}: {verdict}"),
            }
        }));
        if !parts.iter().any(|part| part.starts_with(kernel)) {
            parts.push(format!("{kernel} tests it"));
        }
        parts.join("; ")
    };
    writeln!(
        out,
        "\nTwo questions, apart:\n  \
         Where does plain fp32 SGEMM cross? {}.\n  \
         What does the lecture's claim need? The bytes of fp32 storage under the roof of the BF16 \
         tensor cores,\n  which no fp32 SGEMM has: {}.",
        answer("sgemm"),
        answer("gemm-mixed")
    )
}

const COLUMNS: [Column; 26] = [
    ("kernel", None),
    ("variant", None),
    ("device", None),
    ("pipe", None),
    ("storage", None),
    ("out_type", None),
    ("reads_c", None),
    ("verdict", None),
    ("obstacles", None),
    ("predicted_n", None),
    ("predicted_n_low", None),
    ("predicted_n_high", None),
    ("observed_n", None),
    ("observed_n_low", None),
    ("observed_n_high", None),
    ("ratio", None),
    ("ratio_low", None),
    ("ratio_high", None),
    ("memory_efficiency", None),
    ("compute_efficiency", None),
    ("knee_n", None),
    ("knee_sharpness", None),
    ("single_plateau_flop_per_s", None),
    ("single_plateau_from_n", None),
    ("batched", None),
    ("rows_left_out", None),
];

/// A line for each test.
pub(super) fn sheet(tested: &[Tested]) -> Sheet {
    let mut sheet = Sheet::new(COLUMNS.to_vec());
    for tested in tested {
        sheet.push(line(tested));
    }
    sheet
}

fn line(tested: &Tested) -> Vec<Cell> {
    let (series, judgement) = (&tested.series, &tested.judgement);
    let number = |value: Option<f64>| Cell::maybe(value, |v| Cell::number(v, v.to_string()));
    let estimate = |estimate: Option<Estimate>| {
        [
            number(estimate.map(|e| e.value)),
            number(estimate.map(|e| e.interval.low)),
            number(estimate.map(|e| e.interval.high)),
        ]
    };
    let obstacles = judgement.verdict.obstacles().iter().map(Obstacle::id);
    let left_out: usize = series.excluded.iter().map(|(_, count)| count).sum();
    let mut cells = vec![
        Cell::text(&series.kernel),
        Cell::text(&series.variant),
        Cell::text(&series.device),
        Cell::text(&series.pipe),
        Cell::text(&series.storage),
        Cell::text(&series.out_type),
        Cell::flag(series.reads_c),
        Cell::text(judgement.verdict.name()),
        Cell::text(obstacles.collect::<Vec<_>>().join(" ")),
    ];
    cells.extend(estimate(judgement.predicted));
    cells.extend(estimate(
        judgement.fit.as_ref().and_then(|fit| fit.crossover),
    ));
    cells.extend(estimate(judgement.ratio));
    cells.extend([
        number(judgement.memory_efficiency.map(|e| e.value)),
        number(judgement.compute_efficiency.map(|e| e.value)),
        number(tested.knee.map(|knee| knee.crossover)),
        number(tested.knee.map(|knee| knee.sharpness)),
        number(tested.plateau.map(|plateau| plateau.flop_per_s)),
        Cell::maybe(tested.plateau.and_then(|plateau| plateau.from), |n| {
            Cell::whole(n, n.to_string())
        }),
        Cell::flag(series.batched),
        Cell::whole(left_out as u64, left_out.to_string()),
    ]);
    cells
}

/// Writes one document: the predictions, the criterion, and every test with all its numbers.
pub(super) fn json(predictions: &Sheet, tested: &[Tested], out: &mut dyn Write) -> io::Result<()> {
    let document = json!({
        "predictions": predictions.objects(),
        "criterion": {
            "band": BAND,
            "least_sizes": LEAST_POINTS,
            "least_efficiency": LEAST_EFFICIENCY,
            "most_efficiency": MOST_EFFICIENCY,
            "tolerance": TOLERANCE,
            "roof_uncertainty": UNCERTAINTY,
            "resamples": RESAMPLES,
        },
        "tests": tested.iter().map(object).collect::<Vec<_>>(),
    });
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

fn object(tested: &Tested) -> Value {
    let (series, judgement) = (&tested.series, &tested.judgement);
    json!({
        "kernel": series.kernel,
        "variant": series.variant,
        "device": series.device,
        "pipe": series.pipe,
        "storage": series.storage,
        "out_type": series.out_type,
        "reads_c": series.reads_c,
        "bits_per_square": series.bits_per_square,
        "claim": tested.claim.as_ref().map(|claim| claim.label),
        "verdict": judgement.verdict.name(),
        "words": sentences::verdict(tested),
        "obstacles": judgement.verdict.obstacles().iter().map(|obstacle| json!({
            "id": obstacle.id(),
            "words": obstacle.to_string(),
        })).collect::<Vec<_>>(),
        "measured_roofs": tested.roofs.map(|roofs| json!({
            "flop_per_s": estimate(&roofs.flop_per_s),
            "byte_per_s": estimate(&roofs.byte_per_s),
        })),
        "predicted_n": judgement.predicted.as_ref().map(estimate),
        "observed_n": judgement.fit.as_ref().and_then(|fit| fit.crossover.as_ref()).map(estimate),
        "ratio": judgement.ratio.as_ref().map(estimate),
        "moved_by": judgement.moved_by().map(Side::name),
        "memory_efficiency": judgement.memory_efficiency.as_ref().map(estimate),
        "compute_efficiency": judgement.compute_efficiency.as_ref().map(estimate),
        "memory_asymptote": judgement.fit.as_ref().map(|fit| asymptote(&fit.memory, "byte_per_s")),
        "compute_asymptote": judgement.fit.as_ref().map(|fit| asymptote(&fit.compute, "flop_per_s")),
        "knee": tested.knee.map(|knee| json!({
            "n": knee.crossover,
            "byte_per_s": knee.byte_per_s,
            "flop_per_s": knee.flop_per_s,
            "sharpness": knee.sharpness,
            "rms": knee.rms,
        })),
        "single": tested.plateau.map(|plateau| json!({
            "plateau_flop_per_s": plateau.flop_per_s,
            "plateau_from_n": plateau.from,
            "largest_n": plateau.largest,
        })),
        "batched": series.batched,
        "least_bytes": series.least_bytes(),
        "power_capped_rows": series.power_capped,
        "rows_left_out": series.excluded.iter().map(|(why, count)| json!({
            "reason": why.words(),
            "rows": count,
        })).collect::<Vec<_>>(),
        "trace": series.trace.iter().map(point).collect::<Vec<_>>(),
        "single_trace": series.single.iter().map(point).collect::<Vec<_>>(),
    })
}

fn estimate(estimate: &Estimate) -> Value {
    json!({
        "value": estimate.value,
        "low": estimate.interval.low,
        "high": estimate.interval.high,
    })
}

fn asymptote(asymptote: &Asymptote, rate: &str) -> Value {
    json!({
        "sizes": asymptote.sizes,
        "least_n": asymptote.range.map(|range| range.0),
        "largest_n": asymptote.range.map(|range| range.1),
        rate: asymptote.rate.as_ref().map(estimate),
        "slope": asymptote.slope,
    })
}

fn point(point: &Point) -> Value {
    json!({
        "n": point.n,
        "batch": point.batch,
        "time_s": point.seconds,
        "flop_per_s": point.flop_per_s(),
        "byte_per_s": point.byte_per_s(),
    })
}
