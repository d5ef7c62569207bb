//! What is wrong with a file, and where.
//!
//! Not here: the collecting while a file is checked (`problems`), nor the cutting of source lines (`snippet`).

use core::fmt;

use crate::snippet::Snippet;

/// The kind of mistake, for programs that react to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes are not UTF-8.
    Encoding,
    /// The text is not YAML.
    Syntax,
    /// The file, or something in it, is above a bound.
    TooLarge,
    /// Something else is expected there: a list, fields, a number.
    WrongType,
    /// There is no such field.
    UnknownField,
    /// There is no such algorithm, coordination, time zone, plan or other named thing.
    UnknownName,
    /// Something needed is not there.
    Missing,
    /// The same thing is said twice.
    Duplicate,
    /// The value is of the right type but cannot be.
    BadValue,
    /// Two things that are right by themselves do not go together.
    Conflict,
}

/// One mistake in a file, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractError {
    pub(crate) kind: ErrorKind,
    pub(crate) what: Box<str>,
    pub(crate) snippet: Snippet,
    /// Which of several files that were read together it is in.
    pub(crate) file: Option<Box<str>>,
}

impl ContractError {
    /// The kind of mistake.
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What is wrong and, where that is known, what to write.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// The line, counted from 1.
    pub const fn line(&self) -> u32 {
        self.snippet.line
    }

    /// The column, counted from 1 in characters.
    pub const fn column(&self) -> u32 {
        self.snippet.column
    }

    /// The message with the source line and a caret, naming the file as given.
    pub fn render(&self, file_name: &str) -> String {
        let file_name = self.file.as_deref().unwrap_or(file_name);
        let place = format!("{file_name}:{}:{}", self.line(), self.column());
        format!("error: {}\n{}", self.what, self.snippet.under(&place))
    }
}

impl fmt::Display for ContractError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = format!("line {}, column {}", self.line(), self.column());
        write!(f, "error: {}\n{}", self.what, self.snippet.under(&place))
    }
}

impl core::error::Error for ContractError {}

/// Everything found wrong with a file: at least one error, in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractErrors {
    pub(crate) errors: Vec<ContractError>,
    pub(crate) unreported: usize,
}

impl ContractErrors {
    /// The errors, at most [`crate::ERRORS_MAX`].
    pub fn errors(&self) -> &[ContractError] {
        &self.errors
    }

    /// How many more were found than are reported. A file with a thousand mistakes is read no further.
    pub const fn unreported(&self) -> usize {
        self.unreported
    }

    /// Every message with its source line, naming the file as given.
    pub fn render(&self, file_name: &str) -> String {
        self.joined(|error| error.render(file_name))
    }

    fn joined(&self, show: impl Fn(&ContractError) -> String) -> String {
        let more = (self.unreported > 0).then(|| format!("and {} more\n", self.unreported));
        let shown: Vec<String> = self.errors.iter().map(show).chain(more).collect();
        shown.join("\n")
    }
}

impl fmt::Display for ContractErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.joined(ContractError::to_string))
    }
}

impl core::error::Error for ContractErrors {}
