//! Keys with terms of their own: which policies count them, what they keep when terms change, and that a change of
//! terms does to one key what a change of the contract does to all.

#![allow(clippy::expect_used, reason = "a broken set-up must stop the test")]

mod like;
mod together;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use tollgate_contract::{Contracts, Terms};
use tollgate_limit::{Cost, Instant, Span};
use tollgate_node::{Answer, Key, Knowledge, Node, NodeConfig, Scope, Stranger};
use tollgate_table::Seed;

const NOW: Instant = Instant::from_nanos(3_600_000_000_000);
const LATER: Instant = Instant::from_nanos(u64::MAX);
const FREE: &str = "{ name: a, limit: 10, per: 1h }";

fn contracts(text: &str) -> Contracts {
    Contracts::parse(text).expect("a good file")
}

/// A contract whose keys follow a plan with these policies.
fn following(policies: &str) -> String {
    format!(
        "plans: [{{ id: free, policies: [{policies}] }}]\ncontracts: [{{ id: users, key: [user], plan: free }}]"
    )
}

fn node(text: &str) -> Node {
    let config = NodeConfig {
        is_assigned: true,
        ..NodeConfig::default()
    };
    Node::new(contracts(text), config, Seed::new([1, 2]))
}

/// Terms of these policies.
fn terms(policies: &str, version: u64) -> Arc<Terms> {
    let text = format!("contracts: [{{ id: users, key: [user], policies: [{policies}] }}]");
    let policies = contracts(&text).as_slice()[0].policies.clone();
    Arc::new(Terms::new(policies, version).expect("good terms"))
}

fn learn(node: &Node, stranger: Stranger, terms: &Arc<Terms>, revision: u64) {
    let knowledge = Knowledge {
        terms: Some(Arc::clone(terms)),
        is_shared: true,
        revision,
        until: LATER,
    };
    node.learn(stranger, knowledge, NOW);
}

/// Where a user is counted by a contract, known or not.
fn spot(node: &Node, user: &str, contract: usize) -> Stranger {
    let entries = [("user", user)];
    let within = node.within(Scope::All).expect("all");
    let spots = within.spots(Key::from(&entries));
    let spot = spots.iter().find(|spot| spot.contract == contract);
    let spot = spot.expect("a contract that binds the user");
    Stranger {
        contract,
        print: spot.print,
    }
}

fn strangers(node: &Node, user: &str) -> Vec<Stranger> {
    let within = node.within(Scope::All).expect("all");
    within.strangers(Key::from(&[("user", user)]), NOW)
}

fn ask(node: &Node, user: &str, cost: u32) -> Answer {
    check(
        node,
        Key::from(&[("user", user)]),
        Cost::from_u32(cost),
        NOW,
    )
}

/// Asks as whoever would wait for terms; where these are unknown, by what there is.
fn check(node: &Node, key: Key<'_>, cost: Cost, now: Instant) -> Answer {
    let within = node.within(Scope::All).expect("all");
    let known = within.check_known(key, cost, now);
    known.unwrap_or_else(|| node.check(key, cost, now))
}

fn left(node: &Node, user: &str) -> Vec<u64> {
    let status = node.status(Key::from(&[("user", user)]), NOW);
    let each = status.iter().flat_map(|(_, each)| each);
    each.map(|one| one.remaining).collect()
}

#[test]
fn a_key_is_counted_by_its_own_terms_once_they_are_known() {
    let node = node(&following(FREE));
    assert_eq!(strangers(&node, "ann"), [spot(&node, "ann", 0)]);
    assert!(ask(&node, "ann", 4).is_allowed());
    assert_eq!(left(&node, "ann"), [6], "by the contract's plan until then");
    let pro = terms("{ name: a, limit: 100, per: 1h }", 7);
    learn(&node, spot(&node, "ann", 0), &pro, 1);
    assert!(strangers(&node, "ann").is_empty());
    assert_eq!(left(&node, "ann"), [96], "what was spent stays spent");
    let answer = ask(&node, "ann", 90);
    assert!(answer.is_allowed());
    assert_eq!((answer.limit, answer.remaining), (100, 6));
    assert_eq!(left(&node, "bob"), [10], "others have the contract's");
}

#[test]
fn names_of_policies_are_those_of_the_terms() {
    let text = "plans: [{ id: free, policies: [{ name: a, limit: 10, per: 1h }] }]
contracts:
  - { id: all, policies: [{ name: ceiling, limit: 1000, per: 1h }] }
  - { id: users, key: [user], plan: free }";
    let node = node(text);
    let two = "{ name: burst, limit: 1000, per: 1h }, { name: day, limit: 3, per: 1h }";
    learn(&node, spot(&node, "ann", 1), &terms(two, 7), 1);
    let answer = ask(&node, "ann", 4);
    assert!(!answer.is_allowed());
    let refused = answer.refused_by.expect("a policy");
    let tollgate_node::RefusedBy::Policy { contract, policy } = refused else {
        panic!("a policy refused");
    };
    let of = node.contracts().get(contract).expect("a contract");
    let named = &answer.policies_of(contract, of)[policy];
    assert_eq!((&*of.id, &*named.name), ("users", "day"));
    let all = node.contracts().get(0).expect("a contract");
    let ceiling = &answer.policies_of(0, all)[0];
    assert_eq!(ceiling.name, "ceiling");
}

#[test]
fn of_two_terms_the_later_counts_whoever_comes_last() {
    let node = node(&following(FREE));
    let ann = spot(&node, "ann", 0);
    learn(&node, ann, &terms("{ name: a, limit: 50, per: 1h }", 2), 5);
    learn(&node, ann, &terms("{ name: a, limit: 20, per: 1h }", 1), 4);
    assert_eq!(left(&node, "ann"), [50]);
    assert!(ask(&node, "ann", 1).is_allowed());
    node.unlearn(ann);
    assert_eq!(strangers(&node, "ann"), [ann]);
    assert_eq!(
        left(&node, "ann"),
        [49],
        "the cell remembers who counted it"
    );
    learn(&node, ann, &terms("{ name: a, limit: 20, per: 1h }", 1), 4);
    assert_eq!(left(&node, "ann"), [49], "and that it was later");
}

#[test]
fn knowledge_ends_when_it_says() {
    let node = node(&following(FREE));
    let ann = spot(&node, "ann", 0);
    let knowledge = Knowledge {
        terms: Some(terms("{ name: a, limit: 50, per: 1h }", 2)),
        is_shared: true,
        revision: 1,
        until: NOW,
    };
    node.learn(ann, knowledge, NOW);
    assert_eq!(strangers(&node, "ann"), [ann]);
    node.unlearn_all(0);
    assert_eq!(left(&node, "ann"), [10]);
}

#[test]
fn of_one_revision_what_is_sure_for_longer_counts() {
    let node = node(&following(FREE));
    let ann = spot(&node, "ann", 0);
    let trial = Knowledge {
        terms: Some(terms("{ name: a, limit: 50, per: 1h }", 2)),
        is_shared: true,
        revision: 1,
        until: NOW.saturating_add(Span::from_nanos(1)),
    };
    let after = Knowledge {
        terms: None,
        until: LATER,
        ..trial.clone()
    };
    node.learn(ann, trial.clone(), NOW);
    assert!(ask(&node, "ann", 4).is_allowed());
    assert_eq!(left(&node, "ann"), [46]);
    node.learn(ann, after, NOW);
    assert!(ask(&node, "ann", 1).is_allowed());
    assert_eq!(left(&node, "ann"), [5], "the contract's again");
    node.unlearn(ann);
    node.learn(ann, trial, NOW);
    assert!(ask(&node, "ann", 1).is_allowed());
    assert_eq!(left(&node, "ann"), [4], "a slow word takes nobody back");
}

#[test]
fn where_nobody_knows_the_last_word_stands() {
    let node = node(&following(FREE));
    let ann = spot(&node, "ann", 0);
    learn(&node, ann, &terms("{ name: a, limit: 50, per: 1h }", 2), 3);
    assert!(ask(&node, "ann", 4).is_allowed());
    node.unlearn(ann);
    node.learn(ann, Knowledge::none(LATER), NOW);
    assert!(strangers(&node, "ann").is_empty(), "for a while");
    assert_eq!(left(&node, "ann"), [46]);
    learn(&node, ann, &terms("{ name: a, limit: 60, per: 1h }", 4), 4);
    assert_eq!(left(&node, "ann"), [56]);
    node.learn(spot(&node, "bob", 0), Knowledge::none(LATER), NOW);
    assert_eq!(left(&node, "bob"), [10]);
}

#[test]
fn terms_of_before_are_paid_for_as_long_as_they_are_kept() {
    let node = node(&following(FREE));
    let ann = spot(&node, "ann", 0);
    let mut bytes = Vec::new();
    for revision in 1..=4 {
        let own = Knowledge {
            terms: Some(terms(
                &format!("{{ name: a, limit: {revision}00, per: 1h }}"),
                revision,
            )),
            is_shared: false,
            revision,
            until: LATER,
        };
        node.learn(ann, own, NOW);
        assert!(ask(&node, "ann", 1).is_allowed());
        bytes.push(node.bytes());
    }
    let one = u64::try_from(size_of::<Terms>()).expect("a small number");
    assert!(bytes[1] > bytes[0] + one, "{bytes:?}");
    assert_eq!(bytes[1], bytes[3], "those before them are gone");
}

#[test]
fn receipts_of_own_terms_outlive_a_change_of_the_contract() {
    let first = node(&following(FREE));
    let ann = spot(&first, "ann", 0);
    let both = "{ name: b, limit: 100, per: 1h }, { name: a, limit: 100, per: 1h }";
    learn(&first, ann, &terms(both, 7), 1);
    let receipt = ask(&first, "ann", 10).receipt;
    let next = "{ name: c, limit: 20, per: 1h }, { name: a, limit: 30, per: 1h }";
    let next = first.succeed(contracts(&following(next)), NOW);
    while next.carry_over(NOW, 7) {}
    next.settle(&receipt, Cost::from_u32(30), NOW);
    assert_eq!(left(&next, "ann"), [70, 70]);
    first.settle(&receipt, Cost::from_u32(20), NOW);
    assert_eq!(left(&next, "ann"), [60, 60], "asked of the node before");
}

#[test]
fn a_receipt_is_settled_by_the_names_of_its_policies() {
    let node = node(&following(FREE));
    let ann = spot(&node, "ann", 0);
    let both = "{ name: a, limit: 100, per: 1h }, { name: b, limit: 100, per: 1h }";
    learn(&node, ann, &terms(both, 1), 1);
    let receipt = ask(&node, "ann", 10).receipt;
    let turned = "{ name: c, limit: 100, per: 1h }, { name: b, limit: 100, per: 1h }, { name: a, limit: 100, per: 1h }";
    learn(&node, ann, &terms(turned, 2), 2);
    assert_eq!(left(&node, "ann"), [100, 90, 90]);
    node.settle(&receipt, Cost::from_u32(30), NOW);
    assert_eq!(left(&node, "ann"), [100, 70, 70], "c was never charged");
    let older = ask(&node, "ann", 5).receipt;
    learn(&node, ann, &terms(both, 3), 3);
    assert!(ask(&node, "ann", 1).is_allowed());
    learn(&node, ann, &terms(turned, 4), 4);
    assert!(ask(&node, "ann", 1).is_allowed());
    let before = left(&node, "ann");
    node.settle(&older, Cost::PEEK, NOW);
    assert_eq!(
        left(&node, "ann"),
        before,
        "two changes ago is too long ago"
    );
}

#[test]
fn a_changed_contract_keeps_what_keys_have_of_their_own() {
    let first = node(&following(FREE));
    learn(
        &first,
        spot(&first, "ann", 0),
        &terms("{ name: a, limit: 50, per: 1h }", 1),
        1,
    );
    assert!(ask(&first, "ann", 4).is_allowed());
    assert!(ask(&first, "bob", 4).is_allowed());
    let next = first.succeed(
        contracts(&following("{ name: a, limit: 20, per: 1h }")),
        NOW,
    );
    assert_eq!(
        strangers(&next, "ann").len(),
        1,
        "somebody has to say it anew"
    );
    assert_eq!(
        (left(&next, "ann"), left(&next, "bob")),
        (vec![46], vec![16])
    );
    let plain = "contracts: [{ id: users, key: [user], policies: [{ name: b, limit: 9, per: 1h }, { name: a, limit: 30, per: 1h }] }]";
    let last = next.succeed(contracts(plain), NOW);
    assert!(strangers(&last, "ann").is_empty());
    assert_eq!(
        (left(&last, "ann"), left(&last, "bob")),
        (vec![9, 26], vec![9, 26])
    );
}

#[test]
fn knowledge_is_bounded_by_the_budget() {
    let config = NodeConfig {
        is_assigned: true,
        bytes_max: 1 << 20,
        ..NodeConfig::default()
    };
    let node = Node::new(contracts(&following(FREE)), config, Seed::new([1, 2]));
    let one = terms("{ name: a, limit: 50, per: 1h }", 1);
    for user in 0..20_000_u64 {
        let own = Knowledge {
            terms: Some(Arc::new((*one).clone())),
            is_shared: false,
            revision: 1,
            until: LATER,
        };
        node.learn(spot(&node, &user.to_string(), 0), own, NOW);
    }
    let bytes_of_one = 1_024;
    let bytes_max = node.bytes_max() + bytes_of_one;
    assert!(node.bytes() <= bytes_max, "{} bytes", node.bytes());
    let known = (0..20_000_u64).filter(|user| strangers(&node, &user.to_string()).is_empty());
    assert!(known.count() > 500);
}

#[test]
fn threads_and_changing_terms_admit_exactly_the_limit() {
    let node = node(&following(
        "{ name: a, limit: 10000, per: 1h }, { name: b, limit: 20000, per: 1h }",
    ));
    let ann = spot(&node, "ann", 0);
    let one = terms(
        "{ name: b, limit: 20000, per: 1h }, { name: a, limit: 10000, per: 1h }",
        1,
    );
    let other = terms(
        "{ name: c, limit: 30000, per: 1h }, { name: a, limit: 10000, per: 1h }",
        2,
    );
    let (admitted, done) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let askers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..4_000 {
                        let answer = ask(&node, "ann", 1);
                        admitted.fetch_add(u64::from(answer.is_allowed()), Relaxed);
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            let mut revision = 1;
            while !done.load(Relaxed) {
                learn(
                    &node,
                    ann,
                    if revision % 2 == 0 { &one } else { &other },
                    revision,
                );
                revision += 1;
            }
        });
        for asker in askers {
            asker.join().expect("no panic");
        }
        done.store(true, Relaxed);
    });
    assert_eq!(admitted.load(Relaxed), 10_000);
}

#[test]
fn of_two_cells_of_a_key_both_charges_stay_under_the_terms_of_which_more_is_known() {
    let (first, second) = (node(&following(FREE)), node(&following(FREE)));
    let ann = spot(&first, "ann", 0);
    let pro = terms("{ name: a, limit: 100, per: 1h }", 7);
    learn(&first, ann, &pro, 1);
    assert!(ask(&first, "ann", 4).is_allowed());
    assert!(ask(&second, "ann", 3).is_allowed(), "by the contract");
    let lifted = first.take_cell(0, ann.print, NOW).expect("it was charged");
    assert_eq!(lifted.terms.as_deref(), Some(&*pro));
    assert_eq!(second.merge_cell((0, ann.print), &lifted, NOW), Ok(()));
    assert_eq!(left(&second, "ann"), [93]);
    let third = node(&following(FREE));
    let most = terms("{ name: a, limit: 1000, per: 1h }", 8);
    learn(&third, ann, &most, 1);
    assert!(ask(&third, "ann", 5).is_allowed());
    assert_eq!(third.merge_cell((0, ann.print), &lifted, NOW), Ok(()));
    assert_eq!(left(&third, "ann"), [991], "somebody looked these up");
}
