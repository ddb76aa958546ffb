//! What is written down and can go stale: command lines in the README and in the help, the
//! oldest compiler.

use clap::{CommandFactory, Parser};
use rooftrace::cli::Cli;
use rooftrace::device::DeviceKind;
use rooftrace::kernels::KernelId;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

fn file(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// The words of a shell command, up to a pipe, a redirection or a comment.
fn words(line: &str) -> Vec<&str> {
    line.split_whitespace()
        .take_while(|word| !word.starts_with(['|', '>', '#', ';', '&']))
        .collect()
}

/// The arguments of `rooftrace` in a line of a shell session, if it calls it.
fn call(line: &str) -> Option<Vec<&str>> {
    let line = line.trim().trim_start_matches("$ ");
    let words = words(line);
    // Variables may be set in front.
    let start = words.iter().position(|word| !is_assignment(word))?;
    let words = &words[start..];
    if words[0] == "cargo" {
        let runs = words
            .get(1)
            .is_some_and(|word| *word == "run" || *word == "r");
        let other = words
            .iter()
            .any(|word| ["-p", "--package", "--bin"].contains(word));
        let end = words.iter().position(|word| *word == "--")?;
        return (runs && !other).then(|| words[end + 1..].to_vec());
    }
    let name = words[0].rsplit('/').next()?;
    (name == "rooftrace").then(|| words[1..].to_vec())
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
    })
}

/// The lines in code blocks of Markdown, continued lines joined.
fn code_lines(markdown: &str) -> Vec<String> {
    let mut inside = false;
    let mut lines: Vec<String> = Vec::new();
    let mut joining = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
            joining = false;
        } else if inside {
            let (text, continued) = match line.trim_end().strip_suffix('\\') {
                Some(text) => (text, true),
                None => (line, false),
            };
            match lines.last_mut().filter(|_| joining) {
                Some(last) => last.push_str(text),
                None => lines.push(text.to_owned()),
            }
            joining = continued;
        }
    }
    assert!(!inside, "a code block is not closed");
    lines
}

/// Parses as the program would, help and version included.
fn parses(args: &[&str]) -> Result<(), String> {
    match Cli::try_parse_from(std::iter::once(&"rooftrace").chain(args)) {
        Ok(_) => Ok(()),
        Err(error) if !error.use_stderr() => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn calls_are_found_in_shell_sessions() {
    for (line, expected) in [
        (
            "$ rooftrace ridge --gpu H100 | head -3",
            Some("ridge --gpu H100"),
        ),
        (
            "cargo run --release -- sweep sgemm   # main",
            Some("sweep sgemm"),
        ),
        ("./target/release/rooftrace doctor", Some("doctor")),
        ("NO_COLOR=1 rooftrace peaks > x", Some("peaks")),
        ("cargo run -p ptx-build -- check", None),
        ("cargo test", None),
        ("kernel  variant  size", None),
        ("", None),
    ] {
        let expected: Option<Vec<&str>> = expected.map(|text| text.split(' ').collect());
        assert_eq!(call(line), expected, "{line}");
    }
    let text = "rooftrace nothing\n```console\n$ rooftrace ridge \\\n  --gpu H100\nout\n```\n";
    assert_eq!(code_lines(text), ["$ rooftrace ridge   --gpu H100", "out"]);
    assert!(parses(&["sweep", "sgemm", "--no-such-flag"]).is_err());
}

#[test]
fn command_lines_of_the_documents_parse() {
    let mut documents = vec!["README.md".to_owned()];
    for folder in ["docs", "results"] {
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "md") {
                    documents.push(path.to_string_lossy().into_owned());
                }
            }
        }
    }
    let mut in_readme = 0;
    for document in &documents {
        for line in code_lines(&file(document)) {
            if let Some(args) = call(&line) {
                parses(&args).unwrap_or_else(|error| panic!("{document}: {line}\n{error}"));
                in_readme += usize::from(document == "README.md");
            }
        }
    }
    assert!(in_readme > 0, "no command line was found in README.md");
}

#[test]
fn the_two_commands_of_the_readme_are_there() {
    let lines = code_lines(&file("README.md"));
    for command in ["cargo run --release -- sweep sgemm", "cargo test"] {
        let found = lines.iter().any(|line| {
            let line = words(line.trim().trim_start_matches("$ "));
            line == command.split(' ').collect::<Vec<_>>()
        });
        assert!(found, "`{command}` is not in a code block of README.md");
    }
}

#[test]
fn the_readme_names_every_kernel_and_every_variant_on_a_gpu() {
    let readme = file("README.md");
    let words: BTreeSet<&str> = readme
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
        .collect();
    for id in KernelId::ALL {
        assert!(words.contains(id.name()), "{}", id.name());
        for variant in id.kernel().variants(DeviceKind::Cuda) {
            // The many of fma go by a rule.
            let named = words.contains(variant.name) || variant.name.starts_with("ilp");
            assert!(named, "{} {}", id.name(), variant.name);
        }
    }
}

#[test]
fn every_command_has_two_examples_that_parse() {
    let program = Cli::command();
    let commands: Vec<&clap::Command> = program.get_subcommands().collect();
    assert!(commands.len() >= 8);
    for command in commands.into_iter().chain([&program]) {
        let name = command.get_name();
        let help = command.get_after_long_help().or(command.get_after_help());
        let help = help.map(ToString::to_string).unwrap_or_default();
        let examples = help
            .split_once("Examples:")
            .map_or("", |(_, examples)| examples);
        let calls: Vec<Vec<&str>> = examples.lines().filter_map(call).collect();
        assert!(
            calls.len() >= 2,
            "{name}: {} examples in {help}",
            calls.len()
        );
        for args in calls {
            parses(&args).unwrap_or_else(|error| panic!("{name}: {args:?}\n{error}"));
        }
    }
}

#[test]
fn every_flag_and_command_has_a_help_text() {
    for command in Cli::command().get_subcommands() {
        assert!(command.get_about().is_some(), "{}", command.get_name());
        for argument in command.get_arguments() {
            assert!(
                argument.get_help().is_some(),
                "{} {}",
                command.get_name(),
                argument.get_id()
            );
        }
    }
}

/// Major and minor version.
fn version(text: &str) -> (u32, u32) {
    let mut parts = text.split(['.', '-']).map(|part| part.parse().unwrap());
    (parts.next().unwrap(), parts.next().unwrap())
}

#[test]
fn the_oldest_compiler_is_stated_and_this_one_is_no_older() {
    let oldest = version(env!("CARGO_PKG_RUST_VERSION"));
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let answer = Command::new(rustc).arg("--version").output().unwrap();
    let answer = String::from_utf8(answer.stdout).unwrap();
    let current = version(answer.split_whitespace().nth(1).unwrap());
    assert!(current >= oldest, "{answer} is older than {oldest:?}");
}

#[test]
fn the_oldest_compiler_is_the_same_everywhere() {
    let oldest = env!("CARGO_PKG_RUST_VERSION");
    assert!(
        file("Cargo.toml").contains(&format!("rust-version = \"{oldest}\"")),
        "the workspace states another"
    );
    let readme = file("README.md");
    assert!(
        readme.contains(&format!("{oldest} or later")),
        "README.md does not say {oldest}"
    );
    let ci = file(".ci/run");
    assert!(
        ci.contains("rust-version"),
        ".ci/run does not take the oldest compiler from Cargo.toml"
    );
}
