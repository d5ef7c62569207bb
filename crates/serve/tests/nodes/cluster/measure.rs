//! Figures for the documents: what an idle cluster costs, and how long joining takes. Run by hand, on a quiet machine:
//! `cargo test -p tollgate-serve --test nodes cluster -- --ignored --nocapture`.

use std::time::{Duration, Instant};

use tollgate_cluster::FailureTiming;
use tollgate_limit::Cost;
use tollgate_node::Key;
use tollgate_serve::engine::EngineRequest;

use crate::cluster::kit::{ClusterFolder, NodeServer, until};

/// So many nodes as they would be in earnest.
fn nodes(ground: &ClusterFolder, count: usize) -> Vec<NodeServer> {
    let mut nodes: Vec<NodeServer> = Vec::new();
    for number in 0..count {
        let join: Vec<_> = nodes.first().map(NodeServer::at).into_iter().collect();
        nodes.push(start(ground, number, &join));
    }
    let begun = Instant::now();
    for node in &nodes {
        until("all know all", || node.members() == count);
    }
    println!(
        "{count} nodes know each other after another {:?}",
        begun.elapsed()
    );
    nodes
}

fn start(ground: &ClusterFolder, number: usize, join: &[std::net::SocketAddr]) -> NodeServer {
    let mut settings = ground.settings(&format!("n{number}"), join);
    let cluster = settings.cluster.as_mut().unwrap();
    cluster.pace = FailureTiming::LAN;
    NodeServer::start(settings)
}

#[test]
#[ignore = "measures for half a minute"]
fn an_idle_cluster_of_thirty() {
    let ground = ClusterFolder::new();
    let nodes = nodes(&ground, 30);
    std::thread::sleep(Duration::from_secs(20));
    let rates: Vec<f64> = nodes
        .iter()
        .map(|node| node.view().traffic.bytes_out_per_s)
        .collect();
    let most = rates.iter().copied().fold(0.0, f64::max);
    let mean = rates.iter().sum::<f64>() / 30.0;
    println!("bytes sent a second by an idle node of 30: mean {mean:.0}, most {most:.0}");
    assert!(mean < 3_000.0, "{mean}");
}

#[test]
#[ignore = "measures for half a minute"]
fn a_node_joins_ten_that_know_a_hundred_thousand_keys() {
    let ground = ClusterFolder::new();
    let nodes = nodes(&ground, 10);
    let begun = Instant::now();
    for number in 0..100_000_u32 {
        let engine = &nodes[number as usize % 10].running.shared().engine;
        let user = number.to_string();
        let entries = [("user", &*user)];
        let ask = EngineRequest::new(Key::Entries(&entries), Cost::from_u32(50));
        assert!(engine.turn().check(&ask).unwrap().is_allowed());
        if number % 1_000 == 999 {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    println!("100000 keys used up after {:?}", begun.elapsed());
    until("all know all keys", || {
        nodes.iter().all(|node| {
            let policies = node.view().policies;
            policies[0].keys >= 99_000
        })
    });
    println!("and known by all after {:?}", begun.elapsed());
    let begun = Instant::now();
    let late = start(&ground, 10, &[nodes[3].at()]);
    until("ready", || late.is_ready());
    println!("ready after {:?}", begun.elapsed());
    tell(&late);
    let engine = &late.running.shared().engine;
    let passed = (0..100_000_u32).filter(|number| {
        let user = number.to_string();
        let entries = [("user", &*user)];
        let ask = EngineRequest::new(Key::Entries(&entries), Cost::ONE);
        engine.turn().check(&ask).unwrap().is_allowed()
    });
    let passed = passed.count();
    println!("{passed} of 100000 keys that are used up pass there");
    assert_eq!(passed, 0);
}

/// What a node says that could explain what it does not know.
fn tell(node: &NodeServer) {
    let view = node.view();
    println!(
        "{:?}\n{:?}\n{:?}",
        view.policies, view.traffic, view.refused
    );
    let queued: u64 = view.peers.iter().map(|peer| peer.queued_bytes).sum();
    let dropped: u64 = view.peers.iter().map(|peer| peer.traffic.dropped).sum();
    println!(
        "unsent {}, outbox dropped {}, unknown {}, queued {queued}, dropped {dropped}, {:?}",
        view.unsent, view.gossip_dropped, view.gossip_unknown, view.streams
    );
}
