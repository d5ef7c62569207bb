//! Commands about the connection itself.

use std::fmt;

use super::error::{CommandError, Excerpt};
use super::number::signed;
use super::parse::Arguments;
use super::reply::{Version, Writer};

/// `HELLO [2|3 [AUTH user password] [SETNAME name]]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HelloCommand<'a> {
    /// The version from now on, this reply included; `None` keeps it.
    pub version: Option<Version>,
    pub credentials: Option<Credentials<'a>>,
    pub name: Option<&'a [u8]>,
}

impl<'a> HelloCommand<'a> {
    pub(super) fn decode(request: Arguments<'a>) -> Result<Self, CommandError<'a>> {
        let mut arguments = request.tail(1).iter();
        let mut hello = Self::default();
        let Some(version) = arguments.next() else {
            return Ok(hello);
        };
        hello.version = match signed(version) {
            Ok(2) => Some(Version::Resp2),
            Ok(3) => Some(Version::Resp3),
            Ok(_) => return Err(CommandError::UnsupportedVersion),
            Err(_) => return Err(CommandError::VersionNotAnInteger),
        };
        while let Some(option) = arguments.next() {
            let mut next = || arguments.next().ok_or(CommandError::Syntax);
            if option.eq_ignore_ascii_case(b"AUTH") {
                let (user, password) = (Some(next()?), next()?);
                hello.credentials = Some(Credentials { user, password });
            } else if option.eq_ignore_ascii_case(b"SETNAME") {
                hello.name = Some(checked_name(next()?)?);
            } else {
                return Err(CommandError::Syntax);
            }
        }
        Ok(hello)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HelloReply<'a> {
    pub server_version: &'a str,
    /// The connection's number.
    pub connection: u64,
}

impl HelloReply<'_> {
    /// Writes the map that clients look for `proto` in, in the writer's version.
    pub fn write(&self, writer: &mut Writer<'_>) {
        writer.map(7);
        for (name, value) in [("server", "tollgate"), ("version", self.server_version)] {
            writer.bulk(name.as_bytes());
            writer.bulk(value.as_bytes());
        }
        writer.bulk(b"proto");
        writer.integer(writer.version().number());
        writer.bulk(b"id");
        writer.integer(i64::try_from(self.connection).unwrap_or(i64::MAX));
        for (name, value) in [("mode", "standalone"), ("role", "master")] {
            writer.bulk(name.as_bytes());
            writer.bulk(value.as_bytes());
        }
        writer.bulk(b"modules");
        writer.array(0);
    }
}

/// `MULTI`, `EXEC` and related commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transaction {
    /// `MULTI`: commands are queued from now on.
    Multi,
    /// `EXEC`: the queued commands are carried out.
    Exec,
    /// `DISCARD`: they are forgotten.
    Discard,
    Watch,
    Unwatch,
}

impl Transaction {
    /// By its name in upper case.
    pub(super) fn decode<'a>(
        name: &[u8],
        request: Arguments<'a>,
    ) -> Result<Self, CommandError<'a>> {
        let (command, name) = match name {
            b"MULTI" => (Self::Multi, "multi"),
            b"EXEC" => (Self::Exec, "exec"),
            b"DISCARD" => (Self::Discard, "discard"),
            b"WATCH" => (Self::Watch, "watch"),
            _ => (Self::Unwatch, "unwatch"),
        };
        let has_keys = request.len() > 1;
        if has_keys != (command == Self::Watch) {
            return Err(CommandError::WrongArity(name));
        }
        Ok(command)
    }
}

/// `AUTH [user] password`, or the same inside `HELLO`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Credentials<'a> {
    /// `None` is the default user.
    pub user: Option<&'a [u8]>,
    /// The password or token. Never shown by `Debug`; compare it in constant time.
    pub password: &'a [u8],
}

impl fmt::Debug for Credentials<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.user.map(|user| user.escape_ascii().to_string());
        let mut shown = out.debug_struct("Credentials");
        shown.field("user", &user).finish_non_exhaustive()
    }
}

impl<'a> Credentials<'a> {
    pub(super) fn decode(request: Arguments<'a>) -> Result<Self, CommandError<'a>> {
        let mut arguments = request.tail(1).iter();
        let (first, second) = (arguments.next(), arguments.next());
        match (first, second, arguments.next()) {
            (Some(password), None, _) => Ok(Self {
                user: None,
                password,
            }),
            (user, Some(password), None) => Ok(Self { user, password }),
            (_, _, _) => Err(CommandError::WrongArity("auth")),
        }
    }
}

/// `CLIENT` and its subcommands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCommand<'a> {
    /// Names the connection; an empty name removes it.
    SetName(&'a [u8]),
    /// Returns the connection's name.
    GetName,
    /// Returns the connection's number.
    Id,
    /// Reports the client's library: `LIB-NAME` or `LIB-VER`.
    SetInfo {
        /// In the client's spelling.
        attribute: &'a [u8],
        value: &'a [u8],
    },
    /// `NO-EVICT` or `NO-TOUCH`, `ON` or `OFF`: answered `OK`, without effect.
    Hint,
}

impl<'a> ClientCommand<'a> {
    pub(super) fn decode(request: Arguments<'a>) -> Result<Self, CommandError<'a>> {
        let mut arguments = request.tail(1).iter();
        let subcommand = arguments.next().ok_or(CommandError::WrongArity("client"))?;
        let is = |name: &str| subcommand.eq_ignore_ascii_case(name.as_bytes());
        let known = [
            ("SETNAME", 1, "client|setname"),
            ("GETNAME", 0, "client|getname"),
            ("ID", 0, "client|id"),
            ("SETINFO", 2, "client|setinfo"),
            ("NO-EVICT", 1, "client|no-evict"),
            ("NO-TOUCH", 1, "client|no-touch"),
        ];
        let Some((name, count, full)) = known.into_iter().find(|known| is(known.0)) else {
            return Err(CommandError::UnknownSubcommand {
                command: "CLIENT",
                subcommand: Excerpt(subcommand),
            });
        };
        if arguments.len() != count {
            return Err(CommandError::WrongArity(full));
        }
        let mut next = || arguments.next().unwrap_or_default();
        match name {
            "SETNAME" => checked_name(next()).map(ClientCommand::SetName),
            "GETNAME" => Ok(ClientCommand::GetName),
            "ID" => Ok(ClientCommand::Id),
            "SETINFO" => set_info(next(), next()),
            _ => switch(next()),
        }
    }
}

fn set_info<'a>(
    attribute: &'a [u8],
    value: &'a [u8],
) -> Result<ClientCommand<'a>, CommandError<'a>> {
    let known = [&b"LIB-NAME"[..], b"LIB-VER"];
    if !known
        .iter()
        .any(|name| attribute.eq_ignore_ascii_case(name))
    {
        return Err(CommandError::Syntax);
    }
    let value = checked_name(value)?;
    Ok(ClientCommand::SetInfo { attribute, value })
}

fn switch(value: &[u8]) -> Result<ClientCommand<'_>, CommandError<'_>> {
    if value.eq_ignore_ascii_case(b"ON") || value.eq_ignore_ascii_case(b"OFF") {
        return Ok(ClientCommand::Hint);
    }
    Err(CommandError::Syntax)
}

/// Names appear in lists and logs, so they have no space and no control byte.
fn checked_name(name: &[u8]) -> Result<&[u8], CommandError<'_>> {
    if name.iter().all(u8::is_ascii_graphic) {
        return Ok(name);
    }
    Err(CommandError::ClientName)
}

/// `COMMAND` and its subcommands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List<'a> {
    /// All, with details.
    All,
    /// How many.
    Count,
    /// Only their names.
    Names,
    /// Details of the named ones; all if none is.
    Info(Arguments<'a>),
    /// Documentation of the named ones; all if none is.
    Docs(Arguments<'a>),
}

impl<'a> List<'a> {
    pub(super) fn decode(request: Arguments<'a>) -> Result<Self, CommandError<'a>> {
        let mut arguments = request.tail(1).iter();
        let Some(subcommand) = arguments.next() else {
            return Ok(List::All);
        };
        let is = |name: &[u8]| subcommand.eq_ignore_ascii_case(name);
        match () {
            () if is(b"COUNT") && arguments.len() > 0 => {
                Err(CommandError::WrongArity("command|count"))
            }
            () if is(b"COUNT") => Ok(List::Count),
            () if is(b"LIST") && arguments.len() > 0 => Err(CommandError::Syntax),
            () if is(b"LIST") => Ok(List::Names),
            () if is(b"INFO") => Ok(List::Info(arguments.rest())),
            () if is(b"DOCS") => Ok(List::Docs(arguments.rest())),
            () => Err(CommandError::UnknownSubcommand {
                command: "COMMAND",
                subcommand: Excerpt(subcommand),
            }),
        }
    }
}
