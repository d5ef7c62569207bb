//! One limiter under many threads, with little room, and with estimates: what it admits never exceeds the law.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tollgate_client::{
    Algorithm, Clock, Contracts, FakeClock, Limiter, LimiterConfig, LimiterError, Period,
    PolicyConfig, RefusedBy, Verdict, WhenFull,
};

const THREADS: usize = 8;

fn fake(policy: PolicyConfig) -> Limiter<FakeClock> {
    Limiter::with_clock([policy], FakeClock::default()).unwrap()
}

#[test]
fn threads_at_one_time_admit_exactly_the_limit() {
    for algorithm in Algorithm::ALL {
        let limiter = fake(PolicyConfig::new(algorithm, 3_000, Period::MINUTE));
        let admitted = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for _ in 0..1_000 {
                        let allowed = limiter.check("shared", 1).is_allowed();
                        admitted.fetch_add(u64::from(allowed), Relaxed);
                    }
                });
            }
        });
        assert_eq!(admitted.into_inner(), 3_000, "{}", algorithm.name());
    }
}

#[test]
fn threads_on_a_moving_clock_admit_at_most_the_law() {
    let mut policy = PolicyConfig::token_bucket(1_000, Period::SECOND);
    policy.burst = Some(50);
    let limiter = fake(policy);
    let admitted = AtomicU64::new(0);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while !over.load(Relaxed) {
                    let allowed = limiter.check("shared", 1).is_allowed();
                    admitted.fetch_add(u64::from(allowed), Relaxed);
                }
            });
        }
        for _ in 0..2_000 {
            limiter.clock().advance(Duration::from_micros(700));
            std::thread::yield_now();
        }
        over.store(true, Relaxed);
    });
    let law = 50 + limiter.clock().now().as_nanos() / 1_000_000;
    assert!(admitted.into_inner() <= law);
}

#[test]
fn threads_that_reserve_and_settle_leave_what_they_spent() {
    let limiter = fake(PolicyConfig::token_bucket(1_000_000, Period::HOUR));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for actual in 0..100 {
                    let reservation = limiter.reserve("shared", 50, Duration::from_secs(1));
                    assert!(reservation.unwrap().commit(actual));
                }
            });
        }
    });
    let spent = THREADS as u64 * (0..100).sum::<u64>();
    assert_eq!(limiter.check("shared", 0).remaining, 1_000_000 - spent);
}

#[test]
fn a_full_table_turns_new_keys_away_and_keeps_the_old() {
    let contracts = Contracts::parse(
        "contracts:\n  - id: all\n    key: [user]\n    policies: [{ name: rate, limit: 2, per: 1h }]\n",
    );
    let config = LimiterConfig {
        bytes_max: 64 << 10,
        when_full: WhenFull::Refuse,
        ..LimiterConfig::default()
    };
    let limiter = Limiter::with(contracts.unwrap(), config, FakeClock::default()).unwrap();
    let kept: Vec<u64> = (0..100_000)
        .filter(|user| limiter.check(*user, 1).is_allowed())
        .collect();
    assert!(
        !kept.is_empty() && kept.len() < 100_000,
        "{} keys found room",
        kept.len()
    );
    assert!(limiter.counters().refused_new > 0);
    assert_eq!(limiter.counters().evicted_live, 0);

    let refused = (0..100_000).find(|user| !kept.contains(user)).unwrap();
    let answer = limiter.check(refused, 1);
    assert_eq!(answer.refused_by, Some(RefusedBy::FullTable));
    assert!(matches!(answer.verdict, Verdict::Deny { .. }));
    for user in kept {
        assert_eq!(
            limiter.check(user, 1).remaining,
            0,
            "user {user} was not forgotten"
        );
    }
}

#[test]
fn a_reservation_can_be_settled_within_its_time_only() {
    let limiter = fake(PolicyConfig::token_bucket(100, Period::HOUR));
    let left = || limiter.status("a")[0].1[0].remaining;
    let ttl = Duration::from_millis(100);

    let reservation = limiter.reserve("a", 60, ttl).unwrap();
    assert_eq!(reservation.answer().remaining, 40);
    assert!(
        limiter.reserve("a", 60, ttl).is_err(),
        "what is reserved is spent"
    );
    assert!(reservation.commit(10));
    assert_eq!(left(), 90);

    assert!(limiter.reserve("a", 60, ttl).unwrap().cancel());
    assert_eq!(left(), 90);

    let late = limiter.reserve("a", 60, ttl).unwrap();
    limiter.clock().advance(ttl);
    assert!(!late.commit(10), "the estimate stands");
    assert_eq!(left(), 30);

    drop(limiter.reserve("a", 20, ttl).unwrap());
    assert_eq!(left(), 10, "a reservation that was forgotten stays spent");
}

#[test]
fn a_contract_that_needs_company_is_refused_by_name_unless_told_to_be_alone() {
    let text = "contracts:\n  - id: all\n    key: [user]\n    policies: \
                [{ name: rate, limit: 2, per: 1h, coordination: gossip }]\n";
    let Err(LimiterError::NeedsCompany {
        contract,
        policy,
        wish,
    }) = Limiter::from_text(text)
    else {
        panic!("it was not refused");
    };
    assert_eq!((&*contract, &*policy, wish), ("all", "rate", "gossip"));
    let alone = LimiterConfig {
        alone: true,
        ..LimiterConfig::default()
    };
    let contracts = Contracts::parse(text).unwrap();
    assert!(Limiter::with(contracts, alone, FakeClock::default()).is_ok());
}

#[test]
fn a_contract_file_is_read_and_its_absence_reported() {
    let path = std::env::temp_dir().join(format!("tollgate-client-{}.yaml", std::process::id()));
    assert!(matches!(
        Limiter::from_file(&path),
        Err(LimiterError::File(_))
    ));
    std::fs::write(
        &path,
        "contracts:\n  - id: a\n    policies: [{ name: b, limit: 1, per: 1h }]\n",
    )
    .unwrap();
    let limiter = Limiter::from_file(&path);
    std::fs::remove_file(&path).unwrap();
    let limiter = limiter.unwrap();
    assert!(limiter.check("anybody", 1).is_allowed());
    assert!(
        !limiter.check("somebody else", 1).is_allowed(),
        "they share one counter"
    );
    assert!(matches!(
        Limiter::from_text("contracts: 7"),
        Err(LimiterError::Contract(_))
    ));
}
