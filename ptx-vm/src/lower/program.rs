//! What lowering a kernel yields.

use super::names::Files;
use crate::ir::Op;
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
    pub bounds: Bounds,
    /// Whether shared memory is accessed in units smaller than 4 bytes.
    pub narrow_shared: bool,
}

/// Launch bounds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bounds {
    /// `.maxntid` as a number of threads.
    pub max_threads: Option<u32>,
    /// `.reqntid` per axis.
    pub block: Option<[u32; 3]>,
    /// `.reqnctapercluster` per axis.
    pub cluster: Option<[u32; 3]>,
}

/// The launch bounds among a kernel's performance directives.
pub(super) fn bounds(function: &Function) -> Bounds {
    let mut bounds = Bounds::default();
    for (name, values) in &function.directives {
        let mut shape = [1; 3];
        shape.iter_mut().zip(values).for_each(|(b, v)| *b = *v);
        match name.as_str() {
            ".maxntid" => {
                bounds.max_threads = shape.iter().try_fold(1u32, |a, b| a.checked_mul(*b))
            }
            ".reqntid" => bounds.block = Some(shape),
            ".reqnctapercluster" => bounds.cluster = Some(shape),
            _ => {}
        }
    }
    bounds
}
