//! Commands: one variant each, and the table that `COMMAND` answers from.

use super::check::CheckCommand;
use super::error::{CommandError, Excerpt};
use super::lease::Lease;
use super::number::signed;
use super::parse::Arguments;
use super::reply::Writer;
use super::session::{ClientCommand, Credentials, HelloCommand, List, Transaction};
use super::stand::Settle;
use super::throttle::{Dialect, Throttle};

/// A command with valid arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    Throttle(Throttle<'a>),
    Check(CheckCommand<'a>),
    Lease(Lease<'a>),
    /// `TOLLGATE.CHARGE`: take without a decision.
    Charge(CheckCommand<'a>),
    /// `TOLLGATE.REFUND`: return tokens.
    Refund(CheckCommand<'a>),
    /// `TOLLGATE.RESET`: forget the key.
    Forget(CheckCommand<'a>),
    /// `TOLLGATE.PEEK`: how policies stand.
    Peek(CheckCommand<'a>),
    Settle(Settle<'a>),
    /// `PING [message]`: `PONG`, or the message.
    Ping(Option<&'a [u8]>),
    /// `ECHO message`.
    Echo(&'a [u8]),
    Hello(HelloCommand<'a>),
    Auth(Credentials<'a>),
    List(List<'a>),
    Client(ClientCommand<'a>),
    /// `INFO [section ...]`.
    Info(Arguments<'a>),
    /// `SELECT 0`: `OK`; there is no other database.
    Select,
    /// `RESET`: forget version, name and authentication.
    Reset,
    /// `MULTI`, `EXEC` and related commands.
    Transaction(Transaction),
    /// `QUIT`: `OK`, then close.
    Quit,
}

impl<'a> Command<'a> {
    /// Decodes a request; words are case-insensitive.
    pub fn decode(request: Arguments<'a>) -> Result<Self, CommandError<'a>> {
        let name = request.get(0).unwrap_or_default();
        let mut upper = [0; NAME_BYTES_MAX];
        let Some(upper) = upper.get_mut(..name.len()) else {
            return Err(CommandError::UnknownCommand(Excerpt(name)));
        };
        upper.copy_from_slice(name);
        upper.make_ascii_uppercase();
        match &*upper {
            b"CL.THROTTLE" => Throttle::decode(request, Dialect::RedisCell).map(Command::Throttle),
            b"THROTTLE" => Throttle::decode(request, Dialect::Throttlecrab).map(Command::Throttle),
            [
                b'T',
                b'O',
                b'L',
                b'L',
                b'G',
                b'A',
                b'T',
                b'E',
                b'.',
                name @ ..,
            ] => Self::of_ours(name, request),
            b"PING" => match request.len() {
                1 | 2 => Ok(Command::Ping(request.get(1))),
                _ => Err(CommandError::WrongArity("ping")),
            },
            b"ECHO" => only(request, "echo").map(Command::Echo),
            b"HELLO" => HelloCommand::decode(request).map(Command::Hello),
            b"AUTH" => Credentials::decode(request).map(Command::Auth),
            b"COMMAND" => List::decode(request).map(Command::List),
            b"CLIENT" => ClientCommand::decode(request).map(Command::Client),
            b"INFO" => Ok(Command::Info(request.tail(1))),
            b"SELECT" => match signed(only(request, "select")?)? {
                0 => Ok(Command::Select),
                _ => Err(CommandError::NoSuchDatabase),
            },
            b"RESET" if request.len() > 1 => Err(CommandError::WrongArity("reset")),
            b"RESET" => Ok(Command::Reset),
            b"QUIT" => Ok(Command::Quit),
            b"MULTI" | b"EXEC" | b"DISCARD" | b"WATCH" | b"UNWATCH" => {
                Transaction::decode(upper, request).map(Command::Transaction)
            }
            _ => Err(CommandError::UnknownCommand(Excerpt(name))),
        }
    }
}

impl<'a> Command<'a> {
    /// Decodes a command whose name is `TOLLGATE.` followed by `name`.
    fn of_ours(name: &[u8], request: Arguments<'a>) -> Result<Self, CommandError<'a>> {
        match name {
            b"CHECK" => CheckCommand::decode(request, "tollgate.check").map(Command::Check),
            b"LEASE" => Lease::decode(request).map(Command::Lease),
            b"CHARGE" => CheckCommand::decode(request, "tollgate.charge").map(Command::Charge),
            b"REFUND" => CheckCommand::decode(request, "tollgate.refund").map(Command::Refund),
            b"RESET" => CheckCommand::decode(request, "tollgate.reset").map(Command::Forget),
            b"PEEK" => CheckCommand::decode(request, "tollgate.peek").map(Command::Peek),
            b"SETTLE" => Settle::decode(request).map(Command::Settle),
            _ => {
                let name = request.get(0).unwrap_or_default();
                Err(CommandError::UnknownCommand(Excerpt(name)))
            }
        }
    }
}

/// The one argument of a command that takes one.
fn only<'a>(request: Arguments<'a>, name: &'static str) -> Result<&'a [u8], CommandError<'a>> {
    let argument = request.get(1).filter(|_| request.len() == 2);
    argument.ok_or(CommandError::WrongArity(name))
}

impl List<'_> {
    /// Writes the answer to `COMMAND`, which is the same for every connection.
    pub fn write(&self, writer: &mut Writer<'_>) {
        match self {
            Self::All => described(writer, None),
            Self::Info(names) => described(writer, Some(*names)),
            Self::Count => writer.integer(i64::try_from(COMMANDS.len()).unwrap_or(i64::MAX)),
            Self::Names => {
                writer.array(COMMANDS.len());
                for about in COMMANDS {
                    writer.bulk(about.name.as_bytes());
                }
            }
            Self::Docs(names) => documented(writer, *names),
        }
    }
}

/// A row of `COMMAND`'s answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    pub name: &'static str,
    /// How many arguments it takes as Redis counts them: with the name, and negative for at least.
    pub arity: i64,
    /// Whether its first argument is a key.
    pub has_key: bool,
    /// One sentence.
    pub summary: &'static str,
}

/// Ordered by name.
pub const COMMANDS: &[About] = &[
    plain("auth", -2, "Says who the client is."),
    keyed(
        "cl.throttle",
        -5,
        "Takes tokens from a bucket, as redis-cell does.",
    ),
    plain("client", -2, "Names and describes the connection."),
    plain("command", -1, "Lists the commands."),
    plain("discard", 1, "Forgets the queued commands."),
    plain("echo", 2, "Returns the message."),
    plain("exec", 1, "Carries out the queued commands."),
    plain(
        "hello",
        -1,
        "Chooses the protocol version, authenticates, names the connection.",
    ),
    plain("info", -1, "Describes the server."),
    plain("multi", 1, "Queues the commands that follow."),
    plain("ping", -1, "Returns PONG, or the message."),
    plain("quit", -1, "Closes the connection."),
    plain("reset", 1, "Forgets version, name and authentication."),
    plain("select", 2, "Accepts database 0, the only one."),
    keyed(
        "throttle",
        -5,
        "Takes tokens from a bucket, as throttlecrab does.",
    ),
    plain(
        "tollgate.charge",
        -3,
        "Takes tokens of a key without asking.",
    ),
    plain(
        "tollgate.check",
        -3,
        "Decides a request by the contracts that bind its key.",
    ),
    plain(
        "tollgate.lease",
        -4,
        "Says what a client holds of a key, and answers what it is lent.",
    ),
    plain(
        "tollgate.peek",
        -3,
        "Says how the policies that bind a key stand.",
    ),
    plain("tollgate.refund", -3, "Gives tokens of a key back."),
    plain("tollgate.reset", -3, "Forgets what is counted of a key."),
    plain(
        "tollgate.settle",
        -3,
        "Charges what a request that has a receipt really cost.",
    ),
    plain("unwatch", 1, "Accepted: nothing is watched."),
    plain("watch", -2, "Refused: nothing can be watched."),
];

const fn plain(name: &'static str, arity: i64, summary: &'static str) -> About {
    About {
        name,
        arity,
        has_key: false,
        summary,
    }
}

const fn keyed(name: &'static str, arity: i64, summary: &'static str) -> About {
    About {
        has_key: true,
        ..plain(name, arity, summary)
    }
}

/// Ten fields for each command asked for, null for unknown ones.
fn described(writer: &mut Writer<'_>, names: Option<Arguments<'_>>) {
    let Some(names) = names.filter(|names| !names.is_empty()) else {
        writer.array(COMMANDS.len());
        for about in COMMANDS {
            describe(writer, about);
        }
        return;
    };
    writer.array(names.len());
    for name in names {
        match find(name) {
            Some(about) => describe(writer, about),
            None => writer.null(),
        }
    }
}

fn describe(writer: &mut Writer<'_>, about: &About) {
    writer.array(10);
    writer.bulk(about.name.as_bytes());
    writer.integer(about.arity);
    writer.array(1);
    writer.simple("fast");
    // The first key, the last, and the step between keys.
    for _ in 0..3 {
        writer.integer(i64::from(about.has_key));
    }
    // Access categories, tips, where keys are, subcommands: clients index them, and find them empty.
    for _ in 0..4 {
        writer.array(0);
    }
}

/// A map from each known command that was asked for to its summary.
fn documented(writer: &mut Writer<'_>, names: Arguments<'_>) {
    let asked = |about: &&About| {
        let is = |name: &[u8]| name.eq_ignore_ascii_case(about.name.as_bytes());
        names.is_empty() || names.iter().any(is)
    };
    writer.map(COMMANDS.iter().filter(asked).count());
    for about in COMMANDS.iter().filter(asked) {
        let group = if about.has_key {
            "module"
        } else {
            "connection"
        };
        writer.bulk(about.name.as_bytes());
        writer.map(3);
        for (name, value) in [
            ("summary", about.summary),
            ("since", "0.1.0"),
            ("group", group),
        ] {
            writer.bulk(name.as_bytes());
            writer.bulk(value.as_bytes());
        }
    }
}

fn find(name: &[u8]) -> Option<&'static About> {
    let mut all = COMMANDS.iter();
    all.find(|about| name.eq_ignore_ascii_case(about.name.as_bytes()))
}

/// Longer names are unknown without being looked up.
const NAME_BYTES_MAX: usize = 16;
