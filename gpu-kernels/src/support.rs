//! What measuring needs besides the kernels under test: operand fills, the L2 sweep, the
//! clock probe.

use crate::gpu::thread;
use crate::ptx::special::{clock64, globaltimer};
use crate::random::{integer, uniform};
use crate::stream::grid_stride;

kernel! {
    /// Writes the 32-bit pattern `value` to `n` elements.
    ///
    /// # Safety
    /// `out` holds `n` elements.
    pub unsafe fn fill_bits(out: *mut u32, n: usize, value: u32) {
        grid_stride(n, |i| {
            // SAFETY: i < n.
            unsafe { *out.add(i) = value }
        });
    }
}

kernel! {
    /// Fills `n` elements with [`uniform`] of `seed` and the element's index.
    ///
    /// # Safety
    /// `out` holds `n` elements.
    pub unsafe fn fill_uniform(out: *mut f32, n: usize, seed: u64) {
        grid_stride(n, |i| {
            // SAFETY: i < n.
            unsafe { *out.add(i) = uniform(seed, i as u64) }
        });
    }
}

kernel! {
    /// Fills `n` elements with [`integer`] of `seed` and the element's index.
    ///
    /// # Safety
    /// `out` holds `n` elements.
    pub unsafe fn fill_integers(out: *mut f32, n: usize, seed: u64) {
        grid_stride(n, |i| {
            // SAFETY: i < n.
            unsafe { *out.add(i) = integer(seed, i as u64) }
        });
    }
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
