//! `--kind crossover`: FLOP/s over N, the asymptotes, where they cross and where they should.

use super::axis::{Axis, Labels, Scale};
use super::chart::{Body, Chart, Line, Look, Plot, Point, Side, Trace};
use super::error::FigureError;
use super::heading;
use super::palette::Style;
use super::throughput::size_axis;
use crate::crossover::{Tested, test, words};
use crate::record::Row;
use crate::roofline::crossover::{self, Estimate, claims};
use crate::roofline::units::{engineering, significant};

/// Weight of all markers: N is on an axis of its own.
const WEIGHT: f64 = 0.4;

/// A plot for each product among measured rows, with its verdict below.
///
/// # Errors
/// [`FigureError::Lacks`] without a row of a square product.
pub fn chart(rows: &[&Row]) -> Result<Chart, FigureError> {
    let kernels: Vec<&str> = claims().iter().map(|claim| claim.tested_by).collect();
    let mut tested = test(rows, &kernels);
    tested.retain(|tested| !tested.series.trace.is_empty());
    if tested.is_empty() {
        return Err(FigureError::Lacks {
            kind: "crossover",
            needs: "rows of square matrix products on random data, cold",
            remedy: "measure some with `rooftrace crossover sgemm --device cuda`",
        });
    }
    let several = tested.len() > 1;
    let notes: Vec<String> = tested
        .iter()
        .map(|tested| {
            let verdict = words::verdict(tested);
            match several {
                true => format!("{}: {verdict}.", name(tested)),
                false => format!("Prediction {verdict}."),
            }
        })
        .collect();
    let (title, subtitle) = heading(rows);
    Ok(Chart {
        title,
        subtitle,
        body: Body::Plots(tested.iter().map(plot).collect()),
        note: notes.join(" "),
    })
}

fn name(tested: &Tested) -> String {
    format!("{} {}", tested.series.kernel, tested.series.variant)
}

fn plot(tested: &Tested) -> Plot {
    let series = &tested.series;
    let traces = traces(tested);
    let all = || traces.iter().flat_map(|trace| &trace.points);
    let crossings = [predicted(tested), observed(tested)];
    let shown = crossings.iter().flatten().map(|n| n.value);
    let x = size_axis(all().map(|point| point.x).chain(shown));
    let per_byte = 16.0 / series.bits_per_square.map_or(1.0, f64::from);
    let rate = |rate: Option<Estimate>| rate.map(|rate| rate.value);
    let fit = tested.judgement.fit.as_ref();
    let asymptotes = Limits {
        byte_per_s: fit.and_then(|fit| rate(fit.memory.rate)),
        flop_per_s: fit.and_then(|fit| rate(fit.compute.rate)),
    };
    let roofs = Limits {
        byte_per_s: tested.roofs.map(|roofs| roofs.byte_per_s.value),
        flop_per_s: tested.roofs.map(|roofs| roofs.flop_per_s.value),
    };
    let heights = [asymptotes, roofs].into_iter().flat_map(|limits| {
        let left = limits.byte_per_s.map(|rate| rate * per_byte * x.low);
        left.into_iter().chain(limits.flop_per_s)
    });
    let y = Axis::logarithmic(
        format!("{}: achieved (FLOP/s)", name(tested)),
        all().map(|point| point.y).chain(heights),
        (1.6, 4.5),
        (Scale::Decades, Labels::Decimal),
    );
    let mut lines = roofs.lines(per_byte, (&x, &y), "roof", Look::Guide);
    lines.extend(asymptotes.lines(per_byte, (&x, &y), "asymptote", Look::Measured));
    lines.extend(verticals(crossings, &y));
    Plot {
        x,
        y,
        lines,
        traces,
        marks: Vec::new(),
        key: Vec::new(),
    }
}

/// The predicted crossing.
fn predicted(tested: &Tested) -> Option<Estimate> {
    tested.judgement.predicted
}

/// The observed crossing.
fn observed(tested: &Tested) -> Option<Estimate> {
    tested.judgement.fit.as_ref()?.crossover
}

/// The traces: what is judged, and beside batches the single problems.
fn traces(tested: &Tested) -> Vec<Trace> {
    let series = &tested.series;
    let of = |points: &[crossover::Point], what: &str, style| {
        let name = format!("{}, {what}", name(tested));
        let point = |point: &crossover::Point| Point {
            x: point.n as f64,
            y: point.flop_per_s(),
            interval: None,
            weight: WEIGHT,
            size: String::new(),
            tip: format!(
                "{name}, N = {}; batch {}; {}; {}; {}",
                point.n,
                point.batch,
                engineering(point.flop_per_s(), "FLOP/s"),
                engineering(point.byte_per_s(), "B/s"),
                engineering(point.seconds, "s")
            ),
        };
        Trace {
            points: points.iter().map(point).collect(),
            name: name.clone(),
            style,
            scale: 1.0,
            joined: true,
        }
    };
    let single = |index| Style {
        index,
        hollow: true,
        dashed: true,
    };
    if !series.batched {
        return vec![of(&series.single, "one problem", single(0))];
    }
    let filled = Style {
        index: 0,
        hollow: false,
        dashed: false,
    };
    vec![
        of(&series.trace, "batches that fill the card", filled),
        of(&series.single, "one problem", single(1)),
    ]
}

/// Two lines that cross: one of bytes a second, rising with N, one of FLOPs a second.
#[derive(Clone, Copy)]
struct Limits {
    byte_per_s: Option<f64>,
    flop_per_s: Option<f64>,
}

impl Limits {
    /// The lines over the whole plot: where they cross can be seen only if they go on.
    fn lines(self, per_byte: f64, (x, y): (&Axis, &Axis), what: &str, look: Look) -> Vec<Line> {
        let line = |from, to, rate, unit| Line {
            from,
            to,
            band: (1.0, 1.0),
            look,
            label: format!("{what} {}", engineering(rate, unit)),
            side: match look {
                Look::Guide => Side::Above,
                _ => Side::Below,
            },
        };
        let rising = self.byte_per_s.map(|rate| {
            let slope = rate * per_byte;
            let end = x.high.min(y.high / slope);
            line((x.low, slope * x.low), (end, slope * end), rate, "B/s")
        });
        let level = self
            .flop_per_s
            .map(|rate| line((x.low, rate), (x.high, rate), rate, "FLOP/s"));
        rising.into_iter().chain(level).collect()
    }
}

/// The predicted and the observed crossing, each with its interval, their labels apart.
fn verticals([predicted, observed]: [Option<Estimate>; 2], y: &Axis) -> Vec<Line> {
    let line = |n: Estimate, what: &str, look, side| Line {
        from: (n.value, y.low),
        to: (n.value, y.high),
        band: (n.interval.low / n.value, n.interval.high / n.value),
        look,
        label: format!(
            "{what} {} ({} to {})",
            significant(n.value, 4),
            significant(n.interval.low, 4),
            significant(n.interval.high, 4)
        ),
        side,
    };
    let further_left = predicted
        .zip(observed)
        .is_some_and(|(predicted, observed)| predicted.value < observed.value);
    let (of_predicted, of_observed) = match further_left {
        true => (Side::Above, Side::Below),
        false => (Side::Below, Side::Above),
    };
    let predicted = predicted.map(|n| line(n, "predicted", Look::Datasheet, of_predicted));
    let observed = observed.map(|n| line(n, "observed", Look::Measured, of_observed));
    predicted.into_iter().chain(observed).collect()
}
