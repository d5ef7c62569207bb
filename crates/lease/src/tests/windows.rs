//! Leases of windows and logs: scenes, by hand.

use tollgate_gossip::ModeVerdict;
use tollgate_limit::{
    Algorithm, Calendar, Charge, Cost, Instant, Period, Policy, PolicyConfig, Span,
};

use super::scenes::question;
use crate::window::WindowClock;
use crate::{
    LeaseWindow, Lender, LenderSetup, ModeKey, Pool, QuotaReport, QuotaRules, Rules, TOKEN,
};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

fn fixed(offset_ns: u64, limit: u64, period: u64) -> PolicyConfig {
    PolicyConfig {
        offset_ns,
        ..PolicyConfig::new(Algorithm::FixedWindow, limit, Period::from_nanos(period))
    }
}

fn log(limit: u64, period: u64) -> PolicyConfig {
    PolicyConfig::new(Algorithm::SlidingLog, limit, Period::from_nanos(period))
}

fn window(config: PolicyConfig) -> LeaseWindow {
    LeaseWindow::new(&Policy::new(config).unwrap()).unwrap()
}

const AT: u64 = 1_000 * SECOND;

fn at(millis: u64) -> Instant {
    Instant::from_nanos(AT + millis * MS)
}

/// A pool of a window whose time of day is that far ahead.
fn pool(config: PolicyConfig, ahead: i128) -> Pool {
    let window = window(config);
    let rules = Rules {
        term_ns: 2 * SECOND,
        ..Rules::default()
    };
    let clock = WindowClock { ahead, asked: None };
    Pool::new(window.limits(), rules, 1, at(0)).counting(&window, clock)
}

#[test]
fn a_term_ends_with_the_day_and_not_after_it() {
    let day = PolicyConfig::new(
        Algorithm::FixedWindow,
        100,
        Period::Calendar(Calendar::DAY.in_zone("Asia/Tokyo").unwrap()),
    );
    // In Tokyo a day begins at 15:00 UTC; 1.5 s before that, by a clock that has run for 1,000 s.
    let noon = i128::from(20_000 * 86_400_u64 + 15 * 3_600) * i128::from(SECOND);
    let mut pool = pool(day, noon - i128::from(AT + 1_500 * MS));
    let grant = pool.handle_question(&question(1), at(0)).unwrap();
    assert_eq!(grant.term_ns, 1_499 * MS);
    assert!(grant.tokens > 0 && grant.rate == 0);
    let left = |pool: &mut Pool, millis| pool.probe(1, at(millis)).remaining;
    let before = left(&mut pool, 1_400);
    assert_eq!(i128::from(before) * TOKEN, 100 * TOKEN - grant.tokens);
    pool.spend(before, at(1_400));
    assert_eq!(
        left(&mut pool, 1_499),
        0,
        "what was lent is over, and was spent"
    );
    assert_eq!(left(&mut pool, 1_500), 100, "the next day");
}

#[test]
fn a_clock_that_is_set_ends_no_lease() {
    let minute = |limit| PolicyConfig::new(Algorithm::FixedWindow, limit, Period::MINUTE);
    let mut pool = pool(minute(100), 0);
    let grant = pool.handle_question(&question(1), at(0)).unwrap();
    let lent = u64::try_from(grant.tokens / TOKEN).unwrap();
    assert_eq!(grant.term_ns, 2 * SECOND);
    // Far into another minute, while the client has what it has.
    let clock = |seconds: i128| WindowClock {
        ahead: seconds * i128::from(SECOND),
        asked: None,
    };
    pool.tell_time(clock(600));
    assert_eq!(pool.probe(1, at(10)).remaining, 100 - lent);
    assert_eq!(pool.lessees(), 1);
    // When it ends it may have been spent in this minute.
    assert_eq!(pool.probe(1, at(2_001)).remaining, 100 - lent);
    assert_eq!(pool.lessees(), 0);
    // Back again: what was counted stays counted until the clock has caught up.
    pool.tell_time(clock(0));
    assert_eq!(pool.probe(1, at(2_002)).remaining, 100 - lent);
    assert_eq!(pool.probe(1, at(60_000)).remaining, 100 - lent);
}

#[test]
fn a_successor_has_nothing_until_all_of_before_has_left_the_window() {
    for (config, free) in [
        (log(100, SECOND), 3_000),
        // The window of 1,000 s ends, and with it all that was lent in it.
        (fixed(0, 100, 4 * SECOND), 4_000),
        (fixed(700 * MS, 100, SECOND), 700),
    ] {
        let window = window(config);
        let rules = Rules {
            term_ns: 2 * SECOND,
            ..Rules::default()
        };
        let begins = |rules| {
            Pool::restating(window.limits(), rules, 2, at(0))
                .counting(&window, WindowClock::default())
        };
        let mut pool = begins(rules);
        for millis in (0..free).step_by(100) {
            assert_eq!(
                pool.probe(1, at(millis)).remaining,
                0,
                "{free}: at {millis}"
            );
        }
        assert_eq!(pool.probe(1, at(free)).remaining, 100, "{free}");
        assert!(pool.is_fresh());
        let mut fresh = begins(Rules {
            begins_full: true,
            ..rules
        });
        let over = free.min(2_000);
        assert_eq!(fresh.probe(1, at(over - 2)).remaining, 0);
        assert_eq!(fresh.probe(1, at(over)).remaining, 100);
    }
}

#[test]
fn a_refusal_says_when_a_token_is_free() {
    let mut pool = pool(log(100, 10 * SECOND), 0);
    pool.spend(60, at(0));
    pool.spend(40, at(500));
    let mut asks = question(1);
    (asks.want, asks.need) = (0, crate::Need { cost: 1, count: 1 });
    let grant = pool.handle_question(&asks, at(1_000)).unwrap();
    assert_eq!((grant.served, grant.depth), (0, 0));
    assert_eq!(grant.deny_ns, 9 * SECOND);
    let retry_after = Span::from_nanos(9_500_000_000);
    let said = pool.probe(61, at(1_000));
    assert_eq!(said.verdict, ModeVerdict::Deny { retry_after });
    assert_eq!(said.remaining, 0);
}

/// A grantor of a window since the start of its clock, by a time of day that is an hour ahead.
fn lender(config: PolicyConfig) -> Lender {
    let window = window(config);
    Lender::new(LenderSetup {
        limits: window.limits(),
        window: Some(window),
        rules: Rules::default(),
        generation: 1,
        since: Instant::from_nanos(0),
        has_successors: false,
        quota: Some(QuotaRules::default()),
    })
}

/// Tells a grantor the time; whoever asks read it a millisecond ago.
fn tell(lender: &mut Lender, millis: u64) -> (Instant, Instant) {
    let day = at(millis).as_nanos() + 3_600 * SECOND;
    let asked = Instant::from_nanos(day - MS);
    lender.tell_time(at(millis), Instant::from_nanos(day), asked);
    (at(millis), asked)
}

#[test]
fn a_receipt_settles_what_it_took_and_nothing_later() {
    let key = ModeKey(7);
    let receipt = |at| Charge {
        at,
        cost: 40,
        charged: 1,
    };
    for (by, left) in [(log(100, SECOND), 60), (fixed(0, 100, SECOND), 100)] {
        let mut lender = lender(by);
        let (now, first) = tell(&mut lender, 100);
        lender.take(key, 40, now);
        let (now, _) = tell(&mut lender, 900);
        lender.take(key, 40, now);
        assert_eq!(lender.probe(key, 1, now).remaining, 20);
        lender.settle(key, &receipt(first), Cost::new(10).unwrap(), now);
        assert_eq!(lender.probe(key, 1, now).remaining, 50);
        // The first is out of the window, and the second is not given back in its place.
        let (now, _) = tell(&mut lender, 1_150);
        lender.settle(key, &receipt(first), Cost::PEEK, now);
        assert_eq!(lender.probe(key, 1, now).remaining, left, "{left}");
        lender.take(key, 1, now);
        lender.settle(key, &receipt(first), Cost::PEEK, now);
        assert_eq!(lender.probe(key, 1, now).remaining, left - 1, "{left}");
    }
}

#[test]
fn a_key_of_a_window_is_charged_refunded_reset_changed_and_forgotten() {
    let (key, mut lender) = (ModeKey(7), lender(log(100, SECOND)));
    let (now, _) = tell(&mut lender, 0);
    lender.charge(key, 130, None, now);
    assert_eq!(lender.standing(key, now).remaining, 0);
    assert_eq!(
        lender.standing(key, now).reset_after.as_nanos(),
        u128::from(SECOND)
    );
    lender.refund(key, 80, now);
    assert_eq!(lender.standing(key, now).remaining, 50);
    lender.recount(&window(log(60, SECOND)), now);
    assert_eq!(lender.standing(key, now).remaining, 10);
    lender.reset(key, now);
    assert_eq!(lender.standing(key, now).remaining, 60);
    let report = QuotaReport {
        elapsed_ns: SECOND,
        allowed: 5,
        denied: 0,
    };
    assert_eq!(lender.handle_report(key, 1, &report, now), None);
    let grant = lender.handle_question(key, &question(1), 0, now).unwrap();
    assert!(grant.tokens > 0);
    assert!(lender.footprint().local > 0);
    // What was lent is over after two seconds, and counts for one more.
    for millis in [500, 1_500, 2_500, 3_100] {
        let (now, _) = tell(&mut lender, millis);
        lender.handle_timeout(now);
        assert_eq!(lender.knows(key), millis < 3_000, "{millis}");
    }
}
