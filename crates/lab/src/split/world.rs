//! Machines and an adaptor in the lab's network: every frame takes the same time, and everything happens in order of
//! time.
//!
//! Not here: loss, doubling, crashes and clocks that run wrong, which campaigns have.

use std::sync::Arc;

use tollgate_gossip::{NodeId, Send};
use tollgate_limit::Instant;
use tollgate_sim::Conditions;
use tollgate_split::{Adaptor, AdaptorConfig, SplitConfig, SplitMachine};

use super::topic::{Cut, DepartedMessage, TopicBucket, TopicResults, arrive, machines, take};
use super::traffic::{Burst, SECOND};
use crate::nodes::{Member, Net, address};

/// How machines reach each other.
#[derive(Clone, Debug)]
pub(super) struct Near {
    pub(super) one_way_ns: u64,
    pub(super) config: SplitConfig,
    pub(super) adaptor: Option<AdaptorConfig>,
}

/// A run ends so long after the last arrival, whoever waits.
const DRAIN_NS: u64 = 300 * SECOND;

/// Machines, each with the address of its place, the adaptor behind them, and what is between them.
pub(crate) struct SplitWorld {
    net: Net<WorldPart>,
}

pub(crate) enum WorldPart {
    /// A machine, and what left its part of the bucket.
    Machine(Box<SplitMachine>, Vec<DepartedMessage>),
    Adaptor(Box<Adaptor>),
}

pub(super) fn run(bucket: TopicBucket, cut: &Cut, bursts: &[Burst], near: &Near) -> TopicResults {
    let members: Vec<NodeId> = (0..).map(NodeId).take(cut.shares.len()).collect();
    let named = NodeId(address(members.len()));
    let named = near.adaptor.as_ref().map(|_| named);
    let machines = machines(bucket, cut, &near.config, named);
    let start = Instant::from_nanos(0);
    // Every frame takes the same time, so that no seed decides anything.
    let weather = Conditions::between(near.one_way_ns, near.one_way_ns);
    let mut world = SplitWorld::new(machines, weather, 0);
    world.net.wake_gap = 1;
    let adaptor = near.adaptor.clone();
    let adaptor =
        adaptor.and_then(|config| Adaptor::new(bucket.limits(), 1, &members, config, start).ok());
    if let Some(adaptor) = adaptor {
        world.net.nodes.push(WorldPart::Adaptor(Box::new(adaptor)));
        (0..world.net.nodes.len()).for_each(|place| world.settle(place));
    }
    let expected = world.feed(cut, bursts);
    let end = bursts.last().map_or(0, |burst| burst.at_ns) + DRAIN_NS;
    while world.lefts().map(Vec::len).sum::<usize>() < expected && world.net.step(end).is_some() {}
    let lefts = world.lefts().cloned().collect();
    TopicResults::new(bucket, lefts, world.frames())
}

impl SplitWorld {
    pub(crate) fn new(machines: Vec<SplitMachine>, weather: Conditions, seed: u64) -> Self {
        let mut net = Net::new(0, weather, seed);
        net.wake_gap = 0;
        let parts = machines.into_iter();
        let parts = parts.map(|machine| WorldPart::Machine(Box::new(machine), Vec::new()));
        net.nodes = parts.collect();
        Self { net }
    }

    pub(crate) fn run_until(&mut self, end: u64) {
        while self.net.step(end).is_some() {}
        self.net.sim.pass(end);
    }

    /// Everything until the last arrival; says how many messages came.
    fn feed(&mut self, cut: &Cut, bursts: &[Burst]) -> usize {
        let mut expected = 0;
        for (number, burst) in (0..).zip(bursts) {
            let Some(place) = cut.place(burst.publisher).map(usize::from) else {
                continue;
            };
            self.run_until(burst.at_ns);
            let Some(machine) = self.machines().nth(place) else {
                continue;
            };
            arrive(machine, number, burst);
            expected += burst.count as usize;
            self.settle(place);
        }
        expected
    }
    pub(crate) fn machines(&mut self) -> impl Iterator<Item = &mut SplitMachine> {
        self.net.nodes.iter_mut().filter_map(|part| match part {
            WorldPart::Machine(machine, _) => Some(&mut **machine),
            WorldPart::Adaptor(_) => None,
        })
    }

    /// Takes out what a machine has to say, and notes when it wants to be woken.
    pub(crate) fn settle(&mut self, place: usize) {
        self.net.follow_up(place);
    }

    pub(crate) fn frames(&self) -> u64 {
        self.net.sent().messages
    }

    fn lefts(&self) -> impl Iterator<Item = &Vec<DepartedMessage>> {
        self.net.nodes.iter().filter_map(|part| match part {
            WorldPart::Machine(_, lefts) => Some(lefts),
            WorldPart::Adaptor(_) => None,
        })
    }
}

impl Member for WorldPart {
    type Message = Arc<[u8]>;

    fn handle_message(&mut self, from: u16, frame: &Arc<[u8]>, now: u64) {
        let (from, now) = (NodeId(from), Instant::from_nanos(now));
        let read = match self {
            Self::Machine(machine, _) => machine.handle_frame(from, frame, now),
            Self::Adaptor(adaptor) => adaptor.handle_frame(from, frame, now),
        };
        debug_assert!(read.is_ok());
    }

    fn handle_timeout(&mut self, now: u64) {
        let now = Instant::from_nanos(now);
        match self {
            Self::Machine(machine, _) => machine.handle_timeout(now),
            Self::Adaptor(adaptor) => adaptor.handle_timeout(now),
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        let due = match self {
            Self::Machine(machine, _) => machine.poll_timeout(),
            Self::Adaptor(adaptor) => Some(adaptor.poll_timeout()),
        };
        due.map(Instant::as_nanos)
    }

    fn store(&mut self, _now: u64) {
        if let Self::Machine(machine, lefts) = self {
            take(machine, lefts);
        }
    }

    fn poll_send(&mut self) -> Option<(u16, Arc<[u8]>)> {
        let Send { to, frame } = match self {
            Self::Machine(machine, _) => machine.poll_send()?,
            Self::Adaptor(adaptor) => adaptor.poll_send()?,
        };
        Some((to.0, frame))
    }

    fn bytes(frame: &Arc<[u8]>) -> &[u8] {
        frame
    }
}
