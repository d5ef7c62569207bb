//! Keys: a wrong one, one that is replaced while nodes run, and what can be read without any.

use std::time::Duration;

use tollgate_serve::cluster::NodeQuestion;
use tollgate_serve::cluster::keys::KeyRing;
use tollgate_serve::run::{StartError, start};

use crate::cluster::kit::{ClusterFolder, Ears, NodeServer, all_know, until};
use crate::cluster::relay::Relay;

#[test]
fn a_node_with_another_key_is_refused_and_counted() {
    let (ground, other) = (ClusterFolder::new(), ClusterFolder::new());
    let mut nodes = ground.nodes(2);
    let mut stranger = other.node("stranger", &[nodes[0].at()]);
    until("it is counted", || {
        nodes[0].refused("key") + nodes[0].refused("seal") > 0
    });
    until("it serves alone", || stranger.is_ready());
    assert_eq!((stranger.members(), nodes[0].members()), (1, 2));
    assert!(stranger.passes("a") && nodes[0].passes("a"));
}

#[test]
fn a_cluster_without_a_key_does_not_start_and_says_what_to_do() {
    let ground = ClusterFolder::new();
    let mut settings = ground.settings("n", &[]);
    settings.cluster.as_mut().unwrap().key_file = None;
    let error = start(settings).err().unwrap();
    assert!(matches!(error, StartError::Cluster(_)));
    assert!(
        error.to_string().contains("tollgate cluster key new"),
        "{error}"
    );
    let settings = ground.settings("n", &[]);
    std::fs::write(ground.key(), "secret: nonsense\n").unwrap();
    let error = start(settings).err().unwrap();
    assert!(error.to_string().contains("cluster.key"), "{error}");
    assert!(!error.to_string().contains("nonsense"), "{error}");
}

#[test]
fn keys_are_replaced_while_nodes_run() {
    let ground = ClusterFolder::new();
    let mut nodes = ground.nodes(3);
    let handle = |node: &NodeServer| node.running.shared().cluster.get().unwrap().clone();
    let echo = |asked: NodeQuestion| asked.answer(b"here");
    handle(&nodes[2]).set_responder(Box::new(echo));
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    let mut passed = 0;
    for step in 0..3 {
        let (ring, _) = KeyRing::read(&ground.key()).unwrap().rotate().unwrap();
        ring.replace(&ground.key()).unwrap();
        for place in 0..3 {
            nodes[place].running.reload().unwrap();
            // Between two nodes as well as after all of them.
            for node in &mut nodes {
                passed += u32::from(node.passes("a"));
            }
            // Until nothing is under way that was sealed with the keys of before.
            let _ = Ears::new(&nodes);
        }
        let to = handle(&nodes[2]).members().me.unwrap();
        until("streams work", || {
            let asked = handle(&nodes[0]);
            let answer = runtime.block_on(asked.request(to, 1, b"", Duration::from_secs(1)));
            answer.is_ok()
        });
        assert!(nodes.iter().all(|node| node.members() == 3), "step {step}");
    }
    let ears = Ears::new(&nodes);
    while nodes[0].passes("a") {
        passed += 1;
        ears.wait(&nodes);
    }
    assert_eq!(passed, 50);
    // Every node has only the last key now.
    let newcomer = ground.node("newcomer", &[nodes[1].at()]);
    until("it joins", || newcomer.members() == 4);
}

#[test]
fn a_key_file_of_another_cluster_is_refused_on_reload() {
    let (ground, other) = (ClusterFolder::new(), ClusterFolder::new());
    let nodes = ground.nodes(2);
    std::fs::copy(other.key(), ground.key()).unwrap();
    let error = nodes[0].running.reload().unwrap_err();
    assert!(error.contains("never changes"), "{error}");
    let troubles = nodes[0].running.shared().state.troubles();
    assert!(
        troubles
            .iter()
            .any(|trouble| trouble.contains("never changes"))
    );
    all_know(&nodes, 2);
}

#[test]
fn no_key_and_no_name_is_on_the_wire_in_clear() {
    let ground = ClusterFolder::new();
    let mut nodes = Vec::new();
    let mut relays = Vec::new();
    for number in 0..3 {
        let (relay, sockets) = Relay::open();
        let join: Vec<_> = relays
            .first()
            .map(|relay: &Relay| relay.at)
            .into_iter()
            .collect();
        let mut settings = ground.settings(&format!("secret-name-{number}"), &join);
        settings.cluster.as_mut().unwrap().advertise = Some(relay.at);
        let node = NodeServer::start(settings);
        relay.run(sockets, node.at());
        nodes.push(node);
        relays.push(relay);
    }
    all_know(&nodes, 3);
    for turn in 0..100 {
        nodes[turn % 3].passes("user-4711-in-clear");
    }
    let late = ground.node("secret-name-late", &[relays[0].at]);
    until("it joins", || late.members() == 4 && late.is_ready());
    let mut datagrams = 0;
    for relay in &relays {
        let heard = relay.heard.lock().unwrap();
        datagrams += heard.datagrams.len();
        for bytes in heard.datagrams.iter().chain(&heard.pieces) {
            for clear in ["4711", "in-clear", "secret-name", "users"] {
                let is_there = bytes
                    .windows(clear.len())
                    .any(|part| part == clear.as_bytes());
                assert!(!is_there, "{clear} can be read");
            }
        }
    }
    assert!(datagrams > 20, "{datagrams}");
}
