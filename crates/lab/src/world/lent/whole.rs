//! Requests of a trace decided by whole nodes that divide each key's limit: they lend rate, or cut buckets.
//!
//! Not here: what the answers are compared with.

use tollgate_contract::Contracts;
use tollgate_gossip::Key;
use tollgate_limit::Cost;
use tollgate_node::Key as Asked;
use tollgate_sim::Weather;

use super::AFTER_NS;
use crate::nodes::World;
use crate::world::links::links;
use crate::world::meter::{Record, seconds};
use crate::world::outcome::{Outcome, Traffic};
use crate::world::router::Router;
use crate::world::{Cluster, Request};

/// What nodes need to know of each other, besides filling their buckets.
const MEET_NS: u64 = 5_000_000_000;
/// Bytes that each node may have.
const BYTES_MAX: u64 = 1 << 30;

/// Runs a trace; which requests passed. `None` for a bucket that cannot be divided.
pub(super) fn run(
    cluster: &Cluster,
    coordination: &str,
    trace: &[Request],
    seed: u64,
) -> Option<(Outcome, Vec<bool>)> {
    let first = trace.first().map_or(0, |request| request.at.as_nanos());
    let mut world = nodes(cluster, coordination, seed)?;
    let begun = world.sim.now();
    world.sim.links = links(&cluster.faults, seed, begun);
    world.forget_sent();
    let mut run = Run {
        world,
        record: Record::new(trace, cluster.watch.curves),
        begun,
        first,
    };
    let mut router = Router::new(cluster, seed);
    let mut admitted = Vec::with_capacity(trace.len());
    for request in trace {
        run.pass(request.at.as_nanos());
        let node = usize::from(router.meant(request));
        admitted.push(run.ask(node, request));
    }
    let last = trace.last().map_or(0, |request| request.at.as_nanos());
    let ((local, all), quiet_from) = (state(&run.world), run.world.sim.now());
    run.pass(last + AFTER_NS);
    let Run {
        world, mut record, ..
    } = run;
    record.close(&[], world.sent().bytes);
    let outcome = Outcome {
        seed,
        hash: world.hash(),
        traffic: Traffic::of(&world),
        state_bytes: all,
        local_bytes: local,
        quiet_s: Some(seconds(world.last_sent().saturating_sub(quiet_from))),
        curves: record.curves,
        ..Outcome::default()
    };
    Some((outcome, admitted))
}

/// A run under way. Times of its trace count from `first`, those of its nodes from `begun`.
struct Run {
    world: World,
    record: Record,
    begun: u64,
    first: u64,
}

impl Run {
    /// Everything until then, by the trace's time.
    fn pass(&mut self, until: u64) {
        let end = self.begun + until.saturating_sub(self.first);
        while self.world.step(end).is_some() {
            let passed = self.world.sim.now().saturating_sub(self.begun);
            self.note(self.first + passed);
        }
        self.world.sim.pass(end);
        self.note(until);
    }

    fn note(&mut self, now: u64) {
        self.record.pass(now, &[], self.world.sent().bytes);
    }

    fn ask(&mut self, node: usize, request: &Request) -> bool {
        let Key(number) = request.key;
        let user = format!("{number:032x}");
        let cost = Cost::new(request.cost).unwrap_or(Cost::ONE);
        let key = Asked::Entries(&[("user", &user)]);
        self.world.ask(node, key, cost).is_allowed()
    }
}

/// Nodes that know each other, with full buckets.
fn nodes(cluster: &Cluster, coordination: &str, seed: u64) -> Option<World> {
    let bucket = cluster.bucket;
    let (limit, per) = (bucket.refilled(1), bucket.grains(1));
    let burst = bucket.burst();
    let text = format!(
        "contracts: [{{ id: all, key: [user], policies: [{{ name: all, limit: {limit}, per: {per}ns, burst: {burst}, \
         coordination: {coordination} }}] }}]"
    );
    let contracts = Contracts::parse(&text).ok()?;
    tollgate_node::countable(&contracts, false).ok()?;
    let mut world = World::empty(Weather::default(), seed, BYTES_MAX);
    world.contracts = contracts;
    let count = usize::from(cluster.nodes);
    world.divide(count);
    for (node, clock) in (0..).zip(crate::world::sim::clocks(cluster, seed)) {
        world.sim.set_clock(node, clock);
    }
    let fills = u128::from(burst) * per / limit.max(1);
    world.start(count, MEET_NS + 2 * u64::try_from(fills).ok()?);
    Some(world)
}

/// Bytes of state of a node, the mean: what is decided from, and all.
#[allow(clippy::cast_precision_loss, reason = "a figure to read")]
fn state(world: &World) -> (f64, f64) {
    let (mut local, mut extra) = (0, 0);
    for policy in world.nodes.iter().flat_map(|node| node.gossip_status()) {
        local += policy.state_bytes.0;
        extra += policy.state_bytes.1;
    }
    let nodes = world.nodes.len().max(1) as f64;
    (local as f64 / nodes, (local + extra) as f64 / nodes)
}
