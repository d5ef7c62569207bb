//! Errors of the command line, and the one place that maps them to exit codes.
//!
//! The codes are those of `sysexits.h`, so that scripts can tell a bad contract file from a bad trace.

use std::fmt;
use std::io;
use std::path::Path;

use crate::trace::{Class, TraceError};

/// Bad usage or a bad contract file.
pub const USAGE: u8 = 64;
/// Bad data in a trace.
pub const DATA: u8 = 65;
/// A file that cannot be opened.
pub const NO_INPUT: u8 = 66;
/// Output that cannot be written, or input that breaks off.
pub const IO: u8 = 74;

/// Why a command stopped, as it is told on standard error.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    text: String,
}

impl Failure {
    /// The arguments do not fit together.
    pub fn usage(text: impl Into<String>) -> Self {
        Self {
            code: USAGE,
            text: text.into(),
        }
    }

    /// A contract file is wrong; the text shows where.
    pub fn config(text: impl Into<String>) -> Self {
        Self {
            code: USAGE,
            text: text.into(),
        }
    }

    /// A file cannot be opened.
    pub fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self {
            code: NO_INPUT,
            text: format!("error: cannot read {}: {error}", path.display()),
        }
    }

    /// A file cannot be written.
    pub fn file(path: &Path, error: &io::Error) -> Self {
        Self {
            code: IO,
            text: format!("error: cannot write {}: {error}", path.display()),
        }
    }

    /// A trace is wrong, or broke off.
    pub fn trace(name: &str, error: &TraceError) -> Self {
        let code = match error.class {
            Class::Record | Class::File => DATA,
            Class::Io if error.line == 0 => NO_INPUT,
            Class::Io => IO,
        };
        Self {
            code,
            text: format!("error: {name}: {error}"),
        }
    }

    /// Output cannot be written. A reader that has seen enough is not a failure.
    #[allow(clippy::needless_pass_by_value)] // Made for `map_err`.
    pub fn output(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self {
                code: 0,
                text: String::new(),
            },
            _ => Self {
                code: IO,
                text: format!("error: cannot write the output: {error}"),
            },
        }
    }

    /// The exit code.
    pub const fn code(&self) -> u8 {
        self.code
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text.trim_end())
    }
}

impl std::error::Error for Failure {}
