//! The loop of the cluster's thread: brings datagrams, messages and time to the machines, and carries out what they
//! want.
//!
//! All of it goes by a clock that nobody sets; counts go by the time of day.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::sync::{mpsc, oneshot, watch};
use tollgate_cluster::{Event, Transmit, Via};
use tollgate_gossip::NodeId;
use tollgate_limit::Instant;

use super::error::Fatal;
use super::handle::{Company, Hub};
use super::identity::NodeIdentity;
use super::join::Joining;
use super::keys::KeyRing;
use super::learn::{Learn, LearnStep};
use super::place;
use super::replicas::{self, Replicas};
use super::roll::Roll;
use super::seal::Sealer;
use super::stream::{Arrived, ClusterTls, Ends, PeerStream};
use crate::settings::ClusterSettings;
use crate::shared::Shared;
use crate::supply::steady_now;

/// What the rest of the server tells the thread.
pub(super) enum Control {
    /// Other keys are in the file.
    Keys(Box<KeyRing>),
    /// Hands over, leaves, and ends; tells when that is done.
    Leave(oneshot::Sender<()>),
    /// Panics.
    #[cfg(test)]
    Break,
}

/// What comes to the thread from elsewhere.
pub(super) struct Inbox {
    pub(super) arrived: mpsc::Receiver<Arrived>,
    pub(super) control: mpsc::Receiver<Control>,
    pub(super) seeds: mpsc::Receiver<Vec<SocketAddr>>,
}

/// Everything the loop has.
pub(super) struct Drive {
    pub(super) shared: Arc<Shared>,
    pub(super) hub: Arc<Hub>,
    pub(super) ends: Arc<Ends>,
    pub(super) replicas: Replicas,
    pub(super) roll: Roll,
    pub(super) socket: UdpSocket,
    pub(super) sealer: Sealer,
    pub(super) identity: NodeIdentity,
    /// Where the identity is kept.
    pub(super) identity_in: Option<PathBuf>,
    pub(super) lines: BTreeMap<NodeId, PeerStream>,
    pub(super) joining: Joining,
    pub(super) learn: Learn,
    pub(super) alone: watch::Sender<bool>,
    pub(super) buffer: Vec<u8>,
    pub(super) whereabouts: Whereabouts,
}

/// Where this node is, and when to look whether that is still so.
pub(super) struct Whereabouts {
    pub(super) at: SocketAddr,
    pub(super) told: SocketAddr,
    pub(super) settings: ClusterSettings,
    pub(super) looked: Instant,
}

impl Whereabouts {
    /// Another address than before, once in a while.
    fn moved(&mut self, now: Instant) -> Option<SocketAddr> {
        if now.nanos_since(self.looked) < LOOK_EVERY_NANOS {
            return None;
        }
        self.looked = now;
        let told = place::told(self.at, &self.settings)?;
        let moved = told != self.told;
        self.told = told;
        moved.then_some(told)
    }
}

impl Drive {
    /// Runs until it is told to leave, or everybody who could tell is gone.
    pub(super) async fn run(mut self, mut inbox: Inbox) {
        let wake = Arc::clone(&self.hub);
        self.replicas
            .set_waker(Arc::new(move || wake.wake.notify_one()));
        self.update_members();
        let hub = Arc::clone(&self.hub);
        // A socket that was never waited for takes nothing; should it fail, sending will tell.
        let _ = self.socket.writable().await;
        loop {
            let rest = self.turn();
            tokio::select! {
                ready = self.socket.readable() => {
                    if ready.is_ok() {
                        self.receive();
                    }
                }
                Some(arrived) = inbox.arrived.recv() => {
                    self.take(arrived);
                    for _ in 1..MESSAGES_AT_ONCE {
                        let Ok(arrived) = inbox.arrived.try_recv() else { break };
                        self.take(arrived);
                    }
                }
                () = hub.wake.notified() => {}
                Some(seeds) = inbox.seeds.recv() => hub.cluster.lock().set_seeds(seeds),
                control = inbox.control.recv() => match control {
                    Some(Control::Keys(ring)) => self.rekey(&ring),
                    Some(Control::Leave(done)) => {
                        self.leave().await;
                        // Nobody waits where the server was told to hurry.
                        let _ = done.send(());
                        return;
                    }
                    #[cfg(test)]
                    Some(Control::Break) => panic!("as it was told"),
                    None => return,
                },
                () = tokio::time::sleep(rest) => {}
            }
        }
    }

    /// Runs what is due, carries out what is wanted, and says how long there is nothing to do.
    fn turn(&mut self) -> Duration {
        let now = steady_now();
        if self.replicas.rest() == Some(Duration::ZERO) {
            self.replicas.handle_timeout();
        }
        let mut cluster = self.hub.cluster.lock();
        cluster.set_day(self.replicas.day(), now);
        if cluster.poll_timeout().is_some_and(|due| due <= now) {
            cluster.handle_timeout(now);
        }
        let mut rates = self.hub.rates.lock();
        let mut delay = None;
        if rates.is_due(now) {
            let status = cluster.status(now);
            rates.look(&status, now);
            delay = replicas::slowest(&status);
        }
        if let Some(told) = self.whereabouts.moved(now) {
            tracing::info!(address = %told, "this node is reached elsewhere from here on");
            cluster.set_advertise(told, now);
        }
        drop((rates, cluster));
        self.replicas.hear_delay(delay);
        if !self.learn.asked.is_empty() {
            self.receive();
        }
        let mut is_done = false;
        for _ in 0..ROUNDS_MAX {
            is_done = !self.round(now);
            if is_done {
                break;
            }
        }
        self.join(now);
        let unwritten = &self.shared.state.databases.members;
        self.roll.keep(&self.hub, unwritten, now);
        if !is_done {
            return Duration::ZERO;
        }
        self.answer_newcomers();
        let due = self.hub.cluster.lock().poll_timeout();
        let rest = due.map_or(REST_MAX, |due| Duration::from_nanos(due.nanos_since(now)));
        let rest = rest.min(self.replicas.rest().unwrap_or(REST_MAX));
        let soon = self.learn.is_busy();
        let most = if soon { FLUSH_EVERY } else { REST_MAX };
        rest.min(self.joining.rest()).min(most)
    }

    /// Moves what policies want to say into the cluster, and what it wants out of it. Whether there was anything.
    fn round(&mut self, now: Instant) -> bool {
        let mut did_something = false;
        let mut cluster = self.hub.cluster.lock();
        for _ in 0..SENDS_AT_ONCE {
            let Some(out) = self.replicas.poll_send() else {
                break;
            };
            cluster.send_gossip(out.to, out.tag, &out.frame, now);
            did_something = true;
        }
        let mut transmits = Vec::new();
        while transmits.len() < SENDS_AT_ONCE
            && let Some(transmit) = cluster.poll_transmit(now)
        {
            transmits.push(transmit);
        }
        let mut events = Vec::new();
        while let Some(event) = cluster.poll_event() {
            events.push(event);
        }
        drop(cluster);
        did_something |= !transmits.is_empty() || !events.is_empty();
        for event in events {
            self.heed(event, now);
        }
        for transmit in &transmits {
            self.transmit(transmit);
        }
        did_something
    }

    fn transmit(&mut self, transmit: &Transmit) {
        match transmit.via {
            Via::Datagram { counter } => {
                let boot = self.identity.boot;
                let Some(sealed) = self.sealer.seal(boot, counter, &transmit.bytes) else {
                    return;
                };
                if let Err(error) = self.socket.try_send_to(&sealed, transmit.to) {
                    // As lost as one that the network drops.
                    self.hub.unsent.fetch_add(1, Relaxed);
                    tracing::trace!(to = %transmit.to, %error, "a datagram was not sent");
                }
            }
            Via::Stream => {
                let line = transmit.node.and_then(|node| self.lines.get(&node));
                if let Some(line) = line {
                    line.outlet.message(&transmit.bytes);
                }
            }
        }
    }

    /// Takes what has come to the socket, but no more than a bit: others wait as well.
    fn receive(&mut self) {
        let now = steady_now();
        for _ in 0..DATAGRAMS_AT_ONCE {
            let Ok((length, _)) = self.socket.try_recv_from(&mut self.buffer) else {
                for asked in &mut self.learn.asked {
                    asked.is_read = true;
                }
                return;
            };
            let Some(bytes) = self.buffer.get_mut(..length) else {
                return;
            };
            let mut cluster = self.hub.cluster.lock();
            match self.sealer.open(bytes) {
                // What is refused there is counted there.
                Ok((boot, counter, payload)) => {
                    let _ = cluster.handle_payload(boot, counter, payload, now);
                }
                Err(refused) => cluster.refuse(refused),
            }
        }
    }

    fn take(&mut self, arrived: Arrived) {
        let now = steady_now();
        match arrived {
            Arrived::Message { from, bytes } => {
                // What is refused is counted there.
                let _ = self.hub.cluster.lock().handle_message(from, &bytes, now);
            }
            Arrived::AreYouDone(question) => self.learn.asked(question),
        }
    }

    /// Answers newcomers to whom all is told.
    fn answer_newcomers(&mut self) {
        let owner = self.shared.owner.get();
        for mut asked in std::mem::take(&mut self.learn.asked) {
            let from = asked.question.from;
            let is_idle = |line: &PeerStream| line.outlet.is_idle();
            let is_told = asked.is_read && self.lines.get(&from).is_none_or(is_idle);
            if is_told && asked.has_keys(owner.map(|owner| &**owner)) {
                asked.question.answer(&[]);
            } else {
                self.learn.asked.push(asked);
            }
        }
    }

    fn heed(&mut self, event: Event, now: Instant) {
        match event {
            Event::Members => self.update_members(),
            Event::Gossip { from, tag, frame } => {
                self.learn.heard(now);
                self.replicas.handle_gossip(tag, from, &frame);
            }
            Event::Message { from, kind, .. } => {
                // Of a later version: what this one knows goes as gossip, or as a question.
                tracing::debug!(
                    node = from.0,
                    kind = kind as u8,
                    "a message that means nothing here"
                );
            }
            Event::Renumbered { node, writer } => {
                tracing::info!(
                    node = node.0,
                    writer = writer.0,
                    "this node has other numbers: another node had them, or its clock was set back"
                );
                self.update_members();
                let alive = self
                    .hub
                    .company()
                    .alive
                    .iter()
                    .map(|(node, _)| *node)
                    .collect();
                self.replicas.renumber(node, writer, alive);
                self.identity.writer = Some(writer);
                self.keep_identity();
            }
            Event::Generation(generation) => {
                self.identity.generation = generation;
                self.keep_identity();
            }
            Event::IdentityTaken { at } => self.stop(Fatal::IdentityTaken {
                at,
                file: self.identity_in.as_deref().map(NodeIdentity::path),
            }),
            Event::ClockOff {
                boot,
                from,
                by,
                is_ahead,
            } => self.hub.clocks.tell(boot, from, by, is_ahead),
            Event::Alone => {
                self.joining.alone();
                self.alone.send_replace(true);
            }
            Event::Joined => {
                // First, so that the node knows that there is something to learn.
                self.update_members();
                if self.joining == Joining::Over {
                    self.shared.state.arrival().begin_late();
                    self.learn.begin_keys(now);
                }
                self.joining.joined(now);
                self.alone.send_replace(false);
            }
            Event::Came { .. } | Event::Gone { .. } | Event::Missing(_) | Event::Forgotten(_) => {
                self.roll.note(&event, &self.hub.company(), now);
            }
        }
    }

    fn stop(&self, fatal: Fatal) {
        tracing::error!(%fatal, "this node must stop");
        self.shared.state.set_doomed();
        self.hub.fatal.send_replace(Some(fatal));
    }

    fn keep_identity(&self) {
        if let Some(folder) = &self.identity_in
            && let Err(error) = self.identity.keep(folder)
        {
            tracing::error!(%error, "the identity of the node could not be kept");
            self.shared.state.set_cluster_error(Some(error.to_string()));
        }
    }

    /// Ready once the node knows as much as the others, or there are none.
    fn join(&mut self, now: Instant) {
        let mut is_caught_up = false;
        match self.joining {
            Joining::Over => {
                let arrival = self.shared.state.arrival();
                return self.learn.step_keys(&self.hub, arrival, now);
            }
            Joining::Looking { .. } => {}
            Joining::Alone => self.learn.set_known(),
            Joining::Learning { .. } => {
                let thinks = self.learn.is_known() && self.replicas.is_caught_up();
                match self.learn.step(&self.hub, thinks, now) {
                    LearnStep::Wait => {}
                    LearnStep::Ask => {
                        self.shared.state.arrival().set_known();
                        self.update_members();
                    }
                    LearnStep::Over => is_caught_up = true,
                }
            }
        }
        if self.joining.is_over(now, || is_caught_up) {
            self.shared.state.arrival().end();
            self.learn.set_known();
            self.update_members();
        }
    }

    /// Tells everybody who is there, and keeps a stream for each.
    fn update_members(&mut self) {
        let cluster = self.hub.cluster.lock();
        let (me, _) = cluster.me();
        let members = cluster.members().to_vec();
        drop(cluster);
        let others: Vec<_> = members.iter().filter(|member| member.node != me).collect();
        let others_before = self.lines.len();
        let mut before = std::mem::take(&mut self.lines);
        for member in &others {
            let same = before.remove(&member.node);
            let same = same.filter(|line| line.to == member.address && line.id == member.id);
            let line = same.unwrap_or_else(|| {
                PeerStream::new(Arc::clone(&self.ends), member.address, member.id)
            });
            self.lines.insert(member.node, line);
        }
        let outlets = self.lines.iter();
        let outlets = outlets.map(|(node, line)| (*node, Arc::clone(&line.outlet)));
        // Who is suspected is still counted on.
        let mut alive: Vec<_> = members
            .iter()
            .map(|member| (member.node, member.id))
            .collect();
        alive.sort_unstable();
        let nodes: Vec<NodeId> = alive.iter().map(|(node, _)| *node).collect();
        // Not before the others know this node: what it asks for goes by these.
        if self.learn.is_known() {
            self.replicas.handle_peers(me, &members);
        }
        self.hub.publish(Company {
            me: Some(me),
            alive,
            outlets: outlets.collect(),
            version: self.hub.company().version + 1,
            members,
        });
        if self.learn.is_known() {
            self.replicas.handle_members(&nodes);
        }
        if self.lines.len() != others_before {
            self.tell_of_quotas();
        }
    }

    /// Says for how long data planes hear nothing of keys that have another owner now, where there are any.
    fn tell_of_quotas(&self) {
        let quota = &self.shared.settings.limits.quota;
        if let Some(silent) = quota.silence_among_nodes() {
            tracing::warn!(
                seconds = silent.as_secs(),
                quota_ttl = quota.ttl_s,
                "nodes came or went: keys that have another owner now are assigned no quotas for so long; data planes use what they \
                 have until its time to live is over, and refuse after that"
            );
        }
    }

    /// Seals with other keys from here on. Streams begin again, so that none lives on under a key that was taken away.
    fn rekey(&mut self, ring: &KeyRing) {
        self.sealer = Sealer::new(ring);
        match ClusterTls::of(ring) {
            Ok(tls) => self.ends.tls.store(Arc::new(tls)),
            Err(error) => tracing::error!(%error, "streams keep their former keys"),
        }
        self.lines.clear();
        self.update_members();
    }

    /// Gives to others what only this node knows, says that it goes, and waits a bit until that is sent.
    async fn leave(&mut self) {
        self.replicas.hand_over();
        self.flush().await;
        let now = steady_now();
        self.hub.cluster.lock().leave(now);
        self.flush().await;
    }

    async fn flush(&mut self) {
        let flushed = async {
            loop {
                self.turn();
                if self.lines.values().all(|line| line.outlet.is_idle()) {
                    return;
                }
                tokio::time::sleep(FLUSH_EVERY).await;
            }
        };
        if tokio::time::timeout(FLUSH_MAX, flushed).await.is_err() {
            tracing::warn!("not everything reached the other nodes before this one left");
        }
    }
}

/// Datagrams taken before something else has a turn.
const DATAGRAMS_AT_ONCE: usize = 64;
/// Messages of streams taken before something else has a turn.
const MESSAGES_AT_ONCE: usize = 64;
/// What is sent before something else has a turn.
const SENDS_AT_ONCE: usize = 256;
/// How often a turn asks again whether there is more.
const ROUNDS_MAX: usize = 16;
/// The longest without looking at the time.
const REST_MAX: Duration = Duration::from_secs(1);
/// How often a node looks whether its address is another.
const LOOK_EVERY_NANOS: u64 = 10_000_000_000;
const FLUSH_EVERY: Duration = Duration::from_millis(5);
/// How long a node that leaves waits for its streams, twice.
const FLUSH_MAX: Duration = Duration::from_secs(2);
