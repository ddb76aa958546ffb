//! A test as sentences.

use super::Tested;
use super::series::{FULL_BYTES, Series};
use crate::roofline::Pipe;
use crate::roofline::crossover::judge::TOLERANCE;
use crate::roofline::crossover::plateau::NEAR;
use crate::roofline::crossover::{Asymptote, Estimate, Verdict};
use crate::roofline::units::{engineering, significant};

/// Relative error from which a knee does not describe its points.
const POOR: f64 = 0.2;

/// What was measured: kernel, variant, device, and the claim that it tests.
#[must_use]
pub fn heading(tested: &Tested) -> String {
    let series = &tested.series;
    let claim = match &tested.claim {
        Some(claim) => claim.label.to_owned(),
        None => format!("{} storage, {}", series.storage, pipe(series)),
    };
    format!(
        "{} {} on {}: {claim}, C {}",
        series.kernel,
        series.variant,
        series.device,
        if series.reads_c { "read" } else { "not read" }
    )
}

/// The test line by line: what a line is about, and what it says. The verdict is the last.
#[must_use]
pub fn lines(tested: &Tested) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let mut add = |head, text: Option<String>| lines.extend(text.map(|text| (head, text)));
    add("Predicted", predicted(tested));
    add("Observed", observed(tested));
    add("Efficiency", efficiency(tested));
    add("Smooth knee", knee(tested));
    add("One problem", one_problem(tested));
    add("Limits", limits(tested));
    add("Left out", left_out(tested));
    add("Verdict", Some(verdict(tested)));
    lines
}

/// The verdict and what it rests on.
#[must_use]
pub fn verdict(tested: &Tested) -> String {
    let judgement = &tested.judgement;
    let name = judgement.verdict.name();
    if let Verdict::NotTestable(obstacles) = &judgement.verdict {
        let reasons: Vec<String> = obstacles.iter().map(ToString::to_string).collect();
        return format!("{name}: {}", reasons.join("; "));
    }
    let Some(ratio) = judgement.ratio else {
        return name.to_owned();
    };
    let within = if judgement.verdict == Verdict::Confirmed {
        "within"
    } else {
        "outside"
    };
    format!(
        "{name}: observed over predicted is {} ({} to {}), {within} {:.3} to {:.3}",
        significant(ratio.value, 3),
        significant(ratio.interval.low, 3),
        significant(ratio.interval.high, 3),
        1.0 / TOLERANCE,
        TOLERANCE
    )
}

/// What computes, by precision and on a GPU unit: `FP32 CUDA cores`.
fn pipe(series: &Series) -> String {
    match series.pipe.parse::<Pipe>() {
        Ok(pipe) if series.on_gpu => format!("{} {}", pipe.precision(), pipe.unit()),
        Ok(pipe) => pipe.precision().to_owned(),
        Err(_) => series.pipe.clone(),
    }
}

fn side_length(n: Estimate) -> String {
    format!(
        "N = {} ({} to {})",
        significant(n.value, 4),
        significant(n.interval.low, 4),
        significant(n.interval.high, 4)
    )
}

fn predicted(tested: &Tested) -> Option<String> {
    let roofs = tested.roofs?;
    Some(format!(
        "{}, from the roofs measured beside it: {} {}, {}",
        side_length(tested.judgement.predicted?),
        pipe(&tested.series),
        engineering(roofs.flop_per_s.value, "FLOP/s"),
        engineering(roofs.byte_per_s.value, "B/s")
    ))
}

fn observed(tested: &Tested) -> Option<String> {
    let fit = tested.judgement.fit.as_ref()?;
    let asymptote = |asymptote: &Asymptote, unit| {
        let sizes = match (asymptote.sizes, asymptote.range) {
            (1, Some((n, _))) => format!("1 size, {n}"),
            (count, Some((least, most))) => format!("{count} sizes, {least} to {most}"),
            _ => "no size".to_owned(),
        };
        match asymptote.rate {
            Some(rate) => format!("{} ({sizes})", engineering(rate.value, unit)),
            None => format!("no asymptote ({sizes})"),
        }
    };
    let crossing = fit.crossover.map_or("no crossing".to_owned(), side_length);
    Some(format!(
        "{crossing}: left {}, right {}",
        asymptote(&fit.memory, "B/s"),
        asymptote(&fit.compute, "FLOP/s")
    ))
}

fn efficiency(tested: &Tested) -> Option<String> {
    let judgement = &tested.judgement;
    let percent = |efficiency: Option<Estimate>| {
        efficiency.map_or("unknown".to_owned(), |efficiency| {
            format!("{:.1} %", 100.0 * efficiency.value)
        })
    };
    judgement.fit.as_ref()?;
    let mut text = format!(
        "memory {}, compute {} of the measured roofs",
        percent(judgement.memory_efficiency),
        percent(judgement.compute_efficiency)
    );
    if let (Some(memory), Some(compute), Some(ratio)) = (
        judgement.memory_efficiency,
        judgement.compute_efficiency,
        judgement.ratio,
    ) {
        text.push_str(&format!(
            "; memory moves the crossing by a factor of {}, compute by {}, both by {}",
            significant(1.0 / memory.value, 3),
            significant(compute.value, 3),
            significant(ratio.value, 3)
        ));
    }
    Some(text)
}

fn knee(tested: &Tested) -> Option<String> {
    let knee = tested.knee?;
    if knee.rms > POOR {
        return Some(format!(
            "none: the best is off by {} % (rms)",
            significant(100.0 * knee.rms, 2)
        ));
    }
    Some(format!(
        "N = {}, {} and {}, sharpness {} (1: times add up), rms {} %",
        significant(knee.crossover, 4),
        engineering(knee.byte_per_s, "B/s"),
        engineering(knee.flop_per_s, "FLOP/s"),
        significant(knee.sharpness, 2),
        significant(100.0 * knee.rms, 2)
    ))
}

fn one_problem(tested: &Tested) -> Option<String> {
    let plateau = tested.plateau?;
    let height = engineering(plateau.flop_per_s, "FLOP/s");
    Some(match plateau.from {
        Some(n) => format!(
            "within {:.0} % of its plateau, {height}, from N = {n} on",
            100.0 * NEAR
        ),
        None => format!(
            "no plateau: {height} over the last octave, still rising at N = {}",
            plateau.largest
        ),
    })
}

/// What the trace is short of.
fn limits(tested: &Tested) -> Option<String> {
    let series = &tested.series;
    let mut limits = Vec::new();
    if !series.batched && !series.trace.is_empty() {
        limits.push(
            "no batches: a single small problem is bound by latency and not by a roof".to_owned(),
        );
    }
    if let Some(bytes) = series.least_bytes().filter(|&bytes| bytes < FULL_BYTES) {
        limits.push(format!(
            "the smallest launch moves {}, less than the {} that fill a card from memory",
            engineering(bytes as f64, "B"),
            engineering(FULL_BYTES as f64, "B")
        ));
    }
    if series.power_capped > 0 {
        limits.push(format!(
            "in {} rows the card's power limit held the clock back",
            series.power_capped
        ));
    }
    (!limits.is_empty()).then(|| limits.join("; "))
}

fn left_out(tested: &Tested) -> Option<String> {
    let excluded = &tested.series.excluded;
    let parts = excluded
        .iter()
        .map(|(why, count)| format!("{count} {}", why.words()));
    let total: usize = excluded.iter().map(|(_, count)| count).sum();
    let rows = if total == 1 { "row" } else { "rows" };
    (total > 0).then(|| format!("{total} {rows}: {}", parts.collect::<Vec<_>>().join(", ")))
}
