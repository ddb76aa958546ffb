//! The syntax tree of a PTX module: what is written, before any meaning is attached.

use super::Position;

/// A PTX module (PTX ISA, "Directives").
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ast {
    /// `.version`, as major and minor.
    pub version: (u32, u32),
    /// `.target` specifiers: architecture first, then options such as `debug`.
    pub target: Vec<String>,
    /// `.address_size` in bits; 32 when the directive is absent.
    pub address_size: u32,
    /// Module-scope variables in order.
    pub variables: Vec<Variable>,
    /// Kernels and device functions in order, prototypes included.
    pub functions: Vec<Function>,
}

/// A kernel (`.entry`) or device function (`.func`).
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// Where its directive stands.
    pub position: Position,
    /// Its name.
    pub name: String,
    /// Whether it is an `.entry`.
    pub is_entry: bool,
    /// Return parameters of a `.func`.
    pub returns: Vec<Variable>,
    /// Parameters.
    pub parameters: Vec<Variable>,
    /// Performance directives with their values, such as `.maxntid` with `[256, 1, 1]`.
    pub directives: Vec<(String, Vec<u32>)>,
    /// Statements; `None` for a prototype.
    pub body: Option<Vec<Statement>>,
}

/// A variable in a named state space (PTX ISA, "Variable Declarations").
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// Where it is declared.
    pub position: Position,
    /// Space: `global`, `shared`, `const`, `local`, `param` or `reg`.
    pub space: String,
    /// Type without the dot, such as `b8`, `u32`, `pred`.
    pub ty: String,
    /// Alignment in bytes when given.
    pub align: Option<u32>,
    /// Name.
    pub name: String,
    /// Elements: 1 for a scalar, the product of the dimensions and of a `.v2`/`.v4` vector type
    /// for an array, 0 for an array without a size (`x[]`).
    pub elements: u64,
    /// Number of registers for `%r<N>`; `None` for a plain name.
    pub range: Option<u32>,
    /// Initial values, flattened.
    pub init: Vec<Operand>,
    /// Whether it is `.extern`.
    pub is_extern: bool,
}

/// A statement of a body.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// `name:`
    Label(String, Position),
    /// An instruction.
    Instruction(Instruction),
    /// A register or variable declaration.
    Variable(Variable),
    /// `{ … }`: a scope of names.
    Block(Vec<Statement>),
    /// `name: .branchtargets a, b;`
    BranchTargets(String, Vec<String>, Position),
}

/// An instruction as written.
#[derive(Debug, Clone, PartialEq)]
pub struct Instruction {
    /// Where its opcode stands.
    pub position: Position,
    /// Guard predicate: whether it is negated, and the register.
    pub guard: Option<(bool, String)>,
    /// Opcode without modifiers, such as `ld`.
    pub opcode: String,
    /// Modifiers in order without dots, such as `global`, `v4`, `f32`.
    pub modifiers: Vec<String>,
    /// Operands in order.
    pub operands: Vec<Operand>,
}

/// An operand as written.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// Register, special register, symbol, label, or `_`.
    Word(String),
    /// `!p`.
    Not(String),
    /// `p|q`.
    Pair(String, String),
    /// Integer literal.
    Int(i128),
    /// `0f…`: bits of an f32.
    F32(u32),
    /// `0d…` or a decimal fraction: bits of an f64.
    F64(u64),
    /// `symbol+offset` outside brackets.
    Offset(String, i64),
    /// `{a, b}`.
    Vector(Vec<Operand>),
    /// `(a, b)`: arguments or results of a call.
    List(Vec<Operand>),
    /// `[base+offset]`, with the coordinate vector of a tensor address if there is one.
    Address {
        /// Register, symbol or literal.
        base: Box<Operand>,
        /// Bytes added to it.
        offset: i64,
        /// Further operands inside the brackets.
        coordinates: Vec<Operand>,
    },
}
