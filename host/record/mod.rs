//! Rows, and the files they are written to and read from.
//!
//! | module | what it is for |
//! |---|---|
//! | [`mod@row`] | the row: one measured point, and its columns |
//! | [`mod@write`] | opening a file or stream, and the trait that takes rows |
//! | [`mod@read`] | a file back into rows |
//! | [`mod@resume`] | which points a file has already |
//! | [`mod@compare`] | two files point by point: faster, slower, the same |
//!
//! ```
//! use rooftrace::record::{Destination, Envelope, Format, OnExisting, Row, open, read_file};
//!
//! # let folder = tempfile::tempdir()?;
//! let path = folder.path().join("rows.csv");
//! let envelope = Envelope::new("run-1", vec!["rooftrace".to_owned()], Default::default());
//! let destination = Destination::from_out(&path);
//! let mut rows = open(&destination, Format::Csv, OnExisting::Refuse, &envelope)?;
//! rows.write(&Row { kernel: "copy".to_owned(), n: 1024, ..Row::default() })?;
//! rows.finish()?;
//! assert_eq!(read_file(&path)?.rows[0].n, 1024);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod compare;
mod csv;
mod destination;
mod envelope;
mod error;
mod finite;
mod format;
mod interval;
mod json;
mod output;
pub mod read;
pub mod resume;
pub mod row;
pub mod write;

pub use compare::{CompareError, Comparison, Verdict, compare};
pub use destination::{DEFAULT_FOLDER, Destination, OnExisting};
pub use envelope::Envelope;
pub use error::RecordError;
pub use format::{Format, UnknownFormat};
pub use read::{Table, Torn, read_bytes, read_file};
pub use resume::{Identity, PointKey, Resume, resume};
pub use row::{Bound, Cache, Data, Row, SCHEMA_VERSION, Status};
pub use write::{RowSink, open};
