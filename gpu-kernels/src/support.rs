//! What measuring needs besides the kernels under test: operand fills, the L2 sweep, the
//! clock probe.

use crate::gpu::thread;
use crate::ptx::special::{clock64, globaltimer};
use crate::random::{bf16_bits, integer, sign, uniform};
use crate::stream::grid_stride;

/// Defines the fill of an element type: element i becomes a function of i.
macro_rules! fills {
    ($($(#[$doc:meta])* $name:ident: $ty:ty, $arg:ident: $arg_ty:ty $(, $more:ident: $more_ty:ty)? => |$i:ident| $value:expr;)*) => {
        $(
            kernel! {
                $(#[$doc])*
                ///
                /// # Safety
                /// `out` holds `n` elements.
                pub unsafe fn $name(out: *mut $ty, n: usize, $arg: $arg_ty $(, $more: $more_ty)?) {
                    grid_stride(n, |index| {
                        let $i = index as u64;
                        // SAFETY: index < n.
                        unsafe { *out.add(index) = $value }
                    });
                }
            }
        )*
    };
}

fills! {
    /// Writes the 32-bit pattern `value` to `n` elements.
    fill_bits: u32, value: u32 => |_i| value;
    /// Fills `n` f32 elements with [`uniform`] of `seed` and the element's index.
    fill_uniform: f32, seed: u64 => |i| uniform(seed, i);
    /// Fills `n` f32 elements with [`integer`] of `seed` and the element's index.
    fill_integers: f32, seed: u64 => |i| integer(seed, i);
    /// Fills `n` f32 elements with [`sign`] of `seed`, the element's index and `one_in`.
    fill_signs: f32, seed: u64, one_in: u32 => |i| sign(seed, i, one_in);
    /// Writes the 16-bit pattern `value` to `n` elements.
    fill_bits_16: u16, value: u32 => |_i| value as u16;
    /// Fills `n` bfloat16 elements with [`uniform`] of `seed` and the element's index.
    fill_uniform_bf16: u16, seed: u64 => |i| bf16_bits(uniform(seed, i));
    /// Fills `n` bfloat16 elements with [`integer`] of `seed` and the element's index.
    fill_integers_bf16: u16, seed: u64 => |i| bf16_bits(integer(seed, i));
    /// Fills `n` bfloat16 elements with [`sign`] of `seed`, the element's index and `one_in`.
    fill_signs_bf16: u16, seed: u64, one_in: u32 => |i| bf16_bits(sign(seed, i, one_in));
}

kernel! {
    /// First half of the L2 sweep: writes `n` words, so that every line of the L2 is replaced.
    ///
    /// # Safety
    /// `buffer` holds `n` elements.
    pub unsafe fn l2_sweep_write(buffer: *mut u32, n: usize) {
        grid_stride(n, |i| {
            // SAFETY: i < n.
            unsafe { *buffer.add(i) = i as u32 | 1 }
        });
    }
}

kernel! {
    /// Second half of the L2 sweep: reads `n` words of another buffer, so that the dirty lines
    /// of the first half are written back and the kernel under test finds clean ones.
    ///
    /// `sink` receives a word only if the words read have every bit set among them, which the
    /// caller rules out by filling the buffer with zeros: the loads cannot be dropped.
    ///
    /// # Safety
    /// `buffer` holds `n` elements, `sink` one.
    pub unsafe fn l2_sweep_read(buffer: *const u32, n: usize, sink: *mut u32) {
        let mut seen = 0u32;
        grid_stride(n, |i| {
            // SAFETY: i < n.
            seen |= unsafe { *buffer.add(i) };
        });
        if seen == u32::MAX {
            // SAFETY: sink holds one element.
            unsafe { *sink = seen }
        }
    }
}

kernel! {
    /// Counts cycles over at least `nanoseconds` of the global timer, on one thread.
    ///
    /// Starts at a tick of the timer, whose resolution can be a microsecond. Writes the cycles
    /// and the nanoseconds between the first and the last tick: their ratio is the clock of
    /// the multiprocessor in GHz.
    ///
    /// # Safety
    /// `out` holds two elements.
    pub unsafe fn clock_probe(out: *mut u64, nanoseconds: u64) {
        let before = globaltimer();
        let mut start = globaltimer();
        while start == before {
            start = globaltimer();
        }
        let first_cycle = clock64();
        let mut now = globaltimer();
        while now - start < nanoseconds {
            now = globaltimer();
        }
        let last_cycle = clock64();
        // SAFETY: out holds two elements; the launch has one thread.
        unsafe {
            if thread::thread_idx_x() == 0 {
                *out = last_cycle - first_cycle;
                *out.add(1) = now - start;
            }
        }
    }
}
