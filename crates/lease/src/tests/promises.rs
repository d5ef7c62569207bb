//! Requests that wait at a client for what comes back to its lease, by hand.

use tollgate_limit::{Instant, Span};

use crate::{
    Grant, LeaseReceipt, Lessee, LesseeAnswer, ModeKey, Question, Setup, Stamp, TOKEN, Waits,
};

const MS: u64 = 1_000_000;

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * MS)
}

/// A grant of ten tokens, ten deep, that come back at one in 10 ms.
fn grant(question: &Question) -> Grant {
    Grant {
        client: 1,
        boot: 1,
        key: ModeKey(1),
        stamp: Stamp {
            generation: 1,
            seq: question.seq,
        },
        session: Stamp {
            generation: 1,
            seq: 1,
        },
        served: question.need.count,
        waits: Waits::default(),
        tokens: 10 * TOKEN,
        rate: TOKEN / i128::from(10 * MS),
        depth: 10 * TOKEN,
        term_ns: 2_000 * MS,
        // So it is not asked for more at once.
        deny_ns: 1_000 * MS,
    }
}

fn last_said(lessee: &mut Lessee) -> Option<Question> {
    core::iter::from_fn(|| lessee.poll_send()).last()
}

/// A client with ten tokens at 0 ms, whose requests may wait 55 ms.
fn leased(term_ns: u64) -> Lessee {
    let mut setup = Setup::new(1, 1, ModeKey(1));
    setup.max_wait_ns = 55 * MS;
    // No question is said twice, and none is given up.
    setup.timeout_ns = 10_000 * MS;
    let mut lessee = Lessee::new(setup, at(0));
    assert!(matches!(lessee.check(1, at(0)), LesseeAnswer::Wait(_)));
    let question = last_said(&mut lessee).unwrap();
    let grant = Grant {
        term_ns,
        ..grant(&question)
    };
    lessee.handle_grant(&grant, at(0));
    lessee
}

/// The same, which has spent them.
fn dry() -> Lessee {
    let mut lessee = leased(2_000 * MS);
    assert!(matches!(lessee.check(10, at(0)), LesseeAnswer::Allow(_)));
    lessee
}

fn waits(lessee: &mut Lessee, cost: u64, now: Instant) -> Option<(LeaseReceipt, Span)> {
    match lessee.check(cost, now) {
        LesseeAnswer::Delay { receipt, wait } => Some((receipt, wait)),
        _ => None,
    }
}

#[test]
fn requests_wait_in_turn_for_what_comes_back_and_not_longer_than_they_may() {
    let mut lessee = dry();
    for turn in 1..=5_u128 {
        let (_, wait) = waits(&mut lessee, 1, at(0)).unwrap();
        let least = turn * u128::from(10 * MS);
        // A clock may run fast by 500 millionths, and show a tick too many each time.
        let most = least + least / 1_999 + 10;
        assert!(
            (least..=most).contains(&wait.as_nanos()),
            "{turn}: {wait:?}"
        );
    }
    assert_eq!(waits(&mut lessee, 1, at(0)), None, "that would be 60 ms");
    assert!(waits(&mut lessee, 1, at(11)).is_some());
    assert!(
        lessee.held(at(11)).level < -4 * TOKEN,
        "debited when promised"
    );
    for now in 12..80 {
        lessee.handle_timeout(at(now));
    }
    assert!(
        lessee.held(at(80)).level > TOKEN,
        "and nobody waits any more"
    );
}

#[test]
fn a_cost_that_never_fits_and_one_beyond_the_term_do_not_wait() {
    let mut lessee = leased(2_000 * MS);
    assert_eq!(waits(&mut lessee, 11, at(0)), None);
    // It ends at 39 ms: two looks at the clock before the term, and what the clock may be off.
    let mut lessee = leased(60 * MS);
    assert!(matches!(lessee.check(10, at(0)), LesseeAnswer::Allow(_)));
    assert_eq!(waits(&mut lessee, 4, at(0)), None);
    let mut lessee = leased(60 * MS);
    assert!(matches!(lessee.check(10, at(0)), LesseeAnswer::Allow(_)));
    assert!(waits(&mut lessee, 3, at(0)).is_some());
}

#[test]
fn a_lease_that_ended_after_its_promises_leaves_nothing_to_the_next() {
    let mut lessee = leased(60 * MS);
    assert!(matches!(lessee.check(10, at(0)), LesseeAnswer::Allow(_)));
    assert!(waits(&mut lessee, 3, at(0)).is_some());
    lessee.handle_timeout(at(25));
    lessee.handle_timeout(at(41));
    assert!(matches!(lessee.check(1, at(1_001)), LesseeAnswer::Wait(_)));
    let question = last_said(&mut lessee).unwrap();
    lessee.handle_grant(&grant(&question), at(1_001));
    assert_eq!(lessee.held(at(1_001)).level, 10 * TOKEN);
}

#[test]
fn who_never_waits_is_promised_nothing() {
    let mut lessee = dry();
    assert!(matches!(
        lessee.try_check(1, at(0)),
        LesseeAnswer::Deny { .. }
    ));
    lessee.follow(&Setup::new(1, 1, ModeKey(1)), at(0));
    assert_eq!(waits(&mut lessee, 1, at(0)), None);
}

#[test]
fn what_was_promised_and_is_not_wanted_comes_back() {
    let mut lessee = dry();
    let (receipt, _) = waits(&mut lessee, 3, at(0)).unwrap();
    lessee.settle(receipt, 1, at(0));
    assert_eq!(lessee.held(at(0)).level, -TOKEN);
}

/// What came back before a promise was let through had to leave room for it, though nobody looked at the lease.
#[test]
fn who_slept_past_a_promise_has_only_what_came_back_beside_it() {
    let mut lessee = dry();
    assert!(waits(&mut lessee, 5, at(0)).is_some(), "for 50 ms");
    (1..44).for_each(|now| lessee.handle_timeout(at(now)));
    lessee.handle_nudge(at(44));
    let question = last_said(&mut lessee).unwrap();
    // From here on ten times as much comes back as it was promised by.
    let more = Grant {
        rate: TOKEN / i128::from(MS),
        ..grant(&question)
    };
    lessee.handle_grant(&more, at(45));
    // Five were free when the five were let through, at 50 ms; two have come back since.
    let level = lessee.held(at(52)).level;
    assert!(level > 6 * TOKEN && level <= 7 * TOKEN, "{level}");
}

#[test]
fn a_cut_waits_for_what_was_promised_and_nothing_more_is_promised_meanwhile() {
    let mut lessee = dry();
    lessee.handle_nudge(at(0));
    let question = last_said(&mut lessee).unwrap();
    assert!(question.is_ask);
    let (_, wait) = waits(&mut lessee, 1, at(0)).unwrap();
    let cut = |question: &Question| Grant {
        tokens: 0,
        rate: grant(question).rate / 2,
        depth: 0,
        ..grant(question)
    };
    lessee.handle_grant(&cut(&question), at(1));
    let held = lessee.held(at(1));
    assert_eq!(held.rate, grant(&question).rate, "it was promised by that");
    assert!(held.depth >= TOKEN && held.level < 0);
    lessee.release(at(1));
    assert_eq!(lessee.held(at(1)).rate, held.rate, "nor is it given back");
    assert_eq!(waits(&mut lessee, 1, at(1)), None);
    lessee.handle_nudge(at(1));
    let asked = last_said(&mut lessee).unwrap();
    assert_eq!(asked.rate, held.rate);
    assert!(asked.cap >= TOKEN, "room for what was promised");
    let after = Instant::from_nanos(u64::try_from(wait.as_nanos()).unwrap() + 1);
    lessee.handle_grant(&cut(&asked), after);
    assert_eq!(lessee.held(after).rate, 0);
}
