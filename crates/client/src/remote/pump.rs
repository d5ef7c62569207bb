//! The threads that talk to a node: one says what keys have to say and looks after them, one hears the answers.
//!
//! One node is talked to at a time. When it is gone, refuses or takes too long, the next one is, and questions are said
//! again there. Not here: what is said (`slots`), bytes (`replies`).

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tollgate_lease::{LeaseMessage, decode, decode_reply, encode_inquiry};

use super::ClientCounts;
use super::config::{ClientConfig, ClientError, placed};
use super::link::{NodeConnection, Trust};
use super::replies::{CommandWords, Replies, RespValue, command};
use super::slots::Slots;
use super::ticket::{Awaiting, ReplyTicket};

/// The threads of a client.
pub(super) struct Pump {
    post: Arc<Post>,
    thread: Option<JoinHandle<()>>,
}

/// What the threads share.
struct Post {
    slots: Arc<Slots>,
    config: Arc<ClientConfig>,
    trust: Trust,
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

/// Something that a node is asked.
struct Ask {
    command: Vec<u8>,
    ticket: Arc<ReplyTicket>,
    since: Instant,
}

enum Flight {
    Lease(u64),
    Ask(Arc<ReplyTicket>),
}

impl Pump {
    pub(super) fn start(slots: Arc<Slots>, config: Arc<ClientConfig>) -> Result<Self, ClientError> {
        let trust = config.trust()?;
        let post = Arc::new(Post {
            slots,
            config,
            trust,
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

    /// Has a node answer a command; `None` where nobody does in time.
    pub(super) fn ask(&self, command: Vec<u8>) -> Option<RespValue> {
        let ticket = self.post(command)?;
        ticket.wait(Instant::now() + self.post.config.timeout)
    }

    /// The same for tasks.
    pub(super) async fn ask_in_task(&self, command: Vec<u8>) -> Option<RespValue> {
        Awaiting(self.post(command)?).await
    }

    /// Sends a command; `None` where too many wait already.
    pub(super) fn post(&self, command: Vec<u8>) -> Option<Arc<ReplyTicket>> {
        let post = &self.post;
        let ticket = Arc::new(ReplyTicket::default());
        {
            let mut asks = post.asks.lock();
            if asks.len() >= ASKS_MAX {
                return None;
            }
            asks.push_back(Ask {
                command,
                ticket: Arc::clone(&ticket),
                since: Instant::now(),
            });
        }
        post.asked.fetch_add(1, Relaxed);
        post.wake();
        Some(ticket)
    }

    /// Somebody said what makes no sense.
    pub(super) fn malformed(&self) {
        self.post.malformed();
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
        for ask in self.post.asks.lock().drain(..) {
            ask.ticket.put(None);
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
        let mut link: Option<(NodeConnection, JoinHandle<()>)> = None;
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
                self.give_up();
            }
            self.sleep(LOOK);
        }
        if let Some((stream, _)) = &mut link {
            // What is given back late is given back by the end of its term.
            let _ = self.say(stream);
        }
        self.end(link);
    }

    /// Nobody answers what could not even be said in time.
    fn give_up(&self) {
        let mut asks = self.asks.lock();
        let is_late = |ask: &Ask| ask.since.elapsed() > self.config.timeout;
        while let Some(ask) = asks.front().filter(|ask| is_late(ask)) {
            ask.ticket.put(None);
            asks.pop_front();
        }
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

    fn end(&self, link: Option<(NodeConnection, JoinHandle<()>)>) {
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
    fn open(self: &Arc<Self>, turn: usize) -> io::Result<(NodeConnection, JoinHandle<()>)> {
        let nodes = &self.config.nodes;
        let node = nodes
            .get(turn % nodes.len().max(1))
            .map_or("", |node| placed(node).1);
        let mut link = NodeConnection::open(node, &self.trust, self.config.timeout)?;
        link.patience(Some(self.config.timeout))?;
        let mut hello = vec![&b"HELLO"[..], b"3"];
        if let Some(token) = &self.config.token {
            hello.extend([&b"AUTH"[..], b"client", token.as_bytes()]);
        }
        let mut bytes = Vec::new();
        command(hello).write(&CommandWords::default(), &mut bytes);
        link.write_all(&bytes)?;
        let mut replies = Replies::new(link.again()?);
        if let RespValue::Error(why) = replies.next()? {
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
    fn say(&self, link: &mut NodeConnection) -> io::Result<()> {
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
                if ask.ticket.is_lost() {
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
    fn listen(&self, mut replies: Replies<NodeConnection>) {
        while let Ok(value) = replies.next() {
            match value {
                RespValue::Push(items) => self.pushed(&items),
                value => {
                    let flight = self.flights.lock().pop_front();
                    let is_in_step = match flight {
                        Some((Flight::Lease(print), _)) => self.lent(print, &value),
                        Some((Flight::Ask(ticket), _)) => {
                            ticket.put(Some(value));
                            true
                        }
                        None => false,
                    };
                    if !is_in_step {
                        break;
                    }
                }
            }
            self.wake();
        }
        self.is_broken.store(true, Relaxed);
        self.wake();
    }

    /// Takes what is lent; false where this answers no question about a lease, so that later replies are others' too.
    fn lent(&self, print: u64, value: &RespValue) -> bool {
        let reply = match value {
            RespValue::Text(bytes) => decode_reply(bytes).ok(),
            _ => None,
        };
        if let Some(reply) = reply {
            self.heard.fetch_add(reply.grants(), Relaxed);
            self.slots.handle_reply(print, &reply);
            return true;
        }
        // It is asked again when its time comes.
        self.malformed();
        matches!(value, RespValue::Error(_))
    }

    fn pushed(&self, items: &[RespValue]) {
        let [RespValue::Text(name), RespValue::Text(bytes)] = items else {
            return self.malformed();
        };
        match decode(bytes) {
            Ok(LeaseMessage::Nudge(nudge)) if name == b"tollgate.nudge" => {
                self.heard.fetch_add(1, Relaxed);
                self.slots.handle_nudge(nudge.key);
            }
            _ => self.malformed(),
        }
    }

    fn malformed(&self) {
        self.malformed.fetch_add(1, Relaxed);
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
