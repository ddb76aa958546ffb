//! Matrix instructions (PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions",
//! "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions").

use super::Lowerer;
use super::mods::Mods;
use super::movement::space;
use crate::ir::{D, Inst, MatrixTy, Mma, MmaDouble, R, Space, Ty, Wgmma, WgmmaA};
use crate::parse::ParseError;
use crate::parse::ast::{Instruction, Operand};

fn matrix_ty(name: &str) -> Option<MatrixTy> {
    match name {
        "f16" => Some(MatrixTy::F16),
        "bf16" => Some(MatrixTy::Bf16),
        "tf32" => Some(MatrixTy::Tf32),
        "e4m3" => Some(MatrixTy::E4m3),
        "s8" => Some(MatrixTy::S8),
        _ => None,
    }
}

/// What the operand types are allowed to be.
const OPERAND_TYPES: &str = "only .f16, .bf16, .tf32, .e4m3 and .s8 operands are supported";

/// Type of the accumulators of a product.
fn sum_ty(ty: MatrixTy) -> Ty {
    match ty {
        MatrixTy::S8 => Ty::S32,
        _ => Ty::F32,
    }
}

/// The numbers of a shape such as `m64n256k16`.
fn shape(name: &str) -> Option<[u32; 3]> {
    let (m, rest) = name.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some([m.parse().ok()?, n.parse().ok()?, k.parse().ok()?])
}

/// Takes the types of `count` matrices of accumulators.
fn accumulators(ty: MatrixTy, m: &mut Mods<'_>, count: usize) -> Result<(), ParseError> {
    let name = match sum_ty(ty) {
        Ty::S32 => "s32",
        _ => "f32",
    };
    if (0..count).all(|_| m.take(name)) {
        return Ok(());
    }
    m.fail(&format!(
        "only .{name} accumulators are supported for these operands"
    ))
}

impl<'a> Lowerer<'a> {
    pub(super) fn tensor(
        &mut self,
        i: &'a Instruction,
        m: &mut Mods<'_>,
    ) -> Result<(), ParseError> {
        match i.opcode.as_str() {
            "ldmatrix" | "stmatrix" => self.matrix(i, m),
            "mma" => self.mma(i, m),
            "wgmma" => self.wgmma(i, m),
            _ => {
                // Register budgets are the hardware's business.
                if !(m.take("inc") | m.take("dec")) {
                    return m.fail("one of .inc, .dec is expected");
                }
                self.sync_aligned(m)?;
                m.ty()?;
                let [Operand::Int(24..=256)] = self.operands(i)? else {
                    return m.fail("a number of registers from 24 to 256 is expected");
                };
                self.emit(Inst::Nop)
            }
        }
    }

    fn sync_aligned(&self, m: &mut Mods<'_>) -> Result<(), ParseError> {
        if m.take("sync") && m.take("aligned") {
            Ok(())
        } else {
            m.fail(".sync.aligned is expected")
        }
    }

    /// The 32-bit registers of a vector operand.
    fn fragment(&mut self, operand: &Operand, ty: Ty) -> Result<Vec<R>, ParseError> {
        match operand {
            Operand::Vector(parts) => parts.iter().map(|part| self.r(part, ty)).collect(),
            _ => self.fail("a vector of registers is expected"),
        }
    }

    fn fragment_dst(&mut self, operand: &Operand, ty: Ty) -> Result<Vec<R>, ParseError> {
        match operand {
            Operand::Vector(parts) => parts.iter().map(|part| self.dst_r(part, ty)).collect(),
            _ => self.fail("a vector of registers is expected"),
        }
    }

    fn matrix(&mut self, i: &'a Instruction, m: &mut Mods<'_>) -> Result<(), ParseError> {
        self.sync_aligned(m)?;
        let store = i.opcode == "stmatrix";
        let transpose = m.take("trans");
        let count = m.pick(|name| match name {
            "x1" => Some(1),
            "x2" => Some(2),
            "x4" => Some(4),
            _ => None,
        });
        let Some(count) = count.filter(|_| m.take("m8n8")) else {
            return m.fail("only .m8n8 with .x1, .x2 or .x4 is supported");
        };
        if m.pick(space) != Some(Space::Shared) || m.ty()? != Ty::B16 {
            return m.fail("only .shared.b16 is supported");
        }
        let [first, second] = self.operands(i)?;
        let (data, address) = if store {
            (second, first)
        } else {
            (first, second)
        };
        let regs = if store {
            self.fragment(data, Ty::B32)?
        } else {
            self.fragment_dst(data, Ty::B32)?
        };
        if regs.len() != count {
            return m.fail("the vector has another length");
        }
        let addr = self.address(address)?;
        self.emit(Inst::Matrix {
            store,
            transpose,
            regs,
            addr,
        })
    }

    fn mma(&mut self, i: &'a Instruction, m: &mut Mods<'_>) -> Result<(), ParseError> {
        self.sync_aligned(m)?;
        let shape = m.pick(shape);
        if !m.take("row") || !m.take("col") {
            return m.fail("only .row.col is supported");
        }
        if m.take("f64") {
            return self.mma_double(i, m, shape);
        }
        let (Some(ty), Some(other)) = (m.pick(matrix_ty), m.pick(matrix_ty)) else {
            return m.fail(OPERAND_TYPES);
        };
        // D and C are named around the operand types: .f32.A.B.f32.
        accumulators(ty, m, 2)?;
        let (k, a_regs, b_regs) = match (shape, ty) {
            (Some([16, 8, 16]), MatrixTy::F16 | MatrixTy::Bf16) => (16, 4, 2),
            (Some([16, 8, 8]), MatrixTy::F16 | MatrixTy::Bf16) => (8, 2, 1),
            (Some([16, 8, 8]), MatrixTy::Tf32) => (8, 4, 2),
            (Some([16, 8, 4]), MatrixTy::Tf32) => (4, 2, 1),
            (Some([16, 8, 32]), MatrixTy::E4m3 | MatrixTy::S8) => (32, 4, 2),
            (Some([16, 8, 16]), MatrixTy::S8) => (16, 2, 1),
            _ => return m.fail("the shape is not supported for these types"),
        };
        let [d, a, b, c] = self.operands(i)?;
        let (a, b) = (self.fragment(a, Ty::B32)?, self.fragment(b, Ty::B32)?);
        let sums = sum_ty(ty);
        let (d, c) = (self.fragment_dst(d, sums)?, self.fragment(c, sums)?);
        let (Ok(d), Ok(c)) = (<[R; 4]>::try_from(d), <[R; 4]>::try_from(c)) else {
            return m.fail("accumulators have 4 registers");
        };
        if ty != other || a.len() != a_regs || b.len() != b_regs {
            return m.fail("the operands do not fit the shape");
        }
        self.emit(Inst::Mma(Box::new(Mma { ty, k, d, a, b, c })))
    }

    fn mma_double(
        &mut self,
        i: &'a Instruction,
        m: &mut Mods<'_>,
        shape: Option<[u32; 3]>,
    ) -> Result<(), ParseError> {
        if !(m.take("f64") && m.take("f64") && m.take("f64")) {
            return m.fail("doubles are multiplied by doubles: .f64.f64.f64.f64 is expected");
        }
        let Some([rows, 8, k]) =
            shape.filter(|shape| [[8, 8, 4], [16, 8, 4], [16, 8, 8], [16, 8, 16]].contains(shape))
        else {
            return m.fail("the shape is not supported for these types");
        };
        let [d, a, b, c] = self.operands(i)?;
        let (d, a, b, c) = (
            self.doubles_dst(d)?,
            self.doubles(a)?,
            self.doubles(b)?,
            self.doubles(c)?,
        );
        let (sums, left, right) = (rows / 4, rows / 8 * k / 4, k / 4);
        if [d.len(), c.len(), a.len(), b.len()] != [sums, sums, left, right].map(|n| n as usize) {
            return m.fail("the operands do not fit the shape");
        }
        self.emit(Inst::MmaDouble(Box::new(MmaDouble {
            m: rows,
            k,
            d,
            a,
            b,
            c,
        })))
    }

    /// The 64-bit registers of a vector operand.
    fn doubles(&mut self, operand: &Operand) -> Result<Vec<D>, ParseError> {
        match operand {
            Operand::Vector(parts) => parts.iter().map(|part| self.d(part, Ty::F64)).collect(),
            _ => self.fail("a vector of registers is expected"),
        }
    }

    fn doubles_dst(&mut self, operand: &Operand) -> Result<Vec<D>, ParseError> {
        match operand {
            Operand::Vector(parts) => parts.iter().map(|part| self.dst_d(part)).collect(),
            _ => self.fail("a vector of registers is expected"),
        }
    }

    fn wgmma(&mut self, i: &'a Instruction, m: &mut Mods<'_>) -> Result<(), ParseError> {
        if m.take("fence") {
            self.sync_aligned(m)?;
            let [] = self.operands(i)?;
            return self.emit(Inst::Fence);
        }
        if m.take("commit_group") {
            self.sync_aligned(m)?;
            let [] = self.operands(i)?;
            return self.emit(Inst::WgmmaCommit);
        }
        if m.take("wait_group") {
            self.sync_aligned(m)?;
            let [Operand::Int(pending @ 0..=7)] = self.operands(i)? else {
                return m.fail("a number of groups from 0 to 7 is expected");
            };
            return self.emit(Inst::WgmmaWait {
                pending: *pending as u32,
            });
        }
        if !m.take("mma_async") {
            return m.fail("not a known form");
        }
        self.sync_aligned(m)?;
        let shape = m.pick(shape);
        let (Some(ty), Some(other)) = (m.pick(matrix_ty), m.pick(matrix_ty)) else {
            return m.fail(OPERAND_TYPES);
        };
        accumulators(ty, m, 1)?;
        // 32 bytes.
        let k = 256 / ty.bits();
        let n = match shape {
            Some([64, n @ 8..=256, found]) if n.is_multiple_of(8) && found == k && ty == other => n,
            _ => return m.fail("the shape is not supported for these types"),
        };
        let [d, a, b, scale, signs @ ..] = i.operands.as_slice() else {
            return m.fail("too few operands");
        };
        let a = match a {
            Operand::Vector(_) => match <[R; 4]>::try_from(self.fragment(a, Ty::B32)?) {
                Ok(regs) => WgmmaA::Registers(regs),
                Err(_) => return m.fail("the left operand has 4 registers"),
            },
            _ => WgmmaA::Descriptor(self.d(a, Ty::B64)?),
        };
        let numbers = signs
            .iter()
            .map(|sign| match sign {
                Operand::Int(value @ -1..=1) => Ok(*value),
                _ => m.fail("the last operands are immediates -1, 0 or 1"),
            })
            .collect::<Result<Vec<_>, _>>()?;
        let in_registers = matches!(a, WgmmaA::Registers(_));
        let (negate_a, negate_b, transpose_a, transpose_b) =
            match (numbers.as_slice(), ty, in_registers) {
                ([], _, _) => (1, 1, 0, 0),
                ([x, y], MatrixTy::F16 | MatrixTy::Bf16 | MatrixTy::Tf32 | MatrixTy::E4m3, _) => {
                    (*x, *y, 0, 0)
                }
                ([x, y, t], MatrixTy::F16 | MatrixTy::Bf16, true) => (*x, *y, 0, *t),
                ([x, y, s, t], MatrixTy::F16 | MatrixTy::Bf16, false) => (*x, *y, *s, *t),
                _ => return m.fail("the last operands do not fit"),
            };
        if negate_a * negate_a != 1
            || negate_b * negate_b != 1
            || transpose_a < 0
            || transpose_b < 0
        {
            return m.fail("the last operands do not fit");
        }
        let (d, b, accumulate) = (
            self.fragment_dst(d, sum_ty(ty))?,
            self.d(b, Ty::B64)?,
            self.pred(scale)?,
        );
        if d.len() as u32 != n / 2 {
            return m.fail(&format!("the accumulators have {} registers", n / 2));
        }
        self.emit(Inst::Wgmma(Box::new(Wgmma {
            ty,
            n,
            k,
            d,
            a,
            b,
            accumulate,
            negate_a: negate_a < 0,
            negate_b: negate_b < 0,
            transpose_a: transpose_a == 1,
            transpose_b: transpose_b == 1,
        })))
    }
}
