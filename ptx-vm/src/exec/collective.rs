//! Warp-wide instructions (PTX ISA, "shfl.sync", "vote.sync", "match.sync", "redux.sync",
//! "elect.sync").

use super::lanes;
use super::warp::{Env, Warp};
use crate::check::{Checked, FaultKind, Raw};
use crate::ir::{Inst, R, Redux, Shfl, Vote};

impl Warp {
    /// The lanes that run must be those that the mask names and that have not exited.
    pub(super) fn check_mask(&self, env: &Env<'_, '_>, mask: R, active: u32) -> Checked<()> {
        if !env.frozen.options.checks.divergence {
            return Ok(());
        }
        for lane in lanes(active) {
            let mask = self.r[mask as usize][lane];
            if mask & self.live != active {
                let detail = format!("mask {mask:#010x}, running lanes {active:#010x}");
                return Err(Raw::new(FaultKind::WarpMask, lane as u32, detail));
            }
        }
        Ok(())
    }

    pub(super) fn collective(
        &mut self,
        env: &mut Env<'_, '_>,
        inst: &Inst,
        active: u32,
    ) -> Checked<()> {
        match *inst {
            Inst::Shuffle {
                mode,
                d,
                p,
                a,
                b,
                c,
                mask,
            } => {
                self.check_mask(env, mask, active)?;
                self.shuffle(env, (mode, a, b, c), active, d, p)?;
            }
            Inst::Vote { op, d, p, a, mask } => {
                self.check_mask(env, mask, active)?;
                let votes = self.pred(a) & active;
                let outcome = match op {
                    Vote::Ballot => {
                        self.set_r(d, active, &[votes; 32]);
                        return Ok(());
                    }
                    Vote::All => votes == active,
                    Vote::Any => votes != 0,
                    Vote::Uni => votes == 0 || votes == active,
                };
                if let Some(p) = p {
                    self.set_p(p, active, if outcome { u32::MAX } else { 0 });
                }
            }
            Inst::Match { all, d, p, a, mask } => {
                self.check_mask(env, mask, active)?;
                let equal = |lane: usize| {
                    lanes(active)
                        .filter(|other| self.get(a, *other) == self.get(a, lane))
                        .fold(0u32, |m, other| m | 1 << other)
                };
                let mut out = [0; 32];
                let mut agree = 0;
                for lane in lanes(active) {
                    let same = equal(lane);
                    out[lane] = if all && same != active { 0 } else { same };
                    agree |= u32::from(same == active) << lane;
                }
                self.set_r(d, active, &out);
                if let Some(p) = p {
                    self.set_p(p, active, agree);
                }
            }
            Inst::Redux { op, d, a, mask } => {
                self.check_mask(env, mask, active)?;
                let values = lanes(active).map(|lane| self.r[a as usize][lane]);
                let out = values.reduce(|x, y| reduce(op, x, y)).unwrap_or(0);
                self.set_r(d, active, &[out; 32]);
            }
            Inst::Elect { d, p, mask } => {
                self.check_mask(env, mask, active)?;
                let leader = active.trailing_zeros();
                if let Some(d) = d {
                    self.set_r(d, active, &[leader; 32]);
                }
                self.set_p(p, active, 1 << leader);
            }
            _ => {}
        }
        Ok(())
    }

    /// Lane arithmetic as in the ISA's description of `shfl.sync`.
    fn shuffle(
        &mut self,
        env: &Env<'_, '_>,
        (mode, a, b, c): (Shfl, R, R, R),
        active: u32,
        d: R,
        p: Option<u32>,
    ) -> Checked<()> {
        let values = self.r[a as usize];
        let mut out = [0; 32];
        let mut valid = 0u32;
        for lane in lanes(active) {
            let (b, c) = (self.r[b as usize][lane] & 31, self.r[c as usize][lane]);
            let (clamp, segment) = (c & 31, c >> 8 & 31);
            let own = lane as u32;
            let first = own & segment;
            let last = first | (clamp & !segment);
            let (source, in_range) = match mode {
                Shfl::Up => (own.wrapping_sub(b), own as i32 - b as i32 >= last as i32),
                Shfl::Down => (own + b, own + b <= last),
                Shfl::Bfly => (own ^ b, own ^ b <= last),
                Shfl::Idx => (first | (b & !segment), first | (b & !segment) <= last),
            };
            let source = if in_range { source } else { own };
            if active >> source & 1 == 0 && env.frozen.options.checks.divergence {
                let detail =
                    format!("lane {own} reads from lane {source}, which does not take part");
                return Err(Raw::new(FaultKind::WarpMask, own, detail));
            }
            out[lane] = values[source as usize];
            valid |= u32::from(in_range) << lane;
        }
        self.set_r(d, active, &out);
        if let Some(p) = p {
            self.set_p(p, active, valid);
        }
        Ok(())
    }
}

fn reduce(op: Redux, x: u32, y: u32) -> u32 {
    match op {
        Redux::Add => x.wrapping_add(y),
        Redux::MinU => x.min(y),
        Redux::MaxU => x.max(y),
        Redux::MinS => (x as i32).min(y as i32) as u32,
        Redux::MaxS => (x as i32).max(y as i32) as u32,
        Redux::And => x & y,
        Redux::Or => x | y,
        Redux::Xor => x ^ y,
    }
}
