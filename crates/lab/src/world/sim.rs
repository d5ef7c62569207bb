//! The world at work: brings requests, frames, timeouts and faults to the nodes in order of time.
//!
//! Everything due at or before a request happens first, so that an instant message arrives before the next request even
//! of the same millisecond. Not here: single events, which `drive` carries out.

use std::collections::BTreeMap;
use std::sync::Arc;

use tollgate_gossip::{Bucket, Key, NodeId, Verdict};
use tollgate_limit::Instant;
use tollgate_sim::{Clock, Sim};

use crate::dice::{Dice, Purpose};
use crate::truth::Leaky;
use crate::world::fault::Fault;
use crate::world::hash::EventHash;
use crate::world::limit::Limit;
use crate::world::links::{links, nanos};
use crate::world::meter::{Record, Sum, seconds};
use crate::world::node::Node;
use crate::world::outcome::{Outcome, Probe, Traffic};
use crate::world::router::Router;
use crate::world::{Cluster, Request};

/// How long after the last request a world that does not fall quiet is cut off.
const QUIET_NS_MAX: u64 = 300_000_000_000;
/// The most keys that are probed.
const PROBES_MAX: usize = 256;

/// What is planned.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Plan {
    /// The fault of that number begins.
    Begin { fault: u32 },
    /// The node that the fault of that number took comes back.
    Return { fault: u32 },
    /// The failure detector of a node says who is alive.
    Tell { node: u16 },
}

/// A world under way.
pub(crate) struct World<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) limit: Limit<'a>,
    pub(crate) seed: u64,
    pub(crate) sim: Sim<Arc<[u8]>, Plan, Dice>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) hash: EventHash,
    pub(crate) traffic: Traffic,
    /// Boots so far; each gets a writer of its own.
    pub(crate) boots: u16,
    pub(crate) detector: Dice,
    pub(crate) last_sent_at: u64,
    /// Counted only once no more requests come.
    pub(crate) loud: Option<usize>,
    router: Router,
    record: Record,
}

impl<'a> World<'a> {
    /// A world whose nodes have just started, at the time of the first request.
    pub(crate) fn new(
        cluster: &'a Cluster,
        limit: Limit<'a>,
        trace: &[Request],
        seed: u64,
    ) -> Self {
        let start = trace.first().map_or(0, |request| request.at.as_nanos());
        let mut world = Self {
            cluster,
            limit,
            seed,
            sim: Sim::new(start, links(&cluster.faults, seed, start)),
            nodes: (0..cluster.nodes).map(|_| Node::new()).collect(),
            hash: EventHash::new(),
            traffic: Traffic::default(),
            boots: 0,
            detector: Dice::new(seed, Purpose::Detector),
            last_sent_at: 0,
            loud: None,
            router: Router::new(cluster, seed),
            record: Record::new(trace, cluster.watch.curves),
        };
        for (node, clock) in (0..).zip(clocks(cluster, seed)) {
            world.sim.set_clock(node, clock);
        }
        world.plan_faults(start);
        world.boot_all();
        world
    }

    fn plan_faults(&mut self, start: u64) {
        for (number, fault) in (0_u32..).zip(&self.cluster.faults) {
            if let Some(at) = fault.begins() {
                let at = start.saturating_add(nanos(at));
                self.sim.plan(at, Plan::Begin { fault: number });
            }
        }
    }

    fn boot_all(&mut self) {
        let late = |node: u16| {
            let joins =
                |fault: &Fault| matches!(fault, Fault::Join { node: who, .. } if *who == node);
            self.cluster.faults.iter().any(joins)
        };
        let first: Vec<u16> = (0..self.cluster.nodes)
            .filter(|&node| !late(node))
            .collect();
        let members: Vec<NodeId> = first.iter().copied().map(NodeId).collect();
        for node in first {
            self.boot(node, members.clone());
        }
    }

    /// Answers one request, after everything that is due by then; `None` when all nodes are down.
    pub(crate) fn request(&mut self, request: &Request) -> Option<bool> {
        let at = request.at.as_nanos();
        self.run_until(at);
        self.advance(at);
        let node = self.route(request)?;
        self.decide(node, request)
    }

    /// The node that gets a request: the one it is meant for or the next that is up; `None` when all are down.
    fn route(&mut self, request: &Request) -> Option<u16> {
        let first = self.router.meant(request);
        let ring = (first..self.cluster.nodes).chain(0..first);
        let is_up = |node: &u16| {
            self.nodes
                .get(usize::from(*node))
                .is_some_and(|it| it.is_up)
        };
        ring.into_iter().find(is_up)
    }

    /// Does everything due at `until` or before.
    pub(crate) fn run_until(&mut self, until: u64) {
        while let Some(event) = self.sim.next(until) {
            self.advance(self.sim.now());
            self.happen(event);
        }
    }

    /// Lets time pass up to `at`, sampling on the way.
    fn advance(&mut self, at: u64) {
        self.record.pass(at, &self.nodes, self.traffic.bytes);
        self.sim.pass(at);
    }

    /// Runs on until nothing is left to say; when that was, or `None` if it was cut off.
    pub(crate) fn settle(&mut self) -> Option<f64> {
        let last = self.sim.now();
        self.run_until(last);
        self.count_loud();
        let limit = last.saturating_add(QUIET_NS_MAX);
        while self.loud != Some(0) || self.sim.flying() > 0 {
            let event = self.sim.next(limit)?;
            self.advance(self.sim.now());
            self.happen(event);
        }
        Some(seconds(self.last_sent_at.saturating_sub(last)))
    }

    fn count_loud(&mut self) {
        let mut loud = 0;
        for node in &mut self.nodes {
            let is_quiet = node.running().is_none_or(|replica| replica.is_quiet());
            node.is_quiet = is_quiet;
            loud += usize::from(!is_quiet);
        }
        self.loud = Some(loud);
    }

    /// Asks every running node what is left of each key. `truth` has what everything that was admitted fills.
    pub(crate) fn probe(&mut self, truth: &BTreeMap<Key, Leaky>) -> Vec<Probe> {
        let (bucket, now) = (self.cluster.bucket, self.sim.now());
        let mut probes = Vec::new();
        for (&key, level) in truth.iter().take(PROBES_MAX) {
            let mut beliefs = Vec::new();
            for (number, node) in (0..).zip(&mut self.nodes) {
                let clock = Instant::from_nanos(self.sim.local(number));
                if let Some(replica) = node.running() {
                    let verdict = replica.handle_request(key, 0, clock);
                    beliefs.push(left(bucket, verdict));
                }
            }
            probes.push(Probe {
                key,
                truth: level.left(bucket, now),
                least: beliefs.iter().copied().min().unwrap_or(0),
                most: beliefs.iter().copied().max().unwrap_or(0),
            });
        }
        probes
    }

    /// Runs on for as long as the watch says, and reports.
    pub(crate) fn finish(mut self, quiet_s: Option<f64>) -> Outcome {
        let busiest = |pick: &dyn Fn(&Node) -> u64| self.nodes.iter().map(pick).max().unwrap_or(0);
        let traffic = Traffic {
            busiest_bytes: busiest(&|node| node.sent_bytes + node.received_bytes),
            busiest_sent_bytes: busiest(&|node| node.sent_bytes),
            ..self.traffic
        };
        self.record.close(&self.nodes, self.traffic.bytes);
        let drain = nanos(self.cluster.watch.drain);
        if drain > 0 {
            let end = self.sim.now().saturating_add(drain);
            self.run_until(end);
            self.advance(end);
        }
        let mut left = Sum::default();
        left.add(&self.nodes);
        Outcome {
            seed: self.seed,
            hash: self.hash.value(),
            traffic,
            state_bytes: self.record.state.all(),
            local_bytes: self.record.state.local(),
            quiet_s,
            left_bytes: left.bytes(),
            curves: self.record.curves,
            ..Outcome::default()
        }
    }
}

/// The clock of each node.
pub(crate) fn clocks(cluster: &Cluster, seed: u64) -> Vec<Clock> {
    let mut dice = Dice::new(seed, Purpose::Clocks);
    let mut offsets = vec![0_i64; usize::from(cluster.nodes)];
    for fault in &cluster.faults {
        let Fault::Skew(most) = fault else {
            continue;
        };
        let most = i64::try_from(most.as_nanos()).unwrap_or(i64::MAX / 4);
        let most = most.min(i64::MAX / 4);
        for offset in &mut offsets {
            let ahead = dice.below(most.unsigned_abs().saturating_mul(2).saturating_add(1));
            *offset = offset.saturating_add(ahead.cast_signed().saturating_sub(most));
        }
    }
    offsets.into_iter().map(Clock::ahead).collect()
}

/// Whole tokens left, as far as an answer to a peek tells.
fn left(bucket: Bucket, verdict: Verdict) -> i64 {
    match verdict {
        Verdict::Allow { remaining, .. } => i64::try_from(remaining).unwrap_or(i64::MAX),
        Verdict::Deny { retry_after } => {
            let short = retry_after.as_nanos().saturating_mul(bucket.refilled(1));
            let debt = short.saturating_sub(bucket.grains(1));
            i64::try_from(debt.div_ceil(bucket.grains(1))).map_or(i64::MIN, |debt| -debt)
        }
        Verdict::Never => 0,
    }
}
