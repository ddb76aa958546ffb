//! The interval of the median that a row states, and the two parts of which it is made.
//!
//! On a GPU the samples of one run cannot see by how much another process would find the launch
//! longer or shorter ([`BETWEEN_CONTEXTS_S`]), so a row states the interval of its samples widened
//! by that on either side. Rows written before it did so have the same schema version, and state
//! that of their samples alone. `time_rel_noise` tells them apart: in either it is the half-width
//! of the samples' interval, over the median.

use super::row::Row;
use crate::measure::BETWEEN_CONTEXTS_S;

impl Row {
    /// By how much another process may find the time of this launch longer or shorter, in
    /// seconds, beyond what its samples say: [`BETWEEN_CONTEXTS_S`] on a GPU, 0 on a CPU, where
    /// it was not measured.
    #[must_use]
    pub fn between_processes_s(&self) -> f64 {
        match self.compute_capability {
            Some(_) => BETWEEN_CONTEXTS_S,
            None => 0.0,
        }
    }

    /// States the interval of a median whose samples give `sampling`, in seconds. The device must
    /// be filled in.
    pub(crate) fn state_interval(&mut self, sampling: Option<(f64, f64)>) {
        let beyond = self.between_processes_s();
        // No launch takes less than nothing.
        self.time_ci95_low_s = sampling.map(|(low, _)| (low - beyond).max(0.0));
        self.time_ci95_high_s = sampling.map(|(_, high)| high + beyond);
    }

    /// The part of the stated interval that is from the samples of this run, in seconds: what
    /// two times of one process are compared by. Its ends are in order, whatever an edited file
    /// says; a row without `time_rel_noise` is taken to state nothing else.
    #[must_use]
    pub fn sampling_interval(&self) -> Option<(f64, f64)> {
        let (low, high) = self.time_ci95_low_s.zip(self.time_ci95_high_s)?;
        let (low, high) = (low.min(high), low.max(high));
        let stated = (high - low) / 2.0;
        let beyond = self
            .time_rel_noise
            .zip(self.time_median_s)
            .map_or(0.0, |(noise, median)| stated - noise * median)
            .min(self.between_processes_s())
            .max(0.0);
        Some((low + beyond, high - beyond))
    }
}
