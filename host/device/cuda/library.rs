//! The baseline of a problem: a call of cuBLAS or of the driver on the same operands.

use super::cublas::{Compute, Cublas, GemmCall};
use super::{CudaDevice, driver};
use crate::device::{DeviceError, Region, Result};
use crate::kernels::problem::SCALAR;
use crate::kernels::{Library, Problem};
use std::ffi::c_int;

/// A call that is ready to be put on the stream.
#[derive(Debug, Clone, Copy)]
pub(super) enum LibraryCall {
    /// The driver's copy: destination, source, bytes.
    Copy { to: u64, from: u64, bytes: usize },
    /// cuBLAS's y = alpha * x + y.
    Saxpy { n: c_int, x: u64, y: u64 },
    /// cuBLAS's product of bfloat16.
    Gemm(GemmCall),
    /// cuBLAS's C = A @ B + C: m, n, k, the number of products and the addresses of A, B, C.
    Sgemm {
        sides: [c_int; 3],
        batch: c_int,
        operands: [u64; 3],
    },
}

impl CudaDevice {
    /// Opens cuBLAS, once.
    pub(super) fn cublas(&mut self) -> Result<&Cublas> {
        if self.cublas.is_none() {
            let opened = Cublas::open(self.stream.as_inner()).map_err(DeviceError::Unavailable)?;
            self.cublas = Some(opened);
        }
        self.cublas
            .as_ref()
            .ok_or_else(|| DeviceError::Unavailable("cuBLAS is closed".to_owned()))
    }

    /// The library call that does what `problem` does.
    pub(super) fn library_call(
        &self,
        problem: &Problem,
        operands: &[Region],
    ) -> Result<LibraryCall> {
        let address = |index: usize| self.address(operands[index]);
        let int = |value: u64| {
            c_int::try_from(value).map_err(|_| {
                DeviceError::Unsupported(format!(
                    "cuBLAS takes at most {} a side and products a batch, not {value}",
                    c_int::MAX
                ))
            })
        };
        Ok(match problem.kernel.kernel().library() {
            Some(Library::Copy) => LibraryCall::Copy {
                to: address(1),
                from: address(0),
                bytes: 4 * problem.elements() as usize,
            },
            Some(Library::Saxpy) => LibraryCall::Saxpy {
                n: int(problem.elements())?,
                x: address(0),
                y: address(1),
            },
            Some(Library::Sgemm) => {
                let (m, n, k) = problem.matrix();
                LibraryCall::Sgemm {
                    sides: [int(m)?, int(n)?, int(k)?],
                    batch: int(problem.form.batch)?,
                    operands: [address(0), address(1), address(2)],
                }
            }
            Some(library @ (Library::GemmBf16 | Library::GemmTf32 | Library::GemmMixed)) => {
                let (m, n, k) = problem.matrix();
                LibraryCall::Gemm(GemmCall {
                    sides: [int(m)?, int(n)?, int(k)?],
                    operands: [address(0), address(1), address(2)],
                    batch: int(problem.form.batch)?,
                    reads_c: problem.form.reads_c,
                    input: problem.kernel.kernel().storage(),
                    compute: match library {
                        Library::GemmTf32 => Compute::Tf32,
                        Library::GemmMixed => Compute::Bf16,
                        _ => Compute::AsStored,
                    },
                    out: problem.out(),
                })
            }
            None => {
                let name = problem.kernel.name();
                return Err(DeviceError::Unsupported(format!("{name} has no baseline")));
            }
        })
    }

    /// Puts a library call on the stream.
    pub(super) fn enqueue_library(&self, call: LibraryCall) -> Result<()> {
        let failed = |call: &'static str| move |reason| DeviceError::Call { call, reason };
        let cublas = || {
            self.cublas
                .as_ref()
                .ok_or_else(|| DeviceError::Unavailable("cuBLAS has not been opened".to_owned()))
        };
        // SAFETY: the addresses are those of live operands of this context, with the sizes that
        // the problem says.
        unsafe {
            match call {
                LibraryCall::Copy { to, from, bytes } => {
                    driver::copy_on_device(to, from, bytes, self.stream.as_inner())
                        .map_err(failed("cuMemcpyDtoDAsync"))
                }
                LibraryCall::Saxpy { n, x, y } => cublas()?
                    .saxpy(n, SCALAR, x, y)
                    .map_err(failed("cublasSaxpy")),
                LibraryCall::Gemm(call) => cublas()?.gemm(call).map_err(failed("cublasGemmEx")),
                LibraryCall::Sgemm {
                    sides,
                    batch: 1,
                    operands,
                } => cublas()?
                    .sgemm(sides, operands)
                    .map_err(failed("cublasSgemm")),
                LibraryCall::Sgemm {
                    sides,
                    batch,
                    operands,
                } => cublas()?
                    .sgemm_batch(sides, batch, operands)
                    .map_err(failed("cublasSgemmStridedBatched")),
            }
        }
    }
}
