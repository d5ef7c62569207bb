//! One thread: its connections, and when it sends.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use mio::{Events, Poll, Token};

use super::DriveProgress;
use super::connection::{LoadConnection, Lost};
use super::record::{CountedSpan, DriveRecord, Flight};
use super::timer::Timer;
use crate::address::Resolved;
use crate::codec::Codec;
use crate::errors::ErrorKind;
use crate::plan::{LoadPlan, Pace};
use crate::random::Draw;
use crate::schedule::Schedule;

/// A thread's share of the run.
pub(crate) struct ThreadShare {
    /// One or more; connections go to them in turn.
    pub(crate) servers: Arc<[Resolved]>,
    /// The index of this thread.
    pub(crate) at: usize,
    /// The number of threads.
    pub(crate) of: usize,
    pub(crate) start: Instant,
    pub(crate) span: CountedSpan,
}

impl ThreadShare {
    /// The server of one of the thread's connections.
    fn server(&self, connection: usize) -> io::Result<&Resolved> {
        let number = self.at + connection * self.of;
        let server = self.servers.get(number % self.servers.len().max(1));
        server.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

pub(crate) struct DriveWorker<C> {
    share: ThreadShare,
    poll: Poll,
    timer: Timer,
    connections: Vec<LoadConnection<C>>,
    /// Connections that could not be reopened, and when to try next.
    down: Vec<(usize, u64)>,
    /// The connection for the next request of an open loop.
    turn: usize,
    /// Whether a due request could not be sent.
    blocked: bool,
    depth: usize,
    schedule: Option<Schedule>,
    draw: Draw,
    record: DriveRecord,
    /// Decisions and errors already reported as progress.
    told: (u64, u64),
}

impl<C: Codec> DriveWorker<C> {
    /// Opens the thread's share of the connections.
    pub(crate) fn new(
        plan: &LoadPlan,
        share: ThreadShare,
        codec: impl Fn() -> C,
    ) -> io::Result<Self> {
        let poll = Poll::new()?;
        let timer = Timer::new(poll.registry(), TIMER)?;
        let count = plan.connections.max(1);
        let own = count / share.of + usize::from(share.at < count % share.of);
        let mut connections = Vec::with_capacity(own);
        for at in 0..own {
            let server = share.server(at)?;
            connections.push(LoadConnection::open(
                codec(),
                server,
                poll.registry(),
                Token(at),
            )?);
        }
        let (at, of) = (share.at as u64, share.of as u64);
        Ok(Self {
            poll,
            timer,
            connections,
            down: Vec::new(),
            turn: 0,
            blocked: false,
            depth: plan.depth.max(1),
            schedule: schedule(plan, at, of),
            draw: Draw::new((plan.keys.count, plan.keys.distribution), plan.seed, at, of),
            record: DriveRecord::new(plan),
            told: (0, 0),
            share,
        })
    }

    /// Sends requests until the run is over, and waits for what is under way.
    pub(crate) fn run(mut self, told: &DriveProgress) -> io::Result<DriveRecord> {
        let mut events = Events::with_capacity(EVENTS_MAX);
        let span = self.share.span;
        for at in 0..self.connections.len() {
            self.serve(at, false);
        }
        loop {
            let now = self.now();
            if now >= span.give_up || (now >= span.to && self.is_done()) {
                break;
            }
            self.dial_again(now);
            self.release(now);
            let wait = self.wait(self.now())?;
            match self.poll.poll(&mut events, Some(wait)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                polled => polled?,
            }
            for event in &events {
                match event.token() {
                    TIMER => self.timer.rang(),
                    Token(at) => self.serve(at, event.is_readable() || event.is_read_closed()),
                }
            }
            self.tell(told);
        }
        self.finish();
        self.tell(told);
        Ok(self.record)
    }

    /// Reads a connection's input, sends again in a closed loop, and flushes.
    fn serve(&mut self, at: usize, readable: bool) {
        if self.down.iter().any(|(down, _)| *down == at) {
            return;
        }
        let start = self.share.start;
        let Some(connection) = self.connections.get_mut(at) else {
            return;
        };
        let mut done = Ok(());
        if readable {
            done = connection.read(&mut self.record, || since(start));
        }
        let now = since(start);
        if done.is_ok() && self.schedule.is_none() && now < self.share.span.to {
            while connection.under_way() < self.depth && connection.ask(now, now, &mut self.draw) {}
        }
        if let Err(lost) = done.and_then(|()| connection.flush()) {
            self.lose(at, lost);
        }
    }

    /// Sends what is due in an open loop, each on the next connection that has room.
    fn release(&mut self, now: u64) {
        let Some(schedule) = &mut self.schedule else {
            return;
        };
        let last = self.share.span.to;
        let count = self.connections.len();
        let mut touched = 0;
        while schedule.due_ns() <= now && schedule.due_ns() < last {
            let due = schedule.due_ns();
            let mut sent = false;
            for _ in 0..count {
                let at = self.turn % count;
                self.turn = (at + 1) % count;
                if self.down.iter().any(|(down, _)| *down == at) {
                    continue;
                }
                let Some(connection) = self.connections.get_mut(at) else {
                    continue;
                };
                if connection.under_way() < self.depth && connection.ask(due, now, &mut self.draw) {
                    sent = true;
                    touched += 1;
                    break;
                }
            }
            self.blocked = !sent;
            if self.blocked {
                break;
            }
            schedule.advance();
        }
        if touched > 0 {
            self.flush_all();
        }
    }

    fn flush_all(&mut self) {
        for at in 0..self.connections.len() {
            let Some(connection) = self.connections.get_mut(at) else {
                continue;
            };
            if connection.has_unsent()
                && let Err(lost) = connection.flush()
            {
                self.lose(at, lost);
            }
        }
    }

    /// How long to wait for sockets; the timer fires when the next request is due.
    fn wait(&mut self, now: u64) -> io::Result<Duration> {
        let span = self.share.span;
        let due = self.schedule.as_ref().map(Schedule::due_ns);
        match due.filter(|due| *due < span.to) {
            Some(due) if due > now => self.timer.set(due, now)?,
            // Became due since the last check.
            Some(_) if !self.blocked => return Ok(Duration::ZERO),
            // The server must send something first, or be dialled again.
            Some(_) => return Ok(BLOCKED_WAIT),
            None => {}
        }
        let end = if now < span.to { span.to } else { span.give_up };
        let wait = Duration::from_nanos(end.saturating_sub(now));
        Ok(wait.min(WAIT_MAX))
    }

    fn lose(&mut self, at: usize, lost: Lost) {
        let (kind, text) = match lost {
            Lost::Closed(text) => (ErrorKind::Closed, text),
            Lost::Malformed(text) => (ErrorKind::Malformed, text),
        };
        let now = self.now();
        let Some(connection) = self.connections.get_mut(at) else {
            return;
        };
        let flights = connection.give_up();
        // A connection that is lost with nothing under way is an error too.
        self.record
            .errors
            .add(kind, flights.len().max(1) as u64, || text);
        for flight in flights {
            self.record.took(flight, now);
        }
        self.down.push((at, now.saturating_add(REDIAL_NS)));
    }

    fn dial_again(&mut self, now: u64) {
        if self.down.is_empty() || now >= self.share.span.to {
            return;
        }
        let (due, later): (Vec<_>, Vec<_>) =
            self.down.drain(..).partition(|(_, when)| *when <= now);
        self.down = later;
        for (at, _) in due {
            let Some(connection) = self.connections.get_mut(at) else {
                continue;
            };
            let reopened = self.share.server(at);
            let registry = self.poll.registry();
            match reopened.and_then(|server| connection.reopen(server, registry, Token(at))) {
                Ok(()) => self.serve(at, false),
                Err(error) => {
                    self.record
                        .errors
                        .add(ErrorKind::Connect, 1, || error.to_string());
                    self.down.push((at, now.saturating_add(REDIAL_NS)));
                }
            }
        }
    }

    /// Counts unanswered requests, and due but unsent ones, as waits that lasted to the end.
    fn finish(&mut self) {
        let now = self.now();
        for connection in &mut self.connections {
            let flights = connection.give_up();
            let text = || "no reply before the run ended".to_owned();
            self.record
                .errors
                .add(ErrorKind::Unanswered, flights.len() as u64, text);
            for flight in flights {
                self.record.took(flight, now);
            }
        }
        let Some(schedule) = &mut self.schedule else {
            return;
        };
        let mut unsent = 0;
        while schedule.due_ns() < self.share.span.to {
            let due = schedule.due_ns();
            self.record.took(
                Flight {
                    ticket: 0,
                    due,
                    sent: due,
                },
                now,
            );
            unsent += 1;
            schedule.advance();
        }
        let text = || "every connection had as much under way as it may".to_owned();
        self.record.errors.add(ErrorKind::Unsent, unsent, text);
    }

    /// Adds what is new since the last report.
    fn tell(&mut self, told: &DriveProgress) {
        let new = (self.record.whole.total(), self.record.errors.total());
        told.decisions
            .fetch_add(new.0 - self.told.0, Ordering::Relaxed);
        told.errors
            .fetch_add(new.1 - self.told.1, Ordering::Relaxed);
        self.told = new;
    }

    /// Whether nothing is under way, and nothing due is unsent.
    fn is_done(&self) -> bool {
        let last = self.share.span.to;
        let all_sent = self
            .schedule
            .as_ref()
            .is_none_or(|schedule| schedule.due_ns() >= last);
        all_sent
            && self
                .connections
                .iter()
                .all(|connection| connection.under_way() == 0)
    }

    fn now(&self) -> u64 {
        since(self.share.start)
    }
}

fn schedule(plan: &LoadPlan, at: u64, of: u64) -> Option<Schedule> {
    let Pace::Open { rate, arrivals } = plan.pace else {
        return None;
    };
    #[allow(clippy::cast_precision_loss, reason = "threads are few")]
    let (part, offset) = (rate / of as f64, at as f64 / of as f64);
    Some(Schedule::new(
        part,
        arrivals,
        plan.seed ^ (at << 32),
        offset,
    ))
}

fn since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

const TIMER: Token = Token(usize::MAX);
const EVENTS_MAX: usize = 256;
const WAIT_MAX: Duration = Duration::from_millis(100);
const BLOCKED_WAIT: Duration = Duration::from_millis(1);
const REDIAL_NS: u64 = 100_000_000;
