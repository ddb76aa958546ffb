//! Module-level directives, variables and function headers.

use super::ast::{Ast, Function, Operand, Variable};
use super::lexer::Token;
use super::{ParseError, Parser};

/// Types that a variable may have.
const TYPES: [&str; 22] = [
    "b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16",
    "f16x2", "bf16", "bf16x2", "f32", "f64", "pred", "tf32", "u16x2",
];

/// Performance-tuning directives between a kernel's parameters and its body.
const TUNING: [&str; 11] = [
    ".maxntid",
    ".reqntid",
    ".minnctapersm",
    ".maxnctapersm",
    ".maxnreg",
    ".maxclusterrank",
    ".reqnctapercluster",
    ".explicitcluster",
    ".noreturn",
    ".blocksareclusters",
    ".abi_preserve",
];

impl Parser<'_> {
    pub(super) fn module(mut self) -> Result<Ast, ParseError> {
        let mut ast = Ast {
            address_size: 32,
            ..Ast::default()
        };
        loop {
            let position = self.position();
            match self.next() {
                Token::End => return Ok(ast),
                // nvcc writes stray semicolons after some directives.
                Token::Punct(';') => {}
                Token::Word(".version") => ast.version = self.version()?,
                Token::Word(".target") => {
                    ast.target.push(self.name()?);
                    while self.take(',') {
                        ast.target.push(self.name()?);
                    }
                }
                Token::Word(".address_size") => ast.address_size = self.unsigned()?,
                Token::Word(".file") => self.file()?,
                Token::Word(".loc") => self.loc()?,
                Token::Word(".section") => self.section()?,
                Token::Word(".pragma") => self.pragma()?,
                Token::Word(".visible" | ".weak" | ".common") => {}
                Token::Word(".extern") => match self.peek() {
                    Token::Word(".func" | ".entry") => {}
                    Token::Word(space) => {
                        self.next();
                        let mut variables = self.variables(space)?;
                        variables.iter_mut().for_each(|v| v.is_extern = true);
                        ast.variables.append(&mut variables);
                    }
                    _ => return self.expected("a state space or `.func` after `.extern`"),
                },
                Token::Word(space @ (".global" | ".shared" | ".const")) => {
                    ast.variables.append(&mut self.variables(space)?);
                }
                Token::Word(word @ (".entry" | ".func")) => {
                    ast.functions
                        .push(self.function(word == ".entry", position)?);
                }
                token => {
                    return Err(ParseError::new(
                        position,
                        format!("{token} is not a supported module directive"),
                    ));
                }
            }
        }
    }

    fn version(&mut self) -> Result<(u32, u32), ParseError> {
        if let Token::Number(text) = self.peek() {
            let parts = text
                .split_once('.')
                .and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
            if let Some(version) = parts {
                self.next();
                return Ok(version);
            }
        }
        self.expected("a version such as 7.0")
    }

    /// `.file 1 "path"[, time, size]`: debugging information, which execution does not need.
    pub(super) fn file(&mut self) -> Result<(), ParseError> {
        self.integer()?;
        match self.next() {
            Token::Text(_) => {}
            _ => return self.expected("a file name"),
        }
        while self.take(',') {
            self.integer()?;
        }
        Ok(())
    }

    /// `.loc file line column[, function_name label[+n], inlined_at file line column]`.
    pub(super) fn loc(&mut self) -> Result<(), ParseError> {
        for _ in 0..3 {
            self.integer()?;
        }
        while self.take(',') {
            match self.word("`function_name` or `inlined_at`")? {
                "function_name" => {
                    self.name()?;
                    if self.take('+') {
                        self.integer()?;
                    }
                }
                "inlined_at" => {
                    for _ in 0..3 {
                        self.integer()?;
                    }
                }
                word => return self.error(format!("`{word}` is not part of `.loc`")),
            }
        }
        Ok(())
    }

    /// `.section name { … }`: DWARF data, skipped.
    fn section(&mut self) -> Result<(), ParseError> {
        self.word("a section name")?;
        self.expect('{')?;
        loop {
            match self.next() {
                Token::Punct('}') => return Ok(()),
                Token::Punct('{') => return self.error("`{` inside a section"),
                Token::End => return self.expected("`}`"),
                _ => {}
            }
        }
    }

    /// `.pragma "text";`: a hint to the assembler.
    pub(super) fn pragma(&mut self) -> Result<(), ParseError> {
        loop {
            match self.next() {
                Token::Text(_) => {}
                _ => return self.expected("a quoted pragma"),
            }
            if !self.take(',') {
                return self.expect(';');
            }
        }
    }

    /// The declarations after a state space, up to and including the semicolon.
    pub(super) fn variables(&mut self, space: &str) -> Result<Vec<Variable>, ParseError> {
        let (mut first, vector) = self.variable_head(space)?;
        let mut out = Vec::new();
        loop {
            self.variable_name(&mut first, vector)?;
            if self.take('=') {
                first.init = self.initializer()?;
            }
            out.push(first.clone());
            if !self.take(',') {
                self.expect(';')?;
                return Ok(out);
            }
            first.init.clear();
        }
    }

    /// Alignment, vector and type: `.align 16 .v4 .f32`, in any order, and `.ptr` of a parameter.
    /// Returns the declaration without a name, and the elements of its vector type.
    fn variable_head(&mut self, space: &str) -> Result<(Variable, u64), ParseError> {
        let mut variable = Variable {
            position: self.position(),
            space: space.trim_start_matches('.').to_string(),
            ty: String::new(),
            align: None,
            name: String::new(),
            elements: 1,
            range: None,
            init: Vec::new(),
            is_extern: false,
        };
        let mut vector = 1;
        while let Token::Word(word) = self.peek() {
            match word {
                ".align" => {
                    self.next();
                    let align = self.unsigned()?;
                    if !align.is_power_of_two() {
                        return self.error(format!("alignment {align} is not a power of two"));
                    }
                    // The alignment after `.ptr` is that of the memory pointed at.
                    if variable.ty.is_empty() {
                        variable.align = Some(align);
                    }
                }
                ".v2" => {
                    self.next();
                    vector = 2;
                }
                ".v4" => {
                    self.next();
                    vector = 4;
                }
                ".ptr" | ".global" | ".shared" | ".const" | ".local" if !variable.ty.is_empty() => {
                    self.next();
                }
                _ => match word.strip_prefix('.') {
                    Some(ty) if TYPES.contains(&ty) && variable.ty.is_empty() => {
                        self.next();
                        variable.ty = ty.to_string();
                    }
                    Some(_) => {
                        return self.error(format!("`{word}` is not supported in a declaration"));
                    }
                    None => break,
                },
            }
        }
        if variable.ty.is_empty() {
            return self.expected("a type");
        }
        Ok((variable, vector))
    }

    /// `name`, `%r<N>`, `name[4][8]`, `name[]`.
    fn variable_name(&mut self, variable: &mut Variable, vector: u64) -> Result<(), ParseError> {
        variable.position = self.position();
        variable.name = self.name()?;
        variable.range = None;
        if self.take('<') {
            variable.range = Some(self.unsigned()?);
            return self.expect('>');
        }
        let mut elements = vector;
        while self.take('[') {
            let dimension = if self.peek() == Token::Punct(']') {
                0
            } else {
                u64::from(self.unsigned()?)
            };
            elements = match elements.checked_mul(dimension) {
                Some(product) if product <= u64::from(u32::MAX) => product,
                _ => return self.error("array larger than 4 GiB"),
            };
            self.expect(']')?;
        }
        variable.elements = elements;
        Ok(())
    }

    fn initializer(&mut self) -> Result<Vec<Operand>, ParseError> {
        let mut out = Vec::new();
        if self.take('{') {
            self.enter()?;
            while !self.take('}') {
                out.append(&mut self.initializer()?);
                if !self.take(',') && self.peek() != Token::Punct('}') {
                    return self.expected("`,` or `}`");
                }
            }
            self.leave();
        } else {
            out.push(self.operand()?);
        }
        Ok(out)
    }

    fn function(
        &mut self,
        is_entry: bool,
        position: super::Position,
    ) -> Result<Function, ParseError> {
        let returns = if self.take('(') {
            self.parameters()?
        } else {
            Vec::new()
        };
        let name = self.name()?;
        let parameters = if self.take('(') {
            self.parameters()?
        } else {
            Vec::new()
        };
        let mut directives = Vec::new();
        loop {
            match self.peek() {
                Token::Word(word) if TUNING.contains(&word) => {
                    self.next();
                    let mut values = Vec::new();
                    while let Token::Number(_) = self.peek() {
                        values.push(self.unsigned()?);
                        self.take(',');
                    }
                    directives.push((word.to_string(), values));
                }
                Token::Word(".pragma") => {
                    self.next();
                    self.pragma()?;
                }
                Token::Punct('{') => {
                    self.next();
                    let body = Some(self.body()?);
                    return Ok(Function {
                        position,
                        name,
                        is_entry,
                        returns,
                        parameters,
                        directives,
                        body,
                    });
                }
                Token::Punct(';') => {
                    self.next();
                    let body = None;
                    return Ok(Function {
                        position,
                        name,
                        is_entry,
                        returns,
                        parameters,
                        directives,
                        body,
                    });
                }
                _ => return self.expected("`{`, `;` or a performance directive"),
            }
        }
    }

    /// Parameters after `(`, up to and including `)`.
    fn parameters(&mut self) -> Result<Vec<Variable>, ParseError> {
        let mut out = Vec::new();
        while !self.take(')') {
            let space = self.word("`.param` or `.reg`")?;
            if space != ".param" && space != ".reg" {
                return self.error(format!("parameters in `{space}` are not supported"));
            }
            let (mut variable, vector) = self.variable_head(space)?;
            self.variable_name(&mut variable, vector)?;
            out.push(variable);
            if !self.take(',') && self.peek() != Token::Punct(')') {
                return self.expected("`,` or `)`");
            }
        }
        Ok(out)
    }
}
