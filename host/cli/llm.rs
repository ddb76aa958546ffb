//! `rooftrace llm`: a language model's decode and prefill on a roofline.

use std::io::Write;

use super::render::{CommandError, Common, Format};
use crate::roofline::llm::{KvCache, Model, Speculation};
use crate::roofline::{Pipe, Roofline};

mod rows;
mod story;

/// The lecture's accelerator: 10 TB/s and 1 PFLOP/s.
const LECTURE: Roofline = Roofline {
    peak_flop_per_s: 1e15,
    peak_byte_per_s: 1e13,
};

/// Decode and prefill of a language model on a roofline; without flags, the lecture's example.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  rooftrace llm
      the lecture's example: 500e9 parameters of 2 bytes, 10 TB/s, 1 PFLOP/s
  rooftrace llm --parameters 70G --gpu H100 --batch 32 --context 8192 --layers 80 --heads 64 \
--kv-heads 8 --head-dim 128
      a 70-billion-parameter model with grouped-query attention on one H100")]
pub struct LlmArgs {
    /// Parameters that each token passes through
    #[arg(long, value_name = "N", default_value = "500e9", value_parser = quantity)]
    pub parameters: f64,
    /// Bytes per stored parameter: 2 for 16-bit weights, 1 for 8-bit, 0.5 for 4-bit
    #[arg(long, value_name = "BYTES", default_value = "2", value_parser = quantity)]
    pub bytes_per_parameter: f64,
    /// Sequences decoded together
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub batch: u64,
    /// Tokens behind each sequence while it is decoded; needs the attention's shape
    #[arg(long, value_name = "TOKENS", default_value_t = 0, requires = "layers")]
    pub context: u64,
    /// Tokens of the prompt, for the prefill
    #[arg(long, value_name = "TOKENS", default_value_t = 2048)]
    pub prompt: u64,
    /// Take bandwidth and arithmetic rate from this GPU
    #[arg(long, value_name = "NAME")]
    pub gpu: Option<String>,
    /// The GPU's pipe (default: bf16); needs --gpu
    #[arg(long, value_name = "PIPE", requires = "gpu")]
    pub pipe: Option<Pipe>,
    /// Memory bandwidth in byte/s, in place of the GPU's (default without --gpu: 10T)
    #[arg(long, value_name = "BYTE/S", value_parser = rate)]
    pub bandwidth: Option<f64>,
    /// Arithmetic rate in FLOP/s, in place of the GPU's (default without --gpu: 1P)
    #[arg(long, value_name = "FLOP/S", value_parser = rate)]
    pub flops: Option<f64>,
    /// Attention layers: with --heads and --head-dim, counts the KV cache and attention
    #[arg(long, value_name = "N", requires_all = ["heads", "head_dim"],
          value_parser = clap::value_parser!(u32).range(1..))]
    pub layers: Option<u32>,
    /// Query heads per layer
    #[arg(long, value_name = "N", requires = "layers",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub heads: Option<u32>,
    /// Key-value heads per layer (default: as many as query heads)
    #[arg(long, value_name = "N", requires = "layers",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub kv_heads: Option<u32>,
    /// Elements per head
    #[arg(long, value_name = "N", requires = "layers",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub head_dim: Option<u32>,
    /// Bytes per element of the KV cache
    #[arg(long, value_name = "BYTES", default_value = "2", requires = "layers",
          value_parser = quantity)]
    pub kv_bytes: f64,
    /// FLOPs to decode one quantised parameter, once per pass over the weights
    #[arg(long, value_name = "FLOPS", default_value = "0", value_parser = quantity)]
    pub dequant_flops: f64,
    /// Tokens drafted per pass: speculative decoding or multi-token prediction
    #[arg(long, value_name = "N", default_value_t = 0, requires = "acceptance",
          value_parser = clap::value_parser!(u32).range(0..=1024))]
    pub draft: u32,
    /// Probability that a drafted token is accepted, 0 to 1
    #[arg(long, value_name = "P", default_value_t = 0.0, requires = "draft")]
    pub acceptance: f64,
    /// FLOPs to recompute an intermediate result; with --stored-bytes, says whether it pays
    #[arg(long, value_name = "FLOPS", requires = "stored_bytes", value_parser = quantity)]
    pub recompute_flops: Option<f64>,
    /// Bytes of that result, which would be written once and read once
    #[arg(long, value_name = "BYTES", requires = "recompute_flops", value_parser = quantity)]
    pub stored_bytes: Option<f64>,
    /// Common flags.
    #[command(flatten)]
    pub common: Common,
}

/// The checked arguments.
struct Plan {
    model: Model,
    roofline: Roofline,
    /// Where the roofline is from.
    source: String,
    /// The GPU's memory, byte, if it is known.
    memory_bytes: Option<u64>,
    batch: u64,
    context: u64,
    prompt: u64,
    speculation: Speculation,
}

/// Writes decode over batches and weight formats, and prefill.
///
/// # Errors
/// [`CommandError`] for a figure out of range, an unknown GPU, or a failed write.
pub fn run(args: &LlmArgs, out: &mut dyn Write) -> Result<(), CommandError> {
    let plan = plan(args)?;
    let sheet = rows::sheet(&plan)?;
    if args.common.format == Format::Table {
        story::before(&plan, out)?;
        sheet.write(Format::Table, out)?;
        return story::after(&plan, args, out);
    }
    Ok(sheet.write(args.common.format, out)?)
}

fn plan(args: &LlmArgs) -> Result<Plan, CommandError> {
    // A rate that was given is not looked up: the database may lack it.
    let (flops, bytes, mut source, memory_bytes) = match &args.gpu {
        Some(name) => {
            let database = args.common.database()?;
            let gpu = database.find(name)?;
            let pipe = args.pipe.unwrap_or(Pipe::Bf16);
            let flops = args.flops.map_or_else(|| gpu.peak(pipe), Ok)?;
            let bytes = args.bandwidth.map_or_else(|| gpu.bandwidth(), Ok)?;
            let source = format!("{}, {} {}", gpu.name, pipe.precision(), pipe.unit());
            (flops, bytes, source, gpu.memory_bytes)
        }
        None => {
            let flops = args.flops.unwrap_or(LECTURE.peak_flop_per_s);
            let bytes = args.bandwidth.unwrap_or(LECTURE.peak_byte_per_s);
            (flops, bytes, "the lecture's accelerator".to_owned(), None)
        }
    };
    if args.flops.is_some() || args.bandwidth.is_some() {
        source.push_str(", with the rates given");
    }
    let kv = match (args.layers, args.heads, args.head_dim) {
        (Some(layers), Some(query_heads), Some(head_dim)) => {
            let kv_heads = args.kv_heads.unwrap_or(query_heads);
            if kv_heads > query_heads || query_heads % kv_heads != 0 {
                return Err(CommandError::Flag {
                    flag: "--kv-heads",
                    problem: format!("{kv_heads} for {query_heads} query heads"),
                    allowed: "a divisor of --heads, as each serves equally many of them".into(),
                });
            }
            let bytes_per_element = args.kv_bytes;
            Some(KvCache {
                layers,
                query_heads,
                kv_heads,
                head_dim,
                bytes_per_element,
            })
        }
        _ => None,
    };
    Ok(Plan {
        model: Model {
            parameters: args.parameters,
            bytes_per_parameter: args.bytes_per_parameter,
            dequantise_flops: args.dequant_flops,
            kv,
        },
        roofline: Roofline::new(flops, bytes)?,
        source,
        memory_bytes,
        batch: args.batch,
        context: args.context,
        prompt: args.prompt,
        speculation: Speculation {
            draft: args.draft,
            acceptance: args.acceptance,
        },
    })
}

/// A number, with an optional decimal suffix k, M, G, T or P.
fn quantity(text: &str) -> Result<f64, String> {
    const SUFFIXES: [(char, f64); 5] =
        [('k', 1e3), ('M', 1e6), ('G', 1e9), ('T', 1e12), ('P', 1e15)];
    let stripped = SUFFIXES
        .iter()
        .find_map(|(s, scale)| Some((text.strip_suffix(*s)?, *scale)));
    let (digits, scale) = stripped.unwrap_or((text, 1.0));
    match digits.trim().parse::<f64>() {
        Ok(x) if x.is_finite() && x >= 0.0 => Ok(x * scale),
        _ => Err(
            "allowed: a number from 0 such as 500e9, 70G or 0.5; suffixes k M G T P \
                  (decimal)"
                .to_owned(),
        ),
    }
}

/// A [`quantity`] above 0.
fn rate(text: &str) -> Result<f64, String> {
    match quantity(text)? {
        rate if rate > 0.0 => Ok(rate),
        _ => Err("allowed: a rate above 0, such as 4.8T".to_owned()),
    }
}

#[cfg(test)]
#[path = "llm/tests.rs"]
mod tests;
