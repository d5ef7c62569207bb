//! Requests that wait at the grantor: by one bucket where nothing is lent, and beside leases.

use proptest::prelude::*;
use tollgate_gossip::ModeVerdict;
use tollgate_limit::{Instant, Span};

use super::scenes::question;
use crate::{
    Grant, Lessee, LesseeAnswer, Limits, ModeKey, Need, Pool, Question, Rules, Setup, Waits,
    decode_ledger, encode_ledger,
};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * MS)
}

/// A hundred a second, ten at once, and up to 300 ms of waiting.
fn pool() -> Pool {
    let rules = Rules {
        max_wait_ns: 300 * MS,
        ..Rules::default()
    };
    Pool::new(Limits::new(100, SECOND, 10).unwrap(), rules, 1, at(0))
}

fn ask(pool: &mut Pool, cost: u64, now: Instant) -> ModeVerdict {
    let said = pool.probe(cost, now).verdict;
    if said.is_allowed() {
        pool.spend(cost, now);
    }
    said
}

fn waits(said: ModeVerdict) -> u64 {
    match said {
        ModeVerdict::Allow { wait, .. } => u64::try_from(wait.as_nanos()).unwrap(),
        said => panic!("{said:?}"),
    }
}

/// One bucket with a queue, in parts of a token: as many as the period has nanoseconds.
struct Shaper {
    limit: i128,
    period: i128,
    burst: i128,
    level: i128,
    at: u64,
}

impl Shaper {
    fn ask(&mut self, cost: u64, max_wait: u64, now: u64) -> Result<i128, Option<i128>> {
        let earned = self.limit * i128::from(now - self.at);
        self.level = (self.level + earned).min(self.burst * self.period);
        self.at = now;
        let cost = i128::from(cost);
        if cost > self.burst {
            return Err(None);
        }
        let missing = (cost * self.period - self.level).max(0);
        let wait = (missing + self.limit - 1) / self.limit;
        if wait > i128::from(max_wait) {
            return Err(Some(wait - i128::from(max_wait)));
        }
        self.level -= cost * self.period;
        Ok(wait)
    }
}

proptest! {
    #[test]
    fn where_nothing_is_lent_waits_are_those_of_one_bucket(
        limit in 1..2_000_u64,
        period in 1..=3 * SECOND,
        burst in 1..40_u64,
        max_wait in 1..2 * SECOND,
        asks in prop::collection::vec((0..300 * MS, 1..45_u64), 1..60),
    ) {
        let rules = Rules { max_wait_ns: max_wait, ..Rules::default() };
        let mut pool = Pool::new(Limits::new(limit, period, burst).unwrap(), rules, 1, at(0));
        let (limit, period, burst) = (i128::from(limit), i128::from(period), i128::from(burst));
        let mut shaper = Shaper { limit, period, burst, level: burst * period, at: 0 };
        let mut now = 0;
        for (later, cost) in asks {
            now += later;
            let said = match ask(&mut pool, cost, Instant::from_nanos(now)) {
                ModeVerdict::Allow { wait, .. } => Ok(i128::try_from(wait.as_nanos()).unwrap()),
                ModeVerdict::Deny { retry_after } => Err(Some(i128::try_from(retry_after.as_nanos()).unwrap())),
                ModeVerdict::Never => Err(None),
            };
            prop_assert_eq!(said, shaper.ask(cost, max_wait, now));
        }
    }
}

#[test]
fn a_line_is_promised_one_after_the_other() {
    let mut pool = pool();
    let asks = Question {
        want: 0,
        need: Need { cost: 1, count: 60 },
        ..question(1)
    };
    let grant = pool.handle_question(&asks, at(0)).unwrap();
    let waits = Waits {
        count: 30,
        first_ns: 10 * MS,
        gap_ns: 10 * MS,
    };
    assert_eq!((grant.served, grant.waits), (10, waits));
    let all: Vec<Span> = waits.each().collect();
    assert_eq!(all.last(), Some(&Span::from_nanos(u128::from(300 * MS))));
    assert_eq!((pool.figures().served, pool.figures().promised), (40, 30));
    let ModeVerdict::Deny { retry_after } = ask(&mut pool, 1, at(5)) else {
        panic!("the queue is as long as it may be");
    };
    assert_eq!(retry_after, Span::from_nanos(u128::from(5 * MS)));
    assert_eq!(waits_of(&mut pool, 1, 10), 300 * MS);
}

fn waits_of(pool: &mut Pool, cost: u64, millis: u64) -> u64 {
    waits(ask(pool, cost, at(millis)))
}

/// A client with a lease of so much, which it never speaks of again; the pool is empty.
fn lent(pool: &mut Pool, want: u64, now: u64) -> (i128, i128) {
    let asks = Question {
        want,
        ..question(1)
    };
    let grant = pool.handle_question(&asks, at(now)).unwrap();
    assert!(grant.rate > 0, "{grant:?}");
    let left = pool.probe(1, at(now)).remaining;
    pool.spend(left, at(now));
    pool.reserved()
}

/// A pool that nobody looked at for long, while the rate of a lease came back to it, left room for what it promised.
#[test]
fn who_slept_has_left_room_for_what_passed() {
    let mut pool = pool();
    lent(&mut pool, 90_000, 0);
    // The lease ends at 2,000 ms; what is promised then passes after more has come back than it waits for.
    let mut now = 1_990;
    while pool.probe(1, at(now)).remaining > 0 {
        pool.spend(1, at(now));
    }
    let waits: Vec<u64> = (0..3).map(|_| waits_of(&mut pool, 3, now)).collect();
    assert!(waits.is_sorted() && waits[2] > 150 * MS, "{waits:?}");
    now += waits[2].div_ceil(MS);
    // One bucket is full at most when the last passes, and has got a token since.
    pool.advance(at(now + 11));
    assert!(pool.level() <= (10 - 3 + 2) * crate::TOKEN);
}

/// Who reads what was written of a pool keeps what that promised.
#[test]
fn books_tell_what_is_promised() {
    let mut pool = pool();
    pool.spend(10, at(0));
    assert_eq!(waits_of(&mut pool, 5, 0), 50 * MS);
    let mut read = decode_ledger(&encode_ledger(&[(1, pool)])).unwrap();
    let (_, mut pool) = read.pop().unwrap();
    let asks = Question {
        want: 90_000,
        ..question(1)
    };
    assert_eq!(pool.handle_question(&asks, at(10)).unwrap().rate, 0);
}

#[test]
fn what_is_promised_stays_promised_whatever_is_asked_for() {
    let mut pool = pool();
    pool.spend(10, at(0));
    assert_eq!(waits_of(&mut pool, 5, 0), 50 * MS);
    let asks = |seq: u64| Question {
        want: 90_000,
        ..question(seq)
    };
    let none = |grant: Grant| (grant.tokens, grant.rate, grant.depth) == (0, 0, 0);
    assert!(none(pool.handle_question(&asks(1), at(10)).unwrap()));
    // Promises go on, for as long as anybody may wait.
    for now in (10..300).step_by(10) {
        assert_eq!(waits_of(&mut pool, 1, now), 50 * MS);
    }
    assert!(none(pool.handle_question(&asks(2), at(300)).unwrap()));
    // Then rate is called for, and nobody else is promised anything by it.
    let ModeVerdict::Deny { retry_after } = ask(&mut pool, 1, at(300)) else {
        panic!("promised");
    };
    assert_eq!(retry_after, Span::from_nanos(u128::from(40 * MS)));
    let grant = pool.handle_question(&asks(3), at(341)).unwrap();
    let all = Limits::new(100, SECOND, 10).unwrap().rate();
    assert!(grant.rate > all / 3, "{grant:?}");
    // What is left of the rate is promised by.
    let left = all - grant.rate;
    let wait = waits_of(&mut pool, 1, 341);
    let missing = crate::TOKEN - i128::from(MS) * all;
    assert!(
        i128::from(wait) * left >= missing && wait > 10 * MS,
        "{wait}"
    );
}

#[test]
fn almost_as_many_of_a_burst_wait_as_one_bucket_would_let() {
    let rules = Rules {
        max_wait_ns: 500 * MS,
        ..Rules::default()
    };
    let mut pool = Pool::new(Limits::new(10, SECOND, 5).unwrap(), rules, 1, at(0));
    let setup = Setup {
        max_wait_ns: 500 * MS,
        ..Setup::new(1, 1, ModeKey(1))
    };
    let mut lessee = Lessee::new(setup, at(0));
    let mut passed = 0;
    for _ in 0..20 {
        let said = lessee.check(1, at(0));
        passed += u64::from(matches!(
            said,
            LesseeAnswer::Allow(_) | LesseeAnswer::Delay { .. }
        ));
        while let Some(question) = lessee.poll_send() {
            if let Some(grant) = pool.handle_question(&question, at(0)) {
                lessee.handle_grant(&grant, at(0));
            }
        }
        let decided = core::iter::from_fn(|| lessee.poll_decided());
        passed += decided.filter(|decided| decided.is_allowed).count() as u64;
    }
    // Five at once, and five that wait.
    assert!((9..=10).contains(&passed), "{passed}");
}
