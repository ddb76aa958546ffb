//! `wgmma.mma_async` (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions").
//!
//! Each of the four warps computes its 16 of the 64 rows. The accumulators change when the group
//! is waited for, and reading them before is diagnosed, as is a write to the registers that a product
//! still reads. A product is complete only
//! when all four warps have issued it, so a wait waits for them, and one thread's wait stands for
//! the warpgroup. In the shadow the reads of the operands belong to the warpgroup's tensor unit
//! until the wait: overwriting an operand too early is found. Precision is that of `mma.sync`.

use super::WARP;
use super::matrix::{accumulated, element};
use super::warp::{Env, Warp};
use crate::check::shadow::Actor;
use crate::check::{Checked, FaultKind, Raw};
use crate::ir::{MatrixTy, R, Wgmma, WgmmaA};
use crate::tensor_map::Swizzle;

/// The left operand at issue: a descriptor, or this warp's fragment.
#[derive(Debug)]
enum Left {
    Shared(Descriptor),
    Fragment(Box<[[u32; WARP]; 4]>),
}

/// A product that has been issued.
#[derive(Debug)]
struct Product {
    ty: MatrixTy,
    d: Vec<R>,
    /// Registers of the left operand.
    fragment: Option<[R; 4]>,
    accumulate: bool,
    /// This warp's 16 rows of the product, row by row.
    sums: Vec<f64>,
    /// Number of the product in the warpgroup, and of its group.
    number: u32,
    group: u32,
}

/// Products in flight of a warp.
#[derive(Debug, Default)]
pub(crate) struct WgmmaState {
    products: std::collections::VecDeque<Product>,
    committed: u32,
}

impl WgmmaState {
    pub fn reset(&mut self) {
        self.products.clear();
        self.committed = 0;
    }

    /// Whether a product in flight reads the register.
    pub fn read(&self, slot: R) -> bool {
        let fragments = self.products.iter().filter_map(|product| product.fragment);
        fragments.flatten().any(|read| read == slot)
    }

    /// Closes the open group.
    pub fn commit(&mut self) {
        self.committed += 1;
    }
}

/// Epoch of the tensor unit for a product: the same in all warps of the warpgroup.
fn epoch(number: u32) -> u32 {
    number + 2
}

/// A shared-memory matrix descriptor (PTX ISA, "Matrix Descriptor Format").
#[derive(Debug, Clone, Copy)]
struct Descriptor {
    start: u64,
    leading: u64,
    stride: u64,
    swizzle: Swizzle,
}

impl Descriptor {
    /// `base` is the place of the block's shared memory in the cluster's.
    fn decode(bits: u64, base: u64) -> Self {
        let field = |low: u32| (bits >> low & 0x3fff) << 4;
        let swizzle = match bits >> 62 {
            0 => Swizzle::None,
            1 => Swizzle::B128,
            2 => Swizzle::B64,
            _ => Swizzle::B32,
        };
        Self {
            start: base + field(0),
            leading: field(16),
            stride: field(32),
            swizzle,
        }
    }

    /// Offset in shared memory of element (`row`, `k`), where `row` counts along M or N.
    fn place(&self, row: u64, k: u64, element: u64, transpose: bool) -> u64 {
        let span = match self.swizzle {
            Swizzle::None => 16,
            other => u64::from(other.span()),
        };
        let plain = if self.swizzle == Swizzle::None {
            // Core matrices of 8 rows of 16 bytes, each 128 bytes in one piece.
            let per = 16 / element;
            if transpose {
                row / per * self.stride + k / 8 * self.leading + k % 8 * 16 + row % per * element
            } else {
                row / 8 * self.stride + k / per * self.leading + row % 8 * 16 + k % per * element
            }
        } else if transpose {
            // Rows of `span` bytes along M or N, eight of them (along k) to an atom.
            let per = span / element;
            row / per * self.leading + k / 8 * self.stride + k % 8 * span + row % per * element
        } else {
            row / 8 * self.stride + row % 8 * span + k * element
        };
        self.swizzle.apply(self.start + plain)
    }
}

impl Warp {
    pub(super) fn wgmma(
        &mut self,
        env: &mut Env<'_, '_>,
        wgmma: &Wgmma,
        active: u32,
    ) -> Checked<()> {
        self.whole_warp(active)?;
        let base = u64::from(self.rank) * env.frozen.shared_stride();
        let b = Descriptor::decode(self.d[wgmma.b as usize][0], base);
        let a = match &wgmma.a {
            WgmmaA::Descriptor(slot) => {
                Left::Shared(Descriptor::decode(self.d[*slot as usize][0], base))
            }
            WgmmaA::Registers(regs) => {
                Left::Fragment(Box::new(regs.map(|reg| self.r[reg as usize])))
            }
        };
        let w = self.number as usize;
        let number = env.issued_products[w];
        self.check_operands(
            env,
            wgmma,
            (&a, &b),
            (env.shadow.tensor_unit(w), epoch(number)),
        )?;
        let sums = self.multiply(env, wgmma, (&a, &b));
        env.issued_products[w] += 1;
        self.poison_accumulators(&wgmma.d);
        self.products.products.push_back(Product {
            ty: wgmma.ty,
            d: wgmma.d.clone(),
            fragment: match wgmma.a {
                WgmmaA::Descriptor(_) => None,
                WgmmaA::Registers(regs) => Some(regs),
            },
            accumulate: self.pred(wgmma.accumulate) & 1 == 1,
            sums,
            number,
            group: self.products.committed,
        });
        Ok(())
    }

    /// This warp's rows of the 64.
    fn first_row(&self) -> u64 {
        u64::from(self.index % 4) * 16
    }

    /// Checks and records the reads of the operands, in units of 16 bytes.
    fn check_operands(
        &self,
        env: &mut Env<'_, '_>,
        wgmma: &Wgmma,
        (a, b): (&Left, &Descriptor),
        unit: (usize, u32),
    ) -> Checked<()> {
        let element = u64::from(wgmma.ty.bits() / 8);
        let actor: Actor = self.actor(0);
        let base = u64::from(self.rank) * env.frozen.shared_stride();
        let mut check = |descriptor: &Descriptor, rows: std::ops::Range<u64>, transpose: bool| {
            let k = u64::from(wgmma.k);
            let per = 16 / element;
            // 16 bytes run along k, or along the rows when the operand is transposed.
            let (row_step, k_step) = if transpose {
                (per as usize, 1)
            } else {
                (1, per as usize)
            };
            for row in rows.step_by(row_step) {
                for k in (0..k).step_by(k_step) {
                    let at = descriptor.place(row, k, element, transpose) & !15;
                    if at + 16 > base + u64::from(env.frozen.shared_bytes) {
                        let detail = "matrix descriptor reaches past shared memory";
                        return Err(Raw::at(FaultKind::OutOfBounds, 0, at, detail));
                    }
                    if env.check_shared {
                        env.shadow.unit_access(at, 16, false, actor, unit)?;
                    }
                }
            }
            Ok(())
        };
        if let Left::Shared(a) = a {
            check(
                a,
                self.first_row()..self.first_row() + 16,
                wgmma.transpose_a,
            )?;
        }
        check(b, 0..wgmma.n.into(), wgmma.transpose_b)
    }

    /// Finishes all but the last `pending` groups; false if another warp of the warpgroup has
    /// not issued them yet.
    pub(super) fn wgmma_wait(&mut self, env: &mut Env<'_, '_>, pending: u32) -> bool {
        let w = self.number as usize;
        let unit = env.shadow.tensor_unit(w);
        let first = w - self.index as usize % 4;
        let end = (first + 4).min(w - self.index as usize + env.shadow.warps_per_block());
        while let Some(product) = self.products.products.front() {
            if product.group + pending >= self.products.committed {
                break;
            }
            if env.issued_products[first..end]
                .iter()
                .any(|issued| *issued <= product.number)
            {
                return false;
            }
            let Some(product) = self.products.products.pop_front() else {
                break;
            };
            self.accumulate(&product);
            // A later product may still be on its way to the same accumulators.
            if self
                .products
                .products
                .iter()
                .all(|later| later.d != product.d)
            {
                self.cure_accumulators(&product.d);
            }
            env.shadow.observe(w, unit, epoch(product.number));
        }
        true
    }

    /// Adds a product to its accumulators.
    fn accumulate(&mut self, product: &Product) {
        let n = product.sums.len() / 16;
        for (at, sum) in product.sums.iter().enumerate() {
            let (row, column) = (at / n, at % n);
            // Element (row, column) lies in register 4(column / 8) + 2(row / 8) + column % 2.
            let register = product.d[4 * (column / 8) + 2 * (row / 8) + column % 2];
            let d = &mut self.r[register as usize][4 * (row % 8) + column % 8 / 2];
            let start = if product.accumulate { *d } else { 0 };
            *d = accumulated(product.ty, start, *sum);
        }
    }

    /// This warp's 16 rows of the product.
    fn multiply(
        &self,
        env: &Env<'_, '_>,
        wgmma: &Wgmma,
        (left, right): (&Left, &Descriptor),
    ) -> Vec<f64> {
        let (n, k) = (wgmma.n as usize, wgmma.k as usize);
        let bytes = wgmma.ty.bits() / 8;
        let fetch = |descriptor: &Descriptor, row: u64, p: usize, transpose: bool| {
            let at = descriptor.place(row, p as u64, bytes.into(), transpose) as usize;
            element(
                wgmma.ty,
                super::private::read_words(env.shared, at, bytes) as u32,
            )
        };
        let mut a = [[0.0; 32]; 16];
        match left {
            Left::Shared(descriptor) => {
                for (row, a) in a.iter_mut().enumerate() {
                    for (p, a) in a.iter_mut().enumerate().take(k) {
                        *a = fetch(
                            descriptor,
                            self.first_row() + row as u64,
                            p,
                            wgmma.transpose_a,
                        );
                    }
                }
            }
            Left::Fragment(regs) => {
                let per = 4 / bytes as usize;
                for (i, reg) in regs.iter().enumerate() {
                    for (lane, bits) in reg.iter().enumerate() {
                        for e in 0..per {
                            let column = per * (lane % 4) + e + 4 * per * (i / 2);
                            a[lane / 4 + 8 * (i % 2)][column] =
                                element(wgmma.ty, bits >> (8 * bytes as usize * e));
                        }
                    }
                }
            }
        }
        let sign = if wgmma.negate_a != wgmma.negate_b {
            -1.0
        } else {
            1.0
        };
        let mut sums = vec![0.0; 16 * n];
        for column in 0..n {
            let mut b = [0.0; 32];
            for (p, b) in b.iter_mut().enumerate().take(k) {
                *b = fetch(right, column as u64, p, wgmma.transpose_b) * sign;
            }
            for (row, a) in a.iter().enumerate() {
                sums[row * n + column] = (0..k).fold(0.0, |sum, p| sum + a[p] * b[p]);
            }
        }
        sums
    }
}
