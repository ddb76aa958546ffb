//! What `copy`, `saxpy` and `triad` share: variants, sizes and launch shapes.

use super::{Argument, Launch, Problem, Variant};
use crate::device::DeviceKind;
use gpu_kernels::params::{SCALAR_BLOCK, SCALAR_GRID, STREAM_BLOCK, VECTOR_ELEMENTS};

const CUDA: [Variant; 2] = [
    Variant {
        name: "scalar",
        summary: "the lecture's grid-stride loop, 4096 blocks of 256 threads",
    },
    Variant {
        name: "vector",
        summary: "16-byte accesses, one pass without a loop",
    },
];

const CPU: [Variant; 1] = [Variant {
    name: "parallel",
    summary: "every core on its own part of the arrays",
}];

/// Variants of a streaming kernel.
pub fn variants(device: DeviceKind) -> &'static [Variant] {
    match device {
        DeviceKind::Cuda | DeviceKind::Vm => &CUDA,
        DeviceKind::Cpu => &CPU,
    }
}

/// From arrays that fit in the cache to arrays far past it.
pub fn default_sizes(device: DeviceKind) -> &'static str {
    match device {
        DeviceKind::Cuda | DeviceKind::Vm => "1Ki..256Mi:x4",
        DeviceKind::Cpu => "4Ki..64Mi:x4",
    }
}

/// One size on either side of the last-level cache.
pub fn quick_sizes(device: DeviceKind) -> &'static str {
    match device {
        DeviceKind::Cuda | DeviceKind::Vm => "1Mi,256Mi",
        DeviceKind::Cpu => "64Ki,16Mi",
    }
}

/// Around vectors, blocks and the pieces of a block, and one past the grid of the scalar form.
pub const RAGGED_SIZES: &str =
    "1..5:+1,31,32,33,127,511,512,513,1000,1023,1024,1025,4097,65537,1000003,1048577,4194305";

/// Whole blocks of every form, and a part of a vector more than that.
pub const COUNTED_SIZES: &str = "64Ki,100003";

/// The launch of a streaming kernel whose entries are `[scalar, vector]` and whose vector form
/// has `vectors` 16-byte vectors a thread.
///
/// # Errors
/// More blocks than a grid takes.
pub fn launch(
    problem: &Problem,
    entries: [&'static str; 2],
    vectors: u32,
    arguments: Vec<Argument>,
) -> Result<Launch, String> {
    if problem.variant == CUDA[0].name {
        let block = [SCALAR_BLOCK, 1];
        return Ok(Launch {
            entry: entries[0],
            grid: SCALAR_GRID,
            block,
            arguments,
            ..Launch::PLAIN
        });
    }
    one_shot(entries[1], problem.elements(), vectors, arguments)
}

/// The launch of an entry in which each thread has `vectors` 16-byte vectors and no loop.
///
/// # Errors
/// More blocks than a grid takes.
pub fn one_shot(
    entry: &'static str,
    elements: u64,
    vectors: u32,
    arguments: Vec<Argument>,
) -> Result<Launch, String> {
    let per_block = u64::from(STREAM_BLOCK) * u64::from(VECTOR_ELEMENTS) * u64::from(vectors);
    Ok(Launch {
        entry,
        grid: grid(elements.div_ceil(per_block))?,
        block: [STREAM_BLOCK, 1],
        arguments,
        ..Launch::PLAIN
    })
}

/// Checks a number of blocks against the most that the x axis of a grid takes.
///
/// # Errors
/// More than 2^31 - 1.
pub fn grid(blocks: u64) -> Result<u32, String> {
    const MOST: u64 = (1 << 31) - 1;
    if blocks > MOST {
        return Err(format!(
            "{blocks} blocks are more than the {MOST} that a grid takes"
        ));
    }
    Ok(blocks as u32)
}
