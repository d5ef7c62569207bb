//! The world of a campaign: whole nodes with drifting clocks, lossy links, crashes and cuts, an authority where homes
//! are leased, and a ghost that judges what was admitted.
//!
//! Whatever a seed says happens happens again. The ghost shares no code with what it judges. Not here: which faults
//! come when.

use tollgate_gossip::ModeKey;
pub(super) use tollgate_kit::Dice;
use tollgate_limit::{Cost, Instant, Span, Verdict};
use tollgate_sim::{Conditions, SimClock};
use tollgate_supply::{
    Audit, Authority, BrokenInvariant, Inspection, Limits, Machine, SupplyConfig, Witness, audit,
};

use crate::nodes::{Happened, Net, OneBucket, Whole};
use crate::supply::loans::{Disk, Loans, divided, roster};
use crate::supply::stage::MemberStart;

type Part = crate::supply::loans::Part<1>;

pub(super) const MS: u64 = 1_000_000;
pub(super) const SECOND: u64 = 1_000 * MS;

/// A gap of a stream without memory, around `mean`.
fn gap_around(dice: &mut Dice, mean: u64) -> u64 {
    dice.exponential(mean as f64) as u64 + 1
}

/// Links that lose nothing.
const CALM: Conditions = Conditions::between(MS / 4, MS / 2);

/// The true time at which a clock shows that, in thousandths of nanoseconds.
fn truth(clock: SimClock, local: Instant) -> i128 {
    let scaled = i128::from(local.as_nanos()) - i128::from(clock.ahead);
    scaled * 1_000_000_000 / i128::from(1_000_000 + clock.drift)
}

pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) nodes: u16,
    pub(super) limits: Limits,
    pub(super) config: SupplyConfig,
    pub(super) wait_max: Span,
    pub(super) costs_max: u64,
    pub(super) drift_ppm: i64,
}

pub(super) struct World {
    pub(super) plan: Plan,
    pub(super) net: Net<Option<Part>>,
    pub(super) dice: Dice,
    /// The limits and the weights of nodes, for all that are told from now on.
    pub(super) limits: Limits,
    pub(super) weights: Vec<(u16, u32)>,
    /// The largest limits that may be in force, for the audit.
    pub(super) limits_max: (u64, u64),
    pub(super) seen: Seen,
    loans: Loans,
    boots: u64,
    /// How long requests may wait at nodes that were told nothing else.
    waits: Span,
    /// Requests per second offered to each node, and which stream of them that is.
    demands: Vec<u64>,
    stream: u64,
}

#[derive(Default)]
pub(super) struct Seen {
    /// When requests passed, and their costs.
    pub(super) passes: Vec<(u64, u64)>,
    pub(super) asked: usize,
    pub(super) checks: u64,
    /// The most that all could use, since that was last set to zero.
    pub(super) best: u64,
    pub(super) broken: Option<(u64, BrokenInvariant)>,
}

impl World {
    pub(super) fn new(plan: Plan) -> Self {
        let mut dice = Dice::new(plan.seed);
        let mut net = Net::new(0, CALM, plan.seed);
        net.wake_gap = MS / 20;
        net.sim.links.cuts_arrivals = true;
        for node in 0..plan.nodes {
            let ahead = dice.between(1, 1 << 50) as i64;
            let drift = dice.between(0, 2 * plan.drift_ppm as u64) as i64 - plan.drift_ppm;
            net.sim.set_clock(node, SimClock { ahead, drift });
        }
        net.sim.set_clock(plan.nodes, SimClock::ahead(1));
        net.nodes.resize_with(usize::from(plan.nodes), || None);
        let limits = plan.limits;
        let mut world = Self {
            loans: Loans::of(plan.nodes, limits, plan.config.clone()).unwrap(),
            boots: dice.below(1 << 40),
            net,
            dice,
            limits,
            weights: (0..plan.nodes).map(|node| (node, 1)).collect(),
            limits_max: (limits.rate(), limits.burst()),
            seen: Seen::default(),
            waits: plan.wait_max,
            demands: Vec::new(),
            stream: 0,
            plan,
        };
        for node in 0..world.plan.nodes {
            world.boot(node, true);
        }
        if world.plan.config.lease.is_some() {
            let roster = roster(&world.weights).unwrap();
            let (config, waits) = (world.plan.config.clone(), world.plan.wait_max);
            let start = Instant::from_nanos(1);
            let authority = Authority::new(limits, roster.shares(), config, waits, start);
            world.install(authority);
        }
        world
    }

    /// An authority, in the place of the one before.
    pub(super) fn install(&mut self, authority: Authority) {
        let place = usize::from(self.plan.nodes);
        let before = self.net.nodes.drain(place..).next().flatten();
        let register = self.loans.register(authority, before.as_ref());
        self.net.nodes.push(Some(register));
        self.net.follow_up(place);
    }

    pub(super) fn now(&self) -> u64 {
        self.net.sim.now()
    }

    pub(super) fn local(&self, node: u16) -> Instant {
        Instant::from_nanos(self.net.sim.local(node))
    }

    fn boot(&mut self, node: u16, is_first: bool) {
        self.boots += 1;
        self.loans.contracts = divided(self.limits, self.plan.wait_max);
        let seat = MemberStart {
            node,
            boot: u32::from(!is_first),
            members: (0..self.plan.nodes).collect(),
            seed: 0,
            now: self.net.sim.local(node),
        };
        let part = self
            .loans
            .node(&seat, self.boots, roster(&self.weights).unwrap());
        self.net.nodes[usize::from(node)] = Some(part);
        self.net.sim.let_sleep(node);
        self.net.follow_up(usize::from(node));
    }

    pub(super) fn crash(&mut self, node: u16) {
        self.net.nodes[usize::from(node)] = None;
    }

    /// Starts a node again, with its disk or without.
    pub(super) fn restart(&mut self, node: u16, keeps: bool) {
        if !keeps {
            self.loans.disks.borrow_mut().remove(&node);
        }
        self.boot(node, false);
    }

    pub(super) fn restart_with(&mut self, node: u16, disk: Disk) {
        self.loans.disks.borrow_mut().insert(node, disk);
        self.boot(node, false);
    }

    pub(super) fn disk(&self, node: u16) -> Disk {
        self.loans
            .disks
            .borrow()
            .get(&node)
            .cloned()
            .unwrap_or_default()
    }

    /// Who inherits from a node while all others run: the next by the numbers of their names.
    pub(super) fn heir(&self, node: u16) -> u16 {
        let number = |node: &u16| self.loans.numbers[usize::from(*node)];
        let (others, own) = (
            (0..self.plan.nodes).filter(|other| *other != node),
            number(&node),
        );
        others
            .min_by_key(|other| number(other).0.wrapping_sub(own.0))
            .unwrap()
    }

    pub(super) fn is_up(&self, node: u16) -> bool {
        self.net.nodes[usize::from(node)].is_some()
    }

    pub(super) fn with<T>(
        &mut self,
        node: u16,
        act: impl FnOnce(&mut Whole, Instant) -> T,
    ) -> Option<T> {
        let now = self.local(node);
        let Some(Some(Part::Node(one))) = self.net.nodes.get_mut(usize::from(node)) else {
            return None;
        };
        let done = act(&mut one.whole, now);
        self.net.follow_up(usize::from(node));
        Some(done)
    }

    pub(super) fn with_authority<T>(
        &mut self,
        act: impl FnOnce(&mut Authority, Instant) -> T,
    ) -> Option<T> {
        let (place, now) = (self.plan.nodes, self.local(self.plan.nodes));
        let Some(Some(Part::Authority(register))) = self.net.nodes.get_mut(usize::from(place))
        else {
            return None;
        };
        let done = act(&mut register.authority, now);
        self.net.follow_up(usize::from(place));
        Some(done)
    }

    /// Tells a node what the limits and shares are.
    pub(super) fn tell(&mut self, node: u16) {
        let roster = roster(&self.weights).unwrap();
        let stands = self.look(node, |machine, _, _| machine.limits());
        let waits = self.plan.wait_max;
        let moves = stands != Some(self.limits) || self.waits != waits;
        let contracts = moves.then(|| divided(self.limits, waits));
        self.with(node, |whole, now| {
            if let Some(contracts) = contracts {
                whole.node = whole.newest().succeed(contracts, now);
            }
            whole.set_roster(roster, now);
        });
    }

    /// Looks at the machine of a node that runs.
    pub(super) fn look<T>(
        &self,
        node: u16,
        look: impl Fn(&Machine, ModeKey, Instant) -> T,
    ) -> Option<T> {
        let Some(Some(Part::Node(one))) = self.net.nodes.get(usize::from(node)) else {
            return None;
        };
        let mut found = None;
        one.see(self.local(node), |machine, key, now| {
            found = Some(look(machine, key, now));
        });
        found
    }

    pub(super) fn inspect(&self, node: u16) -> Inspection {
        self.look(node, Machine::inspect).unwrap()
    }

    /// Offers other loads; streams that ran before end.
    pub(super) fn set_demands(&mut self, demands: &[u64]) {
        self.stream += 1;
        self.demands = demands.to_vec();
        for node in 0..self.plan.nodes {
            self.next_request(node);
        }
    }

    fn next_request(&mut self, node: u16) {
        let demand = self.demands.get(usize::from(node)).copied();
        if let Some(mean) = SECOND.checked_div(demand.unwrap_or(0)) {
            let at = self.now() + gap_around(&mut self.dice, mean);
            let number = self.stream << 16 | u64::from(node);
            self.net.sim.plan(at, number);
        }
    }

    /// Puts nodes on two sides of a cut.
    pub(super) fn part(&mut self, dice: &mut Dice) {
        let sides = dice.roll();
        let sides = (0..self.plan.nodes).map(|node| (sides >> node & 1) as u8);
        self.net.sim.links.split(sides.collect());
    }

    /// From here on up to a fifth is lost and up to a fifth doubled.
    pub(super) fn lose(&mut self, dice: &mut Dice) {
        let weather = &mut self.net.sim.links.weather;
        weather.loss = dice.below(21) as u32 * 10_000;
        weather.copies = dice.below(21) as u32 * 10_000;
    }

    /// From here on frames take up to so long.
    pub(super) fn slow(&mut self, dice: &mut Dice) {
        let weather = &mut self.net.sim.links.weather;
        weather.delay_min = 0;
        weather.delay_max = [MS, 20 * MS, 80 * MS][dice.below(3) as usize];
    }

    /// Nothing is cut, lost or late any more.
    pub(super) fn calm(&mut self) {
        self.net.sim.links.weather = CALM;
        self.net.sim.links.heal();
    }

    pub(super) fn run_until(&mut self, end: u64) {
        while let Some(happened) = self.net.step(end) {
            match happened {
                Happened::Plan(number) if number >> 16 == self.stream => {
                    let node = number as u16;
                    let cost = self.dice.between(1, self.plan.costs_max);
                    self.request(node, cost);
                    self.next_request(node);
                }
                Happened::Plan(_) | Happened::Nothing => {}
                Happened::Member => self.check(),
            }
        }
        self.net.sim.pass(end);
        self.check();
    }

    /// Asks a node, if it runs.
    pub(super) fn request(&mut self, node: u16, cost: u64) -> Option<Verdict> {
        self.seen.asked += 1;
        let (now, local) = (self.now(), self.local(node));
        let Some(Some(Part::Node(one))) = self.net.nodes.get(usize::from(node)) else {
            return None;
        };
        let verdict = one.check(Cost::new(cost).unwrap(), local).verdict;
        self.net.follow_up(usize::from(node));
        if verdict.is_allowed() {
            let at = local.saturating_add(verdict.wait()).as_nanos();
            let at = self.net.sim.clock(node).world(at).max(now);
            self.seen.passes.push((at, cost));
        }
        Some(verdict)
    }

    fn check(&mut self) {
        self.seen.checks += 1;
        match self.audit() {
            Ok(audit) => {
                self.seen.best = self.seen.best.max(audit.usable);
            }
            Err(broken) => self.seen.broken = self.seen.broken.or(Some((self.now(), broken))),
        }
    }

    pub(super) fn audit(&self) -> Result<Audit, BrokenInvariant> {
        let clocks = (0..self.plan.nodes).map(|node| self.net.sim.clock(node));
        let truths: Vec<_> = clocks
            .map(|clock| move |local: Instant| truth(clock, local))
            .collect();
        let mut witnesses = Vec::new();
        for (node, truth) in (0..).zip(&truths) {
            let witness = |machine: &Machine, key, now| Witness::of(machine, key, now, truth);
            witnesses.extend(self.look(node, witness));
        }
        audit(&witnesses, self.limits_max.0, self.limits_max.1)
    }

    /// How many requests one bucket that saw everything would have refused.
    pub(super) fn over(&self, rate: u64, burst: u64) -> usize {
        let mut passes = self.seen.passes.clone();
        passes.sort_by_key(|(at, _)| *at);
        let token = 1_000_000_000_000_000_000;
        let bucket = OneBucket::of(rate, token, i128::from(burst) * token);
        bucket.violations(passes).count()
    }

    pub(super) fn malformed(&self) -> u64 {
        let malformed = |machine: &Machine, _, _| machine.figures().ignored.malformed;
        let nodes = 0..self.plan.nodes;
        nodes.filter_map(|node| self.look(node, malformed)).sum()
    }
}
