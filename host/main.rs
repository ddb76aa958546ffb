//! The `rooftrace` program: parse, run, map the error to an exit code. The only place that exits.

use clap::builder::Styles;
use rooftrace::cli::{self, Cli};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    let cli = match Cli::from_args(&args) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors; a reader that has gone is none either.
            let code = if error.use_stderr() { 2 } else { 0 };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    match cli::run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !error.is_silent() {
                // Nothing is left to report to if stderr is closed.
                let styles = Styles::styled();
                let style = styles.get_error();
                let _ = writeln!(anstream::stderr(), "{style}error:{style:#} {error}");
            }
            ExitCode::from(error.code())
        }
    }
}
