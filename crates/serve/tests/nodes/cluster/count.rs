//! One limit over all nodes: while they live, when one is killed, leaves, joins or comes back.

use tollgate_limit::Span;

use crate::cluster::kit::{ClusterFolder, Ears, NodeServer, all_know, until};

const LIMIT: u32 = 50;

/// Asks all nodes in turn, no sooner than the last answer is known to all, until every node refuses; returns how
/// many passed.
fn spend(nodes: &mut [NodeServer], user: &str) -> u32 {
    let ears = Ears::new(nodes);
    let (mut passed, mut refused) = (0, 0);
    for turn in 0.. {
        let place = turn % nodes.len();
        if nodes[place].passes(user) {
            passed += 1;
            refused = 0;
        } else {
            refused += 1;
        }
        if refused > 2 * nodes.len() || passed > 20 * LIMIT {
            break;
        }
        ears.wait(nodes);
    }
    passed
}

#[test]
fn five_nodes_let_pass_what_one_would() {
    let ground = ClusterFolder::new();
    let mut nodes = ground.nodes(5);
    for user in ["a", "b"] {
        let passed = spend(&mut nodes, user);
        assert_eq!(passed, LIMIT);
    }
    let view = nodes[0].view();
    assert_eq!(view.peers.len(), 4);
    assert!(view.traffic.bytes_out > 0 && view.traffic.bytes_in > 0);
    assert!(!view.policies.is_empty());
}

#[test]
fn a_node_that_is_killed_takes_with_it_what_it_had_not_told() {
    let ground = ClusterFolder::new();
    let mut nodes = ground.nodes(4);
    let mut passed = 0;
    let ears = Ears::new(&nodes);
    for turn in 0..20 {
        passed += u32::from(nodes[turn % 4].passes("a"));
        ears.wait(&nodes);
    }
    nodes.remove(1).kill();
    passed += spend(&mut nodes, "a");
    // It kept at most its share of the room to itself: a quarter of thirty.
    assert!((LIMIT..=LIMIT + 7).contains(&passed), "{passed}");
    for node in &nodes {
        until("it is gone", || node.members() == 3);
    }
    assert!(nodes.iter_mut().all(|node| !node.passes("a")));
}

#[test]
fn a_node_that_leaves_hands_over_and_is_missed_at_once() {
    let mut ground = ClusterFolder::new();
    // No node is declared dead during this test: only its own goodbye removes it.
    ground.pace.suspect = Span::from_nanos(3_600_000_000_000);
    let mut nodes = ground.nodes(3);
    for _ in 0..30 {
        assert!(nodes[2].passes("a"));
    }
    nodes.remove(2).stop();
    for node in &nodes {
        until("it is missed", || node.members() == 2);
    }
    let passed = spend(&mut nodes, "a");
    assert_eq!(passed, 20);
}

#[test]
fn a_node_that_joins_knows_what_the_others_let_pass_before_it_is_ready() {
    let ground = ClusterFolder::new();
    let mut nodes = ground.nodes(3);
    let users: Vec<String> = (0..200).map(|user| format!("u{user}")).collect();
    for user in &users {
        while nodes[0].passes(user) {}
    }
    let at = nodes[1].at();
    let mut late = ground.node("late", &[at]);
    until("ready", || late.is_ready());
    let passed = users.iter().filter(|user| late.passes(user)).count();
    assert!(passed <= users.len() / 20, "{passed} of {}", users.len());
}

#[test]
fn a_killed_node_comes_back_under_its_old_name() {
    let ground = ClusterFolder::new();
    let mut nodes = ground.nodes(2);
    let data = ground.folder.path().join("data");
    let at = nodes[0].at();
    let mut settings = ground.settings("phoenix", &[at]);
    settings.data_dir = Some(data);
    let mut phoenix = NodeServer::start(settings.clone());
    until("it is there", || {
        nodes.iter().all(|node| node.members() == 3)
    });
    assert!(phoenix.passes("a"));
    let first = phoenix.view().me.unwrap();
    phoenix.kill();
    let phoenix = NodeServer::start(settings);
    until("it is back", || {
        let peers = nodes[0].view().peers;
        let back = peers.iter().find(|peer| peer.name == "phoenix");
        back.is_some_and(|back| back.writer != first.writer)
    });
    let second = phoenix.view().me.unwrap();
    assert_eq!(second.id, first.id);
    assert!(second.generation > first.generation);
    nodes.push(phoenix);
    // No admission is counted twice, and it has received what it needs.
    all_know(&nodes, 3);
    let passed = spend(&mut nodes, "a");
    // What it let pass before it was killed may be known by now or not.
    assert!((LIMIT - 1..=LIMIT).contains(&passed), "{passed}");
}

#[test]
fn a_cluster_of_one_counts_by_itself() {
    let ground = ClusterFolder::new();
    let mut node = ground.node("alone", &[]);
    until("ready", || node.is_ready());
    let passed = (0..100).filter(|_| node.passes("a")).count();
    assert_eq!(passed, 50);
}
