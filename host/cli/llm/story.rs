//! What the table's rows mean, in sentences.

use std::io::Write;

use super::{LlmArgs, Plan};
use crate::cli::render::CommandError;
use crate::roofline::llm::Trade;
use crate::roofline::model::Bound;
use crate::roofline::units::{binary_bytes, engineering, significant};

/// Weights, roofline, the decode step asked for, the ridge batch.
pub fn before(plan: &Plan, out: &mut dyn Write) -> Result<(), CommandError> {
    let Plan {
        model,
        roofline,
        batch,
        ..
    } = plan;
    let step = model.decode(*batch, plan.context, plan.speculation, roofline)?;
    writeln!(
        out,
        "Weights: {:e} parameters x {} B = {}; 2 FLOPs per parameter and token position",
        model.parameters,
        model.bytes_per_parameter,
        engineering(model.weight_bytes(), "B"),
    )?;
    if let Some(kv) = model.kv {
        let per_token = engineering(kv.bytes_per_token(), "B");
        writeln!(
            out,
            "KV cache: {per_token} a token, {} tokens a sequence",
            plan.context
        )?;
    }
    capacity(plan, out)?;
    writeln!(
        out,
        "Roofline ({}): {}, {}, ridge point {} FLOP/byte",
        plan.source,
        engineering(roofline.peak_flop_per_s, "FLOP/s"),
        engineering(roofline.peak_byte_per_s, "B/s"),
        significant(roofline.ridge(), 4),
    )?;
    writeln!(
        out,
        "Decode at batch {batch}: {} a step (memory {}, arithmetic {}), {} FLOP/byte: {}-bound; \
         {} tokens/s",
        engineering(step.seconds(), "s"),
        engineering(step.memory_s, "s"),
        engineering(step.arithmetic_s, "s"),
        significant(step.intensity(), 4),
        step.bound(),
        significant(step.tokens_per_s(), 4),
    )?;
    if plan.speculation.draft > 0 {
        let tokens = significant(plan.speculation.tokens_per_pass(), 4);
        writeln!(
            out,
            "Tokens per pass over the weights: {tokens} expected (drafting not counted)"
        )?;
    }
    if step.bound() == Bound::Memory {
        let needed = engineering(step.compute_bound_byte_per_s(), "B/s");
        writeln!(
            out,
            "Bandwidth needed to be compute-bound at batch {batch}: {needed}"
        )?;
    }
    ridge_batch(plan, out)
}

fn ridge_batch(plan: &Plan, out: &mut dyn Write) -> Result<(), CommandError> {
    match plan
        .model
        .ridge_batch(plan.context, plan.speculation, &plan.roofline)
    {
        Some(ridge) => writeln!(
            out,
            "Decode is compute-bound from a batch of {}; until then throughput grows with the \
             batch{}",
            significant(ridge, 4),
            if plan.model.kv.is_some() {
                ""
            } else {
                " at constant latency"
            },
        )?,
        None => writeln!(
            out,
            "Decode is memory-bound at every batch: each sequence's own KV cache lies left of \
             the ridge point"
        )?,
    }
    Ok(())
}

/// How many GPUs the weights and caches need, where the memory is known.
fn capacity(plan: &Plan, out: &mut dyn Write) -> Result<(), CommandError> {
    let Some(memory) = plan.memory_bytes else {
        return Ok(());
    };
    let tokens = plan.batch as f64 * plan.context as f64;
    let cache = plan
        .model
        .kv
        .map_or(0.0, |kv| kv.bytes_per_token() * tokens);
    let need = plan.model.weight_bytes() + cache;
    if need > memory as f64 {
        writeln!(
            out,
            "Does not fit: {} of weights and cache against {}, so {} GPUs at least; the figures \
             are for one GPU's rates",
            engineering(need, "B"),
            binary_bytes(memory),
            (need / memory as f64).ceil(),
        )?;
    }
    Ok(())
}

/// Prefill against decode, and what a byte is worth in FLOPs.
pub fn after(plan: &Plan, args: &LlmArgs, out: &mut dyn Write) -> Result<(), CommandError> {
    let roofline = &plan.roofline;
    let prefill = plan.model.prefill(plan.batch, plan.prompt, roofline)?;
    writeln!(
        out,
        "Prefill of {} tokens: each weight is used {} times a pass, so it is {}-bound.",
        plan.prompt,
        plan.batch.saturating_mul(plan.prompt),
        prefill.bound(),
    )?;
    writeln!(
        out,
        "A byte that is not moved is worth up to {} FLOPs: quantised weights, recomputation and \
         fusion pay below that price.",
        significant(roofline.ridge(), 4),
    )?;
    if let (Some(flops), Some(bytes)) = (args.recompute_flops, args.stored_bytes) {
        let trade = Trade::recompute(flops, bytes);
        writeln!(
            out,
            "Recomputing {} instead of writing and reading {}: {} FLOPs a byte, so it {}.",
            engineering(flops, "FLOP"),
            engineering(bytes, "B"),
            significant(trade.price(), 4),
            if trade.pays(roofline) {
                "pays"
            } else {
                "does not pay"
            },
        )?;
    }
    writeln!(
        out,
        "Times are lower bounds: peak rates, arithmetic and traffic overlapped, one pass a step."
    )?;
    Ok(())
}
