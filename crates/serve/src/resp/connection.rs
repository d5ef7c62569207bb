//! One connection: reading, answering whole commands, writing, and handling slow clients.
//!
//! The stream is polled by hand instead of by tasks for reading and writing, so that a batch of commands costs one read
//! and one write. Replies that the client does not read are bounded: while there are some, nothing more is parsed or
//! read. Not here: what a command means (`session`).

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncWriteExt, ReadBuf};
use tollgate_wire::resp::{Command, CommandLimits, ParseStep, Parser, Version, Writer};

use super::gaps::{DelayedReplies, fill_later};
use super::lease;
use super::patience::{ConnectionTimeouts, Over};
use super::queue::ThrottleQueue;
use super::scratch::Scratch;
use super::session::{AfterCommand, CommandContext, Session};
use crate::access::Operation;
use crate::meter::{Door, Event};
use crate::shared::{Peer, Shared, Stream};
use crate::unsent::HeldBytes;

pub(super) struct RespConnection<S> {
    stream: S,
    shared: Arc<Shared>,
    session: Session,
    parser: Parser,
    /// Unconsumed bytes: a partial command, or everything behind unread replies.
    input: Vec<u8>,
    /// Replies that the client has yet to read.
    output: Output,
    /// Replies that wait for other nodes.
    later: Option<DelayedReplies>,
    patience: ConnectionTimeouts,
    /// Whether the input may contain whole commands.
    is_held: bool,
    /// Whether nothing is to be read any more.
    is_last: bool,
    is_stopping: bool,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The client left.
    Gone,
    /// Nothing arrived for too long.
    Idle,
    /// Something stayed incomplete for too long.
    Slow,
    /// The client reads no replies, and too many bytes are held for it or all clients.
    Greedy,
    /// Everything is answered; [`RespConnection::close`] delivers it.
    Said,
}

/// Why answering stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stopped {
    /// No whole command is left.
    Drained,
    /// There are so many replies that they must be sent first.
    Full,
    /// The connection ends.
    Last,
}

/// Replies that the client has yet to read.
#[derive(Default)]
struct Output {
    bytes: Vec<u8>,
    sent: usize,
    /// Whether the stream itself may hold some back.
    is_unflushed: bool,
    /// Counts them, and the commands behind them.
    held: Option<HeldBytes>,
}

impl<S: Stream> RespConnection<S> {
    pub(super) fn new(stream: S, peer: Peer, shared: Arc<Shared>) -> Self {
        let limits = shared.settings.limits;
        let session = Session::new(peer, &shared);
        let mut patience = ConnectionTimeouts::new(limits.idle, limits.slow);
        if session.is_authenticated() {
            patience.rest();
        }
        Self {
            stream,
            parser: Parser::new(limits_of(&session)),
            session,
            shared,
            input: Vec::new(),
            output: Output::default(),
            later: None,
            patience,
            is_held: false,
            is_last: false,
            is_stopping: false,
        }
    }

    pub(super) fn count(&self, event: Event) {
        self.shared.engine.meter().count(event);
    }

    /// Serves until the connection ends; `stop` is not polled again once it has been ready.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        mut stop: Pin<&mut impl Future<Output = ()>>,
    ) -> Poll<End> {
        loop {
            if let Poll::Ready(end) = self.poll_work(cx) {
                return Poll::Ready(end);
            }
            if let Poll::Ready(over) = self.patience.poll(cx) {
                return Poll::Ready(match over {
                    Over::Idle => End::Idle,
                    Over::Slow => End::Slow,
                });
            }
            if self.is_stopping || stop.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.is_stopping = true;
        }
    }

    /// Closes so that the client receives everything sent before.
    ///
    /// A socket closed with unread bytes resets the connection, which discards what the client has not read yet.
    pub(super) async fn close(&mut self) {
        let goodbye = async {
            self.stream.shutdown().await?;
            while poll_fn(|cx| self.poll_discard(cx)).await? > 0 {}
            io::Result::Ok(())
        };
        // Errors are of no use here.
        let _ = tokio::time::timeout(LINGER, goodbye).await;
    }

    /// Does what can be done without waiting.
    fn poll_work(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        for _ in 0..READS_MAX {
            if let Some(later) = &mut self.later {
                let mut replies = ready!(later.as_mut().poll(cx));
                self.later = None;
                self.output.write(&mut self.stream, cx, &mut replies);
                self.settle(true);
            }
            if self.output.is_waiting() {
                if !self.hold() {
                    return Poll::Ready(End::Greedy);
                }
                match ready!(self.output.poll_write(&mut self.stream, cx)) {
                    Ok(()) => self.settle(true),
                    Err(_) => return Poll::Ready(End::Gone),
                }
            }
            if self.is_last {
                return Poll::Ready(End::Said);
            }
            if self.is_held {
                let input = std::mem::take(&mut self.input);
                Scratch::lend(|scratch| self.take(cx, &input, &mut scratch.output));
                continue;
            }
            if self.push(cx) {
                continue;
            }
            match self.poll_read(cx) {
                Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(End::Gone),
                Poll::Ready(Ok(_)) => {}
                Poll::Pending if self.is_stopping && self.input.is_empty() => {
                    return Poll::Ready(End::Said);
                }
                Poll::Pending => return Poll::Pending,
            }
        }
        // Lets other connections run.
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Counts what waits for the client to read; false if that is too much.
    fn hold(&mut self) -> bool {
        if self.output.held.is_none() {
            let bytes = self.output.bytes.len() + self.input.len();
            let unsent = self.shared.state.unsent();
            self.output.held = unsent.hold(&Arc::default(), bytes);
        }
        self.output.held.is_some()
    }

    /// Pushes hints to the client; returns whether there were any.
    fn push(&mut self, cx: &mut Context<'_>) -> bool {
        let mailbox = self.session.mailbox();
        let Some(Poll::Ready(nudge)) = mailbox.map(|mailbox| mailbox.poll(cx)) else {
            return false;
        };
        let mut pushed = Vec::new();
        lease::push(nudge, self.session.version(), &mut pushed);
        self.output.write(&mut self.stream, cx, &mut pushed);
        true
    }

    /// Reads once and answers whole commands; zero at the end of the stream.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        Scratch::lend(|scratch| {
            let mut came = ReadBuf::new(&mut scratch.input);
            ready!(Pin::new(&mut self.stream).poll_read(cx, &mut came))?;
            let came = came.filled();
            if self.input.is_empty() {
                self.take(cx, came, &mut scratch.output);
            } else {
                let mut input = std::mem::take(&mut self.input);
                input.extend_from_slice(came);
                self.take(cx, &input, &mut scratch.output);
            }
            Poll::Ready(Ok(came.len()))
        })
    }

    /// Answers whole commands, and keeps the rest.
    fn take(&mut self, cx: &mut Context<'_>, bytes: &[u8], replies: &mut Vec<u8>) {
        let consumed = self.answer_and_write(cx, bytes, replies);
        if let Some(rest) = bytes.get(consumed..)
            && !rest.is_empty()
            && !self.is_last
        {
            self.input = rest.to_vec();
        } else {
            self.parser.release();
        }
        self.settle(consumed > 0);
    }

    /// Answers and writes by turns until no whole command is left, or the client reads no more. Returns how many bytes
    /// were consumed.
    fn answer_and_write(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &[u8],
        replies: &mut Vec<u8>,
    ) -> usize {
        let mut at = 0;
        loop {
            let (consumed, stopped) = self.answer(bytes.get(at..).unwrap_or_default(), replies);
            at += consumed;
            self.is_last |= stopped == Stopped::Last;
            self.is_held = stopped == Stopped::Full;
            if self.later.is_some() {
                return at;
            }
            self.output.write(&mut self.stream, cx, replies);
            if !self.is_held || self.output.is_waiting() {
                return at;
            }
        }
    }

    /// Answers commands, all at one time. Returns how many bytes were consumed.
    fn answer(&mut self, bytes: &[u8], replies: &mut Vec<u8>) -> (usize, Stopped) {
        let engine = &self.shared.engine;
        let turn = engine.turn().by(Door::Resp);
        let room = CommandContext::of(&self.shared, &turn);
        let mut queue = ThrottleQueue::default();
        let key_bytes_max = self.shared.settings.limits.key_bytes_max;
        let (mut at, mut count) = (0, 0);
        let stopped = loop {
            if replies.len() >= REPLY_BYTES_MAX {
                break Stopped::Full;
            }
            let (command, length) = match self.parser.parse(bytes.get(at..).unwrap_or_default()) {
                Ok(ParseStep::NeedMore) => break Stopped::Drained,
                Ok(ParseStep::Skip { consumed }) => {
                    at += consumed;
                    continue;
                }
                Ok(ParseStep::Command { request, consumed }) => {
                    at += consumed;
                    count += 1;
                    (Command::decode(request), consumed)
                }
                Err(error) => {
                    engine.meter().count(Event::Malformed(Door::Resp));
                    queue.answer(&turn, self.session.version(), replies);
                    Writer::new(replies, Version::Resp2).error(&error);
                    break Stopped::Last;
                }
            };
            if let Ok(Command::Throttle(ask)) = &command
                && ask.key.len() <= key_bytes_max
                && self.session.may(&self.shared, Operation::Check).is_ok()
                && !self.session.is_queueing()
                && queue.takes(ask, bytes)
            {
                if queue.is_full() {
                    queue.answer(&turn, self.session.version(), replies);
                }
                continue;
            }
            queue.answer(&turn, self.session.version(), replies);
            let said = bytes.get(at - length..at).unwrap_or_default();
            let room = CommandContext { said, ..room };
            let session = &mut self.session;
            let mut next = session.answer(room, command, replies);
            if next == AfterCommand::Execute {
                next = execute(session, room, replies);
            }
            match next {
                AfterCommand::Go | AfterCommand::Execute => {}
                AfterCommand::Changed => {
                    self.parser.set_limits(limits_of(&self.session));
                    if !self.session.is_authenticated() && !self.patience.is_short() {
                        self.patience.begin();
                    }
                }
                AfterCommand::Close => break Stopped::Last,
            }
        };
        queue.answer(&turn, self.session.version(), replies);
        let took = Duration::from_nanos(engine.now().nanos_since(turn.now()));
        engine.meter().served(Door::Resp, count, took);
        let gaps = std::mem::take(&mut self.session.gaps);
        let mailbox = self.session.mailbox();
        self.later = fill_later(gaps, &turn, &self.shared, mailbox, replies);
        (at, stopped)
    }

    /// Sets the timeout by what is incomplete; `has_moved` if that is something else than before.
    ///
    /// An unauthenticated client has the time of one command to authenticate, whatever else it sends.
    fn settle(&mut self, has_moved: bool) {
        if !self.session.is_authenticated() {
            return;
        }
        let is_half_done = !self.input.is_empty() || self.session.is_queueing();
        if self.output.is_waiting() || is_half_done {
            if has_moved || !self.patience.is_short() {
                self.patience.begin();
            }
        } else {
            self.patience.rest();
        }
    }

    /// Reads once and discards.
    fn poll_discard(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        Scratch::lend(|scratch| {
            let mut came = ReadBuf::new(&mut scratch.input);
            ready!(Pin::new(&mut self.stream).poll_read(cx, &mut came))?;
            Poll::Ready(Ok(came.filled().len()))
        })
    }
}

impl<S> Drop for RespConnection<S> {
    fn drop(&mut self) {
        if let Some(mailbox) = self.session.mailbox() {
            self.shared.lend.gone(mailbox);
        }
    }
}

impl Output {
    const fn is_waiting(&self) -> bool {
        !self.bytes.is_empty() || self.is_unflushed
    }

    /// Writes as much of the replies as the socket accepts; the rest is kept here.
    fn write(&mut self, stream: &mut impl Stream, cx: &mut Context<'_>, replies: &mut Vec<u8>) {
        if replies.is_empty() {
            return;
        }
        let mut sent = 0;
        if !matches!(
            poll_all(stream, cx, replies, &mut sent),
            Poll::Ready(Ok(()))
        ) {
            // An error shows again when the rest is written.
            self.bytes = replies.get(sent..).unwrap_or_default().to_vec();
            self.sent = 0;
            self.is_unflushed = true;
        }
        replies.clear();
    }

    /// Writes what is kept here.
    fn poll_write(
        &mut self,
        stream: &mut impl Stream,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(poll_all(stream, cx, &self.bytes, &mut self.sent))?;
        *self = Self::default();
        Poll::Ready(Ok(()))
    }
}

/// Writes what is not `sent` yet, and flushes: a stream that encrypts may hold some back.
fn poll_all(
    stream: &mut impl Stream,
    cx: &mut Context<'_>,
    bytes: &[u8],
    sent: &mut usize,
) -> Poll<io::Result<()>> {
    while let Some(rest) = bytes.get(*sent..)
        && !rest.is_empty()
    {
        match ready!(Pin::new(&mut *stream).poll_write(cx, rest))? {
            0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            count => *sent += count,
        }
    }
    Pin::new(stream).poll_flush(cx)
}

/// Carries out queued commands: one array of all replies.
fn execute(
    session: &mut Session,
    room: CommandContext<'_, '_>,
    replies: &mut Vec<u8>,
) -> AfterCommand {
    let mut last = AfterCommand::Go;
    let Some(queued) = session.take_queued() else {
        return last;
    };
    Writer::new(replies, session.version()).array(queued.count);
    let mut parser = Parser::new(CommandLimits::STANDARD);
    let mut rest = &*queued.commands;
    while let Ok(ParseStep::Command { request, consumed }) = parser.parse(rest) {
        let (said, behind) = rest.split_at(consumed);
        rest = behind;
        let next = session.answer(
            CommandContext { said, ..room },
            Command::decode(request),
            replies,
        );
        // Each has its reply, also if the connection ends.
        if next == AfterCommand::Close {
            last = next;
        }
    }
    last
}

fn limits_of(session: &Session) -> CommandLimits {
    if session.is_authenticated() {
        CommandLimits::STANDARD
    } else {
        CommandLimits::BEFORE_AUTH
    }
}

/// Consecutive reads before other connections have their turn.
const READS_MAX: usize = 4;
/// Bytes of replies after which they are written before more is answered. One reply may exceed it.
const REPLY_BYTES_MAX: usize = 64 << 10;
/// How long a client may take to read the last replies.
const LINGER: Duration = Duration::from_secs(1);
