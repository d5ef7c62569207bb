//! Machines at the bound of their bytes: what goes, what stays, and that keys are decided all the same.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    dead_code,
    reason = "a test says what it expects"
)]

#[path = "company_world/mod.rs"]
mod world;

use tollgate_node::RefusedBy;
use world::{NodeWorld, SECOND};

#[test]
fn machines_keep_to_their_part_of_the_bytes() {
    let text = "contracts: [{ id: a, key: [user], coordination: gossip, policies: [{ name: p, limit: 3, per: 1h }] }]";
    let mut world = world::small(2, text, 1 << 20);
    for key in 0..5_000 {
        let _ = world.check(0, &format!("k{key}"), 1);
    }
    for node in &world.nodes {
        let status = node.company_status();
        assert!(status.bytes <= status.bytes_max + (64 << 10), "{status:?}");
        assert!(node.bytes() <= node.bytes_max(), "{} bytes", node.bytes());
    }
    let evicted = world.nodes[0].gossip_status()[0].evicted_refused.0;
    assert!(evicted > 1_000, "{evicted}");
}

#[test]
fn a_flood_at_one_node_leaves_used_up_keys_refused_and_others_decided_at_both() {
    for (policy, what) in [
        ("{ name: p, limit: 3, per: 1h }", "buckets"),
        (
            "{ name: p, limit: 3, per: 1h, algorithm: fixed-window }",
            "windows",
        ),
    ] {
        let text = format!(
            "contracts: [{{ id: a, key: [user], coordination: gossip, policies: [{policy}] }}]"
        );
        let mut world = world::small(2, &text, 1 << 20);
        for node in 0..2 {
            for key in 0..50 {
                assert!(
                    world
                        .check(node, &format!("used{node}-{key}"), 3)
                        .is_allowed()
                );
            }
        }
        world.run(SECOND);
        for key in 0..20_000 {
            let _ = world.check(0, &format!("k{key}"), 1);
            if key % 100 == 0 {
                world.run(SECOND / 20);
            }
        }
        world.run(SECOND);
        for node in 0..2 {
            let status = world.nodes[node].company_status();
            assert!(
                status.bytes <= status.bytes_max + (64 << 10),
                "{what}: {status:?}"
            );
            let kept = (0..50).filter(|key| {
                !world
                    .check(node, &format!("used{node}-{key}"), 1)
                    .is_allowed()
            });
            let kept = kept.count();
            assert!(kept >= 45, "{what}: {kept} of 50 stay refused at {node}");
            let new: Vec<_> = (0..4)
                .map(|_| world.check(node, &format!("new{node}"), 1).is_allowed())
                .collect();
            assert_eq!(
                new,
                [true, true, true, false],
                "{what}: a new key at {node}"
            );
            let policy = &world.nodes[node].gossip_status()[0];
            assert_eq!(
                policy.evicted_refused.1, 0,
                "{what}: nothing was refused for want of room"
            );
            assert!(policy.keys > 50, "{what}: {} keys at {node}", policy.keys);
        }
    }
}

#[test]
fn a_flood_of_used_up_keys_brings_no_durable_key_a_second_bucket() {
    for policy in [
        "{ name: p, limit: 3, per: 1000h, durable: true }",
        "{ name: p, limit: 3, per: 1000h, durable: true, algorithm: fixed-window }",
    ] {
        let text = format!(
            "contracts: [{{ id: a, key: [user], coordination: gossip, policies: [{policy}] }}]"
        );
        let mut world = world::small(2, &text, 1 << 20);
        let tag = world.nodes[0].durable_tags()[0];
        let flush = |world: &NodeWorld| world.nodes[0].take_dirty_of(tag, &mut Vec::new());
        flush(&world);
        for key in 0..50 {
            assert!(world.check(0, &format!("used{key}"), 3).is_allowed());
        }
        world.run(SECOND);
        let mut is_refused = false;
        for key in 0..20_000 {
            let refused_by = world.check(0, &format!("k{key}"), 3).refused_by;
            is_refused |= refused_by == Some(RefusedBy::FullTable);
            if key % 100 == 0 {
                world.run(SECOND / 20);
                flush(&world);
            }
        }
        assert!(is_refused, "{policy}: new keys are denied");
        let passing = (0..50).filter(|key| world.check(0, &format!("used{key}"), 1).is_allowed());
        assert_eq!(passing.count(), 0, "{policy}");
        assert!(!world.nodes[0].forgot_keys(tag));
    }
}
