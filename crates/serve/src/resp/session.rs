//! The state of a connection, and the answer to one command.

use std::sync::Arc;

use tollgate_wire::resp::{
    ClientCommand, Command, CommandError, Credentials, HelloCommand, HelloReply, Throttle,
    Transaction, Version, Writer,
};

use super::gaps::Gap;
use super::refusal::Refusal;
use super::transaction::{Queued, is_for_now};
use super::{act, info};
use crate::access::{self, Denied, Operation, Pass};
use crate::engine::Turn;
use crate::lend::Mailbox;
use crate::meter::{Door, Event};
use crate::shared::{Peer, Shared};
use crate::throttle::throttle;

#[derive(Debug)]
pub(super) struct Session {
    peer: Peer,
    version: Version,
    name: Box<[u8]>,
    /// The client's authorization.
    pass: Pass,
    /// Wrong passwords so far.
    failures: u32,
    /// Hints for the client, if it has leases.
    mailbox: Option<Arc<Mailbox>>,
    /// Commands since `MULTI`.
    queued: Option<Queued>,
    /// Commands whose replies are missing.
    pub(super) gaps: Vec<Gap>,
}

/// What to do after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum AfterCommand {
    /// Handle the next one.
    Go,
    /// Handle the next one; what the client may do has changed.
    Changed,
    /// Handle those of [`Session::take_queued`], then the next one.
    Execute,
    /// Send the reply, then close the connection.
    Close,
}

#[derive(Clone, Copy)]
pub(super) struct CommandContext<'r, 'e> {
    pub(super) shared: &'r Shared,
    pub(super) turn: &'r Turn<'e>,
    /// The bytes of the command.
    pub(super) said: &'r [u8],
}

impl<'r, 'e> CommandContext<'r, 'e> {
    pub(super) const fn of(shared: &'r Shared, turn: &'r Turn<'e>) -> Self {
        Self {
            shared,
            turn,
            said: &[],
        }
    }
}

impl Session {
    pub(super) fn new(peer: Peer, shared: &Shared) -> Self {
        Self {
            peer,
            version: Version::default(),
            name: Box::default(),
            pass: Pass::new(&shared.callers, peer),
            failures: 0,
            mailbox: None,
            queued: None,
            gaps: Vec::new(),
        }
    }

    pub(super) const fn mailbox(&self) -> Option<&Arc<Mailbox>> {
        self.mailbox.as_ref()
    }

    pub(super) const fn is_queueing(&self) -> bool {
        self.queued.is_some()
    }

    /// Takes the queued commands out.
    pub(super) fn take_queued(&mut self) -> Option<Queued> {
        self.queued.take()
    }

    /// Whether the client may ask for decisions.
    pub(super) const fn is_authenticated(&self) -> bool {
        self.pass.is_known()
    }

    /// Whether the client is authorized now; the error says why not.
    pub(super) fn may(&mut self, shared: &Shared, operation: Operation) -> Result<(), Refusal> {
        if !self.pass.is_known() {
            return Err(Refusal::NotAuthenticated);
        }
        let scopes = self.pass.scopes(&shared.callers).ok_or(Refusal::Ended)?;
        match operation.is_within(scopes) {
            Err(Denied::Scope(scope)) => Err(Refusal::NotInScope(scope)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    pub(super) const fn version(&self) -> Version {
        self.version
    }

    /// Carries out one command and appends the reply to `out`, or records its gap.
    pub(super) fn answer(
        &mut self,
        room: CommandContext<'_, '_>,
        command: Result<Command<'_>, CommandError<'_>>,
        out: &mut Vec<u8>,
    ) -> AfterCommand {
        let mut writer = Writer::new(out, self.version);
        let is_greeting = matches!(
            command,
            Ok(Command::Hello(_) | Command::Auth(_) | Command::Quit | Command::Reset)
        );
        let operation = command.as_ref().map_or(Operation::Greet, act::operation);
        if !is_greeting && let Err(refusal) = self.may(room.shared, operation) {
            self.spoil();
            writer.error(&refusal);
            let (event, next) = match refusal {
                Refusal::NotInScope(_) => (Event::Forbidden(Door::Resp), AfterCommand::Go),
                Refusal::Ended => (Event::Unauthorized(Door::Resp), AfterCommand::Close),
                _ => (Event::Unauthorized(Door::Resp), AfterCommand::Go),
            };
            room.shared.engine.meter().count(event);
            return next;
        }
        room.turn.sent_by(self.pass.sender());
        let command = match command {
            Ok(command) => command,
            Err(error) => {
                self.spoil();
                writer.error(&error);
                return AfterCommand::Go;
            }
        };
        if let Some(queued) = &mut self.queued
            && !is_for_now(&command)
        {
            match queued.keep(&command, room.said) {
                Ok(()) => writer.simple("QUEUED"),
                Err(refusal) => {
                    if let Refusal::QueueTooLong(_) | Refusal::QueueFull = refusal {
                        room.shared.engine.meter().count(Event::Shed(Door::Resp));
                    }
                    writer.error(&refusal);
                }
            }
            return AfterCommand::Go;
        }
        self.carry_out(room, command, out)
    }

    fn spoil(&mut self) {
        if let Some(queued) = &mut self.queued {
            queued.spoil();
        }
    }

    fn carry_out(
        &mut self,
        room: CommandContext<'_, '_>,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> AfterCommand {
        let mut writer = Writer::new(out, self.version);
        match command {
            Command::Throttle(asked) => answer_throttle(room, &asked, &mut writer),
            Command::Check(_)
            | Command::Lease(_)
            | Command::Charge(_)
            | Command::Refund(_)
            | Command::Forget(_)
            | Command::Peek(_)
            | Command::Settle(_) => {
                let has_leases = matches!(command, Command::Lease(_));
                if has_leases && self.mailbox.is_none() && self.version == Version::Resp3 {
                    self.mailbox = Some(Arc::default());
                }
                let ticket = act::answer(room, &command, self.mailbox.as_ref(), &mut writer);
                let (at, version) = (out.len(), self.version);
                self.gaps.extend(ticket.map(|ticket| Gap {
                    at,
                    version,
                    ticket,
                }));
            }
            Command::Ping(None) => writer.simple("PONG"),
            Command::Ping(Some(message)) | Command::Echo(message) => writer.bulk(message),
            Command::List(list) => list.write(&mut writer),
            Command::Info(sections) => writer.bulk(info::text(room.shared, sections).as_bytes()),
            Command::Select => writer.simple("OK"),
            Command::Client(client) => self.client(client, &mut writer),
            Command::Hello(hello) => return self.hello(room.shared, &hello, out),
            Command::Auth(credentials) => return self.auth(room.shared, credentials, &mut writer),
            Command::Reset => {
                *self = Self {
                    failures: self.failures,
                    mailbox: self.mailbox.take(),
                    gaps: std::mem::take(&mut self.gaps),
                    ..Self::new(self.peer, room.shared)
                };
                writer.simple("RESET");
                return AfterCommand::Changed;
            }
            Command::Transaction(command) => {
                return self.transact(room.shared, command, &mut writer);
            }
            Command::Quit => {
                writer.simple("OK");
                return AfterCommand::Close;
            }
        }
        AfterCommand::Go
    }

    fn transact(
        &mut self,
        shared: &Shared,
        command: Transaction,
        writer: &mut Writer<'_>,
    ) -> AfterCommand {
        let is_spoilt = self.queued.as_ref().map(Queued::is_spoilt);
        let done = match (command, is_spoilt) {
            (Transaction::Multi, None) => {
                self.queued = Some(Queued::new(shared));
                Ok(())
            }
            (Transaction::Multi, Some(_)) => Err(Refusal::NestedMulti),
            (Transaction::Exec, Some(false)) => return AfterCommand::Execute,
            (Transaction::Exec, None) => Err(Refusal::WithoutMulti("EXEC")),
            (Transaction::Discard, None) => Err(Refusal::WithoutMulti("DISCARD")),
            (Transaction::Exec, Some(true)) => {
                self.queued = None;
                Err(Refusal::Aborted)
            }
            (Transaction::Discard, Some(_)) => {
                self.queued = None;
                Ok(())
            }
            (Transaction::Watch, Some(_)) => Err(Refusal::WatchInside),
            (Transaction::Watch, None) => Err(Refusal::NoWatch),
            (Transaction::Unwatch, _) => Ok(()),
        };
        match done {
            Ok(()) => writer.simple("OK"),
            Err(refusal) => writer.error(&refusal),
        }
        AfterCommand::Go
    }

    fn client(&mut self, client: ClientCommand<'_>, writer: &mut Writer<'_>) {
        match client {
            ClientCommand::SetName(name) => match checked_name(name) {
                Ok(name) => {
                    self.name = name.into();
                    writer.simple("OK");
                }
                Err(refusal) => writer.error(&refusal),
            },
            ClientCommand::GetName if self.name.is_empty() => writer.null(),
            ClientCommand::GetName => writer.bulk(&self.name),
            ClientCommand::Id => {
                writer.integer(i64::try_from(self.peer.connection).unwrap_or(i64::MAX));
            }
            ClientCommand::SetInfo { .. } | ClientCommand::Hint => writer.simple("OK"),
        }
    }

    fn hello(
        &mut self,
        shared: &Shared,
        hello: &HelloCommand<'_>,
        out: &mut Vec<u8>,
    ) -> AfterCommand {
        let refuse = |refusal: &Refusal, out: &mut Vec<u8>| {
            Writer::new(out, self.version).error(refusal);
            AfterCommand::Go
        };
        let name = match hello.name.map(checked_name).transpose() {
            Ok(name) => name,
            Err(refusal) => return refuse(&refusal, out),
        };
        match hello.credentials {
            Some(credentials) => {
                if let Err(denied) = self.admit(shared, credentials) {
                    let writer = &mut Writer::new(out, self.version);
                    return self.refuse(shared, denied, writer);
                }
            }
            None if !self.pass.is_known() => {
                let event = Event::Unauthorized(Door::Resp);
                shared.engine.meter().count(event);
                return refuse(&Refusal::NotAuthenticated, out);
            }
            None => {}
        }
        self.version = hello.version.unwrap_or(self.version);
        if let Some(name) = name {
            self.name = name.into();
        }
        let reply = HelloReply {
            server_version: env!("CARGO_PKG_VERSION"),
            connection: self.peer.connection,
        };
        reply.write(&mut Writer::new(out, self.version));
        AfterCommand::Changed
    }

    fn auth(
        &mut self,
        shared: &Shared,
        credentials: Credentials<'_>,
        writer: &mut Writer<'_>,
    ) -> AfterCommand {
        if !shared.callers.are_asked() && credentials.user.is_none() {
            writer.error(&Refusal::NoPasswordSet);
            return AfterCommand::Go;
        }
        if let Err(denied) = self.admit(shared, credentials) {
            return self.refuse(shared, denied, writer);
        }
        writer.simple("OK");
        AfterCommand::Changed
    }

    /// Any valid token will do, with any user name.
    fn admit(&mut self, shared: &Shared, credentials: Credentials<'_>) -> Result<(), Denied> {
        let from = |peer: &Peer| peer.address.map(|address| address.ip());
        let shown = Some(access::shown(credentials.password));
        self.pass.show(&shared.callers, shown, from).map(drop)
    }

    /// Refuses a wrong password, and after many of them the connection.
    fn refuse(&mut self, shared: &Shared, denied: Denied, writer: &mut Writer<'_>) -> AfterCommand {
        shared.engine.meter().count(Event::Unauthorized(Door::Resp));
        self.failures += 1;
        if self.failures < FAILURES_MAX && !matches!(denied, Denied::Guessing(_)) {
            writer.error(&Refusal::WrongPassword);
            return AfterCommand::Go;
        }
        writer.error(&Refusal::TooManyFailures);
        AfterCommand::Close
    }
}

fn answer_throttle(room: CommandContext<'_, '_>, asked: &Throttle<'_>, writer: &mut Writer<'_>) {
    let key_bytes_max = room.shared.settings.limits.key_bytes_max;
    if asked.key.len() > key_bytes_max {
        return writer.error(&Refusal::KeyTooLong(key_bytes_max));
    }
    match throttle(room.turn, asked) {
        Ok(reply) => reply.write(asked, writer),
        Err(error) => writer.error(&Refusal::Engine(error)),
    }
}

fn checked_name(name: &[u8]) -> Result<&[u8], Refusal> {
    if name.len() > NAME_BYTES_MAX {
        return Err(Refusal::NameTooLong(NAME_BYTES_MAX));
    }
    Ok(name)
}

/// Wrong passwords after which a connection is closed.
const FAILURES_MAX: u32 = 10;
/// Limit on a connection's name, which is kept as long as the connection.
const NAME_BYTES_MAX: usize = 128;
