//! Labels to instruction indices, and where diverged lanes meet again.
//!
//! Lanes that part at a branch are run one side after the other and join at the branch's
//! immediate post-dominator: the first instruction that every path from the branch to the end
//! of the kernel passes. It is computed on the reversed control-flow graph with the algorithm
//! of Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001).

use crate::ir::{Inst, NOWHERE, Op};
use crate::parse::ParseError;

/// Replaces label numbers in branches by instruction indices.
pub(super) fn resolve(mut code: Vec<Op>, labels: &[Option<u32>]) -> Result<Vec<Op>, ParseError> {
    for op in &mut code {
        let position = op.position;
        let find = |label: u32| {
            labels
                .get(label as usize)
                .copied()
                .flatten()
                .ok_or_else(|| ParseError::new(position, "branch to a label that is not placed"))
        };
        match &mut op.inst {
            Inst::Branch { target, .. } => *target = find(*target)?,
            Inst::Indexed { targets, .. } => {
                for target in targets.iter_mut() {
                    *target = find(*target)?;
                }
            }
            _ => {}
        }
    }
    Ok(code)
}

/// Where control can go from instruction `at`; the code's length stands for the exit.
pub(super) fn successors(code: &[Op], at: usize) -> Vec<usize> {
    let op = &code[at];
    let mut next = match &op.inst {
        Inst::Branch { target, .. } => vec![*target as usize],
        Inst::Indexed { targets, .. } => targets.iter().map(|t| *t as usize).collect(),
        Inst::Exit | Inst::Trap => vec![code.len()],
        _ => return vec![at + 1],
    };
    if op.guard.is_some() {
        next.push(at + 1);
    }
    next
}

/// Fills in the reconvergence point of every branch.
pub(super) fn reconvergence(code: &mut [Op]) {
    let n = code.len();
    let exit = n;
    let next: Vec<Vec<usize>> = (0..n).map(|at| successors(code, at)).collect();
    let mut previous = vec![Vec::new(); n + 1];
    for (at, successors) in next.iter().enumerate() {
        for &s in successors {
            previous[s].push(at);
        }
    }
    let order = postorder(&previous, exit);
    let mut rank = vec![usize::MAX; n + 1];
    for (i, &node) in order.iter().enumerate() {
        rank[node] = i;
    }
    // `parent[v]` is the immediate post-dominator found so far; usize::MAX when none.
    let mut parent = vec![usize::MAX; n + 1];
    parent[exit] = exit;
    let meet = |parent: &[usize], mut a: usize, mut b: usize| {
        while a != b {
            while rank[a] < rank[b] {
                a = parent[a];
            }
            while rank[b] < rank[a] {
                b = parent[b];
            }
        }
        a
    };
    let mut changed = true;
    while changed {
        changed = false;
        for &node in order.iter().rev().filter(|v| **v != exit) {
            let mut best = usize::MAX;
            for &s in next[node].iter().filter(|s| parent[**s] != usize::MAX) {
                best = if best == usize::MAX {
                    s
                } else {
                    meet(&parent, best, s)
                };
            }
            if best != parent[node] {
                parent[node] = best;
                changed = true;
            }
        }
    }
    for (at, op) in code.iter_mut().enumerate() {
        // Code that cannot reach the exit, an endless loop, has no such point.
        let meets = if parent[at] >= exit {
            NOWHERE
        } else {
            parent[at] as u32
        };
        match &mut op.inst {
            Inst::Branch { reconverge, .. } | Inst::Indexed { reconverge, .. } => {
                *reconverge = meets
            }
            _ => {}
        }
    }
}

/// Postorder of the reversed graph from the exit, without recursion.
fn postorder(previous: &[Vec<usize>], exit: usize) -> Vec<usize> {
    let mut order = Vec::with_capacity(previous.len());
    let mut seen = vec![false; previous.len()];
    let mut stack = vec![(exit, 0)];
    seen[exit] = true;
    while let Some((node, child)) = stack.last_mut() {
        if let Some(&p) = previous[*node].get(*child) {
            *child += 1;
            if !seen[p] {
                seen[p] = true;
                stack.push((p, 0));
            }
        } else {
            order.push(*node);
            stack.pop();
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Pred;

    fn op(inst: Inst, guarded: bool) -> Op {
        let (class, flops) = crate::count::classify::classify(&inst);
        let guard = guarded.then_some(Pred {
            slot: 1,
            negated: false,
        });
        Op {
            inst,
            guard,
            position: Default::default(),
            class,
            flops,
        }
    }

    fn bra(target: u32, guarded: bool) -> Op {
        op(
            Inst::Branch {
                target,
                reconverge: 0,
                uniform: false,
            },
            guarded,
        )
    }

    fn meets(code: &[Op], at: usize) -> u32 {
        match code[at].inst {
            Inst::Branch { reconverge, .. } => reconverge,
            _ => unreachable!("not a branch"),
        }
    }

    #[test]
    fn branches_meet_behind_if_else_and_loops() {
        // 0: if p goto 3; 1: nop; 2: goto 4; 3: nop; 4: nop; 5: if p goto 4; 6: exit
        let mut code = vec![
            bra(3, true),
            op(Inst::Nop, false),
            bra(4, false),
            op(Inst::Nop, false),
            op(Inst::Nop, false),
            bra(4, true),
            op(Inst::Exit, false),
        ];
        reconvergence(&mut code);
        assert_eq!(meets(&code, 0), 4);
        assert_eq!(meets(&code, 5), 6);
    }

    #[test]
    fn early_exit_and_endless_loop_meet_nowhere() {
        // 0: if p goto 2; 1: exit; 2: goto 2; 3: exit
        let mut code = vec![
            bra(2, true),
            op(Inst::Exit, false),
            bra(2, false),
            op(Inst::Exit, false),
        ];
        reconvergence(&mut code);
        assert_eq!(meets(&code, 2), NOWHERE);
        assert_eq!(meets(&code, 0), 1);
    }
}
