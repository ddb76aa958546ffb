//! The CUDA driver, opened at run time.
//!
//! `cust` expects the driver's functions to be linked in; a program linked that way does not
//! start where there is no driver. Here the library is opened on first use instead, and
//! `exports` defines the functions that `cust` calls, each forwarding to it. Without a driver
//! they answer `CUDA_ERROR_NO_DEVICE`, and [`library`] says why.

mod exports;

use libloading::Library;
use std::cell::Cell;
use std::error::Error;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// The driver's result: 0 is success.
pub type Code = u32;

/// No error.
pub const SUCCESS: Code = 0;
/// What the forwarders answer when there is no driver.
pub const NO_DEVICE: Code = 100;
/// Stands for every code that `cust` does not know.
pub const UNKNOWN: Code = 999;

/// Names under which the driver is installed.
#[cfg(windows)]
const NAMES: &[&str] = &["nvcuda.dll"];
#[cfg(not(windows))]
const NAMES: &[&str] = &["libcuda.so.1", "libcuda.so"];

static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();

thread_local! {
    /// The last code other than 0 that a forwarder of this thread got.
    static LAST: Cell<Code> = const { Cell::new(SUCCESS) };
}

/// The driver, or why it cannot be opened.
///
/// # Errors
/// What the loader said.
pub fn library() -> Result<&'static Library, &'static str> {
    let opened = LIBRARY.get_or_init(|| {
        let mut reason = None;
        for name in NAMES {
            // SAFETY: the driver's initialisers have no precondition; the library stays open
            // until the process ends.
            match unsafe { Library::new(*name) } {
                Ok(library) => return Ok(library),
                // The first name is the one that matters; the loader's own words are in the
                // source of the error.
                Err(error) => {
                    reason.get_or_insert_with(|| {
                        let cause = error.source().map(ToString::to_string);
                        cause.unwrap_or_else(|| format!("{name}: {error}"))
                    });
                }
            }
        }
        Err(reason.unwrap_or_default())
    });
    opened.as_ref().map_err(String::as_str)
}

/// The function `name` of the driver as a value of the function-pointer type `F`.
///
/// # Safety
/// `F` is the type of that function.
pub(super) unsafe fn symbol<F: Copy>(name: &CStr) -> Option<F> {
    let library = library().ok()?;
    // SAFETY: the caller vouches for the type.
    unsafe { library.get::<F>(name).ok().map(|symbol| *symbol) }
}

/// Keeps `code` for [`last_error`], and maps those that `cust`'s enum lacks to [`UNKNOWN`]:
/// any other value would be undefined behaviour there.
fn known(code: Code) -> Code {
    if code != SUCCESS {
        LAST.set(code);
    }
    match code {
        0..=8
        | 34
        | 100..=102
        | 200..=202
        | 205..=224
        | 300..=304
        | 400
        | 401
        | 500
        | 600
        | 700..=705
        | 708..=720
        | 800..=809
        | 900..=911
        | UNKNOWN => code,
        _ => UNKNOWN,
    }
}

/// Name and text of the last error that a call of this thread got from the driver.
pub fn last_error() -> Option<String> {
    let code = LAST.get();
    (code != SUCCESS).then(|| describe(code))
}

/// An error for every code but success.
///
/// # Errors
/// Name and text of the code.
pub(super) fn done(code: Code) -> Result<(), String> {
    match code {
        SUCCESS => Ok(()),
        code => Err(describe(code)),
    }
}

/// Name and text of a code, as the driver gives them.
fn describe(code: Code) -> String {
    type Describe = unsafe extern "C" fn(Code, *mut *const c_char) -> Code;
    let ask = |name: &CStr| {
        // SAFETY: the type of cuGetErrorName and cuGetErrorString.
        let function: Describe = unsafe { symbol(name) }?;
        let mut text = std::ptr::null();
        // SAFETY: `text` receives the address of a string.
        let found = unsafe { function(code, &mut text) };
        if found != SUCCESS || text.is_null() {
            return None;
        }
        // SAFETY: the driver's string ends with 0 and is never freed.
        let text = unsafe { CStr::from_ptr(text) };
        Some(text.to_string_lossy().into_owned())
    };
    match (ask(c"cuGetErrorName"), ask(c"cuGetErrorString")) {
        (Some(name), Some(text)) => format!("{name} ({code}): {text}"),
        _ => format!("CUDA error {code}"),
    }
}

/// Raises the limit of dynamic shared memory of a function above 48 KiB.
///
/// # Errors
/// The driver's error.
///
/// # Safety
/// `function` is a function of a module that is loaded in the current context.
pub unsafe fn allow_shared_bytes(function: *mut c_void, bytes: u32) -> Result<(), String> {
    type SetAttribute = unsafe extern "C" fn(*mut c_void, c_int, c_int) -> Code;
    /// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`
    const MAX_DYNAMIC_SHARED_BYTES: c_int = 8;
    // SAFETY: the type of cuFuncSetAttribute.
    let Some(set): Option<SetAttribute> = (unsafe { symbol(c"cuFuncSetAttribute") }) else {
        return Err("the driver has no cuFuncSetAttribute".to_owned());
    };
    // SAFETY: the caller vouches for the function.
    done(unsafe { set(function, MAX_DYNAMIC_SHARED_BYTES, bytes as c_int) })
}

/// An attribute of a launch (`CUlaunchAttribute`).
#[repr(C)]
struct LaunchAttribute {
    id: c_int,
    padding: [u8; 4],
    value: [c_uint; 16],
}

/// A launch (`CUlaunchConfig`).
#[repr(C)]
struct LaunchConfig {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
    stream: cust::sys::CUstream,
    attributes: *const LaunchAttribute,
    count: c_uint,
}

/// What a launch asks for beyond what every launch says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extras {
    /// Blocks of a cluster, spread over the multiprocessors as their load allows: by the default the blocks
    /// of a cluster share some, while others stand idle. 1 for what the function says.
    pub cluster: u32,
    /// Whether it may start before the launch in front of it ends.
    pub dependent: bool,
}

impl Extras {
    /// Nothing.
    pub const NONE: Extras = Extras {
        cluster: 1,
        dependent: false,
    };
}

/// Puts a launch on a stream that asks for more than `cuLaunchKernel` takes.
///
/// # Errors
/// The driver's error.
///
/// # Safety
/// As for `cuLaunchKernel`: `parameters` point to the parameters of the function, which is one of a
/// module of the current context; the stream is alive. The grid is a multiple of the cluster; with
/// `dependent` the function waits for the launch in front before it touches what that reads or writes.
pub unsafe fn launch_with(
    extras: Extras,
    function: cust::sys::CUfunction,
    grid: u32,
    [x, y]: [u32; 2],
    shared_bytes: u32,
    stream: cust::sys::CUstream,
    parameters: &mut [*mut c_void],
) -> Result<(), String> {
    type LaunchEx = unsafe extern "C" fn(
        *const LaunchConfig,
        cust::sys::CUfunction,
        *mut *mut c_void,
        *mut *mut c_void,
    ) -> Code;
    /// `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`
    const CLUSTER_DIMENSION: c_int = 4;
    /// `CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE`
    const SCHEDULING_POLICY: c_int = 5;
    /// `CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING`
    const LOAD_BALANCING: c_uint = 2;
    /// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`
    const PROGRAMMATIC_SERIALIZATION: c_int = 6;
    // SAFETY: the type of cuLaunchKernelEx.
    let Some(launch): Option<LaunchEx> = (unsafe { symbol(c"cuLaunchKernelEx") }) else {
        return Err("the driver has no cuLaunchKernelEx, which came with 520".to_owned());
    };
    let attribute = |id, first: &[c_uint]| {
        let mut value = [0; 16];
        value[..first.len()].copy_from_slice(first);
        LaunchAttribute {
            id,
            padding: [0; 4],
            value,
        }
    };
    let mut attributes = Vec::new();
    if extras.cluster > 1 {
        attributes.push(attribute(CLUSTER_DIMENSION, &[extras.cluster, 1, 1]));
        attributes.push(attribute(SCHEDULING_POLICY, &[LOAD_BALANCING]));
    }
    if extras.dependent {
        attributes.push(attribute(PROGRAMMATIC_SERIALIZATION, &[1]));
    }
    let config = LaunchConfig {
        grid: [grid, 1, 1],
        block: [x, y, 1],
        shared_bytes,
        stream,
        attributes: attributes.as_ptr(),
        count: attributes.len() as c_uint,
    };
    // SAFETY: the caller vouches for function, parameters and stream; the attributes outlive the call.
    done(unsafe {
        launch(
            &config,
            function,
            parameters.as_mut_ptr(),
            std::ptr::null_mut(),
        )
    })
}

/// Puts a copy within the memory of the device on a stream.
///
/// # Errors
/// The driver's error.
///
/// # Safety
/// `bytes` bytes lie at each address in the current context, and do not overlap; the stream is
/// alive.
pub unsafe fn copy_on_device(
    to: u64,
    from: u64,
    bytes: usize,
    stream: cust::sys::CUstream,
) -> Result<(), String> {
    type Copy = unsafe extern "C" fn(u64, u64, usize, cust::sys::CUstream) -> Code;
    // SAFETY: the type of cuMemcpyDtoDAsync.
    let Some(copy): Option<Copy> = (unsafe { symbol(c"cuMemcpyDtoDAsync_v2") }) else {
        return Err("the driver has no cuMemcpyDtoDAsync".to_owned());
    };
    // SAFETY: the caller vouches for addresses and stream.
    done(unsafe { copy(to, from, bytes, stream) })
}

/// An attribute of a device that `cust` has no name for, by its number in `CUdevice_attribute`.
pub fn device_attribute(device: c_int, attribute: c_int) -> Option<i32> {
    type GetAttribute = unsafe extern "C" fn(*mut c_int, c_int, c_int) -> Code;
    // SAFETY: the type of cuDeviceGetAttribute.
    let get: GetAttribute = unsafe { symbol(c"cuDeviceGetAttribute") }?;
    let mut value = 0;
    // SAFETY: `value` receives the answer; an unknown device or attribute is an error code.
    (unsafe { get(&mut value, attribute, device) } == SUCCESS).then_some(value)
}

/// What the driver's compiler says about PTX that it refused.
///
/// For the error message only: `cust` loads modules, but without the compiler's log.
pub fn compiler_log(ptx: &CStr) -> Option<String> {
    type Load = unsafe extern "C" fn(
        *mut *mut c_void,
        *const c_void,
        c_uint,
        *mut c_int,
        *mut *mut c_void,
    ) -> Code;
    type Unload = unsafe extern "C" fn(*mut c_void) -> Code;
    /// `CU_JIT_ERROR_LOG_BUFFER`, `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`
    const OPTIONS: [c_int; 2] = [5, 6];
    const LOG_BYTES: usize = 16 * 1024;
    // SAFETY: the types of cuModuleLoadDataEx and cuModuleUnload.
    let (load, unload): (Load, Unload) =
        unsafe { (symbol(c"cuModuleLoadDataEx")?, symbol(c"cuModuleUnload")?) };
    let mut log = vec![0u8; LOG_BYTES];
    let mut options = OPTIONS;
    // The size is passed by value in the pointer's place.
    let mut values = [log.as_mut_ptr().cast::<c_void>(), LOG_BYTES as *mut c_void];
    let mut module = std::ptr::null_mut();
    // SAFETY: two options with their two values; the log outlives the call; `ptx` ends with 0.
    let code = unsafe {
        load(
            &mut module,
            ptx.as_ptr().cast(),
            2,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    if code == SUCCESS {
        // SAFETY: the module was just loaded and is not used.
        unsafe { unload(module) };
        return None;
    }
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    let text = String::from_utf8_lossy(&log[..end]).trim().to_owned();
    (!text.is_empty()).then_some(text)
}
