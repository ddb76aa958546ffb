//! What ends a command, and the exit code it means.

use crate::device::DeviceError;
use crate::record::RecordError;

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// Usage or bad input: exit code 2.
    #[error("{0}")]
    Usage(String),
    /// A kernel or variant that the device does not have: exit code 2.
    #[error("{0}")]
    Lacking(String),
    /// No usable device, driver or toolchain: exit code 3.
    #[error("{0}")]
    Unavailable(String),
    /// A check failed: exit code 1.
    #[error("{0}")]
    Failed(String),
    /// Interrupted by a signal: exit code 130.
    #[error("{0}")]
    Interrupted(String),
    /// Whoever read the output has gone, which is no error: exit code 0, and nothing is said.
    #[error("the reader of the output has gone")]
    BrokenPipe,
}

impl CliError {
    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            CliError::BrokenPipe => 0,
            CliError::Failed(_) => 1,
            CliError::Usage(_) | CliError::Lacking(_) => 2,
            CliError::Unavailable(_) => 3,
            CliError::Interrupted(_) => 130,
        }
    }

    /// Whether there is something to say on stderr.
    pub fn is_silent(&self) -> bool {
        matches!(self, CliError::BrokenPipe)
    }
}

impl From<RecordError> for CliError {
    fn from(error: RecordError) -> Self {
        if error.is_broken_pipe() {
            CliError::BrokenPipe
        } else {
            CliError::Usage(error.to_string())
        }
    }
}

impl From<crate::figure::FigureError> for CliError {
    fn from(error: crate::figure::FigureError) -> Self {
        CliError::Usage(error.to_string())
    }
}

impl From<DeviceError> for CliError {
    fn from(error: DeviceError) -> Self {
        CliError::Unavailable(error.to_string())
    }
}

impl From<std::io::Error> for CliError {
    /// An error in writing to stdout.
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => CliError::BrokenPipe,
            _ => CliError::Usage(format!("cannot write to stdout: {error}")),
        }
    }
}

impl From<super::render::CommandError> for CliError {
    fn from(error: super::render::CommandError) -> Self {
        match error {
            super::render::CommandError::Io(error) => error.into(),
            error => CliError::Usage(error.to_string()),
        }
    }
}
