//! Single events: what each of them does to the nodes.
//!
//! A replica is driven through its public methods alone, and drained after each, as the daemon does. Not here: the order of events.

use std::sync::Arc;

use tollgate_gossip::{NodeId, Setup, Writer};
use tollgate_limit::Span;

use crate::dice::{Purpose, scramble};
use crate::world::Request;
use crate::world::agenda::Event;
use crate::world::fault::Fault;
use crate::world::links::nanos;
use crate::world::sim::World;

/// Bytes of IP and UDP before each frame.
const OVERHEAD_BYTES: u64 = 28;
/// The writer of the first boot: no node's number, so that nobody mistakes one for the other.
const WRITER_FIRST: u16 = 20_000;
/// A failure is noticed after that long, and up to as long again.
const NOTICED_NS: u64 = 500_000_000;
/// A node that was woken is not woken again before that, however often it asks.
const WAKE_NS_MIN: u64 = 1_000_000;

impl World<'_> {
    /// Carries an event out.
    pub(crate) fn happen(&mut self, event: Event) {
        match event {
            Event::Frame { from, to, frame } => self.deliver(from, to, &frame),
            Event::Timeout { node } => self.wake(node),
            Event::Begin { fault } => self.begin(fault),
            Event::Return { fault } => self.come_back(fault),
            Event::Tell { node } => self.tell(node),
        }
    }

    /// Asks a running node.
    pub(crate) fn decide(&mut self, node: u16, request: &Request) -> Option<bool> {
        let now = self.now;
        let it = self.nodes.get_mut(usize::from(node))?;
        let clock = it.clock(now);
        let verdict = it
            .running()?
            .handle_request(request.key, request.cost, clock);
        self.note(node, 1);
        self.hash.word(u64::from(verdict.is_allowed()));
        self.follow_up(node);
        Some(verdict.is_allowed())
    }

    fn deliver(&mut self, from: u16, to: u16, frame: &Arc<[u8]>) {
        let now = self.now;
        let Some(node) = self.nodes.get_mut(usize::from(to)) else {
            return;
        };
        let clock = node.clock(now);
        let Some(replica) = node.running() else {
            self.traffic.lost += 1;
            return;
        };
        let is_read = replica.handle_frame(NodeId(from), frame, clock).is_ok();
        node.received_bytes += OVERHEAD_BYTES + frame.len() as u64;
        self.traffic.received += 1;
        // A frame of a node it was not told of may be refused.
        let knows_sender = node.told.contains(&NodeId(from));
        self.traffic.malformed += u64::from(!is_read && knows_sender);
        self.note(to, 2);
        self.hash.bytes(frame);
        self.follow_up(to);
    }

    fn wake(&mut self, node: u16) {
        let now = self.now;
        let Some(it) = self.nodes.get_mut(usize::from(node)) else {
            return;
        };
        if it.armed != Some(now) {
            return;
        }
        it.armed = None;
        let clock = it.clock(now);
        let Some(replica) = it.running() else {
            return;
        };
        if replica.poll_timeout().is_some_and(|due| due <= clock) {
            replica.handle_timeout(clock);
            self.note(node, 3);
            self.send_all(node);
            self.arm(node, now.saturating_add(WAKE_NS_MIN));
        } else {
            self.arm(node, now);
        }
    }

    fn begin(&mut self, number: u32) {
        let cluster = self.cluster;
        let Some(fault) = cluster.faults.get(number as usize) else {
            return;
        };
        match fault {
            Fault::Crash {
                node,
                outage,
                keeps_state,
                ..
            } => {
                if self.take_down(*node, number, *keeps_state) {
                    let back = self.now.saturating_add(nanos(*outage));
                    self.agenda.add(back, Event::Return { fault: number });
                }
            }
            Fault::Leave { node, .. } => {
                let _ = self.take_down(*node, number, false);
            }
            Fault::Join { node, .. } => self.rise(*node),
            Fault::Jump { node, nanos, .. } => self.jump(*node, *nanos),
            Fault::Delay { .. }
            | Fault::Loss(_)
            | Fault::Duplication(_)
            | Fault::Skew(_)
            | Fault::Cut { .. } => {}
        }
    }

    /// Whether it was up and now is down.
    fn take_down(&mut self, node: u16, number: u32, keeps_state: bool) -> bool {
        let Some(it) = self.nodes.get_mut(usize::from(node)).filter(|it| it.is_up) else {
            return false;
        };
        it.is_up = false;
        it.down_by = Some(number);
        it.armed = None;
        if !keeps_state {
            it.replica = None;
        }
        self.note(node, 4);
        self.recount(node);
        for other in self.others(node) {
            let after = NOTICED_NS + self.detector.below(NOTICED_NS);
            let at = self.now.saturating_add(after);
            self.agenda.add(at, Event::Tell { node: other });
        }
        true
    }

    fn come_back(&mut self, number: u32) {
        let back = (0..self.cluster.nodes).find(|&node| {
            let it = self.nodes.get(usize::from(node));
            it.is_some_and(|it| !it.is_up && it.down_by == Some(number))
        });
        if let Some(node) = back {
            self.rise(node);
        }
    }

    /// Starts a node that is down, with the memory it kept or with none, and lets the others know.
    fn rise(&mut self, node: u16) {
        let Some(it) = self.nodes.get_mut(usize::from(node)).filter(|it| !it.is_up) else {
            return;
        };
        it.is_up = true;
        if it.replica.is_some() {
            self.tell(node);
            self.follow_up(node);
        } else {
            let members = self.alive();
            self.boot(node, members);
        }
        for other in self.others(node) {
            let at = self.now.saturating_add(self.links.base());
            self.agenda.add(at, Event::Tell { node: other });
        }
    }

    /// Starts a node with an empty memory.
    pub(crate) fn boot(&mut self, node: u16, members: Vec<NodeId>) {
        let now = self.now;
        let writer = Writer(WRITER_FIRST.wrapping_add(self.boots));
        let seed = scramble(self.seed ^ scramble(Purpose::Boots as u64 + u64::from(writer.0)));
        self.boots = self.boots.wrapping_add(1);
        let Some(it) = self.nodes.get_mut(usize::from(node)) else {
            return;
        };
        let setup = Setup {
            bucket: self.cluster.bucket,
            me: NodeId(node),
            writer,
            was: it.writer,
            members: members.clone(),
            seed,
            start: it.clock(now),
            wait_max: Span::ZERO,
            knobs: self.cluster.knobs.clone(),
        };
        it.replica = Some(self.limit.boot(setup));
        it.is_up = true;
        it.writer = Some(writer);
        it.told = members;
        self.note(node, 5);
        self.follow_up(node);
    }

    fn jump(&mut self, node: u16, nanos: i64) {
        if let Some(it) = self.nodes.get_mut(usize::from(node)) {
            it.offset = it.offset.saturating_add(nanos);
            it.armed = None;
            self.note(node, 6);
            self.follow_up(node);
        }
    }

    /// Tells a node who is alive, unless it knows.
    fn tell(&mut self, node: u16) {
        let now = self.now;
        let alive = self.alive();
        let Some(it) = self.nodes.get_mut(usize::from(node)) else {
            return;
        };
        if it.told == alive {
            return;
        }
        let clock = it.clock(now);
        let Some(replica) = it.running() else {
            return;
        };
        replica.handle_members(&alive, clock);
        it.told = alive;
        self.note(node, 7);
        self.follow_up(node);
    }

    fn alive(&self) -> Vec<NodeId> {
        let up = (0_u16..).zip(&self.nodes).filter(|(_, it)| it.is_up);
        up.map(|(node, _)| NodeId(node)).collect()
    }

    fn others(&self, node: u16) -> Vec<u16> {
        let others = self.alive().into_iter().map(|NodeId(other)| other);
        others.filter(|&other| other != node).collect()
    }

    /// What every call of a machine is followed by.
    fn follow_up(&mut self, node: u16) {
        self.send_all(node);
        self.arm(node, self.now);
    }

    fn send_all(&mut self, node: u16) {
        while let Some(send) = self
            .nodes
            .get_mut(usize::from(node))
            .and_then(|it| it.running()?.poll_send())
        {
            self.send(node, send.to.0, &send.frame);
        }
    }

    fn send(&mut self, from: u16, to: u16, frame: &Arc<[u8]>) {
        let bytes = OVERHEAD_BYTES + frame.len() as u64;
        self.traffic.bytes += bytes;
        self.traffic.messages += 1;
        self.last_sent_at = self.now;
        if let Some(it) = self.nodes.get_mut(usize::from(from)) {
            it.sent_bytes += bytes;
        }
        if to >= self.cluster.nodes || self.links.loses(from, to, self.now) {
            self.traffic.lost += 1;
            return;
        }
        self.post(from, to, frame);
        if self.links.copies() {
            self.traffic.copies += 1;
            self.post(from, to, frame);
        }
    }

    fn post(&mut self, from: u16, to: u16, frame: &Arc<[u8]>) {
        let at = self.now.saturating_add(self.links.delay());
        let frame = Arc::clone(frame);
        self.agenda.add(at, Event::Frame { from, to, frame });
    }

    /// Sees to it that a node is woken when it wants to be, but not before `earliest`. One waking is pending per node; one that comes
    /// too early only looks again.
    fn arm(&mut self, node: u16, earliest: u64) {
        self.recount(node);
        let Some(it) = self.nodes.get_mut(usize::from(node)) else {
            return;
        };
        let Some(due) = it.running().and_then(|replica| replica.poll_timeout()) else {
            return;
        };
        let at = it.world_time(due).max(earliest);
        if it.armed.is_none_or(|armed| armed > at) {
            it.armed = Some(at);
            self.agenda.add(at, Event::Timeout { node });
        }
    }

    /// Notes whether a node still has something to say, once that matters.
    fn recount(&mut self, node: u16) {
        let (Some(loud), Some(it)) = (&mut self.loud, self.nodes.get_mut(usize::from(node))) else {
            return;
        };
        let is_quiet = it.running().is_none_or(|replica| replica.is_quiet());
        *loud = *loud + usize::from(!is_quiet) - usize::from(!it.is_quiet);
        it.is_quiet = is_quiet;
    }

    fn note(&mut self, node: u16, what: u64) {
        self.hash.word(self.now);
        self.hash.word(u64::from(node) << 8 | what);
    }
}
