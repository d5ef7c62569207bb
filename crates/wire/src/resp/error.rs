//! Errors of a well-framed command. The connection stays open after each of these.

use std::fmt::{self, Write};

/// Why a command was refused; its text is the whole error reply, code word first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandError<'a> {
    UnknownCommand(Excerpt<'a>),
    /// A command with subcommands has none of this name.
    UnknownSubcommand {
        command: &'static str,
        /// As sent.
        subcommand: Excerpt<'a>,
    },
    /// Too few or too many arguments for the command, which is named in lower case.
    WrongArity(&'static str),
    /// Not a 64-bit integer.
    NotAnInteger,
    /// An integer is too small.
    TooSmall {
        what: &'static str,
        /// The minimum.
        least: u64,
    },
    /// An integer is too large for a reply.
    TooLarge {
        what: &'static str,
        /// The maximum.
        most: u64,
    },
    /// An option is unknown, repeated or misplaced.
    Syntax,
    /// `HELLO` asked for a version other than 2 and 3.
    UnsupportedVersion,
    /// The argument of `HELLO` is not a number.
    VersionNotAnInteger,
    /// `SELECT` asked for a database other than zero.
    NoSuchDatabase,
    /// A connection's name has bytes beyond printable ASCII without space.
    ClientName,
    /// Key entries are missing, or a name has no value.
    Entries,
}

impl fmt::Display for CommandError<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownCommand(name) => write!(out, "ERR unknown command '{name}'"),
            Self::UnknownSubcommand {
                command,
                subcommand,
            } => write!(
                out,
                "ERR unknown subcommand '{subcommand}'. Try {command} HELP."
            ),
            Self::WrongArity(name) => {
                write!(out, "ERR wrong number of arguments for '{name}' command")
            }
            Self::NotAnInteger => out.write_str("ERR value is not an integer or out of range"),
            Self::TooSmall { what, least } => write!(out, "ERR {what} must be at least {least}"),
            Self::TooLarge { what, most } => write!(out, "ERR {what} must be at most {most}"),
            Self::Syntax => out.write_str("ERR syntax error"),
            Self::UnsupportedVersion => out.write_str("NOPROTO unsupported protocol version"),
            Self::VersionNotAnInteger => {
                out.write_str("ERR Protocol version is not an integer or out of range")
            }
            Self::NoSuchDatabase => out.write_str("ERR DB index is out of range"),
            Self::ClientName => out.write_str(
                "ERR Client names cannot contain spaces, newlines or special characters.",
            ),
            Self::Entries => out.write_str("ERR a key is one value, or names and values in pairs"),
        }
    }
}

impl std::error::Error for CommandError<'_> {}

/// A part of what a client sent, short and printable enough to be sent back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excerpt<'a>(pub &'a [u8]);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.0[..self.0.len().min(EXCERPT_BYTES_MAX)];
        for &byte in shown {
            let printable = byte == b' ' || byte.is_ascii_graphic();
            out.write_char(if printable { char::from(byte) } else { '?' })?;
        }
        Ok(())
    }
}

const EXCERPT_BYTES_MAX: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_reads_like_a_server_s() {
        let table = [
            (
                CommandError::UnknownCommand(Excerpt(b"GE\r\nT")),
                "ERR unknown command 'GE??T'",
            ),
            (
                CommandError::UnknownSubcommand {
                    command: "CLIENT",
                    subcommand: Excerpt(b"x"),
                },
                "ERR unknown subcommand 'x'. Try CLIENT HELP.",
            ),
            (
                CommandError::WrongArity("echo"),
                "ERR wrong number of arguments for 'echo' command",
            ),
            (
                CommandError::NotAnInteger,
                "ERR value is not an integer or out of range",
            ),
            (
                CommandError::TooSmall {
                    what: "period",
                    least: 1,
                },
                "ERR period must be at least 1",
            ),
            (
                CommandError::TooLarge {
                    what: "max_burst",
                    most: 9,
                },
                "ERR max_burst must be at most 9",
            ),
            (CommandError::Syntax, "ERR syntax error"),
            (
                CommandError::UnsupportedVersion,
                "NOPROTO unsupported protocol version",
            ),
            (
                CommandError::VersionNotAnInteger,
                "ERR Protocol version is not an integer or out of range",
            ),
            (CommandError::NoSuchDatabase, "ERR DB index is out of range"),
            (
                CommandError::ClientName,
                "ERR Client names cannot contain spaces, newlines or special characters.",
            ),
            (
                CommandError::Entries,
                "ERR a key is one value, or names and values in pairs",
            ),
        ];
        for (error, text) in table {
            assert_eq!(error.to_string(), text);
        }
    }

    #[test]
    fn an_excerpt_is_bounded() {
        assert_eq!(Excerpt(&[b'a'; 1_000]).to_string().len(), EXCERPT_BYTES_MAX);
    }
}
