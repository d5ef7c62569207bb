//! A change of terms does to one key what a change of the contract does to all.

use std::sync::Arc;

use proptest::prelude::*;
use tollgate_limit::{Cost, Span};
use tollgate_node::{Key, Knowledge, WrittenBy, WrittenCell};

use crate::{LATER, NOW, check, contracts, following, node, spot, terms};

/// Policies that a key may come under.
const PLANS: [&str; 5] = [
    "{ name: a, limit: 10, per: 1h }",
    "{ name: a, limit: 25, per: 1h, inherit: proportional }",
    "{ name: b, limit: 7, per: 10m, algorithm: fixed-window }, { name: a, limit: 12, per: 30m }",
    "{ name: a, limit: 12, per: 30m, algorithm: sliding-counters, slices: 6 }, { name: b, limit: 9, per: 1h, inherit: reset }",
    "{ name: c, limit: 3, per: 1m }",
];

#[derive(Clone, Copy, Debug)]
enum Step {
    Check(u32),
    Charge(u32),
    Refund(u32),
    Wait(u64),
    Change(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_u32..6).prop_map(Step::Check),
        1 => (0_u32..6).prop_map(Step::Charge),
        1 => (0_u32..6).prop_map(Step::Refund),
        2 => (0_u64..400).prop_map(Step::Wait),
        2 => (0..PLANS.len()).prop_map(Step::Change),
    ]
}

proptest! {
    /// What terms do to one key, a changed contract does to all: both are told the same and must answer the same.
    #[test]
    fn other_terms_are_like_another_contract(steps in prop::collection::vec(step(), 1..60)) {
        let own = node(&following(PLANS[0]));
        let ann = spot(&own, "ann", 0);
        let mut whole = Arc::new(node(&following(PLANS[0])));
        let key = [("user", "ann")];
        let key = Key::from(&key);
        let mut now = NOW;
        for (revision, step) in (1..).zip(steps) {
            match step {
                Step::Check(cost) => {
                    let cost = Cost::from_u32(cost);
                    let (a, b) = (check(&own, key, cost, now), whole.check(key, cost, now));
                    prop_assert_eq!(a.verdict, b.verdict);
                    prop_assert_eq!((a.policy, a.limit, a.remaining), (b.policy, b.limit, b.remaining));
                    prop_assert_eq!(a.reset_after, b.reset_after);
                }
                Step::Charge(cost) => {
                    let cost = Cost::from_u32(cost);
                    prop_assert_eq!(own.charge(key, cost, now), whole.charge(key, cost, now));
                }
                Step::Refund(cost) => {
                    own.refund(key, Cost::from_u32(cost), now);
                    whole.refund(key, Cost::from_u32(cost), now);
                }
                Step::Wait(seconds) => {
                    now = now.saturating_add(Span::from_nanos(u128::from(seconds) * 1_000_000_000));
                }
                Step::Change(plan) => {
                    let knowledge = Knowledge {
                        terms: Some(terms(PLANS[plan], revision)),
                        is_shared: false,
                        revision,
                        until: LATER,
                    };
                    own.learn(ann, knowledge, now);
                    whole = whole.succeed(contracts(&following(PLANS[plan])), now);
                    while whole.carry_over(now, 7) {}
                    // Terms are followed when the key is asked for.
                    let _ = own.check(key, Cost::PEEK, now);
                }
            }
            prop_assert_eq!(own.status(key, now), whole.status(key, now));
        }
    }

    /// Cells that go to another node, or to a disk and back, are still counted by the terms that wrote them, whether or
    /// not somebody there looks these up.
    #[test]
    fn terms_go_where_the_cell_goes(
        steps in prop::collection::vec((step(), 0..6_u8), 1..60),
    ) {
        let plans = PLANS.map(|plan| plan.replace(" }", ", durable: true }"));
        let mut own = node(&following(&plans[0]));
        let ann = spot(&own, "ann", 0);
        let mut whole = Arc::new(node(&following(&plans[0])));
        let key = [("user", "ann")];
        let key = Key::from(&key);
        let (mut now, mut plan) = (NOW, 0);
        let known = |plan: usize, revision: u64| Knowledge {
            terms: (plan != 0).then(|| terms(&plans[plan], plan as u64)),
            is_shared: false,
            revision,
            until: LATER,
        };
        for (revision, (step, moves)) in (1..).zip(steps) {
            match step {
                Step::Check(cost) => {
                    let cost = Cost::from_u32(cost);
                    let (a, b) = (own.check(key, cost, now), whole.check(key, cost, now));
                    prop_assert_eq!(a.verdict, b.verdict);
                    prop_assert_eq!((a.policy, a.limit, a.remaining), (b.policy, b.limit, b.remaining));
                }
                Step::Charge(cost) => {
                    let cost = Cost::from_u32(cost);
                    prop_assert_eq!(own.charge(key, cost, now), whole.charge(key, cost, now));
                }
                Step::Refund(cost) => {
                    own.refund(key, Cost::from_u32(cost), now);
                    whole.refund(key, Cost::from_u32(cost), now);
                }
                Step::Wait(seconds) => {
                    now = now.saturating_add(Span::from_nanos(u128::from(seconds) * 1_000_000_000));
                }
                Step::Change(to) => {
                    plan = to;
                    own.learn(ann, known(plan, revision), now);
                    whole = whole.succeed(contracts(&following(&plans[plan])), now);
                    while whole.carry_over(now, 7) {}
                    let _ = own.check(key, Cost::PEEK, now);
                }
            }
            // To make a node takes longer than all it is asked here.
            if moves > 1 {
                continue;
            }
            let next = node(&following(&plans[0]));
            let is_there = match moves {
                0 => own.take_cell(0, ann.print, now).map(|lifted| {
                    next.merge_cell((0, ann.print), &lifted, now)
                }),
                _ => own.read_cell(0, ann.print).map(|(stored, terms)| {
                    let by = terms.as_ref().map(|terms| WrittenBy {
                        set: &terms.set,
                        origins: &[],
                        terms: Some(terms),
                    });
                    next.write_cell(0, ann.print, WrittenCell::new(&stored.bytes, by), now)
                }),
            };
            // A key of which nothing is left has to be looked up.
            if is_there.is_none() || revision % 2 == 0 {
                next.learn(ann, known(plan, 1), now);
            }
            prop_assert!(is_there.is_none_or(|done| done.is_ok()));
            own = next;
            prop_assert_eq!(own.status(key, now), whole.status(key, now));
        }
    }
}
