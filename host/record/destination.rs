//! Where rows go, and how the file there comes to be.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::error::RecordError;
use super::format::Format;

/// Folder of the files that are written without `--out`; the only one that is
/// created when it is missing, since a typing error must not make folders.
pub const DEFAULT_FOLDER: &str = "results/local";

/// What to do with an output file that exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnExisting {
    /// Refuse: hours of measurements must not go by a repeated command.
    #[default]
    Refuse,
    /// Put the new file in its place, once its header is written.
    Replace,
    /// Continue it, or begin it where it does not exist yet.
    Append,
}

/// Where rows go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Standard output.
    Stdout,
    /// A file, or a pipe or device of that name.
    File(PathBuf),
}

impl Destination {
    /// The destination `--out` names: `-` is standard output.
    #[must_use]
    pub fn from_out(out: impl Into<PathBuf>) -> Self {
        let path = out.into();
        if path.as_os_str() == "-" {
            Self::Stdout
        } else {
            Self::File(path)
        }
    }

    /// The file for a run without `--out`:
    /// `results/local/<kernel>-<device>-<time>.<format>`, in which whatever is
    /// not a letter, a digit or a point becomes one `-`.
    #[must_use]
    pub fn default_for(kernel: &str, device: &str, time: &str, format: Format) -> Self {
        let stem: Vec<String> = [kernel, device, time].into_iter().map(slug).collect();
        Self::File(Path::new(DEFAULT_FOLDER).join(format!("{}.{format}", stem.join("-"))))
    }

    /// The path as it was given, `-` for standard output.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Stdout => Path::new("-"),
            Self::File(path) => path,
        }
    }

    /// Finds what would stop a file from being opened, without touching
    /// anything: for the plan, before a device is started.
    ///
    /// # Errors
    /// [`RecordError::Directory`], [`RecordError::NoParent`],
    /// [`RecordError::Exists`], or [`RecordError::NotResumable`].
    pub fn check(&self, on_existing: OnExisting) -> Result<(), RecordError> {
        let path = self.path().to_path_buf();
        let not_resumable = on_existing == OnExisting::Append;
        match self {
            Self::Stdout if not_resumable => return Err(RecordError::NotResumable { path }),
            Self::Stdout => return Ok(()),
            Self::File(_) => {}
        }
        match fs::metadata(&path) {
            Ok(found) if found.is_dir() => Err(RecordError::Directory { path }),
            Ok(found) if !found.is_file() && not_resumable => {
                Err(RecordError::NotResumable { path })
            }
            Ok(found) if found.is_file() && on_existing == OnExisting::Refuse => {
                Err(RecordError::Exists { path })
            }
            Ok(_) => Ok(()),
            Err(_) => {
                let parent = parent_of(&path);
                if parent.is_dir() || parent == Path::new(DEFAULT_FOLDER) {
                    Ok(())
                } else {
                    Err(RecordError::NoParent {
                        parent: parent.to_path_buf(),
                        path,
                    })
                }
            }
        }
    }
}

impl Destination {
    /// Finds by trying whether the file can be written, and leaves everything as it was: a new
    /// file is begun in its folder under a temporary name, one to be continued is opened and
    /// locked, and either is let go again. For the moment before measuring, as the roofs are
    /// known, and the file can be opened with them, only minutes later. A pipe or device is not
    /// tried: its other end would see that it was opened.
    ///
    /// # Errors
    /// [`RecordError::Unwritable`], [`RecordError::NoParent`], [`RecordError::DiskFull`],
    /// [`RecordError::InUse`].
    pub fn probe(&self, on_existing: OnExisting) -> Result<(), RecordError> {
        let Self::File(path) = self else {
            return Ok(());
        };
        match fs::metadata(path) {
            Ok(found) if !found.is_file() => Ok(()),
            Ok(_) if on_existing == OnExisting::Append => open_existing(path).map(drop),
            _ => {
                let (mut file, _) = begin(path)?;
                // An empty file fits on a full disk.
                file.write_all(b"\n")
                    .map_err(|source| write_failure(path, 0, source))
            }
        }
    }
}

/// Lower-case words of `text`, joined by single hyphens.
fn slug(text: &str) -> String {
    text.to_lowercase()
        .split(|c: char| !c.is_alphanumeric() && c != '.')
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("-")
}

/// The folder a file lies in; `.` for a bare name.
fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Opens a pipe or device, which cannot be sought in; `None` for anything that
/// is, or will be, a regular file.
pub(super) fn open_stream(path: &Path) -> Result<Option<Box<dyn Write + Send>>, RecordError> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            let file = OpenOptions::new()
                .write(true)
                .open(path)
                .map_err(|source| unwritable(path, source))?;
            Ok(Some(Box::new(file)))
        }
        _ => Ok(None),
    }
}

/// Makes the file `path` with `content`, all at once: the content is written
/// under a temporary name in the same folder first, so that a start that fails
/// leaves neither half a file nor a destroyed one. The file comes back locked
/// and open for writing.
pub(super) fn create(path: &Path, content: &[u8], replace: bool) -> Result<File, RecordError> {
    let (mut file, target) = begin(path)?;
    file.write_all(content)
        .map_err(|source| write_failure(path, 0, source))?;
    // Before the file has its name, so that nobody can come in between.
    lock(file.as_file(), path)?;
    let named = if replace {
        file.persist(&target)
    } else {
        file.persist_noclobber(&target)
    };
    named.map_err(|failure| match failure.error.kind() {
        io::ErrorKind::AlreadyExists => RecordError::Exists {
            path: path.to_path_buf(),
        },
        _ => unwritable(path, failure.error),
    })
}

/// Begins the file `path` under a temporary name in its folder, which goes with the handle; the
/// path is the one that it is to have.
fn begin(path: &Path) -> Result<(NamedTempFile, PathBuf), RecordError> {
    // Through a symbolic link it is the file behind it that is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let folder = parent_of(&target);
    if folder == Path::new(DEFAULT_FOLDER) {
        fs::create_dir_all(folder).map_err(|source| unwritable(path, source))?;
    }
    let file = new_file(folder).map_err(|source| unwritable(path, source))?;
    Ok((file, target))
}

#[cfg(unix)]
fn new_file(folder: &Path) -> io::Result<NamedTempFile> {
    use std::os::unix::fs::PermissionsExt;
    // A temporary file is private by default; these are results, and the umask
    // decides who may read them.
    let anyone = fs::Permissions::from_mode(0o666);
    tempfile::Builder::new()
        .prefix(".rooftrace-")
        .permissions(anyone)
        .tempfile_in(folder)
}

#[cfg(not(unix))]
fn new_file(folder: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(".rooftrace-")
        .tempfile_in(folder)
}

/// Opens an existing regular file to continue it, locked.
pub(super) fn open_existing(path: &Path) -> Result<File, RecordError> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .map_err(|source| unwritable(path, source))?;
    lock(&file, path)?;
    Ok(file)
}

/// Keeps two processes from writing to one file. The lock goes with the handle.
fn lock(file: &File, path: &Path) -> Result<(), RecordError> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(RecordError::InUse {
            path: path.to_path_buf(),
        }),
        // Some network file systems have no locks; measuring goes on without.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

pub(super) fn unwritable(path: &Path, source: io::Error) -> RecordError {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => write_failure(path, 0, source),
        io::ErrorKind::NotFound if !parent_of(path).is_dir() => RecordError::NoParent {
            path: path.to_path_buf(),
            parent: parent_of(path).to_path_buf(),
        },
        _ => RecordError::Unwritable {
            path: path.to_path_buf(),
            source,
        },
    }
}

/// The error for a write that failed when `rows` rows were complete.
pub(super) fn write_failure(path: &Path, rows: u64, source: io::Error) -> RecordError {
    let path = path.to_path_buf();
    match source.kind() {
        io::ErrorKind::BrokenPipe => RecordError::BrokenPipe { path },
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            RecordError::DiskFull { path, rows, source }
        }
        _ => RecordError::Write { path, rows, source },
    }
}

/// The same for a pipe or device, which no `--resume` can continue.
pub(super) fn stream_failure(path: &Path, rows: u64, source: io::Error) -> RecordError {
    match write_failure(path, rows, source) {
        RecordError::DiskFull { path, rows, source } => RecordError::Write { path, rows, source },
        other => other,
    }
}
