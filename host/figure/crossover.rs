//! `--kind crossover`: FLOP/s over N, the asymptotes, where they cross and where they should.

use super::axis::{Axis, Labels, Scale};
use super::chart::{Body, Chart, Line, Look, Plot, Point, Side, Trace};
use super::error::FigureError;
use super::heading;
use super::palette::Style;
use super::throughput::size_axis;
use crate::crossover::{Tested, test, words};
use crate::record::Row;
use crate::roofline::crossover::{self, Estimate, MeasuredRoofs, claims};
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
    let x = size_axis(all().map(|point| point.x));
    let per_byte = 16.0 / series.bits_per_square.map_or(1.0, f64::from);
    let asymptotes = Corner::observed(tested);
    let roofs = tested.roofs.map(|roofs| Corner::predicted(&roofs, tested));
    let corners = [asymptotes, roofs.flatten()];
    let heights = corners.iter().flatten().flat_map(|corner| {
        let left = corner.byte_per_s.map(|rate| rate * per_byte * x.low);
        left.into_iter().chain(corner.flop_per_s)
    });
    let y = Axis::logarithmic(
        format!("{}: achieved (FLOP/s)", name(tested)),
        all().map(|point| point.y).chain(heights),
        (1.6, 2.6),
        (Scale::Decades, Labels::Decimal),
    );
    let mut lines = Vec::new();
    if let Some(corner) = &corners[1] {
        lines.extend(corner.lines(per_byte, &x, "measured roof", Look::Guide));
    }
    if let Some(corner) = &corners[0] {
        lines.extend(corner.lines(per_byte, &x, "asymptote", Look::Measured));
    }
    lines.extend(verticals(tested, &y));
    Plot {
        x,
        y,
        lines,
        traces,
        marks: Vec::new(),
    }
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

/// Two lines that meet: far left bytes, far right FLOPs set the limit.
struct Corner {
    /// Slope of the left one.
    byte_per_s: Option<f64>,
    /// Height of the right one.
    flop_per_s: Option<f64>,
    /// Side at which they meet, or should.
    n: f64,
}

impl Corner {
    /// The fitted asymptotes; one alone ends at the predicted crossing.
    fn observed(tested: &Tested) -> Option<Corner> {
        let fit = tested.judgement.fit.as_ref()?;
        let rate = |rate: Option<Estimate>| rate.map(|rate| rate.value);
        Some(Corner {
            byte_per_s: rate(fit.memory.rate),
            flop_per_s: rate(fit.compute.rate),
            n: rate(fit.crossover.or(tested.judgement.predicted))?,
        })
    }

    /// The measured roofs.
    fn predicted(roofs: &MeasuredRoofs, tested: &Tested) -> Option<Corner> {
        Some(Corner {
            byte_per_s: Some(roofs.byte_per_s.value),
            flop_per_s: Some(roofs.flop_per_s.value),
            n: tested.judgement.predicted?.value,
        })
    }

    fn lines(&self, per_byte: f64, x: &Axis, what: &str, look: Look) -> Vec<Line> {
        let side = if look == Look::Guide {
            Side::Above
        } else {
            Side::Below
        };
        let line = |from, to, rate, unit| Line {
            from,
            to,
            band: (1.0, 1.0),
            look,
            label: format!("{what} {}", engineering(rate, unit)),
            side,
        };
        let n = self.n.clamp(x.low, x.high);
        let left = self.byte_per_s.map(|rate| {
            let slope = rate * per_byte;
            line((x.low, slope * x.low), (n, slope * n), rate, "B/s")
        });
        let right = self
            .flop_per_s
            .map(|rate| line((n, rate), (x.high, rate), rate, "FLOP/s"));
        left.into_iter().chain(right).collect()
    }
}

/// The predicted and the observed crossing, each with its interval, their labels apart.
fn verticals(tested: &Tested, y: &Axis) -> Vec<Line> {
    let predicted = tested.judgement.predicted;
    let observed = tested.judgement.fit.as_ref().and_then(|fit| fit.crossover);
    let right_of = |a: Option<Estimate>, b: Option<Estimate>| match (a, b) {
        (Some(a), Some(b)) => a.value >= b.value,
        _ => true,
    };
    let line = |n: Estimate, what: &str, look, right| Line {
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
        side: if right { Side::Below } else { Side::Above },
    };
    let predicted_line = predicted.map(|n| {
        let right = right_of(predicted, observed);
        line(n, "predicted", Look::Datasheet, right)
    });
    let observed_line = observed.map(|n| {
        let right = !right_of(predicted, observed);
        line(n, "observed", Look::Measured, right)
    });
    predicted_line.into_iter().chain(observed_line).collect()
}
