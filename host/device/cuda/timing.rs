//! Cold and warm samples, timed by events on the stream.
//!
//! An event's time must never contain the CPU. Before each cold launch the L2 sweep keeps the
//! stream busy while the launch and its events are put behind it; before each warm batch a
//! spinning kernel does.

use super::launch::Parameters;
use super::{CudaDevice, call};
use crate::device::{Region, Result};
use crate::kernels::Problem;
use cust::event::{Event, EventFlags};
use cust::memory::{CopyDestination, DeviceBuffer};

/// Bytes of each buffer of the sweep, over the bytes of the L2.
const SWEEP_FACTOR: u64 = 2;

/// Size of the L2 that is assumed when the driver does not report it: larger than any to date.
const UNKNOWN_L2_BYTES: u64 = 256 << 20;

/// Cold launches that are put on the stream at a time.
const COLD_BATCH: usize = 64;

/// Nanoseconds by which the stream is kept busy before a cold batch: the host's head start. The
/// sweep of the L2 before each launch takes longer than putting it and the launch on the stream
/// does, so that the head start never shrinks.
const HEAD_START_NS: u64 = 200_000;

/// Nanoseconds that the host takes, at most, to put one launch on the stream.
const ENQUEUE_NS: u64 = 8_000;

/// The two buffers of the L2 sweep, allocated once.
pub(super) struct L2Sweep {
    written: DeviceBuffer<u32>,
    read: DeviceBuffer<u32>,
    sink: DeviceBuffer<u32>,
}

/// Two events around a launch.
pub(super) struct EventPair {
    start: Event,
    end: Event,
}

impl EventPair {
    fn new() -> Result<Self> {
        let event = || Event::new(EventFlags::DEFAULT).map_err(|e| call("cuEventCreate", e));
        Ok(EventPair {
            start: event()?,
            end: event()?,
        })
    }

    /// Seconds between the two events, which must have been recorded.
    fn seconds(&self) -> Result<f64> {
        self.end
            .synchronize()
            .map_err(|e| call("cuEventSynchronize", e))?;
        let milliseconds = self
            .end
            .elapsed_time_f32(&self.start)
            .map_err(|e| call("cuEventElapsedTime", e))?;
        Ok(f64::from(milliseconds) * 1e-3)
    }
}

impl CudaDevice {
    /// Samples of `launches` launches, the L2 swept before each.
    pub(super) fn time_cold(
        &mut self,
        problem: &Problem,
        operands: &[Region],
        launches: u32,
        samples: u32,
    ) -> Result<Vec<f64>> {
        self.prepare_sweep()?;
        let total = launches as usize * samples as usize;
        self.prepare_events(total.min(COLD_BATCH))?;
        let work = self.resolve(problem, operands)?;
        let mut times = Vec::with_capacity(total);
        while times.len() < total {
            let batch = (total - times.len()).min(COLD_BATCH);
            self.spin(HEAD_START_NS)?;
            for events in &self.events[..batch] {
                self.sweep_l2()?;
                events
                    .start
                    .record(&self.stream)
                    .map_err(|e| call("cuEventRecord", e))?;
                self.enqueue(&work)?;
                events
                    .end
                    .record(&self.stream)
                    .map_err(|e| call("cuEventRecord", e))?;
            }
            for events in &self.events[..batch] {
                times.push(events.seconds()?);
            }
        }
        let mean = |sample: &[f64]| sample.iter().sum::<f64>() / f64::from(launches);
        Ok(times.chunks(launches as usize).map(mean).collect())
    }

    /// Samples of `launches` launches back to back.
    pub(super) fn time_warm(
        &mut self,
        problem: &Problem,
        operands: &[Region],
        launches: u32,
        samples: u32,
    ) -> Result<Vec<f64>> {
        self.prepare_events(1)?;
        let work = self.resolve(problem, operands)?;
        let mut times = Vec::with_capacity(samples as usize);
        for _ in 0..samples {
            let events = &self.events[0];
            self.spin(ENQUEUE_NS * (2 + u64::from(launches)))?;
            // One untimed launch, so that the first timed one is as warm as the others.
            self.enqueue(&work)?;
            events
                .start
                .record(&self.stream)
                .map_err(|e| call("cuEventRecord", e))?;
            for _ in 0..launches {
                self.enqueue(&work)?;
            }
            events
                .end
                .record(&self.stream)
                .map_err(|e| call("cuEventRecord", e))?;
            times.push(events.seconds()? / f64::from(launches));
        }
        Ok(times)
    }

    /// Makes sure that there are `count` pairs of events.
    fn prepare_events(&mut self, count: usize) -> Result<()> {
        while self.events.len() < count {
            self.events.push(EventPair::new()?);
        }
        Ok(())
    }

    /// Allocates the buffers of the sweep on the first cold sample.
    fn prepare_sweep(&mut self) -> Result<()> {
        if self.sweep.is_some() {
            return Ok(());
        }
        let bytes = SWEEP_FACTOR * self.info.cache_bytes.unwrap_or(UNKNOWN_L2_BYTES);
        let words = (bytes / 4) as usize;
        let sweep = || {
            Ok(L2Sweep {
                written: DeviceBuffer::zeroed(words)?,
                read: DeviceBuffer::zeroed(words)?,
                sink: DeviceBuffer::zeroed(1)?,
            })
        };
        self.sweep = Some(sweep().map_err(|error| self.no_memory(error, 2 * bytes))?);
        Ok(())
    }

    /// Puts the sweep on the stream: writes that replace every line of the L2, then reads that
    /// push the dirty lines out, so that the launch behind finds only clean lines of others.
    fn sweep_l2(&self) -> Result<()> {
        let Some(sweep) = &self.sweep else {
            return Ok(());
        };
        let words = sweep.written.len() as u64;
        let address = |buffer: &DeviceBuffer<u32>| Parameters::u64(buffer.as_device_ptr().as_raw());
        self.launch_support(
            "l2_sweep_write",
            words,
            &[address(&sweep.written), Parameters::u64(words)],
        )?;
        self.launch_support(
            "l2_sweep_read",
            words,
            &[
                address(&sweep.read),
                Parameters::u64(words),
                address(&sweep.sink),
            ],
        )
    }

    /// Keeps the stream busy for this long.
    fn spin(&self, nanoseconds: u64) -> Result<()> {
        self.launch_probe(nanoseconds)
    }

    /// Puts the clock probe on the stream.
    pub(super) fn launch_probe(&self, nanoseconds: u64) -> Result<()> {
        let out = self.probe.buffer()?.as_device_ptr().as_raw();
        self.launch_raw(
            "clock_probe",
            1,
            1,
            &[Parameters::u64(out), Parameters::u64(nanoseconds)],
        )
    }

    /// Cycles and nanoseconds of the last probe on the stream.
    pub(super) fn read_probe(&self) -> Result<[u64; 2]> {
        self.synchronize()?;
        let mut result = [0; 2];
        self.probe
            .buffer()?
            .copy_to(&mut result)
            .map_err(|e| call("cuMemcpyDtoH", e))?;
        Ok(result)
    }
}
