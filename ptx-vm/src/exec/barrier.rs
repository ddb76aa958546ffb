//! Barriers of a block (PTX ISA, "bar, barrier").

use super::block::thread_index;
use super::warp::{Arrival, Env, Warp};
use crate::check::{Checked, FaultKind, Raw};
use crate::ir::{BarrierKind, WARP};

/// Barriers of a block.
const COUNT: usize = 16;

#[derive(Debug, Default, Clone)]
struct Barrier {
    /// Warps that have arrived, with what they asked for.
    arrived: Vec<(usize, Arrival)>,
}

/// The sixteen barriers, and which warps they hold.
#[derive(Debug, Default)]
pub(crate) struct Barriers {
    all: Vec<Barrier>,
    held: u64,
}

impl Barriers {
    pub fn reset(&mut self) {
        self.all.clear();
        self.all.resize(COUNT, Barrier::default());
        self.held = 0;
    }

    /// Whether any warp waits.
    pub fn hold_any(&self) -> bool {
        self.held != 0
    }

    /// Whether warp `w` of the block waits.
    pub fn holds(&self, w: usize) -> bool {
        self.held >> w & 1 == 1
    }

    /// Warp `w` arrives; the barrier completes if it is the last one. Returns whether it did.
    pub fn arrive(
        &mut self,
        w: usize,
        arrival: Arrival,
        warps: &mut [Warp],
        env: &mut Env<'_, '_>,
    ) -> Checked<bool> {
        let Some(barrier) = self.all.get_mut(arrival.id as usize) else {
            let detail = format!("barrier {}; there are {COUNT}", arrival.id);
            return Err(Raw::new(FaultKind::InvalidOperand, 0, detail));
        };
        let expected = match arrival.threads {
            None => warps.len() as u32,
            Some(threads) if threads > 0 && threads.is_multiple_of(WARP as u32) => {
                threads / WARP as u32
            }
            Some(threads) => {
                let detail =
                    format!("{threads} threads at a barrier; a multiple of {WARP} is demanded");
                return Err(Raw::new(FaultKind::InvalidOperand, 0, detail));
            }
        };
        if expected as usize > warps.len() {
            let detail = format!(
                "{} threads at a barrier, more than the block has",
                expected as usize * WARP
            );
            return Err(Raw::new(FaultKind::InvalidOperand, 0, detail));
        }
        if let Some((other, first)) = barrier.arrived.first()
            && first.threads != arrival.threads
        {
            let mut raw = Raw::new(
                FaultKind::BarrierDivergence,
                0,
                "the barrier is awaited for different numbers of threads",
            );
            raw.other = Some(("arrival", first.pc, warps[*other].first_thread()));
            return Err(raw);
        }
        if arrival.kind != BarrierKind::Arrive {
            self.held |= 1 << w;
        }
        barrier.arrived.push((w, arrival));
        if barrier.arrived.len() as u32 == expected {
            let arrived = std::mem::take(&mut barrier.arrived);
            self.complete(&arrived, warps, env);
            return Ok(true);
        }
        Ok(false)
    }

    fn complete(
        &mut self,
        arrived: &[(usize, Arrival)],
        warps: &mut [Warp],
        env: &mut Env<'_, '_>,
    ) {
        let members: Vec<usize> = arrived
            .iter()
            .map(|(w, _)| warps[*w].number as usize)
            .collect();
        env.shadow.join(&members);
        let (mut votes, mut threads) = (0, 0);
        for (w, arrival) in arrived {
            votes += arrival.votes.count_ones();
            threads += warps[*w].full.count_ones();
        }
        for (w, arrival) in arrived {
            self.held &= !(1 << w);
            let warp = &mut warps[*w];
            match arrival.kind {
                BarrierKind::Sync | BarrierKind::Arrive => {}
                BarrierKind::RedPopc { dst, .. } => warp.set_r(dst, arrival.active, &[votes; WARP]),
                BarrierKind::RedAnd { dst, .. } => {
                    warp.set_p(dst, arrival.active, splat(votes == threads))
                }
                BarrierKind::RedOr { dst, .. } => warp.set_p(dst, arrival.active, splat(votes > 0)),
            }
        }
    }

    /// Why no warp can go on: some have ended without the barrier, or they wait at different ones.
    pub fn stuck(&self, warps: &mut [Warp]) -> (usize, Box<Raw>) {
        let waiting = || {
            self.all
                .iter()
                .flat_map(|b| &b.arrived)
                .filter(|(w, _)| self.holds(*w))
        };
        // There is a waiting warp: none runs, and not all are done.
        let Some((w, arrival)) = waiting().next() else {
            return (0, Raw::new(FaultKind::Deadlock, 0, "no warp can go on"));
        };
        warps[*w].pc = arrival.pc;
        let mut raw = if let Some(done) = warps.iter().position(Warp::is_done) {
            let detail = format!(
                "{} of {} warps wait, others have ended",
                waiting().count(),
                warps.len()
            );
            let mut raw = Raw::new(FaultKind::BarrierDivergence, 0, detail);
            raw.other = Some(("exit", warps[done].pc, warps[done].first_thread()));
            raw
        } else {
            let detail = format!(
                "{} of {} warps wait at this or another barrier",
                waiting().count(),
                warps.len()
            );
            Raw::new(FaultKind::Deadlock, 0, detail)
        };
        if let (None, Some((v, other))) = (raw.other, waiting().find(|(_, a)| a.pc != arrival.pc)) {
            raw.other = Some(("wait", other.pc, warps[*v].first_thread()));
        }
        (*w, raw)
    }
}

impl Warp {
    /// What the warp brings to a barrier. All its threads must take part.
    pub(super) fn arrival(
        &mut self,
        env: &Env<'_, '_>,
        (kind, aligned): (BarrierKind, bool),
        id: u32,
        threads: Option<u32>,
        active: u32,
    ) -> Checked<Arrival> {
        if active != self.full {
            let missing = (self.full & !active).trailing_zeros();
            let ended = self.live >> missing & 1 == 0;
            let shape = env.frozen.launch.block;
            let detail = format!(
                "{} of the warp's {} threads arrive; thread {:?} {}",
                active.count_ones(),
                self.full.count_ones(),
                thread_index(self.first_in_block() + missing, shape),
                if ended {
                    "has exited"
                } else {
                    "is on another path"
                },
            );
            if !aligned || env.frozen.options.checks.divergence || active != self.live {
                return Err(Raw::new(
                    FaultKind::BarrierDivergence,
                    active.trailing_zeros(),
                    detail,
                ));
            }
        }
        let lane = active.trailing_zeros() as usize;
        let votes = match kind {
            BarrierKind::RedPopc { pred, .. }
            | BarrierKind::RedAnd { pred, .. }
            | BarrierKind::RedOr { pred, .. } => self.pred(pred) & active,
            _ => 0,
        };
        Ok(Arrival {
            kind,
            id: self.r[id as usize][lane],
            threads: threads.map(|t| self.r[t as usize][lane]),
            pc: self.pc,
            active,
            votes,
        })
    }
}

fn splat(value: bool) -> u32 {
    if value { u32::MAX } else { 0 }
}
