//! The columns of schema version 1: changing one is a new schema version.

use rooftrace::record::{Row, SCHEMA_VERSION};

/// Written out by hand, group by group, so that no refactoring of the row can
/// change it along with the code.
const GOLDEN: &str = "schema_version,run_id,timestamp_utc,host,device,device_index,\
compute_capability,driver_version,rooftrace_version,git_commit,ptx_sha256,ptx_source,\
kernel,variant,pipe,storage,out_type,beta,m,n,k,batch,flops,bytes,\
intensity_flop_per_byte,data,seed,grid,block,registers,shared_bytes,occupancy,\
cache,samples,launches_per_sample,time_median_s,time_min_s,time_q1_s,time_q3_s,\
time_ci95_low_s,time_ci95_high_s,time_rel_noise,converged,sm_clock_hz,power_w,\
temperature_c,throttle,\
flop_per_s,byte_per_s,peak_flop_per_s,peak_byte_per_s,peak_source,\
measured_peak_flop_per_s,measured_peak_byte_per_s,ridge_flop_per_byte,\
roof_flop_per_s,fraction_of_roof,bound,\
verified,error,error_bound,status,reason,\
baseline,baseline_time_median_s,speedup";

#[test]
fn the_columns_are_those_of_schema_version_1() {
    assert_eq!(SCHEMA_VERSION, 1);
    assert_eq!(Row::COLUMNS.join(","), GOLDEN);
}

#[test]
fn the_fields_are_serialized_under_the_column_names_in_order() {
    let value = serde_json::to_value(Row::default()).unwrap();
    let keys: Vec<&str> = value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(keys, Row::COLUMNS);
}

#[test]
fn an_untouched_row_claims_nothing() {
    let value = serde_json::to_value(Row::default()).unwrap();
    assert_eq!(value["status"], "skipped");
    assert_eq!(value["cache"], "cold");
    for column in [
        "time_median_s",
        "flops",
        "bytes",
        "verified",
        "fraction_of_roof",
        "bound",
    ] {
        assert!(
            value[column].is_null(),
            "{column} of a default row is {}",
            value[column]
        );
    }
}

#[test]
fn a_number_that_is_not_finite_is_written_as_unknown() {
    let row = Row {
        error: Some(f64::INFINITY),
        time_median_s: Some(f64::NAN),
        ..Default::default()
    };
    let value = serde_json::to_value(&row).unwrap();
    assert!(value["error"].is_null() && value["time_median_s"].is_null());
}
