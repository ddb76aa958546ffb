//! Typed reading of one TOML table, with errors that name file, line and field.

use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::SpecError;
use crate::roofline::peak::ComputeCapability;

/// The document, for turning byte offsets into lines.
pub struct Source<'a> {
    pub text: &'a str,
    pub file: &'a str,
}

impl Source<'_> {
    pub fn error(
        &self,
        span: Range<usize>,
        field: &str,
        problem: &str,
        allowed: &str,
    ) -> SpecError {
        let upto = self
            .text
            .as_bytes()
            .get(..span.start)
            .unwrap_or(self.text.as_bytes());
        SpecError {
            file: self.file.to_owned(),
            line: 1 + upto.iter().filter(|&&b| b == b'\n').count(),
            field: field.to_owned(),
            problem: problem.to_owned(),
            allowed: allowed.to_owned(),
        }
    }

    pub fn wrong_type(&self, value: &Spanned<DeValue>, field: &str, allowed: &str) -> SpecError {
        let given = self.text.get(value.span()).unwrap_or_default();
        let problem = format!("{given} is of type {}", value.get_ref().type_str());
        self.error(value.span(), field, &problem, allowed)
    }
}

/// One table being read. A field that nobody asked for is an error at the end: a misspelt
/// name must not be taken for a missing figure.
pub struct Fields<'a> {
    source: &'a Source<'a>,
    table: &'a DeTable<'a>,
    span: Range<usize>,
    /// The table's name in errors.
    pub path: String,
    seen: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    pub fn new(
        source: &'a Source<'a>,
        table: &'a DeTable<'a>,
        span: Range<usize>,
        path: String,
    ) -> Self {
        Fields {
            source,
            table,
            span,
            path,
            seen: Vec::new(),
        }
    }

    pub fn get(&mut self, key: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.seen.push(key);
        self.table.get(key)
    }

    pub fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    pub fn error(&self, key: &str, problem: &str, allowed: &str) -> SpecError {
        let span = self.table.get(key).map_or(self.span.clone(), Spanned::span);
        self.source
            .error(span, &self.path_of(key), problem, allowed)
    }

    pub fn missing(&self, key: &str, allowed: &str) -> SpecError {
        self.error(key, "is missing", allowed)
    }

    pub fn wrong_type(&self, value: &Spanned<DeValue>, key: &str, allowed: &str) -> SpecError {
        self.source.wrong_type(value, &self.path_of(key), allowed)
    }

    pub fn string(&mut self, key: &'static str) -> Result<Option<String>, SpecError> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        match value.get_ref().as_str().map(str::trim) {
            Some("") => Err(self.error(key, "is empty", "a text; leave the field out if unknown")),
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(self.wrong_type(value, key, "a text in quotes")),
        }
    }

    pub fn required_string(&mut self, key: &'static str) -> Result<String, SpecError> {
        let allowed = if key == "source" {
            "the document that the figures are from, in quotes"
        } else {
            "a text in quotes"
        };
        self.string(key)?.ok_or_else(|| self.missing(key, allowed))
    }

    pub fn strings(&mut self, key: &'static str) -> Result<Vec<String>, SpecError> {
        let Some(value) = self.get(key) else {
            return Ok(Vec::new());
        };
        let allowed = "a list of texts such as [\"A100\", \"A100 SXM\"]";
        let Some(items) = value.get_ref().as_array() else {
            return Err(self.wrong_type(value, key, allowed));
        };
        let text = |item: &Spanned<DeValue>| match item.get_ref().as_str() {
            Some(s) => Ok(s.to_owned()),
            None => Err(self.wrong_type(item, key, allowed)),
        };
        items.iter().map(text).collect()
    }

    pub fn number(
        &mut self,
        key: &'static str,
        range: RangeInclusive<f64>,
        unit: &str,
    ) -> Result<Option<f64>, SpecError> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        let allowed = format!(
            "a number of {unit} from {:e} to {:e}",
            range.start(),
            range.end()
        );
        let number = match value.get_ref() {
            DeValue::Float(x) => x.as_str().parse::<f64>().ok(),
            DeValue::Integer(i) if i.radix() == 10 => i.as_str().parse::<f64>().ok(),
            _ => return Err(self.wrong_type(value, key, &allowed)),
        };
        match number.filter(|x| range.contains(x)) {
            Some(x) => Ok(Some(x)),
            None => Err(self.out_of_range(value, key, &allowed)),
        }
    }

    pub fn out_of_range(&self, value: &Spanned<DeValue>, key: &str, allowed: &str) -> SpecError {
        let given = self.source.text.get(value.span()).unwrap_or_default();
        let problem = format!("{given} is out of range; units carry no prefix");
        self.source
            .error(value.span(), &self.path_of(key), &problem, allowed)
    }

    pub fn integer<T: TryFrom<u64>>(
        &mut self,
        key: &'static str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<T>, SpecError> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        self.one_integer(value, key, range).map(Some)
    }

    pub fn integers(
        &mut self,
        key: &'static str,
        range: RangeInclusive<u64>,
    ) -> Result<Vec<u32>, SpecError> {
        let Some(value) = self.get(key) else {
            return Ok(Vec::new());
        };
        let Some(items) = value.get_ref().as_array() else {
            return Err(self.wrong_type(value, key, "a list of whole numbers such as [591, 592]"));
        };
        items
            .iter()
            .map(|item| self.one_integer(item, key, range.clone()))
            .collect()
    }

    pub fn one_integer<T: TryFrom<u64>>(
        &self,
        value: &Spanned<DeValue>,
        key: &str,
        range: RangeInclusive<u64>,
    ) -> Result<T, SpecError> {
        let allowed = format!("a whole number from {} to {}", range.start(), range.end());
        let Some(integer) = value.get_ref().as_integer() else {
            return Err(self.wrong_type(value, key, &allowed));
        };
        u64::from_str_radix(integer.as_str(), integer.radix())
            .ok()
            .filter(|n| range.contains(n))
            .and_then(|n| T::try_from(n).ok())
            .ok_or_else(|| self.out_of_range(value, key, &allowed))
    }

    pub fn capability(
        &mut self,
        key: &'static str,
    ) -> Result<Option<ComputeCapability>, SpecError> {
        let allowed = "major.minor in quotes, such as \"9.0\"";
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        let Some(text) = value.get_ref().as_str() else {
            return Err(self.wrong_type(value, key, allowed));
        };
        let parsed = text.parse::<ComputeCapability>();
        parsed
            .map(Some)
            .map_err(|e| self.error(key, &e.to_string(), allowed))
    }

    pub fn table(
        &mut self,
        key: &'static str,
    ) -> Result<Option<(&'a DeTable<'a>, Range<usize>)>, SpecError> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        match value.get_ref().as_table() {
            Some(table) => Ok(Some((table, value.span()))),
            None => Err(self.wrong_type(value, key, "a table, [gpu.peaks]")),
        }
    }

    pub fn tables(
        &mut self,
        key: &'static str,
    ) -> Result<Vec<(&'a DeTable<'a>, Range<usize>)>, SpecError> {
        let Some(value) = self.get(key) else {
            return Ok(Vec::new());
        };
        let allowed = "tables, each under its own [[gpu]]";
        let Some(items) = value.get_ref().as_array() else {
            return Err(self.wrong_type(value, key, allowed));
        };
        let table = |item: &'a Spanned<DeValue<'a>>| match item.get_ref().as_table() {
            Some(table) => Ok((table, item.span())),
            None => Err(self.wrong_type(item, key, allowed)),
        };
        items.iter().map(table).collect()
    }

    pub fn finish(self, allowed: &str) -> Result<(), SpecError> {
        for key in self.table.keys() {
            let name: &str = key.get_ref();
            if !self.seen.contains(&name) {
                let path = self.path_of(name);
                return Err(self
                    .source
                    .error(key.span(), &path, "unknown field", allowed));
            }
        }
        Ok(())
    }
}
