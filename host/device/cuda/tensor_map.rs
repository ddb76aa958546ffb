//! Tensor maps, encoded by the driver: how a bulk tensor copy finds its box.

use super::driver;
use crate::device::Element;
use crate::kernels::{Swizzle, TensorMap};
use std::ffi::{c_int, c_void};

/// Words of an encoded map: 128 bytes.
pub(super) const WORDS: usize = 16;

/// An encoded map in memory of the host, aligned as the driver demands.
#[repr(C, align(64))]
struct Encoded([u64; WORDS]);

/// `CU_TENSOR_MAP_DATA_TYPE_FLOAT32` and `_BFLOAT16`.
const fn data_type(element: Element) -> c_int {
    match element {
        Element::F32 => 7,
        Element::Bf16 => 9,
    }
}

/// Encodes the map of a tensor whose first element is at `address`.
///
/// # Errors
/// The driver's error: a driver before CUDA 12, or a map outside its limits.
pub(super) fn encode(map: &TensorMap, address: u64) -> Result<[u64; WORDS], String> {
    type Encode = unsafe extern "C" fn(
        *mut c_void,
        c_int,
        u32,
        u64,
        *const u64,
        *const u64,
        *const u32,
        *const u32,
        c_int,
        c_int,
        c_int,
        c_int,
    ) -> driver::Code;
    /// `CU_TENSOR_MAP_INTERLEAVE_NONE`
    const PLAIN: c_int = 0;
    /// `CU_TENSOR_MAP_L2_PROMOTION_L2_128B`
    const PROMOTE_128: c_int = 2;
    /// `CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE`: zeros.
    const ZEROS: c_int = 0;
    // `CU_TENSOR_MAP_SWIZZLE_NONE`, `_64B` and `_128B`.
    let swizzle = match map.swizzle {
        Swizzle::None => 0,
        Swizzle::Bytes64 => 2,
        Swizzle::Bytes128 => 3,
    };
    let bytes = map.element.bytes();
    let row = map.columns * bytes;
    let mut encoded = Encoded([0; WORDS]);
    // SAFETY: the type of cuTensorMapEncodeTiled; three dimensions with two strides; every array
    // outlives the call; `encoded` is 128 bytes, aligned to 64.
    let code = unsafe {
        let Some(function): Option<Encode> = driver::symbol(c"cuTensorMapEncodeTiled") else {
            return Err("the driver has no cuTensorMapEncodeTiled; install one for CUDA 12".into());
        };
        function(
            (&raw mut encoded).cast(),
            data_type(map.element),
            3,
            address,
            [map.columns, map.rows, map.batch].as_ptr(),
            [row, row * map.rows].as_ptr(),
            [map.box_columns, map.box_rows, 1].as_ptr(),
            [1, 1, 1].as_ptr(),
            PLAIN,
            swizzle,
            PROMOTE_128,
            ZEROS,
        )
    };
    driver::done(code)?;
    Ok(encoded.0)
}
