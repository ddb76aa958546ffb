//! Integer, logic and bit instructions against values worked out by hand.

mod common;

use common::{check32, check64};

const NEG1: u32 = u32::MAX;

#[test]
fn arithmetic_of_32_bits() {
    check32(&[
        ("add.s32 %r0, %r1, %r2;", [NEG1, 2, 0], 1),
        ("sub.s32 %r0, %r1, %r2;", [1, 2, 0], NEG1),
        ("sub.s32 %r0, %r1, -5;", [1, 0, 0], 6),
        (
            "add.sat.s32 %r0, %r1, %r2;",
            [i32::MAX as u32, 1, 0],
            i32::MAX as u32,
        ),
        (
            "sub.sat.s32 %r0, %r1, %r2;",
            [i32::MIN as u32, 1, 0],
            i32::MIN as u32,
        ),
        ("mul.lo.s32 %r0, %r1, %r2;", [0x10001, 0x10001, 0], 0x20001),
        ("mul.hi.u32 %r0, %r1, %r2;", [NEG1, NEG1, 0], 0xffff_fffe),
        ("mul.hi.s32 %r0, %r1, %r2;", [NEG1, 5, 0], NEG1),
        ("mul24.lo.u32 %r0, %r1, %r2;", [0xff00_0003, 5, 0], 15),
        (
            "mul24.lo.s32 %r0, %r1, %r2;",
            [0x00ff_ffff, 5, 0],
            -5i32 as u32,
        ),
        ("mad.lo.s32 %r0, %r1, %r2, %r3;", [3, 4, 5], 17),
        ("mad.hi.u32 %r0, %r1, %r2, %r3;", [1 << 31, 6, 5], 8),
        ("mad24.lo.u32 %r0, %r1, %r2, %r3;", [3, 4, 5], 17),
        ("sad.s32 %r0, %r1, %r2, %r3;", [NEG1, 4, 10], 15),
        ("sad.u32 %r0, %r1, %r2, %r3;", [7, 4, 10], 13),
        ("div.s32 %r0, %r1, %r2;", [-7i32 as u32, 2, 0], -3i32 as u32),
        ("div.u32 %r0, %r1, %r2;", [7, 2, 0], 3),
        ("rem.s32 %r0, %r1, %r2;", [-7i32 as u32, 2, 0], NEG1),
        ("rem.u32 %r0, %r1, 10;", [47, 0, 0], 7),
        ("min.s32 %r0, %r1, %r2;", [NEG1, 2, 0], NEG1),
        ("min.u32 %r0, %r1, %r2;", [NEG1, 2, 0], 2),
        ("max.s32 %r0, %r1, %r2;", [NEG1, 2, 0], 2),
        ("max.u32 %r0, %r1, %r2;", [NEG1, 2, 0], NEG1),
        ("neg.s32 %r0, %r1;", [5, 0, 0], -5i32 as u32),
        ("abs.s32 %r0, %r1;", [-5i32 as u32, 0, 0], 5),
        (
            "dp4a.u32.u32 %r0, %r1, %r2, %r3;",
            [0x0403_0201, 0x0101_0101, 5],
            15,
        ),
        (
            "dp4a.s32.s32 %r0, %r1, %r2, %r3;",
            [0xff03_0201, 0x0101_0101, 5],
            10,
        ),
    ]);
}

#[test]
fn arithmetic_of_64_bits() {
    let neg1 = u64::MAX;
    check64(&[
        ("add.s64 %d0, %d1, %d2;", [neg1, 2, 0], 1),
        ("sub.s64 %d0, %d1, %d2;", [1, 2, 0], neg1),
        ("mul.lo.s64 %d0, %d1, %d2;", [1 << 33, 1 << 31, 0], 0),
        ("mul.hi.u64 %d0, %d1, %d2;", [neg1, neg1, 0], neg1 - 1),
        ("mul.hi.s64 %d0, %d1, %d2;", [neg1, 3, 0], neg1),
        ("mad.lo.s64 %d0, %d1, %d2, %d3;", [3, 4, 5], 17),
        ("mad.hi.u64 %d0, %d1, %d2, %d3;", [1 << 63, 4, 5], 7),
        ("div.u64 %d0, %d1, %d2;", [100, 7, 0], 14),
        (
            "div.s64 %d0, %d1, %d2;",
            [-100i64 as u64, 7, 0],
            -14i64 as u64,
        ),
        ("rem.u64 %d0, %d1, %d2;", [100, 7, 0], 2),
        (
            "rem.s64 %d0, %d1, %d2;",
            [-100i64 as u64, 7, 0],
            -2i64 as u64,
        ),
        ("min.s64 %d0, %d1, %d2;", [neg1, 7, 0], neg1),
        ("max.u64 %d0, %d1, %d2;", [neg1, 7, 0], neg1),
        ("neg.s64 %d0, %d1;", [5, 0, 0], -5i64 as u64),
        ("abs.s64 %d0, %d1;", [-5i64 as u64, 0, 0], 5),
        (
            "cvt.u32.u64 %r1, %d1; mul.wide.s32 %d0, %r1, -3;",
            [5, 0, 0],
            -15i64 as u64,
        ),
        (
            "cvt.u32.u64 %r1, %d1; mul.wide.u32 %d0, %r1, %r1;",
            [0xffff_ffff, 0, 0],
            0xffff_fffe_0000_0001,
        ),
        (
            "cvt.u32.u64 %r1, %d1; mad.wide.u32 %d0, %r1, %r1, %d2;",
            [3, 5, 0],
            14,
        ),
    ]);
}

#[test]
fn arithmetic_of_16_bits() {
    let wrap = |op: &str| {
        format!(
            "cvt.u16.u32 %h1, %r1; cvt.u16.u32 %h2, %r2; {op} %h0, %h1, %h2; cvt.u32.u16 %r0, %h0;"
        )
    };
    let add = wrap("add.s16");
    let mul = wrap("mul.lo.s16");
    let high = wrap("mul.hi.u16");
    let high_signed = wrap("mul.hi.s16");
    let min = wrap("min.s16");
    let div = wrap("div.s16");
    check32(&[
        (&add, [0xffff, 2, 0], 1),
        (&mul, [0x101, 0x101, 0], 0x201),
        (&high, [0xffff, 0xffff, 0], 0xfffe),
        (&high_signed, [0xffff, 5, 0], 0xffff),
        (&min, [0xffff, 2, 0], 0xffff),
        (&div, [-7i16 as u16 as u32, 2, 0], 0xfffd),
        (
            "cvt.u16.u32 %h1, %r1; shr.s16 %h0, %h1, 2; cvt.u32.u16 %r0, %h0;",
            [0x8000, 0, 0],
            0xe000,
        ),
        (
            "cvt.u16.u32 %h1, %r1; shr.u16 %h0, %h1, 2; cvt.u32.u16 %r0, %h0;",
            [0x8000, 0, 0],
            0x2000,
        ),
        (
            "cvt.u16.u32 %h1, %r1; shl.b16 %h0, %h1, 4; cvt.u32.u16 %r0, %h0;",
            [0x1234, 0, 0],
            0x2340,
        ),
        (
            "cvt.u16.u32 %h1, %r1; not.b16 %h0, %h1; cvt.u32.u16 %r0, %h0;",
            [0x1234, 0, 0],
            0xedcb,
        ),
        (
            "cvt.u16.u32 %h1, %r1; neg.s16 %h0, %h1; cvt.u32.u16 %r0, %h0;",
            [1, 0, 0],
            0xffff,
        ),
        (
            "cvt.u16.u32 %h1, %r1; mul.wide.s16 %r0, %h1, 3;",
            [0xffff, 0, 0],
            -3i32 as u32,
        ),
        (
            "cvt.u16.u32 %h1, %r1; mul.wide.u16 %r0, %h1, %h1;",
            [0xffff, 0, 0],
            0xfffe_0001,
        ),
        (
            "cvt.u16.u32 %h1, %r1; mad.lo.s16 %h0, %h1, %h1, 1; cvt.u32.u16 %r0, %h0;",
            [0x100, 0, 0],
            1,
        ),
    ]);
}

#[test]
fn carries_make_wide_sums() {
    check32(&[
        // 64-bit sum of (r1, r2) and (1, r3): the high word.
        (
            "add.cc.u32 %r4, %r1, 1; addc.u32 %r0, %r2, %r3;",
            [NEG1, 5, 7],
            13,
        ),
        (
            "add.cc.u32 %r4, %r1, 1; addc.u32 %r0, %r2, %r3;",
            [0, 5, 7],
            12,
        ),
        (
            "sub.cc.u32 %r4, %r1, 1; subc.u32 %r0, %r2, %r3;",
            [0, 7, 5],
            1,
        ),
        (
            "add.cc.u32 %r4, %r1, 1; addc.cc.u32 %r4, %r2, 0; addc.u32 %r0, 0, 0;",
            [NEG1, NEG1, 0],
            1,
        ),
    ]);
}

#[test]
fn logic_and_shifts() {
    check32(&[
        ("and.b32 %r0, %r1, %r2;", [0xff00, 0x0ff0, 0], 0x0f00),
        ("or.b32 %r0, %r1, %r2;", [0xff00, 0x0ff0, 0], 0xfff0),
        ("xor.b32 %r0, %r1, %r2;", [0xff00, 0x0ff0, 0], 0xf0f0),
        ("not.b32 %r0, %r1;", [0xff00, 0, 0], 0xffff_00ff),
        ("cnot.b32 %r0, %r1;", [0, 0, 0], 1),
        ("shl.b32 %r0, %r1, %r2;", [1, 31, 0], 1 << 31),
        ("shl.b32 %r0, %r1, %r2;", [1, 32, 0], 0),
        ("shr.u32 %r0, %r1, %r2;", [1 << 31, 31, 0], 1),
        ("shr.u32 %r0, %r1, %r2;", [1 << 31, 40, 0], 0),
        ("shr.s32 %r0, %r1, %r2;", [1 << 31, 40, 0], NEG1),
        (
            "shf.l.wrap.b32 %r0, %r1, %r2, %r3;",
            [0x8000_0000, 1, 33],
            3,
        ),
        (
            "shf.l.clamp.b32 %r0, %r1, %r2, %r3;",
            [0x8000_0000, 1, 33],
            0x8000_0000,
        ),
        (
            "shf.r.wrap.b32 %r0, %r1, %r2, %r3;",
            [2, 1, 33],
            0x8000_0001,
        ),
        ("shf.r.clamp.b32 %r0, %r1, %r2, %r3;", [2, 1, 40], 1),
        // (a & b) ^ c has the table 0b0110_1010.
        (
            "lop3.b32 %r0, %r1, %r2, %r3, 0x6a;",
            [0xff00, 0x0ff0, 0x00ff],
            (0xff00 & 0x0ff0) ^ 0x00ff,
        ),
        (
            "lop3.b32 %r0, %r1, %r2, %r3, 0x80;",
            [0b1100, 0b1010, 0b1001],
            0b1000,
        ),
        ("popc.b32 %r0, %r1;", [0xf0f0, 0, 0], 8),
        ("clz.b32 %r0, %r1;", [0, 0, 0], 32),
        ("clz.b32 %r0, %r1;", [1, 0, 0], 31),
        ("brev.b32 %r0, %r1;", [1, 0, 0], 1 << 31),
        ("bfind.u32 %r0, %r1;", [0x10, 0, 0], 4),
        ("bfind.s32 %r0, %r1;", [0xffff_ffef, 0, 0], 4),
        ("bfind.u32 %r0, %r1;", [0, 0, 0], NEG1),
        ("bfind.shiftamt.u32 %r0, %r1;", [0x10, 0, 0], 27),
        ("bfe.u32 %r0, %r1, 4, 8;", [0xabcd_ef12, 0, 0], 0xf1),
        ("bfe.s32 %r0, %r1, 4, 8;", [0xabcd_ef12, 0, 0], 0xffff_fff1),
        ("bfe.s32 %r0, %r1, 28, 8;", [0xabcd_ef12, 0, 0], 0xffff_fffa),
        ("bfe.u32 %r0, %r1, 0, 0;", [0xabcd_ef12, 0, 0], 0),
        (
            "bfi.b32 %r0, %r1, %r2, 8, 4;",
            [0xabc, 0xffff_ffff, 0],
            0xffff_fcff,
        ),
        ("bfi.b32 %r0, %r1, %r2, 40, 4;", [0xabc, 0x1234, 0], 0x1234),
        (
            "prmt.b32 %r0, %r1, %r2, 0x5410;",
            [0x3322_1100, 0x7766_5544, 0],
            0x5544_1100,
        ),
        (
            "prmt.b32 %r0, %r1, %r2, 0x0123;",
            [0x3322_1100, 0, 0],
            0x0011_2233,
        ),
        (
            "prmt.b32 %r0, %r1, %r2, 0x0009;",
            [0x3322_8000, 0, 0],
            0x0000_00ff,
        ),
        (
            "prmt.b32.f4e %r0, %r1, %r2, 1;",
            [0x3322_1100, 0x7766_5544, 0],
            0x4433_2211,
        ),
        (
            "prmt.b32.b4e %r0, %r1, %r2, 1;",
            [0x3322_1100, 0x7766_5544, 0],
            0x6677_0011,
        ),
        (
            "prmt.b32.rc8 %r0, %r1, %r2, 2;",
            [0x3322_1100, 0, 0],
            0x2222_2222,
        ),
        (
            "prmt.b32.ecl %r0, %r1, %r2, 1;",
            [0x3322_1100, 0, 0],
            0x3322_1111,
        ),
        (
            "prmt.b32.ecr %r0, %r1, %r2, 1;",
            [0x3322_1100, 0, 0],
            0x1111_1100,
        ),
        (
            "prmt.b32.rc16 %r0, %r1, %r2, 1;",
            [0x3322_1100, 0, 0],
            0x3322_3322,
        ),
    ]);
    check64(&[
        (
            "and.b64 %d0, %d1, %d2;",
            [0xff << 40, 0xf << 40, 0],
            0xf << 40,
        ),
        ("not.b64 %d0, %d1;", [0, 0, 0], u64::MAX),
        ("shl.b64 %d0, %d1, 40;", [1, 0, 0], 1 << 40),
        ("shl.b64 %d0, %d1, 64;", [1, 0, 0], 0),
        ("shr.s64 %d0, %d1, 70;", [1 << 63, 0, 0], u64::MAX),
        ("shr.u64 %d0, %d1, 63;", [1 << 63, 0, 0], 1),
        ("brev.b64 %d0, %d1;", [1, 0, 0], 1 << 63),
        (
            "popc.b64 %r0, %d1; cvt.u64.u32 %d0, %r0;",
            [u64::MAX, 0, 0],
            64,
        ),
        ("clz.b64 %r0, %d1; cvt.u64.u32 %d0, %r0;", [1, 0, 0], 63),
        (
            "bfind.u64 %r0, %d1; cvt.u64.u32 %d0, %r0;",
            [1 << 40, 0, 0],
            40,
        ),
        (
            "bfe.u64 %d0, %d1, 32, 8;",
            [0x1234_5678_9abc_def0, 0, 0],
            0x78,
        ),
        (
            "bfe.s64 %d0, %d1, 60, 8;",
            [0x9234_5678_9abc_def0, 0, 0],
            0xffff_ffff_ffff_fff9,
        ),
        (
            "bfi.b64 %d0, %d1, %d2, 32, 16;",
            [0xabcd, 0, 0],
            0xabcd << 32,
        ),
    ]);
}

#[test]
fn comparisons_and_selections() {
    let setp = |what: &str| format!("setp.{what} %p1, %r1, %r2; selp.b32 %r0, 1, 0, %p1;");
    for (what, operands, expected) in [
        ("eq.s32", [3, 3], 1),
        ("ne.b32", [3, 3], 0),
        ("lt.s32", [NEG1, 3], 1),
        ("lt.u32", [NEG1, 3], 0),
        ("lo.u32", [1, 3], 1),
        ("hi.u32", [NEG1, 3], 1),
        ("ge.s32", [3, 3], 1),
        ("hs.u32", [2, 3], 0),
        ("ls.u32", [3, 3], 1),
    ] {
        check32(&[(&setp(what), [operands[0], operands[1], 0], expected)]);
    }
    check32(&[
        (
            "setp.eq.s32 %p2, %r3, 0; setp.lt.and.s32 %p1, %r1, %r2, %p2; selp.b32 %r0, 7, 8, %p1;",
            [1, 2, 0],
            7,
        ),
        (
            "setp.eq.s32 %p2, %r3, 0; setp.lt.and.s32 %p1, %r1, %r2, !%p2; selp.b32 %r0, 7, 8, %p1;",
            [1, 2, 0],
            8,
        ),
        (
            "setp.lt.s32 %p1|%p2, %r1, %r2; selp.b32 %r0, 7, 8, %p2;",
            [1, 2, 0],
            8,
        ),
        (
            "setp.eq.s32 %p3, %r3, 0; setp.lt.xor.s32 %p1|%p2, %r1, %r2, %p3; selp.b32 %r0, 7, 8, %p2;",
            [1, 2, 0],
            7,
        ),
        ("set.lt.u32.s32 %r0, %r1, %r2;", [1, 2, 0], NEG1),
        ("set.gt.f32.s32 %r0, %r1, %r2;", [3, 2, 0], 0x3f80_0000),
        ("slct.b32.s32 %r0, %r1, %r2, %r3;", [1, 2, NEG1], 2),
        ("slct.b32.f32 %r0, %r1, %r2, %r3;", [1, 2, 0x8000_0000], 1),
        (
            "setp.gt.u32 %p1, %r1, 0; setp.gt.u32 %p2, %r2, 0; and.pred %p3, %p1, %p2; selp.b32 %r0, 1, 0, %p3;",
            [1, 0, 0],
            0,
        ),
        (
            "setp.gt.u32 %p1, %r1, 0; setp.gt.u32 %p2, %r2, 0; or.pred %p3, %p1, %p2; selp.b32 %r0, 1, 0, %p3;",
            [1, 0, 0],
            1,
        ),
        (
            "setp.gt.u32 %p1, %r1, 0; setp.gt.u32 %p2, %r2, 0; xor.pred %p3, %p1, %p2; selp.b32 %r0, 1, 0, %p3;",
            [1, 1, 0],
            0,
        ),
        (
            "setp.gt.u32 %p1, %r1, 0; not.pred %p2, %p1; mov.pred %p3, %p2; @%p3 mov.b32 %r0, 9;",
            [0, 1, 0],
            9,
        ),
        (
            "setp.gt.u32 %p1, %r1, 0; @!%p1 mov.b32 %r0, 9;",
            [1, 1, 0],
            0,
        ),
    ]);
    check64(&[
        (
            "setp.lt.s64 %p1, %d1, %d2; selp.b64 %d0, %d2, %d3, %p1;",
            [u64::MAX, 5, 6],
            5,
        ),
        (
            "setp.lt.u64 %p1, %d1, %d2; selp.b64 %d0, %d2, %d3, %p1;",
            [u64::MAX, 5, 6],
            6,
        ),
    ]);
}

#[test]
fn moves_pack_and_unpack() {
    check64(&[
        (
            "cvt.u32.u64 %r1, %d1; cvt.u32.u64 %r2, %d2; mov.b64 %d0, {%r1, %r2};",
            [1, 2, 0],
            0x2_0000_0001,
        ),
        (
            "mov.b64 {%r1, %r2}, %d1; cvt.u64.u32 %d0, %r2;",
            [0x7_0000_0001, 0, 0],
            7,
        ),
        (
            "mov.b64 {_, %r2}, %d1; cvt.u64.u32 %d0, %r2;",
            [0x7_0000_0001, 0, 0],
            7,
        ),
        (
            "mov.b64 {%h0, %h1, %h2, %h3}, %d1; mov.b64 %d0, {%h3, %h2, %h1, %h0};",
            [0x0004_0003_0002_0001, 0, 0],
            0x0001_0002_0003_0004,
        ),
    ]);
    check32(&[
        (
            "mov.b32 {%h1, %h2}, %r1; mov.b32 %r0, {%h2, %h1};",
            [0x1234_5678, 0, 0],
            0x5678_1234,
        ),
        ("mov.u32 %r0, WARP_SZ;", [0, 0, 0], 32),
        ("mov.b32 %r0, 0f3F800000;", [0, 0, 0], 0x3f80_0000),
        ("mov.u32 %r0, 0x1FU;", [0, 0, 0], 31),
        ("mov.u32 %r0, 017;", [0, 0, 0], 15),
        ("mov.s32 %r0, -1;", [0, 0, 0], NEG1),
    ]);
}
