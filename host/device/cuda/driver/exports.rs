//! The driver functions that `cust` calls, defined here and forwarded to the opened library.
//!
//! Signatures follow CUDA's `cuda.h`; handles are pointers, device ordinals `int`, enumerations
//! `int`, sizes `size_t`. A function that `cust` needs and that is missing here is named by the
//! linker.

use super::{Code, NO_DEVICE, UNKNOWN, known, library, symbol};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// A handle of the driver (context, module, function, stream, event).
type Handle = *mut c_void;
/// An address in device memory.
type DevicePointer = u64;

/// Defines a forwarder for each function.
macro_rules! forward {
    ($(fn $name:ident($($arg:ident: $ty:ty),* $(,)?);)*) => {$(
        /// Forwards to the driver's function of this name.
        ///
        /// # Safety
        /// As for the driver's function.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, clippy::too_many_arguments, reason = "the driver's interface")]
        unsafe extern "C" fn $name($($arg: $ty),*) -> Code {
            type Function = unsafe extern "C" fn($($ty),*) -> Code;
            static FUNCTION: OnceLock<Option<Function>> = OnceLock::new();
            let function = FUNCTION.get_or_init(|| {
                let name = concat!(stringify!($name), "\0");
                let name = std::ffi::CStr::from_bytes_with_nul(name.as_bytes()).ok()?;
                // SAFETY: the signature is that of cuda.h.
                unsafe { symbol(name) }
            });
            match function {
                // SAFETY: the caller upholds what the driver asks.
                Some(function) => known(unsafe { function($($arg),*) }),
                None if library().is_err() => NO_DEVICE,
                None => UNKNOWN,
            }
        }
    )*};
}

forward! {
    fn cuInit(flags: c_uint);
    fn cuDriverGetVersion(version: *mut c_int);
    fn cuGetErrorString(error: Code, text: *mut *const c_char);
    fn cuDeviceGet(device: *mut c_int, ordinal: c_int);
    fn cuDeviceGetCount(count: *mut c_int);
    fn cuDeviceGetName(name: *mut c_char, length: c_int, device: c_int);
    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int);
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int);
    fn cuDevicePrimaryCtxRetain(context: *mut Handle, device: c_int);
    fn cuDevicePrimaryCtxRelease_v2(device: c_int);
    fn cuCtxSetCurrent(context: Handle);
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    fn cuMemAlloc_v2(address: *mut DevicePointer, bytes: usize);
    fn cuMemFree_v2(address: DevicePointer);
    fn cuMemcpyHtoD_v2(to: DevicePointer, from: *const c_void, bytes: usize);
    fn cuMemcpyDtoH_v2(to: *mut c_void, from: DevicePointer, bytes: usize);
    fn cuMemcpyDtoD_v2(to: DevicePointer, from: DevicePointer, bytes: usize);
    fn cuMemsetD8_v2(address: DevicePointer, value: u8, count: usize);
    fn cuModuleLoadDataEx(
        module: *mut Handle, image: *const c_void, options: c_uint,
        names: *mut c_int, values: *mut *mut c_void,
    );
    fn cuModuleUnload(module: Handle);
    fn cuModuleGetFunction(function: *mut Handle, module: Handle, name: *const c_char);
    fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: Handle);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int, function: Handle, block_threads: c_int, shared_bytes: usize,
    );
    fn cuStreamCreateWithPriority(stream: *mut Handle, flags: c_uint, priority: c_int);
    fn cuStreamDestroy_v2(stream: Handle);
    fn cuStreamSynchronize(stream: Handle);
    fn cuLaunchKernel(
        function: Handle,
        grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        block_x: c_uint, block_y: c_uint, block_z: c_uint,
        shared_bytes: c_uint, stream: Handle,
        parameters: *mut *mut c_void, extra: *mut *mut c_void,
    );
    fn cuEventCreate(event: *mut Handle, flags: c_uint);
    fn cuEventDestroy_v2(event: Handle);
    fn cuEventRecord(event: Handle, stream: Handle);
    fn cuEventSynchronize(event: Handle);
    fn cuEventElapsedTime(milliseconds: *mut f32, start: Handle, end: Handle);
}
