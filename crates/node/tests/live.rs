//! Contracts that change while keys are counted: what is kept, what is inherited, and that nothing is counted twice or
//! not at all while threads ask and contracts come and go.

#![allow(clippy::expect_used, reason = "a broken set-up must stop the test")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;

use tollgate_contract::Contracts;
use tollgate_limit::{Cost, Instant, OperationId, Span};
use tollgate_node::{Answer, Debit, Key, Node, NodeConfig, WrittenBy, WrittenCell};
use tollgate_table::Seed;

const NOW: Instant = Instant::from_nanos(3_600_000_000_000);

fn contracts(text: &str) -> Contracts {
    Contracts::parse(text).expect("a good file")
}

fn node(text: &str) -> Node {
    Node::new(contracts(text), NodeConfig::default(), Seed::new([1, 2]))
}

fn one(policies: &str) -> String {
    format!("contracts: [{{ id: users, key: [user], policies: [{policies}] }}]")
}

fn after(node: &Node, text: &str) -> Arc<Node> {
    let next = node.succeed(contracts(text), NOW);
    while next.carry_over(NOW, 7) {}
    next
}

fn left(node: &Node, user: &str) -> Vec<u64> {
    let status = node.status(Key::from(user), NOW);
    let each = status.iter().flat_map(|(_, each)| each);
    each.map(|one| one.remaining).collect()
}

fn take(node: &Node, user: &str, cost: u32) -> bool {
    node.check(Key::from(user), Cost::from_u32(cost), NOW)
        .is_allowed()
}

const TEN: &str = "{ name: a, limit: 10, per: 1h }";

#[test]
fn a_contract_that_stays_the_same_keeps_its_counts_wherever_it_stands() {
    let first = node(&one(TEN));
    assert!(take(&first, "ann", 4));
    let other = "{ id: other, match: { plan: pro }, key: [user], policies: [{ name: p, limit: 1, per: 1s }] }";
    let text = format!("contracts: [{other}, {{ id: users, key: [user], policies: [{TEN}] }}]");
    let second = after(&first, &text);
    assert_eq!(left(&second, "ann"), [6]);
    assert!(take(&first, "ann", 1), "who began before counts too");
    assert_eq!(left(&second, "ann"), [5]);
}

#[test]
fn a_changed_policy_inherits_by_name_and_as_it_says() {
    let first = node(&one(&format!("{TEN}, {{ name: b, limit: 20, per: 1h }}")));
    assert!(take(&first, "ann", 4));
    let text = one("{ name: new, limit: 3, per: 1h },
         { name: b, limit: 40, per: 1h, inherit: proportional },
         { name: a, limit: 5, per: 1h }");
    for carried in [true, false] {
        let first = node(&one(&format!("{TEN}, {{ name: b, limit: 20, per: 1h }}")));
        assert!(take(&first, "ann", 4));
        let next = if carried {
            after(&first, &text)
        } else {
            first.succeed(contracts(&text), NOW)
        };
        assert_eq!(left(&next, "ann"), [3, 32, 1]);
        assert_eq!(next.cells_count(), 1);
        assert_eq!(
            left(&first, "ann"),
            [3, 32, 1],
            "asked of the contracts before"
        );
    }
}

#[test]
fn other_entries_to_count_by_are_another_contract() {
    let first = node(&one(TEN));
    assert!(take(&first, "ann", 4));
    let next = after(
        &first,
        &format!("contracts: [{{ id: users, key: [account], policies: [{TEN}] }}]"),
    );
    assert_eq!(left(&next, "ann"), [10]);
}

#[test]
fn an_unchanged_policy_beside_a_changed_one_keeps_its_counts_even_if_it_resets_on_change() {
    let steady = "{ name: a, limit: 10, per: 1h, inherit: reset }";
    let first = node(&one(&format!(
        "{steady}, {{ name: b, limit: 20, per: 1h }}"
    )));
    assert!(take(&first, "ann", 4));
    let next = after(
        &first,
        &one(&format!(
            "{steady}, {{ name: b, limit: 30, per: 1h, inherit: reset }}"
        )),
    );
    assert_eq!(left(&next, "ann"), [6, 30]);
}

#[test]
fn receipts_and_reservations_settle_what_follows_on_their_contract() {
    let first = node(&one(&format!("{TEN}, {{ name: b, limit: 20, per: 1h }}")));
    let receipt = first
        .check(Key::from("ann"), Cost::from_u32(4), NOW)
        .receipt;
    let id = OperationId::new(b"r").expect("short");
    let reserved = Debit {
        key: Key::from("bob"),
        cost: Cost::from_u32(5),
    };
    let ttl = Span::from_nanos(1_000);
    assert!(
        first
            .whole()
            .reserve(&id, reserved, ttl, NOW)
            .expect("room")
            .is_allowed()
    );
    let second = after(
        &first,
        &one("{ name: b, limit: 30, per: 1h }, { name: c, limit: 9, per: 1h }"),
    );
    let third = after(
        &second,
        &one("{ name: c, limit: 9, per: 1h }, { name: b, limit: 40, per: 1h }"),
    );
    assert_eq!(left(&third, "ann"), [9, 36]);
    assert!(third.knows(&receipt));
    third.settle(&receipt, Cost::ONE, NOW);
    assert_eq!(left(&third, "ann"), [9, 39], "c was never charged");
    first.settle(&receipt, Cost::from_u32(5), NOW);
    assert_eq!(left(&third, "ann"), [9, 38], "by whoever has it");
    assert_eq!(third.commit(&id, Cost::ONE, NOW), Ok(()));
    assert_eq!(left(&third, "bob"), [9, 39]);
    let gone = after(&third, &one(TEN).replace("users", "others"));
    assert!(!gone.knows(&receipt));
    gone.settle(&receipt, Cost::PEEK, NOW);
    assert_eq!(gone.cells_count(), 0);
}

#[test]
fn an_answer_by_later_policies_is_given_by_the_node_that_has_them() {
    let first = node(&one(
        "{ name: a, limit: 2, per: 1h }, { name: b, limit: 9, per: 1h }",
    ));
    let next = first.succeed(
        contracts(&one(
            "{ name: new, limit: 8, per: 1h }, { name: b, limit: 1, per: 1h }",
        )),
        NOW,
    );
    let answer = first.check(Key::from("ann"), Cost::ONE, NOW);
    assert_eq!((answer.policy, answer.limit), (1, 1));
    let giver = first.giver(&answer).expect("a later one");
    assert!(std::ptr::eq(giver, &raw const *next));
    assert_eq!(giver.contracts().as_slice()[0].policies[1].name, "b");
    let later = after(&next, &one("{ name: c, limit: 7, per: 1h }"));
    assert!(later.giver(&answer).is_none(), "from before");
    assert!(std::ptr::eq(first.newest(), &raw const *later));
}

#[test]
fn a_reload_takes_no_more_bytes_than_it_gives_back() {
    let first = node(&one(TEN));
    for user in 0..20_000_u64 {
        assert!(first.check(Key::from(user), Cost::ONE, NOW).is_allowed());
    }
    let before = first.bytes();
    let mut last = Arc::new(first);
    for limit in 11..23 {
        last = after(
            &last,
            &one(&format!("{{ name: a, limit: {limit}, per: 1h }}")),
        );
    }
    assert_eq!(last.cells_count(), 20_000);
    assert!(last.bytes() < before * 11 / 10, "{before} {}", last.bytes());
    assert_eq!(last.counters().evicted_live, 0);
}

#[test]
fn a_full_table_that_refuses_keeps_every_key_it_knows_through_a_change() {
    let config = NodeConfig {
        bytes_max: 64 << 10,
        when_full: tollgate_table::WhenFull::Refuse,
        ..NodeConfig::default()
    };
    let first = Node::new(contracts(&one(TEN)), config, Seed::new([1, 2]));
    let known: Vec<u64> = (0..20_000)
        .filter(|user| {
            first
                .check(Key::from(*user), Cost::ONE, NOW)
                .contract
                .is_some()
        })
        .collect();
    assert!(known.len() < 10_000);
    let next = first.succeed(contracts(&one("{ name: a, limit: 12, per: 1h }")), NOW);
    for user in &known {
        assert_eq!(next.check(Key::from(*user), Cost::ONE, NOW).remaining, 10);
    }
}

#[test]
fn durable_changes_are_told_by_what_follows() {
    let first = node(&one("{ name: a, limit: 10, per: 1h, durable: true }"));
    assert!(take(&first, "ann", 4));
    let next = after(
        &first,
        &one("{ name: a, limit: 20, per: 1h, durable: true }"),
    );
    let mut prints = Vec::new();
    assert!(!next.take_dirty(0, &mut prints));
    assert_eq!(prints.len(), 1);
    let (stored, _) = next.read_cell(0, prints[0]).expect("it was charged");
    let set = next.contracts().get(0).expect("one").policy_set();
    let fresh = node(&one("{ name: a, limit: 5, per: 1h, durable: true }"));
    let by = WrittenBy {
        set,
        origins: &[Some(0)],
        terms: None,
    };
    let cell = WrittenCell::new(&stored.bytes, Some(by));
    assert_eq!(fresh.write_cell(0, prints[0], cell, NOW), Ok(()));
    assert_eq!(left(&fresh, "ann"), [1]);
}

/// The newest node, for threads that ask it while others replace it.
struct Newest(Mutex<Arc<Node>>);

impl Newest {
    fn new(text: &str) -> Self {
        Self(Mutex::new(Arc::new(node(text))))
    }

    fn get(&self) -> Arc<Node> {
        Arc::clone(&self.0.lock().expect("no panic"))
    }

    /// Replaces the node by each text in turn, `times` times, while `ask` runs in three threads.
    fn storm(&self, texts: &[String], times: usize, ask: impl Fn(&Node, u64) + Sync) {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            for lane in 0..3_u64 {
                let (stop, ask) = (&stop, &ask);
                scope.spawn(move || {
                    for turn in 0.. {
                        let node = self.get();
                        for step in 0..8 {
                            ask(&node, (turn * 8 + step) * 3 + lane);
                        }
                        if stop.load(Relaxed) {
                            break;
                        }
                    }
                });
            }
            for time in 0..times {
                let text = &texts[time % texts.len()];
                let next = self.get().succeed(contracts(text), NOW);
                *self.0.lock().expect("no panic") = Arc::clone(&next);
                if time % 3 != 0 {
                    while next.carry_over(NOW, 1) {}
                }
            }
            stop.store(true, Relaxed);
        });
    }
}

/// Versions of two contracts over the same keys: limits, orders, company and places change; what is counted does not.
fn versions(limit: u64) -> Vec<String> {
    let total = |extra: u64| {
        format!(
            "{{ id: total, policies: [{{ name: t, algorithm: fixed-window, limit: {}, per: 24h }}] }}",
            limit * 40 + extra
        )
    };
    let users = |extra: u64| {
        format!(
            "{{ id: users, key: [user], policies: [{{ name: u, algorithm: fixed-window, limit: {limit}, per: 24h, max_debt: {extra} }}] }}"
        )
    };
    let wide = format!(
        "{{ id: users, key: [user], policies: [{{ name: log, limit: 1000000, per: 24h, algorithm: sliding-counters }}, {{ name: u, algorithm: fixed-window, limit: {limit}, per: 24h }}] }}"
    );
    let other = "{ id: other, match: { plan: pro }, key: [user], policies: [{ name: p, limit: 1, per: 1s }] }";
    [
        format!("contracts: [{}, {}]", total(0), users(1)),
        format!("contracts: [{}, {}]", users(1), total(0)),
        format!("contracts: [{}, {}]", users(2), total(5)),
        format!("contracts: [{other}, {}, {wide}]", total(5)),
        format!("contracts: [{wide}, {other}, {}]", total(1)),
        format!("contracts: [{}, {}, {other}]", total(9), users(3)),
    ]
    .into()
}

/// The limit of the policy that an answer names.
fn named_limit(node: &Node, answer: &Answer) -> u64 {
    let contracts = node.giver(answer).expect("of its time").contracts();
    let contract = &contracts.as_slice()[answer.contract.expect("bound")];
    contract.policies[answer.policy].policy.config().limit
}

#[test]
fn a_limit_is_admitted_exactly_once_across_all_changes() {
    let (users, limit) = (40_u64, 50_u64);
    let newest = Newest::new(&versions(limit)[0]);
    let admitted: Vec<AtomicU64> = (0..users).map(|_| AtomicU64::new(0)).collect();
    newest.storm(&versions(limit), 200, |node, at| {
        let user = at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let user = usize::try_from(user % users).expect("few");
        let answer = node.check(Key::from(user as u64), Cost::ONE, NOW);
        assert_eq!(answer.receipt.bookings().len(), 2);
        assert_eq!(named_limit(node, &answer), answer.limit);
        if answer.is_allowed() {
            admitted[user].fetch_add(1, Relaxed);
        }
    });
    for (user, count) in admitted.iter().enumerate() {
        // Whoever was not asked often enough meanwhile is asked now.
        let mut count = count.load(Relaxed);
        while newest
            .get()
            .check(Key::from(user as u64), Cost::ONE, NOW)
            .is_allowed()
        {
            count += 1;
        }
        assert_eq!(count, limit, "user {user}");
    }
}

#[test]
fn every_charge_refund_and_settlement_is_counted_once() {
    let (users, limit) = (16_u64, 1 << 40);
    let newest = Newest::new(&versions(limit)[0]);
    let used: Vec<AtomicU64> = (0..users).map(|_| AtomicU64::new(0)).collect();
    newest.storm(&versions(limit), 200, |node, at| {
        let place = usize::try_from(at % users).expect("few");
        let (key, used) = (Key::from(at % users), &used[place]);
        match at / users % 5 {
            0 => {
                node.charge(key, Cost::from_u32(3), NOW);
                used.fetch_add(3, Relaxed);
            }
            1 => {
                let answer = node.check(key, Cost::from_u32(5), NOW);
                assert!(answer.is_allowed());
                node.settle(&answer.receipt, Cost::from_u32(2), NOW);
                used.fetch_add(2, Relaxed);
            }
            2 => {
                let answer = node.check(key, Cost::ONE, NOW);
                assert!(answer.is_allowed());
                node.settle(&answer.receipt, Cost::from_u32(7), NOW);
                used.fetch_add(7, Relaxed);
            }
            3 => {
                let mut allowed = 0;
                node.check_many(&[(key, Cost::ONE); 40], NOW, |answer| {
                    allowed += u64::from(answer.is_allowed());
                });
                used.fetch_add(allowed, Relaxed);
            }
            _ => {
                node.charge(key, Cost::from_u32(2), NOW);
                node.refund(key, Cost::ONE, NOW);
                used.fetch_add(1, Relaxed);
            }
        }
    });
    let node = after(&newest.get(), &versions(limit)[0]);
    let total: u64 = used.iter().map(|used| used.load(Relaxed)).sum();
    for (user, used) in used.iter().enumerate() {
        let status = node.status(Key::from(user as u64), NOW);
        assert_eq!(
            limit - status[1].1[0].remaining,
            used.load(Relaxed),
            "user {user}"
        );
        assert_eq!(limit * 40 - status[0].1[0].remaining, total);
    }
}

#[test]
fn a_lone_bucket_on_the_short_way_admits_its_burst_once_across_all_changes() {
    let text = |burst: u64| {
        one(&format!(
            "{{ name: a, limit: 1, per: 24h, burst: {burst} }}"
        ))
    };
    let texts: Vec<_> = [1_000, 1_000, 1_001, 1_002].map(text).into();
    let newest = Newest::new(&texts[0]);
    let admitted: Vec<AtomicU64> = (0..8).map(|_| AtomicU64::new(0)).collect();
    newest.storm(&texts, 250, |node, at| {
        let user = usize::try_from(at % 8).expect("few");
        let allowed = if at / 8 % 2 == 0 {
            u64::from(node.check(Key::from(at % 8), Cost::ONE, NOW).is_allowed())
        } else {
            let mut allowed = 0;
            let many = [(Key::from(at % 8), Cost::ONE); 3];
            node.check_many(&many, NOW, |answer| {
                allowed += u64::from(answer.is_allowed());
            });
            allowed
        };
        admitted[user].fetch_add(allowed, Relaxed);
    });
    let node = after(&newest.get(), &text(5_000));
    for (user, count) in admitted.iter().enumerate() {
        let left = node.status(Key::from(user as u64), NOW)[0].1[0].remaining;
        assert_eq!(5_000 - left, count.load(Relaxed), "user {user}");
        assert!(count.load(Relaxed) <= 1_002);
    }
}
