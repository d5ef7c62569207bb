//! A small world: machines with drifting clocks, an adaptor, links that lose, double, delay and reorder, and crashes.
//!
//! Whatever a seed says happens happens again. Not here: which faults come when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tollgate_gossip::{NodeId, Send};
use tollgate_kit::Dice;
use tollgate_limit::{Instant, Span};
use tollgate_split::{Adaptor, AdaptorConfig, Begin, Limits, Machine, Setup, Share, SplitConfig};

use crate::ghost::{Ghost, Left};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000 * MS;
pub(crate) const ADAPTOR: NodeId = NodeId(999);

/// What links do, in nanoseconds and percent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Links {
    pub(crate) delay_min: u64,
    pub(crate) delay_spread: u64,
    pub(crate) lost: u64,
    pub(crate) doubled: u64,
    /// Far later than the others.
    pub(crate) late: u64,
}

pub(crate) const GOOD: Links = Links {
    delay_min: 200_000,
    delay_spread: 0,
    lost: 0,
    doubled: 0,
    late: 0,
};

/// What the world begins with.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) nodes: u16,
    pub(crate) messages: u64,
    pub(crate) burst: u64,
    pub(crate) links: Links,
    pub(crate) config: SplitConfig,
    pub(crate) adaptor: Option<AdaptorConfig>,
    /// Clocks run wrong by up to so much, in millionths.
    pub(crate) drift_ppm: i64,
    /// Timers and arrivals are handled up to so late.
    pub(crate) jitter: u64,
    /// Messages are told at once when they go, if that is no later than this from now.
    pub(crate) promises: Option<u64>,
    /// Of those, how many change their minds, in percent.
    pub(crate) regrets: u64,
}

impl Plan {
    pub(crate) fn new(nodes: u16, messages: u64, burst: u64) -> Self {
        Self {
            seed: 1,
            nodes,
            messages,
            burst,
            links: GOOD,
            config: SplitConfig {
                drift_ppm: 0,
                ..SplitConfig::default()
            },
            adaptor: None,
            drift_ppm: 0,
            jitter: 0,
            promises: None,
            regrets: 0,
        }
    }
}

/// A clock that runs wrong.
#[derive(Clone, Copy)]
struct Clock {
    base: u64,
    ppm: i64,
}

impl Clock {
    fn local(self, truth: u64) -> Instant {
        let scaled = u128::from(truth) * (1_000_000 + self.ppm) as u128 / 1_000_000;
        Instant::from_nanos(self.base + scaled as u64)
    }

    /// In 2^-20 of a nanosecond.
    fn truth(self, local: Instant) -> u128 {
        let scaled = u128::from(local.as_nanos() - self.base) << 20;
        scaled * 1_000_000 / (1_000_000 + self.ppm) as u128
    }
}

pub(crate) struct Node {
    pub(crate) machine: Option<Machine>,
    clock: Clock,
    boot: u64,
    /// Since it was started anew.
    since: Option<u64>,
    woken: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    Arrive(u16, u32),
    Frame(u16, u16, Vec<u8>),
    Wake(u16),
    Crash(u16),
    Start(u16),
    CrashAdaptor,
    StartAdaptor,
}

/// The world.
pub(crate) struct World {
    plan: Plan,
    limits: Limits,
    shares: Vec<Share>,
    pub(crate) dice: Dice,
    pub(crate) nodes: Vec<Node>,
    pub(crate) adaptor: Option<Adaptor>,
    adaptor_boot: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    count: u64,
    pub(crate) truth: u64,
    costs: Vec<u32>,
    pub(crate) departures: Vec<Left>,
    /// Delay, and when it ended, of every message that left.
    pub(crate) delays: Vec<(u64, u64)>,
    pub(crate) frames: u64,
    /// Messages that would have waited too long.
    pub(crate) refused: u64,
}

impl World {
    pub(crate) fn new(plan: &Plan) -> Self {
        let limits = Limits::per_second(plan.messages, plan.burst).unwrap();
        let weights = vec![1; usize::from(plan.nodes)];
        let shares = limits.cut(&weights, u64::from(plan.config.cost_max));
        let mut world = Self {
            plan: plan.clone(),
            limits,
            shares,
            dice: Dice::new(plan.seed),
            nodes: Vec::new(),
            adaptor: None,
            adaptor_boot: 0,
            events: BinaryHeap::new(),
            count: 0,
            truth: 0,
            costs: Vec::new(),
            departures: Vec::new(),
            delays: Vec::new(),
            frames: 0,
            refused: 0,
        };
        for id in 0..plan.nodes {
            let ppm = world.dice.below(2 * plan.drift_ppm as u64 + 1) as i64 - plan.drift_ppm;
            let base = world.dice.below(3_600 * SECOND);
            let clock = Clock { base, ppm };
            world.nodes.push(Node {
                machine: None,
                clock,
                boot: 0,
                since: None,
                woken: None,
            });
            world.start(id, Begin::Fresh);
        }
        if plan.adaptor.is_some() {
            world.at(0, Event::StartAdaptor);
        }
        world
    }

    fn members(&self) -> Vec<NodeId> {
        (0..self.plan.nodes).map(NodeId).collect()
    }

    fn start(&mut self, id: u16, begin: Begin) {
        let members = self.members();
        let node = &mut self.nodes[usize::from(id)];
        node.boot += 1;
        node.woken = None;
        node.since = (begin != Begin::Fresh).then_some(self.truth);
        node.machine = Some(
            Machine::new(Setup {
                limits: self.limits,
                share: self.shares[usize::from(id)],
                me: NodeId(id),
                boot: node.boot,
                begin,
                members,
                adaptor: self.plan.adaptor.as_ref().map(|_| ADAPTOR),
                start: node.clock.local(self.truth),
                config: self.plan.config.clone(),
            })
            .unwrap(),
        );
        self.settle(id);
    }

    pub(crate) fn at(&mut self, truth: u64, event: Event) {
        self.count += 1;
        self.events.push(Reverse((truth, self.count, event)));
    }

    /// A stream of single messages without memory, with so much time between them.
    pub(crate) fn stream(&mut self, node: u16, gap: u64, from: u64, until: u64) {
        let mut truth = from;
        loop {
            truth += self.dice.exponential(gap as f64) as u64 + 1;
            if truth >= until {
                return;
            }
            self.at(truth, Event::Arrive(node, 1));
        }
    }

    pub(crate) fn run_until(&mut self, end: u64) {
        while let Some(Reverse((truth, _, _))) = self.events.peek() {
            if *truth > end {
                break;
            }
            let Some(Reverse((truth, _, event))) = self.events.pop() else {
                break;
            };
            self.truth = truth;
            self.step(event);
        }
        self.truth = end;
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Arrive(id, cost) => self.arrive(id, cost),
            Event::Frame(from, to, frame) if NodeId(to) == ADAPTOR => {
                let now = Instant::from_nanos(self.truth);
                if let Some(adaptor) = &mut self.adaptor {
                    adaptor.handle_frame(NodeId(from), &frame, now).unwrap();
                    self.settle_adaptor();
                }
            }
            Event::Frame(from, to, frame) => {
                let now = self.local(to);
                if let Some(machine) = &mut self.nodes[usize::from(to)].machine {
                    machine.handle_frame(NodeId(from), &frame, now).unwrap();
                    self.settle(to);
                }
            }
            Event::Wake(id) if NodeId(id) == ADAPTOR => {
                let now = Instant::from_nanos(self.truth);
                if let Some(adaptor) = &mut self.adaptor {
                    adaptor.handle_timeout(now);
                    let next = adaptor.poll_timeout().as_nanos();
                    self.settle_adaptor();
                    self.at(next, Event::Wake(ADAPTOR.0));
                }
            }
            Event::Wake(id) => {
                let now = self.local(id);
                let node = &mut self.nodes[usize::from(id)];
                if node.woken.is_some_and(|at| at <= self.truth) {
                    node.woken = None;
                }
                if let Some(machine) = &mut node.machine {
                    machine.handle_timeout(now);
                    self.settle(id);
                }
            }
            Event::Crash(id) => self.nodes[usize::from(id)].machine = None,
            Event::Start(id) => {
                let longest = self.plan.promises;
                let begin = longest.map_or(Begin::Restart, |longest| {
                    Begin::AfterPromises(Span::from_nanos(u128::from(longest)))
                });
                self.start(id, begin);
            }
            Event::CrashAdaptor => self.adaptor = None,
            Event::StartAdaptor => self.start_adaptor(),
        }
    }

    fn start_adaptor(&mut self) {
        self.adaptor_boot += 1;
        let config = self.plan.adaptor.clone().unwrap_or_default();
        let now = Instant::from_nanos(self.truth);
        let members = self.members();
        let adaptor = Adaptor::new(self.limits, self.adaptor_boot, &members, config, now);
        self.adaptor = Some(adaptor.unwrap());
        self.at(self.truth, Event::Wake(ADAPTOR.0));
    }

    /// A message is told when it goes, and goes then, whatever becomes of the node; a few change their minds.
    fn ask(&mut self, id: u16, cost: u32, wait_max: u64) {
        let now = self.local(id);
        let clock = self.nodes[usize::from(id)].clock;
        let regrets = self.dice.chance(self.plan.regrets, 100);
        let Some(machine) = &mut self.nodes[usize::from(id)].machine else {
            return;
        };
        let cost = u64::from(cost);
        let at = machine.foresee(cost, now);
        match at.filter(|at| at.nanos_since(now) <= wait_max) {
            None => self.refused += 1,
            Some(at) => {
                assert_eq!(machine.take(cost, now), Some(at));
                if regrets {
                    machine.refund(cost, now);
                } else {
                    self.departures.push((clock.truth(at), cost));
                    self.delays.push((at.nanos_since(now), self.truth));
                }
            }
        }
        self.settle(id);
    }

    fn arrive(&mut self, id: u16, cost: u32) {
        if let Some(wait_max) = self.plan.promises {
            return self.ask(id, cost, wait_max);
        }
        let now = self.local(id);
        // Stamped when it came, handled a little later.
        let late = self.dice.below(self.plan.jitter + 1);
        let arrived = Instant::from_nanos(now.as_nanos().saturating_sub(late));
        let name = self.costs.len() as u64;
        self.costs.push(cost);
        if let Some(machine) = &mut self.nodes[usize::from(id)].machine {
            machine.handle_arrival(name, cost, arrived, now).unwrap();
            self.settle(id);
        }
    }

    pub(crate) fn local(&self, id: u16) -> Instant {
        self.nodes[usize::from(id)].clock.local(self.truth)
    }

    /// Takes out what a machine has to say, and notes when it wants to be woken.
    fn settle(&mut self, id: u16) {
        let place = usize::from(id);
        let clock = self.nodes[place].clock;
        while let Some(send) = self.nodes[place]
            .machine
            .as_mut()
            .and_then(Machine::poll_send)
        {
            self.carry(id, &send);
        }
        while let Some(left) = self.nodes[place]
            .machine
            .as_mut()
            .and_then(Machine::poll_departure)
        {
            let cost = self.costs[left.id as usize];
            self.departures
                .push((clock.truth(left.at), u64::from(cost)));
            let delay = left.at.nanos_since(left.arrived);
            self.delays.push((delay, self.truth));
        }
        let Some(at) = self.nodes[place]
            .machine
            .as_ref()
            .and_then(Machine::poll_timeout)
        else {
            return;
        };
        let truth = clock.truth(at.max(Instant::from_nanos(clock.base)));
        let late = self.dice.below(self.plan.jitter + 1);
        let wake = ((truth >> 20) as u64 + 1).max(self.truth + 1) + late;
        if self.nodes[place].woken.is_none_or(|woken| wake < woken) {
            self.nodes[place].woken = Some(wake);
            self.at(wake, Event::Wake(id));
        }
    }

    fn settle_adaptor(&mut self) {
        while let Some(send) = self.adaptor.as_mut().and_then(Adaptor::poll_send) {
            self.carry(ADAPTOR.0, &send);
        }
    }

    fn carry(&mut self, from: u16, send: &Send) {
        let links = self.plan.links;
        self.frames += 1;
        let copies = 1 + u64::from(self.dice.chance(links.doubled, 100));
        for _ in 0..copies {
            if self.dice.chance(links.lost, 100) {
                continue;
            }
            let mut delay = links.delay_min + self.dice.below(links.delay_spread + 1);
            if self.dice.chance(links.late, 100) {
                let most = if self.dice.chance(50, 100) {
                    2 * SECOND
                } else {
                    SECOND / 4
                };
                delay += self.dice.below(most);
            }
            let event = Event::Frame(from, send.to.0, send.frame.to_vec());
            self.at(self.truth + delay, event);
        }
    }

    /// Panics where more left than one bucket would have let go.
    pub(crate) fn judge(&self) {
        let slack = if self.plan.drift_ppm == 0 { 0 } else { 2 };
        let violation = self.ghost().violation(&self.departures, slack);
        assert_eq!(violation, None, "seed {} {:?}", self.plan.seed, self.plan);
    }

    /// The same, for runs with too many departures to look at every interval.
    pub(crate) fn judge_long(&self) {
        let over = self.ghost().overdrawn(&self.departures);
        assert_eq!(over, None, "seed {} {:?}", self.plan.seed, self.plan);
    }

    pub(crate) fn ghost(&self) -> Ghost {
        Ghost {
            messages: self.plan.messages,
            period_ns: SECOND,
            burst: self.plan.burst,
        }
    }

    /// All shares in use. One that hires and was started anew uses nothing yet of what it may have let.
    pub(crate) fn used(&mut self) -> Share {
        let mut used = Share::NONE;
        for id in 0..self.plan.nodes {
            let now = self.local(id);
            let term = self.plan.config.term.as_nanos() as u64;
            let waits = self.nodes[usize::from(id)].since.map(|since| since + term);
            let hires = self.plan.config.hire.is_some();
            if hires && waits.is_some_and(|until| self.truth < until) {
                continue;
            }
            if let Some(machine) = &mut self.nodes[usize::from(id)].machine {
                used = used.plus(machine.inspect(now).share);
            }
        }
        used
    }

    /// Whether everybody has room for all that it has to.
    pub(crate) fn has_room(&mut self) -> bool {
        (0..self.plan.nodes).all(|id| {
            let now = self.local(id);
            let machine = self.nodes[usize::from(id)].machine.as_mut();
            machine.is_none_or(|machine| {
                let seen = machine.inspect(now);
                seen.tokens + seen.held + seen.reserved <= seen.share.depth
            })
        })
    }

    pub(crate) fn whole(&self) -> Share {
        self.limits.whole()
    }

    /// The delay below which that many thousandths of the messages stayed that left since, in nanoseconds.
    pub(crate) fn percentile(&self, milli: u64, since: u64) -> u64 {
        let late = self.delays.iter().filter(|(_, at)| *at >= since);
        let mut delays: Vec<u64> = late.map(|(delay, _)| *delay).collect();
        delays.sort_unstable();
        let rank = (delays.len() as u64 * milli).div_ceil(1000).max(1) - 1;
        delays.get(rank as usize).copied().unwrap_or(0)
    }
}
