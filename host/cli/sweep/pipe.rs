//! `--pipe`: what does the arithmetic.

use crate::cli::error::CliError;
use crate::device::DeviceInfo;
use crate::kernels::KernelId;
use crate::roofline::pipe::Pipe;
use std::str::FromStr;

/// The pipes that were asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pipes {
    /// These, in the order given.
    Named(Vec<Pipe>),
    /// All that the device has.
    All,
}

impl FromStr for Pipes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Pipes::All);
        }
        let mut named = Vec::new();
        for name in text.split(',') {
            let pipe: Pipe = name.parse().map_err(|error| format!("{error}; or all"))?;
            if !named.contains(&pipe) {
                named.push(pipe);
            }
        }
        Ok(Pipes::Named(named))
    }
}

/// The pipes on which a kernel is measured on a device: its own if none were asked for.
///
/// # Errors
/// [`CliError::Usage`]: one that the kernel does not compute on there.
pub fn of(given: Option<&Pipes>, id: KernelId, info: &DeviceInfo) -> Result<Vec<Pipe>, CliError> {
    let has = id.kernel().pipes(info);
    match given {
        None => Ok(vec![id.kernel().pipe()]),
        Some(Pipes::All) => Ok(has),
        Some(Pipes::Named(named)) => match named.iter().find(|pipe| !has.contains(pipe)) {
            None => Ok(named.clone()),
            Some(missing) => {
                let has: Vec<&str> = has.into_iter().map(Pipe::id).collect();
                Err(CliError::Usage(format!(
                    "--pipe {missing}: {} has no kernel for it on {}; allowed there: {}, all",
                    id.name(),
                    info.name,
                    has.join(", ")
                )))
            }
        },
    }
}

/// Those of the variants that a kernel has on a pipe.
///
/// # Errors
/// [`CliError::Usage`] if it has none of them there.
pub fn variants(
    id: KernelId,
    pipe: Pipe,
    info: &DeviceInfo,
    chosen: &[&'static str],
) -> Result<Vec<&'static str>, CliError> {
    let has = id.kernel().variants_on_pipe(pipe, info);
    let has: Vec<&'static str> = has.into_iter().map(|variant| variant.name).collect();
    let found: Vec<&'static str> = has
        .iter()
        .copied()
        .filter(|name| chosen.contains(name))
        .collect();
    match found.is_empty() {
        false => Ok(found),
        true => Err(CliError::Usage(format!(
            "--variant {}: {} does not have it on {pipe}; allowed there: {}",
            chosen.join(", "),
            id.name(),
            has.join(", ")
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::vm::{Target, describe};

    #[test]
    fn pipes_are_named_or_all() {
        assert_eq!("all".parse(), Ok(Pipes::All));
        assert_eq!(
            "bf16,fp8,bf16".parse(),
            Ok(Pipes::Named(vec![Pipe::Bf16, Pipe::Fp8]))
        );
        for text in ["", "bf61", "bf16,,fp8"] {
            let error = text.parse::<Pipes>().unwrap_err();
            assert!(
                error.contains("fp64-tensor") && error.ends_with("or all"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_pipe_that_a_kernel_does_not_have_is_refused_with_those_it_has() {
        let ampere = describe(Target::Sm80);
        let fp8 = Pipes::Named(vec![Pipe::Fp8]);
        let error = of(Some(&fp8), KernelId::Fma, &ampere)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("--pipe fp8") && error.contains("fp64-tensor, tf32, bf16"),
            "{error}"
        );
        let hopper = describe(Target::Sm90a);
        assert_eq!(of(Some(&fp8), KernelId::Fma, &hopper).unwrap(), [Pipe::Fp8]);
        assert_eq!(
            of(Some(&Pipes::All), KernelId::Fma, &hopper).unwrap().len(),
            8
        );
        assert_eq!(
            of(Some(&Pipes::All), KernelId::Sgemm, &hopper).unwrap(),
            [Pipe::Fp32]
        );
        assert_eq!(of(None, KernelId::Fma, &hopper).unwrap(), [Pipe::Fp32]);
    }

    #[test]
    fn other_pipes_than_its_own_have_the_default_variant_alone() {
        let hopper = describe(Target::Sm90a);
        let on = |pipe, chosen: &[&'static str]| variants(KernelId::Fma, pipe, &hopper, chosen);
        assert_eq!(
            on(Pipe::Fp32, &["ilp1w1", "chains"]).unwrap(),
            ["ilp1w1", "chains"]
        );
        assert_eq!(on(Pipe::Bf16, &["ilp1w1", "chains"]).unwrap(), ["chains"]);
        let error = on(Pipe::Bf16, &["ilp1w1"]).unwrap_err().to_string();
        assert!(
            error.contains("ilp1w1") && error.contains("on bf16; allowed there: chains"),
            "{error}"
        );
    }
}
