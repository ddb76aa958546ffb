//! Matrix products of a warpgroup, read from shared memory and summed in registers (PTX ISA,
//! "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions").
#![cfg_attr(not(target_arch = "nvptx64"), allow(unused_variables))]

/// Orders this warpgroup's accesses to registers and shared memory before the products that follow
/// (`wgmma.fence`).
#[inline(always)]
pub fn fence() {
    // SAFETY: orders accesses; makes none of its own.
    unsafe {
        ptx!("wgmma.fence.sync.aligned;", options(nostack));
    }
}

/// Closes the group of the products that were started (`wgmma.commit_group`).
#[inline(always)]
pub fn commit() {
    // SAFETY: orders products; touches no memory of its own.
    unsafe {
        ptx!("wgmma.commit_group.sync.aligned;", options(nostack));
    }
}

/// Waits until at most `PENDING` groups are under way (`wgmma.wait_group`).
#[inline(always)]
pub fn wait<const PENDING: u32>() {
    // SAFETY: orders products; touches no memory of its own.
    unsafe {
        ptx!("wgmma.wait_group.sync.aligned {0};", const PENDING, options(nostack));
    }
}

/// Where an operand in shared memory lies, with the 128-byte swizzle of [`super::bulk_tensor`] if not
/// said otherwise (PTX ISA, "Matrix Descriptor Format"): atoms of eight rows of 128 bytes.
#[derive(Clone, Copy)]
pub struct Descriptor(pub(super) u64);

/// Bits 63:62 of a descriptor: the 128-byte swizzle.
const SWIZZLE_128: u64 = 1 << 62;
/// The 64-byte swizzle.
const SWIZZLE_64: u64 = 2 << 62;

impl Descriptor {
    /// An operand whose rows run along k: from one atom to the next along M or N it is 1024 bytes.
    #[inline(always)]
    pub fn along_k(address: u32) -> Self {
        Self::new(address, 16, 1024, SWIZZLE_128)
    }

    /// An operand whose rows run along k and are 64 bytes, with the 64-byte swizzle: from one atom to
    /// the next along M or N it is 512 bytes.
    #[inline(always)]
    pub fn along_k_narrow(address: u32) -> Self {
        Self::new(address, 16, 512, SWIZZLE_64)
    }

    /// An operand whose rows run along M or N: from one atom to the next along k it is 1024 bytes,
    /// along M or N `panel` bytes.
    #[inline(always)]
    pub fn across_k(address: u32, panel: u32) -> Self {
        Self::new(address, panel, 1024, SWIZZLE_128)
    }

    #[inline(always)]
    fn new(address: u32, leading: u32, stride: u32, swizzle: u64) -> Self {
        let field = |bytes: u32| u64::from((bytes & 0x3ffff) >> 4);
        Descriptor(swizzle | field(stride) << 32 | field(leading) << 16 | field(address))
    }

    /// The operand `bytes` bytes further on, less than 256 KiB from the start of shared memory: the
    /// lower word has room for it.
    #[inline(always)]
    pub fn advance(self, bytes: u32) -> Self {
        self.advance_by(bytes, 1)
    }

    /// The operand `count` times `step` bytes further on.
    #[inline(always)]
    pub fn advance_by(self, step: u32, count: u32) -> Self {
        let (high, low) = (self.0 & !u64::from(u32::MAX), self.0 as u32);
        Descriptor(high | u64::from(low.wrapping_add((step >> 4) * count)))
    }
}

/// The sums of a warpgroup: 64 rows of [`Sums::COLUMNS`] columns.
///
/// A thread holds, for every eight columns j, four of them: elements 2 (lane % 4) and the next of
/// rows lane / 4 and lane / 4 + 8 of its warp's sixteen.
pub trait Sums: Copy {
    /// Columns.
    const COLUMNS: u32;

    /// Half as many words: the elements of C that are added to the sums, two bfloat16 in each.
    type Pairs: Pairs;

    /// All zero.
    fn zero() -> Self;

    /// Starts `self += A @ B`: A is 64 x 16 bfloat16 along k, B 16 x [`Sums::COLUMNS`] across k.
    ///
    /// # Safety
    /// The whole warpgroup calls it with the same arguments, behind [`fence`]; the operands are
    /// complete and stay until [`wait`], before which nothing else touches `self`.
    unsafe fn multiply_bf16(&mut self, a: Descriptor, b: Descriptor);

    /// Starts `self += A @ B` in TF32, whose multipliers cut the lower 13 bits of an f32 off: A is
    /// 64 x 8, in registers (a thread holds columns lane % 4 of rows lane / 4 and lane / 4 + 8 of its
    /// warp's sixteen, then those of columns lane % 4 + 4), B 8 x [`Sums::COLUMNS`] along k.
    ///
    /// # Safety
    /// As for [`Sums::multiply_bf16`]; nothing changes the registers of `a` either.
    unsafe fn multiply_tf32(&mut self, a: [u32; 4], b: Descriptor);

    /// The four sums of columns 8j to 8j + 7: the two of the upper row, the two of the lower.
    fn columns(&self, j: usize) -> [f32; 4];
}

/// Words in registers.
pub trait Pairs: Copy {
    /// All zero.
    fn zero() -> Self;

    /// Word `i`.
    fn get(&self, i: usize) -> u32;

    /// Sets word `i`.
    fn set(&mut self, i: usize, word: u32);
}

impl<const N: usize> Pairs for [u32; N] {
    #[inline(always)]
    fn zero() -> Self {
        [0; N]
    }

    #[inline(always)]
    fn get(&self, i: usize) -> u32 {
        self[i]
    }

    #[inline(always)]
    fn set(&mut self, i: usize, word: u32) {
        self[i] = word;
    }
}

/// Defines sums over `$columns` columns, as registers with the given numbers.
macro_rules! sums {
    ($($(#[$doc:meta])* $name:ident, $columns:literal, $registers:literal: $($i:literal)*;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy)]
            pub struct $name([f32; $registers]);

            impl Sums for $name {
                const COLUMNS: u32 = $columns;
                type Pairs = [u32; $registers / 2];

                #[inline(always)]
                fn zero() -> Self {
                    $name([0.0; $registers])
                }

                #[inline(always)]
                unsafe fn multiply_bf16(&mut self, a: Descriptor, b: Descriptor) {
                    let sums = &mut self.0;
                    // SAFETY: the caller vouches for the operands and the order. The last two
                    // operands say that A runs along k, B across it.
                    unsafe {
                        ptx!(
                            concat!(
                                "{{ .reg .pred accumulate; setp.eq.b32 accumulate, 0, 0; ",
                                "wgmma.mma_async.sync.aligned.m64n", $columns, "k16.f32.bf16.bf16 {{",
                                sums!(@list $($i)*),
                                "}}, {a}, {b}, accumulate, 1, 1, 0, 1; }}"
                            ),
                            $(inout(reg32) sums[$i],)*
                            a = in(reg64) a.0, b = in(reg64) b.0,
                            options(nostack)
                        );
                    }
                }

                #[inline(always)]
                unsafe fn multiply_tf32(&mut self, a: [u32; 4], b: Descriptor) {
                    let sums = &mut self.0;
                    // SAFETY: the caller vouches for the operands and the order.
                    unsafe {
                        ptx!(
                            concat!(
                                "{{ .reg .pred accumulate; setp.eq.b32 accumulate, 0, 0; ",
                                "wgmma.mma_async.sync.aligned.m64n", $columns, "k8.f32.tf32.tf32 {{",
                                sums!(@list $($i)*),
                                "}}, {{ {a0}, {a1}, {a2}, {a3} }}, {b}, accumulate, 1, 1; }}"
                            ),
                            $(inout(reg32) sums[$i],)*
                            a0 = in(reg32) a[0], a1 = in(reg32) a[1], a2 = in(reg32) a[2],
                            a3 = in(reg32) a[3], b = in(reg64) b.0,
                            options(nostack)
                        );
                    }
                }

                #[inline(always)]
                fn columns(&self, j: usize) -> [f32; 4] {
                    [self.0[4 * j], self.0[4 * j + 1], self.0[4 * j + 2], self.0[4 * j + 3]]
                }
            }
        )*
    };
    (@list $first:literal $($i:literal)*) => {
        concat!("{", $first, "}", $(", {", $i, "}",)*)
    };
}

sums! {
    /// 64 columns.
    Sums64, 64, 32:
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
        16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31;
    /// 128 columns.
    Sums128, 128, 64:
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
        16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47
        48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63;
    /// 192 columns.
    Sums192, 192, 96:
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
        16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47
        48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
        64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79
        80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95;
    /// 256 columns.
    Sums256, 256, 128:
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
        16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47
        48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
        64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79
        80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95
        96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111
        112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127;
}
