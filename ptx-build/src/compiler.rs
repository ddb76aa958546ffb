//! Finds a rustc that can compile for `nvptx64-nvidia-cuda`: one whose library sources are
//! installed, because the target has no prebuilt `core`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A rustc with its library sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiler {
    /// Path of the program.
    pub rustc: PathBuf,
    /// First line of `rustc --version`.
    pub version: String,
    /// The folder `library` of its sources.
    pub library: PathBuf,
}

impl Compiler {
    /// Asks `rustc` for its version and sysroot, and looks for the sources in the places where
    /// rustup and Debian put them.
    ///
    /// # Errors
    /// Says what is missing, to be put behind the name of the program.
    pub fn probe(rustc: &Path) -> Result<Self, String> {
        let version = ask(rustc, &["--version"])?;
        let sysroot = PathBuf::from(ask(rustc, &["--print", "sysroot"])?);
        let release = version.split_whitespace().nth(1).unwrap_or_default();
        let places = [
            sysroot.join("lib/rustlib/src/rust/library"),
            PathBuf::from(format!("/usr/src/rustc-{release}/library")),
        ];
        let library = places
            .iter()
            .find(|place| place.join("core/src/lib.rs").is_file());
        match library {
            Some(library) => Ok(Compiler {
                rustc: rustc.to_owned(),
                version,
                library: library.clone(),
            }),
            None => Err(format!(
                "the sources of its library are not in {}",
                places.map(|place| place.display().to_string()).join(" or ")
            )),
        }
    }
}

/// Runs `rustc` and returns its trimmed standard output.
fn ask(rustc: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(rustc)
        .args(arguments)
        .output()
        .map_err(|error| format!("it cannot be run ({error})"))?;
    if !output.status.success() {
        return Err(format!(
            "`{} {}` failed",
            rustc.display(),
            arguments.join(" ")
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Compilers in the order they are tried: the one that runs the build, those of other rustup
/// toolchains, Debian's.
pub fn candidates(rustc: &Path) -> Vec<Compiler> {
    let mut found: Vec<Compiler> = Vec::new();
    let toolchains = rustup_toolchains();
    for rustc in [rustc.to_owned()]
        .into_iter()
        .chain(toolchains)
        .chain([PathBuf::from("/usr/bin/rustc")])
    {
        if let Ok(compiler) = Compiler::probe(&rustc)
            && !found.iter().any(|known| known.library == compiler.library)
        {
            found.push(compiler);
        }
    }
    found
}

/// `bin/rustc` of every installed rustup toolchain.
fn rustup_toolchains() -> Vec<PathBuf> {
    let home = std::env::var_os("RUSTUP_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".rustup")));
    let Some(entries) = home.and_then(|home| std::fs::read_dir(home.join("toolchains")).ok())
    else {
        return Vec::new();
    };
    let mut rustcs: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path().join("bin/rustc")))
        .filter(|rustc| rustc.is_file())
        .collect();
    rustcs.sort();
    rustcs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_no_compiler_is_refused_with_the_reason() {
        let missing = Compiler::probe(Path::new("/no/such/rustc")).unwrap_err();
        assert!(missing.contains("cannot be run"), "{missing}");
        let not_rustc = Compiler::probe(Path::new("/bin/false")).unwrap_err();
        assert!(not_rustc.contains("failed"), "{not_rustc}");
        let no_sources = Compiler::probe(Path::new("/bin/echo")).unwrap_err();
        assert!(no_sources.contains("sources"), "{no_sources}");
    }
}
