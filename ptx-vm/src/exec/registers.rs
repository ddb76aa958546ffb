//! Reading and writing a warp's registers.

use super::warp::Warp;
use super::{Lanes32, Lanes64};
use crate::ir::{Addr, Pred, Reg, WARP};

impl Warp {
    /// Lanes of which a predicate operand is true.
    #[inline]
    pub fn pred(&self, pred: Pred) -> u32 {
        let value = self.p[pred.slot as usize];
        if pred.negated { !value } else { value }
    }

    #[inline]
    pub fn set_p(&mut self, slot: u32, active: u32, value: u32) {
        let p = &mut self.p[slot as usize];
        *p = *p & !active | value & active;
    }

    #[inline]
    pub fn set_r(&mut self, slot: u32, active: u32, value: &Lanes32) {
        let out = &mut self.r[slot as usize];
        if active == u32::MAX {
            *out = *value;
        } else {
            for i in 0..WARP {
                let keep = (active >> i & 1).wrapping_sub(1);
                out[i] = out[i] & keep | value[i] & !keep;
            }
        }
    }

    #[inline]
    pub fn set_d(&mut self, slot: u32, active: u32, value: &Lanes64) {
        let out = &mut self.d[slot as usize];
        if active == u32::MAX {
            *out = *value;
        } else {
            for i in 0..WARP {
                let keep = (u64::from(active) >> i & 1).wrapping_sub(1);
                out[i] = out[i] & keep | value[i] & !keep;
            }
        }
    }

    /// Value of a register in one lane, zero-extended.
    #[inline]
    pub fn get(&self, reg: Reg, lane: usize) -> u64 {
        match reg {
            Reg::R(slot) => u64::from(self.r[slot as usize][lane]),
            Reg::D(slot) => self.d[slot as usize][lane],
            Reg::Sink => 0,
        }
    }

    #[inline]
    pub fn set(&mut self, reg: Reg, lane: usize, value: u64) {
        match reg {
            Reg::R(slot) => self.r[slot as usize][lane] = value as u32,
            Reg::D(slot) => self.d[slot as usize][lane] = value,
            Reg::Sink => {}
        }
    }

    /// Addresses of an operand in all lanes.
    #[inline]
    pub fn addresses(&self, addr: Addr) -> Lanes64 {
        let mut out = [0; WARP];
        match addr.base {
            Reg::R(slot) => {
                let base = &self.r[slot as usize];
                (0..WARP)
                    .for_each(|i| out[i] = u64::from(base[i]).wrapping_add_signed(addr.offset));
            }
            Reg::D(slot) => {
                let base = &self.d[slot as usize];
                (0..WARP).for_each(|i| out[i] = base[i].wrapping_add_signed(addr.offset));
            }
            Reg::Sink => {}
        }
        out
    }
}
