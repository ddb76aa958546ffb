//! Packing and unpacking of registers (PTX ISA, "mov").

use super::warp::Warp;
use super::{lanes, map1, map2};
use crate::ir::{Inst, Reg};

impl Warp {
    pub(super) fn repack(&mut self, inst: &Inst, active: u32) {
        match *inst {
            Inst::Pack64 { d, lo, hi } => {
                let (lo, hi) = (&self.r[lo as usize], &self.r[hi as usize]);
                let out = map2(lo, hi, |lo, hi| u64::from(hi) << 32 | u64::from(lo));
                self.set_d(d, active, &out);
            }
            Inst::Unpack64 { lo, hi, a } => {
                let a = self.d[a as usize];
                self.part(lo, active, &map1(&a, |x| x as u32));
                self.part(hi, active, &map1(&a, |x| (x >> 32) as u32));
            }
            Inst::Pack32 { d, lo, hi } => {
                let (lo, hi) = (&self.r[lo as usize], &self.r[hi as usize]);
                let out = map2(lo, hi, |lo, hi| hi << 16 | lo & 0xffff);
                self.set_r(d, active, &out);
            }
            Inst::Unpack32 { lo, hi, a } => {
                let a = self.r[a as usize];
                self.part(lo, active, &map1(&a, |x| x & 0xffff));
                self.part(hi, active, &map1(&a, |x| x >> 16));
            }
            Inst::Pack64x4 { d, parts } => {
                for lane in lanes(active) {
                    let quarter =
                        |i: usize| u64::from(self.r[parts[i] as usize][lane] & 0xffff) << (16 * i);
                    self.d[d as usize][lane] = quarter(0) | quarter(1) | quarter(2) | quarter(3);
                }
            }
            Inst::Unpack64x4 { parts, a } => {
                let a = self.d[a as usize];
                for (i, part) in parts.into_iter().enumerate() {
                    self.part(part, active, &map1(&a, |x| (x >> (16 * i)) as u32 & 0xffff));
                }
            }
            _ => {}
        }
    }

    /// Writes one element of an unpacked vector.
    fn part(&mut self, reg: Reg, active: u32, value: &super::Lanes32) {
        if let Reg::R(slot) = reg {
            self.set_r(slot, active, value);
        }
    }
}
