//! Cycles of an FMA by chains and warps: what a sweep of `fma` says of latency and throughput.
//!
//! A scheduler starts at most one warp-wide FMA a cycle. With one chain and one warp it waits for
//! each result, so that the latency shows; with enough of both one cycle is left.

use crate::device::{DeviceInfo, DeviceKind};
use crate::kernels::KernelId;
use crate::kernels::fma::Shape;
use crate::record::{Row, Status};
use crate::roofline::pipe::Pipe;
use std::collections::BTreeSet;

/// Cycles that a scheduler takes for a warp-wide FMA, with so many chains and warps.
struct Cycles {
    variant: String,
    chains: u64,
    warps: u64,
    cycles: f64,
}

/// What follows the rows of a sweep: one line if one variant of `fma` was measured, a table of
/// warps by chains if several were. `None` without any, and where the clock is not known.
pub(super) fn summary(rows: &[Row], info: &DeviceInfo) -> Option<String> {
    if info.kind != DeviceKind::Cuda {
        return None;
    }
    let found = measured(rows, info);
    match found.as_slice() {
        [] => None,
        [one] => Some(format!(
            "fma {}: {:.2} cycles of a scheduler for a warp-wide FMA, with {} chains a thread and \
             {} warps a scheduler\n",
            one.variant, one.cycles, one.chains, one.warps
        )),
        several => Some(table(several)),
    }
}

/// The cycles of every variant that has a clock and a time, in the order of the rows.
fn measured(rows: &[Row], info: &DeviceInfo) -> Vec<Cycles> {
    let on_fp32 = |row: &Row| {
        row.pipe
            .as_deref()
            .is_none_or(|pipe| pipe == Pipe::Fp32.id())
    };
    let usable = |row: &&Row| {
        row.kernel == KernelId::Fma.name()
            && on_fp32(row)
            && row.status == Status::Ok
            && !row.is_steady_state()
    };
    let rows: Vec<&Row> = rows.iter().filter(usable).collect();
    // One state of the cache is enough: the loop touches no memory.
    let cache = rows.first().map(|row| row.cache);
    let mut found: Vec<Cycles> = Vec::new();
    for row in &rows {
        if found.iter().any(|cycles| cycles.variant == row.variant) {
            continue;
        }
        let points = rows
            .iter()
            .filter(|other| other.variant == row.variant && Some(other.cache) == cache)
            .filter_map(|row| Some((row.n, row.time_median_s? * row.sm_clock_hz?)));
        let shape = Shape::of(&row.variant, info);
        let (chains, warps) = (shape.chains(), u64::from(shape.warps));
        if let Some(cycles) = per_step(points.collect()) {
            found.push(Cycles {
                variant: row.variant.clone(),
                chains,
                warps,
                cycles: cycles / (chains * warps) as f64,
            });
        }
    }
    found
}

/// Cycles of a step from steps and cycles of some launches: what the longest takes beyond the next,
/// which leaves out the launch itself; of one alone, all that it takes.
fn per_step(mut points: Vec<(u64, f64)>) -> Option<f64> {
    points.sort_by_key(|(steps, _)| *steps);
    match points.as_slice() {
        [] => None,
        [(steps, cycles)] => Some(cycles / *steps as f64),
        [.., (fewer, short), (more, long)] => Some((long - short) / (more - fewer) as f64),
    }
}

/// Rows of warps a scheduler, columns of chains a thread.
fn table(found: &[Cycles]) -> String {
    let chains: BTreeSet<u64> = found.iter().map(|cell| cell.chains).collect();
    let warps: BTreeSet<u64> = found.iter().map(|cell| cell.warps).collect();
    let mut text = String::from(
        "\nCycles of a scheduler for a warp-wide FMA: 1 is the limit, the first is the latency.\n\
         warps a scheduler    chains a thread\n",
    );
    text.push_str(&" ".repeat(17));
    chains
        .iter()
        .for_each(|chains| text.push_str(&format!("{chains:>8}")));
    text.push('\n');
    for &warps in &warps {
        text.push_str(&format!("{warps:>17}"));
        for &chains in &chains {
            let cell = found
                .iter()
                .find(|cell| (cell.chains, cell.warps) == (chains, warps));
            let cell = cell.map_or("-".to_owned(), |cell| format!("{:.2}", cell.cycles));
            text.push_str(&format!("{cell:>8}"));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::vm::{Target, describe};
    use crate::kernels::fma::ilp::CELLS;
    use crate::record::Cache;

    const CLOCK_HZ: f64 = 2e9;
    /// Cycles that a launch takes by itself.
    const LAUNCH: f64 = 4000.0;

    fn gpu() -> DeviceInfo {
        DeviceInfo {
            kind: DeviceKind::Cuda,
            ..describe(Target::Sm90a)
        }
    }

    fn row(variant: &str, steps: u64, cycles: f64) -> Row {
        Row {
            kernel: "fma".to_owned(),
            variant: variant.to_owned(),
            n: steps,
            time_median_s: Some(cycles / CLOCK_HZ),
            sm_clock_hz: Some(CLOCK_HZ),
            status: Status::Ok,
            converged: Some(true),
            ..Row::default()
        }
    }

    /// A latency of four cycles, one issue a cycle.
    fn modelled(steps: u64) -> Vec<Row> {
        let cells = CELLS.iter().map(|cell| {
            let independent = f64::from(cell.chains * cell.warps);
            let cycles = LAUNCH + steps as f64 * independent.max(4.0);
            row(cell.variant.name, steps, cycles)
        });
        cells.collect()
    }

    #[test]
    fn latency_and_throughput_show_in_the_table() {
        let rows = [modelled(1 << 12), modelled(1 << 16)].concat();
        let text = summary(&rows, &gpu()).unwrap();
        let lines: Vec<Vec<&str>> = text
            .lines()
            .skip(3)
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(lines[0], ["1", "2", "4", "8", "16"]);
        assert_eq!(lines[1], ["1", "4.00", "2.00", "1.00", "1.00", "1.00"]);
        assert_eq!(lines[2], ["2", "2.00", "1.00", "1.00", "1.00", "1.00"]);
        assert_eq!(lines[5], ["16", "1.00", "1.00", "1.00", "1.00", "1.00"]);
        assert_eq!(lines.len(), 6);
    }

    #[test]
    fn of_one_size_the_launch_is_part_of_it() {
        let text = summary(&[row("ilp1w1", 1000, LAUNCH + 4000.0)], &gpu()).unwrap();
        assert!(text.starts_with("fma ilp1w1: 8.00 cycles"), "{text}");
    }

    #[test]
    fn the_default_variant_has_a_line() {
        let mut rows = vec![row("chains", 65_536, 65_536.0 * 256.0 * 1.01)];
        let text = summary(&rows, &gpu()).unwrap();
        assert!(text.starts_with("fma chains: 1.01 cycles"), "{text}");
        assert!(text.contains("16 chains a thread and 16 warps"), "{text}");
        // Neither the other state of the cache nor the steady state is another size.
        rows.push(Row {
            cache: Cache::Warm,
            n: 1 << 17,
            ..rows[0].clone()
        });
        rows.push(Row {
            converged: None,
            n: 1 << 18,
            ..rows[0].clone()
        });
        assert_eq!(summary(&rows, &gpu()).unwrap(), text);
    }

    #[test]
    fn a_cell_that_was_not_measured_is_not_made_up() {
        let mut rows = modelled(4096);
        rows.retain(|row| row.variant != "ilp2w2");
        rows[0].sm_clock_hz = None;
        let text = summary(&rows, &gpu()).unwrap();
        let cells: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(
            cells.iter().filter(|cell| **cell == "-").count(),
            2,
            "{text}"
        );
        rows.retain(|row| row.variant == "ilp1w1");
        assert_eq!(summary(&rows, &gpu()), None);
        assert_eq!(summary(&[], &gpu()), None);
        assert_eq!(summary(&modelled(64), &describe(Target::Sm90a)), None);
    }
}
