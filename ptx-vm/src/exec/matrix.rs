//! Matrix fragments in warps: `ldmatrix`, `stmatrix`, `mma.sync` (PTX ISA, "Warp Level Matrix
//! Multiply-Accumulate Instructions").
//!
//! Tensor cores do not round as IEEE does, and the ISA leaves the order and precision of the
//! sums open. Here products are exact, sums are formed in double precision, and the result is
//! rounded once to single precision: exact where the exact result is representable, such as for
//! small integers, and otherwise more accurate than any hardware. Sums of integers wrap around in
//! 32 bits. Doubles are summed by fused multiply-adds, k by k.

use super::access::{Group, aligned, in_lane, shared_bounds};
use super::private::{read_words, write_words};
use super::round::{BF16, E4M3, F16, widen};
use super::warp::{Env, Warp};
use super::{WARP, lanes};
use crate::check::shadow::Use;
use crate::check::{Checked, FaultKind, Raw};
use crate::ir::{Addr, MatrixTy, Mma, MmaDouble, R, Reg, Space};

/// Value of a matrix element: the lowest bits, or 32 of which TF32 keeps the upper 19.
pub(super) fn element(ty: MatrixTy, bits: u32) -> f64 {
    match ty {
        MatrixTy::F16 => widen(bits & 0xffff, F16),
        MatrixTy::Bf16 => widen(bits & 0xffff, BF16),
        MatrixTy::Tf32 => f64::from(f32::from_bits(bits & 0xffff_e000)),
        MatrixTy::S8 => f64::from(bits as u8 as i8),
        // Of the bits that would be infinite or NaN in an IEEE format only the last are NaN; the
        // others go on as numbers.
        MatrixTy::E4m3 => match bits & 0x7f {
            0x7f => f64::NAN,
            magnitude @ 0x78.. => {
                let value = f64::from(8 + (magnitude & 7)) * 32.0;
                if bits & 0x80 == 0 { value } else { -value }
            }
            _ => widen(bits & 0xff, E4M3),
        },
    }
}

/// `start` of an accumulator with `sum` added to it.
pub(super) fn accumulated(ty: MatrixTy, start: u32, sum: f64) -> u32 {
    match ty {
        // Up to 256 products of 8 bits: exact in a double.
        MatrixTy::S8 => start.wrapping_add(sum as i64 as u32),
        _ => rounded(f64::from(f32::from_bits(start)) + sum),
    }
}

/// A sum as single precision.
pub(super) fn rounded(sum: f64) -> u32 {
    let value = sum as f32;
    if value.is_nan() {
        super::round::NAN32
    } else {
        value.to_bits()
    }
}

impl Warp {
    /// Warp-wide matrix instructions need all lanes.
    pub(super) fn whole_warp(&self, active: u32) -> Checked<()> {
        if active == u32::MAX {
            return Ok(());
        }
        let detail = format!("all 32 lanes are needed, {active:#010x} run");
        Err(Raw::new(
            FaultKind::WarpMask,
            active.trailing_zeros(),
            detail,
        ))
    }

    /// `ldmatrix` and `stmatrix`: lane 8j + i holds the address of row i of matrix j; a lane's
    /// register j holds elements 2(lane % 4) and the next of row lane / 4 of matrix j, or of
    /// that column under `.trans`.
    pub(super) fn matrix(
        &mut self,
        env: &mut Env<'_, '_>,
        (store, transpose): (bool, bool),
        regs: &[R],
        addr: Addr,
        active: u32,
    ) -> Checked<()> {
        self.whole_warp(active)?;
        let providers = u32::MAX >> (32 - 8 * regs.len());
        let mut group = Group {
            space: Space::Shared,
            mask: providers,
            offsets: self.addresses(addr),
        };
        aligned(&group, 16)?;
        for lane in lanes(providers) {
            let at = shared_bounds(env, self.rank, lane, group.offsets[lane], 16)?;
            group.offsets[lane] = at;
            if !env.check_shared {
                continue;
            }
            let how = if store { Use::Write } else { Use::Read };
            let done = env
                .shadow
                .access(at, 16, how, self.actor(lane))
                .map_err(|raw| in_lane(raw, lane));
            match done {
                // All lanes hold a part of the row.
                Err(raw) if !store => {
                    let reg = [Reg::R(regs[lane / 8])];
                    (0..WARP)
                        .try_for_each(|l| self.poison(raw.clone(), &reg, l, Some((at, 16))))?;
                }
                done => done?,
            }
        }
        for (j, reg) in regs.iter().enumerate() {
            for lane in 0..WARP {
                for half in 0..2 {
                    let (line, position) = (lane / 4, 2 * (lane % 4) + half);
                    let (row, column) = if transpose {
                        (position, line)
                    } else {
                        (line, position)
                    };
                    let at = group.offsets[8 * j + row] as usize + 2 * column;
                    let register = &mut self.r[*reg as usize][lane];
                    if store {
                        write_words(
                            env.shared,
                            at,
                            2,
                            u64::from(*register >> (16 * half) & 0xffff),
                        );
                    } else {
                        let bits = read_words(env.shared, at, 2) as u32;
                        *register = *register & !(0xffff << (16 * half)) | bits << (16 * half);
                    }
                }
            }
        }
        self.count_shared(env, &group, 16);
        // A lane moves 4 bytes per matrix, whoever gave the address.
        env.counts.pcs[self.pc as usize].shared_threads += u64::from(32 - providers.count_ones());
        Ok(())
    }

    pub(super) fn mma(&mut self, mma: &Mma, active: u32) -> Checked<()> {
        self.whole_warp(active)?;
        let k = mma.k as usize;
        let (mut a, mut b) = ([[0.0; 32]; 16], [[0.0; 8]; 32]);
        let bits = mma.ty.bits();
        // Elements per register.
        let per = 32 / bits as usize;
        for lane in 0..WARP {
            let (g, t) = (lane / 4, lane % 4);
            for (i, reg) in mma.a.iter().enumerate() {
                for e in 0..per {
                    let word = self.r[*reg as usize][lane] >> (bits as usize * e);
                    a[g + 8 * (i % 2)][per * t + e + 4 * per * (i / 2)] = element(mma.ty, word);
                }
            }
            for (i, reg) in mma.b.iter().enumerate() {
                for e in 0..per {
                    let word = self.r[*reg as usize][lane] >> (bits as usize * e);
                    b[per * t + e + 4 * per * i][g] = element(mma.ty, word);
                }
            }
        }
        let mut out = [[0; WARP]; 4];
        for lane in 0..WARP {
            for (i, out) in out.iter_mut().enumerate() {
                let (row, column) = (lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2);
                let c = self.r[mma.c[i] as usize][lane];
                let sum = (0..k).map(|p| a[row][p] * b[p][column]).sum();
                out[lane] = accumulated(mma.ty, c, sum);
            }
        }
        for (reg, out) in mma.d.iter().zip(&out) {
            self.set_r(*reg, active, out);
        }
        Ok(())
    }

    /// A lane's register i of A holds column lane % 4 + 4(i / rows) of row lane / 4 + 8(i % rows),
    /// where the rows count eights; of B, row lane % 4 + 4i of column lane / 4.
    pub(super) fn mma_double(&mut self, mma: &MmaDouble, active: u32) -> Checked<()> {
        self.whole_warp(active)?;
        let eights = mma.m as usize / 8;
        let value = |reg: u32, lane: usize| f64::from_bits(self.d[reg as usize][lane]);
        let mut outs = Vec::with_capacity(mma.d.len());
        for (i, c) in mma.c.iter().enumerate() {
            let mut out = [0; WARP];
            for (lane, out) in out.iter_mut().enumerate() {
                let (row, column) = (lane / 4, 2 * (lane % 4) + i % 2);
                let sum = (0..mma.k as usize).fold(value(*c, lane), |sum, p| {
                    let a = value(mma.a[p / 4 * eights + i / 2], 4 * row + p % 4);
                    a.mul_add(value(mma.b[p / 4], 4 * column + p % 4), sum)
                });
                *out = sum.to_bits();
            }
            outs.push(out);
        }
        for (reg, out) in mma.d.iter().zip(&outs) {
            self.set_d(*reg, active, out);
        }
        Ok(())
    }
}
