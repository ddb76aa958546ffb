//! `sgemm`: C = A @ B + C, fp32, row-major; one product, or a batch of products of one size.
//!
//! | module | what it is for |
//! |---|---|
//! | `tiles` | which pipelined tiles, and how they are shared out: by a cost model |
//! | `slices` | for narrow and small products: how many blocks, whose warps take slices of k, compute a tile |
//! | `bulk` | for batches: a tile by a warp whose stages bulk tensor copies fill |
//! | `transposed` | for large products: what is copied first, so that bulk tensor copies bring k tiles |
//! | `products` | for batches of small products: which team of threads computes a whole one |
//! | `surplus` | FLOPs beyond the work model |
//!
//! Operands, work and verification are those of every matrix product ([`super::gemm`]).

mod bulk;
mod products;
mod slices;
mod surplus;
mod tiles;
mod transposed;

use super::gemm;
use super::gemm::check::{self, Arithmetic, Unit};
use super::gemm::layout::word;
use super::{
    Argument, Bench, Check, Kernel, KernelId, Launch, Library, OperandSpec, Problem, SizeKind,
    Surplus, Variant, stream,
};
use crate::device::{self, DeviceInfo, DeviceKind, Element};
use crate::roofline::work::{Work, WorkError};
use gpu_kernels::params::{
    BULK, NAIVE_TILE, PRODUCT_64, REGISTER_BLOCK, REGISTER_SHARED_BYTES, REGISTER_TILE, SLICED,
    TILED_SHARED_BYTES, TILED_TILE, VECTOR_ELEMENTS,
};

/// The kernel `sgemm`.
///
/// Verified twice, see [`check`]: exactly on small integers, and on the data that is
/// timed within a probabilistic bound. The error is absolute, per element of C.
pub struct Sgemm;

/// The variant that transposes A first.
const TRANSPOSED: &str = "transposed";

const CUDA: [Variant; 6] = [
    Variant {
        name: "naive",
        summary: "one thread an element, operands from global memory",
    },
    Variant {
        name: "tiled",
        summary: "32 x 32 tiles through shared memory",
    },
    Variant {
        name: "register",
        summary: "8 x 8 elements a thread in registers, 128 x 128 tiles",
    },
    Variant {
        name: "async",
        summary: "128 x 256 tiles, copies that run beside the arithmetic",
    },
    Variant {
        name: TRANSPOSED,
        summary: "the same tiles from a transpose of A that is made first; bulk copies bring them",
    },
    Variant {
        name: "auto",
        summary: "what a cost model chooses for the shape: tiles, of A as it lies or transposed, cut \
                  along k so that no multiprocessor idles; warps that share the k of a tile; for \
                  batches a warp a tile, fed by bulk copies; for small products a team of threads \
                  each",
    },
];

const CPU: [Variant; 1] = [Variant {
    name: "gemm",
    summary: "the crate `gemm` on every core",
}];

impl Kernel for Sgemm {
    fn id(&self) -> KernelId {
        KernelId::Sgemm
    }

    fn summary(&self) -> &'static str {
        "C = A @ B + C"
    }

    fn size_kind(&self) -> SizeKind {
        SizeKind::Matrix
    }

    fn betas(&self) -> &'static [bool] {
        &[true]
    }

    fn batches(&self) -> bool {
        true
    }

    fn variants(&self, device: DeviceKind) -> &'static [Variant] {
        match device {
            DeviceKind::Cuda | DeviceKind::Vm => &CUDA,
            DeviceKind::Cpu => &CPU,
        }
    }

    fn runs_on(&self, variant: &Variant, device: &DeviceInfo) -> bool {
        variant.name != TRANSPOSED || device.has_clusters()
    }

    fn default_sizes(&self, device: DeviceKind) -> &'static str {
        match device {
            // The fp32 ridge of a data-centre GPU lies near N = 100 to 200; 2360 is the
            // lecture's claim.
            DeviceKind::Cuda | DeviceKind::Vm => "16..2048,2360,4096,8192",
            DeviceKind::Cpu => "16..2048",
        }
    }

    fn quick_sizes(&self, device: DeviceKind) -> &'static str {
        match device {
            DeviceKind::Cuda | DeviceKind::Vm => "64,1024,4096",
            DeviceKind::Cpu => "32,256,1024",
        }
    }

    fn ragged_sizes(&self) -> &'static str {
        "1..5:+1,15..17:+1,31..33:+1,63..65:+1,127..129:+1,255..257:+1,300,513,1000,1025,\
         1x1x4097,1x4097x1,4097x1x1,3x5x7,17x33x65,129x65x257,257x129x31,2x1000x3,1000x3x2,\
         64x2048x512,1030x514x66,4096x64x4096,129x260x33,300x520x1000,640x1024x96,\
         2047x124x1020,8188x36x516"
    }

    fn counted_sizes(&self) -> &'static str {
        "256,129x257x65"
    }

    fn surplus(&self, problem: &Problem, info: &DeviceInfo) -> Surplus {
        surplus::of(problem, info)
    }

    fn work(&self, problem: &Problem, _: &DeviceInfo) -> Result<Work, WorkError> {
        gemm::work(problem, Element::F32)
    }

    fn operands(&self, problem: &Problem, _: &DeviceInfo) -> Result<Vec<OperandSpec>, WorkError> {
        gemm::operands(problem, Element::F32)
    }

    fn preparation(
        &self,
        problem: &Problem,
        info: &DeviceInfo,
        aligned: bool,
    ) -> Result<Vec<Launch>, String> {
        let products = Products::of(problem, aligned);
        match choice_or_why(problem.variant, products, info)? {
            Some(Choice::Tiles(choice)) if choice.copies_first() => {
                transposed::Layout::new(products, &choice).copies(info)
            }
            _ => Ok(Vec::new()),
        }
    }

    fn launch(&self, problem: &Problem, info: &DeviceInfo) -> Result<Launch, String> {
        launch(problem, Products::of(problem, true), info)
    }

    fn launch_unaligned(&self, problem: &Problem, info: &DeviceInfo) -> Result<Launch, String> {
        launch(problem, Products::of(problem, false), info)
    }

    fn library(&self) -> Option<Library> {
        Some(Library::Sgemm)
    }

    fn verify(&self, bench: &mut Bench<'_>) -> device::Result<Check> {
        let arithmetic = Arithmetic {
            unit: Unit::Fp32,
            seen: |value| value,
        };
        check::verify(bench, arithmetic)
    }
}

/// The products of a launch, as far as the choice of a kernel depends on them.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Products {
    /// m, n, k of each.
    sides: [u64; 3],
    /// How many.
    batch: u64,
    /// Whether A, B and C start on 16 bytes.
    aligned: bool,
}

impl Products {
    fn of(problem: &Problem, aligned: bool) -> Self {
        let (m, n, k) = problem.matrix();
        Products {
            sides: [m, n, k],
            batch: problem.form.batch,
            aligned,
        }
    }

    /// Whether every row of matrices with so many columns starts on 16 bytes, in every product.
    fn vectors(&self, columns: u64) -> bool {
        self.aligned && columns.is_multiple_of(u64::from(VECTOR_ELEMENTS))
    }

    /// Whether those of all operands do.
    fn all_vectors(&self) -> bool {
        let [_, n, k] = self.sides;
        self.vectors(n) && self.vectors(k)
    }

    /// Bytes of C that are read and written.
    fn c_bytes(&self) -> f64 {
        8.0 * self.sides[0] as f64 * self.sides[1] as f64 * self.batch as f64
    }
}

/// A kernel that was chosen by its cost.
enum Choice {
    /// Pipelined tiles.
    Tiles(tiles::Choice),
    /// Tiles whose warps take slices of k.
    Slices(slices::Choice),
    /// Tiles whose stages bulk tensor copies fill.
    Bulk(bulk::Choice),
    /// Teams that compute whole products.
    Teams(products::Choice),
}

/// How `async` and `auto` share out the products, if they fit; `None` for the other variants.
fn choice(variant: &str, products: Products, info: &DeviceInfo) -> Option<Choice> {
    match variant {
        "async" => tiles::whole(products, info).map(Choice::Tiles),
        TRANSPOSED => tiles::transposed(products, info).map(Choice::Tiles),
        "auto" => {
            let tiles =
                tiles::choose(products, info).map(|tiles| (tiles.cycles, Choice::Tiles(tiles)));
            let slices = slices::choose(products, info)
                .map(|slices| (slices.cycles, Choice::Slices(slices)));
            let bulk = bulk::choose(products, info).map(|bulk| (bulk.cycles, Choice::Bulk(bulk)));
            let teams = products::choose(products, info)
                // A warp with bulk copies beats the team of its tile's size wherever there is one.
                .filter(|teams| bulk.is_none() || teams.shape != PRODUCT_64)
                .map(|teams| (teams.cycles, Choice::Teams(teams)));
            let choices = [teams, slices, bulk, tiles].into_iter().flatten();
            choices
                .min_by(|(a, _), (b, _)| a.total_cmp(b))
                .map(|(_, choice)| choice)
        }
        _ => None,
    }
}

/// The same, and why `transposed` cannot be had.
fn choice_or_why(
    variant: &str,
    products: Products,
    info: &DeviceInfo,
) -> Result<Option<Choice>, String> {
    match choice(variant, products, info) {
        None if variant == TRANSPOSED => Err(format!(
            "{TRANSPOSED} needs compute capability 9.0, {} bytes of shared memory a block, and room for a \
             transpose of A, and a copy of B if its rows are not whole 16-byte units, beside the operands in \
             the {} bytes of the device",
            gpu_kernels::params::TRANSPOSED.shared_bytes(),
            info.memory_bytes
        )),
        choice => Ok(choice),
    }
}

/// The launch of a variant.
fn launch(problem: &Problem, products: Products, info: &DeviceInfo) -> Result<Launch, String> {
    let [m, n, _] = products.sides;
    let mut arguments = vec![
        Argument::Operand(0),
        Argument::Operand(1),
        Argument::Operand(2),
    ];
    for value in products.sides {
        arguments.push(word("a side", value)?);
    }
    match choice_or_why(problem.variant, products, info)? {
        Some(Choice::Tiles(choice)) => return pipelined(&choice, products, arguments),
        Some(Choice::Slices(choice)) => return sliced(&choice, arguments),
        Some(Choice::Bulk(choice)) => return bulk(&choice, products, arguments),
        Some(Choice::Teams(choice)) => return teams(&choice, products.batch, arguments),
        None => {}
    }
    let (entry, tile, block, shared_bytes) = match problem.variant {
        "naive" => ("sgemm_naive", NAIVE_TILE, [NAIVE_TILE; 2], 0),
        "register" => (
            "sgemm_register",
            REGISTER_TILE,
            [REGISTER_BLOCK, 1],
            REGISTER_SHARED_BYTES,
        ),
        // The pipelined kernels come here with sides beyond their 32-bit offsets.
        _ => (
            "sgemm_tiled",
            TILED_TILE,
            [TILED_TILE; 2],
            TILED_SHARED_BYTES,
        ),
    };
    let tiles = m.div_ceil(u64::from(tile)) * n.div_ceil(u64::from(tile));
    Ok(Launch {
        entry,
        grid: stream::grid(tiles.saturating_mul(products.batch))?,
        block,
        shared_bytes,
        arguments,
        ..Launch::PLAIN
    })
}

/// The launch of a pipelined kernel.
fn pipelined(
    choice: &tiles::Choice,
    products: Products,
    mut arguments: Vec<Argument>,
) -> Result<Launch, String> {
    let mut scratch_bytes = choice.parts_bytes();
    if choice.copies_first() {
        let layout = transposed::Layout::new(products, choice);
        scratch_bytes = layout.scratch_bytes;
        arguments.splice(..2, layout.maps());
    }
    for value in [choice.waves, choice.share, choice.extra] {
        arguments.push(Argument::U32(u32::try_from(value).map_err(|_| {
            format!("a share of {value} k tiles is more than a block counts")
        })?));
    }
    arguments.push(Argument::Scratch);
    Ok(Launch {
        entry: choice.entry,
        grid: stream::grid(choice.grid)?,
        block: [choice.shape.threads(), 1],
        cluster: choice.cluster,
        dependent: choice.copies_first(),
        shared_bytes: choice.shape.shared_bytes(),
        scratch_bytes,
        arguments,
    })
}

/// The launch of the kernel whose warps take slices of k.
fn sliced(choice: &slices::Choice, arguments: Vec<Argument>) -> Result<Launch, String> {
    Ok(Launch {
        entry: "sgemm_sliced",
        grid: stream::grid(choice.grid)?,
        block: [SLICED.threads(), 1],
        cluster: choice.cluster,
        shared_bytes: SLICED.shared_bytes(),
        arguments,
        ..Launch::PLAIN
    })
}

/// The launch of the kernel whose stages bulk tensor copies fill.
fn bulk(
    choice: &bulk::Choice,
    products: Products,
    arguments: Vec<Argument>,
) -> Result<Launch, String> {
    // C and the sides; A and B come by their maps.
    let others = arguments.into_iter().skip(2);
    Ok(Launch {
        entry: "sgemm_bulk",
        grid: stream::grid(choice.grid)?,
        block: [BULK.threads(), 1],
        shared_bytes: BULK.shared_bytes(),
        arguments: bulk::maps(products).into_iter().chain(others).collect(),
        ..Launch::PLAIN
    })
}

/// The launch of a kernel whose teams compute whole products.
fn teams(
    choice: &products::Choice,
    batch: u64,
    mut arguments: Vec<Argument>,
) -> Result<Launch, String> {
    let batch = u32::try_from(batch)
        .map_err(|_| format!("a batch of {batch} is more than the {} it takes", u32::MAX))?;
    arguments.push(Argument::U32(batch));
    Ok(Launch {
        entry: choice.entry,
        grid: stream::grid(choice.grid)?,
        block: [choice.shape.threads(), 1],
        shared_bytes: choice.shape.shared_bytes(),
        arguments,
        ..Launch::PLAIN
    })
}
