//! One publisher: what it has under way and what waits.

use std::collections::VecDeque;

use tollgate_mqtt::client::MessageHead;
use tollgate_mqtt::{
    Ack, Connack, Disconnect, Header, Malformed, PacketKind, Qos, Version, reason, write,
};

use super::clock::{PublishProgress, RunShared};
use super::link::{ConnectionState, Lost, MqttConnection};
use super::record::{Flight, MessageFate, PublisherRecord};
use super::say;
use super::stamp::PayloadStamp;

/// Settings shared by all publishers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PublishOptions {
    pub(crate) version: Version,
    pub(crate) qos: Qos,
    pub(crate) size: usize,
    pub(crate) in_flight: u16,
}

/// A client that publishes, or stays silent.
pub(crate) struct Publisher {
    pub(crate) link: MqttConnection,
    /// Its number among all; `None` if it is silent.
    pub(crate) number: Option<u32>,
    pub(crate) target: usize,
    topic: Box<str>,
    properties: Box<[u8]>,
    sequence: u32,
    id: u16,
    flights: VecDeque<Flight>,
    /// Due times of messages that wait.
    waiting: VecDeque<u64>,
    window: u16,
}

impl Publisher {
    pub(crate) fn new(number: u32, target: usize, topic: &str, properties: &[u8]) -> Self {
        Self {
            number: Some(number),
            topic: topic.into(),
            properties: properties.into(),
            ..Self::silent(target)
        }
    }

    pub(crate) fn silent(target: usize) -> Self {
        Self {
            link: MqttConnection::new(),
            number: None,
            target,
            topic: "".into(),
            properties: Box::default(),
            sequence: 0,
            id: 0,
            flights: VecDeque::new(),
            waiting: VecDeque::new(),
            window: 1,
        }
    }

    /// Whether nothing is under way.
    pub(crate) fn is_done(&self) -> bool {
        self.flights.is_empty() && self.waiting.is_empty() && self.link.unsent() == 0
    }

    /// Messages that were sent and not acknowledged, and messages that wait.
    pub(crate) fn under_way(&self) -> (usize, usize) {
        (self.flights.len(), self.waiting.len())
    }

    /// Forgets what was sent over a lost connection; returns how much it was.
    pub(crate) fn forget(&mut self) -> usize {
        self.link.close();
        std::mem::take(&mut self.flights).len()
    }

    fn has_room(&self, qos: Qos) -> bool {
        self.link.state == ConnectionState::Up
            && self.link.unsent() < OUT_MAX
            && (qos == Qos::AtMostOnce || self.flights.len() < usize::from(self.window))
    }

    /// A message is due: it is queued to be sent, or waits. `false` if too many wait already.
    pub(crate) fn offer(
        &mut self,
        due: u64,
        manner: &PublishOptions,
        at: &mut PublishContext<'_>,
    ) -> bool {
        at.record.came_up(self.target, due, at.shared.now());
        if self.waiting.is_empty() && self.has_room(manner.qos) {
            self.send(due, manner, at);
            return true;
        }
        at.record.held += 1;
        if self.waiting.len() >= WAITING_MAX {
            return false;
        }
        self.waiting.push_back(due);
        true
    }

    /// Queues waiting messages, as far as there is room.
    pub(crate) fn catch_up(&mut self, manner: &PublishOptions, at: &mut PublishContext<'_>) {
        while !self.waiting.is_empty() && self.has_room(manner.qos) {
            if let Some(due) = self.waiting.pop_front() {
                self.send(due, manner, at);
            }
        }
    }

    /// Queues as much as there is room for, due now: a closed loop.
    pub(crate) fn fill(&mut self, manner: &PublishOptions, at: &mut PublishContext<'_>) {
        while self.number.is_some() && self.has_room(manner.qos) {
            let now = at.shared.now();
            at.record.came_up(self.target, now, now);
            self.send(now, manner, at);
        }
    }

    fn send(&mut self, due: u64, manner: &PublishOptions, at: &mut PublishContext<'_>) {
        let sent = at.shared.now();
        let id = self.next_id();
        let message = MessageHead {
            version: manner.version,
            topic: &self.topic,
            qos: manner.qos,
            id,
            properties: &self.properties,
        };
        // Lengths were checked with the plan.
        if message.write(manner.size, &mut self.link.out).is_none() {
            return;
        }
        let stamp = PayloadStamp {
            run: at.shared.run,
            publisher: self.number.unwrap_or(u32::MAX),
            sequence: self.sequence,
            due,
            sent,
        };
        stamp.write(manner.size, &mut self.link.out);
        self.sequence = self.sequence.wrapping_add(1);
        if manner.qos != Qos::AtMostOnce {
            self.flights.push_back(Flight { id, due, sent });
        }
        at.record.sent(self.target, due);
        PublishProgress::add(&at.shared.told.sent, 1);
    }

    /// Identifiers wrap around, and messages under way are in their order: the next one in use is that of the oldest.
    /// The window is smaller than the number of identifiers.
    fn next_id(&mut self) -> u16 {
        let mut taken = self.flights.iter().map(|flight| flight.id).peekable();
        loop {
            self.id = self.id.checked_add(1).unwrap_or(1);
            if taken.next_if_eq(&self.id).is_none() {
                return self.id;
            }
        }
    }

    pub(crate) fn handle(
        &mut self,
        header: Header,
        packet: &[u8],
        manner: &PublishOptions,
        at: &mut PublishContext<'_>,
    ) -> Result<(), Lost> {
        let body = header.body(packet).ok_or(Malformed::Truncated)?;
        let version = manner.version;
        match (header.kind, self.link.state) {
            (PacketKind::Connack, ConnectionState::Greeting) => {
                let connack = Connack::read(body, version)?;
                if connack.code != 0 {
                    return Err(Lost::Refused(connack.code));
                }
                self.window = manner.in_flight.min(connack.receive_max()).max(1);
                self.link.state = ConnectionState::Up;
            }
            (PacketKind::Puback | PacketKind::Pubcomp, ConnectionState::Up) => {
                let ack = Ack::read(body, version)?;
                self.settle(ack, at)?;
            }
            (PacketKind::Pubrec, ConnectionState::Up) => {
                let ack = Ack::read(body, version)?;
                if ack.reason >= reason::FAILURES {
                    return self.settle(ack, at);
                }
                let release = write::ack(PacketKind::Pubrel, ack.id, reason::SUCCESS, version);
                self.link.out.extend(release);
            }
            (PacketKind::Pingresp, ConnectionState::Up) => {}
            (PacketKind::Disconnect, ConnectionState::Up) => {
                let end = Disconnect::read(body, version)?;
                let why = say::reason(end.reason);
                return Err(Lost::Closed(format!(
                    "the broker ends the connection: {why}"
                )));
            }
            _ => return Err(Malformed::OutOfTurn.into()),
        }
        Ok(())
    }

    fn settle(&mut self, ack: Ack<'_>, at: &mut PublishContext<'_>) -> Result<(), Lost> {
        let place = self.flights.iter().position(|flight| flight.id == ack.id);
        let Some(flight) = place.and_then(|place| self.flights.remove(place)) else {
            let text = "an acknowledgement of what was not sent";
            return Err(Lost::Malformed(text.to_owned()));
        };
        let fate = match ack.reason {
            reason::QUOTA_EXCEEDED => MessageFate::Refused,
            code if code >= reason::FAILURES => MessageFate::Failed(code),
            _ => MessageFate::Acknowledged,
        };
        if fate != MessageFate::Acknowledged {
            PublishProgress::add(&at.shared.told.refused, 1);
        }
        at.record
            .settled(self.target, flight, fate, at.shared.now());
        Ok(())
    }
}

/// The clock, and where events are recorded.
pub(crate) struct PublishContext<'a> {
    pub(crate) shared: &'a RunShared,
    pub(crate) record: &'a mut PublisherRecord,
}

impl<'a> PublishContext<'a> {
    pub(crate) const fn of(shared: &'a RunShared, record: &'a mut PublisherRecord) -> Self {
        Self { shared, record }
    }
}

/// Bytes that may wait to be sent on a connection before messages wait instead.
const OUT_MAX: usize = 256 << 10;
/// Limit on waiting messages.
const WAITING_MAX: usize = 100_000;
