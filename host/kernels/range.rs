//! Ranges of whole numbers, as `--sizes` and `--intensity` write them.

/// How a range goes on from its start.
pub(super) enum Step {
    /// To the next power of a factor above 1, times the start.
    Times(f64),
    /// By a difference of at least 1.
    Plus(u64),
}

/// A factor above 1, in plain decimals: `f64::from_str` alone would take `1e3` and `inf`.
pub(super) fn factor(text: &str) -> Option<Step> {
    let plain = text.chars().all(|c| c.is_ascii_digit() || c == '.');
    match text.parse::<f64>() {
        Ok(factor) if plain && factor > 1.0 && factor.is_finite() => Some(Step::Times(factor)),
        _ => None,
    }
}

/// The numbers from `start`, which is at least 1 if they are multiplied, to `end`, both included:
/// the step that would pass the end is clipped to it. `None` if they are more than `most`.
pub(super) fn walk(start: u64, end: u64, step: &Step, most: usize) -> Option<Vec<u64>> {
    let mut values = vec![start];
    let mut last = start;
    let mut power = 0.0;
    while last < end {
        let next = match *step {
            Step::Plus(step) => last.saturating_add(step),
            Step::Times(factor) => next_power(start, factor, &mut power, last),
        };
        last = next.min(end);
        values.push(last);
        if values.len() > most {
            return None;
        }
    }
    Some(values)
}

/// The first of round(start * factor^i) past `last`, where `power` is the i of
/// `last`. Taking powers of the start keeps rounding from piling up; the
/// logarithm passes over all the i that round to `last` again, which for a
/// factor close to 1 are too many to walk through.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
fn next_power(start: u64, factor: f64, power: &mut f64, last: u64) -> u64 {
    let start = start as f64;
    let past_last = (((last as f64 + 0.5) / start).ln() / factor.ln()).ceil();
    *power = past_last.max(*power + 1.0);
    // `as` saturates, and above 2^53 or at an unlucky rounding the value may
    // not have moved: the next integer keeps the range strictly increasing.
    ((start * factor.powf(*power)).round() as u64).max(last.saturating_add(1))
}
