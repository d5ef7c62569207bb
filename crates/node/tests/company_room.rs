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

use tollgate_node::{Key, RefusedBy, Scope, shared_key};
use world::{NodeWorld, SECOND, contracts};

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

/// Users whose keys are in one shard, or in any other.
fn users(world: &NodeWorld, is_first: bool) -> impl Iterator<Item = String> {
    let node = world.nodes[0].node.clone();
    (0..).map(|user| format!("u{user}")).filter(move |user| {
        let entries = [("user", user.as_str())];
        let within = node.within(Scope::All).unwrap();
        let spot = within.spots(Key::Entries(&entries))[0];
        shared_key(spot.print).0.is_multiple_of(8) == is_first
    })
}

fn use_up(world: &mut NodeWorld, users: &[String]) {
    for user in users {
        assert!(world.check(0, user, 3).is_allowed());
    }
    world.run(SECOND);
}

/// Of users whose buckets were used up, those that are refused.
fn refused(world: &mut NodeWorld, node: usize, users: &[String]) -> usize {
    let all = users.iter();
    all.filter(|user| !world.check(node, user, 1).is_allowed())
        .count()
}

const HOURLY: &str = "contracts: [{ id: a, key: [user], coordination: gossip, policies: [{ name: p, limit: 3, per: 1h }] }]";

#[test]
fn keys_made_to_collide_in_a_shard_take_no_room_of_the_others() {
    let mut world = world::small(2, HOURLY, 1 << 20);
    let others: Vec<String> = users(&world, false).take(100).collect();
    use_up(&mut world, &others);
    let flood: Vec<String> = users(&world, true).take(20_000).collect();
    for (number, user) in flood.iter().enumerate() {
        let _ = world.check(0, user, 1);
        if number % 100 == 0 {
            world.run(SECOND / 20);
        }
    }
    world.run(SECOND);
    assert_eq!(refused(&mut world, 0, &others), 100);
    let status = world.nodes[0].company_status();
    assert!(status.bytes <= status.bytes_max + (64 << 10), "{status:?}");
    let new = users(&world, true).nth(30_000).unwrap();
    assert!(world.check(0, &new, 3).is_allowed());
    assert!(!world.check(0, &new, 1).is_allowed());
}

#[test]
fn a_tenant_with_half_of_all_keys_takes_no_room_of_another() {
    let text = "contracts: [{ id: a, key: [tenant], coordination: gossip, policies: [{ name: p, limit: 3, per: 1h }] }, \
                { id: b, key: [user], coordination: gossip, policies: [{ name: p, limit: 3, per: 1h }] }]";
    let mut world = world::small(2, text, 1 << 20);
    let quiet: Vec<String> = (0..300).map(|user| format!("quiet{user}")).collect();
    use_up(&mut world, &quiet);
    for key in 0..20_000 {
        let name = format!("t{key}");
        let entries = [("tenant", name.as_str())];
        let _ = world.ask(0, Key::Entries(&entries), tollgate_limit::Cost::ONE);
        if key % 100 == 0 {
            world.run(SECOND / 20);
        }
    }
    assert_eq!(refused(&mut world, 0, &quiet), 300);
    let status = world.nodes[0].gossip_status();
    assert!(status[0].evicted_refused.0 > 1_000);
    assert_eq!(status[1].evicted_refused.0, 0);
}

#[test]
fn a_node_with_a_tenth_of_the_memory_costs_the_others_nothing() {
    let mut world = world::small(2, HOURLY, 10 << 20);
    world.set_bytes(1 << 20);
    let small = world.join("small");
    world.run(3 * SECOND);
    let used: Vec<String> = (0..100).map(|user| format!("used{user}")).collect();
    use_up(&mut world, &used);
    for key in 0..20_000 {
        let _ = world.check(key % 3, &format!("k{key}"), 1);
        if key % 100 == 0 {
            world.run(SECOND / 20);
        }
    }
    world.run(SECOND);
    for node in [0, 1] {
        assert_eq!(refused(&mut world, node, &used), 100);
        assert_eq!(world.nodes[node].gossip_status()[0].evicted_refused, (0, 0));
    }
    let status = world.nodes[small].company_status();
    assert!(status.bytes <= status.bytes_max + (64 << 10), "{status:?}");
    assert!(world.check(small, "new", 3).is_allowed());
    assert!(!world.check(small, "new", 1).is_allowed());
}

#[test]
fn contracts_that_are_loaded_during_a_flood_give_no_key_a_second_bucket() {
    let mut world = world::small(2, HOURLY, 1 << 20);
    let used: Vec<String> = (0..50).map(|user| format!("used{user}")).collect();
    use_up(&mut world, &used);
    for key in 0..10_000 {
        let _ = world.check(0, &format!("k{key}"), 1);
        if key % 100 == 0 {
            world.run(SECOND / 20);
        }
        if key % 500 == 0 {
            let mode = if key % 1_000 == 0 {
                "enforce"
            } else {
                "shadow"
            };
            let text = HOURLY.replace("per: 1h", &format!("per: 1h, mode: {mode}"));
            world.reload(contracts(&text));
        }
    }
    world.reload(contracts(HOURLY));
    assert!(refused(&mut world, 0, &used) >= 45);
    let new: Vec<bool> = (0..4)
        .map(|_| world.check(0, "new", 1).is_allowed())
        .collect();
    assert_eq!(new, [true, true, true, false]);
}
