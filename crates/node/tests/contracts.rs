//! Several contracts over one request: who is bound, and all or nothing.

#![allow(clippy::expect_used, reason = "a broken set-up must stop the test")]

use proptest::prelude::*;
use tollgate_contract::Contracts;
use tollgate_limit::{Cost, Instant, Span, Verdict};
use tollgate_node::{Answer, Key, Node, NodeConfig, RefusedBy, Scope};
use tollgate_table::{Seed, WhenFull};

const FREE_AND_CEILING: &str = "
contracts:
  - id: free-users
    match: { plan: free }
    key: [user]
    policies:
      - { name: burst, limit: 3, per: 1s }
  - id: whole-api
    policies:
      - { name: ceiling, limit: 5, per: 1s, algorithm: fixed-window }
";

fn node_of(text: &str) -> Node {
    node_with(text, NodeConfig::default())
}

fn node_with(text: &str, config: NodeConfig) -> Node {
    Node::new(
        Contracts::parse(text).expect("a good file"),
        config,
        Seed::new([1, 2]),
    )
}

fn ask(node: &Node, user: &str, cost: u32, at_ms: u64) -> Answer {
    let entries = [("plan", "free"), ("user", user)];
    let now = Instant::from_millis(at_ms).expect("a time");
    node.check(Key::Entries(&entries), Cost::from_u32(cost), now)
}

#[test]
fn every_contract_that_applies_is_charged() {
    let node = node_of(FREE_AND_CEILING);
    let answer = ask(&node, "ann", 2, 0);
    assert!(answer.is_allowed());
    assert_eq!(
        (answer.contract, answer.remaining, answer.limit),
        (Some(0), 1, 3)
    );
    assert_eq!(answer.receipt.bookings().len(), 2);
    assert_eq!(
        ask(&node, "bob", 2, 0).remaining,
        1,
        "the ceiling has one left"
    );
}

#[test]
fn a_refusal_by_one_contract_charges_no_other() {
    let node = node_of(FREE_AND_CEILING);
    assert!(ask(&node, "ann", 3, 0).is_allowed());
    let refused = ask(&node, "bob", 3, 0);
    assert_eq!(
        refused.refused_by,
        Some(RefusedBy::Policy {
            contract: 1,
            policy: 0
        })
    );
    assert_eq!(refused.remaining, 2, "of the ceiling");
    assert_eq!(
        refused.verdict,
        Verdict::Deny {
            retry_after: Span::from_nanos(1_000_000_000)
        }
    );
    assert_eq!(
        ask(&node, "bob", 2, 0).remaining,
        0,
        "bob himself was not charged"
    );
}

#[test]
fn a_request_that_no_contract_binds_passes() {
    let node = node_of(
        "contracts: [{ id: a, match: { plan: pro }, key: [user], policies: [{ name: p, limit: 1, per: 1s }] }]",
    );
    for _ in 0..3 {
        let answer = ask(&node, "ann", 1, 0);
        assert!(answer.is_allowed());
        assert_eq!(answer.contract, None);
    }
}

#[test]
fn a_bare_key_is_the_entry_a_contract_counts_by() {
    let node =
        node_of("contracts: [{ id: a, key: [user], policies: [{ name: p, limit: 1, per: 1s }] }]");
    let now = Instant::from_nanos(0);
    assert!(node.check(Key::from("ann"), Cost::ONE, now).is_allowed());
    let entries = [("user", "ann")];
    assert!(!node.check(Key::from(&entries), Cost::ONE, now).is_allowed());
    assert!(node.check(Key::from("bob"), Cost::ONE, now).is_allowed());
    assert!(node.check(Key::from(7), Cost::ONE, now).is_allowed());
    assert!(!node.check(Key::from(7), Cost::ONE, now).is_allowed());
}

#[test]
fn settling_a_receipt_of_several_contracts_settles_each() {
    let node = node_of(FREE_AND_CEILING);
    let answer = ask(&node, "ann", 3, 0);
    node.settle(&answer.receipt, Cost::ONE, Instant::from_nanos(0));
    let status = |user: &str| {
        let entries = [("plan", "free"), ("user", user)];
        let each = node.status(Key::from(&entries), Instant::from_nanos(0));
        each.into_iter()
            .map(|(_, policies)| policies[0].remaining)
            .collect::<Vec<_>>()
    };
    assert_eq!(status("ann"), [2, 4]);
    assert_eq!(status("bob"), [3, 4]);
}

#[test]
fn a_full_table_told_to_refuse_turns_new_keys_away_and_keeps_old_ones() {
    let config = NodeConfig {
        bytes_max: 64 << 10,
        when_full: WhenFull::Refuse,
        ..NodeConfig::default()
    };
    let node = node_with(
        "contracts: [{ id: a, key: [user], policies: [{ name: p, limit: 1, per: 1h }] }]",
        config,
    );
    let now = Instant::from_nanos(0);
    let refused = (0..20_000_u64)
        .filter(|user| {
            let answer = node.check(Key::from(*user), Cost::ONE, now);
            answer.refused_by == Some(RefusedBy::FullTable)
        })
        .count();
    assert!(refused > 10_000, "{refused}");
    assert_eq!(node.counters().refused_new, refused as u64);
    assert!(node.bytes() <= 64 << 10);
    let kept = (0..20_000_u64).filter(|user| {
        let status = node.status(Key::from(*user), now);
        status[0].1[0].remaining == 0
    });
    assert_eq!(kept.count(), 20_000 - refused);
}

#[test]
fn a_staged_policy_binds_its_share_of_the_keys_on_every_node_alike() {
    let text = "contracts: [{ id: a, key: [user], policies: [{ name: p, limit: 1, per: 1h, enforce_percent: 30 }] }]";
    let bound_by = |seed| {
        let contracts = Contracts::parse(text).expect("a good file");
        let node = Node::new(contracts, NodeConfig::default(), Seed::new(seed));
        let now = Instant::from_nanos(0);
        let denied = |user: &u64| {
            let first = node.check(Key::from(*user), Cost::ONE, now);
            first.is_allowed() && !node.check(Key::from(*user), Cost::ONE, now).is_allowed()
        };
        (0..2_000_u64).filter(denied).collect::<Vec<_>>()
    };
    let bound = bound_by([1, 2]);
    assert!((500..700).contains(&bound.len()), "{}", bound.len());
    assert_eq!(bound, bound_by([3, 4]));
}

proptest! {
    #[test]
    fn a_batch_answers_like_the_same_requests_one_by_one(
        requests in prop::collection::vec((0..20_u64, 0..4_u32, any::<bool>()), 1..200)
    ) {
        let text = "contracts: [{ id: a, key: [user], policies: [{ name: p, limit: 3, per: 1s }] }]";
        let (single, batch) = (node_of(text), node_of(text));
        let now = Instant::from_nanos(5);
        let names: Vec<_> = requests.iter().map(|(user, ..)| format!("user-{user}")).collect();
        let asked: Vec<_> = requests.iter().zip(&names).map(|((user, cost, named), name)| {
            let key = if *named { Key::from(name) } else { Key::from(*user) };
            (key, Cost::from_u32(*cost))
        }).collect();
        let expected: Vec<_> = asked.iter().map(|(key, cost)| single.check(*key, *cost, now)).collect();
        let mut answers = Vec::new();
        batch.check_many(&asked, now, |answer| answers.push(answer));
        prop_assert_eq!(answers, expected);
    }
}

const TWO: &str = "
contracts:
  - id: users
    key: [user]
    policies: [{ name: p, limit: 1, per: 1h }]
  - id: free
    match: { plan: free }
    key: [user]
    policies:
      - { name: wide, limit: 9, per: 1h }
      - { name: narrow, limit: 2, per: 1h }
";

#[test]
fn a_contract_asked_for_by_id_is_the_only_one_charged() {
    let node = node_of(TWO);
    let now = Instant::from_nanos(0);
    let free = node.within(Scope::Contract("free")).expect("it is there");
    let entries = [("plan", "free"), ("user", "ann")];
    let answer = free.check(Key::from(&entries), Cost::ONE, now);
    assert_eq!(
        (answer.contract, answer.policy, answer.limit),
        (Some(1), 1, 2)
    );
    let bare = free.check(Key::from("ann"), Cost::ONE, now);
    assert_eq!(
        bare.remaining, 0,
        "a bare key needs no match where the contract was chosen"
    );
    assert!(!free.check(Key::from("ann"), Cost::ONE, now).is_allowed());
    let users = node.status(Key::from("ann"), now);
    assert_eq!(users[0].1[0].remaining, 1, "nobody else was charged");
    assert!(node.within(Scope::Contract("nobody")).is_err());
}

#[test]
fn a_scope_without_the_key_binds_nothing() {
    let node = node_of(TWO);
    let free = node.within(Scope::Contract("free")).expect("it is there");
    let entries = [("plan", "pro"), ("user", "ann")];
    let answer = free.check(Key::from(&entries), Cost::ONE, Instant::from_nanos(0));
    assert_eq!(answer.contract, None);
}

#[test]
fn a_domain_binds_only_what_was_imported_from_it() {
    let text = "
domain: one
descriptors: [{ key: user, rate_limit: { unit: hour, requests_per_unit: 1 } }]
---
domain: two
descriptors: [{ key: user, rate_limit: { unit: hour, requests_per_unit: 5 } }]
";
    let contracts = Contracts::parse_any(text).expect("a good file");
    let node = Node::new(contracts, NodeConfig::default(), Seed::new([1, 2]));
    let (now, entries) = (Instant::from_nanos(0), [("user", "ann")]);
    let ask = |scope| {
        let within = node.within(scope).expect("known");
        within.check(Key::from(&entries), Cost::ONE, now)
    };
    assert_eq!(ask(Scope::Domain("two")).remaining, 4);
    assert_eq!(ask(Scope::Domain("three")).contract, None);
    assert_eq!(ask(Scope::All).receipt.bookings().len(), 2);
    assert!(!ask(Scope::Domain("one")).is_allowed());
    assert_eq!(ask(Scope::Domain("two")).remaining, 2);
}
