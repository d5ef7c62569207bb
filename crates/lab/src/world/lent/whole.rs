//! Requests of a trace decided by whole nodes that divide each key's limit: they lend rate, or cut buckets.
//!
//! Not here: what the answers are compared with.

use tollgate_contract::Contracts;
use tollgate_gossip::ModeKey;
use tollgate_limit::Cost;
use tollgate_node::Key as Asked;
use tollgate_sim::Conditions;

use super::{AFTER_NS, Course};
use crate::nodes::NodeWorld;
use crate::world::links::links;
use crate::world::outcome::RunOutcome;
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
) -> Option<(RunOutcome, Vec<bool>)> {
    let mut world = nodes(cluster, coordination, seed)?;
    let begun = world.sim.now();
    world.sim.links = links(&cluster.faults, seed, begun);
    world.forget_sent();
    let mut course = Course::new(cluster, trace, begun);
    let mut router = Router::new(cluster, seed);
    let mut admitted = Vec::with_capacity(trace.len());
    for request in trace {
        course.pass(&mut world, request.at.as_nanos());
        let node = usize::from(router.meant(request));
        admitted.push(ask(&mut world, node, request));
    }
    let ((local, all), last) = (state(&world), world.sim.now());
    let end = trace.last().map_or(0, |request| request.at.as_nanos());
    course.pass(&mut world, end + AFTER_NS);
    let outcome = RunOutcome {
        state_bytes: all,
        local_bytes: local,
        ..course.outcome(&world, last, seed)
    };
    Some((outcome, admitted))
}

fn ask(world: &mut NodeWorld, node: usize, request: &Request) -> bool {
    let ModeKey(number) = request.key;
    let user = format!("{number:032x}");
    let cost = Cost::new(request.cost).unwrap_or(Cost::ONE);
    let key = Asked::Entries(&[("user", &user)]);
    world.ask(node, key, cost).is_allowed()
}

/// Nodes that know each other, with full buckets.
fn nodes(cluster: &Cluster, coordination: &str, seed: u64) -> Option<NodeWorld> {
    let bucket = cluster.bucket;
    let (limit, per) = (bucket.refilled(1), bucket.grains(1));
    let burst = bucket.burst();
    let text = format!(
        "contracts: [{{ id: all, key: [user], policies: [{{ name: all, limit: {limit}, per: {per}ns, burst: {burst}, \
         coordination: {coordination} }}] }}]"
    );
    let contracts = Contracts::parse(&text).ok()?;
    tollgate_node::countable(&contracts, false).ok()?;
    let mut world = NodeWorld::empty(Conditions::default(), seed, BYTES_MAX);
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
fn state(world: &NodeWorld) -> (f64, f64) {
    let (mut local, mut all) = (0, 0);
    for node in &world.nodes {
        let (own, more) = super::state(node);
        local += own;
        all += own + more;
    }
    let nodes = world.nodes.len().max(1) as f64;
    (local as f64 / nodes, all as f64 / nodes)
}
