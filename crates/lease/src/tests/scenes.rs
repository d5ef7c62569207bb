//! Single scenes, by hand.

use tollgate_limit::Instant;

use crate::{
    Lessee, LesseeAnswer, Limits, ModeKey, Need, OnFailure, Pool, Question, Rules, Setup, TOKEN,
};

const MS: u64 = 1_000_000;

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * MS)
}

fn pool() -> Pool {
    Pool::new(
        Limits::new(100, 1_000 * MS, 100).unwrap(),
        Rules::default(),
        1,
        at(0),
    )
}

pub(crate) fn question(seq: u64) -> Question {
    Question {
        client: 1,
        boot: 1,
        key: ModeKey(1),
        seq,
        want: 50_000,
        seen: 1,
        is_ask: true,
        ..Question::default()
    }
}

/// A client that names a session of before gets nothing for it.
#[test]
fn returns_of_an_older_session_do_not_count() {
    let mut pool = pool();
    let first = pool.handle_question(&question(1), at(0)).unwrap();
    // The term ends; a question that was delayed opens another session.
    pool.handle_question(&question(2), at(3_000)).unwrap();
    let level = pool.level();
    let late = Question {
        session: first.session,
        got: first.stamp,
        give: 5 * TOKEN,
        want: 0,
        is_ask: false,
        ..question(3)
    };
    pool.handle_question(&late, at(3_000));
    assert_eq!(pool.level(), level);
}

/// A client with a lease that began at `at(0)`.
fn leased(pool: &mut Pool) -> Lessee {
    let mut lessee = Lessee::new(Setup::new(1, 1, ModeKey(1)), at(0));
    for _ in 0..40 {
        let _ = lessee.check(1, at(0));
    }
    for _ in 0..3 {
        while let Some(question) = lessee.poll_send() {
            if let Some(grant) = pool.handle_question(&question, at(0)) {
                lessee.handle_grant(&grant, at(0));
            }
        }
        let _ = lessee.check(1, at(0));
    }
    while lessee.poll_decided().is_some() {}
    lessee
}

/// Tokens that end while a question is out are not given back by its answer.
#[test]
fn what_was_voided_in_flight_is_lost() {
    let mut pool = pool();
    let mut lessee = leased(&mut pool);
    lessee.handle_nudge(at(5));
    let question = core::iter::from_fn(|| lessee.poll_send()).last().unwrap();
    assert!(question.is_ask);
    let grant = pool.handle_question(&question, at(6)).unwrap();
    assert_eq!(grant.session, question.session);
    assert!(lessee.held(at(7)).level >= TOKEN);
    lessee.release_in_flight(at(7));
    lessee.handle_grant(&grant, at(8));
    let surplus = (grant.tokens - grant.depth).max(0);
    assert_eq!(lessee.held(at(8)).give, question.give + surplus);
}

/// A lease that ended stays ended, though a successor believes a late question that it has not.
#[test]
fn what_ended_is_not_had_again_of_a_successor() {
    let mut pool = pool();
    let mut lessee = leased(&mut pool);
    lessee.handle_nudge(at(1_900));
    let question = core::iter::from_fn(|| lessee.poll_send()).last().unwrap();
    assert!(question.rate > 0 && question.cap > 0);
    // The lease ends on both sides, and another may get it; then the grantor falls.
    lessee.handle_timeout(at(2_001));
    assert_eq!(lessee.held(at(2_001)).depth, 0);
    let limits = *pool.limits();
    let mut next = Pool::restating(limits, Rules::default(), 2, at(2_010));
    let grant = next.handle_question(&question, at(2_020)).unwrap();
    assert_eq!(grant.rate, question.rate);
    lessee.handle_grant(&grant, at(2_021));
    assert_eq!(lessee.held(at(2_021)).rate, 0);
}

#[test]
fn a_lease_is_granted_and_spent_without_messages() {
    let mut pool = pool();
    let mut lessee = leased(&mut pool);
    while lessee.poll_send().is_some() {}
    let held = lessee.held(at(0));
    assert!(
        held.level > 5 * TOKEN && held.depth >= held.level,
        "{held:?}"
    );
    assert!(matches!(lessee.check(1, at(1)), LesseeAnswer::Allow(_)));
    assert!(lessee.poll_send().is_none());
}

#[test]
fn a_hoarded_token_does_not_let_the_pool_fill_to_the_burst() {
    let mut pool = pool();
    let lessee = leased(&mut pool);
    pool.advance(at(1_900));
    let held = lessee.held(at(0));
    assert!(held.depth > 0);
    assert!(pool.level() + held.depth <= 100 * TOKEN);
    pool.advance(at(5_000));
    assert_eq!(pool.level(), 100 * TOKEN, "room and rate come back");
    assert_eq!(pool.lessees(), 0);
}

#[test]
fn a_question_said_twice_is_answered_twice_and_counted_once() {
    let mut pool = pool();
    let ask = Question {
        need: Need { cost: 1, count: 3 },
        ..question(1)
    };
    let first = pool.handle_question(&ask, at(0));
    let level = pool.level();
    assert_eq!(pool.handle_question(&ask, at(0)), first);
    assert_eq!(pool.level(), level);
    assert!(
        pool.handle_question(&Question { boot: 0, ..ask }, at(0))
            .is_none()
    );
}

#[test]
fn a_cold_key_is_asked_and_has_no_record() {
    let mut pool = pool();
    let mut lessee = Lessee::new(Setup::new(1, 1, ModeKey(1)), at(0));
    let mut messages = 0;
    for second in 0..20 {
        let now = at(second * 2_000);
        assert!(matches!(lessee.check(1, now), LesseeAnswer::Wait(_)));
        let question = lessee.poll_send().unwrap();
        let grant = pool.handle_question(&question, now).unwrap();
        lessee.handle_grant(&grant, now);
        messages += 2;
        assert!(lessee.poll_decided().unwrap().is_allowed);
        assert!(lessee.poll_send().is_none());
        assert_eq!(pool.lessees(), 0);
    }
    assert_eq!(messages, 40);
}

#[test]
fn a_dry_pool_says_how_long_and_the_client_refuses_by_itself() {
    let mut pool = Pool::new(
        Limits::new(1, 1_000 * MS, 1).unwrap(),
        Rules::default(),
        1,
        at(0),
    );
    let mut lessee = Lessee::new(Setup::new(1, 1, ModeKey(1)), at(0));
    assert_eq!(lessee.check(1, at(0)), LesseeAnswer::Wait(0));
    let question = lessee.poll_send().unwrap();
    let grant = pool.handle_question(&question, at(0)).unwrap();
    lessee.handle_grant(&grant, at(0));
    assert!(lessee.poll_decided().unwrap().is_allowed);
    let LesseeAnswer::Deny { retry_after } = lessee.check(1, at(400)) else {
        panic!("it knows better");
    };
    assert_eq!(retry_after.as_nanos(), 600_000_000);
    assert!(lessee.poll_send().is_none());
}

#[test]
fn who_hears_nothing_answers_as_configured() {
    let safe = OnFailure::Safe {
        per_second: 10,
        burst: 2,
    };
    for (on_failure, expected) in [(OnFailure::Deny, 0), (OnFailure::Allow, 5), (safe, 2)] {
        let setup = Setup {
            on_failure,
            ..Setup::new(1, 1, ModeKey(1))
        };
        let mut lessee = Lessee::new(setup, at(0));
        let _ = lessee.check(1, at(0));
        lessee.handle_timeout(at(200));
        let first = lessee.poll_decided().unwrap();
        let mut allowed = u32::from(first.is_allowed);
        for _ in 0..4 {
            let answer = lessee.check(1, at(201));
            allowed += u32::from(answer == LesseeAnswer::Failed { is_allowed: true });
        }
        assert_eq!(allowed, expected, "{on_failure:?}");
    }
}

#[test]
fn a_smaller_contract_empties_the_pool_until_what_is_lent_fits() {
    let mut pool = pool();
    let _lessee = leased(&mut pool);
    let (_, depth) = pool.reserved();
    assert!(depth > 10 * TOKEN);
    pool.change(Limits::new(10, 1_000 * MS, 10).unwrap(), at(100));
    assert!(pool.level() <= 0);
    assert!(pool.poll_nudge(ModeKey(1)).is_some());
    pool.advance(at(5_000));
    assert!(pool.level() <= 10 * TOKEN && pool.level() > 0);
}

#[test]
fn a_refund_counts_in_its_own_lease_only() {
    let mut pool = pool();
    let mut lessee = leased(&mut pool);
    let LesseeAnswer::Allow(receipt) = lessee.check(3, at(1)) else {
        panic!("there is a lease");
    };
    let before = lessee.held(at(1)).level;
    lessee.settle(receipt, 1, at(1));
    assert_eq!(lessee.held(at(1)).level, before + 2 * TOKEN);
    lessee.release(at(2));
    lessee.settle(receipt, 0, at(3));
    assert_eq!(lessee.held(at(3)).level, 0);
}

#[test]
fn a_client_that_is_far_away_renews_early_and_asks_ahead() {
    // Answers take 200 ms, and leases last for a second.
    let rules = Rules {
        term_ns: 1_000 * MS,
        ..Rules::default()
    };
    let mut pool = Pool::new(Limits::new(100, 1_000 * MS, 100).unwrap(), rules, 1, at(0));
    let setup = Setup {
        trip_ns: 200 * MS,
        term_ns: rules.term_ns,
        ..Setup::new(1, 1, ModeKey(1))
    };
    let mut lessee = Lessee::new(setup, at(0));
    for _ in 0..20 {
        let _ = lessee.check(1, at(0));
    }
    let mut asked = Vec::new();
    for millis in (0..1_000).step_by(10) {
        lessee.handle_timeout(at(millis));
        let _ = lessee.check(1, at(millis));
        if let Some(question) = lessee.poll_send().filter(|question| question.is_ask) {
            let grant = pool.handle_question(&question, at(millis)).unwrap();
            lessee.handle_grant(&grant, at(millis + 200));
            asked.push((millis, grant.depth > 0));
        }
    }
    let held: Vec<u64> = asked
        .iter()
        .filter(|(_, has)| *has)
        .map(|(at, _)| *at)
        .collect();
    assert!(
        held.len() > 1 && held.windows(2).all(|pair| pair[1] - pair[0] < 500),
        "{asked:?}"
    );
    // With nothing left and nothing lent, the next question arrives with the token.
    let mut scarce = Pool::new(Limits::new(2, 1_000 * MS, 1).unwrap(), rules, 1, at(0));
    let mut lessee = Lessee::new(setup, at(0));
    let _ = lessee.check(1, at(0));
    let question = lessee.poll_send().unwrap();
    let grant = scarce.handle_question(&question, at(100)).unwrap();
    lessee.handle_grant(&grant, at(200));
    assert!(matches!(
        lessee.check(1, at(499)),
        LesseeAnswer::Deny { .. }
    ));
    assert!(matches!(lessee.check(1, at(500)), LesseeAnswer::Wait(_)));
    let question = lessee.poll_send().unwrap();
    let grant = scarce.handle_question(&question, at(600)).unwrap();
    assert_eq!(grant.served, 1);
}
