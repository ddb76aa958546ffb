//! Statements, instructions and operands of a function body.

use super::ast::{Instruction, Operand, Statement};
use super::lexer::{self, Token};
use super::{ParseError, Parser};

impl Parser<'_> {
    /// Statements after `{`, up to and including `}`.
    pub(super) fn body(&mut self) -> Result<Vec<Statement>, ParseError> {
        self.enter()?;
        let mut out = Vec::new();
        loop {
            let position = self.position();
            match self.peek() {
                Token::Punct('}') => {
                    self.next();
                    self.leave();
                    return Ok(out);
                }
                Token::Punct('{') => {
                    self.next();
                    out.push(Statement::Block(self.body()?));
                }
                Token::Punct(';') => {
                    self.next();
                }
                Token::Punct('@') => out.push(self.instruction()?),
                Token::Word(".loc") => {
                    self.next();
                    self.loc()?;
                }
                Token::Word(".file") => {
                    self.next();
                    self.file()?;
                }
                Token::Word(".pragma") => {
                    self.next();
                    self.pragma()?;
                }
                Token::Word(
                    space @ (".reg" | ".local" | ".shared" | ".param" | ".global" | ".const"),
                ) => {
                    self.next();
                    out.extend(self.variables(space)?.into_iter().map(Statement::Variable));
                }
                Token::Word(word) if word.starts_with('.') => {
                    return self.error(format!("directive `{word}` is not supported here"));
                }
                Token::Word(word) if self.peek_second() == Token::Punct(':') => {
                    self.next();
                    self.next();
                    if self.take_word(".branchtargets") {
                        let mut targets = vec![self.name()?];
                        while self.take(',') {
                            targets.push(self.name()?);
                        }
                        self.expect(';')?;
                        out.push(Statement::BranchTargets(
                            word.to_string(),
                            targets,
                            position,
                        ));
                    } else {
                        out.push(Statement::Label(word.to_string(), position));
                    }
                }
                Token::Word(_) => out.push(self.instruction()?),
                _ => return self.expected("an instruction, a label, a declaration or `}`"),
            }
        }
    }

    fn instruction(&mut self) -> Result<Statement, ParseError> {
        let guard = if self.take('@') {
            let negated = self.take('!');
            Some((negated, self.name()?))
        } else {
            None
        };
        let position = self.position();
        let word = self.word("an opcode")?;
        let mut parts = word.split('.');
        let opcode = parts.next().unwrap_or("").to_string();
        let modifiers: Vec<String> = parts.map(str::to_string).collect();
        if opcode.is_empty() || modifiers.iter().any(String::is_empty) {
            return Err(ParseError::new(
                position,
                format!("`{word}` is not an opcode"),
            ));
        }
        let mut operands = Vec::new();
        while !self.take(';') {
            operands.push(self.operand()?);
            if !self.take(',') && self.peek() != Token::Punct(';') {
                return self.expected("`,` or `;`");
            }
        }
        Ok(Statement::Instruction(Instruction {
            position,
            guard,
            opcode,
            modifiers,
            operands,
        }))
    }

    pub(super) fn operand(&mut self) -> Result<Operand, ParseError> {
        self.enter()?;
        let operand = self.operand_inside();
        self.leave();
        operand
    }

    fn operand_inside(&mut self) -> Result<Operand, ParseError> {
        match self.peek() {
            Token::Punct('!') => {
                self.next();
                Ok(Operand::Not(self.name()?))
            }
            Token::Punct('{') => {
                self.next();
                Ok(Operand::Vector(self.operands('}')?))
            }
            Token::Punct('(') => {
                self.next();
                Ok(Operand::List(self.operands(')')?))
            }
            Token::Punct('[') => {
                self.next();
                self.address()
            }
            Token::Punct('-') => {
                self.next();
                match self.literal()? {
                    Operand::Int(value) => Ok(Operand::Int(-value)),
                    Operand::F64(bits) => Ok(Operand::F64(bits ^ (1 << 63))),
                    _ => self.error("a minus sign before a hexadecimal float"),
                }
            }
            Token::Number(_) => self.literal(),
            Token::Word(_) => {
                let name = self.name()?;
                if self.take('|') {
                    Ok(Operand::Pair(name, self.name()?))
                } else if self.peek() == Token::Punct('+') {
                    Ok(Operand::Offset(name, self.offset()?))
                } else {
                    Ok(Operand::Word(name))
                }
            }
            _ => self.expected("an operand"),
        }
    }

    fn operands(&mut self, close: char) -> Result<Vec<Operand>, ParseError> {
        let mut out = Vec::new();
        while !self.take(close) {
            out.push(self.operand()?);
            if !self.take(',') && self.peek() != Token::Punct(close) {
                return self.expected(&format!("`,` or `{close}`"));
            }
        }
        Ok(out)
    }

    /// `+n` or `+-n`, repeated.
    fn offset(&mut self) -> Result<i64, ParseError> {
        let mut total = 0i128;
        while self.take('+') {
            total += self.integer()?;
            if total.unsigned_abs() > i64::MAX as u128 {
                return self.error("offset does not fit 64 bits");
            }
        }
        Ok(total as i64)
    }

    fn address(&mut self) -> Result<Operand, ParseError> {
        let base = match self.peek() {
            Token::Word(_) => Operand::Word(self.name()?),
            _ => self.literal()?,
        };
        let offset = self.offset()?;
        let mut coordinates = Vec::new();
        while self.take(',') {
            coordinates.push(self.operand()?);
        }
        self.expect(']')?;
        Ok(Operand::Address {
            base: Box::new(base),
            offset,
            coordinates,
        })
    }

    fn literal(&mut self) -> Result<Operand, ParseError> {
        let Token::Number(text) = self.peek() else {
            return self.expected("a number");
        };
        let value = match text.as_bytes() {
            [b'0', b'f' | b'F', digits @ ..] if digits.len() == 8 => {
                u32::from_str_radix(&text[2..], 16).ok().map(Operand::F32)
            }
            [b'0', b'd' | b'D', digits @ ..] if digits.len() == 16 => {
                u64::from_str_radix(&text[2..], 16).ok().map(Operand::F64)
            }
            _ => lexer::integer(text).map(Operand::Int).or_else(|| {
                let fraction = text.contains(['.', 'e', 'E']) && !text.starts_with("0x");
                fraction
                    .then(|| text.parse::<f64>().ok())?
                    .map(|v| Operand::F64(v.to_bits()))
            }),
        };
        match value {
            Some(value) => {
                self.next();
                Ok(value)
            }
            None => self.error(format!("`{text}` is not a number")),
        }
    }
}
