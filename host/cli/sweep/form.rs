//! `--batch`, `--beta` and `--out-type`: what a matrix product is besides its size.

use super::args::{BetaArg, OutTypeArg, SweepArgs};
use crate::cli::error::CliError;
use crate::device::{DeviceInfo, Element};
use crate::kernels::{Form, KernelId, Problem, bench};
use std::str::FromStr;

/// Least bytes of the operands of a batch that `auto` chooses: 2 GiB.
const AUTO_BYTES: u64 = 2 << 30;

/// Least bytes of the operands of a batch that `auto` chooses, over those of the last-level cache.
const AUTO_CACHES: u64 = 16;

/// `--batch`: independent products a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batch {
    /// So many.
    Count(u64),
    /// Enough to fill the device with products that no cache holds.
    Auto,
}

impl FromStr for Batch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Batch::Auto),
            _ => match text.parse() {
                Ok(count) if count > 0 => Ok(Batch::Count(count)),
                _ => Err("give a number of products from 1 on, or auto".to_owned()),
            },
        }
    }
}

/// The three flags as they were given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FormArgs {
    /// `--batch`.
    pub batch: Option<Batch>,
    /// `--beta`.
    pub reads_c: Option<bool>,
    /// `--out-type`.
    pub out: Option<Element>,
}

impl FormArgs {
    /// Takes them from the command line, for kernels that know them.
    ///
    /// # Errors
    /// [`CliError::Usage`]: a kernel that has no such form.
    pub fn parse(args: &SweepArgs, kernels: &[KernelId]) -> Result<Self, CliError> {
        let given = FormArgs {
            batch: args.batch,
            reads_c: args.beta.map(|beta| beta == BetaArg::One),
            out: args.out_type.map(|out| match out {
                OutTypeArg::F32 => Element::F32,
                OutTypeArg::Bf16 => Element::Bf16,
            }),
        };
        given.check_all(kernels)?;
        Ok(given)
    }

    /// Products a launch alone, for commands that know no other form.
    ///
    /// # Errors
    /// [`CliError::Usage`]: a kernel that takes no batches.
    pub fn of_batch(batch: u64, kernels: &[KernelId]) -> Result<Form, CliError> {
        let given = FormArgs {
            batch: Some(Batch::Count(batch)),
            ..FormArgs::default()
        };
        given.check_all(kernels)?;
        Ok(Form {
            batch,
            ..Form::default()
        })
    }

    fn check_all(&self, kernels: &[KernelId]) -> Result<(), CliError> {
        kernels.iter().try_for_each(|id| self.check(*id))
    }

    fn check(&self, id: KernelId) -> Result<(), CliError> {
        let kernel = id.kernel();
        let with = |has: &dyn Fn(KernelId) -> bool| {
            let names = KernelId::ALL.into_iter().filter(|id| has(*id));
            names.map(KernelId::name).collect::<Vec<_>>().join(", ")
        };
        let refused = |flag: &str, names: String| {
            let name = id.name();
            Err(CliError::Usage(format!(
                "{flag}: {name} does not take it; it is for {names}. Leave {flag} or {name} out"
            )))
        };
        let other_batch = !matches!(self.batch, None | Some(Batch::Count(1)));
        if other_batch && !kernel.batches() {
            return refused("--batch", with(&|id| id.kernel().batches()));
        }
        let betas = kernel.betas();
        if self
            .reads_c
            .is_some_and(|reads_c| !betas.contains(&reads_c))
        {
            let has = |id: KernelId| id.kernel().betas().len() > 1;
            return refused("--beta", with(&has));
        }
        if let Some(out) = self.out
            && !kernel.outputs().contains(&out)
        {
            let has = |id: KernelId| id.kernel().outputs().contains(&out);
            return refused(&format!("--out-type {}", out.name()), with(&has));
        }
        Ok(())
    }

    /// The form of `problem`, whose own form is that of one product.
    ///
    /// # Errors
    /// [`CliError::Usage`]: operands whose bytes do not fit in 64 bits.
    pub fn of(&self, problem: &Problem, info: &DeviceInfo) -> Result<Form, CliError> {
        let kernel = problem.kernel.kernel();
        let one = Form {
            batch: 1,
            reads_c: self.reads_c.or(kernel.betas().first().copied()) == Some(true),
            out: self.out,
            pipe: problem.form.pipe,
        };
        let batch = match self.batch {
            None => 1,
            Some(Batch::Count(count)) => count,
            Some(Batch::Auto) => {
                let single = Problem {
                    form: one,
                    ..problem.clone()
                };
                let (read, written) = bench::bytes_moved(&single, info)
                    .map_err(|error| CliError::Usage(format!("--batch auto: {error}")))?;
                let least = AUTO_BYTES.max(AUTO_CACHES * info.cache_bytes.unwrap_or(0));
                least.div_ceil(read.saturating_add(written).max(1))
            }
        };
        Ok(Form { batch, ..one })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_a_number_or_auto() {
        assert_eq!("auto".parse(), Ok(Batch::Auto));
        assert_eq!("12".parse(), Ok(Batch::Count(12)));
        for text in ["0", "-1", "1.5", "all", ""] {
            let error = text.parse::<Batch>().unwrap_err();
            assert!(error.contains("auto"), "{error}");
        }
    }
}
