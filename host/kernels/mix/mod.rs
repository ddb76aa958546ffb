//! `mix`: y = x through R fused multiply-adds an element: a kernel of any intensity.
//!
//! | module | what it is for |
//! |---|---|
//! | `share` | which parts of the arrays fall to which block |

mod share;

use self::share::Share;
use super::fma::Chain;
use super::verify::{Reference, elementwise};
use super::{
    Argument, Bench, Check, Kernel, KernelId, Launch, OperandSpec, Problem, Role, SizeKind,
    Variant, stream,
};
use crate::device::{self, DeviceInfo, DeviceKind, Element};
use crate::roofline::work::{self, Work, WorkError};
use gpu_kernels::params::{MIX_RING_SHARED_BYTES, MIX_VECTORS, STREAM_BLOCK};
use gpu_kernels::random::uniform;

/// The kernel `mix`. Its size is a number of elements and the FMAs of each, R: an intensity of R/4
/// FLOP/byte.
///
/// Verified element by element against the closed form of a [`Chain`] in f64, within its bound;
/// with R = 0 it is a copy, and the bound is 0.
pub struct Mix;

const CUDA: [Variant; 3] = [
    Variant {
        name: "vector",
        summary: "16-byte accesses, eight chains a thread, many short blocks",
    },
    Variant {
        name: "ring",
        summary: "copies run ahead of sixteen chains a thread",
    },
    Variant {
        name: "auto",
        summary: "vector where memory is the limit by far, else ring",
    },
];

const CPU: [Variant; 1] = [Variant {
    name: "simd",
    summary: "independent chains in the widest vectors, every core on its own part of the arrays",
}];

/// FMAs an element up to which short blocks, that only load and store, keep memory busier than
/// those with a ring: on an H200 4.29 against 3.99 TB/s at 32, 3.96 both at 40.
const VECTOR_MOST_FMAS: u32 = 32;

impl Kernel for Mix {
    fn id(&self) -> KernelId {
        KernelId::Mix
    }

    fn summary(&self) -> &'static str {
        "y = x, R times r = r * a + b"
    }

    fn size_kind(&self) -> SizeKind {
        SizeKind::Mixed
    }

    fn variants(&self, device: DeviceKind) -> &'static [Variant] {
        match device {
            DeviceKind::Cuda | DeviceKind::Vm => &CUDA,
            DeviceKind::Cpu => &CPU,
        }
    }

    fn default_sizes(&self, device: DeviceKind) -> &'static str {
        match device {
            DeviceKind::Cuda | DeviceKind::Vm => "256Mi",
            DeviceKind::Cpu => "64Mi",
        }
    }

    fn quick_sizes(&self, device: DeviceKind) -> &'static str {
        match device {
            DeviceKind::Cuda | DeviceKind::Vm => "256Mi@0,256Mi@0.25..256:x2",
            DeviceKind::Cpu => "16Mi@0,16Mi@0.25..256:x4",
        }
    }

    fn ragged_sizes(&self) -> &'static str {
        // Around vectors, blocks and sets, with whole turns of the unrolled loop, every part of its
        // rest, and both; the last has several sets for every block of a large GPU.
        "1..5:+1@7.75,31@0,32@0.25,33@8,127@8.25,511@15.75,512@16,513@0.75,1000@250,1023@1.5,\
         1024@2.25,1025@255.75,2047@0.5,2048@16,4097@256,65537@3,1000003@0.5,1048577@8.5,4194305@1"
    }

    fn counted_sizes(&self) -> &'static str {
        // Whole blocks, and a part of a vector more than that.
        "64Ki@0,64Ki@8,100003@0.25,100003@15.75"
    }

    fn work(&self, problem: &Problem, _: &DeviceInfo) -> Result<Work, WorkError> {
        work::mix(problem.elements(), problem.fmas())
    }

    fn operands(&self, problem: &Problem, _: &DeviceInfo) -> Result<Vec<OperandSpec>, WorkError> {
        let elements = problem.elements();
        Ok(vec![
            OperandSpec {
                name: "x",
                role: Role::In,
                elements,
                element: Element::F32,
            },
            OperandSpec {
                name: "y",
                role: Role::Out,
                elements,
                element: Element::F32,
            },
        ])
    }

    fn launch(&self, problem: &Problem, device: &DeviceInfo) -> Result<Launch, String> {
        let elements = problem.elements();
        let fmas = u32::try_from(problem.fmas())
            .map_err(|_| format!("mix takes at most {} FMAs an element", u32::MAX))?;
        let mut arguments = vec![
            Argument::Operand(0),
            Argument::Operand(1),
            Argument::U64(elements),
            Argument::U32(fmas),
        ];
        let one_shot = match problem.variant {
            "vector" => true,
            "ring" => false,
            _ => fmas <= VECTOR_MOST_FMAS,
        };
        if one_shot {
            return stream::one_shot("mix_vector", elements, MIX_VECTORS, arguments);
        }
        let share = Share::new(share::sets(elements)?, device);
        arguments.push(Argument::U32(share.span));
        Ok(Launch {
            entry: "mix_ring",
            grid: share.grid,
            block: [STREAM_BLOCK, 1],
            shared_bytes: MIX_RING_SHARED_BYTES,
            arguments,
            ..Launch::PLAIN
        })
    }

    fn verify(&self, bench: &mut Bench<'_>) -> device::Result<Check> {
        // Random whatever is timed: a chain that starts from 0 hides an element read elsewhere.
        bench.fill(super::Data::Random)?;
        bench.run()?;
        let seed = bench.problem.operand_seed(0);
        let chain = Chain::of(bench.problem.fmas());
        elementwise(bench, 1, |i| Reference {
            value: chain.end(f64::from(uniform(seed, i))),
            bound: chain.bound(),
        })
    }
}
