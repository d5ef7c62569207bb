//! HTTP/1, whose requests nearly always arrive whole.
//!
//! A connection is read into one buffer; every whole request in it is answered into another, which is written at once.
//! A request whose body or answer takes time is answered alone (`alone`), and the connection goes on behind it. Not
//! here: paths and answers (`route`).

mod alone;
mod answer;
mod body;
mod follow;
pub(super) mod head;
mod vigil;

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use http::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant as Timer, sleep, timeout};

use super::reply::CountedBody;
use super::{ListenerSite, Reply, reply, route};
use crate::meter::{Door, Event};
use crate::shared::{Peer, Shared, Stop, Stream};
use answer::{BatchContext, Pending, ReadOutcome};
use tollgate_limit::Instant;
use vigil::{Vigil, Woken};

pub(super) enum NextProtocol<S> {
    /// The connection ended.
    Nobody,
    /// HTTP/2, with what was read.
    Http2(S, BytesMut),
}

/// Serves an HTTP/1 connection to its end.
pub(super) async fn serve<S: Stream>(
    stream: S,
    peer: Peer,
    site: &Arc<ListenerSite>,
    shared: &Arc<Shared>,
    stop: Stop,
) -> NextProtocol<S> {
    let tick = shared.settings.limits.idle / IDLE_TICKS;
    let age = super::age(shared, &peer);
    let mut lean = Lean {
        stream,
        peer,
        site,
        shared,
        input: BytesMut::new(),
        said: Said::new(),
        old_at: age.map(|age| Timer::now() + age),
        vigil: Vigil::new(stop.clone(), tick),
        stop,
        is_first: true,
        is_stopping: false,
        is_partial: false,
        ticks: 0,
        pending: None,
    };
    let next = lean.run().await;
    let Lean { stream, input, .. } = lean;
    match next {
        After::Close => NextProtocol::Nobody,
        After::Http2 => NextProtocol::Http2(stream, input),
    }
}

struct Lean<'s, S> {
    stream: S,
    peer: Peer,
    site: &'s ListenerSite,
    shared: &'s Arc<Shared>,
    input: BytesMut,
    said: Said,
    /// When the connection reaches its maximum age, if there is one.
    old_at: Option<Timer>,
    vigil: Vigil,
    stop: Stop,
    /// Whether nothing was answered yet, so that HTTP/2 may still begin.
    is_first: bool,
    is_stopping: bool,
    /// Whether a request began to arrive.
    is_partial: bool,
    /// Idle ticks so far.
    ticks: u32,
    /// The request that waits.
    pending: Option<Box<Pending<'s>>>,
}

/// Answers not sent yet.
struct Said {
    reply: Reply,
    output: Vec<u8>,
    /// The body of the last answer, if it is too large to be copied into the output.
    tail: CountedBody,
    /// How long to wait before they are written.
    hold: Duration,
}

impl Said {
    const fn new() -> Self {
        Self {
            reply: Reply::new(),
            output: Vec::new(),
            tail: CountedBody::NONE,
            hold: Duration::ZERO,
        }
    }
}

/// What to do after all whole requests are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Read more bytes.
    Read,
    /// The same again, once everything is written.
    Again,
    /// Close, once everything is written.
    Close,
    /// The same again, once the waiting request is answered.
    Later,
    /// Answer the next request alone, once everything is written; its head has this many bytes.
    Alone(usize),
    Http2,
}

enum After {
    Close,
    Http2,
}

impl<S: Stream> Lean<'_, S> {
    async fn run(&mut self) -> After {
        loop {
            let step = self.answer_whole();
            if !self.said.hold.is_zero() {
                sleep(std::mem::take(&mut self.said.hold)).await;
                self.vigil.disarm();
            }
            if !self.said.output.is_empty() && self.flush().await.is_err() {
                return After::Close;
            }
            match step {
                Step::Read => {}
                Step::Again => continue,
                Step::Close => {
                    self.close().await;
                    return After::Close;
                }
                Step::Alone(_) | Step::Later => {
                    // Boxed: such requests are few, and their state is large.
                    let goes_on = match step {
                        Step::Alone(length) => Box::pin(self.alone(length)).await,
                        _ => Box::pin(self.wait()).await,
                    };
                    if !goes_on {
                        self.close().await;
                        return After::Close;
                    }
                    self.vigil.disarm();
                    continue;
                }
                Step::Http2 => return After::Http2,
            }
            if !self.fill().await {
                return After::Close;
            }
        }
    }

    /// Answers every whole request in the buffer, at one time and by the same contracts.
    fn answer_whole(&mut self) -> Step {
        if self.input.is_empty() {
            self.is_partial = false;
            return Step::Read;
        }
        if self.is_first
            && let Some(step) = self.preface()
        {
            return step;
        }
        if !self.shared.state.is_ready() {
            self.is_stopping |= self.stop.is_leaving();
        }
        self.is_stopping |= self.old_at.is_some_and(|old_at| old_at <= Timer::now());
        let (done, step) = self.answer_batch();
        self.is_first &= done == 0;
        if step == Step::Read {
            self.expect_more(done > 0);
        }
        step
    }

    /// Whether this is the beginning of an HTTP/2 connection.
    fn preface(&mut self) -> Option<Step> {
        let length = self.input.len().min(PREFACE.len());
        if self.input.get(..length) != PREFACE.get(..length) {
            return None;
        }
        if length == PREFACE.len() {
            return Some(Step::Http2);
        }
        self.expect_more(false);
        Some(Step::Read)
    }

    /// Answers the waiting request once it is decided. Returns whether another may follow.
    async fn wait(&mut self) -> bool {
        let Some(pending) = self.pending.take() else {
            return true;
        };
        let Pending {
            later,
            manner,
            span,
            came,
        } = *pending;
        let reply = later.wait(&self.shared.engine).await;
        route::end(span, &reply);
        self.said.reply = reply;
        self.put(None, manner);
        self.is_first = false;
        self.count(1, came);
        let hold = self.said.reply.hold();
        if !hold.is_zero() {
            sleep(hold).await;
        }
        self.flush().await.is_ok() && manner.is_kept
    }

    /// Counts requests that were answered.
    fn count(&self, done: u64, began: Instant) {
        if done > 0 {
            let engine = &self.shared.engine;
            let took = Duration::from_nanos(engine.now().nanos_since(began));
            engine.meter().served(Door::Http, done, took);
        }
    }

    /// Answers requests until one is incomplete or has to wait; returns how many, and the next step.
    fn answer_batch(&mut self) -> (u64, Step) {
        let shared = self.shared;
        let turn = &shared.engine.turn();
        let call = BatchContext {
            shared,
            site: self.site,
            peer: self.peer,
            turn,
            is_stopping: self.is_stopping,
        };
        let (mut done, mut at) = (0, 0);
        let step = loop {
            let bytes = self.input.get(at..).unwrap_or_default();
            if bytes.is_empty() {
                break Step::Read;
            }
            if self.said.output.len() > OUTPUT_MAX {
                break Step::Again;
            }
            match answer::answer(&call, bytes, &mut self.said.reply, &mut self.said.output) {
                ReadOutcome::Answered {
                    length,
                    is_kept,
                    hold,
                    has_rest,
                } => {
                    at += length;
                    done += 1;
                    self.said.hold = hold;
                    if has_rest {
                        self.said.tail = self.said.reply.take_body();
                    }
                    if !is_kept {
                        break Step::Close;
                    }
                    if has_rest || !hold.is_zero() {
                        break Step::Again;
                    }
                }
                ReadOutcome::Later(length, pending) => {
                    at += length;
                    self.pending = Some(pending);
                    break Step::Later;
                }
                ReadOutcome::Partial => break Step::Read,
                ReadOutcome::Alone(length) => break Step::Alone(length),
                ReadOutcome::Refused => break Step::Close,
            }
        };
        self.input.advance(at);
        self.count(done, turn.now());
        (done, step)
    }

    /// Sets the timeout for the rest of a request, or the idle timeout.
    fn expect_more(&mut self, is_new: bool) {
        self.ticks = 0;
        if self.input.is_empty() {
            self.is_partial = false;
        } else if is_new || !self.is_partial {
            self.is_partial = true;
            self.vigil.set(self.shared.settings.limits.slow);
        }
    }

    /// Reads more. Returns false at the end.
    async fn fill(&mut self) -> bool {
        loop {
            match self.read().await {
                Waited::Read(Ok(0) | Err(_)) => return false,
                Waited::Read(Ok(_)) => return true,
                Waited::Woken(Woken::Stopped) => {
                    self.is_stopping = true;
                    if self.input.is_empty() {
                        let _ = self.stream.shutdown().await;
                        return false;
                    }
                }
                Waited::Woken(Woken::Late) => {
                    if !self.is_patient().await {
                        return false;
                    }
                }
            }
        }
    }

    async fn read(&mut self) -> Waited {
        self.input.reserve(READ_BYTES);
        let Self {
            stream,
            input,
            vigil,
            shared,
            ..
        } = self;
        let mut read = pin!(stream.read_buf(input));
        let mut is_first = vigil.is_armed() && shared.state.is_ready();
        poll_fn(|context| {
            if let Poll::Ready(read) = read.as_mut().poll(context) {
                return Poll::Ready(Waited::Read(read));
            }
            // Bytes nearly always come first. A task that wakes without any was woken by something else.
            if std::mem::take(&mut is_first) {
                return Poll::Pending;
            }
            vigil.poll(context).map(Waited::Woken)
        })
        .await
    }

    /// Whether to go on waiting after a timeout.
    async fn is_patient(&mut self) -> bool {
        let limits = &self.shared.settings.limits;
        if self.is_partial {
            self.shared
                .engine
                .meter()
                .count(Event::TimedOut(Door::Http));
            self.cut(
                StatusCode::REQUEST_TIMEOUT,
                "The rest of the request came too slowly.",
            )
            .await;
            return false;
        }
        self.ticks += 1;
        if self.ticks > IDLE_TICKS {
            let _ = self.stream.shutdown().await;
            return false;
        }
        // An idle connection frees its buffers.
        (self.input, self.said) = (BytesMut::new(), Said::new());
        self.vigil.set(limits.idle / IDLE_TICKS);
        true
    }

    /// Answers what will never be a whole request, and ends.
    async fn cut(&mut self, status: StatusCode, why: &str) {
        let now = self.shared.engine.now();
        let manner = reply::SendOptions::last(now, self.peer);
        let Said { reply, output, .. } = &mut self.said;
        answer::refuse(status, why, manner, reply, output);
        if self.flush().await.is_ok() {
            self.close().await;
        }
    }

    /// Writes the answers.
    async fn flush(&mut self) -> io::Result<()> {
        let Self {
            stream,
            said: Said { output, tail, .. },
            vigil,
            shared,
            input,
            ..
        } = self;
        let kept = output.len() + tail.own + input.capacity();
        let send = async {
            stream.write_all(output).await?;
            stream.write_all(&tail.bytes).await?;
            stream.flush().await
        };
        let mut send = pin!(send);
        // The socket nearly always has space for an answer, so that no timer is needed.
        let done = match poll_fn(|context| Poll::Ready(send.as_mut().poll(context))).await {
            Poll::Ready(done) => done,
            Poll::Pending => {
                vigil.disarm();
                let held = shared.state.unsent().hold(&Arc::default(), kept);
                if held.is_none() {
                    shared.engine.meter().count(Event::Shed(Door::Http));
                    return Err(io::ErrorKind::OutOfMemory.into());
                }
                match timeout(shared.settings.limits.slow, send).await {
                    Ok(done) => done,
                    Err(late) => {
                        shared.engine.meter().count(Event::TimedOut(Door::Http));
                        return Err(late.into());
                    }
                }
            }
        };
        self.said.output.clear();
        self.said.output.shrink_to(OUTPUT_MAX);
        self.said.tail = CountedBody::NONE;
        done
    }

    /// Ends the connection so that the last answer arrives: further input is read and dropped for a while, as a socket
    /// closed with unread bytes resets the connection.
    async fn close(&mut self) {
        let drain = async {
            self.stream.shutdown().await?;
            let mut left = LINGER_BYTES_MAX;
            while left > 0 {
                self.input.clear();
                self.input.reserve(READ_BYTES);
                let read = self.stream.read_buf(&mut self.input).await?;
                if read == 0 {
                    break;
                }
                left = left.saturating_sub(read);
            }
            io::Result::Ok(())
        };
        let _ = timeout(LINGER, drain).await;
    }
}

enum Waited {
    Read(io::Result<usize>),
    Woken(Woken),
}

/// How an HTTP/2 connection begins.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The least space for a read.
const READ_BYTES: usize = 2 << 10;
/// Answers are written once there are this many bytes.
const OUTPUT_MAX: usize = 64 << 10;
/// Ticks without input after which a connection is idle.
const IDLE_TICKS: u32 = 4;
/// How long the end of a connection may take.
const LINGER: Duration = Duration::from_secs(1);
/// Bytes read and dropped at the end of a connection.
const LINGER_BYTES_MAX: usize = 256 << 10;
