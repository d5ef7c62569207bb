//! One thread of publishers: opens their connections, publishes what is due, and keeps the silent ones alive.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mio::{Events, Poll, Token};
use tollgate_mqtt::client::{self, ConnectRequest};

use super::agenda::{Agenda, Due};
use super::clock::{PublishProgress, RunShared, RunSpan};
use super::link::{ConnectionState, Lost, packet};
use super::plan::{MqttPace, MqttPlan};
use super::publisher::{PublishContext, PublishOptions, Publisher};
use super::record::PublisherRecord;
use super::say::MqttError;
use crate::drive::Timer;
use crate::errors::ErrorKind;

/// The index of this thread, and the targets.
#[derive(Clone)]
pub(crate) struct PublisherShare {
    pub(crate) at: u32,
    pub(crate) of: u32,
    pub(crate) targets: Arc<[SocketAddr]>,
}

pub(crate) struct PublishWorker {
    plan: Arc<MqttPlan>,
    share: PublisherShare,
    shared: Arc<RunShared>,
    poll: Poll,
    timer: Timer,
    publishers: Vec<Publisher>,
    /// The index of a publisher here, by its number divided by the number of threads.
    places: Vec<u32>,
    /// Connections to dial, and the earliest time.
    to_dial: VecDeque<(usize, u64)>,
    dialling: usize,
    agenda: Agenda,
    manner: PublishOptions,
    looked: u64,
    is_done: bool,
    record: PublisherRecord,
}

impl PublishWorker {
    pub(crate) fn new(
        plan: &Arc<MqttPlan>,
        share: PublisherShare,
        shared: &Arc<RunShared>,
    ) -> Result<Self, MqttError> {
        let poll = Poll::new()?;
        let timer = Timer::new(poll.registry(), TIMER)?;
        let (publishers, places) = clients(plan, share.at, share.of)?;
        let manner = PublishOptions {
            version: plan.login.version,
            qos: plan.messages.qos,
            size: plan.messages.size,
            in_flight: plan.in_flight.max(1),
        };
        Ok(Self {
            agenda: Agenda::new(plan, share.at, share.of),
            record: PublisherRecord::new(share.targets.len()),
            to_dial: (0..publishers.len()).map(|at| (at, 0)).collect(),
            dialling: 0,
            poll,
            timer,
            publishers,
            places,
            manner,
            looked: 0,
            is_done: false,
            plan: Arc::clone(plan),
            shared: Arc::clone(shared),
            share,
        })
    }

    /// Works until the run is over.
    pub(crate) fn run(mut self) -> Result<PublisherRecord, MqttError> {
        let mut events = Events::with_capacity(EVENTS_MAX);
        let mut scratch = vec![0; SCRATCH];
        let mut is_ready = false;
        while !self.shared.is_over() {
            let now = self.shared.now();
            self.dial(now)?;
            if !is_ready && self.to_dial.is_empty() && self.dialling == 0 {
                is_ready = true;
                self.shared.ready.fetch_add(1, Ordering::AcqRel);
            }
            if self.record.span.is_none() {
                self.begin()?;
            }
            self.release()?;
            self.look_after(now)?;
            let wait = self.wait()?;
            match self.poll.poll(&mut events, Some(wait)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                polled => polled?,
            }
            for event in &events {
                match event.token() {
                    TIMER => self.timer.rang(),
                    Token(at) => self.serve(at, &mut scratch)?,
                }
            }
        }
        self.finish();
        Ok(self.record)
    }

    /// Checks whether publishing may begin. An open loop waits for its first message by itself; a closed one begins at
    /// once.
    fn begin(&mut self) -> Result<(), MqttError> {
        let is_closed = self.plan.pace == MqttPace::Closed;
        let now = self.shared.now();
        let span = self.shared.span();
        self.record.span = span.filter(|span| !is_closed || span.begin <= now);
        if self.record.span.is_some() && is_closed {
            for at in 0..self.publishers.len() {
                self.advance(at)?;
            }
        }
        Ok(())
    }

    /// Opens connections, a number of them at a time.
    fn dial(&mut self, now: u64) -> Result<(), MqttError> {
        while self.dialling < DIALLING_MAX {
            match self.to_dial.front() {
                Some((_, not_before)) if *not_before <= now => {}
                _ => break,
            }
            let Some((at, _)) = self.to_dial.pop_front() else {
                break;
            };
            let hello = self.hello(at)?;
            let Some(publisher) = self.publishers.get_mut(at) else {
                continue;
            };
            let Some(address) = self.share.targets.get(publisher.target) else {
                continue;
            };
            self.dialling += 1;
            let link = &mut publisher.link;
            match link.open(*address, self.poll.registry(), Token(at), now) {
                Ok(()) => link.out.extend(hello),
                Err(lost) => self.lose(at, &lost)?,
            }
        }
        Ok(())
    }

    fn hello(&self, at: usize) -> Result<Vec<u8>, MqttError> {
        let login = &self.plan.login;
        let (prefix, run) = (&login.prefix, self.shared.run);
        let number = self.publishers.get(at).and_then(|known| known.number);
        let client = match number {
            Some(number) => format!("{prefix}{run:08x}-{number}"),
            None => format!("{prefix}{run:08x}-idle-{}-{at}", self.share.at),
        };
        let hello = ConnectRequest {
            version: login.version,
            client: &client,
            user: login.user.as_deref(),
            password: login.password.as_deref(),
            keep_alive: login.keep_alive,
        };
        client::connect(&hello).ok_or_else(|| MqttError::Plan(TOO_LONG.to_owned()))
    }

    /// Publishes what is due.
    fn release(&mut self) -> Result<(), MqttError> {
        let Some(span) = self.record.span else {
            return Ok(());
        };
        let mut due = Vec::new();
        for _ in 0..RELEASED_MAX {
            let Some(next) = self.agenda.next() else {
                break;
            };
            let at = span.begin.saturating_add(next);
            if at >= span.to || at > self.shared.now() {
                break;
            }
            self.agenda.take(&mut due);
            for message in due.drain(..) {
                self.publish(message, &span)?;
            }
        }
        Ok(())
    }

    fn publish(&mut self, due: Due, span: &RunSpan) -> Result<(), MqttError> {
        let at = due_place(&self.places, due.publisher);
        let when = span.begin.saturating_add(due.at);
        let (manner, shared) = (self.manner, Arc::clone(&self.shared));
        let Some(publisher) = self.publishers.get_mut(at).filter(|_| when < span.to) else {
            return Ok(());
        };
        for _ in 0..due.count {
            if !publisher.offer(
                when,
                &manner,
                &mut PublishContext::of(&shared, &mut self.record),
            ) {
                let text = || "too many messages of one publisher waited".to_owned();
                self.record.errors.add(ErrorKind::Unsent, 1, text);
            }
        }
        self.flush(at)
    }

    /// Reads a connection's input, and goes on.
    fn serve(&mut self, at: usize, scratch: &mut [u8]) -> Result<(), MqttError> {
        match self.read(at, scratch) {
            Ok(()) => self.advance(at),
            Err(lost) => self.lose(at, &lost),
        }
    }

    fn read(&mut self, at: usize, scratch: &mut [u8]) -> Result<(), Lost> {
        let Some(publisher) = self.publishers.get_mut(at) else {
            return Ok(());
        };
        loop {
            let (filled, has_more) = publisher.link.receive(scratch)?;
            let mut bytes = scratch.get(..filled).unwrap_or_default();
            let was_up = publisher.link.state == ConnectionState::Up;
            while let Some((header, whole)) = packet(bytes, PACKET_MOST)? {
                let mut to = PublishContext::of(&self.shared, &mut self.record);
                publisher.handle(header, whole, &self.manner, &mut to)?;
                bytes = bytes.get(whole.len()..).unwrap_or_default();
            }
            if filled > 0 {
                publisher.link.keep(bytes);
            }
            if !was_up && publisher.link.state == ConnectionState::Up {
                self.dialling -= 1;
                PublishProgress::add(&self.shared.told.connected, 1);
            }
            if !has_more {
                return Ok(());
            }
        }
    }

    /// Sends what waits, or in a closed loop whatever there is room for.
    fn advance(&mut self, at: usize) -> Result<(), MqttError> {
        let Some(publisher) = self.publishers.get_mut(at) else {
            return Ok(());
        };
        let mut to = PublishContext::of(&self.shared, &mut self.record);
        match self.plan.pace {
            MqttPace::Open { .. } => publisher.catch_up(&self.manner, &mut to),
            MqttPace::Closed => {
                let now = to.shared.now();
                let is_on = |span: RunSpan| (span.begin..span.to).contains(&now);
                if to.record.span.is_some_and(is_on) {
                    publisher.fill(&self.manner, &mut to);
                }
            }
        }
        self.flush(at)
    }

    fn flush(&mut self, at: usize) -> Result<(), MqttError> {
        let now = self.shared.now();
        let Some(publisher) = self.publishers.get_mut(at) else {
            return Ok(());
        };
        match publisher.link.flush(now) {
            Ok(()) => Ok(()),
            Err(lost) => self.lose(at, &lost),
        }
    }

    /// Handles a lost connection. Before the start that ends the run; later it is counted, and dialled again.
    fn lose(&mut self, at: usize, lost: &Lost) -> Result<(), MqttError> {
        let Some(publisher) = self.publishers.get_mut(at) else {
            return Ok(());
        };
        if publisher.link.state == ConnectionState::Up {
            self.shared.told.connected.fetch_sub(1, Ordering::Relaxed);
        } else {
            self.dialling = self.dialling.saturating_sub(1);
        }
        let target = publisher.target;
        let flights = publisher.forget();
        if self.shared.span().is_none() {
            return Err(self.fatal(target, lost));
        }
        self.record.lost(lost, &self.shared.told.errors);
        let text = || "its connection was lost".to_owned();
        self.record
            .errors
            .add(ErrorKind::Unanswered, flights as u64, text);
        let again = self.shared.now().saturating_add(REDIAL_NS);
        self.to_dial.push_back((at, again));
        Ok(())
    }

    fn fatal(&self, target: usize, lost: &Lost) -> MqttError {
        let address = self.plan.targets.get(target);
        let address = address.map(ToString::to_string).unwrap_or_default();
        lost.fatal(address)
    }

    /// Called a few times a second: pings silent connections, and drops those without a timely CONNACK.
    fn look_after(&mut self, now: u64) -> Result<(), MqttError> {
        if now < self.looked.saturating_add(LOOK_EVERY_NS) {
            return Ok(());
        }
        self.looked = now;
        let silence = u64::from(self.plan.login.keep_alive) * NS_PER_S / 2;
        for at in 0..self.publishers.len() {
            let Some(publisher) = self.publishers.get_mut(at) else {
                continue;
            };
            let link = &mut publisher.link;
            match link.state {
                ConnectionState::Up if silence > 0 && now >= link.spoke.saturating_add(silence) => {
                    link.out.extend(client::PING);
                    self.flush(at)?;
                }
                ConnectionState::Greeting if now >= link.since.saturating_add(GREETING_NS) => {
                    let text = "no CONNACK came within 10 s";
                    self.lose(at, &Lost::Closed(text.to_owned()))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// How long to wait for sockets; the timer fires when the next message is due.
    fn wait(&mut self) -> Result<Duration, MqttError> {
        let Some(span) = self.record.span else {
            return Ok(WAIT_TO_BEGIN);
        };
        let now = self.shared.now();
        if now >= span.to {
            self.wind_up(now, &span);
            return Ok(WAIT_TO_END);
        }
        if let Some(next) = self.agenda.next() {
            let next = span.begin.saturating_add(next);
            if next <= now {
                return Ok(Duration::ZERO);
            }
            self.timer.set(next, now)?;
        }
        Ok(WAIT_MAX)
    }

    /// Reports when nothing is under way any more, or the timeout has passed.
    fn wind_up(&mut self, now: u64, span: &RunSpan) {
        if !self.is_done && (now >= span.give_up || self.publishers.iter().all(Publisher::is_done))
        {
            self.is_done = true;
            self.shared.done.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Disconnects, and counts what never was acknowledged or sent.
    fn finish(&mut self) {
        let now = self.shared.now();
        let (mut unanswered, mut unsent) = (0, 0);
        for publisher in &mut self.publishers {
            let (flights, waiting) = publisher.under_way();
            unanswered += flights as u64;
            unsent += waiting as u64;
            if publisher.link.state == ConnectionState::Up {
                publisher.link.out.extend(client::GOODBYE);
                // Best effort: the broker may be gone.
                let _ = publisher.link.flush(now);
            }
        }
        let errors = &mut self.record.errors;
        let text = || "no acknowledgement before the run ended".to_owned();
        errors.add(ErrorKind::Unanswered, unanswered, text);
        let text = || "messages still waited for their turn when the run ended".to_owned();
        errors.add(ErrorKind::Unsent, unsent, text);
    }
}

/// The thread's clients, and the index of each publisher among them.
fn clients(plan: &MqttPlan, at: u32, of: u32) -> Result<(Vec<Publisher>, Vec<u32>), MqttError> {
    let mut clients = Vec::new();
    let mut places = vec![NOWHERE; plan.publishers as usize];
    for (number, place) in (0..).zip(places.iter_mut()) {
        let group = plan.group(number);
        if group % of != at {
            continue;
        }
        let topic = plan.messages.topic.topic(number, group);
        let mut properties = Vec::new();
        if let Some(name) = &plan.messages.group_property {
            client::user_property(name, &group.to_string(), &mut properties)
                .ok_or_else(|| MqttError::Plan(TOO_LONG.to_owned()))?;
        }
        *place = u32::try_from(clients.len()).unwrap_or(NOWHERE);
        clients.push(Publisher::new(
            number,
            plan.target(number),
            &topic,
            &properties,
        ));
    }
    let silent = (0..plan.idle).filter(|number| number % of == at);
    clients.extend(silent.map(|number| Publisher::silent(plan.idle_target(number))));
    Ok((clients, places))
}

fn due_place(places: &[u32], publisher: u32) -> usize {
    places.get(publisher as usize).copied().unwrap_or(NOWHERE) as usize
}

const NOWHERE: u32 = u32::MAX;
const TIMER: Token = Token(usize::MAX);
const EVENTS_MAX: usize = 1024;
const SCRATCH: usize = 256 << 10;
/// The largest packet that a publisher accepts from a broker.
const PACKET_MOST: usize = 128 << 10;
/// Connections that are opened at once.
const DIALLING_MAX: usize = 128;
/// Entries that are released before sockets are polled.
const RELEASED_MAX: usize = 256;
const REDIAL_NS: u64 = 200_000_000;
const GREETING_NS: u64 = 10 * NS_PER_S;
const LOOK_EVERY_NS: u64 = NS_PER_S / 4;
const NS_PER_S: u64 = 1_000_000_000;
const WAIT_TO_BEGIN: Duration = Duration::from_millis(2);
const WAIT_TO_END: Duration = Duration::from_millis(5);
const WAIT_MAX: Duration = Duration::from_millis(100);
const TOO_LONG: &str = "a name has more than 65,535 bytes; choose shorter ones";
