//! Syntax tree to executable program: names become slots, labels become instruction indices,
//! calls are inlined, branches learn where their lanes meet again.

mod bits;
mod branch;
mod bulk;
mod call;
mod compare;
mod convert;
mod float;
mod flow;
mod integer;
mod liveness;
mod memory;
mod mods;
mod movement;
pub(crate) mod names;
mod operand;
mod program;
mod sync;
mod tensor;

use std::collections::HashMap;

use crate::count::classify;
use crate::ir::{Inst, Op, Pred};
use crate::parse::ast::{Ast, Function, Instruction, Statement, Variable};
use crate::parse::{ParseError, Position};
use mods::Mods;
use names::{Files, Name, Scopes};
use program::bounds;
pub(crate) use program::{Parameter, Program};

/// The predicate slot that is always false.
pub(crate) const FALSE: u32 = 0;

/// Instructions a kernel may have after inlining.
const MAX_CODE: usize = 1 << 20;

/// Addresses of module variables in global and constant memory.
pub(crate) type Globals = HashMap<String, u64>;

/// Bytes that a variable occupies, and its alignment.
pub(crate) fn layout(variable: &Variable) -> Result<(u32, u32), ParseError> {
    let fail = |message: String| Err(ParseError::new(variable.position, message));
    let Some(ty) = crate::ir::Ty::parse(&variable.ty) else {
        return fail(format!(
            "variables of type .{} are not supported",
            variable.ty
        ));
    };
    if variable.range.is_some() {
        return fail("ranges of variables are not supported".into());
    }
    let bytes = variable.elements * u64::from(ty.bytes());
    match u32::try_from(bytes) {
        Ok(bytes) if bytes <= 1 << 30 => {
            Ok((bytes, variable.align.unwrap_or(ty.bytes()).min(1 << 20)))
        }
        _ => fail(format!("{bytes} bytes are too many for one variable")),
    }
}

/// Lowers kernel `function` of `ast`.
pub(crate) fn lower(
    ast: &Ast,
    globals: &Globals,
    function: &Function,
) -> Result<Program, ParseError> {
    let mut lowerer = Lowerer {
        ast,
        globals,
        functions: ast
            .functions
            .iter()
            .filter(|f| f.body.is_some())
            .map(|f| (f.name.as_str(), f))
            .collect(),
        code: Vec::new(),
        files: Files::default(),
        frames: Vec::new(),
        labels: Vec::new(),
        shared: HashMap::new(),
        shared_bytes: 0,
        dynamic_align: 16,
        local_bytes: 0,
        guard: None,
        position: function.position,
        hidden: 0,
    };
    lowerer.files.new_p();
    let (parameters, parameter_bytes) = lowerer.entry(function)?;
    let mut code = flow::resolve(lowerer.code, &lowerer.labels)?;
    flow::reconvergence(&mut code);
    liveness::mark_dead_loads(&mut code, lowerer.files.r, lowerer.files.d);
    let align = lowerer.dynamic_align;
    Ok(Program {
        narrow_shared: code.iter().any(|op| classify::narrow_shared(&op.inst)),
        code,
        files: lowerer.files,
        parameters,
        parameter_bytes,
        dynamic_shared: lowerer.shared_bytes.next_multiple_of(align),
        local_bytes: lowerer.local_bytes.next_multiple_of(16),
        bounds: bounds(function),
    })
}

/// A function being lowered: the kernel, or a call inlined into it.
struct Frame {
    function: String,
    scopes: Scopes,
    /// Label behind the call; `None` in the kernel, where `ret` ends the thread.
    ret: Option<usize>,
}

struct Lowerer<'a> {
    ast: &'a Ast,
    globals: &'a Globals,
    functions: HashMap<&'a str, &'a Function>,
    code: Vec<Op>,
    files: Files,
    frames: Vec<Frame>,
    /// Instruction index of each label, once it has been passed.
    labels: Vec<Option<u32>>,
    /// Module-scope shared variables used so far; `None` is dynamic shared memory.
    shared: HashMap<&'a str, Option<u32>>,
    shared_bytes: u32,
    dynamic_align: u32,
    local_bytes: u32,
    guard: Option<Pred>,
    position: Position,
    /// Operands at the end that are a cache policy.
    hidden: usize,
}

impl<'a> Lowerer<'a> {
    fn fail<T>(&self, message: impl Into<String>) -> Result<T, ParseError> {
        Err(ParseError::new(self.position, message))
    }

    fn scopes(&mut self) -> &mut Scopes {
        // There is a frame from the first statement to the last.
        &mut self.frames.last_mut().expect("a frame").scopes
    }

    fn define(&mut self, name: &str, what: Name) -> Result<(), ParseError> {
        let position = self.position;
        self.scopes().define(name, what, position)
    }

    fn new_label(&mut self) -> usize {
        self.labels.push(None);
        self.labels.len() - 1
    }

    fn place(&mut self, label: usize) {
        self.labels[label] = Some(self.code.len() as u32);
    }

    fn emit(&mut self, inst: Inst) -> Result<(), ParseError> {
        if self.code.len() >= MAX_CODE || self.files.is_full() {
            return self.fail("the kernel is too large");
        }
        let (class, flops) = classify::classify(&inst);
        self.code.push(Op {
            inst,
            guard: self.guard,
            position: self.position,
            class,
            flops,
        });
        Ok(())
    }

    /// Lowers the kernel itself; returns its parameters and their total size.
    fn entry(&mut self, function: &'a Function) -> Result<(Vec<Parameter>, u32), ParseError> {
        self.frames.push(Frame {
            function: function.name.clone(),
            scopes: Scopes::default(),
            ret: None,
        });
        self.scopes().push();
        let mut parameters = Vec::new();
        let mut end = 0u32;
        for variable in &function.parameters {
            self.position = variable.position;
            let (bytes, align) = layout(variable)?;
            let offset = end.next_multiple_of(align);
            end = offset + bytes;
            // 32 764 bytes since PTX 8.1.
            if end > 32_764 {
                return self.fail("more than 32764 bytes of parameters");
            }
            self.define(&variable.name, Name::Param(offset))?;
            parameters.push(Parameter {
                name: variable.name.clone(),
                offset,
                bytes,
            });
        }
        match &function.body {
            Some(body) => self.block(body)?,
            None => return self.fail(format!("kernel `{}` has no body", function.name)),
        }
        // A kernel whose last statement is a branch or `ret` never gets here.
        self.guard = None;
        self.emit(Inst::Exit)?;
        Ok((parameters, end))
    }

    /// Lowers statements in a scope of their own.
    fn block(&mut self, body: &'a [Statement]) -> Result<(), ParseError> {
        self.scopes().push();
        for (name, position) in names::labels(body) {
            let label = self.new_label();
            self.scopes().define(name, Name::Label(label), position)?;
        }
        for statement in body {
            match statement {
                Statement::BranchTargets(name, targets, position) => {
                    self.position = *position;
                    self.define(name, Name::Targets(targets.clone()))?;
                }
                Statement::Variable(variable) => self.variable(variable)?,
                _ => {}
            }
        }
        for statement in body {
            match statement {
                Statement::Label(name, position) => {
                    self.position = *position;
                    if let Name::Label(label) = self.lookup(name)? {
                        self.place(label);
                    }
                }
                Statement::Block(body) => self.block(body)?,
                Statement::Instruction(instruction) => self.instruction(instruction)?,
                Statement::Variable(_) | Statement::BranchTargets(..) => {}
            }
        }
        self.scopes().pop();
        Ok(())
    }

    /// Declares a register or variable of a function.
    fn variable(&mut self, variable: &'a Variable) -> Result<(), ParseError> {
        self.position = variable.position;
        let name = match variable.space.as_str() {
            "reg" => {
                let Some(frame) = self.frames.last_mut() else {
                    return Ok(());
                };
                return frame.scopes.define_register(variable, &mut self.files);
            }
            "local" | "param" => Name::Local(self.local(variable)?),
            "shared" if variable.elements > 0 => Name::Shared(self.static_shared(variable)?),
            space => {
                return self.fail(format!(
                    "`.{space}` variables inside functions are not supported"
                ));
            }
        };
        if !variable.init.is_empty() {
            return self.fail("initial values are supported in global and constant memory only");
        }
        self.define(&variable.name, name)
    }

    /// Reserves thread-local memory.
    fn local(&mut self, variable: &Variable) -> Result<u32, ParseError> {
        let (bytes, align) = layout(variable)?;
        let at = self.local_bytes.next_multiple_of(align);
        self.local_bytes = at + bytes;
        // 512 KiB is the hardware's limit per thread (CUDA programming guide, compute capabilities).
        if self.local_bytes > 512 << 10 {
            return self.fail("more than 512 KiB of local memory per thread");
        }
        Ok(at)
    }

    fn static_shared(&mut self, variable: &Variable) -> Result<u32, ParseError> {
        let (bytes, align) = layout(variable)?;
        let at = self.shared_bytes.next_multiple_of(align);
        self.shared_bytes = at + bytes;
        if self.shared_bytes > crate::exec::MAX_SHARED {
            return self.fail("more shared memory than any device has");
        }
        Ok(at)
    }

    /// Finds a name in the function, then in the module.
    fn lookup(&mut self, name: &str) -> Result<Name, ParseError> {
        if let Some(frame) = self.frames.last_mut()
            && let Some(found) = frame.scopes.find(name, &mut self.files)
        {
            return Ok(found.clone());
        }
        if let Some(address) = self.globals.get(name) {
            return Ok(Name::Global(*address));
        }
        let ast = self.ast;
        let Some(variable) = ast
            .variables
            .iter()
            .find(|v| v.name == name && v.space == "shared")
        else {
            return self.fail(format!(
                "`{name}` is not declared, or not a supported special register"
            ));
        };
        if let Some(known) = self.shared.get(name) {
            return Ok(known.map_or(Name::DynamicShared, Name::Shared));
        }
        let at = if variable.elements == 0 {
            self.dynamic_align = self.dynamic_align.max(layout(variable)?.1);
            None
        } else if variable.is_extern {
            return self.fail(format!("`{name}` is defined in another module"));
        } else {
            Some(self.static_shared(variable)?)
        };
        self.shared.insert(&variable.name, at);
        Ok(at.map_or(Name::DynamicShared, Name::Shared))
    }

    fn instruction(&mut self, instruction: &'a Instruction) -> Result<(), ParseError> {
        self.position = instruction.position;
        self.guard = match &instruction.guard {
            None => None,
            Some((negated, name)) => match self.lookup(name)? {
                Name::Predicate(slot) => Some(Pred {
                    slot,
                    negated: *negated,
                }),
                _ => return self.fail(format!("guard `{name}` is not a predicate")),
            },
        };
        let mut mods = Mods::new(instruction);
        self.hidden = 0;
        if let "ld" | "st" | "atom" | "red" | "cp" = instruction.opcode.as_str()
            && mods.take("L2::cache_hint")
        {
            // The policy is the last operand; it changes speed, not results.
            match instruction.operands.last() {
                Some(policy) => self.d(policy, crate::ir::Ty::B64)?,
                None => return mods.fail("the cache policy is missing"),
            };
            self.hidden = 1;
        }
        self.dispatch(instruction, &mut mods)?;
        mods.finish()
    }

    /// Lowers by opcode; each family lives in a file of its own.
    fn dispatch(&mut self, i: &'a Instruction, m: &mut Mods<'_>) -> Result<(), ParseError> {
        match i.opcode.as_str() {
            "add" | "sub" | "mul" | "mad" | "fma" | "div" | "rem" | "min" | "max" | "neg"
            | "abs" => self.arithmetic(i, m),
            "sqrt" | "rcp" | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh" | "copysign"
            | "testp" => self.float(i, m),
            "and" | "or" | "xor" | "not" | "cnot" | "shl" | "shr" | "popc" | "clz" | "brev"
            | "bfind" | "bfe" | "bfi" | "prmt" | "lop3" | "shf" | "sad" | "mul24" | "mad24"
            | "dp4a" | "addc" | "subc" | "madc" => self.integer(i, m),
            "setp" | "set" | "selp" | "slct" => self.compare(i, m),
            "mov" | "cvta" | "isspacep" | "activemask" | "mapa" | "getctarank" => {
                self.movement(i, m)
            }
            "cvt" => self.convert(i, m),
            "ld" | "ldu" | "st" | "atom" | "red" | "cp" | "prefetch" | "prefetchu"
            | "createpolicy" => self.memory(i, m),
            "bar" | "barrier" | "membar" | "fence" | "shfl" | "vote" | "match" | "redux"
            | "elect" | "griddepcontrol" => self.sync(i, m),
            "bra" | "brx" | "ret" | "exit" | "trap" | "brkpt" | "nanosleep" | "pmevent" => {
                self.branch(i, m)
            }
            "ldmatrix" | "stmatrix" | "mma" | "wgmma" | "setmaxnreg" => self.tensor(i, m),
            "mbarrier" => self.mbarrier(i, m),
            "call" => self.call(i, m),
            opcode => self.fail(format!("instruction `{opcode}` is not supported")),
        }
    }

    /// The operands as an array of exactly `N`.
    fn operands<const N: usize>(
        &self,
        i: &'a Instruction,
    ) -> Result<&'a [crate::parse::ast::Operand; N], ParseError> {
        let operands = self.visible(i);
        match operands.try_into() {
            Ok(array) => Ok(array),
            Err(_) => self.fail(format!(
                "`{}` here takes {N} operands, not {}",
                i.opcode,
                operands.len()
            )),
        }
    }

    /// The operands without a cache policy.
    fn visible(&self, i: &'a Instruction) -> &'a [crate::parse::ast::Operand] {
        &i.operands[..i.operands.len() - self.hidden]
    }
}
