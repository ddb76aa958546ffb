//! `rooftrace completions`: completion scripts for shells.

use std::io::Write;

use clap::CommandFactory;

use super::Cli;
use super::error::CliError;

/// Completions of commands and flags for a shell.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  rooftrace completions bash > ~/.local/share/bash-completion/completions/rooftrace
      for bash, from the next shell on
  rooftrace completions fish | source
      for this fish")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Writes the script, made from the definition that parses the arguments.
///
/// # Errors
/// A failed write.
pub fn run(args: &CompletionsArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "rooftrace", &mut script);
    out.write_all(&script)?;
    Ok(out.flush()?)
}
