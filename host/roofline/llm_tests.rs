//! The decode model beyond the lecture's example, which tests/lectures.rs has.

use super::*;

const ROOF: Roofline = Roofline {
    peak_flop_per_s: 1e15,
    peak_byte_per_s: 1e13,
};

const KV: KvCache = KvCache {
    layers: 80,
    query_heads: 64,
    kv_heads: 8,
    head_dim: 128,
    bytes_per_element: 2.0,
};

fn plain(model: &Model, batch: u64) -> Step {
    model.decode(batch, 0, Speculation::NONE, &ROOF).unwrap()
}

#[test]
fn halving_the_weights_halves_the_time_and_the_ridge_batch() {
    let (sixteen, eight) = (Model::dense(70e9, 2.0), Model::dense(70e9, 1.0));
    assert_eq!(
        plain(&eight, 1).seconds() * 2.0,
        plain(&sixteen, 1).seconds()
    );
    let batch = |m: &Model| m.ridge_batch(0, Speculation::NONE, &ROOF).unwrap();
    assert_eq!((batch(&sixteen), batch(&eight)), (100.0, 50.0));
}

#[test]
fn dequantisation_is_free_until_the_ridge_point() {
    let mut model = Model::dense(1e9, 0.5);
    model.dequantise_flops = 4.0;
    assert_eq!(plain(&model, 1).seconds(), 0.5e9 / 1e13);
    // 50 FLOPs per parameter at the ridge point: 4 to decode, 46 for 23 sequences.
    assert_eq!(model.ridge_batch(0, Speculation::NONE, &ROOF), Some(23.0));
    assert_eq!(plain(&model, 22).bound(), Bound::Memory);
    assert_eq!(plain(&model, 23).bound(), Bound::Compute);
}

#[test]
fn throughput_is_linear_until_the_ridge_batch_and_flat_after() {
    let model = Model::dense(500e9, 2.0);
    let rate = |batch| plain(&model, batch).tokens_per_s();
    assert!((rate(50) / rate(1) - 50.0).abs() < 1e-9);
    assert_eq!(plain(&model, 50).seconds(), plain(&model, 1).seconds());
    assert!((rate(200) / rate(100) - 1.0).abs() < 1e-9);
}

#[test]
fn cache_bytes_of_a_70b_model_by_hand() {
    // 2 x 80 layers x 8 heads x 128 elements x 2 bytes.
    assert_eq!(KV.bytes_per_token(), 327_680.0);
    assert_eq!(KV.flops_per_pair(), 4.0 * 80.0 * 64.0 * 128.0);
}

#[test]
fn long_contexts_keep_decode_memory_bound_at_every_batch() {
    let model = Model {
        kv: Some(KV),
        ..Model::dense(70e9, 2.0)
    };
    let batch = |context| model.ridge_batch(context, Speculation::NONE, &ROOF);
    let short = batch(100).unwrap();
    assert!(
        short > 100.0,
        "the cache only adds bytes of low intensity: {short}"
    );
    assert_eq!(batch(100_000), None);
    let step = model
        .decode(1_000_000, 100_000, Speculation::NONE, &ROOF)
        .unwrap();
    assert_eq!(step.bound(), Bound::Memory);
    // Just around the ridge batch the bound changes.
    let step = |b: f64| {
        model
            .decode(b as u64, 100, Speculation::NONE, &ROOF)
            .unwrap()
            .bound()
    };
    assert_eq!(
        (step(short.floor()), step(short.ceil())),
        (Bound::Memory, Bound::Compute)
    );
}

#[test]
fn prefill_reuses_each_weight_over_the_prompt() {
    let model = Model::dense(70e9, 2.0);
    let step = model.prefill(1, 2048, &ROOF).unwrap();
    assert_eq!(step.intensity(), 2048.0);
    assert_eq!(step.bound(), Bound::Compute);
    assert_eq!(model.prefill(1, 99, &ROOF).unwrap().bound(), Bound::Memory);
    let with_attention = Model {
        kv: Some(KV),
        ..model
    }
    .prefill(1, 2, &ROOF)
    .unwrap();
    assert_eq!(
        with_attention.flops,
        2.0 * 70e9 * 2.0 + 3.0 * KV.flops_per_pair()
    );
}

#[test]
fn speculation_yields_the_geometric_sum() {
    let s = Speculation {
        draft: 3,
        acceptance: 0.5,
    };
    assert_eq!((s.positions(), s.tokens_per_pass()), (4.0, 1.875));
    assert_eq!(
        Speculation {
            draft: 3,
            acceptance: 1.0
        }
        .tokens_per_pass(),
        4.0
    );
    assert_eq!(Speculation::NONE.tokens_per_pass(), 1.0);
    let step = Model::dense(500e9, 2.0).decode(1, 0, s, &ROOF).unwrap();
    assert_eq!((step.seconds(), step.intensity()), (0.1, 4.0));
    assert!((step.tokens_per_s() - 18.75).abs() < 1e-9);
}

#[test]
fn a_trade_pays_below_the_ridge_point() {
    // Storing 1 byte moves 2: 199 FLOPs cost less than 2 bytes at 100 FLOP/byte, 201 more.
    assert!(Trade::recompute(199.0, 1.0).pays(&ROOF));
    assert!(!Trade::recompute(201.0, 1.0).pays(&ROOF));
    assert_eq!(
        Trade {
            flops_added: 10.0,
            bytes_saved: 4.0
        }
        .price(),
        2.5
    );
}

#[test]
fn inputs_out_of_range_are_named() {
    let fails = |model: Model, batch, acceptance| {
        let speculation = Speculation {
            draft: 1,
            acceptance,
        };
        model
            .decode(batch, 0, speculation, &ROOF)
            .unwrap_err()
            .to_string()
    };
    let good = Model::dense(1e9, 2.0);
    assert!(fails(Model::dense(0.0, 2.0), 1, 0.5).starts_with("the number of parameters is 0"));
    assert!(fails(Model::dense(f64::NAN, 2.0), 1, 0.5).starts_with("the number of parameters"));
    assert!(fails(Model::dense(1e9, -1.0), 1, 0.5).starts_with("bytes per parameter is -1"));
    assert!(fails(good, 0, 0.5).starts_with("the batch is 0; it must be 1 or more"));
    assert!(fails(good, 1, 1.5).contains("a probability from 0 to 1"));
    assert!(
        good.prefill(1, 0, &ROOF)
            .unwrap_err()
            .to_string()
            .starts_with("the prompt is 0")
    );
}
