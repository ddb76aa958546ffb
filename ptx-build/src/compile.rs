//! Calls rustc: for `core` and `compiler_builtins` (metadata only), then for the kernels.
//!
//! rustc is called directly, not through a nested cargo: no network, no flags of the user's
//! build, no wrapper. Nothing is linked: functions of `core` that are used must be inlined,
//! and [`crate::check`] fails on any that is not.

use crate::compiler::Compiler;
use crate::{Error, TARGETS, bounds, check};
use gpu_kernels::params::Entry;
use std::path::Path;
use std::process::Command;

/// Flags of the kernel crate, for every target.
///
/// JumpThreading is off because in rustc 1.96 it can duplicate a barrier into divergent
/// branches (rust-lang/rust issue 137086). The unroll threshold lets k tiles be written as
/// plain loops with constant bounds.
pub const FLAGS: &[&str] = &[
    "--crate-name=gpu_kernels",
    "--crate-type=rlib",
    "--edition=2024",
    "--target=nvptx64-nvidia-cuda",
    "--emit=asm",
    "-Cpanic=abort",
    "-Copt-level=3",
    "-Ccodegen-units=1",
    "-Zmir-enable-passes=-JumpThreading",
    "-Cllvm-args=-unroll-threshold=20000",
];

/// PTX of every target of [`TARGETS`], with launch bounds, checked.
///
/// # Errors
/// rustc fails, or the PTX fails [`check::check`].
pub fn all(
    compiler: &Compiler,
    kernels: &Path,
    work: &Path,
) -> Result<Vec<(&'static str, String)>, Error> {
    let core = core_metadata(compiler, work)?;
    let mut ptx = Vec::new();
    for &target in TARGETS {
        let output = work.join(format!("{target}.s"));
        run(Command::new(&compiler.rustc)
            .env("RUSTC_BOOTSTRAP", "1")
            .args(FLAGS)
            .arg(format!("-Ctarget-cpu={target}"))
            .arg(format!("--cfg={target}"))
            .arg("-L")
            .arg(&core)
            .arg("--extern")
            .arg(format!("core={}", core.join("libcore.rmeta").display()))
            .arg("-o")
            .arg(&output)
            .arg(kernels.join("src/lib.rs")))?;
        let text =
            std::fs::read_to_string(&output).map_err(|e| Error::io("reading", &output, e))?;
        let entries: Vec<_> = Entry::of(target).copied().collect();
        let text = bounds::inject(&text, &entries)
            .and_then(|text| {
                check::check(&text, target, &entries)?;
                Ok(text)
            })
            .map_err(|reason| Error::Unusable {
                target: target.to_owned(),
                reason,
            })?;
        ptx.push((target, text));
    }
    Ok(ptx)
}

/// Folder with the metadata of `core` and `compiler_builtins` for the target, compiled on the
/// first call (about ten seconds) and kept below `work` for each compiler.
fn core_metadata(compiler: &Compiler, work: &Path) -> Result<std::path::PathBuf, Error> {
    let version: String = compiler
        .version
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let dir = work.join(format!("core-{version}"));
    let complete = dir.join("complete");
    if complete.is_file() {
        return Ok(dir);
    }
    std::fs::create_dir_all(&dir).map_err(|e| Error::io("creating", &dir, e))?;
    let library = |name: &str, source: &str, extra: &[String]| {
        run(Command::new(&compiler.rustc)
            .env("RUSTC_BOOTSTRAP", "1")
            .args([
                "--crate-type=rlib",
                "--edition=2024",
                "--target=nvptx64-nvidia-cuda",
                "--emit=metadata",
                "-Cpanic=abort",
                "-Copt-level=3",
                // Without code for `core`, its MIR is all there is to inline from.
                "-Zalways-encode-mir",
                "-Zforce-unstable-if-unmarked",
                "--cap-lints=allow",
            ])
            .arg(format!("--crate-name={name}"))
            .args(extra)
            .arg("-o")
            .arg(dir.join(format!("lib{name}.rmeta")))
            .arg(compiler.library.join(source)))
    };
    library("core", "core/src/lib.rs", &[])?;
    library(
        "compiler_builtins",
        "compiler-builtins/compiler-builtins/src/lib.rs",
        &[
            "--cfg=feature=\"compiler-builtins\"".to_owned(),
            "--extern".to_owned(),
            format!("core={}", dir.join("libcore.rmeta").display()),
        ],
    )?;
    std::fs::write(&complete, "").map_err(|e| Error::io("writing", &complete, e))?;
    Ok(dir)
}

/// Runs `command` to its end.
fn run(command: &mut Command) -> Result<(), Error> {
    let shown = format!("{command:?}");
    let output = command
        .output()
        .map_err(|error| Error::Compiler(format!("{shown}: cannot be run ({error})")))?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::Compile {
        command: shown,
        status: output.status.to_string(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}
