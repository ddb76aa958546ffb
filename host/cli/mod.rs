//! The command line: raw arguments become a validated plan before anything happens.
//!
//! One file per command. stdout carries data only; everything else goes to stderr.

pub mod compare;
pub mod completions;
pub mod count;
pub mod crossover;
pub mod devices;
pub mod doctor;
pub mod error;
pub mod intensity;
pub mod llm;
pub mod man;
mod nearest;
pub mod peaks;
pub mod plot;
pub mod render;
pub mod report;
pub mod ridge;
pub mod sweep;
pub mod verify;

use crate::device::cuda::Ptx;
use crate::device::{self, DeviceChoice, DeviceError, Opened};
use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use error::CliError;
use std::ffi::OsString;
use std::io::Write;

/// The program's arguments.
#[derive(Debug, Parser)]
#[command(
    name = "rooftrace",
    version,
    about = "Traces GPU kernels written in Rust onto the roofline: sweeps sizes, verifies every \
             result, measures, and writes CSV for papers",
    max_term_width = 100,
    after_help = "Exit codes: 0 done; 1 a check failed; 2 usage or bad input; 3 no usable device, \
                  driver or toolchain; 130 interrupted.\n\n\
                  Examples:\n  rooftrace sweep sgemm\n  rooftrace sweep all --quick --out rows.csv"
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// Say only what went wrong
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        help_heading = "Global options"
    )]
    pub quiet: bool,

    /// Say more: where the time went, what was decided
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub verbose: bool,

    /// Colour of the output; NO_COLOR is honoured
    #[arg(
        long,
        global = true,
        value_enum,
        default_value = "auto",
        value_name = "WHEN"
    )]
    pub color: Color,
}

impl Cli {
    /// Parses the program's arguments, the first of which is its name. Unlike
    /// [`Parser::try_parse_from`] it lets `--color` govern help and usage errors too.
    ///
    /// # Errors
    /// Help, the version, or what is wrong with the arguments, ready to be printed.
    pub fn from_args(args: &[OsString]) -> Result<Self, clap::Error> {
        let matches = Cli::command()
            .color(color_of(args))
            .try_get_matches_from(args)?;
        Cli::from_arg_matches(&matches)
    }
}

/// The value of `--color` in arguments that may be wrong otherwise.
fn color_of(args: &[OsString]) -> ColorChoice {
    let values = args.iter().zip(args.iter().skip(1).map(Some).chain([None]));
    let given = values.filter_map(|(arg, next)| match arg.to_str()? {
        "--color" => next.and_then(|next| next.to_str()),
        arg => arg.strip_prefix("--color="),
    });
    match given.last() {
        Some("always") => ColorChoice::Always,
        Some("never") => ColorChoice::Never,
        _ => ColorChoice::Auto,
    }
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant, reason = "one value a process")]
pub enum Command {
    /// Measure kernels over problem sizes, verify each result, write rows
    Sweep(sweep::SweepArgs),
    /// Check every kernel and variant over ragged sizes
    Verify(verify::VerifyArgs),
    /// Count FLOPs and bytes from the PTX that runs, and compare them with the model
    Count(count::CountArgs),
    /// Compare two files of rows point by point; exit code 1 on a real regression
    Compare(compare::CompareArgs),
    /// Peak rates of a GPU, derived factor by factor, and measured on a device
    Peaks(peaks::PeaksArgs),
    /// Ridge points of known GPUs
    Ridge(ridge::RidgeArgs),
    /// FLOPs, bytes and arithmetic intensity of a kernel
    Intensity(intensity::IntensityArgs),
    /// From which N a matrix product should be compute-bound, and whether it is
    Crossover(crossover::CrossoverArgs),
    /// Decode and prefill of a language model on a roofline
    Llm(llm::LlmArgs),
    /// Draw figures of measured rows
    Plot(plot::PlotArgs),
    /// Write a page with figures and tables of measured rows
    Report(report::ReportArgs),
    /// List the devices that can be measured
    Devices(devices::DevicesArgs),
    /// Show what is installed, what is missing, and how to fix it
    Doctor(doctor::DoctorArgs),
    /// Write completions for a shell
    Completions(completions::CompletionsArgs),
    /// Write manual pages
    Man(man::ManArgs),
}

/// How much to say on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Errors.
    Quiet,
    /// Notices and progress.
    Normal,
    /// The time budget and decisions as well.
    Verbose,
}

/// Runs a command.
///
/// # Errors
/// What ended it, with its exit code.
pub fn run(cli: &Cli) -> Result<(), CliError> {
    match cli.color {
        Color::Auto => anstream::ColorChoice::Auto,
        Color::Always => anstream::ColorChoice::Always,
        Color::Never => anstream::ColorChoice::Never,
    }
    .write_global();
    let verbosity = match (cli.quiet, cli.verbose) {
        (true, _) => Verbosity::Quiet,
        (_, true) => Verbosity::Verbose,
        _ => Verbosity::Normal,
    };
    let mut out = anstream::stdout();
    match &cli.command {
        Command::Sweep(args) => sweep::run(args, verbosity),
        Command::Verify(args) => verify::run(args, verbosity, &mut out),
        Command::Count(args) => count::run(args, &mut out),
        Command::Compare(args) => compare::run(args, verbosity, &mut out),
        Command::Peaks(args) => peaks::run(args, verbosity, &mut out),
        Command::Ridge(args) => table(ridge::run(args, &mut out), &mut out),
        Command::Intensity(args) => table(intensity::run(args, &mut out), &mut out),
        Command::Crossover(args) => crossover::run(args, verbosity, &mut out),
        Command::Llm(args) => table(llm::run(args, &mut out), &mut out),
        Command::Plot(args) => plot::run(args, &mut out, cli.color, verbosity),
        Command::Report(args) => report::run(args, &mut out, verbosity),
        Command::Completions(args) => completions::run(args, &mut out),
        Command::Man(args) => man::run(args, &mut out),
        Command::Devices(args) => devices::run(args, &mut out),
        Command::Doctor(args) => doctor::run(args, &mut out),
    }
}

/// Opens the device of `--device`; `ptx` replaces a GPU's embedded PTX.
///
/// # Errors
/// [`CliError::Unavailable`] names the device that was asked for and says what is missing.
fn open_device(choice: DeviceChoice, ptx: Option<Ptx>) -> Result<Opened, CliError> {
    device::open(choice, ptx).map_err(|error| match error {
        DeviceError::Unavailable(reason) if choice != DeviceChoice::Auto => {
            CliError::Unavailable(format!("--device {choice}: {reason}"))
        }
        error => error.into(),
    })
}

/// Adds, to what a device lacks, the reason why it is the CPU if none was named.
fn explained(error: CliError, opened: &Opened) -> CliError {
    match (error, &opened.fallback) {
        (CliError::Lacking(what), Some(reason)) => {
            CliError::Lacking(format!("{what}\nNo GPU was found: {reason}"))
        }
        (error, _) => error,
    }
}

/// The outcome of a command that computes and prints a table.
fn table<E>(outcome: Result<(), E>, out: &mut dyn Write) -> Result<(), CliError>
where
    CliError: From<E>,
{
    outcome?;
    Ok(out.flush()?)
}
