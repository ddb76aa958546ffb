//! A PTX module that can be run.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::lower::{self, Globals, Program};
use crate::memory::{Memory, Ptr};
use crate::parse::ast::{Ast, Operand, Variable};
use crate::parse::{self, ParseError};

/// Where the variables of modules lie: each module has 4 GiB of addresses, above all allocations.
const VARIABLES: u64 = 0x4000_0000_0000;

/// Number of the next module, so that two modules never share addresses.
static MODULES: AtomicU64 = AtomicU64::new(0);

/// A variable of the module in global or constant memory.
#[derive(Debug, Clone)]
struct Global {
    name: String,
    address: u64,
    /// Initial bytes; what they leave of the size is zero.
    initial: Vec<u8>,
    size: usize,
    read_only: bool,
}

/// A parsed PTX module. Kernels that use something unsupported are part of it: running such a
/// kernel, or [`check`](Self::check), says what is missing.
#[derive(Debug, Clone)]
pub struct Module {
    ast: Ast,
    lines: Vec<String>,
    kernels: HashMap<String, Result<Program, ParseError>>,
    order: Vec<String>,
    globals: Vec<Global>,
}

impl Module {
    /// Parses PTX and prepares its kernels.
    ///
    /// # Errors
    /// The first thing in the text that is not PTX as this crate knows it, with line and column.
    pub fn parse(source: &str) -> Result<Self, ParseError> {
        let ast = parse::parse(source)?;
        let with_text = |error: ParseError| error.with_text(source);
        if ast.address_size != 64 {
            let message = format!(
                "addresses of {} bits; only `.address_size 64` is supported",
                ast.address_size
            );
            return Err(ParseError::new(
                parse::Position { line: 1, column: 1 },
                message,
            ));
        }
        let globals = globals(&ast).map_err(with_text)?;
        let addresses: Globals = globals
            .iter()
            .map(|g| (g.name.clone(), g.address))
            .collect();
        let (mut kernels, mut order) = (HashMap::new(), Vec::new());
        for function in ast
            .functions
            .iter()
            .filter(|f| f.is_entry && f.body.is_some())
        {
            let program = lower::lower(&ast, &addresses, function).map_err(with_text);
            order.push(function.name.clone());
            kernels.insert(function.name.clone(), program);
        }
        let lines = source.lines().map(|line| line.trim().to_string()).collect();
        Ok(Self {
            ast,
            lines,
            kernels,
            order,
            globals,
        })
    }

    /// Names of the kernels in the order of the text.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.order.iter().map(String::as_str)
    }

    /// Whether a kernel can be run.
    ///
    /// # Errors
    /// What the kernel uses that is not supported. A kernel that does not exist is no error here.
    pub fn check(&self, kernel: &str) -> Result<(), ParseError> {
        match self.kernels.get(kernel) {
            Some(Err(error)) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// The syntax tree.
    #[must_use]
    pub fn ast(&self) -> &Ast {
        &self.ast
    }

    /// Line `line` of the text, from 1, trimmed; empty outside.
    #[must_use]
    pub fn line(&self, line: u32) -> &str {
        (line as usize)
            .checked_sub(1)
            .and_then(|i| self.lines.get(i))
            .map_or("", String::as_str)
    }

    /// Address of a module variable in global or constant memory, valid after the first run of
    /// one of the module's kernels with that memory.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<Ptr> {
        self.globals
            .iter()
            .find(|g| g.name == name)
            .map(|g| Ptr(g.address))
    }

    pub(crate) fn program(&self, kernel: &str) -> Option<&Result<Program, ParseError>> {
        self.kernels.get(kernel)
    }

    /// Puts the module's variables into memory, if this is the first time.
    pub(crate) fn place(&self, memory: &mut Memory) {
        for global in &self.globals {
            if memory.has(global.address) {
                continue;
            }
            let mut bytes = global.initial.clone();
            bytes.resize(global.size, 0);
            memory.insert_variable(&global.name, global.address, &bytes, global.read_only);
        }
    }
}

/// Lays out the module's global and constant variables.
fn globals(ast: &Ast) -> Result<Vec<Global>, ParseError> {
    let mut next = VARIABLES + (MODULES.fetch_add(1, Relaxed) << 32);
    let mut out = Vec::new();
    for variable in ast.variables.iter().filter(|v| v.space != "shared") {
        let fail = |message: String| Err(ParseError::new(variable.position, message));
        if variable.is_extern {
            return fail(format!("`{}` is defined in another module", variable.name));
        }
        let (bytes, align) = lower::layout(variable)?;
        let address = next.next_multiple_of(u64::from(align.max(16)));
        next = address + u64::from(bytes) + 256;
        let read_only = variable.space == "const";
        out.push(Global {
            name: variable.name.clone(),
            address,
            initial: initial(variable, bytes as usize)?,
            size: bytes as usize,
            read_only,
        });
    }
    Ok(out)
}

/// The initial bytes that are given.
fn initial(variable: &Variable, bytes: usize) -> Result<Vec<u8>, ParseError> {
    let fail = |message: &str| Err(ParseError::new(variable.position, message));
    let size = crate::ir::Ty::parse(&variable.ty).map_or(1, |ty| ty.bytes() as usize);
    let mut out = Vec::new();
    for value in &variable.init {
        let bits = match (value, variable.ty.as_str()) {
            (Operand::Int(value), "f32") => u64::from((*value as f32).to_bits()),
            (Operand::Int(value), "f64") => (*value as f64).to_bits(),
            (Operand::Int(value), _) => *value as u64,
            (Operand::F32(bits), _) => u64::from(*bits),
            (Operand::F64(bits), "f32") => u64::from((f64::from_bits(*bits) as f32).to_bits()),
            (Operand::F64(bits), _) => *bits,
            _ => return fail("only numbers are supported as initial values"),
        };
        out.extend_from_slice(&bits.to_le_bytes()[..size]);
    }
    if out.len() > bytes {
        return fail("more initial values than elements");
    }
    Ok(out)
}
