//! The threads that talk to a node: one says what keys have to say and looks after them, one hears the answers.
//!
//! One node is talked to at a time. When it is gone, refuses or takes too long, the next one is, and questions are said again there. Not
//! here: what is said (`slots`), bytes (`replies`).

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tollgate_lease::{Message, decode, decode_reply, encode_inquiry};
use tollgate_limit::Span;
use tollgate_node::Key;

use super::config::{ClientConfig, ClientError, placed};
use super::link::Link;
use super::replies::{Replies, Value, Words, command, words};
use super::slots::Slots;
use super::{ClientCounts, Outcome, Path};

/// The threads of a client.
pub(super) struct Pump {
    post: Arc<Post>,
    thread: Option<JoinHandle<()>>,
}

/// What the threads share.
struct Post {
    slots: Arc<Slots>,
    config: Arc<ClientConfig>,
    /// Whether there is something to say.
    is_woken: Mutex<bool>,
    woken: Condvar,
    asks: Mutex<VecDeque<Ask>>,
    /// What was said and is not answered yet.
    flights: Mutex<VecDeque<(Flight, Instant)>>,
    /// Whether the connection has ended.
    is_broken: AtomicBool,
    is_over: AtomicBool,
    connected: AtomicU64,
    malformed: AtomicU64,
    asked: AtomicU64,
    heard: AtomicU64,
}

/// A decision that a node is asked for.
struct Ask {
    command: Vec<u8>,
    ticket: Arc<Ticket>,
}

#[derive(Default)]
struct Ticket {
    heard: Mutex<Heard>,
    there: Condvar,
}

/// What became of an ask.
#[derive(Default)]
enum Heard {
    #[default]
    Nothing,
    /// Nobody will answer.
    Lost,
    Outcome(Outcome),
}

enum Flight {
    Lease(u64),
    Ask(Arc<Ticket>),
}

impl Pump {
    pub(super) fn start(slots: Arc<Slots>, config: Arc<ClientConfig>) -> Result<Self, ClientError> {
        let post = Arc::new(Post {
            slots,
            config,
            is_woken: Mutex::new(false),
            woken: Condvar::new(),
            asks: Mutex::default(),
            flights: Mutex::default(),
            is_broken: AtomicBool::new(true),
            is_over: AtomicBool::new(false),
            connected: AtomicU64::new(0),
            malformed: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            heard: AtomicU64::new(0),
        });
        let run = Arc::clone(&post);
        let thread = thread::Builder::new().name("tollgate-lease".into());
        let thread = thread.spawn(move || run.run());
        let thread = thread.map_err(|error| ClientError::System(error.to_string()))?;
        Ok(Self {
            post,
            thread: Some(thread),
        })
    }

    /// There is something to say.
    pub(super) fn wake(&self) {
        self.post.wake();
    }

    /// Has a node decide; `None` where nobody answers in time.
    pub(super) fn ask(&self, key: Key<'_>, cost: u64) -> Option<Outcome> {
        let post = &self.post;
        let (mut bytes, cost) = (Vec::new(), cost.to_string());
        let check = [b"TOLLGATE.CHECK", &b"COST"[..], cost.as_bytes(), b"KEY"];
        command(check).write(&words(key), &mut bytes);
        let ticket = Arc::new(Ticket::default());
        {
            let mut asks = post.asks.lock();
            if asks.len() >= ASKS_MAX {
                return None;
            }
            asks.push_back(Ask {
                command: bytes,
                ticket: Arc::clone(&ticket),
            });
        }
        post.asked.fetch_add(1, Relaxed);
        post.wake();
        let deadline = Instant::now() + post.config.timeout;
        let mut heard = ticket.heard.lock();
        while matches!(*heard, Heard::Nothing) {
            if ticket.there.wait_until(&mut heard, deadline).timed_out() {
                break;
            }
        }
        // Whoever asked no longer listens.
        match std::mem::replace(&mut *heard, Heard::Lost) {
            Heard::Outcome(outcome) => Some(outcome),
            Heard::Nothing | Heard::Lost => None,
        }
    }

    /// Waits a little until everything is said.
    pub(super) fn flush(&self) {
        self.post.wake();
        let deadline = Instant::now() + FLUSH;
        while Instant::now() < deadline && *self.post.is_woken.lock() {
            thread::sleep(Duration::from_millis(1));
        }
    }

    pub(super) fn counts(&self, slots: &Slots) -> ClientCounts {
        let mut counts = ClientCounts {
            connected: self.post.connected.load(Relaxed),
            malformed: self.post.malformed.load(Relaxed),
            asked: self.post.asked.load(Relaxed),
            heard: self.post.heard.load(Relaxed),
            ..slots.counts()
        };
        counts.sent += counts.asked;
        counts
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        self.post.is_over.store(true, Relaxed);
        self.post.wake();
        if let Some(thread) = self.thread.take() {
            // What panicked was told by the panic.
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for Pump {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pump").finish_non_exhaustive()
    }
}

impl Post {
    fn wake(&self) {
        let mut is_woken = self.is_woken.lock();
        if !*is_woken {
            *is_woken = true;
            self.woken.notify_one();
        }
    }

    /// Connects, says, looks after, until the client is gone.
    fn run(self: Arc<Self>) {
        let (mut turn, mut rest) = (0, REST_MIN);
        let (mut last_look, mut open_at) = (Instant::now(), Instant::now());
        let mut link: Option<(Link, JoinHandle<()>)> = None;
        while !self.is_over.load(Relaxed) {
            if self.is_broken.load(Relaxed) || self.is_late() {
                self.end(link.take());
                self.is_broken.store(true, Relaxed);
                if Instant::now() >= open_at {
                    match self.open(turn) {
                        Ok(opened) => (link, rest) = (Some(opened), REST_MIN),
                        Err(_) => rest = (rest * 2).min(REST_MAX),
                    }
                    turn += 1;
                    open_at = Instant::now() + rest;
                }
            }
            if let Some((stream, _)) = &mut link
                && self.say(stream).is_err()
            {
                self.is_broken.store(true, Relaxed);
            }
            if last_look.elapsed() >= self.look_every() {
                last_look = Instant::now();
                self.slots.look_after();
            }
            self.sleep(LOOK);
        }
        if let Some((stream, _)) = &mut link {
            // What is given back late is given back by the end of its term.
            let _ = self.say(stream);
        }
        self.end(link);
    }

    /// Rests until there is something to say.
    fn sleep(&self, most: Duration) {
        let mut is_woken = self.is_woken.lock();
        if !*is_woken && !self.is_over.load(Relaxed) {
            self.woken.wait_for(&mut is_woken, most);
        }
        *is_woken = false;
    }

    /// Many keys are looked after less often.
    fn look_every(&self) -> Duration {
        LOOK.max(LOOK_PER_KEY * u32::try_from(self.slots.count()).unwrap_or(u32::MAX))
    }

    /// Whether an answer is overdue, so that another node is tried.
    fn is_late(&self) -> bool {
        let flights = self.flights.lock();
        let oldest = flights.front().map(|(_, since)| since.elapsed());
        oldest.is_some_and(|waited| waited > self.config.timeout)
    }

    fn end(&self, link: Option<(Link, JoinHandle<()>)>) {
        if let Some((stream, reader)) = link {
            stream.close();
            let _ = reader.join();
        }
        for (flight, _) in std::mem::take(&mut *self.flights.lock()) {
            if let Flight::Ask(ticket) = flight {
                ticket.put(None);
            }
        }
    }

    /// Connects to the next node, and listens.
    fn open(self: &Arc<Self>, turn: usize) -> io::Result<(Link, JoinHandle<()>)> {
        let nodes = &self.config.nodes;
        let node = nodes
            .get(turn % nodes.len().max(1))
            .map_or("", |node| placed(node).1);
        let mut link = Link::open(node, self.config.timeout)?;
        link.patience(Some(self.config.timeout))?;
        let mut hello = vec![&b"HELLO"[..], b"3"];
        if let Some(token) = &self.config.token {
            hello.extend([&b"AUTH"[..], b"client", token.as_bytes()]);
        }
        let mut bytes = Vec::new();
        command(hello).write(&Words::default(), &mut bytes);
        link.write_all(&bytes)?;
        let mut replies = Replies::new(link.again()?);
        if let Value::Error(why) = replies.next()? {
            return Err(io::Error::other(why));
        }
        link.patience(None)?;
        self.is_broken.store(false, Relaxed);
        self.connected.fetch_add(1, Relaxed);
        let post = Arc::clone(self);
        let reader = thread::Builder::new().name("tollgate-heard".into());
        let reader = reader.spawn(move || post.listen(replies))?;
        // Whatever was said before may have been lost.
        self.slots.say_again();
        Ok((link, reader))
    }

    /// Says everything there is to say.
    fn say(&self, link: &mut Link) -> io::Result<()> {
        let mut out = Vec::new();
        let now = Instant::now();
        {
            let mut flights = self.flights.lock();
            self.slots.drain(|print, key, inquiry| {
                let inquiry = encode_inquiry(&inquiry);
                command([&b"TOLLGATE.LEASE"[..], &inquiry, b"KEY"]).write(key, &mut out);
                flights.push_back((Flight::Lease(print), now));
            });
            for ask in std::mem::take(&mut *self.asks.lock()) {
                if matches!(*ask.ticket.heard.lock(), Heard::Lost) {
                    continue;
                }
                out.extend_from_slice(&ask.command);
                flights.push_back((Flight::Ask(ask.ticket), now));
            }
        }
        if out.is_empty() {
            return Ok(());
        }
        link.write_all(&out)
    }

    /// Hears answers until the connection ends.
    fn listen(&self, mut replies: Replies<Link>) {
        while let Ok(value) = replies.next() {
            match value {
                Value::Push(items) => self.pushed(&items),
                value => {
                    let flight = self.flights.lock().pop_front();
                    match flight {
                        Some((Flight::Lease(print), _)) => self.lent(print, &value),
                        Some((Flight::Ask(ticket), _)) => ticket.put(self.decided(&value)),
                        None => break,
                    }
                }
            }
            self.wake();
        }
        self.is_broken.store(true, Relaxed);
        self.wake();
    }

    fn lent(&self, print: u64, value: &Value) {
        let reply = match value {
            Value::Text(bytes) => decode_reply(bytes).ok(),
            _ => None,
        };
        match reply {
            Some(reply) => {
                self.heard.fetch_add(reply.grants(), Relaxed);
                self.slots.handle_reply(print, &reply);
            }
            // It is asked again when its time comes.
            None => self.malformed(),
        }
    }

    fn pushed(&self, items: &[Value]) {
        let [Value::Text(name), Value::Text(bytes)] = items else {
            return self.malformed();
        };
        match decode(bytes) {
            Ok(Message::Nudge(nudge)) if name == b"tollgate.nudge" => {
                self.heard.fetch_add(1, Relaxed);
                self.slots.handle_nudge(nudge.key);
            }
            _ => self.malformed(),
        }
    }

    fn decided(&self, value: &Value) -> Option<Outcome> {
        let Some(allowed) = value.field("allowed").and_then(Value::number) else {
            self.malformed();
            return None;
        };
        let millis = value.field("retry_after_ms").and_then(Value::number);
        let nanos = millis.and_then(|millis| u128::try_from(millis).ok());
        Some(Outcome {
            is_allowed: allowed == 1,
            path: Path::Asked,
            retry_after: nanos.map(|millis| Span::from_nanos(millis.saturating_mul(1_000_000))),
            receipt: None,
        })
    }

    fn malformed(&self) {
        self.malformed.fetch_add(1, Relaxed);
    }
}

impl Ticket {
    fn put(&self, outcome: Option<Outcome>) {
        *self.heard.lock() = outcome.map_or(Heard::Lost, Heard::Outcome);
        self.there.notify_all();
    }
}

/// How often keys are looked after.
const LOOK: Duration = Duration::from_millis(10);
/// And how much less often for each that there is.
const LOOK_PER_KEY: Duration = Duration::from_micros(10);
/// How long a client rests between tries to connect.
const REST_MIN: Duration = Duration::from_millis(20);
const REST_MAX: Duration = Duration::from_millis(500);
/// Decisions that wait to be asked for.
const ASKS_MAX: usize = 65_536;
/// How long a client that ends waits until it has given everything back.
const FLUSH: Duration = Duration::from_millis(100);
