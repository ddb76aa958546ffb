//! The rows: decode over batches, decode over weight formats, prefill.

use super::Plan;
use crate::cli::render::{Cell, Column, CommandError, Sheet};
use crate::roofline::llm::{Model, Step};
use crate::roofline::units::{engineering, significant};

const COLUMNS: [Column; 15] = [
    ("phase", Some("Phase")),
    ("bytes_per_parameter", Some("B/param")),
    ("batch", Some("Batch")),
    ("tokens_behind", Some("Tokens")),
    ("flops", Some("FLOPs")),
    ("bytes", Some("Bytes")),
    ("intensity_flop_per_byte", Some("FLOP/byte")),
    ("memory_time_s", Some("Memory")),
    ("arithmetic_time_s", Some("Arithmetic")),
    ("time_s", Some("Time")),
    ("token_per_s", Some("tokens/s")),
    ("bound", Some("Bound")),
    ("compute_bound_from_byte_per_s", None),
    ("ridge_flop_per_byte", None),
    ("ridge_batch", None),
];

/// The weight formats that the table compares: 16, 8 and 4 bits.
const FORMATS: [f64; 3] = [2.0, 1.0, 0.5];
/// Doublings of the batch that the table shows at most.
const MAX_DOUBLINGS: u32 = 20;

/// All rows.
pub fn sheet(plan: &Plan) -> Result<Sheet, CommandError> {
    let mut sheet = Sheet::new(COLUMNS.to_vec());
    for batch in batches(plan) {
        sheet.push(decode_row(plan, plan.model, batch)?);
    }
    for bytes_per_parameter in FORMATS {
        if bytes_per_parameter != plan.model.bytes_per_parameter {
            let model = Model {
                bytes_per_parameter,
                ..plan.model
            };
            sheet.push(decode_row(plan, model, plan.batch)?);
        }
    }
    let step = plan
        .model
        .prefill(plan.batch, plan.prompt, &plan.roofline)?;
    sheet.push(row(
        "prefill",
        plan,
        plan.model,
        plan.batch,
        plan.prompt,
        step,
    ));
    Ok(sheet)
}

/// Doublings to past the ridge batch, that batch itself, and the one asked for.
fn batches(plan: &Plan) -> Vec<u64> {
    let ridge = plan
        .model
        .ridge_batch(plan.context, plan.speculation, &plan.roofline);
    let beyond = ridge.map_or(plan.batch as f64, |r| r.max(plan.batch as f64)) * 2.0;
    let mut batches: Vec<u64> = (0..=MAX_DOUBLINGS)
        .map(|i| 1 << i)
        .take_while(|b| (*b as f64) < beyond)
        .collect();
    batches.push(plan.batch);
    if let Some(ridge) = ridge.filter(|r| *r <= f64::from(1 << MAX_DOUBLINGS)) {
        batches.push(ridge.ceil().max(1.0) as u64);
    }
    batches.sort_unstable();
    batches.dedup();
    batches
}

fn decode_row(plan: &Plan, model: Model, batch: u64) -> Result<Vec<Cell>, CommandError> {
    let step = model.decode(batch, plan.context, plan.speculation, &plan.roofline)?;
    Ok(row("decode", plan, model, batch, plan.context, step))
}

fn row(phase: &str, plan: &Plan, model: Model, batch: u64, tokens: u64, step: Step) -> Vec<Cell> {
    let number = |x: f64| Cell::number(x, significant(x, 4));
    let ridge_batch = model.ridge_batch(plan.context, plan.speculation, &plan.roofline);
    vec![
        Cell::text(phase),
        number(model.bytes_per_parameter),
        Cell::whole(batch, batch.to_string()),
        Cell::whole(tokens, tokens.to_string()),
        Cell::number(step.flops, engineering(step.flops, "FLOP")),
        Cell::number(step.bytes, engineering(step.bytes, "B")),
        number(step.intensity()),
        Cell::quantity(step.memory_s, "s"),
        Cell::quantity(step.arithmetic_s, "s"),
        Cell::quantity(step.seconds(), "s"),
        number(step.tokens_per_s()),
        Cell::text(step.bound().id()),
        Cell::quantity(step.compute_bound_byte_per_s(), "B/s"),
        number(plan.roofline.ridge()),
        Cell::maybe(ridge_batch, number),
    ]
}
