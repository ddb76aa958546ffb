//! The program as its users meet it: exit codes, messages, files, signals. Every sweep here is
//! a real one, on the CPU.

mod bad_input;
#[path = "../figure/crossing.rs"]
mod crossing;
mod crossover;
// Devices that are always full, small file systems and signals, as Linux has them.
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod interrupted;
mod output;
mod peaks;
mod resuming;
mod vm;

use assert_cmd::cargo::cargo_bin;
use rooftrace::record::{Row, read_file};
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// Flags of a sweep that measures next to nothing.
const SHORT: [&str; 5] = ["--device", "cpu", "--quick", "--max-time", "0.002"];

/// A place of its own for each test: the program runs in it.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Place {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The program, about to run here, untouched by the tester's environment.
    fn program<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(cargo_bin!("rooftrace"));
        command.current_dir(self.path()).args(args);
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "RUST_BACKTRACE"] {
            command.env_remove(name);
        }
        command
    }

    /// Runs the program to its end.
    fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ran {
        Ran::of(self.program(args).output().unwrap())
    }

    /// A short sweep on the CPU.
    fn sweep<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Ran {
        self.run(["sweep"].into_iter().chain(args).chain(SHORT))
    }

    /// The rows of a file.
    fn rows(&self, name: &str) -> Vec<Row> {
        let table = read_file(&self.path().join(name)).unwrap();
        assert_eq!(table.torn, None, "{name} ends in a torn row");
        table.rows
    }

    /// Names of what lies here.
    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    fn write(&self, name: &str, content: &str) {
        std::fs::write(self.path().join(name), content).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }
}

/// A program that has ended.
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ran {
    /// Nothing the program says may be a panic's message.
    fn of(output: Output) -> Self {
        let ran = Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        };
        for text in [&ran.stdout, &ran.stderr] {
            for sign in ["panicked", "RUST_BACKTRACE", "unwrap", "src/"] {
                assert!(!text.contains(sign), "`{sign}` in {text}");
            }
        }
        ran
    }

    /// It ended well.
    #[track_caller]
    fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self
    }

    /// It ended with this code, an error message that has every one of `parts`, and nothing on
    /// stdout.
    #[track_caller]
    fn refused(self, code: i32, parts: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.stderr);
        assert_eq!(self.stdout, "", "a refusal wrote data");
        assert!(self.stderr.starts_with("error: "), "{}", self.stderr);
        self.says(parts)
    }

    /// stderr has every one of `parts`.
    #[track_caller]
    fn says(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(
                self.stderr.contains(part),
                "no `{part}` in: {}",
                self.stderr
            );
        }
        self
    }
}
