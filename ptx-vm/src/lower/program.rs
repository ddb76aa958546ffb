//! What lowering a kernel yields.

use super::names::Files;
use crate::ir::Op;
use crate::parse::ParseError;
use crate::parse::ast::Function;

/// A parameter of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parameter {
    pub name: String,
    pub offset: u32,
    pub bytes: u32,
}

/// A kernel ready to run.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub code: Vec<Op>,
    pub files: Files,
    pub parameters: Vec<Parameter>,
    pub parameter_bytes: u32,
    /// Where dynamic shared memory starts.
    pub dynamic_shared: u32,
    /// Bytes of local memory per thread.
    pub local_bytes: u32,
    /// `.maxntid` as a number of threads, `.reqntid` per axis.
    pub max_threads: Option<u32>,
    pub required_block: Option<[u32; 3]>,
    /// Whether shared memory is accessed in units smaller than 4 bytes.
    pub narrow_shared: bool,
}

/// The launch bounds among a kernel's performance directives.
pub(super) fn bounds(function: &Function) -> Result<(Option<u32>, Option<[u32; 3]>), ParseError> {
    let (mut max_threads, mut required) = (None, None);
    for (name, values) in &function.directives {
        let mut block = [1; 3];
        block.iter_mut().zip(values).for_each(|(b, v)| *b = *v);
        match name.as_str() {
            ".maxntid" => max_threads = block.iter().try_fold(1u32, |a, b| a.checked_mul(*b)),
            ".reqntid" => required = Some(block),
            ".reqnctapercluster" if block != [1; 3] => {
                return Err(ParseError::new(
                    function.position,
                    "clusters are not supported",
                ));
            }
            _ => {}
        }
    }
    Ok((max_threads, required))
}
