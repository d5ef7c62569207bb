//! What counting together costs: a decision beside one that is made alone, and a newcomer among many hot keys.
//!
//! Long, and only worth something without debug assertions:
//! `cargo test --release -p tollgate-node --test company_scale -- --ignored --nocapture --test-threads 1`

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::cast_possible_truncation,
    dead_code,
    unreachable_pub,
    reason = "a test that measures says what it expects, and prints"
)]

#[path = "company_world/mod.rs"]
mod world;

use std::time::Instant as Clock;

use tollgate_limit::Cost;
use tollgate_node::{Key, Membership, Node, NodeConfig};
use tollgate_table::Seed;
use world::{NodeWorld, SECOND, at, contracts, standing};

const KEYS: u32 = 100_000;

#[test]
#[ignore = "measures; see the top of the file"]
fn a_newcomer_among_many_hot_keys_is_ready_in_five_seconds() {
    let text = "contracts: [{ id: a, key: [user], coordination: gossip, policies: [{ name: p, limit: 40, per: 1h }] }]";
    let mut world = world::small(10, text, 4 << 30);
    let began = Clock::now();
    for key in 0..KEYS {
        let name = format!("k{key}");
        for turn in 0..3 {
            let _ = world.check((key as usize + turn) % 10, &name, 10);
        }
    }
    let filled = began.elapsed();
    let sent = |world: &NodeWorld| -> u64 {
        let all = world.nodes.iter().flat_map(|node| node.gossip_status());
        all.map(|policy| policy.said.bytes).sum()
    };
    let before = sent(&world);
    let newcomer = world.join("newcomer");
    let began = Clock::now();
    let waited = world.run_until(10 * SECOND, |world| world.nodes[newcomer].caught_up());
    let worked = began.elapsed();
    let megabytes = (sent(&world) - before) / 1_000_000;
    let mut worse = 0;
    for key in 0..KEYS {
        let name = format!("k{key}");
        let (here, there) = (
            standing(&world, newcomer, &name),
            standing(&world, 3, &name),
        );
        worse += u32::from(here[0].1[0] > there[0].1[0] + 4);
    }
    let known = world.nodes[newcomer].gossip_status()[0].keys;
    println!(
        "{KEYS} keys filled in {filled:?}; ready after {} ms of its time, {worked:?} of work by all, {megabytes} MB; {known} keys known, {worse} worse",
        waited / 1_000_000
    );
    assert!(waited < 5 * SECOND && worse == 0);
}

#[test]
#[ignore = "measures; see the top of the file"]
fn decisions_beside_those_made_alone() {
    let node = |coordination: &str, keys: &str| {
        let text = format!(
            "contracts: [{{ id: a, key: [{keys}], coordination: {coordination}, policies: [{{ name: p, limit: 1000000000, per: 1s }}] }}]"
        );
        let membership = Membership::alone(
            tollgate_gossip::NodeId(1),
            tollgate_gossip::Writer(1),
            at(SECOND),
        );
        Node::with_company(
            contracts(&text),
            NodeConfig::default(),
            Seed::new([1, 2]),
            membership,
        )
    };
    let rows = [
        ("local", node("local", "user")),
        ("gossip", node("gossip", "user")),
    ];
    for keys in [1_u64, 1_000, 100_000] {
        let mut best = [u128::MAX; 2];
        for round in 0..8_u64 {
            for (best, (_, node)) in best.iter_mut().zip(&rows) {
                let began = Clock::now();
                for turn in 0..100_000_u64 {
                    let now = at((10 + round) * SECOND + turn * 1_000);
                    let answer = node.check(Key::Word(turn * 7919 % keys), Cost::ONE, now);
                    assert!(answer.is_allowed());
                    while node.poll_send().is_some() {}
                }
                *best = (*best).min(began.elapsed().as_nanos() / 100_000);
                node.handle_timeout(at((11 + round) * SECOND));
            }
        }
        let told: Vec<_> = rows
            .iter()
            .zip(best)
            .map(|((name, _), ns)| format!("{name} {ns} ns"))
            .collect();
        println!("{keys} keys: {}", told.join(", "));
    }
}
