//! Machines and an adaptor with a network between them: every frame takes the same time, and everything happens in
//! order of time.
//!
//! Not here: loss, doubling, crashes and clocks that run wrong, which the tests of the machine have.

use std::sync::Arc;

use tollgate_gossip::{NodeId, Send};
use tollgate_limit::Instant;
use tollgate_sim::{Event, Sim, Weather};
use tollgate_split::{Adaptor, AdaptorConfig, Machine, SplitConfig};

use super::topic::{Bucket, Cut, Left, Ran, arrive, machines, take};
use super::traffic::{Burst, SECOND};
use crate::dice::{Dice, links};

/// How machines reach each other.
#[derive(Clone, Debug)]
pub(super) struct Near {
    pub(super) one_way_ns: u64,
    pub(super) config: SplitConfig,
    pub(super) adaptor: Option<AdaptorConfig>,
}

const ADAPTOR: NodeId = NodeId(9_999);
/// A run ends so long after the last arrival, whoever waits.
const DRAIN_NS: u64 = 300 * SECOND;

/// Machines, each with the address of its place, and what is between them.
pub(crate) struct World {
    sim: Sim<Arc<[u8]>, (), Dice>,
    pub(crate) machines: Vec<Machine>,
    adaptor: Option<Adaptor>,
    lefts: Vec<Vec<Left>>,
    pub(crate) frames: u64,
    /// How long it takes at least until a machine that wants to be woken is.
    wakes_after: u64,
}

/// Runs a topic.
pub(super) fn run(bucket: Bucket, cut: &Cut, bursts: &[Burst], near: &Near) -> Ran {
    let named = near.adaptor.as_ref().map(|_| ADAPTOR);
    let machines = machines(bucket, cut, &near.config, named);
    let members: Vec<NodeId> = (0..).map(NodeId).take(machines.len()).collect();
    let start = Instant::from_nanos(0);
    let adaptor = near.adaptor.clone();
    let adaptor =
        adaptor.and_then(|config| Adaptor::new(bucket.limits(), 1, &members, config, start).ok());
    // Every frame takes the same time, so that no seed decides anything.
    let weather = Weather::between(near.one_way_ns, near.one_way_ns);
    let mut world = World {
        adaptor,
        wakes_after: 1,
        ..World::new(machines, weather, 0)
    };
    if world.adaptor.is_some() {
        world.sim.wake_at(ADAPTOR.0, 0);
        for place in 0..world.machines.len() {
            world.settle(place);
        }
    }
    let expected = world.feed(cut, bursts);
    let end = bursts.last().map_or(0, |burst| burst.at_ns) + DRAIN_NS;
    let left = |world: &World| world.lefts.iter().map(|all| all.len() as u64).sum::<u64>();
    while left(&world) < expected && world.step(end) {}
    Ran::new(bucket, world.lefts, world.frames)
}

impl World {
    pub(crate) fn new(machines: Vec<Machine>, weather: Weather, seed: u64) -> Self {
        Self {
            sim: Sim::new(0, links(weather, seed)),
            lefts: vec![Vec::new(); machines.len()],
            machines,
            adaptor: None,
            frames: 0,
            wakes_after: 0,
        }
    }

    /// Everything until then.
    pub(crate) fn run_until(&mut self, end: u64) {
        while self.step(end) {}
        self.sim.pass(end);
    }

    /// Everything until the last arrival; says how many messages came.
    fn feed(&mut self, cut: &Cut, bursts: &[Burst]) -> u64 {
        let mut expected = 0;
        for (number, burst) in (0..).zip(bursts) {
            let Some(place) = cut.place(burst.publisher).map(usize::from) else {
                continue;
            };
            self.run_until(burst.at_ns);
            if let Some(machine) = self.machines.get_mut(place) {
                arrive(machine, number, burst);
                expected += u64::from(burst.count);
                self.settle(place);
            }
        }
        expected
    }

    /// The next event, unless it is later than `until`; says whether there was one.
    fn step(&mut self, until: u64) -> bool {
        let Some(event) = self.sim.next(until) else {
            return false;
        };
        match event {
            Event::Message { from, to, message } => self.handle_frame(from, NodeId(to), &message),
            Event::Wake { node } if NodeId(node) == ADAPTOR => {
                let now = self.now();
                if let Some(adaptor) = &mut self.adaptor {
                    adaptor.handle_timeout(now);
                    let next = adaptor.poll_timeout().as_nanos();
                    self.sim.wake_at(node, next);
                }
                self.settle_adaptor();
            }
            Event::Wake { node } => {
                let (now, place) = (self.now(), usize::from(node));
                if let Some(machine) = self.machines.get_mut(place) {
                    machine.handle_timeout(now);
                }
                self.settle(place);
            }
            Event::Plan(()) => {}
        }
        true
    }

    pub(crate) fn now(&self) -> Instant {
        Instant::from_nanos(self.sim.now())
    }

    fn handle_frame(&mut self, from: u16, to: NodeId, frame: &[u8]) {
        let (now, from) = (self.now(), NodeId(from));
        if to == ADAPTOR {
            if let Some(adaptor) = &mut self.adaptor {
                let read = adaptor.handle_frame(from, frame, now);
                debug_assert!(read.is_ok());
            }
            self.settle_adaptor();
        } else {
            let place = usize::from(to.0);
            if let Some(machine) = self.machines.get_mut(place) {
                let read = machine.handle_frame(from, frame, now);
                debug_assert!(read.is_ok());
            }
            self.settle(place);
        }
    }

    /// Takes out what a machine has to say, and notes when it wants to be woken.
    pub(crate) fn settle(&mut self, place: usize) {
        let (Some(machine), Some(lefts)) =
            (self.machines.get_mut(place), self.lefts.get_mut(place))
        else {
            return;
        };
        take(machine, lefts);
        let id = NodeId(u16::try_from(place).unwrap_or(u16::MAX));
        while let Some(send) = self.machines.get_mut(place).and_then(Machine::poll_send) {
            self.carry(id, send);
        }
        if let Some(due) = self.machines.get(place).and_then(Machine::poll_timeout) {
            let earliest = self.sim.now() + self.wakes_after;
            self.sim.wake_at(id.0, due.as_nanos().max(earliest));
        }
    }

    fn settle_adaptor(&mut self) {
        while let Some(send) = self.adaptor.as_mut().and_then(Adaptor::poll_send) {
            self.carry(ADAPTOR, send);
        }
    }

    fn carry(&mut self, from: NodeId, send: Send) {
        self.frames += 1;
        self.sim.post(from.0, send.to.0, send.frame);
    }
}
