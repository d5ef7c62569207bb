//! The world of a campaign: machines with drifting clocks, an adaptor, links that lose, double, delay and reorder, and
//! crashes.
//!
//! Whatever a seed says happens happens again. Not here: which faults come when.

use tollgate_gossip::NodeId;
pub(super) use tollgate_kit::Dice;
use tollgate_limit::{Instant, Span};
use tollgate_sim::{Conditions, SimClock};
use tollgate_split::{
    Adaptor, AdaptorConfig, Begin, Share, SplitConfig, SplitMachine, SplitSetup, TopicLimits,
};

use super::ghost::{Ghost, Left};
use crate::dice::{LabDice, Purpose};
use crate::nodes::{Happened, Net};
use crate::split::world::WorldPart;

pub(super) const MS: u64 = 1_000_000;
pub(super) const SECOND: u64 = 1_000 * MS;

/// A gap of a stream without memory, around `mean`.
pub(super) fn gap_around(dice: &mut Dice, mean: u64) -> u64 {
    dice.exponential(mean as f64) as u64 + 1
}

const GOOD: Conditions = Conditions::between(MS / 5, MS / 5);

#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) nodes: u16,
    pub(super) messages: u64,
    pub(super) burst: u64,
    pub(super) links: Conditions,
    pub(super) config: SplitConfig,
    pub(super) adaptor: Option<AdaptorConfig>,
    /// Clocks run wrong by up to so much, in millionths.
    pub(super) drift_ppm: i64,
    /// Timers and arrivals are handled up to so late.
    pub(super) jitter: u64,
    /// Messages are told at once when they go, if that is no later than this from now.
    pub(super) promises: Option<u64>,
    /// Of those, how many change their minds, in percent.
    pub(super) regrets: u64,
}

impl Plan {
    pub(super) fn new(nodes: u16, messages: u64, burst: u64) -> Self {
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
fn truth(clock: SimClock, local: Instant) -> u128 {
    let scaled = u128::from(local.as_nanos() - clock.ahead as u64) << 20;
    scaled * 1_000_000 / (1_000_000 + clock.drift) as u128
}

#[derive(Clone, Copy, Debug)]
pub(super) enum CampaignEvent {
    Arrive(u16, u32),
    Crash(u16),
    Start(u16),
    CrashAdaptor,
    StartAdaptor,
}

/// The world; the adaptor has the address after the nodes.
pub(super) struct World {
    plan: Plan,
    limits: TopicLimits,
    shares: Vec<Share>,
    dice: Dice,
    net: Net<Option<WorldPart>>,
    /// How often each was started, and since when it is not as it began.
    boots: Vec<u64>,
    since: Vec<Option<u64>>,
    /// What is planned, by its number.
    planned: Vec<CampaignEvent>,
    costs: Vec<u32>,
    pub(super) departures: Vec<Left>,
    /// Delay, and when it ended, of every message that left.
    delays: Vec<(u64, u64)>,
}

impl World {
    pub(super) fn new(plan: &Plan) -> Self {
        let limits = TopicLimits::per_second(plan.messages, plan.burst).unwrap();
        let weights = vec![1; usize::from(plan.nodes)];
        let mut net = Net::new(0, plan.links, plan.seed);
        net.wake_gap = 1;
        net.late = Some((plan.jitter, LabDice::new(plan.seed, Purpose::Clocks)));
        let hosts = usize::from(plan.nodes) + 1;
        net.nodes.resize_with(hosts, || None);
        let mut world = Self {
            plan: plan.clone(),
            limits,
            shares: limits.cut(&weights, u64::from(plan.config.cost_max)),
            dice: Dice::new(plan.seed),
            net,
            boots: vec![0; hosts],
            since: vec![None; hosts],
            planned: Vec::new(),
            costs: Vec::new(),
            departures: Vec::new(),
            delays: Vec::new(),
        };
        for id in 0..plan.nodes {
            let drift = world.dice.below(2 * plan.drift_ppm as u64 + 1) as i64 - plan.drift_ppm;
            let ahead = world.dice.below(3_600 * SECOND) as i64;
            world.net.sim.set_clock(id, SimClock { ahead, drift });
            world.start(id, Begin::Fresh);
        }
        if plan.adaptor.is_some() {
            world.at(0, CampaignEvent::StartAdaptor);
        }
        world
    }

    /// What the adaptor is called.
    pub(super) fn adaptor(&self) -> NodeId {
        NodeId(self.plan.nodes)
    }

    fn members(&self) -> Vec<NodeId> {
        (0..self.plan.nodes).map(NodeId).collect()
    }

    fn start(&mut self, id: u16, begin: Begin) {
        let (place, now) = (usize::from(id), self.net.sim.now());
        self.boots[place] += 1;
        self.since[place] = (begin != Begin::Fresh).then_some(now);
        let setup = SplitSetup {
            limits: self.limits,
            share: self.shares[place],
            me: NodeId(id),
            boot: self.boots[place],
            begin,
            members: self.members(),
            adaptor: self.plan.adaptor.as_ref().map(|_| self.adaptor()),
            start: self.local(id),
            config: self.plan.config.clone(),
        };
        let machine = Box::new(SplitMachine::new(setup).unwrap());
        self.run(id, WorldPart::Machine(machine, Vec::new()));
    }

    fn run(&mut self, id: u16, part: WorldPart) {
        self.net.nodes[usize::from(id)] = Some(part);
        self.net.sim.let_sleep(id);
        self.net.follow_up(usize::from(id));
    }

    fn stop(&mut self, id: u16) {
        self.net.nodes[usize::from(id)] = None;
    }

    pub(super) fn at(&mut self, truth: u64, event: CampaignEvent) {
        self.net.sim.plan(truth, self.planned.len() as u64);
        self.planned.push(event);
    }

    pub(super) fn running(&mut self, id: u16) -> Option<&mut SplitMachine> {
        match &mut self.net.nodes[usize::from(id)] {
            Some(WorldPart::Machine(machine, _)) => Some(machine),
            _ => None,
        }
    }

    pub(super) fn machine(&mut self, id: u16) -> &mut SplitMachine {
        self.running(id).unwrap()
    }

    pub(super) fn frames(&self) -> u64 {
        self.net.sent().messages
    }

    /// A stream of single messages without memory, with so much time between them.
    pub(super) fn stream(&mut self, node: u16, gap: u64, from: u64, until: u64) {
        let mut truth = from;
        loop {
            truth += gap_around(&mut self.dice, gap);
            if truth >= until {
                return;
            }
            self.at(truth, CampaignEvent::Arrive(node, 1));
        }
    }

    pub(super) fn run_until(&mut self, end: u64) {
        while let Some(happened) = self.net.step(end) {
            if let Happened::Plan(number) = happened {
                self.step(self.planned[number as usize]);
            }
            self.note_departures();
        }
        self.net.sim.pass(end);
    }

    fn step(&mut self, event: CampaignEvent) {
        match event {
            CampaignEvent::Arrive(id, cost) => self.arrive(id, cost),
            CampaignEvent::Crash(id) => self.stop(id),
            CampaignEvent::Start(id) => {
                let longest = self.plan.promises;
                let begin = longest.map_or(Begin::Restart, |longest| {
                    Begin::AfterPromises(Span::from_nanos(u128::from(longest)))
                });
                self.start(id, begin);
            }
            CampaignEvent::CrashAdaptor => self.stop(self.plan.nodes),
            CampaignEvent::StartAdaptor => self.start_adaptor(),
        }
    }

    fn start_adaptor(&mut self) {
        let (id, members) = (self.plan.nodes, self.members());
        let now = self.local(id);
        let boot = &mut self.boots[usize::from(id)];
        *boot += 1;
        let config = self.plan.adaptor.clone().unwrap_or_default();
        let adaptor = Adaptor::new(self.limits, *boot, &members, config, now);
        self.run(id, WorldPart::Adaptor(Box::new(adaptor.unwrap())));
    }

    /// A message is told when it goes, and goes then, whatever becomes of the node; a few change their minds.
    fn ask(&mut self, id: u16, cost: u32, wait_max: u64) {
        let (now, clock) = (self.local(id), self.net.sim.clock(id));
        let regrets = self.dice.chance(self.plan.regrets, 100);
        let Some(machine) = self.running(id) else {
            return;
        };
        let cost = u64::from(cost);
        let at = machine.foresee(cost, now);
        if let Some(at) = at.filter(|at| at.nanos_since(now) <= wait_max) {
            assert_eq!(machine.take(cost, now), Some(at));
            if regrets {
                machine.refund(cost, now);
            } else {
                self.departures.push((truth(clock, at), cost));
                let ended = self.net.sim.now();
                self.delays.push((at.nanos_since(now), ended));
            }
        }
        self.net.follow_up(usize::from(id));
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
        if let Some(machine) = self.running(id) {
            machine.handle_arrival(name, cost, arrived, now).unwrap();
            self.net.follow_up(usize::from(id));
        }
    }

    fn note_departures(&mut self) {
        for id in 0..self.plan.nodes {
            let clock = self.net.sim.clock(id);
            let Some(WorldPart::Machine(_, lefts)) = &mut self.net.nodes[usize::from(id)] else {
                continue;
            };
            for left in lefts.drain(..) {
                let cost = self.costs[left.burst as usize];
                let at = Instant::from_nanos(left.at);
                self.departures.push((truth(clock, at), u64::from(cost)));
                let ended = self.net.sim.now();
                self.delays.push((left.at - left.arrived, ended));
            }
        }
    }

    pub(super) fn local(&self, id: u16) -> Instant {
        Instant::from_nanos(self.net.sim.local(id))
    }

    /// Panics where more left than one bucket would have let go.
    pub(super) fn judge(&self) {
        let slack = if self.plan.drift_ppm == 0 { 0 } else { 2 };
        let violation = self.ghost().violation(&self.departures, slack);
        assert_eq!(violation, None, "seed {} {:?}", self.plan.seed, self.plan);
    }

    /// The same, for runs with too many departures to look at every interval.
    pub(super) fn judge_long(&self) {
        let over = self.ghost().overdrawn(&self.departures);
        assert_eq!(over, None, "seed {} {:?}", self.plan.seed, self.plan);
    }

    pub(super) fn ghost(&self) -> Ghost {
        Ghost {
            messages: self.plan.messages,
            period_ns: SECOND,
            burst: self.plan.burst,
        }
    }

    /// All shares in use. One that hires and was started anew uses nothing yet of what it may have let.
    pub(super) fn used(&mut self) -> Share {
        let mut used = Share::NONE;
        for id in 0..self.plan.nodes {
            let now = self.local(id);
            let term = self.plan.config.term.as_nanos() as u64;
            let since = self.since[usize::from(id)];
            let hires = self.plan.config.hire.is_some();
            if hires && since.is_some_and(|since| self.net.sim.now() < since + term) {
                continue;
            }
            if let Some(machine) = self.running(id) {
                used = used.plus(machine.inspect(now).share);
            }
        }
        used
    }

    /// Whether everybody has room for all that it has to.
    pub(super) fn has_room(&mut self) -> bool {
        (0..self.plan.nodes).all(|id| {
            let now = self.local(id);
            self.running(id).is_none_or(|machine| {
                let seen = machine.inspect(now);
                seen.tokens + seen.held + seen.reserved <= seen.share.depth
            })
        })
    }

    pub(super) fn whole(&self) -> Share {
        self.limits.whole()
    }

    /// The delay below which that many thousandths of the messages stayed that left since, in nanoseconds.
    pub(super) fn percentile(&self, milli: u64, since: u64) -> u64 {
        let late = self.delays.iter().filter(|(_, at)| *at >= since);
        let mut delays: Vec<u64> = late.map(|(delay, _)| *delay).collect();
        delays.sort_unstable();
        let rank = (delays.len() as u64 * milli).div_ceil(1000).max(1) - 1;
        delays.get(rank as usize).copied().unwrap_or(0)
    }
}
