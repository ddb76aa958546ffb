//! Matrix instructions, mbarriers and bulk copies against plain loops, and ways to break them.

mod common;

use common::{kernel, module, run};
use ptx_vm::{Arg, Fault, FaultKind, Memory, Options, Ptr, Report, RunError, Swizzle, TensorMap};

/// Small integers: exact in every format and sum.
fn value(i: usize, j: usize, salt: usize) -> f32 {
    ((i * 5 + j * 3 + i * j + salt) % 7) as f32 - 3.0
}

fn bf16(x: f32) -> u16 {
    (x.to_bits() >> 16) as u16
}

/// `rows` x `columns` values as bf16, row by row.
fn matrix(rows: usize, columns: usize, salt: usize) -> Vec<u8> {
    (0..rows * columns)
        .flat_map(|at| bf16(value(at / columns, at % columns, salt)).to_le_bytes())
        .collect()
}

fn alloc(memory: &mut Memory, name: &str, bytes: &[u8]) -> Ptr {
    let ptr = memory.alloc(name, bytes.len());
    memory.write(ptr, bytes).expect("inside");
    ptr
}

#[test]
fn ldmatrix_and_stmatrix_distribute_rows() {
    let body = |load: &str, out: &str| {
        kernel(
            ".param .u64 in, .param .u64 out",
            &format!(
                ".shared .align 16 .b8 s[512]; .shared .align 16 .b8 t[512];
                 ld.param.u64 %d1, [in]; ld.param.u64 %d2, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, s; mov.u32 %r3, t;
                 mul.wide.u32 %d3, %r1, 16; add.s64 %d4, %d1, %d3; add.s64 %d5, %d2, %d3;
                 ld.global.v4.u32 {{%r4, %r5, %r6, %r7}}, [%d4];
                 mad.lo.u32 %r8, %r1, 16, %r2; mad.lo.u32 %r9, %r1, 16, %r3;
                 st.shared.v4.u32 [%r8], {{%r4, %r5, %r6, %r7}}; bar.warp.sync -1;
                 {load}
                 {out}"
            ),
        )
    };
    let run = |text: &str| {
        let module = module(text);
        let mut memory = Memory::new();
        // Matrix j, row i: halves 100 * j + 8 * i + column.
        let halves: Vec<u32> = (0..256).map(|at| at / 64 * 100 + at % 64).collect();
        let words: Vec<u32> = halves
            .chunks(2)
            .map(|pair| pair[0] | pair[1] << 16)
            .collect();
        let input = memory.alloc_u32("in", &words);
        let out = memory.alloc("out", 512);
        run(
            &module,
            &mut memory,
            [1; 3],
            [32, 1, 1],
            vec![input.into(), out.into()],
            &Options::default(),
        )
        .unwrap();
        (memory.read_u32(out, 128).unwrap(), words)
    };
    let regs = "st.global.v4.u32 [%d5], {%r10, %r11, %r12, %r13};";
    let half = |matrix: u32, row: u32, column: u32| matrix * 100 + row * 8 + column;
    let (plain, words) = run(&body(
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r8];",
        regs,
    ));
    let (flipped, _) = run(&body(
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r10, %r11, %r12, %r13}, [%r8];",
        regs,
    ));
    for lane in 0..32u32 {
        for j in 0..4 {
            let (row, column) = (lane / 4, 2 * (lane % 4));
            let at = (4 * lane + j) as usize;
            assert_eq!(
                plain[at],
                half(j, row, column) | half(j, row, column + 1) << 16
            );
            assert_eq!(
                flipped[at],
                half(j, column, row) | half(j, column + 1, row) << 16
            );
        }
    }
    // Stored back, transposed both ways, the matrices are themselves again.
    let there_and_back = "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r10, %r11, %r12, %r13}, [%r8];
        stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%r9], {%r10, %r11, %r12, %r13}; bar.warp.sync -1;
        ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r9];";
    assert_eq!(run(&body(there_and_back, regs)).0, words);
}

/// Types of a product: its operands, its accumulators, and the bits of an element.
#[derive(Clone, Copy)]
struct Types {
    operand: &'static str,
    sum: &'static str,
    bits: usize,
    pack: fn(f32) -> u32,
}

const BF16: Types = Types {
    operand: "bf16",
    sum: "f32",
    bits: 16,
    pack: |x| bf16(x).into(),
};
const F16: Types = Types {
    operand: "f16",
    pack: |x| small(x, 5, 10),
    ..BF16
};
const TF32: Types = Types {
    operand: "tf32",
    bits: 32,
    // What lies below TF32's mantissa is ignored.
    pack: |x| x.to_bits() | 0x1fff,
    ..BF16
};
const E4M3: Types = Types {
    operand: "e4m3",
    bits: 8,
    pack: |x| small(x, 4, 3),
    ..BF16
};
const S8: Types = Types {
    operand: "s8",
    sum: "s32",
    bits: 8,
    pack: |x| u32::from(x as i8 as u8),
};

/// Bits of a small integer in a format with so many bits of exponent and mantissa.
fn small(x: f32, exponent: u32, mantissa: u32) -> u32 {
    if x == 0.0 {
        return 0;
    }
    let bias = 127 - ((1 << (exponent - 1)) - 1);
    let sign = x.to_bits() >> 31 << (exponent + mantissa);
    sign | ((x.abs().to_bits() >> (23 - mantissa)) - (bias << mantissa))
}

impl Types {
    /// Elements in 32 bits.
    fn per(self) -> usize {
        32 / self.bits
    }

    /// 32 bits of elements, the first lowest.
    fn word(self, elements: impl Iterator<Item = f32>) -> u32 {
        elements
            .enumerate()
            .fold(0, |word, (e, x)| word | (self.pack)(x) << (self.bits * e))
    }

    /// A small integer as an accumulator, and back.
    fn accumulator(self, x: f32) -> u32 {
        if self.sum == "s32" {
            x as i32 as u32
        } else {
            x.to_bits()
        }
    }
}

/// One warp multiplies a 16 x k by a k x 8 matrix with `mma.sync`, fragments built by hand.
fn mma(types: Types, k: usize) -> Report {
    let (ty, sum, per) = (types.operand, types.sum, types.per());
    let (a_regs, b_regs) = (16 * k / per / 32, 8 * k / per / 32);
    let names = |first: usize, n: usize| {
        (0..n)
            .map(|i| format!("%r{}", first + i))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let loads: String = (0..a_regs + b_regs + 4)
        .map(|i| format!("ld.global.b32 %r{}, [%d1+{}];\n", 10 + i, i * 128))
        .collect();
    let (a, b, c) = (
        names(10, a_regs),
        names(10 + a_regs, b_regs),
        names(10 + a_regs + b_regs, 4),
    );
    let text = kernel(
        ".param .u64 in, .param .u64 out",
        &format!(
            "ld.param.u64 %d1, [in]; ld.param.u64 %d2, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 4;
             add.s64 %d1, %d1, %d3; add.s64 %d2, %d2, %d3;\n{loads}
             mma.sync.aligned.m16n8k{k}.row.col.{sum}.{ty}.{ty}.{sum} {{%r2, %r3, %r4, %r5}}, {{{a}}}, {{{b}}}, {{{c}}};
             st.global.b32 [%d2], %r2; st.global.b32 [%d2+128], %r3; st.global.b32 [%d2+256], %r4; st.global.b32 [%d2+384], %r5;"
        ),
    );
    // Register i of a fragment, element e: the ISA's figures for these shapes.
    let mut words = Vec::new();
    for i in 0..a_regs {
        words.extend((0..32).map(|lane| {
            types.word((0..per).map(|e| {
                let column = per * (lane % 4) + e + 4 * per * (i / 2);
                value(lane / 4 + 8 * (i % 2), column, 1)
            }))
        }));
    }
    for i in 0..b_regs {
        words.extend((0..32).map(|lane| {
            types.word((0..per).map(|e| value(per * (lane % 4) + e + 4 * per * i, lane / 4, 2)))
        }));
    }
    for i in 0..4 {
        words.extend((0..32).map(|lane| {
            types.accumulator(value(lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2, 3))
        }));
    }
    let module = module(&text);
    let mut memory = Memory::new();
    let input = memory.alloc_u32("in", &words);
    let out = memory.alloc("out", 512);
    let args = vec![input.into(), out.into()];
    let report = run(
        &module,
        &mut memory,
        [1; 3],
        [32, 1, 1],
        args,
        &Options::default(),
    )
    .unwrap();
    let got = memory.read_u32(out, 128).unwrap();
    for (at, got) in got.iter().enumerate() {
        let (i, lane) = (at / 32, at % 32);
        let (row, column) = (lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2);
        let sum: f32 = (0..k).map(|p| value(row, p, 1) * value(p, column, 2)).sum();
        assert_eq!(
            *got,
            types.accumulator(value(row, column, 3) + sum),
            "{ty} k{k} ({row}, {column})"
        );
    }
    report
}

#[test]
fn mma_of_every_shape() {
    let report = mma(BF16, 16);
    assert_eq!(report.flops.tensor_bf16, 2 * 16 * 8 * 16);
    mma(BF16, 8);
    mma(F16, 16);
    mma(F16, 8);
    let report = mma(TF32, 8);
    assert_eq!(report.flops.tensor_tf32, 2 * 16 * 8 * 8);
    mma(TF32, 4);
    let report = mma(E4M3, 32);
    assert_eq!(report.flops.tensor_fp8, 2 * 16 * 8 * 32);
    let report = mma(S8, 32);
    assert_eq!(report.flops.tensor_int8, 2 * 16 * 8 * 32);
    assert_eq!(report.flops.approximate, 0);
    mma(S8, 16);
}

#[test]
fn eight_bit_floats_have_no_infinities_and_sums_of_bytes_wrap_around() {
    // Every lane's operands are the same word, and so is every sum.
    let one = |ty: &str, sum: &str, a: u32, b: u32, c: u32| {
        let text = kernel(
            ".param .u64 out",
            &format!(
                "ld.param.u64 %d1, [out]; mov.u32 %r1, {a:#x}; mov.u32 %r2, {b:#x}; mov.u32 %r3, {c:#x};
                 mma.sync.aligned.m16n8k32.row.col.{sum}.{ty}.{ty}.{sum} {{%r4, %r5, %r6, %r7}},
                 {{%r1, %r1, %r1, %r1}}, {{%r2, %r2}}, {{%r3, %r3, %r3, %r3}};
                 st.global.b32 [%d1], %r7;"
            ),
        );
        let module = module(&text);
        let mut memory = Memory::new();
        let out = memory.alloc("out", 4);
        let options = Options::default();
        run(
            &module,
            &mut memory,
            [1; 3],
            [32, 1, 1],
            vec![out.into()],
            &options,
        )
        .unwrap();
        memory.read_u32(out, 1).unwrap()[0]
    };
    let fp8 = |a, b| f32::from_bits(one("e4m3", "f32", a, b, 0));
    // The largest number, 448, the smallest subnormal one, 2^-9, and 1.
    assert_eq!(fp8(0x7e7e_7e7e, 0x3838_3838), 32.0 * 448.0);
    assert_eq!(fp8(0xfefe_fefe, 0x3838_3838), -32.0 * 448.0);
    assert_eq!(fp8(0x7878_7878, 0x3838_3838), 32.0 * 256.0);
    assert_eq!(fp8(0x0101_0101, 0x3838_3838), 32.0 / 512.0);
    assert!(fp8(0x7f38_3838, 0x3838_3838).is_nan());
    assert_eq!(
        one("s8", "s32", 0x8080_8080, 0x8080_8080, 0x7fff_ffff) as i32,
        i32::MAX.wrapping_add(32 * 128 * 128)
    );
}

/// One warp multiplies doubles, `rows` x k by k x 8.
fn mma_double(rows: usize, k: usize) {
    let eights = rows / 8;
    let (a_regs, b_regs, c_regs) = (eights * k / 4, k / 4, 2 * eights);
    let names = |first: usize, n: usize| {
        let names: Vec<String> = (first..first + n).map(|i| format!("%d{i}")).collect();
        names.join(", ")
    };
    let all = a_regs + b_regs + c_regs;
    let loads: String = (0..all)
        .map(|i| format!("ld.global.f64 %d{}, [%d1+{}];\n", 10 + i, i * 256))
        .collect();
    let first_c = 10 + a_regs + b_regs;
    let stores: String = (0..c_regs)
        .map(|i| format!("st.global.f64 [%d2+{}], %d{};\n", i * 256, first_c + i))
        .collect();
    let (a, b, c) = (
        names(10, a_regs),
        names(10 + a_regs, b_regs),
        names(first_c, c_regs),
    );
    let text = kernel(
        ".param .u64 in, .param .u64 out",
        &format!(
            "ld.param.u64 %d1, [in]; ld.param.u64 %d2, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 8;
             add.s64 %d1, %d1, %d3; add.s64 %d2, %d2, %d3;\n{loads}
             mma.sync.aligned.m{rows}n8k{k}.row.col.f64.f64.f64.f64 {{{c}}}, {{{a}}}, {{{b}}}, {{{c}}};
             {stores}"
        ),
    );
    // Thirds are inexact: the order of the sums shows.
    let third = |i, j, salt| f64::from(value(i, j, salt)) / 3.0;
    let mut doubles: Vec<f64> = Vec::new();
    for i in 0..a_regs {
        doubles.extend(
            (0..32).map(|lane| third(lane / 4 + 8 * (i % eights), lane % 4 + 4 * (i / eights), 1)),
        );
    }
    for i in 0..b_regs {
        doubles.extend((0..32).map(|lane| third(lane % 4 + 4 * i, lane / 4, 2)));
    }
    let place = |i: usize, lane: usize| (lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2);
    for i in 0..c_regs {
        doubles.extend((0..32).map(|lane| third(place(i, lane).0, place(i, lane).1, 3)));
    }
    let module = module(&text);
    let mut memory = Memory::new();
    let bytes: Vec<u8> = doubles.iter().flat_map(|x| x.to_le_bytes()).collect();
    let input = alloc(&mut memory, "in", &bytes);
    let out = memory.alloc("out", 256 * c_regs);
    let args = vec![input.into(), out.into()];
    let options = Options::default();
    let report = run(&module, &mut memory, [1; 3], [32, 1, 1], args, &options).unwrap();
    assert_eq!(report.flops.tensor_f64, (2 * rows * 8 * k) as u64);
    let mut got = vec![0; 256 * c_regs];
    memory.read(out, &mut got).unwrap();
    for (at, got) in got.chunks(8).enumerate() {
        let (row, column) = place(at / 32, at % 32);
        let expected = (0..k).fold(third(row, column, 3), |sum, p| {
            third(row, p, 1).mul_add(third(p, column, 2), sum)
        });
        let got = f64::from_le_bytes(got.try_into().unwrap());
        assert_eq!(got, expected, "m{rows} k{k} ({row}, {column})");
    }
}

#[test]
fn mma_of_doubles() {
    mma_double(8, 4);
    for k in [4, 8, 16] {
        mma_double(16, k);
    }
}

/// A warpgroup multiplies m64n16 of 32 bytes a row, both operands K-major without swizzle, twice:
/// the second product is added.
fn wgmma_of(types: Types) -> Report {
    let (ty, sum, per) = (types.operand, types.sum, types.per());
    let k = 8 * per;
    let flags = if sum == "s32" {
        ""
    } else if types.bits == 16 {
        ", 1, 1, 0, 0"
    } else {
        ", 1, 1"
    };
    let product = |adds: &str| {
        format!(
            "wgmma.mma_async.sync.aligned.m64n16k{k}.{sum}.{ty}.{ty}
             {{%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}}, %d10, %d11, {adds}{flags};"
        )
    };
    // 80 rows of 8 words: A and then B; word (row, w) of a core matrix at 4 * (w / 4 * 8 + row).
    let text = kernel(
        ".param .u64 in, .param .u64 out",
        &format!(
            ".shared .align 128 .b8 s[2560];
             ld.param.u64 %d1, [in]; ld.param.u64 %d2, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, s;
             mov.u32 %r3, %r1;
             fill: mul.wide.u32 %d3, %r3, 4; add.s64 %d3, %d1, %d3; ld.global.b32 %r4, [%d3];
             mad.lo.u32 %r5, %r3, 4, %r2; st.shared.b32 [%r5], %r4; add.u32 %r3, %r3, 128;
             setp.lt.u32 %p1, %r3, 640; @%p1 bra fill;
             fence.proxy.async; bar.sync 0;
             shr.u32 %r6, %r2, 4; cvt.u64.u32 %d10, %r6; add.u32 %r6, %r6, 128; cvt.u64.u32 %d11, %r6;
             or.b64 %d10, %d10, {descriptor:#x}; or.b64 %d11, %d11, {descriptor:#x};
             setp.ne.u32 %p2, %r1, %r1; setp.eq.u32 %p3, %r1, %r1;
             wgmma.fence.sync.aligned; {} {} wgmma.commit_group.sync.aligned;
             wgmma.wait_group.sync.aligned 0;
             mad.lo.u32 %r7, %r1, 32, 0; cvt.u64.u32 %d4, %r7; add.s64 %d4, %d2, %d4;
             st.global.v4.b32 [%d4], {{%r10, %r11, %r12, %r13}};
             st.global.v4.b32 [%d4+16], {{%r14, %r15, %r16, %r17}};",
            product("%p2"),
            product("%p3"),
            // Core matrices of 128 bytes: the next along k, the next eight rows.
            descriptor = (128u64 >> 4) << 16 | (256u64 >> 4) << 32,
        ),
    )
    .replace("sm_90", "sm_90a");
    let operand = |rows: usize, at: &dyn Fn(usize, usize) -> f32| {
        let mut words = vec![0; rows * 8];
        for (row, w) in (0..rows).flat_map(|row| (0..8).map(move |w| (row, w))) {
            let core = (row / 8 * 2 + w / 4) * 32;
            words[core + row % 8 * 4 + w % 4] = types.word((0..per).map(|e| at(row, w * per + e)));
        }
        words
    };
    let mut words = operand(64, &|row, p| value(row, p, 1));
    words.extend(operand(16, &|column, p| value(p, column, 2)));
    let module = module(&text);
    let mut memory = Memory::new();
    let input = memory.alloc_u32("in", &words);
    let out = memory.alloc("out", 128 * 32);
    let args = vec![input.into(), out.into()];
    let options = Options::default();
    let report = run(&module, &mut memory, [1; 3], [128, 1, 1], args, &options).unwrap();
    let got = memory.read_u32(out, 128 * 8).unwrap();
    for (at, got) in got.iter().enumerate() {
        let (thread, i) = (at / 8, at % 8);
        let row = 16 * (thread / 32) + thread % 32 / 4 + 8 * (i / 2 % 2);
        let column = 8 * (i / 4) + 2 * (thread % 4) + i % 2;
        let sum: f32 = (0..k).map(|p| value(row, p, 1) * value(p, column, 2)).sum();
        assert_eq!(*got, types.accumulator(2.0 * sum), "{ty} ({row}, {column})");
    }
    report
}

#[test]
fn wgmma_of_every_type() {
    let operations = |k: u64| 2 * 2 * 64 * 16 * k;
    assert_eq!(wgmma_of(BF16).flops.tensor_bf16, operations(16));
    assert_eq!(wgmma_of(F16).flops.tensor_f16, operations(16));
    assert_eq!(wgmma_of(TF32).flops.tensor_tf32, operations(8));
    assert_eq!(wgmma_of(E4M3).flops.tensor_fp8, operations(32));
    assert_eq!(wgmma_of(S8).flops.tensor_int8, operations(32));
}

/// Coordinates of a box and its offset in shared memory.
type Copy2d = ([u32; 2], u32);

/// One way to lay out the operands of m64n64k16: how each is stored and described.
#[derive(Clone, Copy)]
struct Layout {
    swizzle: Swizzle,
    /// Stored with k contiguous, or with the rows (or columns) contiguous.
    k_major: bool,
}

impl Layout {
    /// Leading and stride byte offsets of the descriptor, and its swizzle field.
    fn descriptor(self) -> u64 {
        let (leading, stride, mode) = match (self.swizzle, self.k_major) {
            (Swizzle::None, true) => (1024, 128, 0),
            (Swizzle::None, false) => (128, 256, 0),
            (Swizzle::B32, true) => (16, 256, 3),
            (Swizzle::B32, false) => (512, 256, 3),
            (Swizzle::B64, true) => (16, 512, 2),
            (Swizzle::B64, false) => (1024, 512, 2),
            (Swizzle::B128, true) => (16, 1024, 1),
            (Swizzle::B128, false) => (1024, 1024, 1),
        };
        (leading >> 4) << 16 | (stride >> 4) << 32 | mode << 62
    }

    /// Elements of a row of the box.
    fn row(self) -> u32 {
        match (self.swizzle, self.k_major) {
            (Swizzle::None, _) => 8,
            (Swizzle::B32, _) => 16,
            (Swizzle::B64, _) => 32,
            (Swizzle::B128, _) => 64,
        }
    }

    /// Boxes as (coordinates, offset in shared memory), and the map's sizes.
    fn boxes(self) -> (Vec<Copy2d>, [u64; 2], [u32; 2]) {
        let row = self.row();
        if self.k_major {
            // 64 rows of at least 16 elements along k.
            let depth = row.max(16);
            let boxes = (0..depth / row)
                .map(|i| ([i * row, 0], i * row * 2 * 64))
                .collect();
            (boxes, [depth.into(), 64], [row, 64])
        } else {
            // 16 rows of 64 elements along m or n.
            let boxes = (0..64 / row)
                .map(|i| ([i * row, 0], i * row * 2 * 16))
                .collect();
            (boxes, [64, 16], [row, 16])
        }
    }
}

/// PTX of a kernel that loads both operands by tensor copies and multiplies them.
fn wgmma_text(a: Layout, b: Layout, n: usize) -> String {
    let mut copies = String::new();
    let mut bytes = 0;
    for (layout, map, base) in [(a, "%d1", "%r20"), (b, "%d2", "%r21")] {
        let (boxes, _, size) = layout.boxes();
        for ([x, y], offset) in boxes {
            bytes += size[0] * size[1] * 2;
            copies += &format!(
                "mov.u32 %r4, {x}; mov.u32 %r5, {y}; add.u32 %r6, {base}, {offset};\n\
                 @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes \
                 [%r6], [{map}, {{%r4, %r5}}], [%r22];\n"
            );
        }
    }
    let accumulators: Vec<String> = (0..n / 2).map(|i| format!("%acc{i}")).collect();
    let stores: String = (0..n / 2)
        .map(|i| format!("st.global.f32 [%d4+{}], %acc{i};\n", i * 4))
        .collect();
    let body = format!(
        ".reg .f32 %acc<{}>; .shared .align 1024 .b8 s[16400];
         ld.param.u64 %d1, [ma]; ld.param.u64 %d2, [mb]; ld.param.u64 %d3, [out]; mov.u32 %r1, %tid.x;
         mul.wide.u32 %d4, %r1, {}; add.s64 %d4, %d3, %d4;
         mov.u32 %r20, s; add.u32 %r21, %r20, 8192; add.u32 %r22, %r20, 16384;
         setp.eq.u32 %p1, %r1, 0;
         @%p1 mbarrier.init.shared::cta.b64 [%r22], 1;
         @%p1 fence.mbarrier_init.release.cluster;
         bar.sync 0;
         @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r22], {bytes};
         {copies}
         wait:
         mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r22], 0;
         @!%p2 bra wait;
         shr.u32 %r7, %r20, 4; cvt.u64.u32 %d10, %r7; or.b64 %d10, %d10, {:#x};
         shr.u32 %r8, %r21, 4; cvt.u64.u32 %d11, %r8; or.b64 %d11, %d11, {:#x};
         setp.ne.u32 %p3, %r1, %r1;
         wgmma.fence.sync.aligned;
         wgmma.mma_async.sync.aligned.m64n{n}k16.f32.bf16.bf16 {{{}}}, %d10, %d11, %p3, 1, 1, {}, {};
         wgmma.commit_group.sync.aligned;
         wgmma.wait_group.sync.aligned 0;
         {stores}",
        n / 2,
        n / 2 * 4,
        a.descriptor(),
        b.descriptor(),
        accumulators.join(", "),
        u8::from(!a.k_major),
        u8::from(!b.k_major),
    );
    kernel(".param .u64 ma, .param .u64 mb, .param .u64 out", &body).replace("sm_90", "sm_90a")
}

/// Runs such a kernel, changed by `change`; the products are checked if it ends.
fn wgmma(
    a: Layout,
    b: Layout,
    n: usize,
    change: impl Fn(String) -> String,
) -> Result<Report, RunError> {
    let module = module(&change(wgmma_text(a, b, n)));
    let mut memory = Memory::new();
    let mut maps = Vec::new();
    for (layout, name, salt) in [(a, "a", 1), (b, "b", 2)] {
        let (_, sizes, box_sizes) = layout.boxes();
        let [columns, rows] = sizes.map(|s| s as usize);
        let data: Vec<u8> = (0..rows * columns)
            .flat_map(|at| {
                let (outer, inner) = (at / columns, at % columns);
                // Element (row, k) of the operand, however it is stored.
                let (row, k) = if layout.k_major {
                    (outer, inner)
                } else {
                    (inner, outer)
                };
                bf16(value(row, k, salt)).to_le_bytes()
            })
            .collect();
        let base = alloc(&mut memory, name, &data);
        let map = TensorMap {
            base,
            element_bytes: 2,
            sizes: sizes.to_vec(),
            strides: vec![sizes[0] * 2],
            box_sizes: box_sizes.to_vec(),
            swizzle: layout.swizzle,
        };
        maps.push(map.alloc(&mut memory, "map").expect("a map"));
    }
    let out = memory.alloc("out", 128 * n / 2 * 4);
    let args: Vec<Arg> = vec![maps[0].into(), maps[1].into(), out.into()];
    let options = Options {
        max_warp_instructions: 1 << 20,
        ..Options::default()
    };
    let report = run(&module, &mut memory, [1; 3], [128, 1, 1], args, &options)?;
    let got = memory.read_f32(out, 128 * n / 2).expect("written");
    for (at, got) in got.iter().enumerate() {
        let (thread, i) = (at / (n / 2), at % (n / 2));
        let row = thread / 32 * 16 + thread % 32 / 4 + 8 * (i / 2 % 2);
        let column = 8 * (i / 4) + 2 * (thread % 4) + i % 2;
        let expected: f32 = (0..16)
            .map(|k| value(row, k, 1) * value(column, k, 2))
            .sum();
        assert_eq!(*got, expected, "({row}, {column})");
    }
    Ok(report)
}

const SWIZZLES: [Swizzle; 4] = [Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128];

#[test]
fn wgmma_of_every_layout() {
    for swizzle in SWIZZLES {
        for (a, b) in [(true, true), (false, true), (true, false), (false, false)] {
            let layout = |k_major| Layout { swizzle, k_major };
            let report = wgmma(layout(a), layout(b), 64, |text| text)
                .unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(report.flops.tensor_bf16, 2 * 64 * 64 * 16);
        }
    }
    let layout = Layout {
        swizzle: Swizzle::B128,
        k_major: true,
    };
    wgmma(layout, layout, 8, |text| text).unwrap();
}

fn broken(change: impl Fn(String) -> String) -> Fault {
    let layout = Layout {
        swizzle: Swizzle::B128,
        k_major: true,
    };
    match wgmma(layout, layout, 64, change) {
        Err(RunError::Fault(fault)) => *fault,
        other => panic!("a fault was expected, not {other:?}"),
    }
}

#[test]
fn broken_pipelines_are_diagnosed() {
    let unwaited = broken(|text| text.replace("@!%p2 bra wait;", ""));
    assert_eq!(unwaited.kind, FaultKind::AsyncNotWaited, "{unwaited}");
    assert!(unwaited.text.starts_with("wgmma.mma_async"), "{unwaited}");
    // Too many announced bytes: nobody completes the phase.
    let waiting = broken(|text| text.replace("_, [%r22], 16384;", "_, [%r22], 16400;"));
    assert_eq!(waiting.kind, FaultKind::Deadlock, "{waiting}");
    assert!(
        waiting
            .detail
            .contains("0 of 1 arrivals and 16 bytes are missing"),
        "{waiting}"
    );
    assert!(waiting.text.starts_with("mbarrier.try_wait"), "{waiting}");
    // The wrong parity is already complete: the operands are read too early.
    let early = broken(|text| text.replace("%p2, [%r22], 0;", "%p2, [%r22], 1;"));
    assert_eq!(early.kind, FaultKind::AsyncNotWaited, "{early}");
    // A second copy into an operand that is still being multiplied.
    let overwritten = broken(|text| {
        let again = "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r22], 8192; mov.u32 %r4, 0; mov.u32 %r5, 0;
            @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r20], [%d1, {%r4, %r5}], [%r22];";
        text.replace(
            "wgmma.wait_group.sync.aligned 0;",
            &format!("{again}\nwgmma.wait_group.sync.aligned 0;"),
        )
    });
    assert_eq!(overwritten.kind, FaultKind::AsyncNotWaited, "{overwritten}");
    assert_eq!(
        overwritten.other.as_ref().map(|o| o.action.as_str()),
        Some("asynchronous read")
    );
    // A barrier that was never initialised, and one arrival too many.
    let missing = broken(|text| text.replace("@%p1 mbarrier.init.shared::cta.b64 [%r22], 1;", ""));
    assert_eq!(missing.kind, FaultKind::InvalidOperand, "{missing}");
    let twice = broken(|text| {
        text.replace(
            "bar.sync 0;",
            "bar.sync 0; mbarrier.arrive.shared::cta.b64 %d9, [%r22], 2;",
        )
    });
    assert!(
        twice
            .detail
            .contains("2 arrivals at an mbarrier that awaits 1"),
        "{twice}"
    );
    // One warp of the warpgroup takes no part.
    let three = broken(|text| {
        text.replace(
            "wgmma.fence",
            "setp.ge.u32 %p4, %r1, 96; @%p4 exit;\nwgmma.fence",
        )
    });
    assert_eq!(three.kind, FaultKind::Deadlock, "{three}");
    // A descriptor that reaches past shared memory.
    let outside =
        broken(|text| text.replace("add.u32 %r21, %r20, 8192;", "add.u32 %r21, %r20, 16384;"));
    assert!(matches!(outside.kind, FaultKind::OutOfBounds), "{outside}");
}

#[test]
fn a_transposed_descriptor_reads_what_nobody_wrote() {
    let layout = Layout {
        swizzle: Swizzle::B128,
        k_major: false,
    };
    let error = wgmma(layout, layout, 64, |text| {
        text.replace("%p3, 1, 1, 1, 1;", "%p3, 1, 1, 1, 0;")
    })
    .unwrap_err();
    let fault = error.fault().expect("a fault");
    assert_eq!(fault.kind, FaultKind::Uninitialized, "{fault}");
    assert!(fault.text.starts_with("wgmma.mma_async"), "{fault}");
}

#[test]
fn accumulators_are_not_read_before_the_wait() {
    let early = broken(|text| {
        text.replace(
            "wgmma.wait_group.sync.aligned 0;",
            "wgmma.wait_group.sync.aligned 1;",
        )
    });
    assert_eq!(early.kind, FaultKind::AsyncNotWaited, "{early}");
    assert!(early.text.starts_with("wgmma.mma_async"), "{early}");
    assert!(early.detail.contains("accumulator"), "{early}");
}

#[test]
fn operands_in_registers_are_not_written_before_the_wait() {
    // B is 8 x 8 words of zeros; A is in %r20 to %r23.
    let result = |write: &str| {
        let text = kernel(
            "",
            &format!(
                ".shared .align 128 .b8 s[256];
                 mov.u32 %r1, %tid.x; mov.u32 %r2, s; and.b32 %r3, %r1, 63;
                 mad.lo.u32 %r4, %r3, 4, %r2; mov.u32 %r5, 0;
                 setp.lt.u32 %p1, %r1, 64; @%p1 st.shared.b32 [%r4], %r5;
                 fence.proxy.async; bar.sync 0;
                 shr.u32 %r6, %r2, 4; cvt.u64.u32 %d1, %r6; or.b64 %d1, %d1, 0x1000080000;
                 mov.u32 %r20, 0; mov.u32 %r21, 0; mov.u32 %r22, 0; mov.u32 %r23, 0;
                 setp.ne.u32 %p2, %r1, %r1;
                 wgmma.fence.sync.aligned;
                 wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32
                 {{%r10, %r11, %r12, %r13}}, {{%r20, %r21, %r22, %r23}}, %d1, %p2, 1, 1;
                 wgmma.commit_group.sync.aligned;
                 {write}"
            ),
        )
        .replace("sm_90", "sm_90a");
        let mut memory = Memory::new();
        let options = Options::default();
        run(
            &module(&text),
            &mut memory,
            [1; 3],
            [128, 1, 1],
            vec![],
            &options,
        )
    };
    let wait = "wgmma.wait_group.sync.aligned 0;";
    // A move, an instruction that computes, one whose condition holds nowhere.
    for write in ["mov.u32 %r21, %r1;", "add.u32 %r23, %r1, 1;"] {
        result(&format!("{wait} {write}")).unwrap();
        match result(&format!("{write} {wait}")) {
            Err(RunError::Fault(fault)) => {
                assert_eq!(fault.kind, FaultKind::AsyncNotWaited, "{fault}");
                assert!(fault.text.starts_with(write), "{fault}");
            }
            other => panic!("a fault was expected, not {other:?}"),
        }
    }
    result(&format!("@%p2 mov.u32 %r21, %r1; {wait}")).unwrap();
}

#[test]
fn tensor_copies_clip_at_the_edges_and_store_back() {
    // A box of 8 x 4 words of a 10 x 5 tensor at (6, 3): 4 x 2 elements are inside.
    let text = kernel(
        ".param .u64 from, .param .u64 to, .param .u64 out",
        ".shared .align 128 .b8 s[144];
         ld.param.u64 %d1, [from]; ld.param.u64 %d2, [to]; ld.param.u64 %d3, [out]; mov.u32 %r1, s;
         mbarrier.init.shared.b64 [s+128], 1;
         mov.u32 %r2, 6; mov.u32 %r3, 3; mov.u32 %r9, -2;
         mbarrier.arrive.expect_tx.shared.b64 %d5, [s+128], 128;
         cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d1, {%r2, %r3}], [s+128];
         wait:
         mbarrier.test_wait.shared.b64 %p1, [s+128], %d5;
         @!%p1 bra wait;
         ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [s+32]; st.global.v4.u32 [%d3], {%r4, %r5, %r6, %r7};
         ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [s+48]; st.global.v4.u32 [%d3+16], {%r4, %r5, %r6, %r7};
         ld.shared.u32 %r4, [s+64]; st.global.u32 [%d3+32], %r4;
         fence.proxy.async;
         cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%d2, {%r9, %r3}], [%r1];
         cp.async.bulk.commit_group;
         cp.async.bulk.wait_group 0;
         st.shared.u32 [s], 1;
         cp.async.bulk.global.shared::cta.bulk_group [%d3+48], [%r1+32], 16;
         cp.async.bulk.commit_group;
         cp.async.bulk.wait_group.read 0;",
    );
    let vm = module(&text);
    let mut memory = Memory::new();
    let words: Vec<u32> = (0..5 * 12).map(|at| at / 12 * 100 + at % 12).collect();
    let from = memory.alloc_u32("from", &words);
    let to = memory.alloc_u32("to", &[9; 5 * 12]);
    let out = memory.alloc("out", 64);
    let map = |base| TensorMap {
        base,
        element_bytes: 4,
        sizes: vec![10, 5],
        strides: vec![48],
        box_sizes: vec![8, 4],
        swizzle: Swizzle::None,
    };
    let [source, target] = [from, to].map(|base| map(base).alloc(&mut memory, "map").unwrap());
    let args: Vec<Arg> = vec![source.into(), target.into(), out.into()];
    let report = run(
        &vm,
        &mut memory,
        [1; 3],
        [1; 3],
        args.clone(),
        &Options::default(),
    )
    .unwrap();
    let got = memory.read_u32(out, 9).unwrap();
    // Row 4: columns 6 to 9, then zeros; row 5 is outside.
    assert_eq!(got, [406, 407, 408, 409, 0, 0, 0, 0, 0]);
    assert_eq!(
        memory.read_u32(out.offset(48), 4).unwrap(),
        [406, 407, 408, 409]
    );
    // Stored at column -2: the first two columns of the box are outside, rows 3 and 4 inside.
    let stored = memory.read_u32(to, 60).unwrap();
    assert_eq!(stored[3 * 12..3 * 12 + 8], [308, 309, 0, 0, 0, 0, 9, 9]);
    assert_eq!(stored[4 * 12..4 * 12 + 8], [408, 409, 0, 0, 0, 0, 9, 9]);
    assert_eq!(stored[..36], [9; 36]);
    assert_eq!(report.global.load_bytes, 4 * 2 * 4);
    // Without the wait the store to shared memory may overtake the copy's read.
    let hasty = module(&text.replacen("cp.async.bulk.wait_group 0;", "", 1));
    let error = run(
        &hasty,
        &mut memory,
        [1; 3],
        [1; 3],
        args,
        &Options::default(),
    )
    .unwrap_err();
    assert_eq!(error.fault().unwrap().kind, FaultKind::AsyncNotWaited);
}

#[test]
fn a_copy_in_that_has_arrived_says_nothing_of_a_copy_out() {
    let text = |wait: &str| {
        kernel(
            ".param .u64 x, .param .u64 out",
            &format!(
                ".shared .align 128 .b8 s[72];
                 ld.param.u64 %d1, [x]; ld.param.u64 %d2, [out]; mov.u32 %r1, s; mov.u32 %r4, 7;
                 mbarrier.init.shared.b64 [s+64], 1;
                 st.shared.v4.u32 [s], {{%r4, %r4, %r4, %r4}};
                 fence.proxy.async;
                 cp.async.bulk.global.shared::cta.bulk_group [%d2], [%r1], 16;
                 cp.async.bulk.commit_group;
                 mbarrier.arrive.expect_tx.shared.b64 %d5, [s+64], 16;
                 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+16], [%d1], 16, [s+64];
                 wait:
                 mbarrier.test_wait.shared.b64 %p1, [s+64], %d5;
                 @!%p1 bra wait;
                 {wait}
                 st.shared.u32 [s], 1;"
            ),
        )
    };
    let run_with = |wait| {
        let mut memory = Memory::new();
        let x = memory.alloc_u32("x", &[1, 2, 3, 4]);
        let out = memory.alloc("out", 16);
        let args = vec![x.into(), out.into()];
        let vm = module(&text(wait));
        let report = run(&vm, &mut memory, [1; 3], [1; 3], args, &Options::default());
        report.map(|_| memory.read_u32(out, 4).unwrap())
    };
    assert_eq!(
        run_with("cp.async.bulk.wait_group.read 0;").unwrap(),
        [7; 4]
    );
    let error = run_with("").unwrap_err();
    let fault = error.fault().unwrap();
    assert_eq!(fault.kind, FaultKind::AsyncNotWaited, "{fault}");
    assert!(fault.text.starts_with("st.shared.u32"), "{fault}");
}

#[test]
fn odd_edges_are_clipped_by_element() {
    // bf16, 5 columns inside a row of 8.
    let text = kernel(
        ".param .u64 map, .param .u64 out",
        ".shared .align 128 .b8 s[16]; .shared .align 8 .b64 bar;
         ld.param.u64 %d1, [map]; ld.param.u64 %d3, [out]; mov.u32 %r1, s; mov.u32 %r2, bar; mov.u32 %r3, 0;
         mbarrier.init.shared.b64 [%r2], 1; mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 16;
         cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d1, {%r3}], [%r2];
         wait:
         mbarrier.try_wait.parity.shared.b64 %p1, [%r2], 0;
         @!%p1 bra wait;
         ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r1]; st.global.v4.u32 [%d3], {%r4, %r5, %r6, %r7};",
    );
    let module = module(&text);
    let mut memory = Memory::new();
    let base = alloc(&mut memory, "row", &matrix(1, 5, 0));
    let map = TensorMap {
        base,
        element_bytes: 2,
        sizes: vec![5],
        strides: vec![],
        box_sizes: vec![8],
        swizzle: Swizzle::None,
    };
    let map = map.alloc(&mut memory, "map").unwrap();
    let out = memory.alloc("out", 16);
    run(
        &module,
        &mut memory,
        [1; 3],
        [1; 3],
        vec![map.into(), out.into()],
        &Options::default(),
    )
    .unwrap();
    let mut got = [0; 16];
    memory.read(out, &mut got).unwrap();
    assert_eq!(got[..10], matrix(1, 5, 0));
    assert_eq!(got[10..], [0; 6]);
}

#[test]
fn producers_and_consumers_share_a_ring() {
    // Warp 0 fills two slots in turn by plain stores, warp 1 sums them: full and empty barriers.
    let body = |consumer_release: &str| {
        kernel(
            ".param .u64 out",
            &format!(
                ".shared .align 8 .b8 s[256]; .shared .align 8 .b8 bars[32];
                 ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %laneid; mov.u32 %r3, s; mov.u32 %r4, bars;
                 setp.eq.u32 %p1, %r1, 0;
                 @%p1 mbarrier.init.shared.b64 [%r4], 32; @%p1 mbarrier.init.shared.b64 [%r4+8], 32;
                 @%p1 mbarrier.init.shared.b64 [%r4+16], 32; @%p1 mbarrier.init.shared.b64 [%r4+24], 32;
                 bar.sync 0;
                 mov.u32 %r5, 0; mov.u32 %r10, 0;
                 setp.ge.u32 %p2, %r1, 32;
            round:
                 and.b32 %r6, %r5, 1; shr.u32 %r7, %r5, 1; and.b32 %r7, %r7, 1;
                 mad.lo.u32 %r8, %r6, 8, %r4; mad.lo.u32 %r9, %r6, 128, %r3; mad.lo.u32 %r9, %r2, 4, %r9;
                 @%p2 bra consume;
                 xor.b32 %r11, %r7, 1;
            wait_empty:
                 mbarrier.try_wait.parity.shared.b64 %p3, [%r8+16], %r11;
                 @!%p3 bra wait_empty;
                 add.u32 %r12, %r5, %r2; st.shared.u32 [%r9], %r12;
                 mbarrier.arrive.shared.b64 %d5, [%r8];
                 bra.uni next;
            consume:
                 mbarrier.try_wait.parity.shared.b64 %p3, [%r8], %r7;
                 @!%p3 bra consume;
                 xor.b32 %r13, %r9, 4; ld.shared.u32 %r12, [%r13]; add.u32 %r10, %r10, %r12;
                 {consumer_release}
            next:
                 add.u32 %r5, %r5, 1; setp.lt.u32 %p4, %r5, 6; @%p4 bra round;
                 @!%p2 exit;
                 mul.wide.u32 %d2, %r2, 4; add.s64 %d1, %d1, %d2; st.global.u32 [%d1], %r10;"
            ),
        )
    };
    let (out, _) =
        common::run_out(&body("mbarrier.arrive.shared.b64 %d5, [%r8+16];"), 64, 32).unwrap();
    assert_eq!(
        out,
        (0..32)
            .map(|lane| 15 + 6 * (lane ^ 1))
            .collect::<Vec<u32>>()
    );
    // A consumer that releases nothing: the producer waits for ever.
    let stuck = common::fault(&body(""), 64);
    assert_eq!(stuck.kind, FaultKind::Deadlock, "{stuck}");
    assert!(stuck.detail.contains("32 of 32 arrivals"), "{stuck}");
    // A consumer that releases before it reads.
    let early = body("").replace(
        "xor.b32 %r13",
        "mbarrier.arrive.shared.b64 %d5, [%r8+16]; xor.b32 %r13",
    );
    assert_eq!(common::fault(&early, 64).kind, FaultKind::SharedRace);
}

#[test]
fn small_copies_arrive_at_mbarriers() {
    // Every thread copies a word; all wait for all 64 copies, then read a neighbour's.
    let body = |arrive: &str, count: u32| {
        kernel(
            ".param .u64 out",
            &format!(
                ".shared .align 8 .b8 s[256]; .shared .align 8 .b64 bar;
                 ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, s; mov.u32 %r3, bar;
                 setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [%r3], {count};
                 bar.sync 0;
                 mad.wide.u32 %d2, %r1, 4, %d1; mad.lo.u32 %r4, %r1, 4, %r2;
                 cp.async.ca.shared.global [%r4], [%d2], 4;
                 {arrive}
                 wait:
                 mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0;
                 @!%p2 bra wait;
                 xor.b32 %r5, %r4, 4; ld.shared.u32 %r6, [%r5]; st.global.u32 [%d2+256], %r6;"
            ),
        )
    };
    let run_it = |text: &str| {
        let module = module(text);
        let mut memory = Memory::new();
        let out = memory.alloc_u32("out", &(0..128).collect::<Vec<_>>());
        run(
            &module,
            &mut memory,
            [1; 3],
            [64, 1, 1],
            vec![out.into()],
            &Options::default(),
        )?;
        Ok::<_, RunError>(memory.read_u32(out, 128).expect("written"))
    };
    let noinc = "cp.async.mbarrier.arrive.noinc.shared.b64 [%r3];";
    let extra = "cp.async.mbarrier.arrive.shared.b64 [%r3]; mbarrier.arrive.shared.b64 _, [%r3];";
    for arrive in [noinc, extra] {
        assert_eq!(
            run_it(&body(arrive, 64)).unwrap()[64..],
            (0..64).map(|i| i ^ 1).collect::<Vec<u32>>()
        );
    }
    // An arrival that does not wait for the copies.
    let error = run_it(&body("mbarrier.arrive.shared.b64 _, [%r3];", 64)).unwrap_err();
    assert_eq!(
        error.fault().unwrap().kind,
        FaultKind::AsyncNotWaited,
        "{error}"
    );
}
