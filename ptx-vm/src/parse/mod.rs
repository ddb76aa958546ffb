//! PTX text to a syntax tree: a lexer with positions and a recursive-descent parser.
//!
//! Nothing is guessed: what the grammar here does not know is an error with line and column.

pub mod ast;
mod body;
pub(crate) mod lexer;
mod module;

use ast::Ast;
use lexer::Token;

/// A place in the PTX text, both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Position {
    /// Line.
    pub line: u32,
    /// Column in bytes.
    pub column: u32,
}

/// PTX that cannot be read, or that asks for something this crate does not do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("PTX line {}, column {}: {message}{}", position.line, position.column, quoted(text))]
pub struct ParseError {
    /// Where.
    pub position: Position,
    /// What is wrong or not supported.
    pub message: String,
    /// The source line, trimmed; empty when not known.
    pub text: String,
}

fn quoted(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!(", in `{text}`")
    }
}

impl ParseError {
    pub(crate) fn new(position: Position, message: impl Into<String>) -> Self {
        Self {
            position,
            message: message.into(),
            text: String::new(),
        }
    }

    /// Adds the line of `source` that the position names.
    pub(crate) fn with_text(mut self, source: &str) -> Self {
        if self.text.is_empty() {
            self.text = line_of(source, self.position.line)
                .chars()
                .take(160)
                .collect();
        }
        self
    }
}

/// Line `line` (from 1) of `source`, trimmed.
pub(crate) fn line_of(source: &str, line: u32) -> &str {
    source
        .lines()
        .nth((line as usize).saturating_sub(1))
        .unwrap_or("")
        .trim()
}

/// Parses a PTX module into its syntax tree.
///
/// # Errors
/// The first thing in the text that is not PTX as this crate knows it, with its position.
pub fn parse(source: &str) -> Result<Ast, ParseError> {
    lexer::tokens(source)
        .and_then(|tokens| {
            Parser {
                tokens,
                at: 0,
                depth: 0,
            }
            .module()
        })
        .map_err(|error| error.with_text(source))
}

/// Nesting of `{ }` beyond which text is refused, so that hostile input cannot exhaust the stack.
const MAX_DEPTH: u32 = 64;

struct Parser<'a> {
    tokens: Vec<(Token<'a>, Position)>,
    at: usize,
    depth: u32,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        self.tokens[self.at].0
    }

    fn peek_second(&self) -> Token<'a> {
        self.tokens.get(self.at + 1).map_or(Token::End, |t| t.0)
    }

    fn position(&self) -> Position {
        self.tokens[self.at].1
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        // The last token is `End`, which is never passed.
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T, ParseError> {
        Err(ParseError::new(self.position(), message))
    }

    fn expected<T>(&self, what: &str) -> Result<T, ParseError> {
        self.error(format!("expected {what}, found {}", self.peek()))
    }

    fn take(&mut self, c: char) -> bool {
        let found = self.peek() == Token::Punct(c);
        if found {
            self.next();
        }
        found
    }

    fn expect(&mut self, c: char) -> Result<(), ParseError> {
        if self.take(c) {
            Ok(())
        } else {
            self.expected(&format!("`{c}`"))
        }
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.peek() == Token::Word(word);
        if found {
            self.next();
        }
        found
    }

    fn word(&mut self, what: &str) -> Result<&'a str, ParseError> {
        match self.peek() {
            Token::Word(word) => {
                self.next();
                Ok(word)
            }
            _ => self.expected(what),
        }
    }

    fn name(&mut self) -> Result<String, ParseError> {
        match self.peek() {
            Token::Word(word) if !word.starts_with('.') => {
                self.next();
                Ok(word.to_string())
            }
            _ => self.expected("a name"),
        }
    }

    fn integer(&mut self) -> Result<i128, ParseError> {
        let negative = self.take('-');
        match self.peek() {
            Token::Number(text) => {
                let Some(value) = lexer::integer(text) else {
                    return self.error(format!("`{text}` is not an integer of at most 64 bits"));
                };
                self.next();
                Ok(if negative { -value } else { value })
            }
            _ => self.expected("an integer"),
        }
    }

    fn unsigned(&mut self) -> Result<u32, ParseError> {
        let value = self.integer()?;
        u32::try_from(value)
            .map_err(|_| ParseError::new(self.position(), format!("{value} is out of range")))
    }

    fn enter(&mut self) -> Result<(), ParseError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.error(format!("nested deeper than {MAX_DEPTH} levels"));
        }
        Ok(())
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }
}
