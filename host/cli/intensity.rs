//! `rooftrace intensity`: FLOPs, bytes and arithmetic intensity of a kernel, and with a GPU
//! where that lies on its roofline.

use std::io::Write;

use super::render::{Cell, Column, CommandError, Common, Format, Sheet};
use crate::roofline::peak::Derivation;
use crate::roofline::units::{engineering, grouped, significant};
use crate::roofline::work::{self, GemmShape, GemmStorage, Work};
use crate::roofline::{Pipe, Roofline};
use gpu_kernels::params::FMA_CHAINS;

mod explain;
mod plan;

use crate::kernels::size::Size;
pub use plan::Kernel;
use plan::{Dimensions, Plan};

/// FLOPs, bytes and arithmetic intensity of a kernel, and where that lies on a roofline.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  rooftrace intensity sgemm --sizes 256..4096 --gpu H100 --pipe bf16
      the lecture's crossover: fp32 storage against the BF16 roof
  rooftrace intensity mix --sizes 64Mi@8,64Mi@16 --gpu H200
      either side of the ridge point
  rooftrace intensity copy --sizes 256Mi --explain
      the count, and the classic mistakes in it")]
pub struct IntensityArgs {
    /// Kernel
    #[arg(value_enum)]
    pub kernel: Kernel,
    /// Sizes: N, A..B (doubling), A..B:xF, A..B:+S, MxNxK (GEMM only), or N@I with an intensity I in
    /// FLOP/byte (mix only), separated by commas; suffixes k M G (decimal) and Ki Mi Gi (binary)
    #[arg(long, value_name = "SIZES")]
    pub sizes: String,
    /// Place the work on this GPU's roofline
    #[arg(long, value_name = "NAME")]
    pub gpu: Option<String>,
    /// Compute roof to place it under (default: the kernel's own); needs --gpu
    #[arg(long, value_name = "PIPE", requires = "gpu")]
    pub pipe: Option<Pipe>,
    /// GEMM only: independent products a launch (default: 1)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub batch: Option<u64>,
    /// GEMM only: 1 adds C, which is then read; 0 does not (default: 1)
    #[arg(long, value_name = "0|1", value_parser = clap::value_parser!(u8).range(0..=1))]
    pub beta: Option<u8>,
    /// How elements are stored: f64, f32, bf16, f16, fp8, i8, fp4 (default: the kernel's own)
    #[arg(long, value_name = "TYPE")]
    pub storage: Option<work::Storage>,
    /// GEMM only: how C and the result are stored (default: as --storage)
    #[arg(long, value_name = "TYPE")]
    pub out_type: Option<work::Storage>,
    /// Show the formulas, the count at the first size and the classic mistakes
    #[arg(long)]
    pub explain: bool,
    /// Common flags.
    #[command(flatten)]
    pub common: Common,
}

const COLUMNS: [Column; 22] = [
    ("kernel", Some("Kernel")),
    ("bytes_model", None),
    ("m", None),
    ("n", None),
    ("k", None),
    ("size", Some("Size")),
    ("storage", Some("Storage")),
    ("out_type", None),
    ("beta", Some("beta")),
    ("batch", None),
    ("flops", Some("FLOPs")),
    ("bytes", Some("Bytes")),
    ("intensity_flop_per_byte", Some("FLOP/byte")),
    ("growth", Some("Growth")),
    ("gpu", None),
    ("pipe", None),
    ("peak_flop_per_s", None),
    ("peak_byte_per_s", None),
    ("ridge_flop_per_byte", None),
    ("roof_flop_per_s", None),
    ("bound", None),
    ("l2_read_byte_per_s", None),
];
/// The column of the batch, which is shown if it is not 1.
const BATCH: usize = 9;
/// The headings of the last columns, which are shown once there is a GPU.
const PLACE: [(usize, &str); 4] = [(15, "Pipe"), (18, "Ridge"), (19, "Roof"), (20, "Bound")];

/// Writes FLOPs, bytes and intensity for each size.
///
/// # Errors
/// [`CommandError`] for a size, flag or GPU that means nothing, counts that exceed 64 bits,
/// or a failed write.
pub fn run(args: &IntensityArgs, out: &mut dyn Write) -> Result<(), CommandError> {
    let format = args.common.format;
    if args.explain && format != Format::Table {
        return Err(CommandError::Flag {
            flag: "--explain",
            problem: "explanations are for people, and --format asks for data".to_owned(),
            allowed: "--explain with --format table, or --format csv|json without it".to_owned(),
        });
    }
    let plan = Plan::new(args)?;
    let place = place(args, &plan)?;
    let mut columns = COLUMNS.to_vec();
    if place.is_some() {
        for (index, heading) in PLACE {
            columns[index].1 = Some(heading);
        }
    }
    if plan.batch > 1 {
        columns[BATCH].1 = Some("Batch");
    }
    let mut sheet = Sheet::new(columns);
    for size in &plan.sizes {
        for (bytes_model, work) in plan.work(*size)? {
            sheet.push(row(&plan, *size, bytes_model, work, place.as_ref()));
        }
    }
    sheet.write(format, out)?;
    if format == Format::Table {
        if let Some(place) = &place {
            place.describe(&plan, out)?;
        }
        if args.explain {
            explain::write(&plan, place.as_ref().map(|p| p.roofline), out)?;
        }
    }
    Ok(())
}

/// The roofline that the work is placed on.
struct Place {
    gpu: String,
    pipe: Pipe,
    roofline: Roofline,
    /// At what rate its L2 serves reads, where that is known.
    l2: Option<Derivation>,
}

fn place(args: &IntensityArgs, plan: &Plan) -> Result<Option<Place>, CommandError> {
    let Some(name) = &args.gpu else {
        return Ok(None);
    };
    let database = args.common.database()?;
    let gpu = database.find(name)?;
    let pipe = args.pipe.unwrap_or(plan.pipe);
    Ok(Some(Place {
        gpu: gpu.name.clone(),
        pipe,
        roofline: gpu.roofline(pipe)?,
        l2: gpu.l2_read_peak(),
    }))
}

impl Place {
    fn describe(&self, plan: &Plan, out: &mut dyn Write) -> Result<(), CommandError> {
        let Place {
            gpu,
            pipe,
            roofline,
            l2,
        } = self;
        writeln!(
            out,
            "{gpu}, {} {}: {} and {}, ridge point {} FLOP/byte (datasheet).",
            pipe.precision(),
            pipe.unit(),
            engineering(roofline.peak_flop_per_s, "FLOP/s"),
            engineering(roofline.peak_byte_per_s, "B/s"),
            significant(roofline.ridge(), 4),
        )?;
        if let Some(l2) = l2 {
            writeln!(
                out,
                "Reads that the L2 serves: {}, ridge point {} FLOP/byte ({l2}).",
                engineering(l2.value, "B/s"),
                significant(roofline.peak_flop_per_s / l2.value, 4),
            )?;
        }
        writeln!(out, "{}", plan.crossover_text(roofline))?;
        Ok(())
    }
}

fn row(
    plan: &Plan,
    size: Size,
    bytes_model: Option<&'static str>,
    work: Work,
    place: Option<&Place>,
) -> Vec<Cell> {
    let intensity = work.intensity();
    let kernel = match bytes_model {
        Some(model) => format!("{} ({model})", plan.kernel.id()),
        None => plan.kernel.id().to_owned(),
    };
    let gemm = plan.kernel.is_gemm();
    let only_gemm = |n: u64| {
        if gemm {
            Cell::whole(n, grouped(n))
        } else {
            Cell::missing()
        }
    };
    let beta = u64::from(plan.storage.reads_c);
    let dimensions = Dimensions::from(size);
    vec![
        Cell::text(kernel),
        Cell::maybe(bytes_model, Cell::text),
        only_gemm(dimensions.m),
        Cell::whole(dimensions.n, grouped(dimensions.n)),
        only_gemm(dimensions.k),
        Cell::text(size.to_string()),
        Cell::text(plan.storage.a.id()),
        if gemm {
            Cell::text(plan.storage.out.id())
        } else {
            Cell::missing()
        },
        only_gemm(beta),
        only_gemm(plan.batch),
        Cell::whole(work.flops, grouped(work.flops)),
        Cell::whole(work.bytes, grouped(work.bytes)),
        Cell::number(intensity, significant(intensity, 4)),
        Cell::text(plan.growth(bytes_model)),
        Cell::maybe(place, |p| Cell::text(&p.gpu)),
        Cell::maybe(place, |p| Cell::text(p.pipe.id())),
        Cell::maybe(place, |p| {
            Cell::quantity(p.roofline.peak_flop_per_s, "FLOP/s")
        }),
        Cell::maybe(place, |p| Cell::quantity(p.roofline.peak_byte_per_s, "B/s")),
        Cell::maybe(place, |p| {
            Cell::number(p.roofline.ridge(), significant(p.roofline.ridge(), 4))
        }),
        Cell::maybe(place, |p| {
            Cell::quantity(p.roofline.roof_at(intensity), "FLOP/s")
        }),
        Cell::maybe(place, |p| Cell::text(p.roofline.side(intensity).id())),
        Cell::maybe(place.and_then(|p| p.l2.as_ref()), |l2| {
            Cell::quantity(l2.value, "B/s")
        }),
    ]
}

impl Plan {
    /// The work at a size; an FFT has two models of its bytes, `fma` is counted for one thread.
    fn work(&self, size: Size) -> Result<Vec<(Option<&'static str>, Work)>, CommandError> {
        let storage = self.storage.a;
        let Dimensions { m, n, k } = size.into();
        let one = |work| Ok(vec![(None, work)]);
        match self.kernel {
            Kernel::Copy => one(work::copy(n, storage)?),
            Kernel::Saxpy => one(work::saxpy(n, storage)?),
            Kernel::Triad => one(work::triad(n, storage)?),
            Kernel::Fft => Ok(vec![
                (Some("lecture"), work::fft_lecture(n)?),
                (Some("consistent"), work::fft(n)?),
            ]),
            Kernel::Fma => {
                let work = work::fma(1, u64::from(FMA_CHAINS), n)?;
                Ok(vec![(Some("a thread"), work)])
            }
            Kernel::Mix => one(work::mix(n, fmas(size))?),
            _ => {
                let shape = GemmShape {
                    m,
                    n,
                    k,
                    batch: self.batch,
                };
                one(work::gemm(shape, self.storage)?)
            }
        }
    }

    fn formulas(&self, bytes_model: Option<&str>) -> work::Formulas {
        match (self.kernel, bytes_model) {
            (Kernel::Copy, _) => work::COPY,
            (Kernel::Saxpy, _) => work::SAXPY,
            (Kernel::Triad, _) => work::TRIAD,
            (Kernel::Fma, _) => work::FMA,
            (Kernel::Mix, _) => work::MIX,
            (Kernel::Fft, Some("lecture")) => work::FFT_LECTURE,
            (Kernel::Fft, _) => work::FFT,
            _ => work::SGEMM,
        }
    }

    fn growth(&self, bytes_model: Option<&str>) -> &'static str {
        self.formulas(bytes_model).growth
    }
}

/// Fused multiply-adds of each element.
fn fmas(size: Size) -> u64 {
    match size {
        Size::Mixed { fmas, .. } => fmas,
        Size::Elements(_) | Size::Matrix { .. } => 0,
    }
}

/// fp32 with C read: what [`work::SGEMM`]'s formulas hold for.
fn is_lecture_gemm(storage: GemmStorage) -> bool {
    storage == GemmStorage::uniform(work::Storage::F32, true)
}

#[cfg(test)]
#[path = "intensity/tests.rs"]
mod tests;
