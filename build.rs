//! Compiles `gpu-kernels` to PTX (or takes the prebuilt copy) and embeds it.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let rustc = PathBuf::from(std::env::var("RUSTC")?);
    // Everything tracked that the program is made of: the commit is marked when any differs.
    for path in [
        "build.rs",
        "Cargo.toml",
        "Cargo.lock",
        "gpu-kernels",
        "host",
        "ptx-build",
    ] {
        println!("cargo::rerun-if-changed={path}");
    }
    println!(
        "cargo::rerun-if-env-changed={}",
        ptx_build::COMPILER_VARIABLE
    );

    let provided = match ptx_build::provide(&root.join("gpu-kernels"), &rustc, &out) {
        Ok(provided) => provided,
        Err(error) => {
            // One line of the message at a time: cargo shows these without its own preamble.
            for line in error.to_string().lines() {
                println!("cargo::error={line}");
            }
            return Ok(());
        }
    };
    for warning in &provided.warnings {
        println!("cargo::warning={warning}");
    }
    for (target, text) in &provided.ptx {
        std::fs::write(out.join(format!("{target}.ptx")), text)?;
    }
    println!("cargo::rustc-env=ROOFTRACE_PTX_ORIGIN={}", provided.origin);
    println!(
        "cargo::rustc-env=ROOFTRACE_PTX_COMPILER={}",
        provided.compiler
    );
    println!(
        "cargo::rustc-env=ROOFTRACE_PTX_SOURCE_SHA256={}",
        provided.source_sha256
    );
    println!(
        "cargo::rustc-env=ROOFTRACE_GIT_COMMIT={}",
        git_commit(&root).unwrap_or_default()
    );
    Ok(())
}

/// The commit of the sources, with `-dirty` if tracked files differ; none outside a checkout.
fn git_commit(root: &Path) -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .current_dir(root)
            .args(arguments)
            .output()
            .ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    // HEAD's log grows with every commit and checkout.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    if root.join(&log).exists() {
        println!("cargo::rerun-if-changed={log}");
    }
    let commit = git(&["rev-parse", "HEAD"])?;
    let changed = git(&[
        "status",
        "--porcelain",
        "--untracked-files=no",
        "--",
        ".",
        ":!results",
    ])?;
    Some(if changed.is_empty() {
        commit
    } else {
        format!("{commit}-dirty")
    })
}
