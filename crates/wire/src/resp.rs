//! RESP, the protocol of Redis clients, in both versions: requests, commands and replies.
//!
//! [`Parser`] finds requests in a connection's bytes, [`Command::decode`] says what a request
//! asks, [`Writer`] appends replies to a buffer. Deliberately not here: what a session remembers
//! (its version, its name, whether it authenticated) and whether a password is right.
//!
//! ```
//! use tollgate_wire::resp::{Command, Parser, ParseStep, Version, Writer};
//!
//! let mut parser = Parser::default();
//! let mut replies = Vec::new();
//! let input = b"*2\r\n$4\r\nPING\r\n$2\r\nhi\r\n";
//! let step = parser.parse(input)?;
//! if let ParseStep::Command { request, consumed } = step {
//!     assert_eq!(consumed, input.len());
//!     let mut writer = Writer::new(&mut replies, Version::Resp2);
//!     match Command::decode(request) {
//!         Ok(Command::Ping(Some(message))) => writer.bulk(message),
//!         Ok(_) => writer.simple("OK"),
//!         Err(error) => writer.error(&error),
//!     }
//! }
//! assert_eq!(replies, b"$2\r\nhi\r\n");
//! # Ok::<(), tollgate_wire::resp::ProtocolError>(())
//! ```

mod check;
mod command;
mod error;
mod inline;
mod lease;
mod number;
mod parse;
mod reply;
mod session;
mod stand;
mod throttle;

pub use check::{CheckCommand, CheckKey, CheckReply, Violated};
pub use command::{About, COMMANDS, Command};
pub use error::{CommandError, Excerpt};
pub use lease::Lease;
pub use parse::{Arguments, ArgumentsIter, CommandLimits, ParseStep, Parser, ProtocolError};
pub use reply::{Version, Writer};
pub use session::{ClientCommand, Credentials, HelloCommand, HelloReply, List, Transaction};
pub use stand::{PeekReply, Settle};
pub use throttle::{Dialect, NEVER_SECS, Throttle, ThrottleReply};
