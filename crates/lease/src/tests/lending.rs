//! A grantor of many keys: how keys begin and end, and what liars get.

use proptest::prelude::*;
use tollgate_gossip::{ModeKey, ModeVerdict};
use tollgate_limit::Instant;

use crate::{Lender, LenderSetup, Limits, Need, Question, Rules, Stamp, TOKEN};

const MILLI: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLI;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn lender(rules: Rules, has_successors: bool) -> Lender {
    Lender::new(LenderSetup {
        limits: Limits::new(100, SECOND, 50).unwrap(),
        window: None,
        rules,
        generation: 7,
        since: at(0),
        has_successors,
        quota: None,
    })
}

fn full() -> Rules {
    Rules {
        begins_full: true,
        ..Rules::default()
    }
}

fn passes(lender: &mut Lender, key: u128, cost: u64, now: Instant) -> bool {
    let probe = lender.probe(ModeKey(key), cost, now);
    let passes = matches!(probe.verdict, ModeVerdict::Allow { .. });
    if passes {
        lender.take(ModeKey(key), cost, now);
    }
    passes
}

fn question(client: u64, seq: u64, want: u64) -> Question {
    Question {
        client,
        boot: 1,
        key: ModeKey(9),
        seq,
        want,
        is_ask: true,
        ..Question::default()
    }
}

/// What a client gave back in a session of a pool that was dropped counts in no session of the next.
#[test]
fn a_key_that_was_dropped_and_comes_back_names_no_session_again() {
    let mut lender = lender(full(), false);
    let mut sessions = Vec::new();
    for turn in 1..4 {
        let now = at(turn * 20 * SECOND);
        let asks = question(1, turn, 50_000);
        let grant = lender.handle_question(ModeKey(9), &asks, u64::MAX, now);
        sessions.push(grant.unwrap().session);
        lender.handle_timeout(at((turn * 20 + 10) * SECOND));
        assert!(!lender.knows(ModeKey(9)), "it is full again, and dropped");
    }
    sessions.dedup();
    assert_eq!(sessions.len(), 3, "{sessions:?}");
}

#[test]
fn a_key_begins_with_nothing_and_fills_once_old_leases_are_over() {
    let mut lender = lender(Rules::default(), false);
    assert!(
        !passes(&mut lender, 1, 1, at(1_900 * MILLI)),
        "a term is not over"
    );
    // A tenth of a second later, ten tokens came back: for a key that was asked for before, and for one that was not.
    for key in [1, 2] {
        let passed = (0..20)
            .filter(|_| passes(&mut lender, key, 1, at(2_100 * MILLI)))
            .count();
        assert_eq!(passed, 10, "{key}");
    }
    let never = lender.probe(ModeKey(3), 51, at(9 * SECOND)).verdict;
    assert_eq!(never, ModeVerdict::Never);
}

#[test]
fn who_begins_full_says_by_how_much() {
    let mut lender = lender(full(), false);
    assert_eq!(lender.over_max(), 50);
    assert!(!passes(&mut lender, 1, 1, at(SECOND)));
    assert!(passes(&mut lender, 1, 50, at(2 * SECOND)));
}

#[test]
fn in_a_cluster_others_have_a_second_to_hear_of_it() {
    let mut lender = lender(full(), true);
    assert!(!passes(&mut lender, 1, 1, at(2_900 * MILLI)));
    assert!(passes(&mut lender, 1, 50, at(3 * SECOND)));
}

#[test]
fn a_pause_in_which_another_may_have_granted_is_a_new_beginning() {
    for (has_successors, begins_anew) in [(true, true), (false, false)] {
        let mut lender = lender(full(), has_successors);
        assert!(passes(&mut lender, 1, 1, at(4 * SECOND)));
        let later = at(5_100 * MILLI);
        assert_eq!(passes(&mut lender, 1, 1, later), !begins_anew);
        assert_eq!(lender.stand().pauses, u64::from(begins_anew));
        assert_eq!(lender.stand().learning, u64::from(begins_anew));
    }
}

#[test]
fn a_pause_is_noticed_though_no_key_was_kept() {
    let mut lender = lender(full(), true);
    let mut now = at(0);
    while let Some(next) = lender.poll_timeout().filter(|next| *next < at(4 * SECOND)) {
        lender.handle_timeout(next);
        now = next;
    }
    assert!(now > at(3_500 * MILLI), "it is called all the time");
    assert!(
        !passes(&mut lender, 1, 1, at(6 * SECOND)),
        "another may have granted"
    );
    assert_eq!(lender.stand().pauses, 1);
}

#[test]
fn whoever_acts_for_another_begins_as_its_successor_and_only_once() {
    let mut lender = lender(full(), true);
    assert!(passes(&mut lender, 1, 1, at(4 * SECOND)));
    lender.act(ModeKey(1), at(4_100 * MILLI));
    assert!(!passes(&mut lender, 1, 1, at(4_200 * MILLI)));
    let mut now = 4_200 * MILLI;
    while now < 6_100 * MILLI {
        now += 100 * MILLI;
        lender.act(ModeKey(1), at(now));
    }
    assert!(
        passes(&mut lender, 1, 1, at(now)),
        "it went on, and the term is over"
    );
    lender.act(ModeKey(1), at(now + 5 * SECOND));
    assert!(
        !passes(&mut lender, 1, 1, at(now + 5 * SECOND)),
        "another may have granted meanwhile"
    );
}

#[test]
fn keys_of_others_are_forgotten() {
    let mut lender = lender(full(), true);
    for key in 0..10 {
        assert!(passes(&mut lender, key, 1, at(4 * SECOND)));
    }
    lender.retain(|key| key.0 < 4, false, at(4_100 * MILLI));
    assert_eq!(lender.keys_count(), 4);
    assert!(
        passes(&mut lender, 0, 1, at(4_200 * MILLI)),
        "its own goes on"
    );
    assert!(
        !passes(&mut lender, 9, 1, at(4_200 * MILLI)),
        "this may be out"
    );
}

#[test]
fn keys_begin_full_where_nobody_has_lent_before() {
    let begun = || {
        let mut lender = lender(full(), true);
        lender.begin_first();
        lender
    };
    let mut first = begun();
    assert!(first.wants_proof() && !passes(&mut first, 1, 1, at(0)));
    first.prove();
    assert!(!first.wants_proof() && passes(&mut first, 1, 10, at(0)));
    // Nodes only came: all keys were its own before.
    first.retain(|key| key.0 < 4, true, at(MILLI));
    assert!(passes(&mut first, 2, 10, at(MILLI)));
    // One has gone, that may have lent this.
    first.retain(|_| true, false, at(2 * MILLI));
    assert!(!passes(&mut first, 3, 1, at(3 * MILLI)));
    let mut other = lender(full(), true);
    other.prove();
    assert!(!passes(&mut other, 1, 1, at(0)), "it may have run before");
}

#[test]
fn a_grantor_answers_for_keys_of_others_once_what_it_lent_is_over() {
    let mut lender = lender(full(), true);
    assert!(!lender.is_settled(at(0)), "a predecessor may have lent");
    assert!(lender.is_settled(at(5 * SECOND)));
    assert!(passes(&mut lender, 1, 1, at(5 * SECOND)));
    lender.retain(|key| key.0 == 1, true, at(5 * SECOND));
    assert!(lender.is_settled(at(5 * SECOND)), "it is still its own");
    lender.retain(|key| key.0 != 1, true, at(5 * SECOND));
    assert!(!lender.is_settled(at(7 * SECOND)));
    assert!(lender.is_settled(at(9 * SECOND)));
}

#[test]
fn only_what_would_begin_the_same_is_dropped() {
    let mut lender = lender(full(), false);
    let mut now = 4 * SECOND;
    for key in 0..2_000 {
        assert!(passes(&mut lender, key, 10, at(now)));
    }
    assert!(!lender.evict(at(now)), "every key has spent something");
    assert_eq!(lender.keys_count(), 2_000);
    // A tenth of a second fills them.
    for _ in 0..10 {
        now += 250 * MILLI;
        lender.handle_timeout(at(now));
    }
    assert_eq!(lender.keys_count(), 0);
    assert_eq!(lender.poll_timeout(), None);
    assert_eq!(
        lender.stand().figures.served,
        2_000,
        "what was counted stays counted"
    );
}

#[test]
fn a_new_limit_counts_from_the_next_answer_on() {
    let mut lender = lender(full(), false);
    assert!(passes(&mut lender, 1, 10, at(4 * SECOND)));
    let smaller = Limits::new(100, SECOND, 20).unwrap();
    lender.change(smaller, full(), at(4 * SECOND));
    assert!(passes(&mut lender, 1, 20, at(4 * SECOND)));
    assert!(!passes(&mut lender, 1, 1, at(4 * SECOND)));
}

#[test]
fn a_line_is_served_no_further_than_others_allow() {
    let mut lender = lender(full(), false);
    let asked = Question {
        need: Need { cost: 2, count: 10 },
        ..question(1, 1, 0)
    };
    let now = at(4 * SECOND);
    assert_eq!(lender.servable(ModeKey(1), &asked, now), 10);
    let grant = lender.handle_question(ModeKey(1), &asked, 3, now).unwrap();
    assert_eq!(grant.served, 3);
    assert_eq!(lender.probe(ModeKey(1), 1, now).remaining, 44);
    let none = Question { seq: 2, ..asked };
    let grant = lender.handle_question(ModeKey(1), &none, 0, now).unwrap();
    assert_eq!(grant.served, 0);
}

prop_compose! {
    /// Anything that a client may claim.
    fn claim()(
        client in 0..4_u64, boot in 0..3_u64, seq in 1..30_u64,
        got in 0..12_u64, session in (6..12_u64, 0..12_u64),
        amounts in prop::array::uniform4(prop_oneof![Just(0), 0..60 * TOKEN, Just(1_i128 << 100)]),
        want in 0..1_000_000_u64, need in (0..5_u64, 0..20_u64), charge in 0..3_u64, is_ask: bool,
        after in 0..700_u64,
    ) -> (Question, u64) {
        let [rate, cap, have, give] = amounts;
        let question = Question {
            client, boot, key: ModeKey(9), seq,
            got: Stamp { generation: 7, seq: got },
            session: Stamp { generation: session.0, seq: session.1 },
            rate: rate / 1_000_000_000, cap, have, give, want,
            need: if need.0 == 0 { Need::default() } else { Need { cost: need.0, count: need.1 } },
            seen: 3, charge, is_ask,
        };
        (question, after)
    }
}

proptest! {
    /// Whatever clients say, books hold: the pool and all that is reserved are one bucket, and its rate.
    #[test]
    fn liars_get_no_more_than_there_is(claims in prop::collection::vec(claim(), 1..80)) {
        let mut lender = lender(full(), false);
        let (limits, mut now) = (Limits::new(100, SECOND, 50).unwrap(), 0);
        for (claim, after) in claims {
            now += after * MILLI;
            let _ = lender.handle_question(ModeKey(1), &claim, u64::MAX, at(now));
            let pool = lender.inspect(ModeKey(1), at(now)).unwrap();
            let ((rate, depth), (unknown_rate, unknown_depth)) = (pool.reserved(), pool.unknown());
            prop_assert!(pool.level() + depth + unknown_depth <= limits.depth());
            prop_assert!(rate + unknown_rate <= limits.rate());
            prop_assert!(pool.lessees() <= 4);
        }
    }
}
