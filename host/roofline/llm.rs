//! A language model on a roofline: decode, prefill, batch, and trades of bytes for FLOPs.
//!
//! One pass over the weights reads every parameter once and performs two FLOPs (one FMA) per
//! parameter and token position. Decode has one position per sequence, so a batch of B
//! sequences has an intensity of 2B / (bytes per parameter); prefill has as many positions as
//! the prompt has tokens. A step's time is the longer of arithmetic and traffic: both are
//! assumed to overlap perfectly and to run at peak, so it is a lower bound.

use super::model::{Bound, Roofline};
use std::fmt;

/// FLOPs per parameter and token position: one fused multiply-add.
pub const FLOPS_PER_PARAMETER: f64 = 2.0;

/// Far above any model, far below where a float's arithmetic overflows.
const MAX_PARAMETERS: f64 = 1e18;

/// What the model is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// [`Model::parameters`].
    Parameters,
    /// [`Model::bytes_per_parameter`].
    BytesPerParameter,
    /// [`Model::dequantise_flops`].
    DequantiseFlops,
    /// [`KvCache::bytes_per_element`].
    KvBytes,
    /// Sequences of a step.
    Batch,
    /// Tokens of a prompt.
    Prompt,
    /// [`Speculation::acceptance`].
    Acceptance,
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Input::Parameters => "the number of parameters",
            Input::BytesPerParameter => "bytes per parameter",
            Input::DequantiseFlops => "dequantisation FLOPs",
            Input::KvBytes => "bytes per cached element",
            Input::Batch => "the batch",
            Input::Prompt => "the prompt",
            Input::Acceptance => "the acceptance rate",
        })
    }
}

/// An input for which the model says nothing.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{what} is {given}; it must be {allowed}")]
pub struct LlmError {
    /// Which input.
    pub what: Input,
    /// Its value.
    pub given: f64,
    /// What it may be.
    pub allowed: &'static str,
}

/// A dense transformer, as far as its time per token depends on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Parameters that a token passes through (the active ones, of a mixture of experts).
    pub parameters: f64,
    /// Bytes per stored parameter: 2 for 16-bit weights, 0.5 for 4-bit ones.
    pub bytes_per_parameter: f64,
    /// FLOPs to decode one stored parameter, once per pass: what quantised or compressed
    /// weights cost.
    pub dequantise_flops: f64,
    /// The attention's keys and values; `None` leaves attention out, as the lecture does.
    pub kv: Option<KvCache>,
}

/// Keys and values of the attention layers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KvCache {
    /// Attention layers.
    pub layers: u32,
    /// Query heads per layer.
    pub query_heads: u32,
    /// Key-value heads per layer; fewer than the query heads with grouped queries.
    pub kv_heads: u32,
    /// Elements per head.
    pub head_dim: u32,
    /// Bytes per stored element.
    pub bytes_per_element: f64,
}

impl KvCache {
    /// Bytes that one token adds: a key and a value per layer and key-value head.
    #[must_use]
    pub fn bytes_per_token(&self) -> f64 {
        let elements = f64::from(self.layers) * f64::from(self.kv_heads) * f64::from(self.head_dim);
        2.0 * elements * self.bytes_per_element
    }

    /// Attention FLOPs of one query position per token that it attends to: an FMA per element
    /// for the scores and one for the weighted values.
    #[must_use]
    pub fn flops_per_pair(&self) -> f64 {
        4.0 * f64::from(self.layers) * f64::from(self.query_heads) * f64::from(self.head_dim)
    }
}

/// Several tokens per pass: speculative decoding or multi-token prediction.
///
/// The cost of drafting is left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speculation {
    /// Tokens drafted per pass; 0 is plain decoding.
    pub draft: u32,
    /// Probability that a drafted token is accepted, 0 to 1.
    pub acceptance: f64,
}

impl Speculation {
    /// Plain decoding: one token per pass over the weights.
    pub const NONE: Speculation = Speculation {
        draft: 0,
        acceptance: 0.0,
    };

    /// Token positions that a pass computes.
    #[must_use]
    pub fn positions(&self) -> f64 {
        f64::from(self.draft) + 1.0
    }

    /// Expected tokens per pass: 1 + a + ... + a^draft (Leviathan, Kalman, Matias, "Fast
    /// inference from transformers via speculative decoding", ICML 2023, equation 1).
    #[must_use]
    pub fn tokens_per_pass(&self) -> f64 {
        (0..=self.draft.min(i32::MAX as u32))
            .map(|i| self.acceptance.powi(i as i32))
            .sum()
    }
}

/// One pass over the weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// FLOPs.
    pub flops: f64,
    /// Bytes from device memory.
    pub bytes: f64,
    /// FLOPs at the peak rate, s.
    pub arithmetic_s: f64,
    /// Bytes at the peak bandwidth, s.
    pub memory_s: f64,
    /// Tokens that come out, over the whole batch; for a prefill, those that go in.
    pub tokens: f64,
}

impl Step {
    fn new(flops: f64, bytes: f64, tokens: f64, roofline: &Roofline) -> Step {
        Step {
            flops,
            bytes,
            tokens,
            arithmetic_s: flops / roofline.peak_flop_per_s,
            memory_s: bytes / roofline.peak_byte_per_s,
        }
    }

    /// Arithmetic intensity, FLOP/byte.
    #[must_use]
    pub fn intensity(&self) -> f64 {
        self.flops / self.bytes
    }

    /// Time of the pass, s.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.arithmetic_s.max(self.memory_s)
    }

    /// Throughput over the whole batch, tokens/s.
    #[must_use]
    pub fn tokens_per_s(&self) -> f64 {
        self.tokens / self.seconds()
    }

    /// Which of the two takes longer.
    #[must_use]
    pub fn bound(&self) -> Bound {
        if self.arithmetic_s < self.memory_s {
            Bound::Memory
        } else {
            Bound::Compute
        }
    }

    /// The bandwidth at which this pass would be compute-bound, byte/s.
    #[must_use]
    pub fn compute_bound_byte_per_s(&self) -> f64 {
        self.bytes / self.arithmetic_s
    }
}

impl Model {
    /// A dense model without attention terms, as the lecture has it.
    #[must_use]
    pub fn dense(parameters: f64, bytes_per_parameter: f64) -> Self {
        Model {
            parameters,
            bytes_per_parameter,
            dequantise_flops: 0.0,
            kv: None,
        }
    }

    /// Bytes of all weights.
    #[must_use]
    pub fn weight_bytes(&self) -> f64 {
        self.parameters * self.bytes_per_parameter
    }

    /// One decode step of `batch` sequences that each have `context` tokens behind them.
    ///
    /// # Errors
    /// [`LlmError`] for a parameter count, width, batch or acceptance out of range.
    pub fn decode(
        &self,
        batch: u64,
        context: u64,
        speculation: Speculation,
        roofline: &Roofline,
    ) -> Result<Step, LlmError> {
        self.check(batch)?;
        let a = speculation.acceptance;
        if !(0.0..=1.0).contains(&a) {
            let allowed = "a probability from 0 to 1";
            return Err(LlmError {
                what: Input::Acceptance,
                given: a,
                allowed,
            });
        }
        let sequences = batch as f64;
        let positions = sequences * speculation.positions();
        let mut flops = self.pass_flops(positions);
        let mut bytes = self.weight_bytes();
        if let Some(kv) = self.kv {
            flops += positions * kv.flops_per_pair() * context as f64;
            // The cache is read once a sequence; every new position is written.
            bytes += kv.bytes_per_token() * (sequences * context as f64 + positions);
        }
        Ok(Step::new(
            flops,
            bytes,
            sequences * speculation.tokens_per_pass(),
            roofline,
        ))
    }

    /// The prefill of `batch` prompts of `prompt` tokens each.
    ///
    /// # Errors
    /// [`LlmError`] for a parameter count, width, batch or prompt out of range.
    pub fn prefill(&self, batch: u64, prompt: u64, roofline: &Roofline) -> Result<Step, LlmError> {
        self.check(batch)?;
        at_least_one(Input::Prompt, prompt as f64)?;
        let (sequences, length) = (batch as f64, prompt as f64);
        let tokens = sequences * length;
        let mut flops = self.pass_flops(tokens);
        let mut bytes = self.weight_bytes();
        if let Some(kv) = self.kv {
            // Causal: token i attends to i tokens. Keys and values stay on chip meanwhile.
            flops += sequences * kv.flops_per_pair() * length * (length + 1.0) / 2.0;
            bytes += kv.bytes_per_token() * tokens;
        }
        Ok(Step::new(flops, bytes, tokens, roofline))
    }

    /// The batch (a real number) from which decode is compute-bound. `None` if no batch is:
    /// every sequence brings its own cache, whose intensity may itself lie below the ridge
    /// point.
    #[must_use]
    pub fn ridge_batch(
        &self,
        context: u64,
        speculation: Speculation,
        roofline: &Roofline,
    ) -> Option<f64> {
        // flops = fixed_f + B per_f and bytes = fixed_b + B per_b meet at flops = ridge bytes.
        let ridge = roofline.ridge();
        let positions = speculation.positions();
        let context = context as f64;
        let (kv_flops, kv_bytes) = self.kv.map_or((0.0, 0.0), |kv| {
            let bytes = kv.bytes_per_token() * (context + positions);
            (positions * kv.flops_per_pair() * context, bytes)
        });
        let per_sequence =
            FLOPS_PER_PARAMETER * self.parameters * positions + kv_flops - ridge * kv_bytes;
        let fixed = ridge * self.weight_bytes() - self.parameters * self.dequantise_flops;
        (per_sequence > 0.0).then(|| (fixed / per_sequence).max(0.0))
    }

    fn pass_flops(&self, positions: f64) -> f64 {
        self.parameters * (FLOPS_PER_PARAMETER * positions + self.dequantise_flops)
    }

    fn check(&self, batch: u64) -> Result<(), LlmError> {
        let parameters = self.parameters;
        if !(1.0..=MAX_PARAMETERS).contains(&parameters) {
            let allowed = "from 1 to 1e18";
            return Err(LlmError {
                what: Input::Parameters,
                given: parameters,
                allowed,
            });
        }
        at_least_one(Input::Batch, batch as f64)?;
        let width = self.bytes_per_parameter;
        if !(width.is_finite() && width > 0.0) {
            let allowed = "above 0, such as 2, 1 or 0.5";
            return Err(LlmError {
                what: Input::BytesPerParameter,
                given: width,
                allowed,
            });
        }
        let extra = self.dequantise_flops;
        if !(extra.is_finite() && extra >= 0.0) {
            let allowed = "0 or more";
            return Err(LlmError {
                what: Input::DequantiseFlops,
                given: extra,
                allowed,
            });
        }
        match self.kv {
            Some(kv) if !(kv.bytes_per_element.is_finite() && kv.bytes_per_element > 0.0) => {
                let given = kv.bytes_per_element;
                let allowed = "above 0, such as 2 or 1";
                Err(LlmError {
                    what: Input::KvBytes,
                    given,
                    allowed,
                })
            }
            _ => Ok(()),
        }
    }
}

fn at_least_one(what: Input, given: f64) -> Result<(), LlmError> {
    if given.is_finite() && given >= 1.0 {
        Ok(())
    } else {
        Err(LlmError {
            what,
            given,
            allowed: "1 or more",
        })
    }
}

/// FLOPs spent to move fewer bytes: recomputation, compression, fusion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trade {
    /// FLOPs added.
    pub flops_added: f64,
    /// Bytes no longer moved.
    pub bytes_saved: f64,
}

impl Trade {
    /// Recomputing an intermediate result instead of storing it: it would have been written
    /// once and read once (gradient checkpointing).
    #[must_use]
    pub fn recompute(flops: f64, stored_bytes: f64) -> Trade {
        Trade {
            flops_added: flops,
            bytes_saved: 2.0 * stored_bytes,
        }
    }

    /// FLOPs per byte saved. The trade pays for memory-bound work while this is below the
    /// ridge point: there the extra arithmetic takes less time than the bytes did.
    #[must_use]
    pub fn price(&self) -> f64 {
        self.flops_added / self.bytes_saved
    }

    /// Whether the FLOPs, even if nothing hides them, cost less time than the bytes.
    #[must_use]
    pub fn pays(&self, roofline: &Roofline) -> bool {
        self.price() < roofline.ridge()
    }
}

#[cfg(test)]
#[path = "llm_tests.rs"]
mod tests;
