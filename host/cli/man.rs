//! `rooftrace man`: manual pages.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::CommandFactory;
use clap_mangen::Man;

use super::Cli;
use super::error::CliError;

/// Manual pages in roff.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  rooftrace man | man -l -
      read the manual page of the program
  rooftrace man --out ~/.local/share/man/man1
      write a page for the program and one for each command, for `man rooftrace-sweep`")]
pub struct ManArgs {
    /// Folder for the pages of the program and of each command; it must exist
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Writes the page of the program to `out`, or all pages into a folder. They are made from the
/// definition that parses the arguments.
///
/// # Errors
/// A folder that is none, or a failed write.
pub fn run(args: &ManArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    let Some(folder) = &args.out else {
        out.write_all(&page(program)?)?;
        return Ok(out.flush()?);
    };
    if !folder.is_dir() {
        return Err(CliError::Usage(format!(
            "--out `{}` is no folder: create it, or name another",
            folder.display()
        )));
    }
    let commands: Vec<clap::Command> = program.get_subcommands().cloned().collect();
    let pages = commands.into_iter().map(|command| {
        let name = format!("rooftrace-{}", command.get_name());
        (name.clone(), command.name(name))
    });
    for (name, command) in [("rooftrace".to_owned(), program)].into_iter().chain(pages) {
        let path = folder.join(format!("{name}.1"));
        fs::write(&path, page(command)?).map_err(|error| {
            CliError::Usage(format!("cannot write `{}`: {error}", path.display()))
        })?;
    }
    Ok(())
}

fn page(command: clap::Command) -> Result<Vec<u8>, CliError> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    Ok(page)
}
