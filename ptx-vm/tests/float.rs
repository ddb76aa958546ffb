//! Floating-point instructions and conversions against exact values.

mod common;

use common::{check32, check64, d, eval32, f};

/// The single-precision NaN that instructions return.
const NAN: u32 = 0x7fff_ffff;

#[test]
fn single_precision_is_ieee() {
    let tiny = 1e-45f32;
    check32(&[
        (
            "add.rn.f32 %r0, %r1, %r2;",
            [f(1.0), f(2f32.powi(-24)), 0],
            f(1.0),
        ),
        (
            "add.f32 %r0, %r1, %r2;",
            [f(1.0), f(3.0 * 2f32.powi(-25)), 0],
            f(1.0 + 2f32.powi(-23)),
        ),
        (
            "add.rz.f32 %r0, %r1, %r2;",
            [f(1.0), f(3.0 * 2f32.powi(-25)), 0],
            f(1.0),
        ),
        (
            "add.rp.f32 %r0, %r1, %r2;",
            [f(1.0), f(tiny), 0],
            f(1.0 + 2f32.powi(-23)),
        ),
        (
            "add.rm.f32 %r0, %r1, %r2;",
            [f(1.0), f(-tiny), 0],
            f(1.0 - 2f32.powi(-24)),
        ),
        ("add.rm.f32 %r0, %r1, %r2;", [f(1.0), f(-1.0), 0], f(-0.0)),
        ("add.rn.f32 %r0, %r1, %r2;", [f(1.0), f(-1.0), 0], f(0.0)),
        (
            "sub.rn.f32 %r0, %r1, %r2;",
            [f(f32::INFINITY), f(f32::INFINITY), 0],
            NAN,
        ),
        (
            "mul.rn.f32 %r0, %r1, %r2;",
            [f(0.1), f(0.1), 0],
            f(0.1f32 * 0.1),
        ),
        (
            "mul.rz.f32 %r0, %r1, %r2;",
            [f(1.0 + 2f32.powi(-23)), f(1.0 + 2f32.powi(-23)), 0],
            f(1.0 + 2f32.powi(-22)),
        ),
        (
            "mul.rp.f32 %r0, %r1, %r2;",
            [f(1.0 + 2f32.powi(-23)), f(1.0 + 2f32.powi(-23)), 0],
            f(1.0 + 3.0 * 2f32.powi(-23)),
        ),
        (
            "mul.rn.f32 %r0, %r1, %r2;",
            [f(f32::MIN_POSITIVE), f(0.5), 0],
            0x0040_0000,
        ),
        (
            "mul.rn.ftz.f32 %r0, %r1, %r2;",
            [f(f32::MIN_POSITIVE), f(0.5), 0],
            0,
        ),
        ("add.sat.f32 %r0, %r1, %r2;", [f(0.75), f(0.75), 0], f(1.0)),
        ("add.sat.f32 %r0, %r1, %r2;", [f(f32::NAN), f(0.75), 0], 0),
        // One rounding, not two: (1 + 2^-12)^2 - 1 keeps its last bit.
        (
            "fma.rn.f32 %r0, %r1, %r1, %r2;",
            [f(1.0 + 2f32.powi(-12)), f(-1.0), 0],
            f(2f32.powi(-11) + 2f32.powi(-24)),
        ),
        (
            "fma.rz.f32 %r0, %r1, %r2, %r3;",
            [f(1.0), f(1.0), f(-tiny)],
            f(1.0 - 2f32.powi(-24)),
        ),
        (
            "div.rn.f32 %r0, %r1, %r2;",
            [f(1.0), f(3.0), 0],
            f(1.0 / 3.0),
        ),
        ("div.full.f32 %r0, %r1, %r2;", [f(1.0), f(4.0), 0], f(0.25)),
        (
            "div.approx.f32 %r0, %r1, %r2;",
            [f(1.0), f(0.0), 0],
            f(f32::INFINITY),
        ),
        ("sqrt.rn.f32 %r0, %r1;", [f(2.0), 0, 0], f(2f32.sqrt())),
        ("sqrt.rn.f32 %r0, %r1;", [f(-1.0), 0, 0], NAN),
        ("rcp.rn.f32 %r0, %r1;", [f(3.0), 0, 0], f(1.0 / 3.0)),
        ("rsqrt.approx.f32 %r0, %r1;", [f(4.0), 0, 0], f(0.5)),
        ("ex2.approx.f32 %r0, %r1;", [f(3.0), 0, 0], f(8.0)),
        ("lg2.approx.f32 %r0, %r1;", [f(8.0), 0, 0], f(3.0)),
        ("neg.f32 %r0, %r1;", [f(-0.0), 0, 0], f(0.0)),
        ("abs.f32 %r0, %r1;", [f(-2.5), 0, 0], f(2.5)),
        ("copysign.f32 %r0, %r1, %r2;", [f(-1.0), f(3.0), 0], f(-3.0)),
        ("min.f32 %r0, %r1, %r2;", [f(f32::NAN), f(3.0), 0], f(3.0)),
        ("min.NaN.f32 %r0, %r1, %r2;", [f(f32::NAN), f(3.0), 0], NAN),
        ("min.f32 %r0, %r1, %r2;", [f(0.0), f(-0.0), 0], f(-0.0)),
        ("max.f32 %r0, %r1, %r2;", [f(0.0), f(-0.0), 0], f(0.0)),
        ("max.f32 %r0, %r1, %r2;", [f(2.0), f(3.0), 0], f(3.0)),
    ]);
}

#[test]
fn a_million_fused_multiply_adds_have_one_rounding() {
    let mut x = 88_172_645_463_325_252u64;
    let mut next = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x as u32
    };
    for _ in 0..1000 {
        let rows: Vec<[u32; 3]> = (0..1024).map(|_| [next(), next(), next()]).collect();
        for (row, got) in rows
            .iter()
            .zip(eval32("fma.rn.f32 %r0, %r1, %r2, %r3;", &rows))
        {
            let [a, b, c] = row.map(f32::from_bits);
            let expected = a.mul_add(b, c);
            let expected = if expected.is_nan() {
                NAN
            } else {
                expected.to_bits()
            };
            assert_eq!(got, expected, "{row:x?}");
        }
    }
}

#[test]
fn double_precision_is_ieee() {
    check64(&[
        (
            "add.rn.f64 %d0, %d1, %d2;",
            [d(0.1), d(0.2), 0],
            d(0.1 + 0.2),
        ),
        ("sub.f64 %d0, %d1, %d2;", [d(0.1), d(0.2), 0], d(0.1 - 0.2)),
        (
            "mul.rn.f64 %d0, %d1, %d2;",
            [d(0.1), d(0.2), 0],
            d(0.1 * 0.2),
        ),
        (
            "fma.rn.f64 %d0, %d1, %d2, %d3;",
            [d(0.1), d(10.0), d(-1.0)],
            d(0.1f64.mul_add(10.0, -1.0)),
        ),
        (
            "div.rn.f64 %d0, %d1, %d2;",
            [d(1.0), d(3.0), 0],
            d(1.0 / 3.0),
        ),
        ("sqrt.rn.f64 %d0, %d1;", [d(2.0), 0, 0], d(2f64.sqrt())),
        ("rcp.rn.f64 %d0, %d1;", [d(3.0), 0, 0], d(1.0 / 3.0)),
        ("neg.f64 %d0, %d1;", [d(1.0), 0, 0], d(-1.0)),
        ("abs.f64 %d0, %d1;", [d(-1.0), 0, 0], d(1.0)),
        ("min.f64 %d0, %d1, %d2;", [d(f64::NAN), d(2.0), 0], d(2.0)),
        ("max.f64 %d0, %d1, %d2;", [d(-0.0), d(0.0), 0], d(0.0)),
        (
            "add.rn.f64 %d0, %d1, 0d3FF0000000000000;",
            [d(2.0), 0, 0],
            d(3.0),
        ),
        (
            "setp.lt.f64 %p1, %d1, %d2; selp.f64 %d0, %d1, %d2, %p1;",
            [d(2.0), d(-1.0), 0],
            d(-1.0),
        ),
    ]);
}

#[test]
fn half_precision_rounds_once() {
    check32(&[
        (
            "add.rn.f16x2 %r0, %r1, %r2;",
            [0x3c00_3c00, 0x1000_1400, 0],
            0x3c00_3c01,
        ),
        (
            "sub.rn.f16x2 %r0, %r1, %r2;",
            [0x4000_3c00, 0x3c00_3c00, 0],
            0x3c00_0000,
        ),
        (
            "mul.rn.f16x2 %r0, %r1, %r2;",
            [0x7bff_3c00, 0x4000_3800, 0],
            0x7c00_3800,
        ),
        // (1 + 2^-10)^2 - 1 is a tie that goes to the even 2^-9.
        (
            "fma.rn.f16x2 %r0, %r1, %r2, %r3;",
            [0x3c01_4000, 0x3c01_4200, 0xbc00_3c00],
            0x1800_4700,
        ),
        (
            "fma.rn.bf16x2 %r0, %r1, %r2, %r3;",
            [0x3f80_4000, 0x3f80_4040, 0x3b80_3f80],
            0x3f80_40e0,
        ),
        (
            "max.f16x2 %r0, %r1, %r2;",
            [0x3c00_fe00, 0x4000_3c00, 0],
            0x4000_3c00,
        ),
        ("neg.f16x2 %r0, %r1;", [0x3c00_8000, 0, 0], 0xbc00_0000),
        (
            "mov.b32 {%h1, %h2}, %r1; fma.rn.relu.f16 %h0, %h1, %h2, %h1; cvt.u32.u16 %r0, %h0;",
            [0xc000_3c00, 0, 0],
            0,
        ),
        (
            "mov.b32 {%h1, %h2}, %r1; setp.lt.f16 %p1, %h1, %h2; selp.b32 %r0, 1, 0, %p1;",
            [0x4000_3c00, 0, 0],
            1,
        ),
    ]);
}

#[test]
fn comparisons_with_nan() {
    let setp = |what: &str| format!("setp.{what}.f32 %p1, %r1, %r2; selp.b32 %r0, 1, 0, %p1;");
    let nan = f(f32::NAN);
    for (what, pair, expected) in [
        ("lt", [f(1.0), f(2.0)], 1),
        ("lt", [nan, f(2.0)], 0),
        ("ltu", [nan, f(2.0)], 1),
        ("ne", [nan, f(2.0)], 0),
        ("neu", [nan, f(2.0)], 1),
        ("eq", [f(0.0), f(-0.0)], 1),
        ("equ", [nan, nan], 1),
        ("geu", [f(1.0), f(2.0)], 0),
        ("gtu", [f(3.0), f(2.0)], 1),
        ("leu", [f(3.0), f(2.0)], 0),
        ("num", [f(1.0), f(2.0)], 1),
        ("nan", [f(1.0), nan], 1),
    ] {
        check32(&[(&setp(what), [pair[0], pair[1], 0], expected)]);
    }
    check32(&[
        (
            "testp.subnormal.f32 %p1, %r1; selp.b32 %r0, 1, 0, %p1;",
            [1, 0, 0],
            1,
        ),
        (
            "testp.finite.f32 %p1, %r1; selp.b32 %r0, 1, 0, %p1;",
            [f(f32::INFINITY), 0, 0],
            0,
        ),
        (
            "testp.notanumber.f32 %p1, %r1; selp.b32 %r0, 1, 0, %p1;",
            [nan, 0, 0],
            1,
        ),
    ]);
}

#[test]
fn conversions_between_integers() {
    check32(&[
        ("cvt.u32.u8 %r0, %r1;", [0x1ff, 0, 0], 0xff),
        ("cvt.s32.s8 %r0, %r1;", [0x80, 0, 0], 0xffff_ff80),
        ("cvt.s32.s16 %r0, %r1;", [0x8000, 0, 0], 0xffff_8000),
        (
            "cvt.u16.u32 %h0, %r1; cvt.s32.s16 %r0, %h0;",
            [0x1_8000, 0, 0],
            0xffff_8000,
        ),
        ("cvt.sat.u8.s32 %r0, %r1;", [-5i32 as u32, 0, 0], 0),
        ("cvt.sat.s8.s32 %r0, %r1;", [1000, 0, 0], 127),
        (
            "cvt.sat.s32.u32 %r0, %r1;",
            [u32::MAX, 0, 0],
            i32::MAX as u32,
        ),
        (
            "cvt.s64.s32 %d0, %r1; shr.u64 %d0, %d0, 32; cvt.u32.u64 %r0, %d0;",
            [u32::MAX, 0, 0],
            u32::MAX,
        ),
        (
            "cvt.u64.u32 %d0, %r1; shr.u64 %d0, %d0, 32; cvt.u32.u64 %r0, %d0;",
            [u32::MAX, 0, 0],
            0,
        ),
        (
            "cvt.u64.u32 %d0, %r1; cvt.sat.u32.s64 %r0, %d0;",
            [7, 0, 0],
            7,
        ),
        ("cvt.u32.u32 %r0, %laneid;", [7, 0, 0], 0),
    ]);
}

#[test]
fn conversions_with_floating_point() {
    check32(&[
        (
            "cvt.rn.f32.u32 %r0, %r1;",
            [0xffff_ffff, 0, 0],
            f(4_294_967_296.0),
        ),
        (
            "cvt.rz.f32.u32 %r0, %r1;",
            [0xffff_ffff, 0, 0],
            f(4_294_967_040.0),
        ),
        ("cvt.rn.f32.s32 %r0, %r1;", [-7i32 as u32, 0, 0], f(-7.0)),
        (
            "cvt.rn.f32.s32 %r0, %r1;",
            [16_777_217, 0, 0],
            f(16_777_216.0),
        ),
        (
            "cvt.rp.f32.s32 %r0, %r1;",
            [16_777_217, 0, 0],
            f(16_777_218.0),
        ),
        ("cvt.rzi.s32.f32 %r0, %r1;", [f(-2.7), 0, 0], -2i32 as u32),
        ("cvt.rni.s32.f32 %r0, %r1;", [f(2.5), 0, 0], 2),
        ("cvt.rmi.s32.f32 %r0, %r1;", [f(-2.1), 0, 0], -3i32 as u32),
        ("cvt.rpi.s32.f32 %r0, %r1;", [f(2.1), 0, 0], 3),
        ("cvt.rzi.u32.f32 %r0, %r1;", [f(-5.0), 0, 0], 0),
        (
            "cvt.rzi.s32.f32 %r0, %r1;",
            [f(1e20), 0, 0],
            i32::MAX as u32,
        ),
        ("cvt.rzi.s32.f32 %r0, %r1;", [f(f32::NAN), 0, 0], 0),
        (
            "cvt.rzi.s16.f32 %h0, %r1; cvt.u32.u16 %r0, %h0;",
            [f(-2.0), 0, 0],
            0xfffe,
        ),
        ("cvt.rni.f32.f32 %r0, %r1;", [f(3.5), 0, 0], f(4.0)),
        ("cvt.rmi.f32.f32 %r0, %r1;", [f(-3.5), 0, 0], f(-4.0)),
        ("cvt.sat.f32.f32 %r0, %r1;", [f(3.5), 0, 0], f(1.0)),
        (
            "cvt.ftz.f32.f32 %r0, %r1;",
            [0x8000_0001, 0, 0],
            0x8000_0000,
        ),
        (
            "cvt.rn.f16.f32 %h0, %r1; cvt.u32.u16 %r0, %h0;",
            [f(0.1), 0, 0],
            0x2e66,
        ),
        (
            "cvt.rz.f16.f32 %h0, %r1; cvt.u32.u16 %r0, %h0;",
            [f(65520.0), 0, 0],
            0x7bff,
        ),
        (
            "cvt.u16.u32 %h0, %r1; cvt.f32.f16 %r0, %h0;",
            [0x3555, 0, 0],
            f(0.333_251_95),
        ),
        (
            "cvt.rn.bf16.f32 %h0, %r1; cvt.u32.u16 %r0, %h0;",
            [0x3f80_8000, 0, 0],
            0x3f80,
        ),
        (
            "cvt.rn.bf16.f32 %h0, %r1; cvt.u32.u16 %r0, %h0;",
            [0x3f81_8000, 0, 0],
            0x3f82,
        ),
        (
            "cvt.rn.bf16.f32 %h0, %r1; cvt.u32.u16 %r0, %h0;",
            [f(f32::NAN), 0, 0],
            0x7fff,
        ),
        (
            "cvt.u16.u32 %h0, %r1; cvt.f32.bf16 %r0, %h0;",
            [0x4049, 0, 0],
            0x4049_0000,
        ),
        (
            "cvt.rn.bf16x2.f32 %r0, %r1, %r2;",
            [f(2.0), f(1.0), 0],
            0x4000_3f80,
        ),
        (
            "cvt.rn.relu.bf16x2.f32 %r0, %r1, %r2;",
            [f(-2.0), f(1.0), 0],
            0x0000_3f80,
        ),
        (
            "cvt.rn.f16x2.f32 %r0, %r1, %r2;",
            [f(2.0), f(1.0), 0],
            0x4000_3c00,
        ),
        (
            "cvt.rna.tf32.f32 %r0, %r1;",
            [0x3f80_1000, 0, 0],
            0x3f80_2000,
        ),
        (
            "cvt.rn.tf32.f32 %r0, %r1;",
            [0x3f80_1000, 0, 0],
            0x3f80_0000,
        ),
        (
            "cvt.rz.tf32.f32 %r0, %r1;",
            [0x3f80_1fff, 0, 0],
            0x3f80_0000,
        ),
    ]);
    check64(&[
        ("cvt.rn.f64.s64 %d0, %d1;", [u64::MAX, 0, 0], d(-1.0)),
        (
            "cvt.rn.f64.u64 %d0, %d1;",
            [u64::MAX, 0, 0],
            d(18_446_744_073_709_551_616.0),
        ),
        (
            "cvt.rn.f32.f64 %r0, %d1; cvt.f64.f32 %d0, %r0;",
            [d(0.1), 0, 0],
            d(f64::from(0.1f32)),
        ),
        ("cvt.rzi.s64.f64 %d0, %d1;", [d(-2.9), 0, 0], -2i64 as u64),
        ("cvt.rzi.u64.f64 %d0, %d1;", [d(1e30), 0, 0], u64::MAX),
        ("cvt.rni.f64.f64 %d0, %d1;", [d(2.5), 0, 0], d(2.0)),
        // 2^24 + 1 + 2^-30 as an integer of 64 bits: rounding twice would lose the tie.
        (
            "cvt.rn.f32.u64 %r0, %d1; cvt.f64.f32 %d0, %r0;",
            [(1 << 62) + (1 << 38) + 1, 0, 0],
            d(((1u64 << 62) + (1 << 39)) as f64),
        ),
    ]);
}
