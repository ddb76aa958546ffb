//! Which points of a run an existing file has already.

use std::collections::HashSet;
use std::path::Path;

use super::error::RecordError;
use super::format::Format;
use super::read::{Torn, read_bytes};
use super::row::{Cache, Data, Row, Status};

/// What must be equal for rows of two runs to belong in one file, besides the
/// schema version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Name of the device, as in its column.
    pub device: String,
    /// SHA-256 of the PTX, as in its column; `None` on a CPU.
    pub ptx_sha256: Option<String>,
}

/// What tells one row of a sweep from another: every column that is chosen
/// before measuring, none that is found by it, and whether the row is a point's
/// steady state ([`Row::is_steady_state`]).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PointKey {
    kernel: String,
    variant: String,
    pipe: Option<String>,
    storage: Option<String>,
    out_type: Option<String>,
    /// The bits, as a float has no total equality.
    beta: Option<u64>,
    size: (Option<u64>, u64, Option<u64>),
    batch: u64,
    cache: Cache,
    data: Data,
    seed: u64,
    steady: bool,
}

impl PointKey {
    /// The key of a row. The columns of the work must be filled in, as they are
    /// before a point is run.
    #[must_use]
    pub fn of(row: &Row) -> Self {
        Self {
            kernel: row.kernel.clone(),
            variant: row.variant.clone(),
            pipe: row.pipe.clone(),
            storage: row.storage.clone(),
            out_type: row.out_type.clone(),
            beta: row.beta.map(f64::to_bits),
            size: (row.m, row.n, row.k),
            batch: row.batch,
            cache: row.cache,
            data: row.data,
            seed: row.seed,
            steady: row.is_steady_state(),
        }
    }

    /// The key without the seed, which does not change the work: what two runs are compared by.
    #[must_use]
    pub fn without_seed(self) -> Self {
        Self { seed: 0, ..self }
    }
}

/// What an earlier run left.
#[derive(Clone, Debug, Default)]
pub struct Resume {
    /// Points that have a row. Skipped and failed ones count, so that no point
    /// gets two rows: to try one again, delete its row.
    pub finished: HashSet<PointKey>,
    /// The rows themselves, in the order of the file.
    pub rows: Vec<Row>,
    /// The torn row that continuing the file will cut off, if there is one.
    pub torn: Option<Torn>,
}

impl Resume {
    /// Whether the point of `row` has been measured.
    #[must_use]
    pub fn has(&self, row: &Row) -> bool {
        self.finished.contains(&PointKey::of(row))
    }
}

/// Looks at the file a run is to continue, and changes nothing: a torn end is
/// cut off when [`open`](super::open) continues the file. A file that does not
/// exist or is empty has no points.
///
/// # Errors
/// [`RecordError::OtherRun`] if a row comes from another device or PTX,
/// [`RecordError::SchemaVersion`] if it has another schema, or whatever else
/// reading the file can give.
pub fn resume(path: &Path, format: Format, run: &Identity) -> Result<Resume, RecordError> {
    let content = match std::fs::read(path) {
        Ok(content) => content,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Resume::default()),
        Err(source) => {
            return Err(RecordError::Unreadable {
                path: path.to_path_buf(),
                source,
            });
        }
    };
    let table = match read_bytes(&content, path, Some(format)) {
        Err(RecordError::Empty { .. }) => return Ok(Resume::default()),
        table => table?,
    };
    for row in &table.rows {
        require_same("device", &row.device, &run.device, path)?;
        let hash = |hash: &Option<String>| hash.clone().unwrap_or_else(|| "none".to_owned());
        require_same(
            "ptx_sha256",
            &hash(&row.ptx_sha256),
            &hash(&run.ptx_sha256),
            path,
        )?;
    }
    let finished = table.rows.iter().flat_map(keys).collect();
    Ok(Resume {
        finished,
        rows: table.rows,
        torn: table.torn,
    })
}

/// The keys that a row finishes: a point without a measurement has no steady
/// state either.
fn keys(row: &Row) -> Vec<PointKey> {
    let key = PointKey::of(row);
    if row.status == Status::Ok {
        return vec![key];
    }
    let steady = PointKey {
        steady: true,
        ..key.clone()
    };
    vec![key, steady]
}

fn require_same(
    what: &'static str,
    found: &str,
    expected: &str,
    path: &Path,
) -> Result<(), RecordError> {
    if found == expected {
        return Ok(());
    }
    Err(RecordError::OtherRun {
        path: path.to_path_buf(),
        what,
        found: found.to_owned(),
        expected: expected.to_owned(),
    })
}
