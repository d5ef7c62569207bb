//! Nodes that count together, with frames carried between them by the test: all or nothing, and through everything a
//! contract can ask.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    dead_code,
    reason = "a test says what it expects"
)]

#[path = "company_world/mod.rs"]
mod world;

use tollgate_limit::{Cost, Verdict};
use tollgate_node::{Key, RefusedBy, Scope};
use world::{NodeWorld, SECOND, bounce, contracts, standing};

const MIXED: &str = "contracts:
  - id: mixed
    key: [user]
    policies:
      - { name: here, limit: 5, per: 1h }
      - { name: shared, limit: 8, per: 1h, coordination: gossip }
  - id: ceiling
    policies:
      - { name: all, limit: 100, per: 1h, coordination: gossip }
";

fn cost(tokens: u32) -> Cost {
    Cost::from_u32(tokens)
}

/// Tokens that all nodes together admit of `asked`, asked one by one in turn.
fn admitted(world: &mut NodeWorld, key: &str, asked: u32) -> u32 {
    let nodes = world.nodes.len();
    (0..asked)
        .filter(|turn| {
            world.run(SECOND / 100);
            world.check(*turn as usize % nodes, key, 1).is_allowed()
        })
        .count() as u32
}

#[test]
fn nodes_admit_the_limit_and_no_more_when_news_is_instant() {
    let text = "contracts: [{ id: a, key: [user], coordination: gossip, policies: [{ name: p, limit: 30, per: 1h }] }]";
    let mut world = world::of(5, text);
    assert_eq!(admitted(&mut world, "ada", 200), 30);
    let refused = world.check(3, "ada", 1);
    let by = RefusedBy::Policy {
        contract: 0,
        policy: 0,
    };
    assert_eq!(refused.refused_by, Some(by));
    assert!(matches!(refused.verdict, Verdict::Deny { .. }));
}

#[test]
fn windows_and_leaking_buckets_are_shared_too() {
    for policy in [
        "{ name: p, limit: 30, per: 1h, algorithm: fixed-window }",
        "{ name: p, limit: 30, per: day, algorithm: fixed-window, time_zone: Europe/Ljubljana }",
        "{ name: p, limit: 30, per: 1h, algorithm: sliding-counters }",
        "{ name: p, limit: 30, per: 1h, algorithm: sliding-weighted }",
        "{ name: p, limit: 30, per: 1h, algorithm: leaky-bucket }",
    ] {
        let text = format!(
            "contracts: [{{ id: a, key: [user], coordination: gossip, policies: [{policy}] }}]"
        );
        let mut world = world::of(4, &text);
        assert_eq!(admitted(&mut world, "ada", 100), 30, "{policy}");
    }
}

#[test]
fn a_leaking_bucket_says_how_long_to_wait_wherever_requests_came() {
    let text = "contracts: [{ id: a, key: [user], coordination: gossip, policies: [{ name: p, limit: 10, per: 1s, algorithm: leaky-bucket }] }]";
    let mut world = world::of(3, text);
    let waits: Vec<_> = (0..4)
        .map(|turn| world.check(turn % 3, "ada", 1).verdict)
        .collect();
    // Nodes that are silent about their shares let a request wait too short, never too long.
    let longest = waits.iter().map(|verdict| verdict.wait().as_nanos()).max();
    assert!(longest.unwrap() <= 300_000_000, "{waits:?}");
    assert!(waits.iter().all(|verdict| verdict.is_allowed()));
}

#[test]
fn a_refusal_anywhere_charges_nothing_anywhere() {
    let mut world = world::of(2, MIXED);
    for _ in 0..5 {
        assert!(world.check(0, "ada", 1).is_allowed());
    }
    // The policy in the cells of node 0 refuses: nothing shared may be charged.
    for _ in 0..20 {
        let refused = world.check(0, "ada", 1);
        let by = RefusedBy::Policy {
            contract: 0,
            policy: 0,
        };
        assert_eq!(refused.refused_by, Some(by));
    }
    let status = standing(&world, 0, "ada");
    assert_eq!(status, [(0, vec![0, 3]), (1, vec![95])]);
    // The shared policy refuses at node 1: neither its cells nor the ceiling may be charged.
    for _ in 0..3 {
        assert!(world.check(1, "ada", 1).is_allowed());
    }
    let before = standing(&world, 1, "ada");
    assert_eq!(before[0], (0, vec![2, 0]));
    for _ in 0..20 {
        let refused = world.check(1, "ada", 1);
        let by = RefusedBy::Policy {
            contract: 0,
            policy: 1,
        };
        assert_eq!(refused.refused_by, Some(by));
        assert_eq!((refused.contract, refused.policy), (Some(0), 1));
    }
    assert_eq!(standing(&world, 1, "ada"), before);
}

#[test]
fn a_shared_policy_in_shadow_mode_counts_and_never_refuses() {
    let text = "contracts:
  - id: a
    key: [user]
    policies:
      - { name: here, limit: 50, per: 1h }
      - { name: watch, limit: 3, per: 1h, coordination: gossip, mode: shadow }
";
    let mut world = world::of(2, text);
    for turn in 0..3 {
        let answer = world.check(turn % 2, "ada", 1);
        assert!(answer.is_allowed() && !answer.shadowed);
    }
    let answer = world.check(0, "ada", 1);
    assert!(answer.is_allowed() && answer.shadowed);
    // What only watches does not say what is left.
    assert_eq!((answer.policy, answer.limit), (0, 50));
    assert_eq!(standing(&world, 0, "ada"), [(0, vec![47, 0])]);
}

#[test]
fn refused_requests_count_where_they_should() {
    let text = "contracts: [{ id: a, key: [user], coordination: gossip, policies: [{ name: p, limit: 3600, burst: 2, per: 1h, count_refused: true, max_debt: 2 }] }]";
    let mut world = world::of(2, text);
    for _ in 0..2 {
        assert!(world.check(0, "ada", 1).is_allowed());
    }
    for _ in 0..5 {
        assert!(!world.check(0, "ada", 1).is_allowed());
    }
    // Two tokens below zero at most: three seconds until one is there.
    let wait = world.check(0, "ada", 1).verdict.retry_after().unwrap();
    assert_eq!(wait.as_nanos(), u128::from(3 * SECOND));
}

#[test]
fn receipts_settle_where_they_were_charged() {
    let mut world = world::of(2, MIXED);
    let answer = world.check(0, "ada", 4);
    assert_eq!(answer.receipt.bookings().len(), 2);
    let now = world.now();
    world.nodes[0].settle(&answer.receipt, cost(1), now);
    assert_eq!(standing(&world, 0, "ada"), [(0, vec![4, 7]), (1, vec![99])]);
    let answer = world.check(0, "ada", 1);
    world.nodes[0].settle(&answer.receipt, cost(3), now);
    assert_eq!(standing(&world, 0, "ada"), [(0, vec![1, 4]), (1, vec![96])]);
    // What was given back stays with the node that gave it; what was charged more is told.
    world.run(20 * SECOND);
    let seen = standing(&world, 1, "ada");
    assert!(seen[0].1[1] <= 4, "{seen:?}");
}

#[test]
fn charges_refunds_peeks_and_resets_reach_every_policy() {
    let mut world = world::of(2, MIXED);
    let (key, now) = ("ada", world.now());
    let entries = [("user", "ada")];
    let key_of = || Key::Entries(&entries);
    assert!(world.nodes[0].charge(key_of(), cost(3), now));
    assert_eq!(standing(&world, 0, key), [(0, vec![2, 5]), (1, vec![97])]);
    world.nodes[0].refund(key_of(), cost(1), now);
    assert_eq!(standing(&world, 0, key), [(0, vec![3, 6]), (1, vec![98])]);
    let peek = world.check(0, "ada", 0);
    assert!(peek.is_allowed());
    assert_eq!(standing(&world, 0, key), [(0, vec![3, 6]), (1, vec![98])]);
    world.nodes[0].reset(key_of());
    assert_eq!(standing(&world, 0, key), [(0, vec![5, 8]), (1, vec![100])]);
    let within = world.nodes[0].within(Scope::All).unwrap();
    let told = within.foresee(key_of(), cost(9), now).each;
    let verdicts: Vec<_> = told.iter().flat_map(|(_, each)| each).collect();
    assert_eq!(verdicts.len(), 3);
    assert_eq!(verdicts[1].verdict, Verdict::Never);
    assert_eq!(verdicts[2].verdict, Verdict::Allow);
}

#[test]
fn a_change_that_leaves_a_policy_alone_keeps_what_is_known() {
    let mut world = world::of(2, MIXED);
    for _ in 0..4 {
        assert!(world.check(0, "ada", 1).is_allowed());
    }
    let other = MIXED.replace("limit: 5,", "limit: 50,");
    let now = world.now();
    let next = world.nodes[0].succeed(contracts(&other), now);
    assert!(std::ptr::eq(world.nodes[0].newest(), &raw const *next));
    world.nodes[0].node = next;
    assert_eq!(
        standing(&world, 0, "ada"),
        [(0, vec![46, 4]), (1, vec![96])]
    );
    // And a policy with other numbers begins anew, as does one that nobody else has.
    let other = other.replace("limit: 8,", "limit: 9,");
    world.nodes[0].node = world.nodes[0].succeed(contracts(&other), now);
    assert_eq!(
        standing(&world, 0, "ada"),
        [(0, vec![46, 9]), (1, vec![96])]
    );
    // From gossip to counting alone, and back.
    let alone = other.replace(", coordination: gossip", "");
    world.nodes[0].node = world.nodes[0].succeed(contracts(&alone), now);
    assert_eq!(standing(&world, 0, "ada")[0], (0, vec![46, 9]));
    assert!(world.check(0, "ada", 1).is_allowed());
    assert_eq!(standing(&world, 0, "ada")[0], (0, vec![45, 8]));
    world.nodes[0].node = world.nodes[0].succeed(contracts(&other), now);
    assert_eq!(standing(&world, 0, "ada")[0], (0, vec![45, 9]));
}

#[test]
fn a_receipt_outlives_a_change_of_contracts() {
    let mut world = world::of(2, MIXED);
    let answer = world.check(0, "ada", 4);
    let other = MIXED.replace("limit: 5,", "limit: 50,");
    let now = world.now();
    world.nodes[0].node = world.nodes[0].succeed(contracts(&other), now);
    assert!(world.nodes[0].knows(&answer.receipt));
    world.nodes[0].settle(&answer.receipt, cost(1), now);
    assert_eq!(
        standing(&world, 0, "ada"),
        [(0, vec![49, 7]), (1, vec![99])]
    );
}

#[test]
fn garbage_is_refused_and_counted() {
    let world = world::of(2, MIXED);
    let node = &world.nodes[0];
    let status = node.gossip_status();
    let (from, now) = (world.nodes[1].id.0, world.now());
    assert!(node.handle_gossip(1, from, b"x", now).is_err());
    for frame in [&b""[..], b"\xff", &[0x11; 40], &[0; 9]] {
        for policy in &status {
            assert!(node.handle_gossip(policy.tag, from, frame, now).is_err());
        }
    }
    assert_eq!(node.company_status().unknown, 1);
    assert!(
        node.gossip_status()
            .iter()
            .all(|policy| policy.malformed == 4)
    );
}

#[test]
fn a_newcomer_knows_what_the_others_know_before_it_is_ready() {
    let text = "contracts: [{ id: a, key: [user], coordination: gossip, policies: [{ name: p, limit: 30, per: 1h }] }]";
    let mut world = world::of(3, text);
    for key in 0..50 {
        assert_eq!(admitted(&mut world, &format!("k{key}"), 40), 30);
    }
    let newcomer = world.join("newcomer");
    assert!(!world.nodes[newcomer].caught_up());
    let waited = world.run_until(10 * SECOND, |world| world.nodes[newcomer].caught_up());
    assert!(waited < 5 * SECOND, "{waited}");
    for key in 0..50 {
        let answer = world.check(newcomer, &format!("k{key}"), 1);
        assert!(!answer.is_allowed(), "{key}");
    }
}

#[test]
fn who_leaves_tells_the_others_everything() {
    let text = "contracts: [{ id: a, key: [user], coordination: gossip, policies: [{ name: p, limit: 30, per: 1h }] }]";
    let mut world = world::of(3, text);
    for key in 0..20 {
        let key = format!("k{key}");
        // Less than its share, so that it would keep silent.
        assert!(world.check(1, &key, 3).is_allowed());
    }
    world.leave(1);
    world.run(2 * SECOND);
    for key in 0..20 {
        let key = format!("k{key}");
        let left = admitted(&mut world, &key, 60);
        assert_eq!(left, 27);
    }
}

#[test]
fn a_restarted_node_gets_back_what_it_had_not_told() {
    let text = "contracts: [{ id: a, key: [user], coordination: gossip, policies: [{ name: p, limit: 30, per: 1h }] }]";
    let mut world = world::of(3, text);
    assert!(world.check(1, "ada", 5).is_allowed());
    world.run(SECOND);
    bounce(&mut world, 1);
    world.run(6 * SECOND);
    assert_eq!(admitted(&mut world, "ada", 90), 25);
}

#[test]
fn whoever_sends_is_woken() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    let text = "contracts: [{ id: a, key: [user], coordination: gossip, policies: [{ name: p, limit: 3, per: 1h }] }]";
    let world = world::of(2, text);
    let woken = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&woken);
    world.nodes[0].set_waker(Arc::new(move || {
        count.fetch_add(1, Relaxed);
    }));
    let _ = world.nodes[0].poll_timeout();
    let entries = [("user", "ada")];
    for _ in 0..3 {
        let _ = world.nodes[0].check(Key::Entries(&entries), Cost::ONE, world.now());
    }
    assert!(woken.load(Relaxed) >= 1);
    assert!(world.nodes[0].poll_send().is_some());
}

#[test]
fn numbers_that_are_taken_are_changed_without_loss() {
    let text = "contracts: [{ id: a, key: [user], coordination: gossip, policies: [{ name: p, limit: 30, per: 1h }] }]";
    let mut world = world::of(3, text);
    assert_eq!(admitted(&mut world, "ada", 20), 20);
    world.run(SECOND);
    world.renumber(1);
    world.run(6 * SECOND);
    assert_eq!(admitted(&mut world, "ada", 90), 10);
}

#[test]
fn threads_reloads_and_frames_get_along() {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
    let text = MIXED
        .replace("limit: 5,", "limit: 100000,")
        .replace("limit: 8,", "limit: 700,")
        .replace("limit: 100,", "limit: 1000,");
    let other = text.replace("limit: 100000,", "limit: 100001,");
    let world = world::of(2, &text);
    let (first, second) = (&world.nodes[0], &world.nodes[1]);
    let (now, ids) = (world.now(), [world.nodes[0].id.0, world.nodes[1].id.0]);
    let stop = AtomicBool::new(false);
    let admitted = [(); 2].map(|()| AtomicU64::new(0));
    std::thread::scope(|scope| {
        let checks: Vec<_> = (0..4)
            .map(|turn| {
                let (node, admitted) = ([first, second][turn % 2], &admitted[turn / 2]);
                scope.spawn(move || {
                    let name = ["ada", "bob"][turn / 2];
                    let entries = [("user", name)];
                    for _ in 0..2_000 {
                        let answer = node.newest().check(Key::Entries(&entries), Cost::ONE, now);
                        admitted.fetch_add(u64::from(answer.is_allowed()), Relaxed);
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !stop.load(Relaxed) {
                for (from, to, node, peer) in [(0, 1, first, second), (1, 0, second, first)] {
                    while let Some(out) = node.poll_send() {
                        assert_eq!(out.to, ids[to]);
                        let _ = peer.handle_gossip(out.tag, ids[from], &out.frame, now);
                    }
                    node.handle_timeout(now);
                    let _ = (node.poll_timeout(), node.gossip_status());
                }
            }
        });
        scope.spawn(|| {
            let mut node = std::sync::Arc::clone(&first.node);
            for turn in 0..20 {
                node = node.succeed(contracts([&other, &text][turn % 2]), now);
            }
        });
        for check in checks {
            check.join().unwrap();
        }
        stop.store(true, Relaxed);
    });
    let [ada, bob] = admitted.map(AtomicU64::into_inner);
    // Nobody is refused before the limit of a key or of all is reached, and each node keeps to both by itself. Between
    // them nothing is sure while they ask at once: one key may use up what all have.
    assert!(ada <= 1_400 && bob <= 1_400, "{ada} {bob}");
    assert!((1_000..=2_000).contains(&(ada + bob)), "{ada} {bob}");
}
