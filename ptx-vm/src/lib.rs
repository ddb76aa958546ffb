//! Executes PTX kernels on the CPU, checks them while they run, and counts what they do.
//!
//! ```
//! use ptx_vm::{Launch, Machine, Memory, Module, Options};
//!
//! let module = Module::parse(
//!     ".version 7.0
//!     .target sm_80
//!     .address_size 64
//!     .visible .entry double(.param .u64 x) {
//!         .reg .b32 %r<3>; .reg .b64 %rd<4>;
//!         ld.param.u64 %rd1, [x];
//!         mov.u32 %r1, %tid.x;
//!         mul.wide.u32 %rd2, %r1, 4;
//!         add.s64 %rd3, %rd1, %rd2;
//!         ld.global.f32 %r2, [%rd3];
//!         add.rn.f32 %r2, %r2, %r2;
//!         st.global.f32 [%rd3], %r2;
//!         ret;
//!     }",
//! )?;
//! let mut memory = Memory::new();
//! let x = memory.alloc_f32("x", &[1.0, 2.0, 3.0]);
//! let launch = Launch {
//!     entry: "double".into(),
//!     grid: [1, 1, 1],
//!     block: [3, 1, 1],
//!     cluster: None,
//!     dependent: false,
//!     shared_bytes: 0,
//!     args: vec![x.into()],
//! };
//! let report = Machine::default().run(&module, &mut memory, &launch, &Options::default())?;
//! assert_eq!(memory.read_f32(x, 3)?, [2.0, 4.0, 6.0]);
//! assert_eq!(report.flops.f32, 3);
//! assert_eq!(report.unique_bytes(), 24);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Rooms
//!
//! | module | what it is for |
//! |---|---|
//! | [`parse`] | PTX text to a syntax tree, with positions |
//! | `lower` | syntax tree to a program: registers to slots, labels to indices, calls inlined, reconvergence points |
//! | `exec` | runs programs: blocks in parallel, warps of 32 lanes in lockstep |
//! | `check` | diagnoses: bounds, alignment, uninitialised reads, races, barriers, asynchronous copies |
//! | `count` | operations, instructions, bytes, sectors, bank conflicts |
//! | `memory` | global memory |
//!
//! # What is executed
//!
//! The semantics are those of the PTX ISA 8.x for `sm_80` and `sm_90a` with 64-bit addresses:
//! scalar and half-precision arithmetic, conversions, every state space, divergence, barriers,
//! warp-wide instructions, atomics, `cp.async`, `ldmatrix` and `stmatrix`, `mma.sync`,
//! `mbarrier`, bulk and tensor copies ([`TensorMap`]), `wgmma`, clusters with distributed shared
//! memory and multicast.
//!
//! What is not known, be it an instruction, a modifier or a directive, is a [`ParseError`] that
//! names line and text; it concerns only the kernel that uses it. Not executed so far: tensor
//! instructions with other operands than f16, bf16 and tf32 or other accumulators than f32,
//! sparse ones, bulk reductions, im2col copies, directed rounding of f64, textures and surfaces,
//! indirect and recursive calls, 128-bit types.
//!
//! Results are bit-exact where the ISA defines them: integers, conversions, and IEEE
//! single-, double- and half-precision arithmetic. Approximate instructions (`ex2.approx` and
//! the like) are computed to within the ISA's bound, and matrix products are rounded once where
//! the hardware's order and precision of sums are not documented; both are counted in
//! [`Flops::approximate`].
//!
//! Lanes of a warp run in lockstep and meet again at the immediate post-dominator of a branch.
//! A kernel in which lanes of one warp wait for each other in a loop, which the hardware's
//! independent thread scheduling allows, runs into [`Options::max_warp_instructions`].
//! `%clock`, `%clock64` and `%globaltimer` count issued warp instructions: they advance, but
//! measure nothing.
//!
//! # What is checked
//!
//! Bounds and alignment of every access always, the rest as [`Checks`] says. A value read from
//! unwritten memory, from a place another thread writes without a barrier between, or from a copy
//! that was not waited for is a fault when it is *used*: pipelines may load ahead and drop what
//! they loaded. Races are found in shared memory, from the order of barriers and not from the
//! order in which warps happen to run. `ld.relaxed` and the like race with nothing, but a flag that
//! they pass from thread to thread orders nothing either: what it guards is reported. Not
//! checked: races in global memory, fences between the generic and the asynchronous proxy,
//! reads of registers before they are written (they hold zero).
//!
//! # Why an own parser
//!
//! Of the PTX parsers on crates.io, `ptx-parser` 0.1 covers a part of the instructions.
//! `ptx-syntax` 0.5 covers PTX 9 in 126 000 generated lines with a type per instruction form, and
//! documents that it cannot tell the source size of `cp.async` from a cache policy, the very
//! operand that decides what a kernel reads. A generic syntax tree that the lowering gives
//! meaning to is a few hundred lines, keeps positions, and refuses what it does not know.

mod check;
mod count;
mod exec;
mod ir;
mod lower;
mod memory;
mod module;
pub mod parse;
mod tensor_map;

pub use check::{Checks, Collision, Fault, FaultKind, RunError};
pub use count::{
    Class, Flops, Footprint, GlobalTraffic, Levels, LineCount, Pipe, Report, SECTOR_BYTES,
    SharedTraffic,
};
pub use exec::{Arg, Launch, Machine, Options};
pub use ir::WARP;
pub use memory::{Memory, MemoryError, Ptr};
pub use module::Module;
pub use parse::ParseError;
pub use tensor_map::{Swizzle, TENSOR_MAP_BYTES, TensorMap, TensorMapError};
