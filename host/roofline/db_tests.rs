//! The embedded database is sound, and look-ups do what people expect.

use super::*;
use crate::roofline::peak;

fn db() -> Database {
    Database::builtin().unwrap()
}

#[test]
fn the_embedded_database_reads_and_holds_the_promised_gpus() {
    let names = [
        "A100 80GB SXM",
        "H100 SXM",
        "H100 PCIe",
        "H200",
        "GH200",
        "B200",
        "L40S",
        "RTX 4090",
        "RTX 5090",
        "V100",
    ];
    for name in names {
        let db = db();
        let gpu = db.find(name).unwrap();
        assert!(
            gpu.bandwidth().is_ok() && gpu.peak(Pipe::Fp32).is_ok(),
            "{name}"
        );
        assert!(
            gpu.sms.is_some() && gpu.compute_capability.is_some(),
            "{name}"
        );
    }
}

/// NVIDIA: the A100's L2 has 2.3 times the read bandwidth of the V100's.
#[test]
fn the_l2_reads_of_a_gpu_are_known_where_the_vendor_gives_them() {
    let rate = |name: &str| db().find(name).unwrap().l2_read_peak();
    let (a100, v100) = (rate("A100").unwrap(), rate("V100").unwrap());
    assert_eq!(
        a100.to_string(),
        "5120 bytes per cycle x 1.41e9 Hz = 7.2192e12 byte/s"
    );
    let ratio = a100.value / v100.value;
    assert!((ratio - 2.3).abs() < 0.01, "{ratio}");
    for unknown in ["H100", "H200", "B200"] {
        assert_eq!(rate(unknown), None, "{unknown}");
    }
}

#[test]
fn names_are_unique_over_names_aliases_and_driver_names() {
    let mut seen = std::collections::BTreeMap::new();
    for gpu in db().gpus() {
        for name in gpu.names() {
            let owner = seen
                .entry(normalise(name))
                .or_insert_with(|| gpu.name.clone());
            assert_eq!(*owner, gpu.name, "{name} names two GPUs");
        }
    }
}

#[test]
fn lookup_ignores_case_spaces_dashes_and_the_vendor() {
    for name in [
        "h100",
        "H100-SXM",
        "nvidia h100 80gb hbm3",
        "H100 SXM5",
        "h100_sxm",
    ] {
        assert_eq!(db().find(name).unwrap().name, "H100 SXM", "{name}");
    }
    assert_eq!(db().find("geforce rtx-4090").unwrap().name, "RTX 4090");
}

#[test]
fn the_drivers_name_is_matched_strictly() {
    assert_eq!(
        db().find_by_driver_name("NVIDIA H200").unwrap().name,
        "H200"
    );
    assert_eq!(
        db().find_by_driver_name("Tesla V100-SXM2-32GB")
            .unwrap()
            .name,
        "V100 SXM2"
    );
    assert_eq!(db().find_by_driver_name("NVIDIA H100 NVL"), None);
    assert_eq!(db().find_by_driver_name("H100"), None);
}

#[test]
fn the_names_most_like_a_drivers_are_found_without_being_taken_for_it() {
    let database = Database::builtin().unwrap();
    let name = "NVIDIA H200 NVL 141GB";
    assert!(database.find_by_driver_name(name).is_none());
    let nearest = database.nearest_to(name, 3);
    assert_eq!(nearest.len(), 3);
    assert!(nearest[0].starts_with("H200"), "{nearest:?}");
}

#[test]
fn an_unknown_gpu_is_answered_with_the_nearest() {
    let message = db().find("H10O").unwrap_err().to_string();
    assert!(message.contains("nearest: \"H100\""), "{message}");
    assert!(
        message.contains("RTX 5090") && message.contains("--spec"),
        "{message}"
    );
    let message = db().find("rtx 4900").unwrap_err().to_string();
    assert!(message.contains("nearest: \"RTX 4090\""), "{message}");
}

#[test]
fn v100_is_listed_and_unsupported() {
    assert_eq!(db().find("V100").unwrap().supported(), Some(false));
    assert_eq!(db().find("A100").unwrap().supported(), Some(true));
}

#[test]
fn a_missing_rate_names_the_rates_that_there_are() {
    let message = db()
        .find("A100")
        .unwrap()
        .peak(Pipe::Fp4)
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("A100 80GB SXM has no fp4 rate"),
        "{message}"
    );
    assert!(message.contains("fp32, fp64, int32"), "{message}");
}

#[test]
fn datasheet_fp32_follows_from_sms_cores_and_clock_within_a_percent() {
    for gpu in db().gpus() {
        let (Some(sms), Some(cores), Some(clock)) =
            (gpu.sms, gpu.fp32_cores_per_sm, gpu.boost_clock_hz)
        else {
            continue;
        };
        let computed = f64::from(sms) * f64::from(cores) * 2.0 * clock;
        let off = (computed / gpu.peak(Pipe::Fp32).unwrap() - 1.0).abs();
        assert!(off < 0.01, "{}: {computed:e}", gpu.name);
        let known = peak::fp32_cores_per_sm(gpu.compute_capability.unwrap());
        assert_eq!(known, Some(cores), "{}", gpu.name);
    }
}

#[test]
fn datasheet_bandwidth_follows_from_bus_and_clock_within_three_percent() {
    let mut checked = 0;
    for gpu in db().gpus() {
        let (Some(bus), Some(clock)) = (gpu.memory_bus_bits, gpu.memory_clock_hz) else {
            continue;
        };
        let computed = f64::from(bus) / 8.0 * clock * 2.0;
        let off = (computed / gpu.bandwidth().unwrap() - 1.0).abs();
        assert!(off < 0.03, "{}: {computed:e}", gpu.name);
        checked += 1;
    }
    assert!(checked >= 8);
}

#[test]
fn sparse_rates_are_about_twice_the_dense_ones() {
    for gpu in db().gpus() {
        for (pipe, peak) in &gpu.peaks {
            if let Some(sparse) = peak.sparse_flop_per_s {
                let ratio = sparse / peak.dense_flop_per_s;
                assert!(
                    (1.99..2.03).contains(&ratio),
                    "{} {pipe}: {ratio}",
                    gpu.name
                );
            }
        }
    }
}

#[test]
fn a_spec_file_overrides_what_it_gives_and_keeps_the_rest() {
    let mut db = db();
    let text = "[[gpu]]\nname = \"h100 sxm\"\nmemory_bandwidth_byte_per_s = 3.0e12\n\
                source = \"my card\"\n[gpu.peaks]\nfp4 = { dense = 1e12 }\n\
                [[gpu]]\nname = \"New\"\nsource = \"s\"\n";
    db.extend(spec::parse(text, "x").unwrap());
    let gpu = db.find("H100").unwrap();
    assert_eq!((gpu.bandwidth(), gpu.sms), (Ok(3.0e12), Some(132)));
    assert_eq!(
        (gpu.peak(Pipe::Fp4), gpu.peak(Pipe::Fp32)),
        (Ok(1e12), Ok(66.9e12))
    );
    assert!(gpu.source.starts_with("my card, over: NVIDIA H100"));
    let new = db.find("new").unwrap();
    assert_eq!(
        new.bandwidth(),
        Err(LookupError::NoBandwidth { gpu: "New".into() })
    );
    assert_eq!(new.supported(), None);
}

#[test]
fn a_spec_file_that_is_not_there_is_named() {
    let error = Database::load(Some(Path::new("/no/such.toml")))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("/no/such.toml") && error.contains("--spec"),
        "{error}"
    );
}
