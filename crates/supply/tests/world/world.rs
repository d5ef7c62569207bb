//! A small world for machines: drifting clocks, lossy links, crashes and cuts, and a ghost that judges what was admitted.
//!
//! Whatever a seed says happens happens again. The ghost shares no code with what it judges. Not here: which faults come when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tollgate_gossip::{Key, NodeId, Send, Verdict};
use tollgate_kit::Dice;
use tollgate_limit::{Instant, Span};
use tollgate_supply::{
    AUTHORITY, Audit, Authority, Begin, Boot, Broken, Kept, Limits, Machine, Setup, Shares,
    SupplyConfig, Witness, audit,
};

pub const KEY: Key = Key(42);
pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000 * MS;

/// A clock that runs wrong.
#[derive(Clone, Copy)]
pub struct Clock {
    pub base: u64,
    pub ppm: i64,
}

impl Clock {
    pub fn local(&self, truth: u64) -> Instant {
        let scaled = i128::from(truth) * i128::from(1_000_000 + self.ppm) / 1_000_000;
        Instant::from_nanos(self.base + scaled as u64)
    }

    /// The true time in thousandths of nanoseconds.
    pub fn truth(&self, local: Instant) -> i128 {
        let scaled = i128::from(local.as_nanos()) - i128::from(self.base);
        scaled * 1_000_000_000 / i128::from(1_000_000 + self.ppm)
    }

    /// The first true nanosecond at which the clock shows at least that.
    pub fn when(&self, local: Instant) -> u64 {
        let scaled = u128::from(local.as_nanos().saturating_sub(self.base)) * 1_000_000;
        scaled.div_ceil((1_000_000 + self.ppm) as u128) as u64
    }
}

pub struct Node {
    pub machine: Option<Machine>,
    pub clock: Clock,
    pub boot: u64,
    pub kept: Option<Kept>,
    /// Requests per second offered here.
    pub demand: u64,
    /// Which side of a cut it is on.
    pub side: u8,
    armed: u64,
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

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Frame { from: u16, to: u16, frame: Vec<u8> },
    Wake { node: u16 },
    Request { node: u16, stream: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    pub at: u64,
    pub cost: u64,
}

pub struct World {
    pub plan: Plan,
    pub now: u64,
    pub dice: Dice,
    pub nodes: Vec<Node>,
    pub authority: Option<Authority>,
    /// When it wants to be woken.
    authority_at: u64,
    pub shares: Shares,
    pub limits: Limits,
    /// The largest limits that may be in force, for the audit.
    pub limits_max: (u64, u64),
    pub links: Links,
    pub seen: Seen,
    queue: BinaryHeap<Reverse<(u64, u64, What)>>,
    count: u64,
    streams: u64,
}

/// What happens to frames.
pub struct Links {
    /// In a hundred.
    pub loss: u64,
    pub double: u64,
    /// At least and at most.
    pub delay: (u64, u64),
}

impl Default for Links {
    fn default() -> Self {
        Self {
            loss: 0,
            double: 0,
            delay: (MS / 4, MS / 2),
        }
    }
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
                    base: dice.between(1, 1 << 50),
                    ppm: dice.between(0, 2 * plan.drift_ppm as u64) as i64 - plan.drift_ppm,
                },
                boot: 0,
                kept: None,
                demand: 0,
                side: 0,
                armed: u64::MAX,
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
        let mut world = Self {
            now: 0,
            dice,
            nodes,
            authority,
            authority_at: u64::MAX,
            shares,
            limits,
            limits_max: (limits.rate(), limits.burst()),
            links: Links::default(),
            seen: Seen::default(),
            queue: BinaryHeap::new(),
            count: 0,
            streams: 0,
            plan,
        };
        for node in 0..world.plan.nodes {
            world.boot(node, Begin::Fresh);
        }
        world
    }

    pub fn boot(&mut self, node: u16, begin: Begin) {
        let alive = (0..self.plan.nodes).map(NodeId).collect();
        let now = self.now;
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
            start: its.clock.local(now),
            wait_max: self.plan.wait_max,
            leaks: false,
            config: self.plan.config.clone(),
        };
        its.machine = Some(Machine::new(setup).unwrap());
        its.armed = u64::MAX;
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
        let its = &mut self.nodes[usize::from(node)];
        let now = its.clock.local(self.now);
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
            let gap = self.dice.exponential(mean as f64) as u64 + 1;
            self.push(self.now + gap, What::Request { node, stream });
        }
    }

    fn push(&mut self, at: u64, what: What) {
        self.count += 1;
        self.queue.push(Reverse((at, self.count, what)));
    }

    /// Carries out what a machine wants.
    fn drain(&mut self, node: u16) {
        let its = &mut self.nodes[usize::from(node)];
        let Some(machine) = its.machine.as_mut() else {
            return;
        };
        let mut sends = Vec::new();
        while let Some(send) = machine.poll_send() {
            sends.push(send);
        }
        if let Some(kept) = machine.poll_kept() {
            machine.handle_kept(&kept, its.clock.local(self.now));
            its.kept = Some(kept);
        }
        let wake = machine
            .poll_timeout()
            .map(|at| its.clock.when(at).max(self.now));
        if let Some(wake) = wake.filter(|wake| *wake < its.armed) {
            its.armed = wake;
            self.push(wake, What::Wake { node });
        }
        for send in sends {
            self.post(node, &send);
        }
    }

    fn side(&self, node: u16) -> u8 {
        self.nodes
            .get(usize::from(node))
            .map_or(0, |node| node.side)
    }

    fn post(&mut self, from: u16, send: &Send) {
        self.seen.frames += 1;
        let copies = 1 + u64::from(self.dice.chance(self.links.double, 100));
        for _ in 0..copies {
            let delay = self.dice.between(self.links.delay.0, self.links.delay.1);
            if self.dice.chance(self.links.loss, 100) {
                continue;
            }
            let frame = send.frame.to_vec();
            let to = send.to.0;
            self.push(self.now + delay, What::Frame { from, to, frame });
        }
    }

    /// Runs until then.
    pub fn run_until(&mut self, end: u64) {
        while let Some(Reverse((at, _, _))) = self.queue.peek() {
            if *at > end {
                break;
            }
            let Some(Reverse((at, _, what))) = self.queue.pop() else {
                break;
            };
            self.now = at;
            let is_protocol = !matches!(what, What::Request { .. });
            self.happen(what);
            if is_protocol {
                self.check();
            }
        }
        self.now = end;
        self.check();
    }

    fn happen(&mut self, what: What) {
        match what {
            What::Frame { from, to, frame } => {
                if self.side(from) != self.side(to) {
                    return;
                }
                if to == AUTHORITY.0 {
                    self.with_authority(|authority, now| {
                        authority.handle_frame(NodeId(from), &frame, now).unwrap();
                    });
                } else {
                    self.with(to, |machine, now| {
                        machine.handle_frame(NodeId(from), &frame, now).unwrap();
                    });
                }
            }
            What::Wake { node } if node == AUTHORITY.0 => {
                if self.authority_at == self.now {
                    self.authority_at = u64::MAX;
                    self.with_authority(Authority::handle_timeout);
                }
            }
            What::Wake { node } => {
                if self.nodes[usize::from(node)].armed <= self.now {
                    self.nodes[usize::from(node)].armed = u64::MAX;
                    self.with(node, Machine::handle_timeout);
                }
            }
            What::Request { node, stream } => {
                if stream == self.streams {
                    let cost = self.dice.between(1, self.plan.costs_max);
                    self.request(node, cost);
                    self.next_request(node, stream);
                }
            }
        }
    }

    pub fn request(&mut self, node: u16, cost: u64) -> Option<Verdict> {
        self.seen.asked.push(Pass { at: self.now, cost });
        let its = self.nodes[usize::from(node)].clock;
        let verdict = self.with(node, |machine, now| {
            (machine.handle_request(KEY, cost, now), now)
        });
        let (verdict, local) = verdict?;
        match verdict {
            Verdict::Allow { wait, .. } => {
                let at = its.when(local.saturating_add(wait)).max(self.now);
                self.seen.passes.push(Pass { at, cost });
            }
            Verdict::Deny { .. } | Verdict::Never => {}
        }
        Some(verdict)
    }

    /// Does something to the authority. Its clock is right.
    pub fn with_authority(&mut self, act: impl FnOnce(&mut Authority, Instant)) {
        let now = Instant::from_nanos(self.now + 1);
        let Some(authority) = self.authority.as_mut() else {
            return;
        };
        act(authority, now);
        let due = authority.poll_timeout().map(Instant::as_nanos);
        if let Some(due) = due.filter(|due| *due != self.authority_at) {
            self.authority_at = due.max(self.now + 1);
            let node = AUTHORITY.0;
            self.push(self.authority_at, What::Wake { node });
        }
        let Some(authority) = self.authority.as_mut() else {
            return;
        };
        let mut sends = Vec::new();
        while let Some(send) = authority.poll_send() {
            sends.push(send);
        }
        for send in sends {
            self.post(AUTHORITY.0, &send);
        }
    }

    /// The invariants, now.
    fn check(&mut self) {
        self.seen.checks += 1;
        match self.audit() {
            Ok(audit) => {
                self.seen.best = self.seen.best.max(audit.usable);
            }
            Err(broken) => self.seen.broken = self.seen.broken.or(Some((self.now, broken))),
        }
    }

    pub fn audit(&self) -> Result<Audit, Broken> {
        let truths: Vec<_> = self
            .nodes
            .iter()
            .map(|node| {
                let clock = node.clock;
                move |local: Instant| clock.truth(local)
            })
            .collect();
        let machines = self.nodes.iter().zip(&truths);
        let witnesses: Vec<_> = machines
            .filter_map(|(node, truth)| {
                Some(Witness {
                    machine: node.machine.as_ref()?,
                    now: node.clock.local(self.now),
                    truth,
                })
            })
            .collect();
        audit(KEY, &witnesses, self.limits_max.0, self.limits_max.1)
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
