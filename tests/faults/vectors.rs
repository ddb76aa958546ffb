//! Faults in copy, saxpy, triad, fma and mix.

use crate::faulty::{Fault, NOT_FINITE, When, failure, output_of, problem, verify};
use rooftrace::device::Device;
use rooftrace::device::cpu::CpuDevice;
use rooftrace::kernels::{Data, KernelId, Problem, Size};

/// Each vector kernel at a size that is no multiple of anything, and the elements of its output.
fn problems() -> Vec<(Problem, u64)> {
    let cpu = CpuDevice::new().unwrap();
    [
        (KernelId::Copy, Size::Elements(70_001)),
        (KernelId::Saxpy, Size::Elements(70_001)),
        (KernelId::Triad, Size::Elements(70_001)),
        (KernelId::Fma, Size::Elements(33)),
        (
            KernelId::Mix,
            Size::Mixed {
                n: 70_001,
                fmas: 33,
            },
        ),
    ]
    .into_iter()
    .map(|(kernel, size)| {
        let problem = problem(kernel, size, Data::Random);
        let operands = kernel.kernel().operands(&problem, cpu.info()).unwrap();
        let elements = operands[output_of(&problem, cpu.info())].elements;
        (problem, elements)
    })
    .collect()
}

/// The first and the last element, those around the middle, and odd ones.
fn places(elements: u64) -> [u64; 6] {
    [0, 1, 255, elements / 2, elements - 2, elements - 1]
}

#[test]
fn a_sound_device_passes() {
    for (problem, _) in problems() {
        let check = verify(&problem, Fault::None, When::Always);
        assert_eq!(check.failure, None, "{}", problem.kernel.name());
        let (error, bound) = (check.error.unwrap(), check.error_bound.unwrap());
        assert!(error <= bound, "{error} > {bound}");
    }
}

#[test]
fn one_wrong_element_is_named_wherever_it_is() {
    for (problem, elements) in problems() {
        for i in places(elements) {
            let reason = failure(&problem, Fault::Off(i, 0.01), When::Always);
            assert!(reason.starts_with(&format!("element {i} is ")), "{reason}");
            assert!(reason.contains("expected"), "{reason}");
        }
    }
}

#[test]
fn a_copy_must_be_equal_to_the_last_bit() {
    let (problem, elements) = problems().swap_remove(0);
    for i in places(elements) {
        let reason = failure(&problem, Fault::LowestBit(i), When::Always);
        assert!(reason.starts_with(&format!("element {i} is ")), "{reason}");
    }
}

#[test]
fn a_zeroed_tile_is_named_by_one_of_its_elements() {
    for (problem, elements) in problems() {
        let first = elements / 2;
        let reason = failure(&problem, Fault::ZeroedTile(first), When::Always);
        let named: u64 = reason.split(' ').nth(1).unwrap().parse().unwrap();
        assert!((first..first + 256).contains(&named), "{reason}");
    }
}

#[test]
fn an_element_that_was_not_written_is_called_so() {
    for (problem, elements) in problems() {
        for i in places(elements) {
            let reason = failure(&problem, Fault::Untouched(i, 1), When::Always);
            if problem.kernel == KernelId::Saxpy {
                // In and out: what remains is the old value, not the poison.
                assert!(reason.starts_with(&format!("element {i} is ")), "{reason}");
            } else {
                assert_eq!(reason, format!("element {i} was not written"));
            }
        }
    }
}

#[test]
fn a_stretch_that_was_not_written_fails() {
    for (problem, elements) in problems() {
        let (first, count) = (elements / 3, 512);
        let reason = failure(&problem, Fault::Untouched(first, count), When::Always);
        let named: u64 = reason.split(' ').nth(1).unwrap().parse().unwrap();
        assert!((first..first + count).contains(&named), "{reason}");
    }
}

#[test]
fn a_kernel_that_does_nothing_fails() {
    for (problem, _) in problems() {
        let reason = failure(&problem, Fault::NothingWritten, When::Always);
        assert!(reason.starts_with("element "), "{reason}");
    }
}

#[test]
fn a_nan_or_an_infinity_fails_even_as_the_only_one() {
    for (problem, elements) in problems() {
        for i in places(elements) {
            for value in NOT_FINITE {
                let reason = failure(&problem, Fault::Is(i, value), When::Always);
                let start = format!("element {i} is {value:e}");
                assert!(reason.starts_with(&start), "{reason}");
            }
        }
    }
}

#[test]
fn a_write_outside_any_operand_is_named_with_its_side() {
    let cpu = CpuDevice::new().unwrap();
    for (problem, _) in problems() {
        let operands = problem.kernel.kernel().operands(&problem, cpu.info());
        for (i, operand) in operands.unwrap().iter().enumerate() {
            let before = failure(&problem, Fault::GuardBefore(i), When::Always);
            let behind = failure(&problem, Fault::GuardBehind(i), When::Always);
            let outside = format!("wrote outside operand {}: element ", operand.name);
            assert!(before.starts_with(&outside), "{before}");
            assert!(before.ends_with(" of the guard band before it"), "{before}");
            assert_eq!(behind, format!("{outside}0 of the guard band behind it"));
        }
    }
}

#[test]
fn zeros_and_integers_as_timed_data_do_not_weaken_the_check() {
    for data in [Data::Zeros, Data::Integers] {
        for (problem, elements) in problems() {
            let problem = Problem { data, ..problem };
            assert!(verify(&problem, Fault::None, When::Always).passed());
            for fault in [
                Fault::ZeroedTile(elements / 2),
                Fault::NothingWritten,
                Fault::Off(elements - 1, 0.01),
            ] {
                failure(&problem, fault, When::Always);
            }
        }
    }
}
