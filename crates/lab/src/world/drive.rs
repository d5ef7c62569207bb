//! How nodes come and go: starts, crashes, joins, leaves, clocks that jump, and who is told of it when.
//!
//! Not here: requests and frames.

use std::sync::Arc;

use tollgate_gossip::{NodeId, Writer};
use tollgate_limit::Instant;

use crate::dice::{Purpose, scramble};
use crate::nodes::Whole;
use crate::world::fault::WorldFault;
use crate::world::limit::Boot;
use crate::world::links::nanos;
use crate::world::owned::OwnedPart;
use crate::world::sim::TraceWorld;

/// The writer of the first boot: no node's number, so that nobody mistakes one for the other.
const WRITER_FIRST: u16 = 20_000;
/// A failure is noticed after that long, and up to as long again.
const NOTICED_NS: u64 = 500_000_000;

/// What is planned: what happens, and the fault or the node it is about.
#[derive(Clone, Copy, Debug)]
enum Plan {
    /// The fault of that number begins.
    Begin(u32),
    /// The node that the fault of that number took comes back.
    Return(u32),
    /// The failure detector of a node says who is alive.
    Tell(u16),
}

impl Plan {
    fn number(self) -> u64 {
        match self {
            Self::Begin(fault) => u64::from(fault),
            Self::Return(fault) => 1 << 32 | u64::from(fault),
            Self::Tell(node) => 2 << 32 | u64::from(node),
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "as it was put together")]
    fn of(number: u64) -> Self {
        match number >> 32 {
            0 => Self::Begin(number as u32),
            1 => Self::Return(number as u32),
            _ => Self::Tell(number as u16),
        }
    }
}

impl TraceWorld<'_> {
    /// Plans the faults of a world whose first request comes at a time.
    pub(crate) fn plan_faults(&mut self, first: u64) {
        for (number, fault) in (0_u32..).zip(&self.cluster.faults) {
            if let Some(at) = fault.begins() {
                self.plan(first.saturating_add(nanos(at)), Plan::Begin(number));
            }
        }
    }

    fn plan(&mut self, at: u64, plan: Plan) {
        self.net.sim.plan(at, plan.number());
    }

    /// Starts every node that is there from the beginning, and has them know of each other.
    pub(crate) fn boot_all(&mut self) {
        let late = |node: u16| {
            let joins = |fault: &WorldFault| matches!(fault, WorldFault::Join { node: who, .. } if *who == node);
            self.cluster.faults.iter().any(joins)
        };
        let first: Vec<u16> = (0..self.cluster.nodes)
            .filter(|&node| !late(node))
            .collect();
        for &node in &first {
            self.boot(node);
        }
        for node in first {
            self.tell(node);
        }
    }

    pub(crate) fn carry_out(&mut self, number: u64) {
        match Plan::of(number) {
            Plan::Begin(fault) => self.begin(fault),
            Plan::Return(fault) => self.come_back(fault),
            Plan::Tell(node) => self.tell(node),
        }
    }

    fn begin(&mut self, number: u32) {
        let cluster = self.cluster;
        let Some(fault) = cluster.faults.get(number as usize) else {
            return;
        };
        match fault {
            WorldFault::Crash {
                node,
                outage,
                keeps_state,
                ..
            } => {
                if self.take_down(*node, number, *keeps_state) {
                    let back = self.net.sim.now().saturating_add(nanos(*outage));
                    self.plan(back, Plan::Return(number));
                }
            }
            WorldFault::Leave { node, .. } => {
                let _ = self.take_down(*node, number, false);
            }
            WorldFault::Join { node, .. } => self.rise(*node),
            WorldFault::Jump { node, nanos, .. } => self.jump(*node, *nanos),
            WorldFault::Delay { .. }
            | WorldFault::Loss(_)
            | WorldFault::Duplication(_)
            | WorldFault::Skew(_)
            | WorldFault::Cut { .. } => {}
        }
    }

    /// Whether it was up and now is down.
    fn take_down(&mut self, node: u16, number: u32, keeps_state: bool) -> bool {
        if !self.is_up(node) {
            return false;
        }
        self.collect();
        let Some(player) = self.net.nodes.get_mut(usize::from(node)) else {
            return false;
        };
        player.down_by = Some(number);
        if !keeps_state {
            player.owned = None;
        }
        match &mut player.whole {
            Some(whole) if keeps_state => whole.is_up = false,
            whole => *whole = None,
        }
        self.net.sim.let_sleep(node);
        self.set_down(node, true);
        self.note(node, 4);
        for other in self.others(node) {
            let after = NOTICED_NS + self.detector.below(NOTICED_NS);
            let at = self.net.sim.now().saturating_add(after);
            self.plan(at, Plan::Tell(other));
        }
        true
    }

    fn come_back(&mut self, number: u32) {
        let is_back = |node: &u16| {
            let player = self.net.nodes.get(usize::from(*node));
            player.is_some_and(|player| player.down_by == Some(number)) && !self.is_up(*node)
        };
        let back = (0..self.cluster.nodes).find(is_back);
        if let Some(node) = back {
            self.rise(node);
        }
    }

    /// Starts a node that is down, with the memory it kept or with none, and lets the others know.
    fn rise(&mut self, node: u16) {
        if self.is_up(node) {
            return;
        }
        let player = self.net.nodes.get_mut(usize::from(node));
        match player.and_then(|player| player.whole.as_mut()) {
            Some(kept) => kept.is_up = true,
            None => self.boot(node),
        }
        self.set_down(node, false);
        self.tell(node);
        self.net.follow_up(usize::from(node));
        for other in self.others(node) {
            let trip = self.net.sim.links.weather.delay_min;
            let at = self.net.sim.now().saturating_add(trip);
            self.plan(at, Plan::Tell(other));
        }
    }

    /// Starts a node with an empty memory, which knows of no other.
    fn boot(&mut self, node: u16) {
        let (place, now) = (usize::from(node), self.net.sim.now());
        let writer = Writer(WRITER_FIRST.wrapping_add(self.boots));
        self.boots = self.boots.wrapping_add(1);
        let clock = Instant::from_nanos(self.net.clock(place));
        let Some(player) = self.net.nodes.get_mut(place) else {
            return;
        };
        let boot = Boot {
            place,
            writer,
            was: player.writer,
            seed: scramble(self.seed ^ scramble(Purpose::Boots as u64 + u64::from(writer.0))),
            clock,
        };
        player.whole = Some(self.limit.boot(&boot, now));
        player.owned = self.limit.asks.map(|asks| {
            // No number is given twice.
            let numbers = u64::from(writer.0) << 32;
            Box::new(OwnedPart::new(node, asks.store, asks.deadline, numbers))
        });
        player.writer = Some(writer);
        player.told = vec![Whole::number(place)];
        self.note(node, 5);
        self.net.follow_up(place);
    }

    /// A node's clock jumps, and the node takes note of it, as the daemon does.
    fn jump(&mut self, node: u16, by: i64) {
        let place = usize::from(node);
        let from = Instant::from_nanos(self.net.clock(place));
        self.net.sim.jump(node, by);
        let to = Instant::from_nanos(self.net.clock(place));
        if let Some(whole) = self.net.nodes.get(place).and_then(|it| it.whole.as_ref()) {
            whole.move_time(from, to);
        }
        self.note(node, 6);
        self.net.follow_up(place);
    }

    /// Tells a node who is alive, unless it knows.
    fn tell(&mut self, node: u16) {
        let (place, alive) = (usize::from(node), self.alive());
        let clock = Instant::from_nanos(self.net.clock(place));
        let Some(player) = self.net.nodes.get_mut(place) else {
            return;
        };
        if player.told == alive {
            return;
        }
        let Some(whole) = player.running() else {
            return;
        };
        whole.handle_members(&alive, clock);
        let whole = Arc::clone(&whole.node);
        if let Some(owned) = &mut player.owned {
            owned.handle_members(&whole, &alive, clock.as_nanos());
        }
        player.told = alive;
        self.note(node, 7);
        self.net.follow_up(place);
    }

    /// Streams to a node break, or may be opened again.
    fn set_down(&mut self, node: u16, is_down: bool) {
        for place in 0..self.net.nodes.len() {
            let owned = self.net.nodes.get_mut(place);
            if let Some(owned) = owned.and_then(|player| player.owned.as_mut()) {
                owned.set_down(node, is_down);
                self.net.follow_up(place);
            }
        }
    }

    fn alive(&self) -> Vec<NodeId> {
        let up = (0..self.cluster.nodes).filter(|node| self.is_up(*node));
        up.map(|node| Whole::number(usize::from(node))).collect()
    }

    fn others(&self, node: u16) -> Vec<u16> {
        let others = (0..self.cluster.nodes).filter(|other| *other != node);
        others.filter(|other| self.is_up(*other)).collect()
    }

    fn note(&mut self, node: u16, what: u64) {
        let now = self.net.sim.now();
        self.net.note(now);
        self.net.note(u64::from(node) << 8 | what);
    }
}
