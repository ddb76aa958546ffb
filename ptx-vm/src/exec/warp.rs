//! A warp: registers as structure of arrays, and the stack that holds diverged lanes.

use super::async_copy::AsyncState;
use super::bulk::BulkState;
use super::cluster::{ClusterBarrier, Place};
use super::launch::{Launch, Options};
use super::mbarrier::{Mbarriers, Wait};
use super::poison::Poisons;
use super::special::special_lanes;
use super::wgmma::WgmmaState;
use super::{Lanes32, Lanes64};
use crate::check::shadow::{Actor, Shadow};
use crate::check::{Checked, FaultKind, Raw};
use crate::count::collect::Counts;
use crate::ir::{BarrierKind, Inst, NOWHERE, WARP};
use crate::lower::Program;
use crate::lower::names::Constant;
use crate::memory::Memory;

/// What does not change during a launch.
pub(crate) struct Frozen<'a> {
    pub program: &'a Program,
    pub memory: &'a Memory,
    pub params: &'a [u8],
    pub launch: &'a Launch,
    pub options: &'a Options,
    pub sms: u32,
    /// Shared memory of a block.
    pub shared_bytes: u32,
    /// Blocks of a cluster per axis.
    pub cluster: [u32; 3],
    pub simd: pulp::Arch,
}

impl Frozen<'_> {
    /// Blocks of a cluster.
    pub fn cluster_blocks(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// Distance of the blocks' shared memories in the cluster's: a multiple of the swizzle's period.
    pub fn shared_stride(&self) -> u64 {
        u64::from(self.shared_bytes).next_multiple_of(1024)
    }
}

/// What the warps of a block, or of a cluster of blocks, share.
pub(crate) struct Env<'a, 'f> {
    pub frozen: &'a Frozen<'f>,
    pub shared: &'a mut Vec<u32>,
    pub shadow: &'a mut Shadow,
    pub mbarriers: &'a mut Mbarriers,
    pub cluster: &'a mut ClusterBarrier,
    /// For each block, whether it has waited for the launch in front of this one.
    pub waited: &'a mut Vec<bool>,
    /// `wgmma` instructions that each warp has issued.
    pub issued_products: &'a mut Vec<u32>,
    pub counts: &'a mut Counts,
    pub check_shared: bool,
}

/// Lanes that run together, from `pc` until they reach `meet`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub pc: u32,
    pub meet: u32,
    pub mask: u32,
}

/// A warp that has come to a barrier.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub kind: BarrierKind,
    pub id: u32,
    pub threads: Option<u32>,
    pub pc: u32,
    pub active: u32,
    /// Lanes whose predicate holds, for reductions.
    pub votes: u32,
}

/// Why a warp stopped running.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stop {
    Done,
    Turn,
    /// A wait for an mbarrier or for other warps failed: they should run before the next try.
    Wait,
    Barrier(Arrival),
}

#[derive(Debug, Default)]
pub(crate) struct Warp {
    /// Number in its block, and in the cluster.
    pub index: u32,
    pub number: u32,
    /// Rank of its block in the cluster, and the block's index in the grid.
    pub rank: u32,
    pub block: [u32; 3],
    /// Phase of the cluster's barrier that the warp has arrived in.
    pub cluster_phase: Option<u64>,
    /// Lanes that hold threads of the block.
    pub full: u32,
    /// Lanes that have not exited.
    pub live: u32,
    pub r: Vec<Lanes32>,
    pub d: Vec<Lanes64>,
    pub p: Vec<u32>,
    /// The carry flag of each lane.
    pub carry: u32,
    pub local: Vec<u32>,
    /// One bit per byte of `local`, four per word.
    pub local_written: Vec<u8>,
    pub copies: AsyncState,
    pub bulk: BulkState,
    pub products: WgmmaState,
    /// Registers whose values must not be used.
    pub poisons: Poisons,
    /// Lanes of the last failed wait for an mbarrier.
    pub waiting: u32,
    /// Instructions issued: the warp's clock.
    pub issued: u64,
    /// The instruction being executed.
    pub pc: u32,
    /// Allocation of the last global access, a guess for the next.
    pub last_allocation: usize,
    pub(super) stack: Vec<Entry>,
}

impl Warp {
    /// Prepares the warp for a new block.
    pub fn start(&mut self, frozen: &Frozen<'_>, index: u32, threads: u32, place: &Place) {
        let program = frozen.program;
        let files = &program.files;
        self.index = index;
        self.number = place.rank * threads.div_ceil(WARP as u32) + index;
        self.rank = place.rank;
        self.block = place.block;
        self.cluster_phase = None;
        self.full = match threads - index * WARP as u32 {
            n if n >= 32 => u32::MAX,
            n => (1 << n) - 1,
        };
        self.live = self.full;
        self.r.clear();
        self.r.resize(files.r as usize, [0; WARP]);
        self.d.clear();
        self.d.resize(files.d as usize, [0; WARP]);
        self.p.clear();
        self.p.resize(files.p as usize, 0);
        self.carry = 0;
        let value = |constant: &Constant| match constant {
            Constant::Bits(bits) => *bits,
            Constant::DynamicShared(offset) => {
                u64::from(program.dynamic_shared).wrapping_add_signed(*offset)
            }
        };
        for (constant, slot) in &files.constants_r {
            self.r[*slot as usize] = [value(constant) as u32; WARP];
        }
        for (constant, slot) in &files.constants_d {
            self.d[*slot as usize] = [value(constant); WARP];
        }
        for (special, slot) in &files.specials {
            self.r[*slot as usize] = special_lanes(*special, frozen, index, place);
        }
        let words = program.local_bytes as usize / 4 * WARP;
        self.local.resize(words, 0);
        self.local_written.clear();
        self.local_written.resize(words, 0);
        self.copies.reset();
        self.bulk.reset();
        self.products.reset();
        self.poisons.clear();
        self.issued = 0;
        self.pc = 0;
        self.stack.clear();
        self.stack.push(Entry {
            pc: 0,
            meet: NOWHERE,
            mask: self.full,
        });
    }

    pub fn is_done(&self) -> bool {
        self.stack.is_empty()
    }

    /// Linear index in the block of lane 0.
    pub fn first_in_block(&self) -> u32 {
        self.index * WARP as u32
    }

    /// Linear index in the cluster of lane 0, every block padded to whole warps.
    pub fn first_thread(&self) -> u32 {
        self.number * WARP as u32
    }

    pub fn actor(&self, lane: usize) -> Actor {
        Actor {
            thread: self.first_thread() + lane as u32,
            pc: self.pc,
        }
    }

    /// Runs at most `turn` instructions.
    pub fn run(&mut self, env: &mut Env<'_, '_>, turn: u32) -> Checked<Stop> {
        let program = env.frozen.program;
        let mut left = turn;
        while let Some(&Entry { pc, meet, mask }) = self.stack.last() {
            let mut pc = pc;
            loop {
                if pc == meet {
                    self.stack.pop();
                    break;
                }
                if left == 0 {
                    self.save(pc);
                    return Ok(Stop::Turn);
                }
                left -= 1;
                let op = &program.code[pc as usize];
                let active = op.guard.map_or(mask, |guard| mask & self.pred(guard));
                self.pc = pc;
                self.issued += 1;
                if !self.poisons.is_empty() && active != 0 {
                    self.check_poison(env, &op.inst, active)?;
                }
                let count = &mut env.counts.pcs[pc as usize];
                count.warps += 1;
                count.threads += u64::from(active.count_ones());
                match &op.inst {
                    Inst::Branch {
                        target,
                        reconverge,
                        uniform,
                    } => {
                        if active == mask {
                            pc = *target;
                            continue;
                        }
                        if active != 0 {
                            if *uniform && env.frozen.options.checks.divergence {
                                let lane = (mask & !active).trailing_zeros();
                                return Err(Raw::new(
                                    FaultKind::WarpMask,
                                    lane,
                                    "bra.uni is not uniform",
                                ));
                            }
                            self.diverge(
                                *reconverge,
                                [(*target, active), (pc + 1, mask & !active)],
                            );
                            break;
                        }
                    }
                    Inst::Indexed {
                        index,
                        targets,
                        reconverge,
                    } => {
                        if self.jump(*index, targets, *reconverge, pc, mask, active)? {
                            break;
                        }
                    }
                    Inst::Exit => {
                        if active != 0 {
                            self.save(pc + 1);
                            self.retire(active);
                            break;
                        }
                    }
                    Inst::Barrier {
                        kind,
                        aligned,
                        id,
                        threads,
                    } => {
                        if active != 0 {
                            self.save(pc + 1);
                            return self
                                .arrival(env, (*kind, *aligned), *id, *threads, active)
                                .map(Stop::Barrier);
                        }
                    }
                    Inst::MbarrierWait {
                        space,
                        addr,
                        parity,
                        state,
                        p,
                    } => {
                        let wait = Wait {
                            space: *space,
                            addr: *addr,
                            parity: *parity,
                            state: *state,
                            p: *p,
                        };
                        if active != 0 && !self.mbarrier_wait(env, wait, active)? {
                            self.waiting = active;
                            self.save(pc + 1);
                            return Ok(Stop::Wait);
                        }
                    }
                    Inst::ClusterArrive { release } => {
                        if active != 0 {
                            self.cluster_arrive(env, *release, active)?;
                        }
                    }
                    Inst::ClusterWait => {
                        if active != 0 && !self.cluster_wait(env)? {
                            self.retry(env, pc, active);
                            return Ok(Stop::Wait);
                        }
                    }
                    Inst::WgmmaWait { pending } => {
                        if active != 0 && !self.wgmma_wait(env, *pending) {
                            self.retry(env, pc, active);
                            return Ok(Stop::Wait);
                        }
                    }
                    inst => {
                        if active != 0 {
                            self.execute(env, inst, active)?;
                        }
                    }
                }
                pc += 1;
            }
        }
        env.cluster.end(env.mbarriers);
        Ok(Stop::Done)
    }

    /// The instruction is tried again later; what is counted is the try that succeeds.
    fn retry(&mut self, env: &mut Env<'_, '_>, pc: u32, active: u32) {
        let count = &mut env.counts.pcs[pc as usize];
        count.warps -= 1;
        count.threads -= u64::from(active.count_ones());
        self.waiting = active;
        self.save(pc);
    }

    fn save(&mut self, pc: u32) {
        if let Some(top) = self.stack.last_mut() {
            top.pc = pc;
        }
    }
}
