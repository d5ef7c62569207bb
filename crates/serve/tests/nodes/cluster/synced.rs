//! Nodes that have the whole bucket each and synchronise now and then: their overshoot is within the reported
//! bound, is counted, and is paid back.

use std::thread;
use std::time::{Duration, Instant};

use tollgate_contract::Coordination;
use tollgate_limit::Span;
use tollgate_serve::modes::{
    self,
    view::{ModePolicyView, ModeView},
};

use crate::cluster::kit::{ClusterFolder, NodeServer, until};

const PER_SECOND: u64 = 500;
const BURST: u64 = 150;
const CONTRACTS: &str = "contracts: [{ id: users, key: [user], policies: [{ name: p, limit: 500, per: 1s, burst: 150, \
     coordination: sync, interval: 200ms }] }]";

fn ground(contracts: &str) -> ClusterFolder {
    let mut ground = ClusterFolder::new();
    contracts.clone_into(&mut ground.contracts);
    ground
}

fn seen(node: &NodeServer) -> ModePolicyView {
    let view = modes::view(node.running.shared(), Coordination::Sync);
    view.policies.into_iter().next().unwrap()
}

/// Asks 1.5 times the limit for that long; how many passed in the time before `then`, and after.
fn load(node: &mut NodeServer, begun: Instant, then: Duration, end: Duration) -> (u64, u64) {
    let (mut before, mut after) = (0, 0);
    let gap = Duration::from_nanos(1_000_000_000 * 2 / (PER_SECOND * 3));
    let mut due = begun;
    while begun.elapsed() < end {
        let passes = u64::from(node.passes("ada"));
        if begun.elapsed() < then {
            before += passes;
        } else {
            after += passes;
        }
        due += gap;
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    (before, after)
}

#[test]
fn what_is_admitted_too_much_is_within_the_bound_is_told_and_is_paid_back() {
    let mut ground = ground(CONTRACTS);
    // No node is declared dead, so that the centre stays where it is.
    ground.pace.suspect = Span::from_nanos(3_600_000_000_000);
    let mut nodes = ground.nodes(3);
    for node in &nodes {
        until("all live", || seen(node).count("nodes") == 3);
    }
    let (begun, then, end) = (
        Instant::now(),
        Duration::from_secs(3),
        Duration::from_secs(9),
    );
    let passed: Vec<(u64, u64)> = thread::scope(|scope| {
        let asks = nodes
            .iter_mut()
            .map(|node| scope.spawn(move || load(node, begun, then, end)));
        let asks: Vec<_> = asks.collect();
        asks.into_iter().map(|ask| ask.join().unwrap()).collect()
    });
    let before: u64 = passed.iter().map(|(before, _)| before).sum();
    let after: u64 = passed.iter().map(|(_, after)| after).sum();
    until("all is told", || {
        nodes.iter().all(|node| seen(node).count("untold") == 0)
    });
    let all: Vec<ModePolicyView> = nodes.iter().map(seen).collect();
    let bound = all[0].count("over_admission_bound");
    let worst = all.iter().map(|one| one.count("debt_max")).max().unwrap();
    let over: u64 = all.iter().map(|one| one.count("over")).sum();
    println!(
        "{before} in 3 s, {after} in 6 s more; {worst} owed at worst of {bound}, {over} spent while there was nothing"
    );
    // Two nodes, each the burst and what comes back in 200 ms and the round trip.
    assert!((500..=1_500).contains(&bound), "{bound}");
    assert!(worst > 0 && worst <= bound + BURST, "{worst} of {bound}");
    assert!(over >= worst - 1);
    assert!(before <= 3 * PER_SECOND + BURST + bound, "{before}");
    // Whatever was too much at first is paid back: from then on no more than the limit, but for what is owed at either
    // end.
    let percent = after * 100 / (6 * PER_SECOND);
    assert!((85..=112).contains(&percent), "{percent} %");
    let key = "/v1/cluster/sync?contract=users&key=user=ada";
    let centres: Vec<ModePolicyView> = nodes
        .iter_mut()
        .map(|node| {
            let view: ModeView = serde_json::from_str(&node.get(key).1).unwrap();
            view.policies.into_iter().next().unwrap()
        })
        .collect();
    let centre = |one: &ModePolicyView| one.count("key.centre");
    assert!(
        centres
            .iter()
            .all(|one| centre(one) == centre(&centres[0]) && centre(one) > 0)
    );
    let heard: u64 = centres.iter().map(|one| one.count("key.heard")).sum();
    assert_eq!(heard, before + after, "each token was counted once");
    let metrics = nodes[0].get("/metrics").1;
    let bound = "tollgate_sync_over_admission_bound{contract=\"users\",policy=\"p\"}";
    assert!(metrics.contains(bound), "{metrics}");
    assert_eq!(nodes[0].get("/v1/cluster/sync?contract=nobody").0, 404);
}

#[test]
fn a_node_alone_is_a_bucket_in_a_cluster_or_without() {
    let contracts = "contracts: [{ id: users, key: [user], policies: [{ name: p, limit: 50, per: 1h, coordination: sync }] }]";
    let ground = ground(contracts);
    let mut settings = ground.settings("local", &[]);
    settings.cluster = None;
    for mut node in [ground.node("alone", &[]), NodeServer::start(settings)] {
        until("ready", || node.is_ready());
        assert_eq!((0..100).filter(|_| node.passes("ada")).count(), 50);
        let view = modes::view(node.running.shared(), Coordination::Sync);
        assert!(
            view.policies
                .iter()
                .all(|one| one.count("over_admission_bound") == 0)
        );
    }
}
