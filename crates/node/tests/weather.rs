//! Whole nodes and many keys in bad weather, and after a partition: what one bucket says of it has arithmetic of its
//! own.
//!
//! Many seeds and 10,000 keys: `tollgate lab run nodes-faults`.

use tollgate_contract::Coordination;
use tollgate_kit::Dice;
use tollgate_lab::nodes::{Conditions, NodeWorld, Storm, contracts};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

#[test]
fn nobody_is_refused_what_one_bucket_has() {
    for seed in 0..4 {
        let seen = Storm::of(Coordination::Gossip, 300, 2).run(seed);
        assert_eq!(seen.falsely, 0, "seed {seed}");
        assert!(seen.admitted > 3_000, "{}", seen.admitted);
        assert!(seen.refused > 1_000, "{}", seen.refused);
    }
}

#[test]
fn divided_limits_never_let_one_too_many_pass() {
    for seed in 0..4 {
        for by in [Coordination::Supply, Coordination::Split] {
            let seen = Storm::of(by, 300, 2).run(seed);
            assert_eq!(seen.over, 0, "{by:?}, seed {seed}");
            assert!(seen.admitted > 1_000, "{by:?}: {}", seen.admitted);
        }
    }
}

#[test]
fn ten_thousand_keys_keep_what_is_promised() {
    let gossip = Storm::of(Coordination::Gossip, 10_000, 10).run(9);
    assert_eq!(gossip.falsely, 0);
    for by in [Coordination::Supply, Coordination::Split] {
        assert_eq!(Storm::of(by, 10_000, 10).run(9).over, 0, "{by:?}");
    }
}

#[test]
fn a_partition_that_heals_refuses_no_key_for_longer_than_a_second() {
    for by in [
        Coordination::Gossip,
        Coordination::Supply,
        Coordination::Split,
        Coordination::Sync,
    ] {
        let seen = Storm::of(by, 300, 2).cut(1);
        assert!(seen.refused > 1_000, "{by:?}: {}", seen.refused);
        assert!(seen.longest <= SECOND, "{by:?}: {seen:?}");
    }
}

/// Of 160 requests in eight seconds after a partition in which both sides spent the limit, those that pass.
fn passes_after_a_partition(repay: &str) -> u64 {
    let mut world = NodeWorld::empty(Conditions::between(MS, MS), 1, 1 << 26);
    world.contracts = contracts(&format!(
        "contracts: [{{ id: a, key: [user], policies: [{{ name: p, limit: 10, per: 1s, coordination: gossip, repay: {repay} }}] }}]"
    ));
    world.start(2, 3 * SECOND);
    world.sim.links.split(vec![0, 1]);
    world.tell();
    let ask = |world: &mut NodeWorld, nodes: &[usize], count: u64| -> u64 {
        let mut passed = 0;
        for _ in 0..count {
            for node in nodes {
                passed += u64::from(world.check(*node, "u", 1).is_allowed());
            }
            world.run(50 * MS);
        }
        passed
    };
    assert!(ask(&mut world, &[0, 1], 200) > 200);
    world.sim.links.heal();
    world.tell();
    world.run(SECOND / 2);
    ask(&mut world, &[0], 160)
}

#[test]
fn after_a_partition_one_bucket_is_repaid_or_all() {
    let [bucket, all] = ["bucket", "all"].map(passes_after_a_partition);
    assert!(bucket >= 65, "{bucket} pass");
    assert!(all <= 10, "{all} pass");
}

#[test]
fn sparse_keys_are_refused_by_no_node_that_divides_their_limit() {
    for by in ["supply", "split"] {
        let mut world = NodeWorld::empty(Conditions::between(MS, MS), 1, 1 << 26);
        world.contracts = contracts(&format!(
            "contracts: [{{ id: a, key: [user], policies: [{{ name: p, limit: 10, per: 1s, coordination: {by} }}] }}]"
        ));
        world.divide(3);
        world.start(3, 30 * SECOND);
        let (mut dice, mut refused) = (Dice::new(3), 0);
        // A thousand keys, each 0.3 times a second.
        for _ in 0..6_000 {
            let (node, user) = (dice.place(3), dice.below(1_000));
            let answer = world.check(node, &format!("u{user}"), 1);
            refused += u32::from(!answer.is_allowed());
            world.run(SECOND / 300);
        }
        assert_eq!(refused, 0, "{by}");
    }
}
