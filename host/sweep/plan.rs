//! What is to be measured, complete before anything happens.

use crate::device::CacheState;
use crate::kernels::{KernelId, Problem};
use crate::measure::Rules;
use crate::record::Cache;
use crate::roofline::db::Database;
use crate::roofline::pipe::Pipe;

/// A sweep.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Ties the rows of this run together.
    pub run_id: String,
    /// The points in the order they are measured.
    pub points: Vec<Point>,
    /// When to stop sampling.
    pub rules: Rules,
    /// Seconds for which each point is kept under load for its steady state, if it is.
    pub sustained_s: Option<f64>,
    /// The library that kernels are compared with, named as in the column `baseline`.
    pub baseline: Option<String>,
    /// Seed of every operand.
    pub seed: u64,
    /// GPUs whose datasheets are known.
    pub database: Database,
}

/// One point: a problem and a state of the cache.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// What is run.
    pub problem: Problem,
    /// State of the last-level cache.
    pub cache: Cache,
}

impl From<Cache> for CacheState {
    fn from(cache: Cache) -> Self {
        match cache {
            Cache::Cold => CacheState::Cold,
            Cache::Warm => CacheState::Warm,
        }
    }
}

impl Plan {
    /// Pipes that the points of the plan compute on, each once, in the order of [`Pipe::ALL`].
    /// Points that do not compute count for the pipe of their kernel.
    pub fn pipes(&self) -> Vec<Pipe> {
        let used = |pipe: &Pipe| {
            self.points
                .iter()
                .any(|point| point.problem.pipe() == *pipe)
        };
        Pipe::ALL.into_iter().filter(used).collect()
    }

    /// Kernels of the plan, each once, in the order they are measured.
    pub fn kernels(&self) -> Vec<KernelId> {
        let mut kernels = Vec::new();
        for point in &self.points {
            if !kernels.contains(&point.problem.kernel) {
                kernels.push(point.problem.kernel);
            }
        }
        kernels
    }
}
