//! The thread that receives messages: its subscribers, and their measurements.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mio::{Events, Poll, Token};
use tollgate_mqtt::client::{self, ConnectRequest};
use tollgate_mqtt::{
    Ack, Connack, Disconnect, Header, Malformed, PacketKind, PublishHead, Qos, Suback, reason,
    write,
};

use super::clock::{PublishProgress, RunShared};
use super::link::{ConnectionState, Lost, MqttConnection, packet};
use super::plan::MqttPlan;
use super::record::PublisherRecord;
use super::say::{self, MqttError};
use super::tally::ArrivalTally;

pub(crate) struct Subscribers {
    plan: Arc<MqttPlan>,
    shared: Arc<RunShared>,
    poll: Poll,
    links: Vec<(SocketAddr, usize, MqttConnection)>,
    tally: ArrivalTally,
    /// Only its errors are used.
    record: PublisherRecord,
    looked: u64,
}

impl Subscribers {
    /// `addresses` are those of the plan's `watch`, resolved.
    pub(crate) fn new(
        plan: &Arc<MqttPlan>,
        shared: &Arc<RunShared>,
        addresses: &[SocketAddr],
    ) -> Result<Self, MqttError> {
        let each = usize::from(plan.watch.subscribers.max(1));
        let links = (addresses.iter().enumerate())
            .flat_map(|(at, address)| (0..each).map(move |_| (*address, at, MqttConnection::new())))
            .collect();
        let target = (0..plan.publishers).map(|number| plan.target(number));
        Ok(Self {
            poll: Poll::new()?,
            links,
            tally: ArrivalTally::new(plan.targets.len(), target.collect(), shared.run),
            record: PublisherRecord::new(0),
            looked: 0,
            plan: Arc::clone(plan),
            shared: Arc::clone(shared),
        })
    }

    /// Receives messages until the run is over.
    pub(crate) fn run(mut self) -> Result<(ArrivalTally, PublisherRecord), MqttError> {
        let mut events = Events::with_capacity(EVENTS_MAX);
        let mut scratch = vec![0; SCRATCH.max(self.packet_most() * 2)];
        let mut is_ready = false;
        while !self.shared.is_over() {
            self.look_after()?;
            let is_up =
                |link: &(SocketAddr, usize, MqttConnection)| link.2.state == ConnectionState::Up;
            if !is_ready && self.links.iter().all(is_up) {
                is_ready = true;
                self.shared.ready.fetch_add(1, Ordering::AcqRel);
            }
            match self.poll.poll(&mut events, Some(WAIT)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                polled => polled?,
            }
            for event in &events {
                let Token(at) = event.token();
                let now = self.shared.now();
                let done = self.read(at, &mut scratch).and_then(|()| {
                    self.links
                        .get_mut(at)
                        .map_or(Ok(()), |(_, _, link)| link.flush(now))
                });
                if let Err(lost) = done {
                    self.lose(at, &lost)?;
                }
            }
        }
        for (_, _, link) in &mut self.links {
            link.out.extend(client::GOODBYE);
            // Best effort: the broker may be gone.
            let _ = link.flush(0);
        }
        Ok((self.tally, self.record))
    }

    fn packet_most(&self) -> usize {
        self.plan.messages.size + PACKET_BESIDES
    }

    fn read(&mut self, at: usize, scratch: &mut [u8]) -> Result<(), Lost> {
        let most = self.packet_most();
        loop {
            let Some((_, _, link)) = self.links.get_mut(at) else {
                return Ok(());
            };
            let (filled, has_more) = link.receive(scratch)?;
            let now = self.shared.now();
            let mut bytes = scratch.get(..filled).unwrap_or_default();
            while let Some((header, whole)) = packet(bytes, most)? {
                self.handle(at, header, whole, now)?;
                bytes = bytes.get(whole.len()..).unwrap_or_default();
            }
            if filled > 0
                && let Some((_, _, link)) = self.links.get_mut(at)
            {
                link.keep(bytes);
            }
            if !has_more {
                return Ok(());
            }
        }
    }

    fn handle(&mut self, at: usize, header: Header, whole: &[u8], now: u64) -> Result<(), Lost> {
        let Some((_, _, link)) = self.links.get_mut(at) else {
            return Ok(());
        };
        let version = self.plan.login.version;
        let body = header.body(whole).ok_or(Malformed::Truncated)?;
        match (header.kind, link.state) {
            (PacketKind::Publish, ConnectionState::Asking | ConnectionState::Up) => {
                let head = PublishHead::read(header, whole, version)?;
                let head = head.ok_or(Malformed::Truncated)?;
                let answer = match head.qos() {
                    Qos::AtMostOnce => None,
                    Qos::AtLeastOnce => Some(PacketKind::Puback),
                    Qos::ExactlyOnce => Some(PacketKind::Pubrec),
                };
                link.out.extend(
                    answer
                        .map(|kind| write::ack(kind, head.id, reason::SUCCESS, version))
                        .unwrap_or_default(),
                );
                let payload = whole.get(head.length..).unwrap_or_default();
                if self.tally.add(payload, now, self.shared.span()) {
                    PublishProgress::add(&self.shared.told.arrived, 1);
                }
            }
            (PacketKind::Pubrel, ConnectionState::Up) => {
                let ack = Ack::read(body, version)?;
                let answer = write::ack(PacketKind::Pubcomp, ack.id, reason::SUCCESS, version);
                link.out.extend(answer);
            }
            (PacketKind::Connack, ConnectionState::Greeting) => {
                let connack = Connack::read(body, version)?;
                if connack.code != 0 {
                    return Err(Lost::Refused(connack.code));
                }
                let filter = filter(&self.plan, self.shared.run);
                let ask = client::subscribe(1, &filter, self.plan.watch.qos, version);
                link.out.extend(ask.ok_or(Malformed::TooLarge)?);
                link.state = ConnectionState::Asking;
            }
            (PacketKind::Suback, ConnectionState::Asking) => {
                let suback = Suback::read(body, version)?;
                if suback.code >= reason::FAILURES {
                    return Err(Lost::Refused(suback.code));
                }
                link.state = ConnectionState::Up;
            }
            (PacketKind::Pingresp, ConnectionState::Up) => {}
            (PacketKind::Disconnect, _) => {
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

    fn lose(&mut self, at: usize, lost: &Lost) -> Result<(), MqttError> {
        let Some((_, place, link)) = self.links.get_mut(at) else {
            return Ok(());
        };
        link.close();
        if self.shared.span().is_none() {
            let address = self.plan.watch.at.get(*place);
            return Err(lost.fatal(address.map(ToString::to_string).unwrap_or_default()));
        }
        let told = format!("a subscriber: {lost}");
        self.record
            .lost(&Lost::Closed(told), &self.shared.told.errors);
        Ok(())
    }

    /// Called periodically: dials connections that are down, pings silent ones.
    fn look_after(&mut self) -> Result<(), MqttError> {
        let now = self.shared.now();
        if self.looked > 0 && now < self.looked.saturating_add(LOOK_EVERY_NS) {
            return Ok(());
        }
        self.looked = now.max(1);
        let silence = u64::from(self.plan.login.keep_alive) * NS_PER_S / 2;
        for at in 0..self.links.len() {
            let hello = self.hello(at)?;
            let Some((address, _, link)) = self.links.get_mut(at) else {
                continue;
            };
            let done = match link.state {
                ConnectionState::Down => {
                    let opened = link.open(*address, self.poll.registry(), Token(at), now);
                    opened.map(|()| link.out.extend(hello))
                }
                ConnectionState::Up if silence > 0 && now >= link.spoke.saturating_add(silence) => {
                    link.out.extend(client::PING);
                    link.flush(now)
                }
                ConnectionState::Greeting | ConnectionState::Asking
                    if now >= link.since + GREETING_NS =>
                {
                    Err(Lost::Closed(
                        "no CONNACK and SUBACK came within 10 s".to_owned(),
                    ))
                }
                _ => Ok(()),
            };
            if let Err(lost) = done {
                self.lose(at, &lost)?;
            }
        }
        Ok(())
    }

    fn hello(&self, at: usize) -> Result<Vec<u8>, MqttError> {
        let login = &self.plan.login;
        let client = format!("{}{:08x}-subscriber-{at}", login.prefix, self.shared.run);
        let hello = ConnectRequest {
            version: login.version,
            client: &client,
            user: login.user.as_deref(),
            password: login.password.as_deref(),
            keep_alive: login.keep_alive,
        };
        client::connect(&hello).ok_or_else(|| MqttError::Plan("names are too long".to_owned()))
    }
}

/// The subscription's filter; several subscribers at one broker share it.
fn filter(plan: &MqttPlan, run: u32) -> String {
    let filter = plan.messages.topic.filter();
    if plan.watch.subscribers > 1 {
        format!("$share/bench-{run:08x}/{filter}")
    } else {
        filter
    }
}

const EVENTS_MAX: usize = 64;
const SCRATCH: usize = 256 << 10;
/// Bytes of a packet that are not payload: topic and properties.
const PACKET_BESIDES: usize = 128 << 10;
const WAIT: Duration = Duration::from_millis(5);
const LOOK_EVERY_NS: u64 = 200_000_000;
const GREETING_NS: u64 = 10 * NS_PER_S;
const NS_PER_S: u64 = 1_000_000_000;
