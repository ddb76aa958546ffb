//! Counts against models, for every kernel and variant.

use super::cases::{Case, on_tensor_cores, smaller};
use super::{ptx, verify};
use rooftrace::count::count;
use rooftrace::device::Device;
use rooftrace::device::vm::{Target, VmDevice, describe};
use rooftrace::kernels::size::parse_sizes;
use rooftrace::kernels::{Data, Form, KernelId, Problem, Size, SizeKind};
use std::collections::BTreeSet;

#[test]
fn counts_and_models_agree_everywhere() {
    for target in Target::ALL {
        let few = smaller(target).swap_remove(0);
        for info in [describe(target), few] {
            let mut device = VmDevice::with(info, ptx(target)).unwrap();
            for id in KernelId::ALL {
                let kernel = id.kernel();
                // The sizes of `count`, smaller: what is fast there takes long unoptimised.
                let text = match kernel.size_kind() {
                    // Rows of whole 16-byte units, and rows that are copied first.
                    SizeKind::Matrix if on_tensor_cores(id) => "72x136x200,33x70x65",
                    SizeKind::Matrix => "128,33x70x65",
                    SizeKind::Elements => "4096,1003",
                    // The last has more sets than one multiprocessor holds blocks of `mix_ring`.
                    SizeKind::Mixed => "4096@0,4096@40,1003@0.25,1003@15.75,20483@0.5",
                };
                let info = device.info().clone();
                // Batches of products for teams of every size, and for tiles.
                let batched = match id {
                    KernelId::Sgemm => "16x12x20,31,64x40x64,72",
                    _ => "",
                };
                let on_pipe = |pipe| {
                    let variants = kernel.variants_on_pipe(pipe, &info).into_iter();
                    variants.map(move |variant| (variant, pipe))
                };
                for (variant, pipe) in kernel.pipes(&info).into_iter().flat_map(on_pipe) {
                    let text = if pipe == kernel.pipe() { text } else { "5" };
                    let form = Form {
                        pipe: Some(pipe),
                        ..Form::default()
                    };
                    let mut sizes: Vec<(Size, Form)> = Vec::new();
                    for size in parse_sizes(text, kernel.size_kind()).unwrap() {
                        match on_tensor_cores(id) {
                            true => {
                                sizes.extend(Form::of(kernel, &info).iter().map(|f| (size, *f)))
                            }
                            false => sizes.push((size, form)),
                        }
                    }
                    if !batched.is_empty() {
                        let several = parse_sizes(batched, kernel.size_kind()).unwrap();
                        sizes.extend(
                            several
                                .iter()
                                .map(|&size| (size, Form { batch: 6, ..form })),
                        );
                    }
                    for (size, form) in sizes {
                        let problem = Problem {
                            kernel: id,
                            variant: variant.name,
                            size,
                            form,
                            seed: 1,
                            data: Data::Random,
                        };
                        let counted = count(&mut device, &problem).unwrap();
                        let place = format!("{} {} {size}, {form:?}", id.name(), variant.name);
                        assert_eq!(counted.disagreements(), [""; 0], "{place}");
                        // The shipped kernels agree to the FLOP and to the byte.
                        assert_eq!(counted.unexplained_flops(), 0, "{place}");
                        assert_eq!(counted.unique_bytes(), counted.model.bytes, "{place}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_product_that_starts_from_c_has_an_intensity_of_n_over_8() {
    let mut device = VmDevice::open(Target::Sm90a).unwrap();
    for variant in ["naive", "tiled"] {
        let problem = Problem {
            kernel: KernelId::Sgemm,
            variant,
            size: Size::Matrix {
                m: 96,
                n: 96,
                k: 96,
            },
            form: Form::default(),
            seed: 1,
            data: Data::Random,
        };
        let counted = count(&mut device, &problem).unwrap();
        assert_eq!(counted.flops(), 2 * 96 * 96 * 96);
        assert_eq!(counted.intensity(), 12.0, "{variant}");
    }
}

#[test]
fn products_in_slices_and_in_bulk_agree_and_are_right() {
    // Whole tiles, and tiles past whose edges nothing lies; a k that slices do not divide.
    let sizes = "64x64x260,128x128x100,130x124x84,64x128x512,128x64x1036,100x124x168";
    let sizes = parse_sizes(sizes, SizeKind::Matrix).unwrap();
    let mut seen = BTreeSet::new();
    let infos = smaller(Target::Sm90a);
    for info in infos
        .iter()
        .filter(|info| info.shared_bytes_per_block == Some(227 << 10))
    {
        for (&size, batch) in sizes.iter().flat_map(|size| [(size, 1), (size, 6)]) {
            let kernel = KernelId::Sgemm.kernel();
            let problem = Problem {
                kernel: KernelId::Sgemm,
                variant: "auto",
                size,
                form: Form {
                    batch,
                    ..Form::default()
                },
                seed: 3,
                data: Data::Random,
            };
            let launch = kernel.launch(&problem, info).unwrap();
            let (entry, cluster) = (launch.entry, launch.cluster);
            if !["sgemm_sliced", "sgemm_bulk"].contains(&entry)
                || !seen.insert((entry, cluster, size.to_string()))
            {
                continue;
            }
            let mut device = VmDevice::with(info.clone(), ptx(Target::Sm90a)).unwrap();
            let place = format!("{entry} {size}, batch {batch}, clusters of {cluster}");
            let counted = count(&mut device, &problem).unwrap();
            assert_eq!(counted.disagreements(), [""; 0], "{place}");
            assert_eq!(counted.unexplained_flops(), 0, "{place}");
            let case = Case {
                info: info.clone(),
                problem,
                offset: 0,
            };
            assert_eq!(verify(&mut device, &case).failure, None, "{place}");
        }
    }
    let ways: BTreeSet<_> = seen
        .iter()
        .map(|(entry, cluster, _)| (*entry, *cluster))
        .collect();
    for way in [
        ("sgemm_bulk", 1),
        ("sgemm_sliced", 1),
        ("sgemm_sliced", 2),
        ("sgemm_sliced", 4),
    ] {
        assert!(ways.contains(&way), "{way:?} of {seen:?}");
    }
}
