//! Machines and an adaptor with a network between them: every frame takes the same time, and everything happens in order of time.
//!
//! Not here: loss, doubling, crashes and clocks that run wrong, which the tests of the machine have.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tollgate_gossip::{NodeId, Send};
use tollgate_limit::Instant;
use tollgate_split::{Adaptor, AdaptorConfig, Machine, SplitConfig};

use super::topic::{Bucket, Cut, Left, Ran, arrive, machines, take};
use super::traffic::{Burst, SECOND};

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

enum Event {
    Frame(NodeId, Send),
    Wake(NodeId),
}

struct World<'a> {
    near: &'a Near,
    machines: Vec<Machine>,
    adaptor: Option<Adaptor>,
    woken: Vec<Option<u64>>,
    lefts: Vec<Vec<Left>>,
    /// Keys of events in order; equal times in the order in which they were made.
    agenda: BinaryHeap<Reverse<(u64, u64)>>,
    events: std::collections::BTreeMap<u64, Event>,
    made: u64,
    frames: u64,
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
    let mut world = World {
        near,
        woken: vec![None; machines.len()],
        lefts: vec![Vec::new(); machines.len()],
        machines,
        adaptor,
        agenda: BinaryHeap::new(),
        events: std::collections::BTreeMap::new(),
        made: 0,
        frames: 0,
    };
    if world.adaptor.is_some() {
        world.add(0, Event::Wake(ADAPTOR));
        for place in 0..world.machines.len() {
            world.settle(place, 0);
        }
    }
    let expected = world.feed(cut, bursts);
    let end = bursts.last().map_or(0, |burst| burst.at_ns) + DRAIN_NS;
    let left = |world: &World<'_>| world.lefts.iter().map(|all| all.len() as u64).sum::<u64>();
    while left(&world) < expected && world.step(end) {}
    Ran::new(bucket, world.lefts, world.frames)
}

impl World<'_> {
    /// Everything until the last arrival; says how many messages came.
    fn feed(&mut self, cut: &Cut, bursts: &[Burst]) -> u64 {
        let mut expected = 0;
        for (number, burst) in (0..).zip(bursts) {
            let Some(place) = cut.place(burst.publisher).map(usize::from) else {
                continue;
            };
            while self.step(burst.at_ns) {}
            if let Some(machine) = self.machines.get_mut(place) {
                arrive(machine, number, burst);
                expected += u64::from(burst.count);
                self.settle(place, burst.at_ns);
            }
        }
        expected
    }

    /// The next event, unless it is later than `until`; says whether there was one.
    fn step(&mut self, until: u64) -> bool {
        let Some(Reverse((at, name))) = self.agenda.peek().copied() else {
            return false;
        };
        if at > until {
            return false;
        }
        self.agenda.pop();
        match self.events.remove(&name) {
            Some(Event::Frame(from, send)) => self.handle_frame(from, &send, at),
            Some(Event::Wake(ADAPTOR)) => {
                if let Some(adaptor) = &mut self.adaptor {
                    adaptor.handle_timeout(Instant::from_nanos(at));
                    let next = adaptor.poll_timeout().as_nanos();
                    self.add(next, Event::Wake(ADAPTOR));
                }
                self.settle_adaptor(at);
            }
            Some(Event::Wake(id)) => {
                let place = usize::from(id.0);
                if let Some(woken) = self.woken.get_mut(place) {
                    *woken = woken.filter(|woken| *woken > at);
                }
                if let Some(machine) = self.machines.get_mut(place) {
                    machine.handle_timeout(Instant::from_nanos(at));
                }
                self.settle(place, at);
            }
            None => {}
        }
        true
    }

    fn handle_frame(&mut self, from: NodeId, send: &Send, at: u64) {
        let now = Instant::from_nanos(at);
        if send.to == ADAPTOR {
            if let Some(adaptor) = &mut self.adaptor {
                let read = adaptor.handle_frame(from, &send.frame, now);
                debug_assert!(read.is_ok());
            }
            self.settle_adaptor(at);
        } else {
            let place = usize::from(send.to.0);
            if let Some(machine) = self.machines.get_mut(place) {
                let read = machine.handle_frame(from, &send.frame, now);
                debug_assert!(read.is_ok());
            }
            self.settle(place, at);
        }
    }

    /// Takes out what a machine has to say, and notes when it wants to be woken.
    fn settle(&mut self, place: usize, at: u64) {
        let (Some(machine), Some(lefts)) =
            (self.machines.get_mut(place), self.lefts.get_mut(place))
        else {
            return;
        };
        take(machine, lefts);
        let id = NodeId(u16::try_from(place).unwrap_or(u16::MAX));
        while let Some(send) = self.machines.get_mut(place).and_then(Machine::poll_send) {
            self.carry(id, send, at);
        }
        let due = self.machines.get(place).and_then(Machine::poll_timeout);
        let Some(due) = due.map(|due| due.as_nanos().max(at + 1)) else {
            return;
        };
        if let Some(woken) = self.woken.get_mut(place)
            && woken.is_none_or(|woken| due < woken)
        {
            *woken = Some(due);
            self.add(due, Event::Wake(id));
        }
    }

    fn settle_adaptor(&mut self, at: u64) {
        while let Some(send) = self.adaptor.as_mut().and_then(Adaptor::poll_send) {
            self.carry(ADAPTOR, send, at);
        }
    }

    fn carry(&mut self, from: NodeId, send: Send, at: u64) {
        self.frames += 1;
        self.add(at + self.near.one_way_ns, Event::Frame(from, send));
    }

    fn add(&mut self, at: u64, event: Event) {
        self.made += 1;
        self.agenda.push(Reverse((at, self.made)));
        self.events.insert(self.made, event);
    }
}
