//! Loads whose results nobody reads.
//!
//! Software pipelines often load one step further than they compute, and drop what they loaded.
//! Such a load cannot do harm by what it reads, only by where: it is exempt from the checks of
//! uninitialised memory and races, but not of bounds and alignment. This finds the loads that
//! are dead on every path, by the usual backward data flow over basic blocks.

use crate::ir::operands::Role;
use crate::ir::{Inst, Op, Reg};

/// A set of registers.
type Set = Vec<u64>;

/// Marks dead loads in `code`, whose 32-bit registers are numbered below `r`, 64-bit below `d`.
pub(super) fn mark_dead_loads(code: &mut [Op], r: u32, d: u32) {
    if !code.iter().any(|op| matches!(op.inst, Inst::Load(_))) {
        return;
    }
    let words = (r + d).div_ceil(64) as usize;
    let index = |reg: Reg| match reg {
        Reg::R(slot) => Some(slot as usize),
        Reg::D(slot) => Some((r + slot) as usize),
        Reg::Sink => None,
    };
    let blocks = blocks(code);
    let mut live_in: Vec<Set> = vec![vec![0; words]; blocks.len() + 1];
    let mut changed = true;
    while changed {
        changed = false;
        for (b, block) in blocks.iter().enumerate().rev() {
            let mut live = live_out(block, &live_in, words);
            for op in code[block.start..block.end].iter().rev() {
                step(op, &mut live, index);
            }
            if live != live_in[b] {
                live_in[b] = live;
                changed = true;
            }
        }
    }
    for block in &blocks {
        let mut live = live_out(block, &live_in, words);
        for op in code[block.start..block.end].iter_mut().rev() {
            if let Inst::Load(access) = &mut op.inst {
                let is_live =
                    |reg: &Reg| index(*reg).is_some_and(|i| live[i / 64] >> (i % 64) & 1 == 1);
                access.dead = !access.regs.iter().any(is_live);
            }
            step(op, &mut live, index);
        }
    }
}

/// Live registers before `op`, given those behind it.
fn step(op: &Op, live: &mut Set, index: impl Fn(Reg) -> Option<usize>) {
    if op.guard.is_none() {
        op.inst.registers(|reg, role| {
            if let (Role::Write, Some(i)) = (role, index(reg)) {
                live[i / 64] &= !(1 << (i % 64));
            }
        });
    }
    op.inst.registers(|reg, role| {
        if let (Role::Read, Some(i)) = (role, index(reg)) {
            live[i / 64] |= 1 << (i % 64);
        }
    });
}

struct Block {
    start: usize,
    end: usize,
    next: Vec<usize>,
}

fn live_out(block: &Block, live_in: &[Set], words: usize) -> Set {
    let mut live = vec![0; words];
    for next in &block.next {
        live.iter_mut()
            .zip(&live_in[*next])
            .for_each(|(l, n)| *l |= n);
    }
    live
}

/// Basic blocks in order; a successor past the last is the exit.
fn blocks(code: &[Op]) -> Vec<Block> {
    let n = code.len();
    let mut starts = vec![false; n + 1];
    starts[0] = true;
    for (at, op) in code.iter().enumerate() {
        let successors = super::flow::successors(code, at);
        if matches!(
            op.inst,
            Inst::Branch { .. } | Inst::Indexed { .. } | Inst::Exit | Inst::Trap
        ) {
            successors.iter().for_each(|s| starts[*s] = true);
            starts[at + 1] = true;
        }
    }
    let firsts: Vec<usize> = (0..n).filter(|at| starts[*at]).collect();
    let block_of = |at: usize| firsts.partition_point(|first| *first < at);
    (0..firsts.len())
        .map(|b| {
            let end = firsts.get(b + 1).copied().unwrap_or(n);
            let next = super::flow::successors(code, end - 1);
            let next = next
                .into_iter()
                .map(|s| if s >= n { firsts.len() } else { block_of(s) })
                .collect();
            Block {
                start: firsts[b],
                end,
                next,
            }
        })
        .collect()
}
