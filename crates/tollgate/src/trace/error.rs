//! What can be wrong with a trace, and where.

use std::fmt;
use std::ops::Deref;

use super::step::RECORD_BYTES_MAX;

/// How far an error reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// One record is bad; the next one can still be read.
    Record,
    /// The file cannot be read any further, or not at all, because of what it contains.
    File,
    /// The operating system refused to open or read the file.
    Io,
}

/// A fault in a trace: what is wrong, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// How far the error reaches.
    pub class: Class,
    /// Line of the fault, from 1; 0 when the file could not be opened.
    pub line: u64,
    /// Column of the fault in bytes, from 1, if there is one.
    pub column: Option<u64>,
    /// What is wrong, without the place.
    pub what: String,
    /// What to do about it, if anything.
    pub hint: Option<&'static str>,
}

impl TraceError {
    /// Whether reading can go on with the next record.
    pub fn can_skip(&self) -> bool {
        self.class == Class::Record
    }

    pub(super) fn io(line: u64, what: &str, error: &std::io::Error) -> Self {
        Self {
            class: Class::Io,
            line,
            column: None,
            what: format!("{what}: {error}"),
            hint: None,
        }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (0, _) => {}
            (line, None) => write!(out, "line {line}: ")?,
            (line, Some(column)) => write!(out, "line {line}, column {column}: ")?,
        }
        out.write_str(&self.what)?;
        match self.hint {
            Some(hint) => write!(out, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for TraceError {}

/// A fault as a format's parser sees it: relative to the text it was given.
///
/// One pointer, so that the results it is part of stay small on the path of good records.
#[derive(Debug)]
pub(super) struct ParseFault(Box<Details>);

#[derive(Debug)]
pub(super) struct Details {
    pub(super) class: Class,
    pub(super) at: usize,
    pub(super) what: String,
    pub(super) hint: Option<&'static str>,
}

impl ParseFault {
    #[cold]
    pub(super) fn new(at: usize, what: impl Into<String>) -> Self {
        Self(Box::new(Details {
            class: Class::Record,
            at,
            what: what.into(),
            hint: None,
        }))
    }

    #[cold]
    pub(super) fn too_long() -> Self {
        let what = format!(
            "a record is longer than {} MiB",
            RECORD_BYTES_MAX / 1024 / 1024
        );
        Self::new(0, what).hint("a line end or a closing quote may be missing")
    }

    #[cold]
    pub(super) fn not_text(at: usize) -> Self {
        Self::new(at, "bytes that are not UTF-8 text")
    }

    #[cold]
    pub(super) fn hint(mut self, hint: &'static str) -> Self {
        self.0.hint = Some(hint);
        self
    }

    /// The same fault, beyond which nothing can be read.
    #[cold]
    pub(super) fn fatal(mut self) -> Self {
        self.0.class = Class::File;
        self
    }

    /// The same fault, relative to `by` bytes earlier.
    #[cold]
    pub(super) fn moved(mut self, by: usize) -> Self {
        self.0.at += by;
        self
    }

    pub(super) fn details(self) -> Details {
        *self.0
    }
}

impl Deref for ParseFault {
    type Target = Details;

    fn deref(&self) -> &Details {
        &self.0
    }
}

/// Text from a trace, fit for a message: short, and without control characters.
pub(super) fn quote(text: &str) -> String {
    const SHOWN_MAX: usize = 40;
    let shown: String = text
        .chars()
        .take(SHOWN_MAX)
        .flat_map(char::escape_debug)
        .collect();
    let more = if text.chars().nth(SHOWN_MAX).is_some() {
        "…"
    } else {
        ""
    };
    format!("\"{shown}{more}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_reads_as_place_what_and_advice() {
        let mut error = TraceError {
            class: Class::Record,
            line: 12,
            column: Some(5),
            what: "the time is negative (-5)".to_owned(),
            hint: Some("write unix milliseconds"),
        };
        assert_eq!(
            error.to_string(),
            "line 12, column 5: the time is negative (-5); write unix milliseconds"
        );
        error.column = None;
        error.hint = None;
        assert_eq!(error.to_string(), "line 12: the time is negative (-5)");
    }

    #[test]
    fn quoted_text_is_short_and_harmless() {
        assert_eq!(quote("a\u{1b}[31m\"b"), r#""a\u{1b}[31m\"b""#);
        assert_eq!(quote(&"x".repeat(50)), format!("\"{}…\"", "x".repeat(40)));
    }
}
