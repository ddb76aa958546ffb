//! An open file or stream that holds whole rows only.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::destination::{stream_failure, write_failure};
use super::error::RecordError;

/// What can be written to at any place and cut off: a regular file.
pub(super) trait Store: Send {
    /// Writes all of `bytes` at `offset`.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Ends the file after `length` bytes.
    fn cut(&mut self, length: u64) -> io::Result<()>;
    /// Waits until the file is on the disk.
    fn sync(&mut self) -> io::Result<()>;
}

impl Store for File {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.seek(SeekFrom::Start(offset))?;
        self.write_all(bytes)
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

enum Medium {
    Store(Box<dyn Store>),
    Stream(Box<dyn Write + Send>),
}

/// Rows on their way out. Nothing is buffered: a row has been handed to the
/// operating system when [`Output::row`] returns, so that a killed process
/// loses none.
///
/// In a file every row is written over the `closing` text, in one call together
/// with the closing text that follows it, so that a format which has one is
/// complete after every row. In a stream it can only come last.
pub(super) struct Output {
    medium: Medium,
    path: PathBuf,
    closing: &'static [u8],
    /// Where the next row goes.
    end: u64,
    /// Complete rows in the file, those of earlier runs included.
    rows: u64,
    /// Of these, the rows of this run.
    written: u64,
}

impl Output {
    /// Continues a file in which `rows` rows end at byte `end`, followed by
    /// nothing but `closing`.
    pub(super) fn file(
        file: impl Store + 'static,
        path: &Path,
        end: u64,
        rows: u64,
        closing: &'static [u8],
    ) -> Self {
        let medium = Medium::Store(Box::new(file));
        Self {
            medium,
            path: path.to_path_buf(),
            closing,
            end,
            rows,
            written: 0,
        }
    }

    /// Starts a stream with `header`.
    pub(super) fn stream(
        mut to: Box<dyn Write + Send>,
        path: &Path,
        header: &[u8],
        closing: &'static [u8],
    ) -> Result<Self, RecordError> {
        to.write_all(header)
            .and_then(|()| to.flush())
            .map_err(|source| stream_failure(path, 0, source))?;
        let medium = Medium::Stream(to);
        Ok(Self {
            medium,
            path: path.to_path_buf(),
            closing,
            end: 0,
            rows: 0,
            written: 0,
        })
    }

    /// Whether no row has been written, by this run or another.
    pub(super) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes one row. When that fails the file is put back to the rows before.
    pub(super) fn row(&mut self, row: &[u8]) -> Result<(), RecordError> {
        let outcome = match &mut self.medium {
            Medium::Stream(to) => to.write_all(row).and_then(|()| to.flush()),
            Medium::Store(file) => file.write_at(self.end, &[row, self.closing].concat()),
        };
        if let Err(source) = outcome {
            return Err(self.undo(source));
        }
        self.end += row.len() as u64;
        self.rows += 1;
        self.written += 1;
        Ok(())
    }

    /// Puts a file back to its whole rows after a write that failed.
    fn undo(&mut self, source: io::Error) -> RecordError {
        match &mut self.medium {
            Medium::Stream(_) => stream_failure(&self.path, self.rows, source),
            Medium::Store(file) => {
                // The closing text first: its blocks are still allocated, so
                // that this works on a full disk. Where even this fails,
                // reading recovers the whole rows before the torn one.
                let _ = file.write_at(self.end, self.closing);
                let _ = file.cut(self.end + self.closing.len() as u64);
                write_failure(&self.path, self.rows, source)
            }
        }
    }

    /// Ends the output and returns the number of rows this run wrote.
    pub(super) fn finish(mut self) -> Result<u64, RecordError> {
        let (path, rows) = (&self.path, self.rows);
        match &mut self.medium {
            Medium::Stream(to) => to
                .write_all(self.closing)
                .and_then(|()| to.flush())
                .map_err(|source| stream_failure(path, rows, source))?,
            Medium::Store(file) => {
                file.sync()
                    .map_err(|source| write_failure(path, rows, source))?;
            }
        }
        Ok(self.written)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A disk of `capacity` bytes, which takes what fits and then is full.
    #[derive(Clone)]
    struct SmallDisk {
        bytes: Arc<Mutex<Vec<u8>>>,
        capacity: usize,
    }

    impl Store for SmallDisk {
        fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
            let mut disk = self.bytes.lock().unwrap();
            let offset = usize::try_from(offset).unwrap();
            let fits = bytes.len().min(self.capacity - offset);
            let length = disk.len().max(offset + fits);
            disk.resize(length, 0);
            disk[offset..offset + fits].copy_from_slice(&bytes[..fits]);
            if fits < bytes.len() {
                Err(io::ErrorKind::StorageFull.into())
            } else {
                Ok(())
            }
        }

        fn cut(&mut self, length: u64) -> io::Result<()> {
            self.bytes
                .lock()
                .unwrap()
                .truncate(usize::try_from(length).unwrap());
            Ok(())
        }

        fn sync(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_keeps_the_whole_rows_and_the_closing() {
        for capacity in 8..20 {
            let bytes = Arc::new(Mutex::new(b"[]".to_vec()));
            let disk = SmallDisk {
                bytes: Arc::clone(&bytes),
                capacity,
            };
            let mut output = Output::file(disk, Path::new("rows.json"), 1, 0, b"]");
            let mut written = 0;
            let error = loop {
                match output.row(b"row,") {
                    Ok(()) => written += 1,
                    Err(error) => break error,
                }
            };
            let expected = format!("[{}]", "row,".repeat(written));
            assert_eq!(String::from_utf8_lossy(&bytes.lock().unwrap()), expected);
            let message = error.to_string();
            assert!(matches!(error, RecordError::DiskFull { rows, .. } if rows == written as u64));
            assert!(
                message.contains("rows.json") && message.contains("--resume"),
                "{message}"
            );
            // The point after it may be tried again once there is space.
            assert!(output.row(b"row,").is_err());
            assert_eq!(String::from_utf8_lossy(&bytes.lock().unwrap()), expected);
        }
    }

    #[test]
    fn a_reader_that_has_gone_is_told_apart_from_a_failure() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let started = Output::stream(Box::new(Gone), Path::new("-"), b"header", b"");
        assert!(started.err().unwrap().is_broken_pipe());
    }
}
