//! `verify --counters`: counted bytes and FLOPs against the hardware's counters.

use super::VerifyArgs;
use crate::cli::Verbosity;
use crate::cli::error::CliError;
use crate::cli::render::{Cell, Column, Format, Sheet};
use crate::counters::{self, Compared, Counted, Job, ncu};
use crate::device::cuda::CudaDevice;
use crate::device::{Device, DeviceChoice};
use crate::roofline::units::engineering;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

const COLUMNS: [Column; 19] = [
    ("kernel", Some("Kernel")),
    ("variant", Some("Variant")),
    ("size", Some("Size")),
    ("counted_read_bytes", Some("Read")),
    ("dram_read_bytes", None),
    ("dram_read_ratio", Some("DRAM")),
    ("counted_written_bytes", Some("Written")),
    ("l2_written_bytes", None),
    ("l2_written_ratio", Some("L2")),
    ("dram_written_bytes", None),
    ("dram_written_ratio", Some("DRAM")),
    ("counted_flops", Some("FLOPs")),
    ("fp32_flops", None),
    ("flops_ratio", Some("FP32 units")),
    ("tensor_flops", None),
    ("dram_fraction_of_peak", Some("DRAM peak")),
    ("sm_fraction_of_peak", Some("SM peak")),
    ("agrees", Some("Agrees")),
    ("reason", None),
];

/// Profiles one launch of each job in a process of its own, and sets counters beside counts.
///
/// # Errors
/// [`CliError::Unavailable`] without `ncu`, without a GPU or without leave to read counters;
/// [`CliError::Failed`] if a figure that is judged does not agree.
pub(super) fn run(
    args: &VerifyArgs,
    verbosity: Verbosity,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let ncu = find("ncu").ok_or_else(|| {
        CliError::Unavailable(
            "--counters needs Nsight Compute, and there is no `ncu` on the PATH: it comes with \
             the CUDA toolkit (its folder bin, or /opt/nvidia/nsight-compute)"
                .to_owned(),
        )
    })?;
    let launches = counted(args.device)?;
    if verbosity >= Verbosity::Normal {
        // If stderr is closed there is nobody to tell.
        let _ = writeln!(
            anstream::stderr(),
            "profiling {} launches with {}",
            launches.len(),
            ncu.display()
        );
    }
    let printed = profile(&ncu, args, &launches)?;
    let profiles = ncu::parse(&printed).map_err(|error| {
        CliError::Unavailable(format!(
            "{error}\nReading counters can need leave: run as root, or load the driver with \
             NVreg_RestrictProfilingToAdminUsers=0"
        ))
    })?;
    let compared = counters::compare(launches, &profiles).map_err(CliError::Unavailable)?;

    let mut sheet = Sheet::new(COLUMNS.to_vec());
    for line in &compared {
        sheet.push(row(line));
    }
    sheet.write(Format::Table, out)?;
    for line in &compared {
        for failure in &line.failures {
            writeln!(out, "FAILED {}: {failure}", line.job)?;
        }
    }
    writeln!(
        out,
        "Judged within {} %: FLOPs, and from 1 GiB an array on the bytes read from DRAM and written \
         to the L2. Of what a kernel writes, a part that the L2 holds need not have reached DRAM \
         when it ends.",
        100.0 * counters::TOLERANCE
    )?;
    out.flush()?;
    if let Some(path) = &args.out {
        save(&sheet, path)?;
    }
    match compared
        .iter()
        .filter(|line| !line.failures.is_empty())
        .count()
    {
        0 => Ok(()),
        count => Err(CliError::Failed(format!(
            "{count} of {} launches disagree with the counters",
            compared.len()
        ))),
    }
}

/// Runs the launches named by `--once`, each once: what `ncu` profiles.
///
/// # Errors
/// A launch that is none; the device's error.
pub(super) fn once(args: &VerifyArgs) -> Result<(), CliError> {
    let jobs: Vec<Job> = args
        .once
        .iter()
        .map(|text| text.parse())
        .collect::<Result<_, _>>()
        .map_err(|error: String| CliError::Usage(format!("--once: {error}")))?;
    let mut device = open(args.device)?;
    for job in jobs {
        job.run(&mut device, args.seed)?;
    }
    Ok(())
}

/// The launches that fit, and what is counted for them. The device is closed again, so that its
/// memory is free for the process that is profiled.
fn counted(choice: DeviceChoice) -> Result<Vec<(Job, Counted)>, CliError> {
    let device = open(choice)?;
    let mut launches = Vec::new();
    for job in counters::jobs() {
        if !job.fits(device.info()) {
            continue;
        }
        let counted = job.counted(device.info())?;
        launches.push((job, counted));
    }
    Ok(launches)
}

/// The GPU that is meant.
fn open(choice: DeviceChoice) -> Result<CudaDevice, CliError> {
    let index = match choice {
        DeviceChoice::Cpu | DeviceChoice::Vm(_) => {
            return Err(CliError::Unavailable(format!(
                "--counters needs a GPU: leave --device {choice} out"
            )));
        }
        DeviceChoice::Auto => 0,
        DeviceChoice::Cuda(index) => index,
    };
    Ok(CudaDevice::open(index, None)?)
}

/// What `ncu` prints about the launches.
fn profile(ncu: &Path, args: &VerifyArgs, launches: &[(Job, Counted)]) -> Result<String, CliError> {
    let program = std::env::current_exe()
        .map_err(|error| CliError::Unavailable(format!("this program is not found: {error}")))?;
    let mut entries: Vec<&str> = launches.iter().map(|(_, counted)| counted.entry).collect();
    entries.sort_unstable();
    entries.dedup();
    let device = match args.device {
        DeviceChoice::Auto => DeviceChoice::Cuda(0),
        device => device,
    };
    let output = Command::new(ncu)
        .args(counters::ncu_arguments(&entries))
        .arg(program)
        .args(["verify", "--device", &device.to_string()])
        .args(["--seed", &args.seed.to_string()])
        .args(launches.iter().flat_map(|(job, _)| {
            let once = "--once".to_owned();
            [once, job.to_string()]
        }))
        // Points and commas in the numbers, whatever the user's language.
        .env("LC_ALL", "C")
        .output()
        .map_err(|error| {
            CliError::Unavailable(format!("`{}` does not start: {error}", ncu.display()))
        })?;
    // It reports its own errors on stdout, the program's come on stderr.
    let mut printed = String::from_utf8_lossy(&output.stdout).into_owned();
    printed.push('\n');
    printed.push_str(&String::from_utf8_lossy(&output.stderr));
    Ok(printed)
}

/// A program on the PATH.
fn find(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// The cells of a launch.
fn row(line: &Compared) -> Vec<Cell> {
    let counted = &line.counted;
    let bytes = |bytes: u64| Cell::whole(bytes, engineering(bytes as f64, "B"));
    let number = |value: Option<f64>| {
        Cell::maybe(value, |value| Cell::number(value, engineering(value, "")))
    };
    let ratio = |counter: Option<f64>, counted: u64| {
        let ratio = counter.filter(|_| counted > 0).map(|c| c / counted as f64);
        Cell::maybe(ratio, |ratio| {
            Cell::number(ratio, format!("{:.2} %", 100.0 * ratio))
        })
    };
    let fraction = |value: Option<f64>| {
        Cell::maybe(value, |value| {
            Cell::number(value, format!("{:.1} %", 100.0 * value))
        })
    };
    vec![
        Cell::text(line.job.kernel.name()),
        Cell::text(line.job.variant),
        Cell::text(line.job.size.to_string()),
        bytes(counted.read),
        number(line.dram_read),
        ratio(line.dram_read, counted.read),
        bytes(counted.written),
        number(line.l2_written),
        ratio(line.l2_written, counted.written),
        number(line.dram_written),
        ratio(line.dram_written, counted.written),
        Cell::whole(counted.flops, engineering(counted.flops as f64, "")),
        number(line.fp32_flops),
        ratio(line.fp32_flops, counted.flops),
        number(line.tensor_flops),
        fraction(line.dram_fraction),
        fraction(line.sm_fraction),
        Cell::flag(line.failures.is_empty()),
        Cell::maybe(
            (!line.failures.is_empty()).then(|| line.failures.join("; ")),
            Cell::text,
        ),
    ]
}

/// Writes the report: JSON if the name of the file ends so, else CSV.
fn save(sheet: &Sheet, path: &Path) -> Result<(), CliError> {
    let format = match path.extension() {
        Some(extension) if extension.eq_ignore_ascii_case("json") => Format::Json,
        _ => Format::Csv,
    };
    let write = || {
        let mut file = BufWriter::new(File::create(path)?);
        sheet.write(format, &mut file)?;
        file.flush()
    };
    write().map_err(|error: std::io::Error| {
        CliError::Usage(format!("--out: cannot write `{}`: {error}", path.display()))
    })
}
