//! Errors of the command line, and the one place that maps them to exit codes.
//!
//! The codes are those of `sysexits.h`, so that scripts can tell a bad contract file from a bad trace.

use std::fmt;
use std::io;
use std::path::Path;

use tollgate_serve::catalogue::CatalogueError;
use tollgate_serve::cluster::{ClusterError, Fatal};
use tollgate_serve::durable::StoreError;
use tollgate_serve::listen::BindError;
use tollgate_serve::run::StartError;
use tollgate_serve::source::SourceError;

use crate::trace::{Class, TraceError};

/// A check that was denied, or an experiment that found what must never be.
pub(crate) const DENIED: u8 = 1;
/// Bad usage or a bad contract file.
pub(crate) const USAGE: u8 = 64;
/// Bad data in a trace.
pub(crate) const DATA: u8 = 65;
/// A file that cannot be opened.
pub(crate) const NO_INPUT: u8 = 66;
/// An address that is taken.
pub(crate) const UNAVAILABLE: u8 = 69;
/// A server that does not speak as it should.
pub(crate) const PROTOCOL: u8 = 76;
/// A server that lets nobody in without a token.
pub(crate) const NO_PERMISSION: u8 = 77;
pub(crate) const SYSTEM: u8 = 71;
/// Keys or an identity that cannot be used, or are another's.
pub(crate) const CONFIG: u8 = 78;
/// Output that cannot be written, or input that breaks off.
pub(crate) const IO: u8 = 74;

/// Why a command stopped, as it is told on standard error.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    text: String,
}

impl Failure {
    /// The arguments do not fit together.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self {
            code: USAGE,
            text: text.into(),
        }
    }

    /// A key is denied, which the command has already said.
    pub(crate) const fn denied() -> Self {
        Self {
            code: DENIED,
            text: String::new(),
        }
    }

    /// An experiment found what must never be.
    pub(crate) fn found(text: impl Into<String>) -> Self {
        Self {
            code: DENIED,
            text: text.into(),
        }
    }

    /// A server is not there, or does not answer.
    pub(crate) fn unavailable(text: impl Into<String>) -> Self {
        Self {
            code: UNAVAILABLE,
            text: text.into(),
        }
    }

    /// A server does not speak as it should.
    pub(crate) fn protocol(text: impl Into<String>) -> Self {
        Self {
            code: PROTOCOL,
            text: text.into(),
        }
    }

    /// A server wants a token.
    pub(crate) fn no_permission(text: impl Into<String>) -> Self {
        Self {
            code: NO_PERMISSION,
            text: text.into(),
        }
    }

    /// A contract file is wrong; the text shows where.
    pub(crate) fn config(text: impl Into<String>) -> Self {
        Self {
            code: USAGE,
            text: text.into(),
        }
    }

    /// The server's file is wrong, or cannot be read.
    pub(crate) fn settings(error: &SourceError) -> Self {
        match error {
            SourceError::Wrong(text) => Self::config(text.clone()),
            SourceError::Unreadable { path, error } => Self::unreadable(path, error),
        }
    }

    /// A server does not start.
    pub(crate) fn start(error: &StartError) -> Self {
        let (code, advice) = match error {
            StartError::Contracts(SourceError::Wrong(_))
            | StartError::Catalogue(CatalogueError::Import(SourceError::Wrong(_))) => {
                return Self::config(error.to_string());
            }
            StartError::Contracts(SourceError::Unreadable { .. }) => (NO_INPUT, ""),
            StartError::Tls(error) if error.is_unreadable => (NO_INPUT, ""),
            StartError::Tls(_) | StartError::Engine(_) | StartError::Upstream(_) => (USAGE, ""),
            StartError::Store(_) => (IO, ""),
            StartError::Catalogue(error) => (catalogue(error), ""),
            StartError::Bind(error) => (UNAVAILABLE, advice(error)),
            StartError::Cluster(error) => (cluster(error), ""),
            StartError::Thread(_) | StartError::System(_) => (SYSTEM, ""),
        };
        Self {
            code,
            text: format!("error: {error}{advice}"),
        }
    }

    /// Durable counts could not be written at the end.
    pub(crate) fn lost(error: &StoreError) -> Self {
        Self {
            code: IO,
            text: format!("error: {error}"),
        }
    }

    /// A running node had to stop.
    pub(crate) fn fatal(fatal: &Fatal) -> Self {
        Self {
            code: CONFIG,
            text: format!("error: {fatal}"),
        }
    }

    /// The system does not do what a server needs.
    pub(crate) fn system(what: &str, error: &io::Error) -> Self {
        Self {
            code: SYSTEM,
            text: format!("error: {what}: {error}"),
        }
    }

    /// A file cannot be opened.
    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self {
            code: NO_INPUT,
            text: format!("error: cannot read {}: {error}", path.display()),
        }
    }

    /// A file cannot be written.
    pub(crate) fn file(path: &Path, error: &io::Error) -> Self {
        Self {
            code: IO,
            text: format!("error: cannot write {}: {error}", path.display()),
        }
    }

    /// A trace is wrong, or broke off.
    pub(crate) fn trace(name: &str, error: &TraceError) -> Self {
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
    pub(crate) fn output(error: io::Error) -> Self {
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

    pub(crate) const fn code(&self) -> u8 {
        self.code
    }
}

/// The exit code of a node that cannot take part in its cluster.
fn catalogue(error: &CatalogueError) -> u8 {
    match error {
        CatalogueError::Database { .. } => UNAVAILABLE,
        CatalogueError::Import(SourceError::Unreadable { .. }) => NO_INPUT,
        CatalogueError::Import(SourceError::Wrong(_)) => CONFIG,
        CatalogueError::Thread(_) => SYSTEM,
    }
}

fn cluster(error: &ClusterError) -> u8 {
    match error {
        ClusterError::NoKeyFile | ClusterError::NoAddress(_) => USAGE,
        ClusterError::Key(..) | ClusterError::BadIdentity(_) | ClusterError::Tls(_) => CONFIG,
        ClusterError::Identity(..) => IO,
        ClusterError::Bind(..) => UNAVAILABLE,
        ClusterError::Random(_) | ClusterError::Thread(_) => SYSTEM,
    }
}

/// What to do about an address that cannot be listened at.
fn advice(error: &BindError) -> &'static str {
    match error.error.kind() {
        io::ErrorKind::AddrInUse => {
            "\n  stop that process, or choose another address: --http ADDR, --resp ADDR; port 0 is any free one"
        }
        io::ErrorKind::PermissionDenied => {
            "\n  choose a port above 1023, or run with the right to take it"
        }
        _ => "",
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text.trim_end())
    }
}

impl std::error::Error for Failure {}
