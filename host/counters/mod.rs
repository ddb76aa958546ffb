//! Counted bytes and FLOPs against the hardware's counters.
//!
//! The program runs itself under Nsight Compute, one launch of each [`Job`], and sets what the
//! work models count beside what the device counted: bytes read from and written to DRAM, each
//! for itself, and the operations of the fused multiply-adds and of the tensor cores.
//!
//! What a kernel wrote last is still in the L2 when it ends, so that fewer bytes written reach
//! DRAM than were counted: all of a small array, 24 MB of 1 GiB on an H200. So writes are judged
//! twice: those that reach the L2 must agree within [`TOLERANCE`], and those that reach DRAM must
//! agree likewise or lack no more than the L2 holds. Bytes are judged from [`JUDGED_BYTES`] an
//! array on, where caches no longer matter for reads.
//!
//! | module | what it is for |
//! |---|---|
//! | [`ncu`] | what `ncu --csv` prints, read back |

pub mod ncu;

use crate::device::{Device, DeviceError, DeviceInfo, DeviceKind, Result};
use crate::kernels::size::parse_sizes;
use crate::kernels::{Bench, Data, Form, KernelId, Problem, Size, bench};
use crate::roofline::pipe::Pipe;
use ncu::Profile;
use std::fmt;
use std::str::FromStr;

/// Largest relative difference between counted and counter.
pub const TOLERANCE: f64 = 0.02;

/// Bytes of an array from which the DRAM traffic is judged.
pub const JUDGED_BYTES: u64 = 1 << 30;

/// Bytes that DRAM delivered.
pub const DRAM_READ: &str = "dram__bytes_read.sum";
/// Bytes that DRAM took.
pub const DRAM_WRITE: &str = "dram__bytes_write.sum";
/// 32-byte sectors that the multiprocessors wrote to the L2.
pub const L2_WRITE: &str = "lts__t_sectors_srcunit_tex_op_write.sum";
/// Bytes of a sector of the L2.
const SECTOR_BYTES: f64 = 32.0;
/// Fused multiply-adds, fp32, of every thread.
pub const FFMA: &str = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum";
/// Additions, fp32.
pub const FADD: &str = "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum";
/// Multiplications, fp32.
pub const FMUL: &str = "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum";
/// Operations of the tensor cores by the type of their inputs. Not their instructions: the
/// compiler also moves constants with one of those.
pub const TENSOR: [&str; 3] = [
    "sm__ops_path_tensor_src_tf32_dst_fp32.sum",
    "sm__ops_path_tensor_src_bf16_dst_fp32.sum",
    "sm__ops_path_tensor_src_fp16.sum",
];
/// DRAM throughput over its peak, in percent: the memory side of the roofline.
pub const DRAM_PERCENT: &str = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed";
/// Throughput of the busiest unit of the multiprocessors over its peak, in percent.
pub const SM_PERCENT: &str = "sm__throughput.avg.pct_of_peak_sustained_elapsed";

/// What is collected.
pub const METRICS: [&str; 11] = [
    DRAM_READ,
    DRAM_WRITE,
    L2_WRITE,
    FFMA,
    FADD,
    FMUL,
    TENSOR[0],
    TENSOR[1],
    TENSOR[2],
    DRAM_PERCENT,
    SM_PERCENT,
];

/// One launch that is profiled, written `kernel:variant:size`.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Kernel.
    pub kernel: KernelId,
    /// Name of its variant.
    pub variant: &'static str,
    /// Size.
    pub size: Size,
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.kernel.name(), self.variant, self.size)
    }
}

impl FromStr for Job {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let wrong = || format!("`{text}` is no launch; the form is kernel:variant:size");
        let mut parts = text.split(':');
        let (Some(kernel), Some(variant), Some(size), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(wrong());
        };
        let kernel = KernelId::ALL
            .into_iter()
            .find(|id| id.name() == kernel)
            .ok_or_else(wrong)?;
        let entry = kernel.kernel();
        let variant = entry
            .variants(DeviceKind::Cuda)
            .iter()
            .find(|known| known.name == variant)
            .ok_or_else(wrong)?;
        let sizes = parse_sizes(size, entry.size_kind()).map_err(|error| error.to_string())?;
        match sizes.as_slice() {
            [size] => Ok(Job {
                kernel,
                variant: variant.name,
                size: *size,
            }),
            _ => Err(wrong()),
        }
    }
}

impl Job {
    fn problem(&self, seed: u64) -> Problem {
        Problem {
            kernel: self.kernel,
            variant: self.variant,
            size: self.size,
            form: Form::default(),
            seed,
            data: Data::Random,
        }
    }

    /// Runs the launch once.
    ///
    /// # Errors
    /// The device's error.
    pub fn run(&self, device: &mut dyn Device, seed: u64) -> Result<()> {
        let mut bench = Bench::new(device, self.problem(seed))?;
        bench.fill(Data::Random)?;
        let ran = bench.run();
        device.release_all();
        ran
    }

    /// Whether its operands fit in the device's memory.
    pub fn fits(&self, info: &DeviceInfo) -> bool {
        // Some of it is taken by the context and by the profiler.
        const USABLE: f64 = 0.9;
        bench::bytes_needed(&self.problem(0), info, true)
            .is_ok_and(|bytes| bytes as f64 <= USABLE * info.memory_bytes as f64)
    }

    /// What the work model counts.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] for a size that cannot be launched here.
    pub fn counted(&self, info: &DeviceInfo) -> Result<Counted> {
        let problem = self.problem(0);
        let kernel = self.kernel.kernel();
        let uncountable =
            |error: crate::roofline::work::WorkError| DeviceError::Unsupported(error.to_string());
        let work = kernel.work(&problem, info).map_err(uncountable)?;
        let (read, written) = bench::bytes_moved(&problem, info).map_err(uncountable)?;
        let launch = kernel
            .launch(&problem, info)
            .map_err(DeviceError::Unsupported)?;
        let streams = matches!(
            self.kernel,
            KernelId::Copy | KernelId::Saxpy | KernelId::Triad | KernelId::Mix
        );
        Ok(Counted {
            entry: launch.entry,
            read,
            written,
            flops: work.flops,
            fp32: kernel.pipe() == Pipe::Fp32,
            judge_bytes: streams && 4 * problem.elements() >= JUDGED_BYTES,
            cache_bytes: info.cache_bytes,
        })
    }
}

/// The launches that are profiled: every streaming variant at [`JUDGED_BYTES`] an array, the
/// fastest also at smaller sizes and at four times that; the peak kernel; mix at three intensities;
/// every variant of the matrix product.
pub fn jobs() -> Vec<Job> {
    let mut jobs = Vec::new();
    for kernel in KernelId::ALL {
        let sizes: &[Size] = match kernel {
            KernelId::Copy | KernelId::Saxpy | KernelId::Triad => &[
                Size::Elements(1 << 20),
                Size::Elements(1 << 24),
                Size::Elements(JUDGED_BYTES),
                Size::Elements(JUDGED_BYTES / 4),
            ],
            KernelId::Fma => &[Size::Elements(1 << 14)],
            // Left of the ridge point, about it, and right of it.
            KernelId::Mix => &[
                Size::Mixed {
                    n: JUDGED_BYTES / 4,
                    fmas: 4,
                },
                Size::Mixed {
                    n: JUDGED_BYTES / 4,
                    fmas: 64,
                },
                Size::Mixed {
                    n: JUDGED_BYTES / 4,
                    fmas: 512,
                },
            ],
            _ => &[Size::Matrix {
                m: 2048,
                n: 2048,
                k: 2048,
            }],
        };
        let variants = kernel.kernel().variants(DeviceKind::Cuda);
        for (index, variant) in variants.iter().enumerate() {
            // The slower variants at the judged size only; those of the peak kernel that are slow
            // on purpose not at all.
            let from = match (index + 1 == variants.len(), kernel) {
                (true, _) => 0,
                (false, KernelId::Fma) => sizes.len(),
                (false, _) => sizes.len() - 1,
            };
            jobs.extend(sizes[from..].iter().map(|&size| Job {
                kernel,
                variant: variant.name,
                size,
            }));
        }
    }
    jobs
}

/// Arguments of `ncu` before the program to be profiled.
///
/// The clocks stay as the card has them: this program changes no settings.
pub fn ncu_arguments(entries: &[&str]) -> Vec<String> {
    vec![
        "--clock-control".to_owned(),
        "none".to_owned(),
        "--csv".to_owned(),
        "--print-units".to_owned(),
        "base".to_owned(),
        "--metrics".to_owned(),
        METRICS.join(","),
        "--kernel-name".to_owned(),
        format!("regex:^({})$", entries.join("|")),
    ]
}

/// What the work model counts for one launch.
#[derive(Debug, Clone, PartialEq)]
pub struct Counted {
    /// Entry of the PTX.
    pub entry: &'static str,
    /// Compulsory bytes read.
    pub read: u64,
    /// Compulsory bytes written.
    pub written: u64,
    /// Operations.
    pub flops: u64,
    /// Whether the fp32 units do them.
    pub fp32: bool,
    /// Whether the bytes are judged: a streaming kernel on large arrays.
    pub judge_bytes: bool,
    /// Bytes of the L2.
    pub cache_bytes: Option<u64>,
}

/// A launch beside its counters.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// The launch.
    pub job: Job,
    /// What was counted.
    pub counted: Counted,
    /// Bytes that DRAM delivered.
    pub dram_read: Option<f64>,
    /// Bytes that DRAM took.
    pub dram_written: Option<f64>,
    /// Bytes that the L2 took.
    pub l2_written: Option<f64>,
    /// Operations of the fp32 units, a fused multiply-add counting as two.
    pub fp32_flops: Option<f64>,
    /// Operations of the tensor cores.
    pub tensor_flops: Option<f64>,
    /// DRAM throughput over its peak, 0 to 1.
    pub dram_fraction: Option<f64>,
    /// Multiprocessor throughput over its peak, 0 to 1.
    pub sm_fraction: Option<f64>,
    /// What does not agree; empty if all that is judged does.
    pub failures: Vec<String>,
}

/// Sets each launch beside its counters.
///
/// # Errors
/// Why the profiles are not those of the launches.
pub fn compare(
    launches: Vec<(Job, Counted)>,
    profiles: &[Profile],
) -> std::result::Result<Vec<Compared>, String> {
    if launches.len() != profiles.len() {
        return Err(format!(
            "{} launches were profiled, {} were planned",
            profiles.len(),
            launches.len()
        ));
    }
    launches
        .into_iter()
        .zip(profiles)
        .map(|((job, counted), profile)| {
            if profile.kernel == counted.entry {
                Ok(compare_one(job, counted, profile))
            } else {
                Err(format!(
                    "`{}` was profiled where `{}` was to run",
                    profile.kernel, counted.entry
                ))
            }
        })
        .collect()
}

fn compare_one(job: Job, counted: Counted, profile: &Profile) -> Compared {
    let [read, written] = [DRAM_READ, DRAM_WRITE].map(|name| profile.metric(name));
    let fp32_flops = [(FFMA, 2.0), (FADD, 1.0), (FMUL, 1.0)]
        .into_iter()
        .try_fold(0.0, |sum, (name, flops)| {
            Some(sum + flops * profile.metric(name)?)
        });
    let tensor_flops = TENSOR
        .into_iter()
        .filter_map(|name| profile.metric(name))
        .reduce(|sum, flops| sum + flops);
    let l2_written = profile
        .metric(L2_WRITE)
        .map(|sectors| sectors * SECTOR_BYTES);
    let mut failures = Vec::new();
    if counted.judge_bytes {
        failures.extend(differs("bytes read from DRAM", counted.read, read));
        failures.extend(differs(
            "bytes written to the L2",
            counted.written,
            l2_written,
        ));
        let held = written.map_or(f64::INFINITY, |dram| counted.written as f64 - dram);
        let cache = counted.cache_bytes.unwrap_or(0) as f64;
        if !(0.0..=cache).contains(&held) {
            failures.extend(differs("bytes written to DRAM", counted.written, written));
        }
    }
    if counted.fp32 {
        failures.extend(differs(
            "FLOPs of the fp32 units",
            counted.flops,
            fp32_flops,
        ));
        if let Some(tensor) = tensor_flops.filter(|&flops| flops > 0.0) {
            failures.push(format!(
                "{tensor:.4e} FLOPs of the tensor cores in a kernel of the fp32 units"
            ));
        }
    } else {
        failures.extend(differs(
            "FLOPs of the tensor cores",
            counted.flops,
            tensor_flops,
        ));
    }
    Compared {
        job,
        counted,
        dram_read: read,
        dram_written: written,
        l2_written,
        fp32_flops,
        tensor_flops,
        dram_fraction: profile.metric(DRAM_PERCENT).map(|percent| percent / 100.0),
        sm_fraction: profile.metric(SM_PERCENT).map(|percent| percent / 100.0),
        failures,
    }
}

/// What to say if a counter differs by more than [`TOLERANCE`] from what was counted.
fn differs(what: &str, counted: u64, counter: Option<f64>) -> Option<String> {
    let Some(counter) = counter else {
        return Some(format!("{what}: ncu has no counter for them here"));
    };
    let expected = counted as f64;
    if (counter - expected).abs() <= TOLERANCE * expected {
        return None;
    }
    Some(match counted {
        0 => format!("{what}: none counted, {counter:.4e} by the counters"),
        _ => format!(
            "{what}: counters {:+.1} % from the {counted} counted",
            100.0 * (counter / expected - 1.0)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy() -> (Job, Counted) {
        let job: Job = "copy:vector:268435456".parse().unwrap();
        let counted = Counted {
            entry: "copy_vector",
            read: 1 << 30,
            written: 1 << 30,
            flops: 0,
            fp32: true,
            judge_bytes: true,
            cache_bytes: Some(60 << 20),
        };
        (job, counted)
    }

    /// Bytes read from DRAM, written to the L2 and to DRAM; FFMAs; tensor FLOPs.
    fn profile(read: f64, l2: f64, dram: f64, ffma: f64, tensor: f64) -> Profile {
        let metrics = [
            (DRAM_READ, read),
            (L2_WRITE, l2 / SECTOR_BYTES),
            (DRAM_WRITE, dram),
            (FFMA, ffma),
            (FADD, 0.0),
            (FMUL, 0.0),
            (TENSOR[0], tensor),
        ];
        Profile {
            kernel: "copy_vector".to_owned(),
            metrics: metrics
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        }
    }

    fn failures(profile: Profile) -> Vec<String> {
        compare(vec![copy()], &[profile]).unwrap()[0]
            .failures
            .clone()
    }

    const GIB: f64 = (1u64 << 30) as f64;

    #[test]
    fn reads_and_writes_are_judged_apart() {
        assert!(failures(profile(1.019 * GIB, 0.981 * GIB, GIB, 0.0, 0.0)).is_empty());
        // Together they would agree to the byte.
        let apart = failures(profile(1.05 * GIB, 0.95 * GIB, GIB, 0.0, 0.0));
        assert_eq!(apart.len(), 2, "{apart:?}");
        assert!(apart[0].contains("read from DRAM: counters +5.0 %"));
        assert!(apart[1].contains("written to the L2: counters -5.0 %"));
    }

    #[test]
    fn writes_may_lack_what_the_cache_holds_and_no_more() {
        let mib = f64::from(1 << 20);
        assert!(failures(profile(GIB, GIB, GIB - 59.0 * mib, 0.0, 0.0)).is_empty());
        let lost = failures(profile(GIB, GIB, GIB - 61.0 * mib, 0.0, 0.0));
        assert!(
            lost[0].contains("written to DRAM: counters -6.0 %"),
            "{lost:?}"
        );
        let twice = failures(profile(GIB, GIB, 1.03 * GIB, 0.0, 0.0));
        assert!(
            twice[0].contains("written to DRAM: counters +3.0 %"),
            "{twice:?}"
        );
    }

    #[test]
    fn operations_that_were_not_counted_fail() {
        let ffma = failures(profile(GIB, GIB, GIB, 1e6, 0.0));
        assert!(ffma[0].contains("none counted"), "{ffma:?}");
        let tensor = failures(profile(GIB, GIB, GIB, 0.0, 8.0));
        assert!(tensor[0].contains("tensor cores in a kernel"), "{tensor:?}");
    }

    #[test]
    fn a_counter_that_is_missing_is_no_agreement() {
        let mut profile = profile(GIB, GIB, GIB, 0.0, 0.0);
        profile.metrics.remove(DRAM_READ);
        let found = failures(profile);
        assert!(found[0].contains("no counter"), "{found:?}");
    }

    #[test]
    fn small_arrays_are_shown_and_not_judged() {
        let (job, mut counted) = copy();
        counted.judge_bytes = false;
        let shown = compare(vec![(job, counted)], &[profile(0.0, 0.0, 0.0, 0.0, 0.0)]).unwrap();
        assert!(shown[0].failures.is_empty());
    }

    #[test]
    fn profiles_of_other_launches_are_refused() {
        let other = Profile {
            kernel: "fill_bits".to_owned(),
            ..profile(0.0, 0.0, 0.0, 0.0, 0.0)
        };
        assert!(compare(vec![copy()], &[other]).is_err());
        assert!(compare(vec![copy()], &[]).is_err());
    }

    #[test]
    fn jobs_read_back_as_written() {
        let jobs = jobs();
        for job in &jobs {
            assert_eq!(job.to_string().parse::<Job>().as_ref(), Ok(job));
        }
        let judged = |job: &&Job| job.size == Size::Elements(JUDGED_BYTES / 4);
        // Every variant of the three streaming kernels.
        assert_eq!(jobs.iter().filter(judged).count(), 6);
        for wrong in [
            "copy",
            "copy:vector",
            "copy:vector:1,2",
            "copy:x:1",
            "a:b:1",
            "copy:vector:1:2",
        ] {
            assert!(wrong.parse::<Job>().is_err(), "{wrong}");
        }
    }
}
