//! Two nodes whose ids give them the same number: one takes another, and both count on.

use std::collections::BTreeMap;

use tollgate_cluster::{Cluster, ClusterConfig, FailureTiming};
use tollgate_gossip::NodeId;
use tollgate_limit::Instant;

use crate::cluster::kit::{ClusterFolder, Ears, NodeServer, all_know};

/// Two ids that have the same number to begin with.
fn twins() -> [u128; 2] {
    let mut seen: BTreeMap<NodeId, u128> = BTreeMap::new();
    for id in 1_u128..10_000 {
        let config = ClusterConfig {
            name: String::new(),
            zone: None,
            capacity: 1,
            version: String::new(),
            id,
            generation: 2,
            boot: 1,
            advertise: "127.0.0.1:1".parse().unwrap(),
            seeds: Vec::new(),
            mtu: ClusterConfig::MTU,
            bytes_per_second_max: None,
            seed: 1,
            pace: FailureTiming::LAN,
            missing: Vec::new(),
        };
        let (node, _) = Cluster::new(config, Instant::from_nanos(1)).me();
        if let Some(twin) = seen.insert(node, id) {
            return [twin, id];
        }
    }
    panic!("no two ids have one number");
}

#[test]
fn two_nodes_with_one_number_agree_who_takes_another() {
    let ground = ClusterFolder::new();
    let mut nodes: Vec<NodeServer> = Vec::new();
    for (name, id) in ["one", "other"].into_iter().zip(twins()) {
        let data = ground.folder.path().join(name);
        std::fs::create_dir(&data).unwrap();
        std::fs::write(
            data.join("node.id"),
            format!("id: {id:032x}\ngeneration: 1\n"),
        )
        .unwrap();
        let join: Vec<_> = nodes.first().map(NodeServer::at).into_iter().collect();
        let mut settings = ground.settings(name, &join);
        settings.data_dir = Some(data);
        nodes.push(NodeServer::start(settings));
    }
    all_know(&nodes, 2);
    let numbers = nodes.iter().map(|node| node.view().me.unwrap().node);
    let numbers: Vec<u16> = numbers.collect();
    assert_ne!(numbers[0], numbers[1]);
    assert_eq!(nodes[0].view().peers[0].node, numbers[1]);
    assert_eq!(nodes[1].view().peers[0].node, numbers[0]);
    let ears = Ears::new(&nodes);
    let mut passed = 0;
    for turn in 0..60 {
        passed += u32::from(nodes[turn % 2].passes("a"));
        ears.wait(&nodes);
    }
    assert_eq!(passed, 50);
}
