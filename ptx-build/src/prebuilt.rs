//! PTX kept in `gpu-kernels/prebuilt/` for machines without a compiler for the kernels.
//!
//! Each file opens with comment lines: the hash of the sources it was made from, which can be
//! checked without a compiler, and, for information, the compiler that made it.

use crate::{Error, INSTALL_COMPILER, TARGETS, check};
use gpu_kernels::params::Entry;
use std::path::{Path, PathBuf};

const SOURCE_KEY: &str = "// source-sha256: ";
const COMPILER_KEY: &str = "// compiler: ";

/// Prebuilt PTX that belongs to the sources at hand.
#[derive(Debug)]
pub struct Prebuilt {
    /// Target and text, in the order of [`TARGETS`].
    pub ptx: Vec<(&'static str, String)>,
    /// Version line of the compiler that made it.
    pub compiler: String,
}

/// File of `target` in `dir`.
pub fn path(dir: &Path, target: &str) -> PathBuf {
    dir.join(format!("{target}.ptx"))
}

/// Reads the PTX of every target, if it was made from sources with the hash `expected`.
///
/// `tried` says why compilers that were found do not serve.
///
/// # Errors
/// [`Error::Stale`] if a file is missing or was made from other sources; [`Error::Unusable`]
/// if it fails [`check::check`].
pub fn read(dir: &Path, expected: &str, tried: &[String]) -> Result<Prebuilt, Error> {
    let mut prebuilt = Prebuilt {
        ptx: Vec::new(),
        compiler: String::new(),
    };
    for &target in TARGETS {
        let text = std::fs::read_to_string(path(dir, target)).unwrap_or_default();
        let (header, body) = split(&text);
        let value = |key: &str| header.lines().find_map(|line| line.strip_prefix(key));
        let found = value(SOURCE_KEY);
        if found != Some(expected) {
            return Err(Error::Stale {
                dir: dir.to_owned(),
                found: found.map_or_else(|| format!("no {target}.ptx"), short),
                expected: short(expected),
                tried: tried.iter().map(|reason| format!("\n  {reason}")).collect(),
                install: INSTALL_COMPILER,
            });
        }
        let entries: Vec<Entry> = Entry::of(target).copied().collect();
        check::check(body, target, &entries).map_err(|reason| Error::Unusable {
            target: target.to_owned(),
            reason,
        })?;
        prebuilt.compiler = value(COMPILER_KEY).unwrap_or_default().to_owned();
        prebuilt.ptx.push((target, body.to_owned()));
    }
    Ok(prebuilt)
}

/// Writes the PTX of every target with its header.
///
/// # Errors
/// A file that cannot be written.
pub fn write(
    dir: &Path,
    sha256: &str,
    compiler: &str,
    ptx: &[(&str, String)],
) -> Result<(), Error> {
    std::fs::create_dir_all(dir).map_err(|e| Error::io("creating", dir, e))?;
    for (target, body) in ptx {
        let file = path(dir, target);
        let text = format!(
            "// PTX of gpu-kernels for {target}; renew with `cargo run -p ptx-build -- refresh`\n\
             {SOURCE_KEY}{sha256}\n{COMPILER_KEY}{compiler}\n\n{body}"
        );
        std::fs::write(&file, text).map_err(|e| Error::io("writing", &file, e))?;
    }
    Ok(())
}

/// Header and PTX: the header ends at the first empty line.
fn split(text: &str) -> (&str, &str) {
    text.split_once("\n\n").unwrap_or((text, ""))
}

/// The first digits of a hash, enough to tell two apart.
fn short(hash: &str) -> String {
    hash.chars().take(12).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shipped() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../gpu-kernels")
    }

    #[test]
    fn the_shipped_ptx_belongs_to_the_sources() {
        let hash = crate::source::sha256(&shipped()).unwrap();
        let prebuilt = read(&shipped().join("prebuilt"), &hash, &[]).unwrap();
        assert_eq!(prebuilt.ptx.len(), TARGETS.len());
        assert!(
            prebuilt.compiler.starts_with("rustc "),
            "{}",
            prebuilt.compiler
        );
    }

    #[test]
    fn other_sources_stop_with_the_two_commands() {
        let error = read(&shipped().join("prebuilt"), "0000", &[])
            .unwrap_err()
            .to_string();
        assert!(error.contains("rust-src"), "{error}");
        assert!(
            error.contains("cargo run -p ptx-build -- refresh"),
            "{error}"
        );
    }

    #[test]
    fn what_is_written_is_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let hash = crate::source::sha256(&shipped()).unwrap();
        let original = read(&shipped().join("prebuilt"), &hash, &[]).unwrap();
        write(dir.path(), "abcd", "rustc 9", &original.ptx).unwrap();
        let again = read(dir.path(), "abcd", &[]).unwrap();
        assert_eq!(again.ptx, original.ptx);
        assert_eq!(again.compiler, "rustc 9");
    }
}
