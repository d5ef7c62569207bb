//! A small world: machines with drifting clocks, an adaptor, links that lose, double, delay and reorder, and crashes.
//!
//! Whatever a seed says happens happens again. Not here: which faults come when.

use std::sync::Arc;

use tollgate_gossip::{NodeId, Send};
pub(crate) use tollgate_kit::Dice;
use tollgate_limit::{Instant, Span};
use tollgate_sim::{self as sim, Clock, Links, Sim, Weather};
use tollgate_split::{Adaptor, AdaptorConfig, Begin, Limits, Machine, Setup, Share, SplitConfig};

use crate::ghost::{Ghost, Left};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000 * MS;
pub(crate) const ADAPTOR: NodeId = NodeId(999);

/// A gap of a stream without memory, around `mean`.
pub(crate) fn gap_around(dice: &mut Dice, mean: u64) -> u64 {
    dice.exponential(mean as f64) as u64 + 1
}

const GOOD: Weather = Weather::between(MS / 5, MS / 5);

/// What the world begins with.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) nodes: u16,
    pub(crate) messages: u64,
    pub(crate) burst: u64,
    pub(crate) links: Weather,
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

/// The true time at which a clock shows that, in 2^-20 of a nanosecond.
fn truth(clock: Clock, local: Instant) -> u128 {
    let scaled = u128::from(local.as_nanos() - clock.ahead as u64) << 20;
    scaled * 1_000_000 / (1_000_000 + clock.drift) as u128
}

pub(crate) struct Node {
    pub(crate) machine: Option<Machine>,
    boot: u64,
    /// Since it was started anew.
    since: Option<u64>,
}

/// What is planned.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Arrive(u16, u32),
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
    sim: Sim<Arc<[u8]>, Event, Dice>,
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
        let streams = [1, 2, 3].map(|stream| Dice::new(plan.seed ^ stream << 60));
        let mut world = Self {
            plan: plan.clone(),
            limits,
            shares,
            dice: Dice::new(plan.seed),
            nodes: Vec::new(),
            adaptor: None,
            adaptor_boot: 0,
            sim: Sim::new(0, Links::new(plan.links, streams)),
            costs: Vec::new(),
            departures: Vec::new(),
            delays: Vec::new(),
            frames: 0,
            refused: 0,
        };
        for id in 0..plan.nodes {
            let drift = world.dice.below(2 * plan.drift_ppm as u64 + 1) as i64 - plan.drift_ppm;
            let ahead = world.dice.below(3_600 * SECOND) as i64;
            world.sim.set_clock(id, Clock { ahead, drift });
            world.nodes.push(Node {
                machine: None,
                boot: 0,
                since: None,
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
        let (members, start) = (self.members(), self.local(id));
        let node = &mut self.nodes[usize::from(id)];
        node.boot += 1;
        node.since = (begin != Begin::Fresh).then_some(self.sim.now());
        node.machine = Some(
            Machine::new(Setup {
                limits: self.limits,
                share: self.shares[usize::from(id)],
                me: NodeId(id),
                boot: node.boot,
                begin,
                members,
                adaptor: self.plan.adaptor.as_ref().map(|_| ADAPTOR),
                start,
                config: self.plan.config.clone(),
            })
            .unwrap(),
        );
        self.sim.let_sleep(id);
        self.settle(id);
    }

    pub(crate) fn at(&mut self, truth: u64, event: Event) {
        self.sim.plan(truth, event);
    }

    /// The adaptor has the address after the nodes.
    fn address(&self, id: NodeId) -> u16 {
        if id == ADAPTOR { self.plan.nodes } else { id.0 }
    }

    fn name(&self, address: u16) -> NodeId {
        if address == self.plan.nodes {
            ADAPTOR
        } else {
            NodeId(address)
        }
    }

    /// A stream of single messages without memory, with so much time between them.
    pub(crate) fn stream(&mut self, node: u16, gap: u64, from: u64, until: u64) {
        let mut truth = from;
        loop {
            truth += gap_around(&mut self.dice, gap);
            if truth >= until {
                return;
            }
            self.at(truth, Event::Arrive(node, 1));
        }
    }

    pub(crate) fn run_until(&mut self, end: u64) {
        while let Some(event) = self.sim.next(end) {
            match event {
                sim::Event::Message { from, to, message } => self.deliver(from, to, &message),
                sim::Event::Wake { node } => self.wake(node),
                sim::Event::Plan(event) => self.step(event),
            }
        }
        self.sim.pass(end);
    }

    fn deliver(&mut self, from: u16, to: u16, frame: &[u8]) {
        let (from, now) = (self.name(from), self.local(to));
        if self.name(to) == ADAPTOR {
            if let Some(adaptor) = &mut self.adaptor {
                adaptor.handle_frame(from, frame, now).unwrap();
                self.settle_adaptor();
            }
        } else if let Some(machine) = &mut self.nodes[usize::from(to)].machine {
            machine.handle_frame(from, frame, now).unwrap();
            self.settle(to);
        }
    }

    fn wake(&mut self, id: u16) {
        let now = self.local(id);
        if self.name(id) == ADAPTOR {
            if let Some(adaptor) = &mut self.adaptor {
                adaptor.handle_timeout(now);
                let next = adaptor.poll_timeout().as_nanos();
                self.settle_adaptor();
                self.sim.wake_at(id, next);
            }
        } else if let Some(machine) = &mut self.nodes[usize::from(id)].machine {
            machine.handle_timeout(now);
            self.settle(id);
        }
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Arrive(id, cost) => self.arrive(id, cost),
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
        let now = self.local(self.plan.nodes);
        let members = self.members();
        let adaptor = Adaptor::new(self.limits, self.adaptor_boot, &members, config, now);
        self.adaptor = Some(adaptor.unwrap());
        self.sim.wake_at(self.plan.nodes, self.sim.now());
    }

    /// A message is told when it goes, and goes then, whatever becomes of the node; a few change their minds.
    fn ask(&mut self, id: u16, cost: u32, wait_max: u64) {
        let now = self.local(id);
        let clock = self.sim.clock(id);
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
                    self.departures.push((truth(clock, at), cost));
                    self.delays.push((at.nanos_since(now), self.sim.now()));
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
        Instant::from_nanos(self.sim.local(id))
    }

    /// Takes out what a machine has to say, and notes when it wants to be woken.
    fn settle(&mut self, id: u16) {
        let place = usize::from(id);
        let clock = self.sim.clock(id);
        while let Some(send) = self.nodes[place]
            .machine
            .as_mut()
            .and_then(Machine::poll_send)
        {
            self.carry(id, send);
        }
        while let Some(left) = self.nodes[place]
            .machine
            .as_mut()
            .and_then(Machine::poll_departure)
        {
            let cost = self.costs[left.id as usize];
            self.departures
                .push((truth(clock, left.at), u64::from(cost)));
            let delay = left.at.nanos_since(left.arrived);
            self.delays.push((delay, self.sim.now()));
        }
        let Some(at) = self.nodes[place]
            .machine
            .as_ref()
            .and_then(Machine::poll_timeout)
        else {
            return;
        };
        let late = self.dice.below(self.plan.jitter + 1);
        let due = clock.world(at.as_nanos()).max(self.sim.now() + 1);
        self.sim.wake_at(id, due + late);
    }

    fn settle_adaptor(&mut self) {
        while let Some(send) = self.adaptor.as_mut().and_then(Adaptor::poll_send) {
            self.carry(self.plan.nodes, send);
        }
    }

    fn carry(&mut self, from: u16, send: Send) {
        self.frames += 1;
        self.sim.post(from, self.address(send.to), send.frame);
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
            if hires && waits.is_some_and(|until| self.sim.now() < until) {
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
