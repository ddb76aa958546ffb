//! cuBLAS, opened at run time: the baseline that kernels are compared with.
//!
//! Its default math mode computes fp32 products in fp32; TF32 needs another mode, which is
//! never set. That the result is as exact as fp32 is checked like any kernel's.

use crate::device::Element;
use cust::sys::CUstream;
use libloading::Library;
use std::error::Error;
use std::ffi::{CStr, c_int, c_longlong, c_void};

/// Names under which the library is installed, the newest first.
#[cfg(windows)]
const NAMES: &[&str] = &["cublas64_13.dll", "cublas64_12.dll", "cublas64_11.dll"];
#[cfg(not(windows))]
const NAMES: &[&str] = &["libcublas.so.13", "libcublas.so.12", "libcublas.so.11"];

/// `cublasStatus_t`; 0 is success.
type Status = c_int;
/// `cublasHandle_t`.
type Handle = *mut c_void;

/// `CUBLAS_OP_N`: an operand is taken as it lies.
const AS_IT_LIES: c_int = 0;
/// `CUBLAS_DEFAULT_MATH`.
const DEFAULT_MATH: c_int = 0;

type Create = unsafe extern "C" fn(*mut Handle) -> Status;
type Destroy = unsafe extern "C" fn(Handle) -> Status;
type SetStream = unsafe extern "C" fn(Handle, CUstream) -> Status;
type SetMathMode = unsafe extern "C" fn(Handle, c_int) -> Status;
type GetVersion = unsafe extern "C" fn(Handle, *mut c_int) -> Status;
type Saxpy =
    unsafe extern "C" fn(Handle, c_int, *const f32, *const f32, c_int, *mut f32, c_int) -> Status;
type Sgemm = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const f32,
    *const f32,
    c_int,
    *const f32,
    c_int,
    *const f32,
    *mut f32,
    c_int,
) -> Status;
type SgemmStridedBatched = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const f32,
    *const f32,
    c_int,
    c_longlong,
    *const f32,
    c_int,
    c_longlong,
    *const f32,
    *mut f32,
    c_int,
    c_longlong,
    c_int,
) -> Status;

/// `cublasGemmStridedBatchedEx`.
type GemmEx = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const f32,
    *const c_void,
    c_int,
    c_int,
    i64,
    *const c_void,
    c_int,
    c_int,
    i64,
    *const f32,
    *mut c_void,
    c_int,
    c_int,
    i64,
    c_int,
    c_int,
    c_int,
) -> Status;

/// `CUDA_R_32F` and `CUDA_R_16BF`.
const fn data_type(element: Element) -> c_int {
    match element {
        Element::F32 => 0,
        Element::Bf16 => 14,
    }
}

/// What the inputs are multiplied as; sums are f32.
#[derive(Debug, Clone, Copy)]
pub(super) enum Compute {
    /// `CUBLAS_COMPUTE_32F`: as they are stored.
    AsStored,
    /// `CUBLAS_COMPUTE_32F_FAST_TF32`.
    Tf32,
    /// `CUBLAS_COMPUTE_32F_FAST_16BF`.
    Bf16,
}

/// A product of tensor cores, or a batch of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct GemmCall {
    /// m, n, k.
    pub sides: [c_int; 3],
    /// Addresses of A, B and C.
    pub operands: [u64; 3],
    /// Products.
    pub batch: c_int,
    /// beta: 1 or 0.
    pub reads_c: bool,
    /// What A and B are stored as.
    pub input: Element,
    /// What they are multiplied as.
    pub compute: Compute,
    /// What C is stored as.
    pub out: Element,
}

/// An open library with a handle on one stream.
pub(super) struct Cublas {
    handle: Handle,
    saxpy: Saxpy,
    sgemm: Sgemm,
    gemm_ex: GemmEx,
    sgemm_strided_batched: SgemmStridedBatched,
    destroy: Destroy,
    /// Its version, as in `13.1.0`.
    pub(super) version: String,
    // Dropped last: the functions above are part of it.
    _library: Library,
}

impl Cublas {
    /// Opens the library and binds it to `stream`, whose context is current.
    ///
    /// # Errors
    /// Why it cannot be used, and how that is mended.
    pub(super) fn open(stream: CUstream) -> Result<Self, String> {
        let library = library()?;
        let lacks = |name: &str| {
            format!("the cuBLAS that was found has no {name}; install CUDA 11 or later")
        };
        // SAFETY: each type is that of the function in cublas_v2.h.
        let (create, set_stream, set_math_mode, get_version): (
            Create,
            SetStream,
            SetMathMode,
            GetVersion,
        ) = unsafe {
            (
                symbol(&library, c"cublasCreate_v2").ok_or_else(|| lacks("cublasCreate"))?,
                symbol(&library, c"cublasSetStream_v2").ok_or_else(|| lacks("cublasSetStream"))?,
                symbol(&library, c"cublasSetMathMode").ok_or_else(|| lacks("cublasSetMathMode"))?,
                symbol(&library, c"cublasGetVersion_v2")
                    .ok_or_else(|| lacks("cublasGetVersion"))?,
            )
        };
        // SAFETY: as above.
        let (saxpy, sgemm, sgemm_strided_batched, gemm_ex, destroy): (
            Saxpy,
            Sgemm,
            SgemmStridedBatched,
            GemmEx,
            Destroy,
        ) = unsafe {
            (
                symbol(&library, c"cublasSaxpy_v2").ok_or_else(|| lacks("cublasSaxpy"))?,
                symbol(&library, c"cublasSgemm_v2").ok_or_else(|| lacks("cublasSgemm"))?,
                symbol(&library, c"cublasSgemmStridedBatched")
                    .ok_or_else(|| lacks("cublasSgemmStridedBatched"))?,
                symbol(&library, c"cublasGemmStridedBatchedEx")
                    .ok_or_else(|| lacks("cublasGemmStridedBatchedEx"))?,
                symbol(&library, c"cublasDestroy_v2").ok_or_else(|| lacks("cublasDestroy"))?,
            )
        };
        let mut handle = std::ptr::null_mut();
        let mut number = 0;
        // SAFETY: `handle` and `number` receive the answers; the handle is used once it exists;
        // the stream is alive.
        unsafe {
            done("cublasCreate", create(&mut handle))?;
            done("cublasSetStream", set_stream(handle, stream))?;
            done("cublasSetMathMode", set_math_mode(handle, DEFAULT_MATH))?;
            done("cublasGetVersion", get_version(handle, &mut number))?;
        }
        Ok(Cublas {
            handle,
            saxpy,
            sgemm,
            gemm_ex,
            sgemm_strided_batched,
            destroy,
            version: version(number),
            _library: library,
        })
    }

    /// Puts y = alpha * x + y on the stream.
    ///
    /// # Errors
    /// The library's status.
    ///
    /// # Safety
    /// `x` and `y` are addresses of `n` f32 each in the memory of the device.
    pub(super) unsafe fn saxpy(&self, n: c_int, alpha: f32, x: u64, y: u64) -> Result<(), String> {
        // SAFETY: the caller vouches for the addresses; alpha is read during the call.
        let status =
            unsafe { (self.saxpy)(self.handle, n, &alpha, x as *const f32, 1, y as *mut f32, 1) };
        done("cublasSaxpy", status)
    }

    /// Puts C = A @ B + C, all row-major, on the stream: C^T = B^T @ A^T + C^T for a library
    /// that reads matrices by columns.
    ///
    /// # Errors
    /// The library's status.
    ///
    /// # Safety
    /// The addresses are those of m x k, k x n and m x n f32 in the memory of the device.
    pub(super) unsafe fn sgemm(
        &self,
        [m, n, k]: [c_int; 3],
        [a, b, c]: [u64; 3],
    ) -> Result<(), String> {
        let one = 1f32;
        // SAFETY: the caller vouches for the addresses; the scalars are read during the call.
        let status = unsafe {
            (self.sgemm)(
                self.handle,
                AS_IT_LIES,
                AS_IT_LIES,
                n,
                m,
                k,
                &one,
                b as *const f32,
                n,
                a as *const f32,
                k,
                &one,
                c as *mut f32,
                n,
            )
        };
        done("cublasSgemm", status)
    }

    /// Puts `batch` products as of [`Cublas::sgemm`] on the stream, their operands one behind the
    /// other.
    ///
    /// # Errors
    /// The library's status.
    ///
    /// # Safety
    /// The addresses are those of `batch` times m x k, k x n and m x n f32 in the memory of the
    /// device.
    pub(super) unsafe fn sgemm_batch(
        &self,
        [m, n, k]: [c_int; 3],
        batch: c_int,
        [a, b, c]: [u64; 3],
    ) -> Result<(), String> {
        let one = 1f32;
        let stride =
            |rows: c_int, columns: c_int| c_longlong::from(rows) * c_longlong::from(columns);
        // SAFETY: the caller vouches for the addresses; the scalars are read during the call.
        let status = unsafe {
            (self.sgemm_strided_batched)(
                self.handle,
                AS_IT_LIES,
                AS_IT_LIES,
                n,
                m,
                k,
                &one,
                b as *const f32,
                n,
                stride(k, n),
                a as *const f32,
                k,
                stride(m, k),
                &one,
                c as *mut f32,
                n,
                stride(m, n),
                batch,
            )
        };
        done("cublasSgemmStridedBatched", status)
    }
}

impl Cublas {
    /// Puts C = A @ B + beta C, all row-major, on the stream, with sums in f32: C^T = B^T @ A^T for
    /// a library that reads matrices by columns.
    ///
    /// # Errors
    /// The library's status.
    ///
    /// # Safety
    /// The addresses are those of `batch` matrices of m x k, k x n and m x n elements, one behind
    /// the other, in the memory of the device.
    pub(super) unsafe fn gemm(&self, call: GemmCall) -> Result<(), String> {
        let compute = match call.compute {
            Compute::AsStored => 68,
            Compute::Bf16 => 75,
            Compute::Tf32 => 77,
        };
        /// `CUBLAS_GEMM_DEFAULT`: the library's own heuristics.
        const DEFAULT_ALGORITHM: c_int = -1;
        let (alpha, beta) = (1f32, if call.reads_c { 1f32 } else { 0f32 });
        let [m, n, k] = call.sides;
        let [a, b, c] = call.operands;
        let stride = |rows: c_int, columns: c_int| i64::from(rows) * i64::from(columns);
        let (input, out) = (data_type(call.input), data_type(call.out));
        // SAFETY: the caller vouches for the addresses; the scalars are read during the call.
        let status = unsafe {
            (self.gemm_ex)(
                self.handle,
                AS_IT_LIES,
                AS_IT_LIES,
                n,
                m,
                k,
                &alpha,
                b as *const c_void,
                input,
                n,
                stride(k, n),
                a as *const c_void,
                input,
                k,
                stride(m, k),
                &beta,
                c as *mut c_void,
                out,
                n,
                stride(m, n),
                call.batch,
                compute,
                DEFAULT_ALGORITHM,
            )
        };
        done("cublasGemmStridedBatchedEx", status)
    }
}

impl Drop for Cublas {
    fn drop(&mut self) {
        // SAFETY: the handle was created by this library and is not used again.
        unsafe { (self.destroy)(self.handle) };
    }
}

/// Opens the first name that the loader finds.
fn library() -> Result<Library, String> {
    let mut reasons = Vec::new();
    for name in NAMES {
        // SAFETY: the library's initialisers have no precondition.
        match unsafe { Library::new(*name) } {
            Ok(library) => return Ok(library),
            Err(error) => {
                // The loader's own words are in the source of the error.
                let cause = error.source().map(ToString::to_string);
                reasons.push(cause.unwrap_or_else(|| format!("{name}: {error}")));
            }
        }
    }
    Err(format!(
        "--baseline cublas: cuBLAS cannot be opened ({}). Install the CUDA toolkit or the package \
         nvidia-cublas and add its folder to LD_LIBRARY_PATH, or leave --baseline out",
        reasons.join("; ")
    ))
}

/// The function `name` as a value of the function-pointer type `F`.
///
/// # Safety
/// `F` is the type of that function, and the value is not used after the library is closed.
unsafe fn symbol<F: Copy>(library: &Library, name: &CStr) -> Option<F> {
    // SAFETY: the caller vouches for the type.
    unsafe { library.get::<F>(name).ok().map(|symbol| *symbol) }
}

/// An error for every status but success.
fn done(call: &str, status: Status) -> Result<(), String> {
    match status {
        0 => Ok(()),
        status => Err(format!("{call}: cuBLAS status {status}")),
    }
}

/// `110903` and `13_01_00` style numbers (major * 10000 + minor * 100 + patch) in words.
fn version(number: c_int) -> String {
    format!(
        "{}.{}.{}",
        number / 10_000,
        number / 100 % 100,
        number % 100
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_read_as_they_are_written() {
        assert_eq!(version(130_100), "13.1.0");
        assert_eq!(version(120_804), "12.8.4");
    }

    #[test]
    fn a_missing_library_names_the_remedy() {
        if let Err(reason) = library() {
            assert!(reason.contains("LD_LIBRARY_PATH"), "{reason}");
            assert!(reason.contains("libcublas.so.12"), "{reason}");
        }
    }
}
