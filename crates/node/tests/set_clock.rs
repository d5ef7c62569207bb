//! A clock that is set: what a key has used up stays used up, ahead and back, and nobody is locked out by a time to
//! come.

#![allow(clippy::expect_used, reason = "a broken set-up must stop the test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use proptest::prelude::*;
use tollgate_contract::Contracts;
use tollgate_gossip::{NodeId, Writer};
use tollgate_limit::{Algorithm, Cost, Instant, OperationId, Period, PolicyConfig, Span};
use tollgate_node::{
    Adhoc, AdhocAsk, Debit, Gubernator, GubernatorAlgorithm, GubernatorAsk, Key, Lend, Membership,
    Node, NodeConfig, Space, WrittenCell,
};
use tollgate_table::{Budget, Seed};

const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 3_600 * SECOND;
/// Half past ten of some morning.
const NOW: Instant = Instant::from_nanos((20_000 * 24 + 10) * HOUR + HOUR / 2);
const DAYS_40: u64 = 40 * 24 * HOUR;

const POLICIES: [&str; 7] = [
    "{ name: p, limit: 10, per: 1h }",
    "{ name: p, limit: 10, per: 1h, algorithm: leaky-bucket }",
    "{ name: p, limit: 10, per: 1h, algorithm: fixed-window }",
    "{ name: p, limit: 10, per: day, algorithm: fixed-window }",
    "{ name: p, limit: 10, per: 1h, algorithm: sliding-log }",
    "{ name: p, limit: 10, per: 1h, algorithm: sliding-counters, slices: 60 }",
    "{ name: p, limit: 10, per: 1h, algorithm: sliding-weighted }",
];

fn node(policy: &str) -> Node {
    let text = format!("contracts: [{{ id: users, key: [user], policies: [{policy}] }}]");
    let contracts = Contracts::parse(&text).expect("a good file");
    let config = NodeConfig {
        bytes_max: 1 << 20,
        ..NodeConfig::default()
    };
    Node::new(contracts, config, Seed::new([1, 2]))
}

/// The same counted with other nodes: gossip of buckets, windows, the older scheme, and what is lent.
const TOGETHER: [&str; 6] = [
    "coordination: gossip, policies: [{ name: p, limit: 10, per: 1h }]",
    "coordination: gossip, policies: [{ name: p, limit: 10, per: 1h, algorithm: fixed-window }]",
    "coordination: gossip, policies: [{ name: p, limit: 10, per: 1h, algorithm: sliding-weighted }]",
    "coordination: sync, policies: [{ name: p, limit: 10, per: 1h }]",
    "coordination: lease, policies: [{ name: p, limit: 10, per: 1h, algorithm: fixed-window, recovery: fresh }]",
    "coordination: lease, policies: [{ name: p, limit: 10, per: 1h, recovery: fresh }]",
];

/// One of two nodes, long after its start by a steady clock that then stands still.
fn one_of_two(rest: &str) -> Node {
    let steady = Arc::new(AtomicU64::new(HOUR));
    let read = Arc::clone(&steady);
    let text = format!("contracts: [{{ id: users, key: [user], {rest} }}]");
    let contracts = Contracts::parse(&text).unwrap_or_else(|errors| panic!("{errors}"));
    let membership = Membership {
        members: vec![NodeId(1), NodeId(2)],
        lend: Some(Lend {
            generation: 1,
            has_successors: !rest.contains("lease,"),
            steady: Some(Arc::new(move || Instant::from_nanos(read.load(Relaxed)))),
            day: None,
            journal: None,
            quota: None,
            holder: None,
            is_first: Arc::default(),
        }),
        ..Membership::alone(NodeId(1), Writer(1), NOW)
    };
    let node = Node::with_company(
        contracts,
        NodeConfig::default(),
        Seed::new([1, 2]),
        membership,
    );
    steady.store(2 * HOUR, Relaxed);
    node
}

#[test]
fn what_is_counted_with_other_nodes_stays_used_up_as_well() {
    for rest in TOGETHER {
        for by in [2 * SECOND, DAYS_40] {
            let node = one_of_two(rest);
            assert!(take(&node, 10, NOW), "{rest}");
            let (ahead, begun) = (later(NOW, by), later(NOW, SECOND));
            node.move_time(NOW, ahead);
            // Whoever read the clock before it was set.
            assert!(!take(&node, 1, NOW), "{rest}");
            assert_eq!(left(&node, ahead), 0, "{rest}");
            node.handle_timeout(later(ahead, SECOND));
            assert!(!take(&node, 1, later(ahead, SECOND)), "{rest}");
            // The clock is set back, and the node is told a little later.
            assert!(!take(&node, 1, begun), "{rest}");
            node.move_time(later(ahead, SECOND), begun);
            assert_eq!(left(&node, begun), 0, "{rest}");
            // It writes under another number from here on.
            let others = Membership {
                members: vec![NodeId(1), NodeId(2)],
                ..Membership::alone(NodeId(1), Writer(2), begun)
            };
            node.renumber(others, begun);
            assert_eq!(left(&node, begun), 0, "{rest}");
            assert!(!take(&node, 1, later(begun, SECOND)), "{rest}");
            let soon = node
                .poll_timeout()
                .is_none_or(|due| due < later(begun, 2 * HOUR));
            assert!(soon, "timers go on: {rest}");
            let over = later(begun, 3 * HOUR);
            node.handle_timeout(over);
            // What is lent by a bucket comes back by the steady clock, which stands still.
            let stands = rest.contains("lease,") && !rest.contains("window");
            assert_eq!(left(&node, over), if stands { 0 } else { 10 }, "{rest}");
        }
    }
}

fn take(node: &Node, cost: u32, now: Instant) -> bool {
    node.check(Key::from("ann"), Cost::from_u32(cost), now)
        .is_allowed()
}

fn left(node: &Node, now: Instant) -> u64 {
    let status = node.status(Key::from("ann"), now);
    status
        .first()
        .expect("a contract")
        .1
        .first()
        .expect("a policy")
        .remaining
}

fn later(now: Instant, nanos: u64) -> Instant {
    Instant::from_nanos(now.as_nanos() + nanos)
}

#[test]
fn a_limit_that_is_used_up_stays_so_when_the_clock_is_set_and_comes_back_in_time() {
    for policy in POLICIES {
        let node = node(policy);
        assert!(take(&node, 10, NOW), "{policy}");
        let ahead = later(NOW, DAYS_40);
        node.move_time(NOW, ahead);
        assert_eq!(left(&node, ahead), 0, "{policy}");
        assert!(!take(&node, 1, later(ahead, SECOND)), "{policy}");
        // And back, which locks nobody out.
        let (ahead, now) = (later(ahead, SECOND), later(NOW, SECOND));
        node.move_time(ahead, now);
        assert_eq!(left(&node, now), 0, "{policy}");
        assert!(!take(&node, 1, later(now, SECOND)), "{policy}");
        assert_eq!(left(&node, later(now, 48 * HOUR)), 10, "{policy}");
    }
}

#[test]
fn a_key_that_is_charged_as_of_a_time_that_is_over_comes_back_in_time() {
    let node = node(POLICIES[0]);
    let ahead = later(NOW, DAYS_40);
    assert!(take(&node, 4, ahead));
    // The clock is set back, and somebody asks before the key is moved.
    assert!(take(&node, 6, later(NOW, 1)));
    node.move_time(later(ahead, 1), later(NOW, 1));
    assert_eq!(left(&node, later(NOW, 2)), 0);
    assert_eq!(left(&node, later(NOW, HOUR + 1)), 10);
}

#[test]
fn a_new_key_is_not_moved_with_those_before_it() {
    let node = node(POLICIES[0]);
    assert!(take(&node, 10, NOW));
    // Already by the time to which the clock was set back.
    node.move_time(later(NOW, DAYS_40), NOW);
    assert_eq!(left(&node, later(NOW, 1)), 0);
}

#[test]
fn a_row_of_a_time_to_come_neither_locks_out_nor_fills() {
    let text = "{ name: p, limit: 10, per: 1h, durable: true }";
    let (then, now) = (node(text), node(text));
    let ahead = later(NOW, DAYS_40);
    assert!(take(&then, 10, ahead));
    let mut prints = Vec::new();
    then.take_dirty(0, &mut prints);
    let print = *prints.first().expect("a key");
    let (stored, _) = then.read_cell(0, print).expect("a cell");
    now.write_cell(0, print, WrittenCell::new(&stored.bytes, None), NOW)
        .expect("a good row");
    assert_eq!(left(&now, NOW), 0);
    assert_eq!(left(&now, later(NOW, HOUR / 2)), 5);
    assert_eq!(left(&now, later(NOW, HOUR)), 10);
}

#[test]
fn limits_that_requests_bring_along_stay_used_up_too() {
    let budget = Arc::new(Budget::new(1 << 20));
    let seed = Seed::new([1, 2]);
    let adhoc = Adhoc::new(NodeConfig::default(), seed.clone(), &budget);
    let policy = PolicyConfig::new(Algorithm::TokenBucket, 10, Period::Fixed(HOUR));
    let check = |cost: u32, now: Instant| {
        let print = adhoc.print(Space::named("a"), None, "ann".into());
        let (cost, policy) = (Cost::from_u32(cost), &policy);
        let decision = adhoc.check(
            &AdhocAsk {
                print,
                cost,
                policy,
            },
            now,
        );
        decision.expect("room").verdict.is_allowed()
    };
    let gubernator = Gubernator::new(NodeConfig::default(), seed, &budget);
    let ask = |algorithm, now| {
        let ask = GubernatorAsk {
            name: "n",
            key: "ann",
            cost: 10,
            limit: 10,
            duration: 3_600_000,
            burst: 0,
            algorithm,
            is_gregorian: false,
            resets: false,
            drains: false,
            created_at: None,
        };
        !gubernator.check(&ask, now).expect("room").is_over
    };
    let windows = GubernatorAlgorithm::TokenBucket;
    assert!(check(10, NOW) && ask(windows, NOW));
    let ahead = later(NOW, DAYS_40);
    for (from, to) in [(NOW, ahead), (ahead, later(NOW, SECOND))] {
        adhoc.move_time(from, to);
        gubernator.move_time(from, to);
        assert!(!check(1, to) && !ask(windows, to));
    }
    let over = later(NOW, HOUR + 2 * SECOND);
    assert!(check(10, over) && ask(windows, over));
}

#[test]
fn an_id_is_remembered_for_as_long_as_it_was_to_be() {
    let node = node(POLICIES[0]);
    let id = OperationId::new(b"a").expect("a short id");
    let reserve = |now| {
        let ask = Debit {
            key: Key::from("ann"),
            cost: Cost::from_u32(1),
        };
        let done = node
            .whole()
            .reserve(&id, ask, Span::from_nanos(60 * u128::from(SECOND)), now);
        done.expect("room").is_allowed()
    };
    let ahead = later(NOW, DAYS_40);
    assert!(reserve(ahead));
    node.move_time(ahead, NOW);
    assert!(reserve(later(NOW, SECOND)));
    assert_eq!(
        left(&node, later(NOW, SECOND)),
        9,
        "the same id, the same answer"
    );
    assert!(reserve(later(NOW, 61 * SECOND)));
    assert_eq!(
        left(&node, later(NOW, 61 * SECOND)),
        8,
        "it was forgotten in time"
    );
}

proptest! {
    #[test]
    fn nothing_is_regained_however_often_and_far_the_clock_is_set(
        policy in 0..POLICIES.len(),
        steps in prop::collection::vec((0_u32..6, 0_u64..600, -400_i64..400), 1..12),
    ) {
        let node = node(POLICIES[policy]);
        let mut now = NOW;
        for (cost, seconds, hours) in steps {
            take(&node, cost, now);
            now = later(now, seconds * SECOND);
            let before = left(&node, now);
            let to = Instant::from_nanos(now.as_nanos().saturating_add_signed(hours * HOUR.cast_signed()));
            node.move_time(now, to);
            now = to;
            prop_assert!(left(&node, now) <= before, "{}", POLICIES[policy]);
        }
        prop_assert_eq!(left(&node, later(now, 48 * HOUR)), 10);
    }
}
