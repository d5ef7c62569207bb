//! The world at work: brings requests to the nodes in order of time, with everything that is due before.
//!
//! Everything due at or before a request happens first, so that an instant message arrives before the next request even
//! of the same millisecond. Nodes are up for a while before the first request, and know of each other. Not here: how
//! nodes come and go, which `drive` carries out.

use std::collections::BTreeMap;

use tollgate_gossip::{Bucket, ModeKey};
use tollgate_limit::{Cost, Instant, Verdict};
use tollgate_node::{Answer, Key as NodeKey};
use tollgate_sim::SimClock;

use crate::dice::{LabDice, Purpose};
use crate::nodes::{Happened, Net};
use crate::truth::Leaky;
use crate::world::fault::WorldFault;
use crate::world::limit::WorldLimit;
use crate::world::links::{links, nanos};
use crate::world::meter::{SampleRecord, StateSum, seconds};
use crate::world::outcome::{FrameTraffic, KeyProbe, RunOutcome};
use crate::world::owned::{Asked, WorldStore};
use crate::world::player::Player;
use crate::world::router::{Router, hashed};
use crate::world::{Cluster, Request};

/// For so long nodes are up before the first request: all have asked all for what they know.
const WARM_NS: u64 = 2_000_000_000;
/// How long after the last request a world that does not fall quiet is cut off.
const QUIET_NS_MAX: u64 = 300_000_000_000;
/// A node that was woken is not woken again before that, however often it asks.
const WAKE_NS_MIN: u64 = 1_000_000;
/// The most keys that are probed.
const PROBES_MAX: usize = 256;

pub(crate) struct TraceWorld<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) limit: &'a WorldLimit,
    pub(crate) seed: u64,
    pub(crate) net: Net<Player>,
    /// Boots so far; each gets a writer of its own.
    pub(crate) boots: u16,
    pub(crate) detector: LabDice,
    /// Messages that were under way when the first request came.
    under_way: u64,
    /// Requests that waited, and whether they passed.
    decided: BTreeMap<u64, bool>,
    router: Router,
    record: SampleRecord,
}

impl<'a> TraceWorld<'a> {
    /// A world at the time of the first request.
    pub(crate) fn new(
        cluster: &'a Cluster,
        limit: &'a WorldLimit,
        trace: &[Request],
        seed: u64,
    ) -> Self {
        let first = trace.first().map_or(0, |request| request.at.as_nanos());
        let start = first.saturating_sub(WARM_NS);
        let mut net = Net::on(start, links(&cluster.faults, seed, first));
        net.wake_gap = WAKE_NS_MIN;
        net.nodes = (0..cluster.nodes).map(|_| Player::default()).collect();
        if limit.asks.is_some_and(|asks| asks.store.is_some()) {
            net.nodes.push(Player {
                store: Some(WorldStore::default()),
                ..Player::default()
            });
        }
        for (node, clock) in (0..).zip(clocks(cluster, seed)) {
            net.sim.set_clock(node, clock);
        }
        let mut world = Self {
            cluster,
            limit,
            seed,
            net,
            boots: 0,
            detector: LabDice::new(seed, Purpose::Detector),
            under_way: 0,
            decided: BTreeMap::new(),
            router: Router::new(cluster, seed),
            record: SampleRecord::new(trace, cluster.watch.curves),
        };
        world.plan_faults(first);
        world.boot_all();
        if start < first {
            world.run_until(first - 1);
            world.forget_traffic();
        }
        world
    }

    /// Begins to count. What is under way counts as sent.
    fn forget_traffic(&mut self) {
        for player in &mut self.net.nodes {
            (player.received, player.malformed) = (0, 0);
        }
        self.net.forget_sent();
        self.under_way = self.net.sim.flying();
    }

    /// Answers one request, or has it wait, after everything that is due by then; `None` when all nodes are down.
    pub(crate) fn request(&mut self, request: &Request) -> Option<Asked> {
        let at = request.at.as_nanos();
        self.run_until(at);
        self.advance(at);
        let place = usize::from(self.route(request)?);
        let answer = match self.ask_others(place, request) {
            Some(asked) => asked,
            None => Asked::Now(self.ask(place, request.key, request.cost)?.is_allowed()),
        };
        self.net.note(at);
        self.net.note(match answer {
            Asked::Now(is_allowed) => (place as u64) << 1 | u64::from(is_allowed),
            Asked::Later(number) => number,
        });
        self.net.follow_up(place);
        Some(answer)
    }

    /// Asks a node that has others, or a store, decide.
    fn ask_others(&mut self, place: usize, request: &Request) -> Option<Asked> {
        let now = self.net.clock(place);
        let player = self.net.nodes.get_mut(place)?;
        let (owned, whole) = (player.owned.as_mut()?, player.whole.as_ref()?);
        let cost = Cost::new(request.cost).unwrap_or(Cost::MAX);
        let key = NodeKey::Word(hashed(request.key));
        Some(owned.ask(&whole.node, key, cost, now))
    }

    /// Waits until every request is decided whose node is there; those that waited, and whether they passed.
    pub(crate) fn decided(&mut self) -> &BTreeMap<u64, bool> {
        let waits = |player: &Player| {
            let owned = player.owned.as_ref().filter(|_| player.running().is_some());
            owned.is_some_and(|owned| owned.is_waiting())
        };
        while self.net.nodes.iter().any(waits) && self.step(u64::MAX).is_some() {}
        self.collect();
        &self.decided
    }

    /// Takes what nodes have decided.
    pub(crate) fn collect(&mut self) {
        let owned = self.net.nodes.iter_mut();
        for owned in owned.filter_map(|player| player.owned.as_mut()) {
            self.decided.extend(owned.decided.drain(..));
        }
    }

    /// The node that gets a request: the one it is meant for or the next that is up; `None` when all are down.
    fn route(&mut self, request: &Request) -> Option<u16> {
        let first = self.router.meant(request);
        let mut ring = (first..self.cluster.nodes).chain(0..first);
        ring.find(|&node| self.is_up(node))
    }

    pub(crate) fn is_up(&self, node: u16) -> bool {
        let player = self.net.nodes.get(usize::from(node));
        player.is_some_and(|player| player.running().is_some())
    }

    fn ask(&self, place: usize, key: ModeKey, cost: u64) -> Option<Answer> {
        let whole = self.net.nodes.get(place)?.running()?;
        let cost = Cost::new(cost).unwrap_or(Cost::MAX);
        let now = Instant::from_nanos(self.net.clock(place));
        Some(whole.check(NodeKey::Word(hashed(key)), cost, now))
    }

    pub(crate) fn run_until(&mut self, until: u64) {
        while self.step(until).is_some() {}
    }

    /// Does what is due next, at `until` or before; `None` where nothing is.
    fn step(&mut self, until: u64) -> Option<()> {
        let at = self.net.sim.next_at().filter(|at| *at <= until)?;
        self.advance(at);
        if let Some(Happened::Plan(plan)) = self.net.step(until) {
            self.carry_out(plan);
        }
        Some(())
    }

    /// Lets time pass up to `at`, sampling on the way.
    fn advance(&mut self, at: u64) {
        self.record.pass(at, &self.net.nodes, self.net.sent().bytes);
        self.net.sim.pass(at);
    }

    /// Runs on until nothing is left to say; when that was, or `None` if it was cut off.
    pub(crate) fn settle(&mut self) -> Option<f64> {
        let last = self.net.sim.now();
        self.run_until(last);
        let limit = last.saturating_add(QUIET_NS_MAX);
        let mut loud = 0;
        while self.net.sim.flying() > 0 || self.is_loud(&mut loud) {
            self.step(limit)?;
        }
        Some(seconds(self.net.last_sent().saturating_sub(last)))
    }

    /// Whether any node has something left to say; that which had before is asked first.
    fn is_loud(&self, loud: &mut usize) -> bool {
        let count = self.net.nodes.len();
        let is_loud = |place: &usize| {
            let player = self.net.nodes.get(*place);
            player.is_some_and(|player| !player.is_quiet())
        };
        let found = (*loud..count).chain(0..*loud).find(is_loud);
        *loud = found.unwrap_or(0);
        found.is_some()
    }

    /// Asks every running node what is left of each key. `truth` has what everything that was admitted fills.
    pub(crate) fn probe(&mut self, truth: &BTreeMap<ModeKey, Leaky>) -> Vec<KeyProbe> {
        let (bucket, now) = (self.cluster.bucket, self.net.sim.now());
        let mut probes = Vec::new();
        for (&key, level) in truth.iter().take(PROBES_MAX) {
            let places = 0..self.net.nodes.len();
            let answers = places.filter_map(|place| self.ask(place, key, 0));
            let beliefs: Vec<i64> = answers.map(|answer| left(bucket, &answer)).collect();
            probes.push(KeyProbe {
                key,
                truth: level.left(bucket, now),
                least: beliefs.iter().copied().min().unwrap_or(0),
                most: beliefs.iter().copied().max().unwrap_or(0),
            });
        }
        probes
    }

    /// Runs on for as long as the watch says, and reports.
    pub(crate) fn finish(mut self, quiet_s: Option<f64>) -> RunOutcome {
        let traffic = self.traffic();
        self.record.close(&self.net.nodes, self.net.sent().bytes);
        let drain = nanos(self.cluster.watch.drain);
        if drain > 0 {
            let end = self.net.sim.now().saturating_add(drain);
            self.run_until(end);
            self.advance(end);
        }
        let mut left = StateSum::default();
        left.add(&self.net.nodes);
        RunOutcome {
            seed: self.seed,
            hash: self.net.hash(),
            traffic,
            state_bytes: self.record.state.all(),
            local_bytes: self.record.state.local(),
            quiet_s,
            left_bytes: left.bytes(),
            curves: self.record.curves,
            ..RunOutcome::default()
        }
    }

    /// What is under way at the beginning counts as made then.
    fn traffic(&self) -> FrameTraffic {
        let traffic = FrameTraffic::of(&self.net);
        let sum = |pick: fn(&Player) -> u64| self.net.nodes.iter().map(pick).sum();
        FrameTraffic {
            received: sum(|player| player.received),
            copies: traffic.copies + self.under_way,
            malformed: sum(|player| player.malformed),
            ..traffic
        }
    }
}

pub(crate) fn clocks(cluster: &Cluster, seed: u64) -> Vec<SimClock> {
    let mut dice = LabDice::new(seed, Purpose::Clocks);
    let mut offsets = vec![0_i64; usize::from(cluster.nodes)];
    for fault in &cluster.faults {
        let WorldFault::Skew(most) = fault else {
            continue;
        };
        let most = i64::try_from(most.as_nanos()).unwrap_or(i64::MAX / 4);
        let most = most.min(i64::MAX / 4);
        for offset in &mut offsets {
            let ahead = dice.below(most.unsigned_abs().saturating_mul(2).saturating_add(1));
            *offset = offset.saturating_add(ahead.cast_signed().saturating_sub(most));
        }
    }
    offsets.into_iter().map(SimClock::ahead).collect()
}

/// Whole tokens left, as far as an answer to a peek tells.
fn left(bucket: Bucket, answer: &Answer) -> i64 {
    match answer.verdict {
        Verdict::Deny { retry_after } => {
            let short = retry_after.as_nanos().saturating_mul(bucket.refilled(1));
            let debt = short.saturating_sub(bucket.grains(1));
            i64::try_from(debt.div_ceil(bucket.grains(1))).map_or(i64::MIN, |debt| -debt)
        }
        _ => i64::try_from(answer.remaining).unwrap_or(i64::MAX),
    }
}
