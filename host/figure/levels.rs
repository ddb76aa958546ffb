//! The levels of the memory that a figure has roofs of.

use super::error::FigureError;
use super::roofs::{self, Limit, Origin, Roof};
use super::select;
use crate::record::{Cache, Row};
use crate::roofline::units::{binary_bytes, engineering};
use crate::roofline::{Database, Gpu};

/// A level of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Level {
    /// The device memory
    Dram,
    /// The cache that all multiprocessors share
    L2,
}

impl Level {
    /// What labels call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Level::Dram => "DRAM",
            Level::L2 => "L2",
        }
    }
}

/// The roofs of the rows: those of the memory for each of `levels`, and those of the pipes.
///
/// Without `levels` that is the device memory, and the L2 of a device of which rows were measured
/// warm: they can lie above the roof of its memory.
///
/// # Errors
/// [`FigureError::NoLevel`] for a level that is asked for and has no roof, of any device.
pub fn roofs(rows: &[&Row], levels: Option<&[Level]>) -> Result<Vec<Roof>, FigureError> {
    let mut roofs = roofs::roofs(rows);
    let asked = |level| levels.is_some_and(|levels| levels.contains(&level));
    let looked_at = rows.iter().copied().filter(|row| match levels {
        Some(_) => asked(Level::L2),
        None => row.cache == Cache::Warm,
    });
    let found = l2(rows, &roofs, &select::devices(looked_at))?;
    if asked(Level::L2) && found.is_empty() {
        return Err(no_l2(rows)?);
    }
    if levels.is_some() && !asked(Level::Dram) {
        roofs.retain(|roof| roof.limit != Limit::Memory(Level::Dram));
    }
    roofs.extend(found);
    Ok(roofs)
}

/// The roofs of the L2 of these devices: from the datasheet, and measured.
///
/// A launch of as few bytes as fit takes so little time that its beginning and end count. A rate that
/// is not even above the `roofs` of the device memory says nothing of the L2, and makes no roof.
fn l2(rows: &[&Row], roofs: &[Roof], devices: &[&str]) -> Result<Vec<Roof>, FigureError> {
    let mut found = Vec::new();
    if devices.is_empty() {
        return Ok(found);
    }
    let database = Database::builtin()?;
    for &device in devices {
        let Some(gpu) = database.find_by_driver_name(device) else {
            continue;
        };
        let of_memory = roofs
            .iter()
            .filter(|roof| roof.is_of_memory() && roof.device == device)
            .map(|roof| roof.rate)
            .fold(0.0, f64::max);
        let known = gpu.l2_read_peak().map(|peak| vec![peak.value]);
        let mut measured = best_of_runs(rows, device, gpu);
        measured.retain(|rate| *rate > of_memory);
        for (origin, rates) in [
            (Origin::Known("datasheet"), known.unwrap_or_default()),
            (Origin::Measured, measured),
        ] {
            if !rates.is_empty() {
                found.push(Roof::of_rates(
                    Limit::Memory(Level::L2),
                    origin,
                    device,
                    rates,
                ));
            }
        }
    }
    Ok(found)
}

/// The highest rate of each run at which a stream came from the L2, byte/s.
fn best_of_runs(rows: &[&Row], device: &str, gpu: &Gpu) -> Vec<f64> {
    let mut best: Vec<(&str, f64)> = Vec::new();
    for row in rows
        .iter()
        .filter(|row| row.device == device && stays(row, gpu))
    {
        let Some(rate) = row.byte_per_s else { continue };
        match best.iter_mut().find(|(run, _)| *run == row.run_id) {
            Some((_, highest)) => *highest = highest.max(rate),
            None => best.push((&row.run_id, rate)),
        }
    }
    best.into_iter().map(|(_, rate)| rate).collect()
}

/// Kernels that move bytes and do next to nothing else.
const STREAMS: [&str; 3] = ["copy", "saxpy", "triad"];

/// Whether all that a row's launches touch stays in the L2 from one to the next. What they touch is
/// at most what they move.
fn stays(row: &Row, gpu: &Gpu) -> bool {
    let fits = row
        .bytes
        .zip(gpu.l2_bytes)
        .is_some_and(|(bytes, cache)| bytes <= cache);
    row.cache == Cache::Warm && STREAMS.contains(&row.kernel.as_str()) && fits
}

/// How the roof of the L2 came about, for the note under a figure; nothing without one.
pub(super) fn note(roofs: &[Roof]) -> String {
    let l2 = || {
        roofs
            .iter()
            .filter(|roof| roof.limit == Limit::Memory(Level::L2))
    };
    let mut note = String::new();
    if l2().any(Roof::is_measured) {
        note.push_str(" L2: the fastest stream measured warm that fits in it.");
    }
    if l2().any(|roof| !roof.is_measured()) {
        note.push_str(" The datasheet's L2 is of reads.");
    }
    note
}

/// Why there is no roof of the L2.
fn no_l2(rows: &[&Row]) -> Result<FigureError, FigureError> {
    let database = Database::builtin()?;
    let of_devices = select::devices(rows.iter().copied())
        .into_iter()
        .map(|device| {
            let gpu = database.find_by_driver_name(device);
            let Some((gpu, bytes)) = gpu.and_then(|gpu| Some((gpu, gpu.l2_bytes?))) else {
                return format!("how large the L2 of {device} is, the database of GPUs does not say");
            };
            let best = best_of_runs(rows, device, gpu).into_iter().fold(0.0, f64::max);
            let (streams, bytes) = (STREAMS.join(", "), binary_bytes(bytes));
            if best > 0.0 {
                format!(
                    "of the warm rows of {streams} on {device} that move at most the {bytes} of its \
                     L2 the fastest, at {}, is not above the roof of the memory: the launch itself \
                     limits it",
                    engineering(best, "B/s")
                )
            } else {
                format!(
                    "no row of {streams} on {device} was measured warm and moves at most the {bytes} \
                     of its L2"
                )
            }
        });
    Ok(FigureError::NoLevel {
        level: "l2",
        why: of_devices.collect::<Vec<_>>().join("; "),
        remedy: "measure some with `rooftrace sweep copy --cache warm --sizes 1Mi..4Mi`, or leave \
                 out l2",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: &str = "NVIDIA H200";

    fn copy(run: &str, cache: Cache, bytes: u64, rate: f64) -> Row {
        Row {
            run_id: run.to_owned(),
            device: DEVICE.to_owned(),
            kernel: "copy".to_owned(),
            n: bytes / 8,
            cache,
            bytes: Some(bytes),
            byte_per_s: Some(rate),
            peak_byte_per_s: Some(4.8e12),
            ..Row::default()
        }
    }

    fn roofs_of(rows: &[Row], levels: Option<&[Level]>) -> Result<Vec<Roof>, FigureError> {
        roofs(&rows.iter().collect::<Vec<_>>(), levels)
    }

    fn of_l2(roofs: &[Roof]) -> Vec<&Roof> {
        roofs
            .iter()
            .filter(|roof| roof.limit == Limit::Memory(Level::L2))
            .collect()
    }

    #[test]
    fn the_fastest_warm_stream_that_fits_is_the_roof_of_the_l2_and_runs_are_its_range() {
        let mib = |n: u64| n << 20;
        let rows = [
            copy("a", Cache::Warm, mib(8), 4.0e12),
            copy("a", Cache::Warm, mib(32), 6.0e12),
            copy("b", Cache::Warm, mib(60), 6.2e12),
            copy("c", Cache::Warm, mib(32), 5.9e12),
            // These did not come from the L2.
            copy("a", Cache::Warm, mib(61), 7.0e12),
            copy("a", Cache::Cold, mib(32), 8.0e12),
            Row {
                kernel: "sgemm".to_owned(),
                ..copy("a", Cache::Warm, mib(1), 9.0e12)
            },
        ];
        let roofs = roofs_of(&rows, None).unwrap();
        let [l2] = of_l2(&roofs)[..] else {
            panic!("{roofs:?}");
        };
        assert!(l2.is_measured());
        assert_eq!((l2.rate, l2.range), (6.0e12, (5.9e12, 6.2e12)));
    }

    #[test]
    fn without_warm_rows_there_is_only_the_device_memory() {
        let rows = [copy("a", Cache::Cold, 1 << 20, 4e12)];
        assert!(of_l2(&roofs_of(&rows, None).unwrap()).is_empty());
        let error = roofs_of(&rows, Some(&[Level::Dram, Level::L2])).unwrap_err();
        assert!(
            error.to_string().contains(
                "no row of copy, saxpy, triad on NVIDIA H200 was measured warm and moves at most \
                 the 60 MiB of its L2"
            ),
            "{error}"
        );
    }

    #[test]
    fn a_warm_rate_below_the_memorys_is_no_roof() {
        let rows = [copy("a", Cache::Warm, 1 << 20, 0.3e12)];
        assert!(of_l2(&roofs_of(&rows, None).unwrap()).is_empty());
        let error = roofs_of(&rows, Some(&[Level::L2])).unwrap_err().to_string();
        assert!(
            error.contains("at 300 GB/s, is not above the roof of the memory"),
            "{error}"
        );
    }

    #[test]
    fn levels_that_are_not_asked_for_have_no_roof() {
        let rows = [copy("a", Cache::Warm, 1 << 20, 6e12)];
        let limits = |levels: &[Level]| -> Vec<Limit> {
            let roofs = roofs_of(&rows, Some(levels)).unwrap();
            roofs.into_iter().map(|roof| roof.limit).collect()
        };
        assert_eq!(limits(&[Level::Dram]), [Limit::Memory(Level::Dram)]);
        assert_eq!(limits(&[Level::L2]), [Limit::Memory(Level::L2)]);
    }

    #[test]
    fn the_datasheets_l2_needs_no_row() {
        let row = Row {
            device: "NVIDIA A100-SXM4-80GB".to_owned(),
            ..copy("a", Cache::Cold, 1 << 20, 1.5e12)
        };
        let roofs = roofs_of(&[row], Some(&[Level::L2])).unwrap();
        assert_eq!(roofs[0].label(), "L2 7.219 TB/s datasheet");
        assert!(note(&roofs).contains("of reads"));
    }

    #[test]
    fn a_device_of_unknown_caches_has_no_l2() {
        let row = Row {
            device: "A CPU".to_owned(),
            ..copy("a", Cache::Warm, 1 << 20, 1e11)
        };
        assert!(of_l2(&roofs_of(std::slice::from_ref(&row), None).unwrap()).is_empty());
        let error = roofs_of(&[row], Some(&[Level::L2]))
            .unwrap_err()
            .to_string();
        assert!(error.contains("how large the L2 of A CPU is"), "{error}");
    }
}
