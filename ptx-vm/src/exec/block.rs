//! A block, or a cluster of blocks: the warps, the shared memory, whose turn it is.

use super::barrier::Barriers;
use super::cluster::{ClusterBarrier, Place};
use super::mbarrier::{Mbarriers, land};
use super::warp::{Env, Frozen, Stop, Warp};
use crate::check::shadow::Shadow;
use crate::check::{Collision, Fault, FaultKind, Raw};
use crate::count::collect::Counts;
use crate::ir::WARP;
use crate::module::Module;

/// Warp instructions of one turn.
const TURN: u32 = 4096;

/// Rounds in which every warp that can run only waits for mbarriers, and none changes, after
/// which the block is stuck. A loop that gives up after some tries has left by then.
const FRUITLESS_ROUNDS: u32 = 1000;

/// Memory of a cluster, kept from one to the next to spare allocations. A launch without
/// clusters has clusters of one block.
#[derive(Default)]
pub(crate) struct Cluster {
    warps: Vec<Warp>,
    shared: Vec<u32>,
    shadow: Shadow,
    /// One set for each block.
    barriers: Vec<Barriers>,
    cluster: ClusterBarrier,
    waited: Vec<bool>,
    mbarriers: Mbarriers,
    issued_products: Vec<u32>,
}

/// Coordinates of linear thread `thread` in a block of shape `block`.
pub(crate) fn thread_index(thread: u32, block: [u32; 3]) -> [u32; 3] {
    [
        thread % block[0],
        thread / block[0] % block[1],
        thread / (block[0] * block[1]),
    ]
}

impl Cluster {
    /// Runs the blocks of a cluster to their end.
    pub fn run(
        &mut self,
        module: &Module,
        frozen: &Frozen<'_>,
        counts: &mut Counts,
        places: &[Place],
    ) -> Result<(), Box<Fault>> {
        let threads: u32 = frozen.launch.block.iter().product();
        let n = (threads as usize).div_ceil(WARP);
        let all = n * places.len();
        self.warps.resize_with(all, Warp::default);
        for (w, warp) in self.warps.iter_mut().enumerate() {
            warp.start(frozen, (w % n) as u32, threads, &places[w / n]);
        }
        let bytes = frozen.shared_stride() as usize * places.len();
        self.shared.clear();
        self.shared.resize(bytes / 4, 0);
        self.shadow.races = frozen.options.checks.races;
        self.shadow.uninitialized = frozen.options.checks.uninitialized;
        self.shadow
            .reset(bytes, frozen.program.narrow_shared, places.len(), n);
        self.barriers.resize_with(places.len(), Barriers::default);
        self.barriers.iter_mut().for_each(Barriers::reset);
        self.cluster.reset(all as u32);
        self.waited.clear();
        self.waited.resize(places.len(), !frozen.launch.dependent);
        self.mbarriers.reset();
        self.issued_products.clear();
        self.issued_products.resize(all, 0);
        let mut env = Env {
            frozen,
            shared: &mut self.shared,
            shadow: &mut self.shadow,
            mbarriers: &mut self.mbarriers,
            cluster: &mut self.cluster,
            waited: &mut self.waited,
            issued_products: &mut self.issued_products,
            counts,
            check_shared: frozen.options.checks.races || frozen.options.checks.uninitialized,
        };
        let outcome = schedule(&mut self.warps, n, &mut self.barriers, &mut env);
        self.decide(outcome)
            .map_err(|(w, raw)| describe(module, frozen, &self.warps[w], n as u32, *raw))
    }

    /// A read of unwritten memory comes before whatever followed from it, save a race, which
    /// explains it.
    fn decide(&mut self, outcome: Outcome) -> Outcome {
        if let Err((_, raw)) = &outcome
            && matches!(raw.kind, FaultKind::SharedRace | FaultKind::AsyncNotWaited)
        {
            return outcome;
        }
        match self.shadow.take_deferred() {
            Some((actor, raw)) => {
                let w = actor.thread as usize / WARP;
                self.warps[w].pc = actor.pc;
                Err((w, raw))
            }
            None => outcome,
        }
    }
}

/// A fault comes with the index of its warp.
type Outcome = Result<(), (usize, Box<Raw>)>;

/// Gives the warps, `per_block` of each block, turns until all are done, or until a barrier completes behind a read of
/// unwritten memory.
fn schedule(
    warps: &mut [Warp],
    per_block: usize,
    barriers: &mut [Barriers],
    env: &mut Env<'_, '_>,
) -> Outcome {
    let (mut issued, mut fruitless) = (0u64, 0);
    loop {
        let changes = env.mbarriers.changes;
        let (mut progress, mut waiter) = (false, None);
        let mut only_waits = true;
        for w in 0..warps.len() {
            let (block, first) = (w / per_block, w - w % per_block);
            if warps[w].is_done() || barriers[block].holds(w - first) {
                continue;
            }
            progress = true;
            let before = warps[w].issued;
            let stop = warps[w].run(env, TURN).map_err(|raw| (w, raw))?;
            issued += warps[w].issued - before;
            if let Stop::Wait = stop {
                waiter = Some(w);
            } else {
                only_waits = false;
            }
            if let Stop::Barrier(arrival) = stop {
                let members = &mut warps[first..first + per_block];
                let completed = barriers[block]
                    .arrive(w - first, arrival, members, env)
                    .map_err(|raw| (w, raw))?;
                if completed && env.shadow.has_deferred() {
                    return Ok(());
                }
            }
            if issued > env.frozen.options.max_warp_instructions {
                let limit = env.frozen.options.max_warp_instructions;
                let detail = format!("the block has issued more than {limit} warp instructions");
                return Err((w, Raw::new(FaultKind::InstructionLimit, 0, detail)));
            }
        }
        land(warps, env);
        if warps.iter().all(Warp::is_done) {
            return Ok(());
        }
        if !progress {
            let block = barriers.iter().position(Barriers::hold_any).unwrap_or(0);
            let first = block * per_block;
            let (w, raw) = barriers[block].stuck(&mut warps[first..first + per_block]);
            return Err((first + w, raw));
        }
        fruitless = if only_waits && env.mbarriers.changes == changes {
            fruitless + 1
        } else {
            0
        };
        if let Some(w) = waiter.filter(|_| fruitless > FRUITLESS_ROUNDS) {
            return Err((w, warps[w].fruitless(env)));
        }
    }
}

/// Adds place and text to a fault; blocks have `warps` warps.
fn describe(module: &Module, frozen: &Frozen<'_>, warp: &Warp, warps: u32, raw: Raw) -> Box<Fault> {
    let shape = frozen.launch.block;
    let padded = warps * WARP as u32;
    let line = |pc: u32| {
        frozen
            .program
            .code
            .get(pc as usize)
            .map_or(0, |op| op.position.line)
    };
    let at = line(warp.pc);
    Box::new(Fault {
        kind: raw.kind,
        kernel: frozen.launch.entry.clone(),
        line: at,
        text: module.line(at).to_string(),
        block: warp.block,
        thread: thread_index(warp.first_in_block() + raw.lane, shape),
        address: raw.address,
        detail: raw.detail,
        other: raw.other.map(|(action, pc, thread)| Collision {
            action: action.to_string(),
            line: line(pc),
            text: module.line(line(pc)).to_string(),
            // Beyond the threads of the cluster are the hardware's units.
            thread: (thread < padded * frozen.cluster_blocks())
                .then(|| thread_index(thread % padded, shape)),
        }),
    })
}
