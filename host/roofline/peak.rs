//! Peak rates computed from device attributes, factor by factor.
//!
//! The arithmetic peak is SMs x cores per SM x operations per core and cycle x clock; the
//! memory peak is bus width x transfers per cycle x memory clock. Both differ from the
//! datasheet by a few percent where the vendor assumes another clock, so a peak always comes
//! with its derivation.

use std::fmt;
use std::str::FromStr;

use super::pipe::Pipe;
use super::units::{grouped, significant};

/// FLOPs of a fused multiply-add.
pub const FLOPS_PER_FMA: f64 = 2.0;
/// Transfers per cycle of the memory clock that the driver reports (double data rate). Holds
/// for HBM and GDDR alike: the driver gives GDDR6X and GDDR7 a clock that is half their
/// transfer rate.
pub const TRANSFERS_PER_CYCLE: f64 = 2.0;

/// A CUDA compute capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ComputeCapability {
    /// Major version.
    pub major: u32,
    /// Minor version.
    pub minor: u32,
}

impl ComputeCapability {
    /// A compute capability of its two parts.
    #[must_use]
    pub const fn new(major: u32, minor: u32) -> Self {
        ComputeCapability { major, minor }
    }
}

impl fmt::Display for ComputeCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A text that is not a compute capability.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a compute capability")]
pub struct NotACapability(String);

impl FromStr for ComputeCapability {
    type Err = NotACapability;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let parts = s.trim().split_once('.');
        let parsed = parts.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        match parsed {
            Some((major, minor)) => Ok(ComputeCapability { major, minor }),
            None => Err(NotACapability(s.to_owned())),
        }
    }
}

/// What a driver reports of a device, as far as peaks need it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attributes {
    /// Compute capability.
    pub compute_capability: ComputeCapability,
    /// Streaming multiprocessors.
    pub sms: u32,
    /// Maximum SM clock, Hz.
    pub sm_clock_hz: f64,
    /// Memory bus width, bits; `None` where the driver does not say.
    pub memory_bus_bits: Option<u32>,
    /// Maximum memory clock, Hz; `None` where the driver does not say.
    pub memory_clock_hz: Option<f64>,
}

/// A peak and the factors whose product it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Derivation {
    /// The product, in `unit`.
    pub value: f64,
    /// `FLOP/s` or `byte/s`.
    pub unit: &'static str,
    /// Each factor with its name, in order.
    pub factors: Vec<(&'static str, f64)>,
}

impl Derivation {
    fn of(unit: &'static str, factors: Vec<(&'static str, f64)>) -> Self {
        Derivation {
            value: factors.iter().map(|f| f.1).product(),
            unit,
            factors,
        }
    }
}

impl fmt::Display for Derivation {
    /// `132 SMs x 128 cores per SM x 2 FLOPs per FMA x 1.98e9 Hz = 6.6908e13 FLOP/s`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, value)) in self.factors.iter().enumerate() {
            let times = if i == 0 { "" } else { " x " };
            if *value >= 1e6 {
                write!(f, "{times}{value:e} {name}")?;
            } else {
                write!(f, "{times}{} {name}", significant(*value, 6))?;
            }
        }
        write!(f, " = {:.4e} {}", self.value, self.unit)
    }
}

/// Why a peak cannot be computed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PeakError {
    /// The number of cores per SM is not known for the compute capability.
    #[error(
        "no {pipe} throughput per SM is known for compute capability {capability}; give the peak with --spec FILE"
    )]
    UnknownThroughput {
        /// The pipe.
        pipe: Pipe,
        /// The compute capability.
        capability: ComputeCapability,
    },
    /// The driver does not report an attribute.
    #[error(
        "the driver does not report the {0}; give memory_bandwidth_byte_per_s with --spec FILE"
    )]
    Missing(&'static str),
}

/// fp32 cores per SM. `None` for a compute capability that is not known: a wrong guess would
/// double or halve every percentage.
///
/// Source: CUDA C++ Programming Guide, throughput of native arithmetic instructions ("32-bit
/// floating-point add, multiply, multiply-add", results per clock cycle per SM).
#[must_use]
pub fn fp32_cores_per_sm(capability: ComputeCapability) -> Option<u32> {
    match (capability.major, capability.minor) {
        (7, 0 | 2 | 5) | (8, 0) => Some(64),
        (8, 6 | 7 | 9) | (9, 0) | (10, 0 | 3) | (12, 0 | 1) => Some(128),
        _ => None,
    }
}

/// Dense FLOPs per SM and cycle of a tensor pipe, for the data-center parts whose rate is one
/// per compute capability. Ada and GeForce parts share capabilities and differ in rate: `None`.
///
/// Source: the architecture whitepapers' FMAs per tensor core and clock, times tensor cores
/// per SM, times 2 (V100: 64 x 8 x 2; A100: 256 x 4 x 2; H100: 512 x 4 x 2).
#[must_use]
pub fn tensor_flops_per_sm_cycle(capability: ComputeCapability, pipe: Pipe) -> Option<f64> {
    let fp16 = match (capability.major, capability.minor) {
        (7, 0) if pipe == Pipe::Fp16 => return Some(1024.0),
        (8, 0) => 2048.0,
        (9, 0) => 4096.0,
        _ => return None,
    };
    match pipe {
        Pipe::Bf16 | Pipe::Fp16 => Some(fp16),
        Pipe::Tf32 => Some(fp16 / 2.0),
        Pipe::Int8 => Some(fp16 * 2.0),
        Pipe::Fp8 if capability.major >= 9 => Some(fp16 * 2.0),
        Pipe::Fp64Tensor => Some(fp16 / 16.0),
        _ => None,
    }
}

/// The fp32 peak of the CUDA cores.
///
/// # Errors
/// [`PeakError::UnknownThroughput`] for an unknown compute capability.
pub fn fp32_peak(a: &Attributes) -> Result<Derivation, PeakError> {
    let capability = a.compute_capability;
    let cores = fp32_cores_per_sm(capability).ok_or(PeakError::UnknownThroughput {
        pipe: Pipe::Fp32,
        capability,
    })?;
    Ok(Derivation::of(
        "FLOP/s",
        vec![
            ("SMs", f64::from(a.sms)),
            ("cores per SM", f64::from(cores)),
            ("FLOPs per FMA", FLOPS_PER_FMA),
            ("Hz", a.sm_clock_hz),
        ],
    ))
}

/// The peak of any pipe whose throughput per SM is known.
///
/// # Errors
/// [`PeakError::UnknownThroughput`] where it is not.
pub fn peak(a: &Attributes, pipe: Pipe) -> Result<Derivation, PeakError> {
    if pipe == Pipe::Fp32 {
        return fp32_peak(a);
    }
    let capability = a.compute_capability;
    let per_sm = tensor_flops_per_sm_cycle(capability, pipe)
        .ok_or(PeakError::UnknownThroughput { pipe, capability })?;
    Ok(Derivation::of(
        "FLOP/s",
        vec![
            ("SMs", f64::from(a.sms)),
            ("FLOPs per SM and cycle", per_sm),
            ("Hz", a.sm_clock_hz),
        ],
    ))
}

/// The memory peak: bus width in bytes x transfers per cycle x memory clock.
///
/// # Errors
/// [`PeakError::Missing`] if the driver does not report the bus width or the clock.
pub fn memory_peak(a: &Attributes) -> Result<Derivation, PeakError> {
    let bits = a
        .memory_bus_bits
        .ok_or(PeakError::Missing("memory bus width"))?;
    let clock = a
        .memory_clock_hz
        .ok_or(PeakError::Missing("memory clock"))?;
    Ok(Derivation::of(
        "byte/s",
        vec![
            ("bytes of bus", f64::from(bits) / 8.0),
            ("transfers per cycle", TRANSFERS_PER_CYCLE),
            ("Hz", clock),
        ],
    ))
}

/// The rate at which an L2 serves reads: bytes per cycle of the SM clock x that clock in Hz.
///
/// That it is the SM clock follows from NVIDIA's two statements on the A100, 5120 bytes a cycle
/// against the V100's 2048, and 2.3 times its L2 read bandwidth: 2.5 x 1.41 GHz / 1.53 GHz.
#[must_use]
pub fn l2_read_peak(bytes_per_cycle: u32, sm_clock_hz: f64) -> Derivation {
    Derivation::of(
        "byte/s",
        vec![
            ("bytes per cycle", f64::from(bytes_per_cycle)),
            ("Hz", sm_clock_hz),
        ],
    )
}

/// A published rate read backwards: what each SM must do per cycle at a clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backwards {
    /// FLOPs per cycle of the whole device.
    pub flops_per_cycle: f64,
    /// FLOPs per SM and cycle.
    pub flops_per_sm_cycle: f64,
    /// FMAs per SM and cycle.
    pub fmas_per_sm_cycle: f64,
}

/// Reads a published rate (FLOP/s) backwards at a clock (Hz).
///
/// For H100 BF16 at its 1.98 GHz boost clock this gives 3,784 FLOPs per SM and cycle, which
/// no hardware does: see [`implied_clock`].
#[must_use]
pub fn read_backwards(flop_per_s: f64, sms: u32, clock_hz: f64) -> Backwards {
    let flops_per_cycle = flop_per_s / clock_hz;
    let flops_per_sm_cycle = flops_per_cycle / f64::from(sms);
    Backwards {
        flops_per_cycle,
        flops_per_sm_cycle,
        fmas_per_sm_cycle: flops_per_sm_cycle / FLOPS_PER_FMA,
    }
}

/// The clock (Hz) that a published rate assumes, given what the hardware does per SM and
/// cycle: 1.83 GHz for H100 BF16 (989.4e12 over 132 x 4,096), below the boost clock.
#[must_use]
pub fn implied_clock(flop_per_s: f64, sms: u32, flops_per_sm_cycle: f64) -> f64 {
    flop_per_s / (f64::from(sms) * flops_per_sm_cycle)
}

/// The backwards reading in words, for people: both per-SM figures, and the clock of each.
#[must_use]
pub fn explain_backwards(
    pipe: Pipe,
    flop_per_s: f64,
    sms: u32,
    boost_hz: f64,
    hardware: f64,
) -> String {
    let seen = read_backwards(flop_per_s, sms, boost_hz);
    let clock = implied_clock(flop_per_s, sms, hardware);
    format!(
        "{pipe}: {flop_per_s:.4e} FLOP/s at the boost clock of {} GHz would be {} FLOPs per SM \
         and cycle; the hardware does {}, so the published rate assumes {} GHz",
        significant(boost_hz / 1e9, 4),
        grouped(seen.flops_per_sm_cycle.round() as u64),
        grouped(hardware as u64),
        significant(clock / 1e9, 3),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As an H200 reports itself to driver 580.
    const H200: Attributes = Attributes {
        compute_capability: ComputeCapability::new(9, 0),
        sms: 132,
        sm_clock_hz: 1.98e9,
        memory_bus_bits: Some(6016),
        memory_clock_hz: Some(3.201e9),
    };

    #[test]
    fn cores_per_sm_by_compute_capability() {
        let cores = |major, minor| fp32_cores_per_sm(ComputeCapability::new(major, minor));
        assert_eq!((cores(7, 0), cores(8, 0)), (Some(64), Some(64)));
        for (major, minor) in [(8, 6), (8, 9), (9, 0), (10, 0), (12, 0)] {
            assert_eq!(cores(major, minor), Some(128), "{major}.{minor}");
        }
        assert_eq!(cores(13, 0), None);
    }

    #[test]
    fn a_peak_is_the_product_of_its_factors_and_prints_them() {
        let peak = fp32_peak(&H200).unwrap();
        assert_eq!(peak.value, 132.0 * 128.0 * 2.0 * 1.98e9);
        assert_eq!(
            peak.to_string(),
            "132 SMs x 128 cores per SM x 2 FLOPs per FMA x 1.98e9 Hz = 6.6908e13 FLOP/s"
        );
    }

    #[test]
    fn h200_bandwidth_from_attributes_is_within_a_percent_of_the_datasheet() {
        let peak = memory_peak(&H200).unwrap();
        assert_eq!(peak.value, 752.0 * 2.0 * 3.201e9);
        assert!((peak.value / 4.8e12 - 1.0).abs() < 0.01);
        assert_eq!(peak.unit, "byte/s");
    }

    #[test]
    fn tensor_peaks_of_a100_and_v100_meet_the_datasheet() {
        let a100 = Attributes {
            compute_capability: ComputeCapability::new(8, 0),
            sms: 108,
            sm_clock_hz: 1.41e9,
            ..H200
        };
        for (pipe, datasheet) in [
            (Pipe::Bf16, 312e12),
            (Pipe::Tf32, 156e12),
            (Pipe::Int8, 624e12),
            (Pipe::Fp64Tensor, 19.5e12),
        ] {
            let off = peak(&a100, pipe).unwrap().value / datasheet - 1.0;
            assert!(off.abs() < 0.01, "{pipe}: {off}");
        }
        let volta = ComputeCapability::new(7, 0);
        let v100 = Attributes {
            compute_capability: volta,
            sms: 80,
            sm_clock_hz: 1.53e9,
            ..H200
        };
        assert!((peak(&v100, Pipe::Fp16).unwrap().value / 125e12 - 1.0).abs() < 0.01);
        assert!(peak(&v100, Pipe::Bf16).is_err());
    }

    #[test]
    fn what_is_not_known_is_an_error_that_says_what_to_do() {
        let unknown = Attributes {
            compute_capability: ComputeCapability::new(13, 0),
            ..H200
        };
        let message = fp32_peak(&unknown).unwrap_err().to_string();
        assert!(
            message.contains("13.0") && message.contains("--spec"),
            "{message}"
        );
        assert!(peak(&H200, Pipe::Fp4).is_err());
        let blind = Attributes {
            memory_clock_hz: None,
            ..H200
        };
        assert_eq!(memory_peak(&blind), Err(PeakError::Missing("memory clock")));
    }

    #[test]
    fn capabilities_order_by_number_and_refuse_nonsense() {
        let parse = |s: &str| s.parse::<ComputeCapability>();
        assert!(parse("10.0").unwrap() > parse("9.0").unwrap());
        for bad in ["9", "nine.zero", "9.0.1", "", "-9.0"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
