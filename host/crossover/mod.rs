//! Predicted crossovers put to the test, from rows only.
//!
//! | module | what it is for |
//! |---|---|
//! | [`series`] | rows of one product become a trace; what is left out, counted |
//! | [`roofs`] | the roofs that the rows' runs measured |
//! | [`sizes`] | which sizes to measure |
//! | [`words`] | a test as sentences |
//!
//! The arithmetic, and the criterion, are in [`crate::roofline::crossover`].

pub mod roofs;
pub mod series;
pub mod sizes;
pub mod words;

use crate::record::Row;
use crate::roofline::crossover::{
    Claim, Judgement, Knee, MeasuredRoofs, Plateau, claims, judge, knee, plateau,
};
use crate::roofline::{Pipe, Storage};
use series::Series;
use std::str::FromStr;

/// A predicted crossover, tested with measured rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Tested {
    /// What was measured.
    pub series: Series,
    /// The claim that it tests, if it is one of [`claims`].
    pub claim: Option<Claim>,
    /// The roofs that the same runs measured.
    pub roofs: Option<MeasuredRoofs>,
    /// The prediction, the asymptotes, the verdict.
    pub judgement: Judgement,
    /// A smooth knee through all points of the trace.
    pub knee: Option<Knee>,
    /// The plateau of single problems.
    pub plateau: Option<Plateau>,
}

/// Tests the crossover of every product among `rows` whose kernel is one of `kernels`, in the
/// order of the rows.
#[must_use]
pub fn test(rows: &[&Row], kernels: &[&str]) -> Vec<Tested> {
    let all = series::of(rows, kernels);
    all.into_iter().map(|series| tested(series, rows)).collect()
}

fn tested(series: Series, rows: &[&Row]) -> Tested {
    let bits = series.bits_per_square.map(f64::from);
    let roofs = roofs::measured(rows, &series.device, &series.pipe);
    Tested {
        claim: claim(&series),
        // Rows without bytes predict nothing, whatever the roofs.
        judgement: judge(
            &series.trace,
            bits.unwrap_or_default(),
            roofs.as_ref().filter(|_| bits.is_some()),
        ),
        knee: bits.and_then(|bits| knee(&series.trace, bits)),
        plateau: plateau(&series.single),
        roofs,
        series,
    }
}

/// The claim with this kernel, pipe, storage, and C read or not. All are of GPUs.
fn claim(series: &Series) -> Option<Claim> {
    if !series.on_gpu {
        return None;
    }
    let pipe = Pipe::from_str(&series.pipe).ok()?;
    let storage = Storage::from_str(&series.storage).ok()?;
    claims().into_iter().find(|claim| {
        claim.tested_by == series.kernel
            && claim.pipe == pipe
            && claim.storage.a == storage
            && claim.storage.reads_c == series.reads_c
            && Some(claim.storage.bits_per_square()) == series.bits_per_square
    })
}
