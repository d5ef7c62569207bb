//! A small world for machines: drifting clocks, lossy links, crashes and cuts, and a ghost that judges what was
//! admitted.
//!
//! Whatever a seed says happens happens again. The ghost shares no code with what it judges. Not here: which faults
//! come when.

use std::sync::Arc;

use tollgate_gossip::{Key, NodeId, Send, Verdict};
pub use tollgate_kit::Dice;
use tollgate_limit::{Instant, Span};
use tollgate_sim::{Clock, Event, Links, Sim, Weather};
use tollgate_supply::{
    AUTHORITY, Audit, Authority, Begin, Boot, Broken, Kept, Limits, Machine, Setup, Shares,
    SupplyConfig, Witness, audit,
};

pub const KEY: Key = Key(42);
pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000 * MS;

/// A gap of a stream without memory, around `mean`.
pub fn gap_around(dice: &mut Dice, mean: u64) -> u64 {
    dice.exponential(mean as f64) as u64 + 1
}

/// Links that lose nothing.
const CALM: Weather = Weather::between(MS / 4, MS / 2);

/// What a clock shows.
pub fn local(clock: Clock, now: u64) -> Instant {
    Instant::from_nanos(clock.at(now))
}

/// The true time at which a clock shows that, in thousandths of nanoseconds.
fn truth(clock: Clock, local: Instant) -> i128 {
    let scaled = i128::from(local.as_nanos()) - i128::from(clock.ahead);
    scaled * 1_000_000_000 / i128::from(1_000_000 + clock.drift)
}

pub struct Node {
    pub machine: Option<Machine>,
    pub clock: Clock,
    pub boot: u64,
    pub kept: Option<Kept>,
    /// Requests per second offered here.
    pub demand: u64,
}

pub struct Plan {
    pub seed: u64,
    pub nodes: u16,
    pub limits: Limits,
    pub config: SupplyConfig,
    pub wait_max: Span,
    pub costs_max: u64,
    pub drift_ppm: i64,
}

/// A node is asked, as one of a stream of requests.
pub struct Request {
    node: u16,
    stream: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    pub at: u64,
    pub cost: u64,
}

pub struct World {
    pub plan: Plan,
    pub sim: Sim<Arc<[u8]>, Request, Dice>,
    pub dice: Dice,
    pub nodes: Vec<Node>,
    pub authority: Option<Authority>,
    pub shares: Shares,
    pub limits: Limits,
    /// The largest limits that may be in force, for the audit.
    pub limits_max: (u64, u64),
    pub seen: Seen,
    streams: u64,
}

/// What was seen.
#[derive(Default)]
pub struct Seen {
    pub passes: Vec<Pass>,
    /// Everything that was asked for.
    pub asked: Vec<Pass>,
    pub frames: u64,
    pub checks: u64,
    /// The most that all could use, since that was last set to zero.
    pub best: u64,
    pub broken: Option<(u64, Broken)>,
}

impl World {
    pub fn new(plan: Plan) -> Self {
        let mut dice = Dice::new(plan.seed);
        let ids = (0..plan.nodes).map(NodeId);
        let shares = Shares::equal(1, ids).unwrap();
        let nodes = (0..plan.nodes)
            .map(|_| Node {
                machine: None,
                clock: Clock {
                    ahead: dice.between(1, 1 << 50) as i64,
                    drift: dice.between(0, 2 * plan.drift_ppm as u64) as i64 - plan.drift_ppm,
                },
                boot: 0,
                kept: None,
                demand: 0,
            })
            .collect();
        let authority = plan.config.lease.map(|_| {
            Authority::new(
                plan.limits,
                &shares,
                plan.config.clone(),
                plan.wait_max,
                Instant::from_nanos(1),
            )
        });
        let limits = plan.limits;
        let mut links = Links::new(
            CALM,
            [1, 2, 3].map(|stream| Dice::new(plan.seed ^ stream << 60)),
        );
        links.cuts_arrivals = true;
        let mut world = Self {
            sim: Sim::new(0, links),
            dice,
            nodes,
            authority,
            shares,
            limits,
            limits_max: (limits.rate(), limits.burst()),
            seen: Seen::default(),
            streams: 0,
            plan,
        };
        for node in 0..world.plan.nodes {
            world.boot(node, Begin::Fresh);
        }
        world
    }

    pub fn now(&self) -> u64 {
        self.sim.now()
    }

    pub fn boot(&mut self, node: u16, begin: Begin) {
        let alive = (0..self.plan.nodes).map(NodeId).collect();
        let now = self.now();
        let its = &mut self.nodes[usize::from(node)];
        its.boot += 1;
        let setup = Setup {
            limits: self.limits,
            shares: self.shares.clone(),
            me: NodeId(node),
            boot: Boot(its.boot),
            begin,
            members: alive,
            seed: self.plan.seed ^ (u64::from(node) << 32) ^ its.boot,
            start: local(its.clock, now),
            wait_max: self.plan.wait_max,
            leaks: false,
            config: self.plan.config.clone(),
        };
        its.machine = Some(Machine::new(setup).unwrap());
        self.sim.let_sleep(node);
        self.drain(node);
    }

    pub fn crash(&mut self, node: u16) {
        self.nodes[usize::from(node)].machine = None;
    }

    pub fn restart(&mut self, node: u16, keeps: bool) {
        let kept = self.nodes[usize::from(node)].kept.clone();
        self.boot(node, Begin::Restart(kept.filter(|_| keeps)));
    }

    pub fn is_up(&self, node: u16) -> bool {
        self.nodes[usize::from(node)].machine.is_some()
    }

    /// Does something to a machine that runs.
    pub fn with<T>(
        &mut self,
        node: u16,
        act: impl FnOnce(&mut Machine, Instant) -> T,
    ) -> Option<T> {
        let now = self.now();
        let its = &mut self.nodes[usize::from(node)];
        let now = local(its.clock, now);
        let done = act(its.machine.as_mut()?, now);
        self.drain(node);
        Some(done)
    }

    /// Offers other loads; streams that ran before end.
    pub fn set_demands(&mut self, demands: &[u64]) {
        self.streams += 1;
        for (node, demand) in (0..).zip(demands) {
            self.nodes[usize::from(node)].demand = *demand;
            self.next_request(node, self.streams);
        }
    }

    fn next_request(&mut self, node: u16, stream: u64) {
        let demand = self.nodes[usize::from(node)].demand;
        if let Some(mean) = SECOND.checked_div(demand) {
            let gap = gap_around(&mut self.dice, mean);
            self.sim.plan(self.now() + gap, Request { node, stream });
        }
    }

    /// Carries out what a machine wants.
    fn drain(&mut self, node: u16) {
        let its = &mut self.nodes[usize::from(node)];
        let Some(machine) = its.machine.as_mut() else {
            return;
        };
        let (now, clock) = (self.sim.now(), its.clock);
        if let Some(kept) = machine.poll_kept() {
            machine.handle_kept(&kept, local(clock, now));
            its.kept = Some(kept);
        }
        if let Some(at) = machine.poll_timeout() {
            self.sim.wake_at(node, clock.world(at.as_nanos()));
        }
        while let Some(send) = self.machine(node).and_then(Machine::poll_send) {
            self.post(node, send);
        }
    }

    fn machine(&mut self, node: u16) -> Option<&mut Machine> {
        self.nodes[usize::from(node)].machine.as_mut()
    }

    /// The authority has the address after the nodes.
    fn post(&mut self, from: u16, send: Send) {
        self.seen.frames += 1;
        let to = if send.to == AUTHORITY {
            self.plan.nodes
        } else {
            send.to.0
        };
        self.sim.post(from, to, send.frame);
    }

    /// Puts nodes on two sides of a cut.
    pub fn part(&mut self, dice: &mut Dice) {
        let sides = dice.roll();
        let sides = (0..self.plan.nodes).map(|node| (sides >> node & 1) as u8);
        self.sim.links.split(sides.collect());
    }

    /// From here on up to a fifth is lost and up to a fifth doubled.
    pub fn lose(&mut self, dice: &mut Dice) {
        let weather = &mut self.sim.links.weather;
        weather.loss = dice.below(21) as u32 * 10_000;
        weather.copies = dice.below(21) as u32 * 10_000;
    }

    /// From here on frames take up to so long.
    pub fn slow(&mut self, dice: &mut Dice) {
        let weather = &mut self.sim.links.weather;
        weather.delay_min = 0;
        weather.delay_max = [MS, 20 * MS, 80 * MS][dice.below(3) as usize];
    }

    /// Nothing is cut, lost or late any more.
    pub fn calm(&mut self) {
        self.sim.links.weather = CALM;
        self.sim.links.heal();
    }

    /// Runs until then.
    pub fn run_until(&mut self, end: u64) {
        while let Some(event) = self.sim.next(end) {
            let is_protocol = !matches!(event, Event::Plan(_));
            self.happen(event);
            if is_protocol {
                self.check();
            }
        }
        self.sim.pass(end);
        self.check();
    }

    fn happen(&mut self, event: Event<Arc<[u8]>, Request>) {
        let authority = self.plan.nodes;
        match event {
            Event::Message { from, to, message } if to == authority => {
                self.with_authority(|authority, now| {
                    let read = authority.handle_frame(NodeId(from), &message, now);
                    read.unwrap();
                });
            }
            Event::Message { from, to, message } => {
                let from = if from == authority {
                    AUTHORITY
                } else {
                    NodeId(from)
                };
                self.with(to, |machine, now| {
                    machine.handle_frame(from, &message, now).unwrap();
                });
            }
            Event::Wake { node } if node == authority => {
                self.with_authority(Authority::handle_timeout);
            }
            Event::Wake { node } => {
                self.with(node, Machine::handle_timeout);
            }
            Event::Plan(Request { node, stream }) => {
                if stream == self.streams {
                    let cost = self.dice.between(1, self.plan.costs_max);
                    self.request(node, cost);
                    self.next_request(node, stream);
                }
            }
        }
    }

    pub fn request(&mut self, node: u16, cost: u64) -> Option<Verdict> {
        self.seen.asked.push(Pass {
            at: self.now(),
            cost,
        });
        let its = self.nodes[usize::from(node)].clock;
        let verdict = self.with(node, |machine, now| {
            (machine.handle_request(KEY, cost, now), now)
        });
        let (verdict, local) = verdict?;
        match verdict {
            Verdict::Allow { wait, .. } => {
                let at = its.world(local.saturating_add(wait).as_nanos());
                let at = at.max(self.now());
                self.seen.passes.push(Pass { at, cost });
            }
            Verdict::Deny { .. } | Verdict::Never => {}
        }
        Some(verdict)
    }

    /// Does something to the authority. Its clock is right.
    pub fn with_authority(&mut self, act: impl FnOnce(&mut Authority, Instant)) {
        let now = Instant::from_nanos(self.now() + 1);
        let Some(authority) = self.authority.as_mut() else {
            return;
        };
        act(authority, now);
        if let Some(due) = authority.poll_timeout() {
            let at = due.as_nanos().max(now.as_nanos());
            self.sim.wake_at(self.plan.nodes, at);
        }
        while let Some(send) = self.authority.as_mut().and_then(Authority::poll_send) {
            self.post(self.plan.nodes, send);
        }
    }

    /// The invariants, now.
    fn check(&mut self) {
        self.seen.checks += 1;
        match self.audit() {
            Ok(audit) => {
                self.seen.best = self.seen.best.max(audit.usable);
            }
            Err(broken) => self.seen.broken = self.seen.broken.or(Some((self.sim.now(), broken))),
        }
    }

    pub fn audit(&self) -> Result<Audit, Broken> {
        let truths: Vec<_> = self
            .nodes
            .iter()
            .map(|node| {
                let clock = node.clock;
                move |local: Instant| truth(clock, local)
            })
            .collect();
        let machines = self.nodes.iter().zip(&truths);
        let witnesses: Vec<_> = machines
            .filter_map(|(node, truth)| {
                let now = local(node.clock, self.now());
                Some(Witness::of(node.machine.as_ref()?, KEY, now, truth))
            })
            .collect();
        audit(&witnesses, self.limits_max.0, self.limits_max.1)
    }

    /// What one bucket that saw everything would have refused: how many, and by how many tokens at worst.
    pub fn over(&self, rate: u64, burst: u64) -> (u64, u128) {
        let mut passes = self.seen.passes.clone();
        passes.sort_by_key(|pass| pass.at);
        let full = u128::from(burst) * 1_000_000_000_000_000_000;
        let (mut level, mut last, mut over, mut worst) = (full, 0, 0, 0);
        for Pass { at, cost } in passes {
            level = full.min(level + u128::from(rate) * u128::from(at - last));
            last = at;
            let cost = u128::from(cost) * 1_000_000_000_000_000_000;
            if cost > level {
                over += 1;
                worst = worst.max(cost - level);
            } else {
                level -= cost;
            }
        }
        (over, worst)
    }
}
