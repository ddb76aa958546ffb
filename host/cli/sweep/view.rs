//! The table on stdout, the progress on stderr.

use super::ilp;
use crate::cli::Verbosity;
use crate::device::DeviceInfo;
use crate::figure::terminal;
use crate::kernels::{KernelId, intensity};
use crate::record::{Cache, Row, Status};
use crate::roofline::units::engineering;
use crate::sweep::Point;
use crate::sweep::roofs::{PipeRoofs, Rate, Roofs};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};

/// Heads of the table's columns and their widths.
const COLUMNS: [(&str, usize); 11] = [
    ("kernel", 7),
    ("variant", 9),
    ("size", 16),
    ("cache", 6),
    ("time", 10),
    ("±", 7),
    ("FLOP/s", 15),
    ("B/s", 12),
    ("roof", 8),
    ("bound", 8),
    ("check", 0),
];

/// What a person sees of a sweep.
pub(super) struct View {
    verbosity: Verbosity,
    /// Something else goes to stdout: the table would mix with it.
    silent: bool,
    bar: ProgressBar,
    /// What was shown, for the picture at the end.
    rows: Vec<Row>,
}

impl View {
    /// A view of a sweep of `points` points; `silent` leaves stdout to others.
    pub(super) fn new(verbosity: Verbosity, silent: bool, points: usize) -> Self {
        // Drawn on stderr, and only if that is a terminal.
        let bar = match verbosity {
            Verbosity::Quiet => ProgressBar::hidden(),
            _ => ProgressBar::new(points as u64),
        };
        if let Ok(style) = ProgressStyle::with_template(
            "{spinner} {pos}/{len} {wide_msg} {elapsed} elapsed, {eta} left",
        ) {
            bar.set_style(style);
        }
        View {
            verbosity,
            silent,
            bar,
            rows: Vec::new(),
        }
    }

    /// A line on stderr, unless quiet.
    pub(super) fn notice(&self, text: &str) {
        if self.verbosity >= Verbosity::Normal {
            self.say(text);
        }
    }

    /// A line on stderr if verbose.
    pub(super) fn detail(&self, text: &str) {
        if self.verbosity >= Verbosity::Verbose {
            self.say(text);
        }
    }

    /// A line on stderr. If stderr is closed there is nobody to tell.
    fn say(&self, text: &str) {
        self.bar
            .suspend(|| drop(writeln!(anstream::stderr(), "{text}")));
    }

    /// The head of the table.
    pub(super) fn header(&self) {
        self.line(&COLUMNS.map(|(head, _)| head.to_owned()));
    }

    /// The next point.
    pub(super) fn point(&self, index: usize, point: &Point) {
        let problem = &point.problem;
        self.bar.set_position(index as u64);
        self.bar.set_message(format!(
            "{} {} {} {}",
            name(problem.kernel, problem.pipe().id()),
            problem.variant,
            problem.size,
            cache(point.cache)
        ));
        self.bar
            .enable_steady_tick(std::time::Duration::from_millis(200));
    }

    /// The roofs of this run.
    pub(super) fn roofs(&self, roofs: &Roofs) {
        for note in &roofs.notes {
            self.notice(note);
        }
        for of_pipe in &roofs.pipes {
            self.roofs_of(of_pipe);
        }
    }

    /// The roofs of a pipe.
    fn roofs_of(&self, roofs: &PipeRoofs) {
        let pipe = roofs.pipe;
        if let Some((peak, source)) = &roofs.peak {
            self.detail(&format!(
                "{pipe} peaks ({source}): {}, {}, ridge {:.1} FLOP/byte",
                engineering(peak.peak_flop_per_s, pipe.rate_unit()),
                engineering(peak.peak_byte_per_s, "B/s"),
                peak.ridge()
            ));
        }
        let rate = |rate: Rate, show: &dyn Fn(f64) -> String| match rate.interval {
            Some(interval) => format!(
                "{} ({} to {})",
                show(rate.median),
                show(interval.low),
                show(interval.high)
            ),
            None => show(rate.median),
        };
        if let (Some(flops), Some(bytes), Some(ridge)) = (
            roofs.measured_flop_per_s,
            roofs.measured_byte_per_s,
            roofs.measured_ridge(),
        ) {
            self.detail(&format!(
                "{pipe} measured roofs: fma {}, triad {}, ridge {} FLOP/byte",
                rate(flops, &|value| engineering(value, pipe.rate_unit())),
                rate(bytes, &|value| engineering(value, "B/s")),
                rate(ridge, &|value| format!("{value:.2}"))
            ));
        }
    }

    /// The roofline of the rows, below the table, if a person is looking.
    pub(super) fn picture(&self) {
        if self.is_silent() || !std::io::stdout().is_terminal() {
            return;
        }
        /// Most lines: the table above should stay in sight.
        const TALLEST: usize = 24;
        let (width, height) = terminal::window();
        let height = height.min(TALLEST);
        let color = match anstream::ColorChoice::global() {
            anstream::ColorChoice::Never => Some(false),
            anstream::ColorChoice::Auto => None,
            _ => Some(true),
        };
        let (unicode, color) = (terminal::speaks_unicode(), terminal::wants_color(color));
        let picture = terminal::render(&self.rows, width, height, unicode, color);
        // As for a line: the rows are in the file.
        drop(write!(anstream::stdout(), "{picture}"));
    }

    /// What the rows say of the cycles of an FMA, below everything else.
    pub(super) fn cycles(&self, info: &DeviceInfo) {
        if self.is_silent() {
            return;
        }
        if let Some(text) = ilp::summary(&self.rows, info) {
            // As for a line: the rows are in the file.
            drop(write!(anstream::stdout(), "{text}"));
        }
    }

    /// Whether nothing of the table is shown.
    fn is_silent(&self) -> bool {
        self.silent || self.verbosity == Verbosity::Quiet
    }

    /// A finished row.
    pub(super) fn row(&mut self, row: &Row) {
        self.rows.push(row.clone());
        let unit = |value: Option<f64>, unit| value.map_or(String::new(), |v| engineering(v, unit));
        let percent =
            |value: Option<f64>| value.map_or(String::new(), |v| format!("{:.1} %", 100.0 * v));
        let size = match (row.m, row.k) {
            (Some(m), Some(k)) if m == row.n && k == row.n => m.to_string(),
            (Some(m), Some(k)) => format!("{m}x{}x{k}", row.n),
            (None, Some(fmas)) => format!("{}@{}", row.n, intensity::of(fmas)),
            _ => row.n.to_string(),
        };
        let size = match row.batch {
            0 | 1 => size,
            batch => format!("{size} *{batch}"),
        };
        let check = match row.status {
            Status::Ok if row.is_steady_state() => "ok, steady state".to_owned(),
            Status::Ok => "ok".to_owned(),
            Status::Skipped => format!("skipped: {}", row.reason.as_deref().unwrap_or_default()),
            Status::Failed => format!("FAILED: {}", row.reason.as_deref().unwrap_or_default()),
        };
        let no_flops = row.flops == Some(0);
        let kernel = KernelId::ALL.into_iter().find(|id| id.name() == row.kernel);
        self.line(&[
            kernel.map_or(row.kernel.clone(), |id| {
                name(id, row.pipe.as_deref().unwrap_or_default())
            }),
            row.variant.clone(),
            size,
            cache(row.cache).to_owned(),
            unit(row.time_median_s, "s"),
            percent(row.time_rel_noise),
            if no_flops {
                String::new()
            } else {
                unit(row.flop_per_s, "FLOP/s")
            },
            unit(row.byte_per_s, "B/s"),
            percent(row.fraction_of_roof),
            row.bound
                .map_or(String::new(), |bound| format!("{bound:?}").to_lowercase()),
            check,
        ]);
    }

    /// Removes the progress.
    pub(super) fn finish(&mut self) {
        self.bar.finish_and_clear();
    }

    /// One line of the table. A reader that has gone does not end the sweep: the rows go to the
    /// file.
    fn line(&self, cells: &[String; COLUMNS.len()]) {
        if self.is_silent() {
            return;
        }
        let mut text = String::new();
        for (cell, (_, width)) in cells.iter().zip(COLUMNS) {
            text.push_str(&format!("{cell:width$} "));
        }
        self.bar
            .suspend(|| drop(writeln!(anstream::stdout(), "{}", text.trim_end())));
    }
}

/// The kernel, and the pipe if it is not the kernel's own.
fn name(kernel: KernelId, pipe: &str) -> String {
    match pipe == kernel.kernel().pipe().id() {
        true => kernel.name().to_owned(),
        false => format!("{} {pipe}", kernel.name()),
    }
}

fn cache(cache: Cache) -> &'static str {
    match cache {
        Cache::Cold => "cold",
        Cache::Warm => "warm",
    }
}
