//! Splits PTX text into tokens with positions (PTX ISA, "Syntax").

use super::{ParseError, Position};

/// A token; words and numbers borrow the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// Identifier, directive or dotted opcode: `%r1`, `.reg`, `ld.global.v4.f32`, `L2::128B`.
    Word(&'a str),
    /// Numeric literal as written, without sign: `10`, `0x1FU`, `0f3F800000`, `7.0`.
    Number(&'a str),
    /// Quoted text, without the quotes.
    Text(&'a str),
    /// A punctuation character.
    Punct(char),
    /// End of the input.
    End,
}

impl std::fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Token::Word(s) | Token::Number(s) => write!(f, "`{s}`"),
            Token::Text(s) => write!(f, "\"{s}\""),
            Token::Punct(c) => write!(f, "`{c}`"),
            Token::End => write!(f, "the end of the text"),
        }
    }
}

/// Characters that start a word; a dot starts a directive, a percent sign a register.
fn starts_word(c: u8) -> bool {
    c.is_ascii_alphabetic() || matches!(c, b'_' | b'$' | b'%' | b'.')
}

/// Characters inside a word. A colon belongs to it only when doubled (`L1::no_allocate`).
fn continues_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'_' | b'$' | b'.')
}

/// All tokens of `source`, ending with [`Token::End`].
pub(crate) fn tokens(source: &str) -> Result<Vec<(Token<'_>, Position)>, ParseError> {
    let mut lexer = Lexer {
        source,
        bytes: source.as_bytes(),
        at: 0,
        line: 1,
        line_start: 0,
    };
    let mut out = Vec::with_capacity(source.len() / 4);
    loop {
        lexer.skip_blank()?;
        let position = lexer.position();
        let token = lexer.next(position)?;
        out.push((token, position));
        if token == Token::End {
            return Ok(out);
        }
    }
}

struct Lexer<'a> {
    source: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: u32,
    line_start: usize,
}

impl<'a> Lexer<'a> {
    fn position(&self) -> Position {
        Position {
            line: self.line,
            column: (self.at - self.line_start + 1) as u32,
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn advance(&mut self) {
        if self.peek(0) == b'\n' {
            self.line += 1;
            self.line_start = self.at + 1;
        }
        self.at += 1;
    }

    /// Skips white space and both kinds of comments.
    fn skip_blank(&mut self) -> Result<(), ParseError> {
        while self.at < self.bytes.len() {
            match (self.peek(0), self.peek(1)) {
                (b'/', b'/') => {
                    while self.at < self.bytes.len() && self.peek(0) != b'\n' {
                        self.advance();
                    }
                }
                (b'/', b'*') => {
                    let opened = self.position();
                    self.at += 2;
                    while (self.peek(0), self.peek(1)) != (b'*', b'/') {
                        if self.at >= self.bytes.len() {
                            return Err(ParseError::new(opened, "comment is not closed"));
                        }
                        self.advance();
                    }
                    self.at += 2;
                }
                // Some drivers' PTX ends with NUL bytes: they are blank as well.
                (b' ' | b'\t' | b'\r' | b'\n' | 0 | 0x0b | 0x0c, _) => self.advance(),
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    fn next(&mut self, position: Position) -> Result<Token<'a>, ParseError> {
        if self.at >= self.bytes.len() {
            return Ok(Token::End);
        }
        let start = self.at;
        let first = self.peek(0);
        if first.is_ascii_digit() {
            self.number();
            return Ok(Token::Number(&self.source[start..self.at]));
        }
        if starts_word(first) {
            self.at += 1;
            loop {
                if self.peek(0) == b':' && self.peek(1) == b':' && continues_word(self.peek(2)) {
                    self.at += 2;
                } else if continues_word(self.peek(0)) {
                    self.at += 1;
                } else {
                    return Ok(Token::Word(&self.source[start..self.at]));
                }
            }
        }
        if first == b'"' {
            self.at += 1;
            while self.peek(0) != b'"' {
                if self.at >= self.bytes.len() || self.peek(0) == b'\n' {
                    return Err(ParseError::new(position, "string is not closed"));
                }
                self.at += 1;
            }
            self.at += 1;
            return Ok(Token::Text(&self.source[start + 1..self.at - 1]));
        }
        if first.is_ascii_punctuation() {
            self.at += 1;
            return Ok(Token::Punct(first as char));
        }
        let c = self.source[start..].chars().next().unwrap_or('?');
        Err(ParseError::new(
            position,
            format!("unexpected character {c:?}"),
        ))
    }

    /// Consumes a literal: digits, letters of a radix prefix or suffix, a fraction, an exponent.
    fn number(&mut self) {
        let prefixed = self.peek(0) == b'0' && self.peek(1).is_ascii_alphabetic();
        while self.peek(0).is_ascii_alphanumeric()
            || self.peek(0) == b'_'
            || (self.peek(0) == b'.' && self.peek(1).is_ascii_digit() && !prefixed)
            || (matches!(self.peek(0), b'+' | b'-')
                && !prefixed
                && matches!(self.bytes[self.at - 1], b'e' | b'E')
                && self.peek(1).is_ascii_digit())
        {
            self.at += 1;
        }
    }
}

/// Value of an integer literal in decimal, octal, hexadecimal or binary, with optional `U`.
pub(crate) fn integer(text: &str) -> Option<i128> {
    let text = text.strip_suffix('U').unwrap_or(text);
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', b'b' | b'B', ..] => (&text[2..], 2),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    u64::from_str_radix(digits, radix).ok().map(i128::from)
}
