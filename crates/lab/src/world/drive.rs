//! Single events: what each of them does to the nodes.
//!
//! A replica is driven through its public methods alone, and drained after each, as the daemon does. Not here: the
//! order of events.

use std::sync::Arc;

use tollgate_gossip::{NodeId, Setup, Writer};
use tollgate_limit::{Instant, Span};
use tollgate_sim::Event;

use crate::dice::{Purpose, scramble};
use crate::world::Request;
use crate::world::fault::Fault;
use crate::world::links::nanos;
use crate::world::node::Node;
use crate::world::sim::{Plan, World};

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
    pub(crate) fn happen(&mut self, event: Event<Arc<[u8]>, Plan>) {
        match event {
            Event::Message { from, to, message } => self.deliver(from, to, &message),
            Event::Wake { node } => self.wake(node),
            Event::Plan(Plan::Begin { fault }) => self.begin(fault),
            Event::Plan(Plan::Return { fault }) => self.come_back(fault),
            Event::Plan(Plan::Tell { node }) => self.tell(node),
        }
    }

    /// What a node's clock shows.
    fn clock(&self, node: u16) -> Instant {
        Instant::from_nanos(self.sim.local(node))
    }

    /// Asks a running node.
    pub(crate) fn decide(&mut self, node: u16, request: &Request) -> Option<bool> {
        let clock = self.clock(node);
        let it = self.nodes.get_mut(usize::from(node))?;
        let verdict = it
            .running()?
            .handle_request(request.key, request.cost, clock);
        self.note(node, 1);
        self.hash.word(u64::from(verdict.is_allowed()));
        self.follow_up(node);
        Some(verdict.is_allowed())
    }

    fn deliver(&mut self, from: u16, to: u16, frame: &Arc<[u8]>) {
        let clock = self.clock(to);
        let Some(node) = self.nodes.get_mut(usize::from(to)) else {
            return;
        };
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
        let clock = self.clock(node);
        let it = self.nodes.get_mut(usize::from(node));
        let Some(replica) = it.and_then(Node::running) else {
            return;
        };
        if replica.poll_timeout().is_some_and(|due| due <= clock) {
            replica.handle_timeout(clock);
            self.note(node, 3);
            self.send_all(node);
            self.arm(node, WAKE_NS_MIN);
        } else {
            self.arm(node, 0);
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
                    let back = self.sim.now().saturating_add(nanos(*outage));
                    self.sim.plan(back, Plan::Return { fault: number });
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
        if !keeps_state {
            it.replica = None;
        }
        self.sim.let_sleep(node);
        self.note(node, 4);
        self.recount(node);
        for other in self.others(node) {
            let after = NOTICED_NS + self.detector.below(NOTICED_NS);
            let at = self.sim.now().saturating_add(after);
            self.sim.plan(at, Plan::Tell { node: other });
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
            let trip = self.sim.links.weather.delay_min;
            let at = self.sim.now().saturating_add(trip);
            self.sim.plan(at, Plan::Tell { node: other });
        }
    }

    /// Starts a node with an empty memory.
    pub(crate) fn boot(&mut self, node: u16, members: Vec<NodeId>) {
        let clock = self.clock(node);
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
            start: clock,
            wait_max: Span::ZERO,
            knobs: self.cluster.knobs.clone(),
        };
        it.replica = Some(self.limit.boot(self.cluster.frequency, &setup));
        it.is_up = true;
        it.writer = Some(writer);
        it.told = members;
        self.note(node, 5);
        self.follow_up(node);
    }

    fn jump(&mut self, node: u16, nanos: i64) {
        self.sim.jump(node, nanos);
        self.note(node, 6);
        self.follow_up(node);
    }

    /// Tells a node who is alive, unless it knows.
    fn tell(&mut self, node: u16) {
        let (clock, alive) = (self.clock(node), self.alive());
        let Some(it) = self.nodes.get_mut(usize::from(node)) else {
            return;
        };
        if it.told == alive {
            return;
        }
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
        self.arm(node, 0);
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
        self.last_sent_at = self.sim.now();
        if let Some(it) = self.nodes.get_mut(usize::from(from)) {
            it.sent_bytes += bytes;
        }
        let copies = if to < self.cluster.nodes {
            self.sim.post(from, to, Arc::clone(frame))
        } else {
            0
        };
        self.traffic.lost += u64::from(copies == 0);
        self.traffic.copies += copies.saturating_sub(1);
    }

    /// Sees to it that a node is woken when it wants to be, but not before that long. One that is woken too early only
    /// looks again.
    fn arm(&mut self, node: u16, after: u64) {
        self.recount(node);
        let it = self.nodes.get_mut(usize::from(node));
        let running = it.and_then(Node::running);
        if let Some(due) = running.and_then(|replica| replica.poll_timeout()) {
            let earliest = self.sim.now().saturating_add(after);
            let at = self.sim.clock(node).world(due.as_nanos());
            self.sim.wake_at(node, at.max(earliest));
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
        self.hash.word(self.sim.now());
        self.hash.word(u64::from(node) << 8 | what);
    }
}
