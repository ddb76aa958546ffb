//! Axes: ranges, ticks and their labels.

use crate::roofline::units::{engineering, significant};

/// How values are spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Logarithmic, ticks at powers of ten.
    Decades,
    /// Logarithmic, ticks at powers of two.
    Octaves,
    /// Linear.
    Linear,
}

/// How a tick is labelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labels {
    /// With a decimal prefix: `10 G`.
    Decimal,
    /// As it is below a thousand, with a decimal prefix from there.
    Plain,
    /// As it is up to 65536, with a binary prefix beyond.
    Binary,
    /// As a percentage.
    Percent,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it shows, with the unit.
    pub title: String,
    /// The value at its beginning.
    pub low: f64,
    /// The value at its end.
    pub high: f64,
    /// How values are spread.
    pub scale: Scale,
    /// How ticks are labelled.
    pub labels: Labels,
}

/// Labels that give an axis a scale.
const LEAST_LABELS: usize = 3;

/// A tick.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Its value.
    pub value: f64,
    /// What is written at it; nothing at a minor tick.
    pub label: Option<String>,
}

impl Axis {
    /// A logarithmic axis that leaves room: from the least positive value over `below` to the
    /// greatest times `above`. Without a positive value it covers 1 to 10.
    #[must_use]
    pub fn logarithmic(
        title: impl Into<String>,
        values: impl Iterator<Item = f64>,
        (below, above): (f64, f64),
        (scale, labels): (Scale, Labels),
    ) -> Axis {
        let (low, high) = values
            .filter(|value| *value > 0.0 && value.is_finite())
            .fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), value| {
                (low.min(value), high.max(value))
            });
        let (low, high) = if low.is_finite() {
            (low / below, high * above)
        } else {
            (1.0, 10.0)
        };
        Axis {
            title: title.into(),
            low,
            high,
            scale,
            labels,
        }
    }

    /// Where a value lies: 0 at the beginning of the axis, 1 at its end.
    #[must_use]
    pub fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            _ => (value / self.low).ln() / (self.high / self.low).ln(),
        }
    }

    /// The value at a place: the inverse of [`Axis::place`].
    #[must_use]
    pub fn value(&self, place: f64) -> f64 {
        match self.scale {
            Scale::Linear => self.low + place * (self.high - self.low),
            _ => self.low * (self.high / self.low).powf(place),
        }
    }

    /// The ticks, of which at most about `most` have a label.
    #[must_use]
    pub fn ticks(&self, most: usize) -> Vec<Tick> {
        let most = most.max(2);
        match self.scale {
            Scale::Decades => self.decades(most),
            Scale::Octaves => self.octaves(most),
            Scale::Linear => self.linear(most),
        }
    }

    fn decades(&self, most: usize) -> Vec<Tick> {
        let (first, last) = (self.low.log10().floor(), self.high.log10().ceil());
        let decades = self.high.log10() - self.low.log10();
        let step = (decades / most as f64).ceil().max(1.0) as i64;
        let mut ticks = Vec::new();
        for exponent in first as i64..=last as i64 {
            for digit in 1..10 {
                let value = f64::from(digit) * 10f64.powi(exponent as i32);
                if value < self.low * 0.999_999 || value > self.high * 1.000_001 {
                    continue;
                }
                let major = digit == 1 && exponent.rem_euclid(step) == 0;
                // Within two decades, powers of ten alone leave the reader without a scale.
                let between = decades < 2.0 && matches!(digit, 2 | 5) && most >= 4;
                if major || between {
                    ticks.push(self.labelled(value));
                } else if digit == 1 || decades <= 6.0 {
                    ticks.push(Tick { value, label: None });
                }
            }
        }
        let labelled = ticks.iter().filter(|tick| tick.label.is_some()).count();
        if labelled < LEAST_LABELS && most >= 4 && self.high < 3.0 * self.low {
            // Even steps lie far enough apart over so little.
            return self.linear(most);
        }
        ticks
    }

    fn octaves(&self, most: usize) -> Vec<Tick> {
        let (first, last) = (self.low.log2().ceil(), self.high.log2().floor());
        let step = ((last - first + 1.0) / most as f64).ceil().max(1.0) as i64;
        (first as i64..=last as i64)
            .map(|exponent| {
                let value = 2f64.powi(exponent as i32);
                if exponent.rem_euclid(step) == 0 {
                    self.labelled(value)
                } else {
                    Tick { value, label: None }
                }
            })
            .collect()
    }

    fn linear(&self, most: usize) -> Vec<Tick> {
        let rough = (self.high - self.low) / most as f64;
        let decade = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .map(|digit| digit * decade)
            .into_iter()
            .find(|step| *step >= rough * 0.999)
            .unwrap_or(10.0 * decade);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last)
            .map(|i| self.labelled(i as f64 * step))
            .collect()
    }

    fn labelled(&self, value: f64) -> Tick {
        let label = match self.labels {
            Labels::Decimal => engineering(value, ""),
            Labels::Plain if (1e-3..1e3).contains(&value) || value == 0.0 => significant(value, 3),
            Labels::Plain => engineering(value, ""),
            Labels::Binary if value <= 65536.0 && self.high <= 131_072.0 => significant(value, 6),
            Labels::Binary => count(value as u64),
            Labels::Percent => format!("{} %", significant(100.0 * value, 3)),
        };
        Tick {
            value,
            label: Some(label.trim_end().to_owned()),
        }
    }
}

/// A number of elements: with a binary prefix where it is a whole one (`64Mi`), with a decimal
/// prefix from a million (`100M`), as it is otherwise.
#[must_use]
pub fn count(n: u64) -> String {
    for (prefix, scale) in [("Gi", 1u64 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)] {
        if n >= scale && n.is_multiple_of(scale) {
            return format!("{}{prefix}", n / scale);
        }
    }
    if n >= 1_000_000 {
        engineering(n as f64, "").replace(' ', "")
    } else {
        n.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logarithmic_axis_over_a_factor_of_less_than_three_has_a_scale() {
        for (low, high) in [(0.8, 1.8), (0.9, 1.1), (2.1, 4.9), (31.0, 80.0)] {
            let values = [low, high].into_iter();
            let spread = (Scale::Decades, Labels::Plain);
            let axis = Axis::logarithmic("x", values, (1.0, 1.0), spread);
            let ticks = axis.ticks(6);
            let labels = ticks.iter().filter(|tick| tick.label.is_some()).count();
            assert!(labels >= LEAST_LABELS, "{low} to {high}: {ticks:?}");
            assert!(
                ticks
                    .iter()
                    .all(|tick| tick.value >= low && tick.value <= high * 1.000_001)
            );
        }
    }

    fn labels(axis: &Axis, most: usize) -> Vec<String> {
        axis.ticks(most)
            .into_iter()
            .filter_map(|t| t.label)
            .collect()
    }

    fn axis(low: f64, high: f64, scale: Scale, labels: Labels) -> Axis {
        Axis {
            title: String::new(),
            low,
            high,
            scale,
            labels,
        }
    }

    #[test]
    fn decades_are_labelled_and_thinned() {
        let rates = axis(1e9, 1e14, Scale::Decades, Labels::Decimal);
        assert_eq!(
            labels(&rates, 8),
            ["1 G", "10 G", "100 G", "1 T", "10 T", "100 T"]
        );
        assert_eq!(labels(&rates, 3), ["10 G", "1 T", "100 T"]);
    }

    #[test]
    fn less_than_two_decades_have_labels_between() {
        let axis = axis(0.9, 12.0, Scale::Decades, Labels::Plain);
        assert_eq!(labels(&axis, 6), ["1", "2", "5", "10"]);
    }

    #[test]
    fn sizes_are_powers_of_two() {
        let sides = axis(100.0, 5000.0, Scale::Octaves, Labels::Binary);
        assert_eq!(
            labels(&sides, 8),
            ["128", "256", "512", "1024", "2048", "4096"]
        );
        let elements = axis(65536.0, 3e8, Scale::Octaves, Labels::Binary);
        assert_eq!(labels(&elements, 4), ["64Ki", "1Mi", "16Mi", "256Mi"]);
    }

    #[test]
    fn linear_steps_are_round() {
        let percent = axis(0.0, 1.0, Scale::Linear, Labels::Percent);
        assert_eq!(
            labels(&percent, 5),
            ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]
        );
    }

    #[test]
    fn place_and_value_are_inverse() {
        for scale in [Scale::Decades, Scale::Linear] {
            let axis = axis(2.0, 300.0, scale, Labels::Plain);
            assert!((axis.value(axis.place(17.0)) - 17.0).abs() < 1e-9);
        }
    }

    #[test]
    fn counts_take_the_prefix_that_divides_them() {
        assert_eq!(count(64 << 20), "64Mi");
        assert_eq!(count(100_000_000), "100M");
        assert_eq!(count(1000), "1000");
        assert_eq!(count(1 << 40), "1024Gi");
    }
}
