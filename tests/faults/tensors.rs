//! Faults in the products of tensor cores, on a GPU whose PTX is executed: every storage of A, B and
//! C has its own exact pass and its own bound.

use crate::faulty::{Fault, Faulty, When, failure_on, verify_on};
use rooftrace::device::Element;
use rooftrace::device::vm::{Target, VmDevice};
use rooftrace::kernels::{Data, Form, KernelId, Problem, Size};

/// All sides different, none a multiple of a tile, several k tiles.
const SIDES: (u64, u64, u64) = (67, 53, 200);

/// Every kernel with every storage of its C, with C read and not.
fn problems() -> Vec<Problem> {
    let (m, n, k) = SIDES;
    // Small tiles: the executor takes the least time for them.
    let kernels = [
        (KernelId::GemmBf16, "small"),
        (KernelId::GemmTf32, "transposed"),
        (KernelId::GemmMixed, "convert"),
        (KernelId::GemmMixed, "fused-small"),
    ];
    let mut problems = Vec::new();
    for (kernel, variant) in kernels {
        for &out in kernel.kernel().outputs() {
            for reads_c in [true, false] {
                problems.push(Problem {
                    kernel,
                    variant,
                    size: Size::Matrix { m, n, k },
                    form: Form {
                        reads_c,
                        out: Some(out),
                        ..Form::default()
                    },
                    seed: 7,
                    data: Data::Random,
                });
            }
        }
    }
    problems
}

fn faulty(fault: Fault, when: When) -> Faulty {
    Faulty::on(VmDevice::open(Target::Sm90a).unwrap(), fault, when)
}

fn failure(problem: &Problem, fault: Fault, when: When) -> String {
    failure_on(faulty(fault, when), problem, fault, when)
}

#[test]
fn a_sound_device_passes() {
    for problem in problems() {
        let check = verify_on(faulty(Fault::None, When::Always), &problem, When::Always);
        assert_eq!(check.failure, None, "{problem:?}");
        assert!(check.error.unwrap() <= check.error_bound.unwrap());
    }
}

/// Off by one is less than the rounding of a large bfloat16: what the exact pass is for.
#[test]
fn an_element_off_by_one_is_found_in_the_exact_pass() {
    let (m, n, _) = SIDES;
    for problem in problems() {
        for at in [0, 5 * n + 7, m * n - 1] {
            let reason = failure(&problem, Fault::Off(at, 1.0), When::Run(0));
            let row = format!("row {} ", at / n);
            let element = format!("element ({}, {})", at / n, at % n);
            assert!(
                reason.starts_with("exact pass on integers: ")
                    && (reason.contains(&row) || reason.contains(&element)),
                "{problem:?}: {reason}"
            );
        }
    }
}

#[test]
fn a_tile_a_row_and_a_k_tile_are_missed_in_either_pass() {
    let (_, n, k) = SIDES;
    for problem in problems() {
        for when in [When::Run(0), When::Run(1)] {
            failure(&problem, Fault::ZeroedTile(3 * n + 5), when);
            failure(&problem, Fault::Untouched(9 * n, n), when);
            failure(&problem, Fault::NothingWritten, when);
            // A k tile of 64, and what is left behind the last whole one.
            failure(&problem, Fault::MissingK(64, 128), when);
            failure(&problem, Fault::MissingK(192, k), when);
        }
    }
}

#[test]
fn one_summand_is_missed_in_the_exact_pass() {
    for problem in problems() {
        failure(&problem, Fault::MissingK(199, 200), When::Run(0));
    }
}

#[test]
fn writes_beside_an_operand_are_found_whatever_its_elements() {
    for problem in problems() {
        for operand in 0..3 {
            for fault in [Fault::GuardBefore(operand), Fault::GuardBehind(operand)] {
                let reason = failure(&problem, fault, When::Run(1));
                assert!(reason.contains("guard band"), "{problem:?}: {reason}");
            }
        }
    }
}

#[test]
fn a_bfloat16_that_is_not_finite_never_passes() {
    for problem in problems() {
        if problem.out() != Element::Bf16 {
            continue;
        }
        for value in crate::faulty::NOT_FINITE {
            for when in [When::Run(0), When::Run(1)] {
                failure(&problem, Fault::Is(100, value), when);
            }
        }
    }
}
