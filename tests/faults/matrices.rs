//! Faults in sgemm: small, where the random pass goes element by element, and above 2^27
//! multiply-adds, where it takes residuals.

use crate::faulty::{Fault, NOT_FINITE, When, failure, problem, verify};
use rooftrace::kernels::{Data, Form, KernelId, Problem, Size};

/// All sides different, none a multiple of a tile.
const SMALL: (u64, u64, u64) = (67, 53, 129);

/// Just above 2^27 multiply-adds, near the cube of 512: the shape with the fewest elements.
const LARGE: (u64, u64, u64) = (509, 523, 509);

fn sgemm((m, n, k): (u64, u64, u64), data: Data) -> Problem {
    problem(KernelId::Sgemm, Size::Matrix { m, n, k }, data)
}

/// Both ways of the random pass.
fn shapes() -> [(u64, u64, u64); 2] {
    let macs = |(m, n, k)| m * n * k;
    assert!(macs(SMALL) <= 1 << 27 && macs(LARGE) > 1 << 27);
    [SMALL, LARGE]
}

/// The exact pass is the first run, the random pass the second.
const PASSES: [When; 2] = [When::Run(0), When::Run(1)];

/// The row of C that a reason of this pass names.
fn row_named(reason: &str, shape: (u64, u64, u64), when: When) -> u64 {
    let number_behind = |text: &str| -> Option<u64> {
        let digits = reason.split_once(text)?.1;
        let end = digits.find(|c: char| !c.is_ascii_digit())?;
        digits[..end].parse().ok()
    };
    let row = match when {
        When::Run(1) if shape == SMALL => number_behind("element ").map(|i| i / shape.1),
        When::Run(1) => number_behind("residual of row "),
        _ => reason
            .starts_with("exact pass on integers: ")
            .then(|| number_behind(": row ").or_else(|| number_behind(": element (")))
            .flatten(),
    };
    row.unwrap_or_else(|| panic!("no row of {when:?} is named: {reason}"))
}

#[test]
fn a_sound_device_passes() {
    for shape in shapes() {
        for data in [Data::Random, Data::Integers, Data::Zeros] {
            let check = verify(&sgemm(shape, data), Fault::None, When::Always);
            assert_eq!(check.failure, None, "{shape:?} {data:?}");
            assert!(check.error.unwrap() <= check.error_bound.unwrap());
        }
    }
}

#[test]
fn one_wrong_element_is_named_in_either_pass() {
    for shape @ (m, n, _) in shapes() {
        for when in PASSES {
            for (row, column) in [(0, 0), (m / 2, n / 3), (m - 1, n - 1)] {
                let fault = Fault::Off(row * n + column, 1.0);
                let reason = failure(&sgemm(shape, Data::Random), fault, when);
                assert_eq!(row_named(&reason, shape, when), row, "{reason}");
            }
        }
    }
}

#[test]
fn an_element_off_by_a_hundredth_is_found() {
    for shape @ (_, n, _) in shapes() {
        for when in PASSES {
            let fault = Fault::Off(5 * n + 7, 0.01);
            let reason = failure(&sgemm(shape, Data::Random), fault, when);
            assert_eq!(row_named(&reason, shape, when), 5, "{reason}");
        }
    }
}

#[test]
fn one_zeroed_tile_is_found() {
    for shape @ (m, n, _) in shapes() {
        for when in PASSES {
            for (row, column) in [(0, 0), (16, 16), (m - 16, n - 16)] {
                let fault = Fault::ZeroedTile(row * n + column);
                let reason = failure(&sgemm(shape, Data::Random), fault, when);
                let named = row_named(&reason, shape, when);
                assert!((row..row + 16).contains(&named), "{reason}");
            }
        }
    }
}

#[test]
fn one_missing_k_tile_is_found() {
    for shape @ (_, _, k) in shapes() {
        for when in PASSES {
            for (from, to) in [(0, 16), (k / 2, k / 2 + 16), (k - k % 16, k), (k - 1, k)] {
                let fault = Fault::MissingK(from, to);
                let reason = failure(&sgemm(shape, Data::Random), fault, when);
                assert!(
                    reason.contains("element") || reason.contains("row"),
                    "{reason}"
                );
            }
        }
    }
}

#[test]
fn the_product_recomputed_whole_passes() {
    // Otherwise the fault above could be found for the way it is planted.
    for shape in shapes() {
        let whole = Fault::MissingK(0, 0);
        let check = verify(&sgemm(shape, Data::Random), whole, When::Always);
        assert_eq!(check.failure, None, "{shape:?}");
    }
}

#[test]
fn one_untouched_row_is_found() {
    for shape @ (m, n, _) in shapes() {
        for when in PASSES {
            for row in [0, m / 2, m - 1] {
                let reason = failure(
                    &sgemm(shape, Data::Random),
                    Fault::Untouched(row * n, n),
                    when,
                );
                assert_eq!(row_named(&reason, shape, when), row, "{reason}");
            }
        }
    }
}

#[test]
fn one_unwritten_element_is_found() {
    for shape @ (m, n, _) in shapes() {
        for when in PASSES {
            let reason = failure(
                &sgemm(shape, Data::Random),
                Fault::Untouched((m - 1) * n, 1),
                when,
            );
            assert_eq!(row_named(&reason, shape, when), m - 1, "{reason}");
        }
    }
}

#[test]
fn a_kernel_that_returns_stale_c_is_found() {
    for shape in shapes() {
        for when in PASSES {
            failure(&sgemm(shape, Data::Random), Fault::NothingWritten, when);
        }
        // The product of the exact pass, again after the second run.
        failure(&sgemm(shape, Data::Random), Fault::Stale, When::Run(1));
    }
}

#[test]
fn a_nan_or_an_infinity_is_found_in_either_pass() {
    for shape @ (m, n, _) in shapes() {
        for when in PASSES {
            for value in NOT_FINITE {
                let fault = Fault::Is((m - 1) * n + 3, value);
                let reason = failure(&sgemm(shape, Data::Random), fault, when);
                assert_eq!(row_named(&reason, shape, when), m - 1, "{reason}");
            }
        }
    }
}

#[test]
fn a_write_into_a_guard_band_is_named_in_either_pass() {
    for shape in shapes() {
        for when in PASSES {
            for (operand, name) in ["A", "B", "C"].into_iter().enumerate() {
                let problem = sgemm(shape, Data::Random);
                let before = failure(&problem, Fault::GuardBefore(operand), when);
                let behind = failure(&problem, Fault::GuardBehind(operand), when);
                for (reason, side) in [(before, "before"), (behind, "behind")] {
                    let start = format!("wrote outside operand {name}: ");
                    assert!(reason.starts_with(&start), "{reason}");
                    assert!(
                        reason.contains(&format!("guard band {side} it")),
                        "{reason}"
                    );
                }
            }
        }
    }
}

#[test]
fn zeros_as_timed_data_do_not_hide_a_fault() {
    for shape @ (_, n, _) in shapes() {
        for fault in [
            Fault::Off(n + 1, 1.0),
            Fault::ZeroedTile(0),
            Fault::MissingK(0, 1),
            Fault::Untouched(0, n),
            Fault::NothingWritten,
        ] {
            failure(&sgemm(shape, Data::Zeros), fault, When::Always);
        }
    }
}

/// Batches for both ways of the random pass, with sides that are no multiples of a vector.
fn batches() -> [((u64, u64, u64), u64); 2] {
    let batches = [((9, 13, 17), 40), ((31, 33, 65), 2100)];
    let macs = |((m, n, k), batch): ((u64, u64, u64), u64)| m * n * k * batch;
    assert!(macs(batches[0]) <= 1 << 27 && macs(batches[1]) > 1 << 27);
    batches
}

fn batch(shape: (u64, u64, u64), batch: u64, data: Data) -> Problem {
    Problem {
        form: Form {
            batch,
            ..Form::default()
        },
        ..sgemm(shape, data)
    }
}

#[test]
fn a_sound_batch_passes() {
    for (shape, count) in batches() {
        for data in [Data::Random, Data::Integers, Data::Zeros] {
            let check = verify(&batch(shape, count, data), Fault::None, When::Always);
            assert_eq!(check.failure, None, "{shape:?} {count} {data:?}");
        }
    }
}

#[test]
fn one_wrong_element_is_named_in_any_product_of_a_batch() {
    for (shape @ (m, n, _), count) in batches() {
        for when in PASSES {
            for row in [0, m, (count / 2) * m + 3, count * m - 1] {
                let fault = Fault::Off(row * n + 5, 1.0);
                let reason = failure(&batch(shape, count, Data::Random), fault, when);
                // By row, by row and column, or by the number of the element.
                let names = [
                    format!("row {row} "),
                    format!("row {row}:"),
                    format!("element ({row}, 5)"),
                    format!("element {} ", row * n + 5),
                ];
                assert!(names.iter().any(|name| reason.contains(name)), "{reason}");
            }
        }
    }
}

#[test]
fn a_product_that_was_left_out_is_found() {
    for (shape @ (m, n, _), count) in batches() {
        for when in PASSES {
            for product in [0, 1, count - 1] {
                let fault = Fault::Untouched(product * m * n, m * n);
                let reason = failure(&batch(shape, count, Data::Random), fault, when);
                assert!(
                    reason.contains("element") || reason.contains("row"),
                    "{reason}"
                );
            }
        }
    }
}
