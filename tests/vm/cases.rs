//! What is run on the VM, and on which GPUs it pretends to be.

use rooftrace::device::DeviceInfo;
use rooftrace::device::vm::{Target, describe};
use rooftrace::kernels::size::{Size, parse_sizes};
use rooftrace::kernels::{Argument, Data, Form, KernelId, Launch, Problem, SizeKind};
use rooftrace::roofline::pipe::Pipe;
use std::collections::{BTreeMap, BTreeSet};

/// A problem on a GPU that says `info` of itself.
#[derive(Clone)]
pub struct Case {
    pub info: DeviceInfo,
    pub problem: Problem,
    /// Elements by which the operands start past an aligned address.
    pub offset: u64,
}

impl Case {
    /// The launch that the kernel plans there.
    pub fn launch(&self) -> Launch {
        let kernel = self.problem.kernel.kernel();
        let launch = match self.offset {
            0 => kernel.launch(&self.problem, &self.info),
            _ => kernel.launch_unaligned(&self.problem, &self.info),
        };
        launch.unwrap_or_else(|error| panic!("{self}: {error}"))
    }

    /// The launches before it that prepare its operands.
    pub fn preparation(&self) -> Vec<Launch> {
        let kernel = self.problem.kernel.kernel();
        let launches = kernel.preparation(&self.problem, &self.info, self.offset == 0);
        launches.unwrap_or_else(|error| panic!("{self}: {error}"))
    }

    /// The names of all its launches.
    pub fn entries(&self) -> BTreeSet<&'static str> {
        let launches = self.preparation().into_iter().chain([self.launch()]);
        launches.map(|launch| launch.entry).collect()
    }

    /// FLOPs of the work model.
    pub fn cost(&self) -> u64 {
        let kernel = self.problem.kernel.kernel();
        kernel.work(&self.problem, &self.info).unwrap().flops
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (p, info) = (&self.problem, &self.info);
        let (kernel, variant, size) = (p.kernel.name(), p.variant, p.size);
        let shared = info.shared_bytes_per_block.unwrap_or(0);
        let units = info.units;
        write!(
            f,
            "{kernel} {variant} {size}, {:?}, offset {}, on {units} SMs with {shared} B",
            p.form, self.offset
        )
    }
}

/// Sizes around vectors, warps, blocks and tiles. Rows of B and C are aligned to 16 bytes in some
/// of the matrices and not in others.
fn sizes(kind: SizeKind) -> &'static str {
    match kind {
        SizeKind::Elements => "1,5,127,1000,4097",
        SizeKind::Mixed => "1@0,5@7.75,127@0.25,1000@8.25,1025@15.75,2048@24,4097@1",
        SizeKind::Matrix => "1,17,64,3x5x7,1x1x300,65x33x40,129x65x70,130x260x36,40x44x200",
    }
}

/// Sizes of batches around the teams of small products, and some that take tiles: sides that are
/// odd, so that only every other product starts on 16 bytes, and a k of several parts, or of more slices than
/// `sgemm_bulk` has stages.
const BATCHED: &str =
    "16,4x12x20,3x5x7,32,20x28x40,17x31x33,64,40x36x72,33x63x67,65x9x13,72x136x40,100x124x168";

/// Sizes of batches whose products are too deep for a team to take at once.
const BATCHED_DEEP: &str = "36x36x68,33x33x65";

/// Products of a batch: an odd number, and more than a block takes.
const BATCH: u64 = 5;

/// Products on tensor cores: rows of odd length, of even length and of whole 16-byte units, of A and B
/// alike or of one of them, each with a tile that is not full, more than one k tile and a k tile that
/// ends early.
const TENSOR: &str = "1,65x33x70,66x34x70,66x34x72,66x36x70,66x72x136";

/// Those in every form: beta, type of C, a batch.
const TENSOR_FORMS: &str = "5x33x70,66x72x72";

/// Those on a GPU of one multiprocessor, whose blocks take several tiles and, more than once, all
/// stages of a ring: an odd number of k tiles, the last of which ends early; and rows of A that no bulk
/// copy takes, where it takes those of B and C.
const TENSOR_FEW: &str = "130x264x264,130x136x70";

/// GPUs of few multiprocessors and less shared memory: other tiles are chosen there, and work that
/// is shared out is cut elsewhere.
pub fn smaller(target: Target) -> Vec<DeviceInfo> {
    let mut infos = Vec::new();
    for units in [1, 2, 3, 5] {
        for kib in [227, 163, 99, 64] {
            infos.push(DeviceInfo {
                units,
                shared_bytes_per_block: Some(kib << 10),
                ..describe(target)
            });
        }
    }
    infos
}

fn problem(kernel: KernelId, variant: &'static str, size: Size) -> Problem {
    Problem {
        kernel,
        variant,
        size,
        form: Form::default(),
        seed: 7,
        data: Data::Random,
    }
}

/// Whether a kernel is a matrix product on tensor cores.
pub fn on_tensor_cores(id: KernelId) -> bool {
    id.kernel().size_kind() == SizeKind::Matrix && id.kernel().pipe() != Pipe::Fp32
}

/// Every kernel, variant and size on the GPU of the target, and batches on one that they fill, too;
/// the cheapest first.
pub fn plain(target: Target) -> Vec<Case> {
    let (whole, few) = (describe(target), smaller(target).swap_remove(0));
    let mut cases: Vec<Case> = Vec::new();
    for id in KernelId::ALL {
        let kernel = id.kernel();
        for pipe in kernel.pipes(&whole) {
            for variant in kernel.variants_on_pipe(pipe, &whole) {
                let in_form = |info: &DeviceInfo, size, form, offset| Case {
                    info: info.clone(),
                    problem: Problem {
                        form,
                        ..problem(id, variant.name, size)
                    },
                    offset,
                };
                let case = |info: &DeviceInfo, size, batch, offset| {
                    let form = Form {
                        batch,
                        pipe: Some(pipe),
                        ..Form::default()
                    };
                    in_form(info, size, form, offset)
                };
                if on_tensor_cores(id) {
                    let sizes = |text| parse_sizes(text, kernel.size_kind()).unwrap();
                    cases.extend(sizes(TENSOR).iter().map(|&size| case(&whole, size, 1, 0)));
                    for size in sizes(TENSOR_FORMS) {
                        let forms = Form::of(kernel, &whole).into_iter();
                        cases.extend(forms.map(|form| in_form(&whole, size, form, 0)));
                    }
                    for &reads_c in kernel.betas() {
                        for batch in [1, 3] {
                            let form = Form {
                                batch,
                                reads_c,
                                pipe: Some(pipe),
                                ..Form::default()
                            };
                            let sizes = sizes(TENSOR_FEW).into_iter();
                            cases.extend(sizes.map(|size| in_form(&few, size, form, 0)));
                        }
                    }
                    continue;
                }
                let sample = case(
                    &whole,
                    parse_sizes("8", kernel.size_kind()).unwrap()[0],
                    1,
                    1,
                );
                let any = kernel.launch_unaligned(&sample.problem, &whole).is_ok();
                let text = match pipe == kernel.pipe() {
                    true => sizes(kernel.size_kind()),
                    // Around the turns of a tensor core's slices.
                    false => "1,4,11",
                };
                let sizes = parse_sizes(text, kernel.size_kind()).unwrap();
                cases.extend(sizes.iter().map(|&size| case(&whole, size, 1, 0)));
                if kernel.batches() {
                    let sizes_batched = parse_sizes(BATCHED, kernel.size_kind()).unwrap();
                    for (info, offset) in [(&whole, 0), (&few, 0), (&few, 3)] {
                        if offset == 0 || any {
                            let all = sizes_batched.iter();
                            cases.extend(all.map(|&size| case(info, size, BATCH, offset)));
                        }
                    }
                }
                if any {
                    cases.extend(sizes.iter().map(|&size| case(&whole, size, 1, 1)));
                }
            }
        }
    }
    cases.sort_by_key(Case::cost);
    cases
}

/// The way in which a launch shares work out, as far as it can be told from outside: blocks of a
/// cluster; for each number behind the operands and the sides whether it is 0, 1 or more, and its remainder over the
/// stages of a pipeline.
type Way = (&'static str, u32, bool, bool, Vec<(u32, u32)>);

fn way(launch: &Launch, stages: u32) -> Way {
    /// Parameters of a matrix product: three operands, three sides.
    const PRODUCT: usize = 6;
    let numbers = launch.arguments.iter().skip(PRODUCT);
    let numbers = numbers.filter_map(|argument| match *argument {
        Argument::U32(value) => Some((value.min(2), value % stages)),
        _ => None,
    });
    let (cut, several) = (launch.scratch_bytes > 0, launch.grid > 1);
    (
        launch.entry,
        launch.cluster,
        cut,
        several,
        numbers.collect(),
    )
}

/// Products for which a variant gives a block several tiles, a tile several blocks, or a
/// team several parts of a product: of each way to do that, in every tile shape, the cheapest, the cheapest of all first.
///
/// They are searched, because which shape is chosen where is a matter of tuning.
pub fn shared_out(target: Target, stages: u32) -> Vec<Case> {
    let sides = |text| parse_sizes(text, SizeKind::Elements).unwrap();
    let all = [
        sides("20,40,64,96,128,130,200,300"),
        sides("36,37,64,65,128,129,200,253,260,261,520"),
        sides("8,20,36,70,136,300,400,432,520,624,700"),
    ];
    let mut found: BTreeMap<Way, Case> = BTreeMap::new();
    for id in KernelId::ALL {
        let kernel = id.kernel();
        if kernel.size_kind() != SizeKind::Matrix || on_tensor_cores(id) {
            continue;
        }
        let deep = parse_sizes(BATCHED_DEEP, kernel.size_kind()).unwrap();
        let deep = deep.into_iter().map(|size| (size, BATCH));
        let single = products(&all).into_iter().map(|size| (size, 1));
        let sizes: Vec<(Size, u64)> = single.chain(deep).collect();
        // Where there are no clusters, the parts of a tile go through memory.
        let alone = |info: &DeviceInfo| DeviceInfo {
            ptx_target: None,
            ..info.clone()
        };
        let infos = smaller(target);
        for info in infos.iter().map(alone).chain(infos.iter().cloned()) {
            for variant in kernel.variants_on(&info) {
                for &(size, batch) in &sizes {
                    let mut case = Case {
                        info: info.clone(),
                        problem: problem(id, variant.name, size),
                        offset: 0,
                    };
                    case.problem.form.batch = batch;
                    if kernel.launch(&case.problem, &case.info).is_err() {
                        // Too little shared memory for the variant.
                        continue;
                    }
                    let way = way(&case.launch(), stages);
                    let dearer = |known: &Case| known.cost() > case.cost();
                    if found.get(&way).is_none_or(dearer) {
                        found.insert(way, case);
                    }
                }
            }
        }
    }
    let mut cases: Vec<Case> = found.into_values().collect();
    cases.sort_by_key(Case::cost);
    cases
}

fn products(sides: &[Vec<Size>; 3]) -> Vec<Size> {
    let number = |size: &Size| match *size {
        Size::Elements(n) => n,
        Size::Matrix { .. } | Size::Mixed { .. } => unreachable!("sides are plain numbers"),
    };
    let mut sizes = Vec::new();
    for m in sides[0].iter().map(number) {
        for n in sides[1].iter().map(number) {
            for k in sides[2].iter().map(number) {
                sizes.push(Size::Matrix { m, n, k });
            }
        }
    }
    sizes
}
