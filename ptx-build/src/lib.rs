//! Compiles `gpu-kernels` to PTX, checks it, and keeps the prebuilt copy fresh.
//!
//! | module | what it is for |
//! |---|---|
//! | [`source`] | the hash of the kernel sources and flags |
//! | [`compiler`] | finds a rustc that has the library sources |
//! | [`compile`] | calls it: `core` first, then the kernels, once a target |
//! | [`bounds`] | writes the launch bounds into the PTX |
//! | [`check`] | what PTX must hold before it is shipped |
//! | [`prebuilt`] | the copy for machines without such a compiler |
//!
//! The root `build.rs` calls [`provide`]; `cargo run -p ptx-build -- refresh` renews the
//! prebuilt copy.

pub mod bounds;
pub mod check;
pub mod compile;
pub mod compiler;
pub mod prebuilt;
pub mod source;

use std::path::{Path, PathBuf};

/// Names a compiler for the kernels, or `prebuilt` to use none.
pub const COMPILER_VARIABLE: &str = "ROOFTRACE_KERNEL_RUSTC";

/// Real architectures that PTX is made for, in the order the device tries them.
pub const TARGETS: &[&str] = &["sm_90a", "sm_80"];

/// Why there is no PTX.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or written.
    #[error("{what} {path}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The named or found compiler cannot compile the kernels.
    #[error("{0}")]
    Compiler(String),
    /// The compiler ran and failed.
    #[error("{command}\nfailed ({status}):\n{stderr}")]
    Compile {
        /// The command line.
        command: String,
        /// How it ended.
        status: String,
        /// What it said.
        stderr: String,
    },
    /// The PTX must not be shipped.
    #[error("the PTX for {target} is unusable: {reason}")]
    Unusable {
        /// Target it was made for.
        target: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The prebuilt PTX was made from other sources, and there is no compiler to renew it.
    #[error(
        "the prebuilt PTX in {dir} was made from other kernel sources ({found}) than those at \
         hand ({expected}), and no compiler for the kernels was found{tried}.\n\
         Fix it with these two commands:\n  {install}\n  cargo run -p ptx-build -- refresh"
    )]
    Stale {
        /// Folder of the prebuilt PTX.
        dir: PathBuf,
        /// Hash in the prebuilt header, or why there is none.
        found: String,
        /// Hash of the sources at hand.
        expected: String,
        /// Why the compilers that were found do not serve, empty if none was found.
        tried: String,
        /// How a compiler can be installed.
        install: &'static str,
    },
}

/// How a machine without a kernel compiler gets one.
pub const INSTALL_COMPILER: &str =
    "rustup component add rust-src   (or, on Debian: apt-get install rustc-web rust-web-src)";

impl Error {
    fn io(what: &'static str, path: &Path, source: std::io::Error) -> Self {
        Error::Io {
            what,
            path: path.to_owned(),
            source,
        }
    }
}

/// PTX ready to be embedded.
#[derive(Debug)]
pub struct Provided {
    /// Target and text, in the order of [`TARGETS`].
    pub ptx: Vec<(&'static str, String)>,
    /// `compiled` or `prebuilt`.
    pub origin: &'static str,
    /// Version line of the compiler that made the PTX.
    pub compiler: String,
    /// Hash of the kernel sources and flags.
    pub source_sha256: String,
    /// Why a compiler that was found was passed over; to be shown as build warnings.
    pub warnings: Vec<String>,
}

/// Compiles the kernels in `kernels` (the folder of the crate `gpu-kernels`), or takes the
/// prebuilt PTX if there is no compiler for them.
///
/// `rustc` is the compiler that runs the build; `work` is a folder for intermediate files,
/// where a compiled `core` is kept for the next time.
///
/// # Errors
/// A compiler named by [`COMPILER_VARIABLE`] that does not serve; PTX that fails
/// [`check::check`]; prebuilt PTX made from other sources.
pub fn provide(kernels: &Path, rustc: &Path, work: &Path) -> Result<Provided, Error> {
    let source_sha256 = source::sha256(kernels)?;
    let named = std::env::var(COMPILER_VARIABLE)
        .ok()
        .filter(|value| !value.is_empty());
    let mut warnings = Vec::new();
    match named.as_deref() {
        Some("prebuilt") => {}
        Some(path) => {
            let compiler = compiler::Compiler::probe(Path::new(path)).map_err(|reason| {
                Error::Compiler(format!(
                    "{COMPILER_VARIABLE}={path}: {reason}. It takes the path of a rustc whose \
                     library sources are installed, or `prebuilt`; install one with\n  \
                     {INSTALL_COMPILER}\nor unset it"
                ))
            })?;
            let ptx = compile::all(&compiler, kernels, work)?;
            let compiler = compiler.version;
            return Ok(Provided {
                ptx,
                origin: "compiled",
                compiler,
                source_sha256,
                warnings,
            });
        }
        None => {
            for compiler in compiler::candidates(rustc) {
                match compile::all(&compiler, kernels, work) {
                    Ok(ptx) => {
                        return Ok(Provided {
                            ptx,
                            origin: "compiled",
                            compiler: compiler.version,
                            source_sha256,
                            warnings,
                        });
                    }
                    Err(error) => {
                        let first = error.to_string();
                        warnings.push(format!(
                            "{} cannot compile the kernels: {}",
                            compiler.rustc.display(),
                            first
                                .lines()
                                .find(|l| l.contains("error"))
                                .unwrap_or(&first)
                        ));
                    }
                }
            }
        }
    }
    let dir = kernels.join("prebuilt");
    let prebuilt = prebuilt::read(&dir, &source_sha256, &warnings)?;
    Ok(Provided {
        ptx: prebuilt.ptx,
        origin: "prebuilt",
        compiler: prebuilt.compiler,
        source_sha256,
        warnings,
    })
}
