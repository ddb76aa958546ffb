//! `--kind speedup`: how many times as fast as the baseline, over N.

use super::axis::{Axis, Labels, Scale};
use super::chart::{Body, Chart, Line, Look, Plot, Point, Side, Trace};
use super::error::FigureError;
use super::heading;
use super::roofline::Weights;
use super::throughput::size_axis;
use super::trace;
use crate::record::Row;

/// The speedup of the rows that have a baseline.
///
/// # Errors
/// [`FigureError::Lacks`] if none has.
pub fn chart(rows: &[&Row]) -> Result<Chart, FigureError> {
    let compared: Vec<&Row> = rows
        .iter()
        .copied()
        .filter(|row| row.speedup.is_some_and(|s| s > 0.0 && s.is_finite()))
        .collect();
    if compared.is_empty() {
        return Err(FigureError::Lacks {
            kind: "speedup",
            needs: "rows with a baseline, and none has one",
            remedy: "measure them with `rooftrace sweep --baseline cublas`",
        });
    }
    let traces: Vec<Trace> = trace::groups(&compared)
        .iter()
        .map(|group| {
            let weights = Weights::of(group);
            let points = group.rows.iter().filter_map(|row| {
                Some(Point {
                    x: trace::size(row),
                    y: row.speedup?,
                    interval: trace::rate_interval(row, row.speedup?),
                    weight: weights.weight(row),
                    size: String::new(),
                    tip: format!(
                        "{}; {:.3} times",
                        trace::tip(&group.name, row),
                        row.speedup?
                    ),
                })
            });
            Trace {
                name: group.name.clone(),
                style: group.style,
                scale: 1.0,
                joined: true,
                points: points.collect(),
            }
        })
        .collect();
    let baseline = compared.iter().find_map(|row| row.baseline.clone());
    let baseline = baseline.unwrap_or_else(|| "the baseline".to_owned());
    let x = size_axis(
        traces
            .iter()
            .flat_map(|trace| trace.points.iter().map(|p| p.x)),
    );
    let y = Axis::logarithmic(
        format!("Speedup over {baseline}"),
        traces
            .iter()
            .flat_map(|trace| trace.points.iter().map(|p| p.y))
            .chain([1.0]),
        (1.3, 1.3),
        (Scale::Decades, Labels::Plain),
    );
    let equal = Line {
        from: (x.low, 1.0),
        to: (x.high, 1.0),
        band: (1.0, 1.0),
        look: Look::Measured,
        label: format!("as fast as {baseline}"),
        side: Side::Above,
    };
    let (title, subtitle) = heading(&compared);
    Ok(Chart {
        title,
        subtitle,
        body: Body::Plots(vec![Plot {
            x,
            y,
            lines: vec![equal],
            traces,
            marks: Vec::new(),
            key: Vec::new(),
        }]),
        note: String::new(),
    })
}
