//! The GPU database: datasheet figures, looked up by name.
//!
//! The figures are in `gpus.toml`, which is part of the program; a file in the same format
//! adds GPUs or overrides fields ([`Database::load`]). A figure that is not known is `None`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::model::{ModelError, Roofline};
use super::peak::{self, ComputeCapability, Derivation};
use super::pipe::Pipe;
use super::spec::{self, SpecError};

/// The database that is part of the program.
const BUILTIN: &str = include_str!("gpus.toml");
/// The lowest compute capability that the kernels are compiled for.
pub const MINIMUM_COMPUTE_CAPABILITY: ComputeCapability = ComputeCapability { major: 8, minor: 0 };

/// The datasheet rates of one pipe, in FLOP/s.
#[derive(Clone, Debug, PartialEq)]
pub struct Peak {
    /// Dense rate, FLOP/s: the one that a roofline uses.
    pub dense_flop_per_s: f64,
    /// Rate with 1:2 structured sparsity, FLOP/s: half of its operations are zeros skipped.
    pub sparse_flop_per_s: Option<f64>,
    /// The dense rate as the lecture rounds it, FLOP/s.
    pub lecture_flop_per_s: Option<f64>,
    /// The ridge points that the lectures print, FLOP/byte; two where they disagree.
    pub lecture_ridge: Vec<u32>,
}

/// One GPU. Every figure but the name and the source may be unknown.
#[derive(Clone, Debug, PartialEq)]
pub struct Gpu {
    /// The name that tables print.
    pub name: String,
    /// Other names that people use.
    pub aliases: Vec<String>,
    /// Names under which the CUDA driver reports it.
    pub driver_names: Vec<String>,
    /// CUDA compute capability.
    pub compute_capability: Option<ComputeCapability>,
    /// Streaming multiprocessors that are enabled.
    pub sms: Option<u32>,
    /// fp32 lanes per SM.
    pub fp32_cores_per_sm: Option<u32>,
    /// Maximum SM clock, Hz.
    pub boost_clock_hz: Option<f64>,
    /// Memory technology, such as HBM3e.
    pub memory: Option<String>,
    /// Width of the memory bus, bits.
    pub memory_bus_bits: Option<u32>,
    /// Memory clock as the driver reports it, Hz; two transfers a cycle.
    pub memory_clock_hz: Option<f64>,
    /// Datasheet memory bandwidth, byte/s.
    pub memory_bandwidth_byte_per_s: Option<f64>,
    /// The bandwidth as the lecture rounds it, byte/s.
    pub lecture_bandwidth_byte_per_s: Option<f64>,
    /// L2 cache, byte.
    pub l2_bytes: Option<u64>,
    /// What the L2 delivers to reads in a cycle of the SM clock, byte.
    pub l2_read_bytes_per_cycle: Option<u32>,
    /// Device memory, byte.
    pub memory_bytes: Option<u64>,
    /// Thermal design power, W.
    pub tdp_w: Option<f64>,
    /// The documents that the figures are from.
    pub source: String,
    /// What a reader of the figures should know.
    pub note: Option<String>,
    /// Rates by pipe.
    pub peaks: BTreeMap<Pipe, Peak>,
}

/// Why a GPU has no roofline or cannot be found.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LookupError {
    /// No GPU of that name.
    #[error(
        "unknown GPU \"{given}\"; nearest: \"{nearest}\"; allowed: {known} (or add it with --spec FILE)"
    )]
    UnknownGpu {
        /// What was given.
        given: String,
        /// The known name that is most like it.
        nearest: String,
        /// All names.
        known: String,
    },
    /// The database has no rate for the pipe.
    #[error("{gpu} has no {pipe} rate in the database; it has: {available}")]
    NoPeak {
        /// The GPU.
        gpu: String,
        /// The pipe asked for.
        pipe: Pipe,
        /// The pipes that it has.
        available: String,
    },
    /// The database has no memory bandwidth.
    #[error("{gpu} has no memory_bandwidth_byte_per_s in the database; give it with --spec FILE")]
    NoBandwidth {
        /// The GPU.
        gpu: String,
    },
    /// The rates make no roofline.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// Why a database could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file could not be read.
    #[error("cannot read the GPU file {path}: {cause}; --spec takes a TOML file of [[gpu]] tables")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The file is faulty.
    #[error(transparent)]
    Spec(#[from] SpecError),
}

impl Gpu {
    /// Whether the kernels run on it; `None` if its compute capability is unknown.
    #[must_use]
    pub fn supported(&self) -> Option<bool> {
        self.compute_capability
            .map(|c| c >= MINIMUM_COMPUTE_CAPABILITY)
    }

    /// The dense rate of a pipe, FLOP/s.
    ///
    /// # Errors
    /// [`LookupError::NoPeak`] names the pipes that there are.
    pub fn peak(&self, pipe: Pipe) -> Result<f64, LookupError> {
        self.peaks
            .get(&pipe)
            .map(|p| p.dense_flop_per_s)
            .ok_or_else(|| LookupError::NoPeak {
                gpu: self.name.clone(),
                pipe,
                available: join(self.peaks.keys().map(|p| p.id())),
            })
    }

    /// The datasheet memory bandwidth, byte/s.
    ///
    /// # Errors
    /// [`LookupError::NoBandwidth`] if the database has none.
    pub fn bandwidth(&self) -> Result<f64, LookupError> {
        self.memory_bandwidth_byte_per_s
            .ok_or_else(|| LookupError::NoBandwidth {
                gpu: self.name.clone(),
            })
    }

    /// The rate at which the L2 serves reads, byte/s: bytes per cycle x boost clock. `None` where
    /// no document of the vendor gives the bytes per cycle.
    #[must_use]
    pub fn l2_read_peak(&self) -> Option<Derivation> {
        Some(peak::l2_read_peak(
            self.l2_read_bytes_per_cycle?,
            self.boost_clock_hz?,
        ))
    }

    /// The datasheet roofline of a pipe: dense rate and memory bandwidth.
    ///
    /// # Errors
    /// [`LookupError`] if either figure is unknown.
    pub fn roofline(&self, pipe: Pipe) -> Result<Roofline, LookupError> {
        Ok(Roofline::new(self.peak(pipe)?, self.bandwidth()?)?)
    }

    /// The roofline with the figures as the lecture rounds them, where it gives both.
    #[must_use]
    pub fn lecture_roofline(&self, pipe: Pipe) -> Option<Roofline> {
        let flops = self.peaks.get(&pipe)?.lecture_flop_per_s?;
        Roofline::new(flops, self.lecture_bandwidth_byte_per_s?).ok()
    }

    /// How many times faster one pipe is than another: the "15:1" of tensor to CUDA cores.
    ///
    /// # Errors
    /// [`LookupError::NoPeak`] if either rate is unknown.
    pub fn ratio(&self, fast: Pipe, slow: Pipe) -> Result<f64, LookupError> {
        Ok(self.peak(fast)? / self.peak(slow)?)
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.name)
            .chain(&self.aliases)
            .chain(&self.driver_names)
            .map(|s| &**s)
    }

    fn is_called(&self, key: &str) -> bool {
        self.names().any(|n| normalise(n) == key)
    }

    /// Takes over what `other` gives; what it leaves out stays.
    fn override_with(&mut self, other: Gpu) {
        let add = |mine: &mut Vec<String>, theirs: Vec<String>| {
            for name in theirs {
                if !mine.contains(&name) {
                    mine.push(name);
                }
            }
        };
        add(&mut self.aliases, other.aliases);
        add(&mut self.driver_names, other.driver_names);
        take(&mut self.compute_capability, other.compute_capability);
        take(&mut self.sms, other.sms);
        take(&mut self.fp32_cores_per_sm, other.fp32_cores_per_sm);
        take(&mut self.boost_clock_hz, other.boost_clock_hz);
        take(&mut self.memory, other.memory);
        take(&mut self.memory_bus_bits, other.memory_bus_bits);
        take(&mut self.memory_clock_hz, other.memory_clock_hz);
        take(
            &mut self.memory_bandwidth_byte_per_s,
            other.memory_bandwidth_byte_per_s,
        );
        take(
            &mut self.lecture_bandwidth_byte_per_s,
            other.lecture_bandwidth_byte_per_s,
        );
        take(&mut self.l2_bytes, other.l2_bytes);
        take(
            &mut self.l2_read_bytes_per_cycle,
            other.l2_read_bytes_per_cycle,
        );
        take(&mut self.memory_bytes, other.memory_bytes);
        take(&mut self.tdp_w, other.tdp_w);
        take(&mut self.note, other.note);
        self.source = format!("{}, over: {}", other.source, self.source);
        self.peaks.extend(other.peaks);
    }
}

fn take<T>(mine: &mut Option<T>, theirs: Option<T>) {
    if theirs.is_some() {
        *mine = theirs;
    }
}

/// The GPUs that are known, in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Database {
    gpus: Vec<Gpu>,
}

impl Database {
    /// The database that is part of the program.
    ///
    /// # Errors
    /// [`SpecError`] would mean that the embedded file is faulty; a test excludes it.
    pub fn builtin() -> Result<Database, SpecError> {
        Ok(Database {
            gpus: spec::parse(BUILTIN, "gpus.toml (embedded)")?,
        })
    }

    /// The embedded database, extended by the GPUs of a file in the same format.
    ///
    /// # Errors
    /// [`LoadError`] if the file cannot be read or is faulty.
    pub fn load(spec: Option<&Path>) -> Result<Database, LoadError> {
        let mut database = Database::builtin()?;
        if let Some(path) = spec {
            let text = fs::read_to_string(path).map_err(|cause| LoadError::Read {
                path: path.to_owned(),
                cause,
            })?;
            database.extend(spec::parse(&text, &path.display().to_string())?);
        }
        Ok(database)
    }

    /// Adds GPUs. One whose name is known overrides the fields that it gives.
    pub fn extend(&mut self, gpus: Vec<Gpu>) {
        for gpu in gpus {
            let key = normalise(&gpu.name);
            match self.gpus.iter_mut().find(|g| g.is_called(&key)) {
                Some(known) => known.override_with(gpu),
                None => self.gpus.push(gpu),
            }
        }
    }

    /// All GPUs.
    #[must_use]
    pub fn gpus(&self) -> &[Gpu] {
        &self.gpus
    }

    /// The GPU of a name, an alias or a driver's device name.
    ///
    /// Case, spaces and dashes do not matter, nor does a leading "NVIDIA" or "GeForce".
    ///
    /// # Errors
    /// [`LookupError::UnknownGpu`] with the nearest known name.
    pub fn find(&self, name: &str) -> Result<&Gpu, LookupError> {
        let key = normalise(name);
        self.gpus
            .iter()
            .find(|g| g.is_called(&key))
            .ok_or_else(|| LookupError::UnknownGpu {
                given: name.to_owned(),
                nearest: self.nearest(&key),
                known: join(self.gpus.iter().map(|g| g.name.as_str())),
            })
    }

    /// The GPU that the CUDA driver reports under `name`; `None` if the database has none.
    ///
    /// Stricter than [`Database::find`]: only the listed driver names match, so that an
    /// H100 NVL is not taken for an H100 SXM.
    #[must_use]
    pub fn find_by_driver_name(&self, name: &str) -> Option<&Gpu> {
        let name = name.trim();
        self.gpus
            .iter()
            .find(|g| g.driver_names.iter().any(|d| d.eq_ignore_ascii_case(name)))
    }

    /// Names of the `count` GPUs whose names are most like `name`, the nearest first.
    #[must_use]
    pub fn nearest_to(&self, name: &str, count: usize) -> Vec<&str> {
        let key = normalise(name);
        let likeness = |gpu: &Gpu| {
            gpu.names()
                .map(|name| strsim::jaro_winkler(&key, &normalise(name)))
                .fold(0.0, f64::max)
        };
        let mut gpus: Vec<(f64, &Gpu)> = self.gpus.iter().map(|g| (likeness(g), g)).collect();
        gpus.sort_by(|a, b| b.0.total_cmp(&a.0));
        let names = gpus.into_iter().map(|(_, gpu)| gpu.name.as_str());
        names.take(count).collect()
    }

    fn nearest(&self, key: &str) -> String {
        let distance = |name: &str| strsim::jaro_winkler(key, &normalise(name));
        let best = self.gpus.iter().flat_map(Gpu::names).max_by(|a, b| {
            // Equal likeness keeps the earlier name, as max_by would keep the later one.
            distance(a)
                .total_cmp(&distance(b))
                .then(std::cmp::Ordering::Greater)
        });
        best.unwrap_or_default().to_owned()
    }
}

/// Lower case, letters and digits only, without the vendor's and the brand's name.
fn normalise(name: &str) -> String {
    let plain: String = name
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    let short = plain.strip_prefix("nvidia").unwrap_or(&plain);
    short.strip_prefix("geforce").unwrap_or(short).to_owned()
}

fn join<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
#[path = "db_tests.rs"]
mod tests;
