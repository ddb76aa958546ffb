//! `cargo run -p ptx-build -- refresh | check`: renews or checks the prebuilt PTX.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program's output"
)]

use ptx_build::{Error, prebuilt, provide, source};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo run -p ptx-build -- refresh|check
  refresh  compile gpu-kernels and write gpu-kernels/prebuilt/
  check    compile gpu-kernels, and fail if gpu-kernels/prebuilt/ was made from other sources";

fn main() -> ExitCode {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gpu-kernels");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["refresh"] => refresh(&kernels),
        ["check"] => check(&kernels),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(3)
        }
    }
}

/// Compiles the kernels, never taking the prebuilt copy.
fn compiled(kernels: &Path) -> Result<ptx_build::Provided, Error> {
    let work = std::env::temp_dir().join(format!("rooftrace-ptx-{}", std::process::id()));
    let rustc = std::env::var_os("RUSTC").map_or_else(|| PathBuf::from("rustc"), PathBuf::from);
    let provided = provide(kernels, &rustc, &work);
    // Intermediate files only: what matters has been read or reported.
    let _ = std::fs::remove_dir_all(&work);
    let provided = provided?;
    if provided.origin != "compiled" {
        return Err(Error::Compiler(format!(
            "no compiler for the kernels was found; install one with\n  {}{}",
            ptx_build::INSTALL_COMPILER,
            provided
                .warnings
                .iter()
                .map(|reason| format!("\n  {reason}"))
                .collect::<String>()
        )));
    }
    Ok(provided)
}

fn refresh(kernels: &Path) -> Result<(), Error> {
    // A stale copy must not stop the command that renews it: the error of a missing compiler
    // is the only one that `compiled` can then return.
    let provided = compiled(kernels)?;
    let dir = kernels.join("prebuilt");
    prebuilt::write(
        &dir,
        &provided.source_sha256,
        &provided.compiler,
        &provided.ptx,
    )?;
    println!("wrote {} ({})", dir.display(), provided.compiler);
    Ok(())
}

fn check(kernels: &Path) -> Result<(), Error> {
    let provided = compiled(kernels)?;
    prebuilt::read(&kernels.join("prebuilt"), &source::sha256(kernels)?, &[])?;
    println!(
        "prebuilt PTX is of these sources; they compile with {}",
        provided.compiler
    );
    Ok(())
}
