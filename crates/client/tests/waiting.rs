//! Waiting for a turn, on clocks that nobody has to wait for.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tollgate_client::{
    Algorithm, Clock, FakeClock, Instant, Limiter, OnLimit, Period, PolicyConfig, Verdict,
    WaitError, WaitLimits,
};

mod common;
use common::{Sleep, StubbornClock};

const SECOND: Duration = Duration::from_secs(1);
const STRICT: WaitLimits = WaitLimits {
    wait_max: Duration::from_mins(1),
    waiters_max: 100,
    jitter_percent: 0,
};

fn one_a_second() -> PolicyConfig {
    PolicyConfig::token_bucket(1, Period::SECOND)
}

/// One a second; who comes too early is admitted and told to wait.
fn queue() -> PolicyConfig {
    let on_limit = OnLimit::Delay { max_wait_ns: None };
    PolicyConfig {
        on_limit,
        ..one_a_second()
    }
}

fn fake(policy: PolicyConfig) -> Limiter<FakeClock> {
    Limiter::with_clock([policy], FakeClock::default()).unwrap()
}

fn stubborn(policy: PolicyConfig, sleep: Sleep) -> Limiter<StubbornClock> {
    Limiter::with_clock([policy], StubbornClock::new(sleep)).unwrap()
}

/// Polls once; a future that does not end there is returned to be dropped or polled again by the caller.
fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[tokio::test]
async fn passes_at_once_where_there_is_enough() {
    let limiter = fake(one_a_second());
    let answer = limiter.until_ready("a", 1).await.unwrap();
    assert_eq!(answer.verdict, Verdict::Allow);
    assert_eq!(limiter.clock().now(), Instant::default());
}

#[tokio::test]
async fn a_denied_request_sleeps_until_it_passes() {
    let limiter = fake(one_a_second());
    for second in 0..5 {
        assert!(limiter.until_ready_with(STRICT, "a", 1).await.is_ok());
        assert_eq!(
            limiter.clock().now(),
            Instant::from_nanos(second * 1_000_000_000)
        );
    }
}

#[tokio::test]
async fn jitter_adds_at_most_its_share() {
    let patience = WaitLimits {
        jitter_percent: 50,
        ..STRICT
    };
    let mut spans = Vec::new();
    for _ in 0..50 {
        let limiter = fake(one_a_second());
        assert!(limiter.until_ready_with(patience, "a", 1).await.is_ok());
        assert!(limiter.until_ready_with(patience, "a", 1).await.is_ok());
        spans.push(limiter.clock().now().as_nanos());
    }
    assert!(
        spans
            .iter()
            .all(|span| (1_000_000_000..=1_500_000_000).contains(span))
    );
    spans.dedup();
    assert!(spans.len() > 40, "limiters draw differently");
}

#[tokio::test]
async fn a_delayed_request_sleeps_once_and_passes() {
    let limiter = fake(PolicyConfig::new(
        Algorithm::LeakyBucket,
        10,
        Period::SECOND,
    ));
    for turn in 0..10 {
        let answer = limiter.until_ready_with(STRICT, "a", 1).await.unwrap();
        assert!(answer.is_allowed());
        assert_eq!(
            limiter.clock().now(),
            Instant::from_nanos(turn * 100_000_000)
        );
    }
}

#[tokio::test]
async fn a_wait_beyond_what_is_allowed_is_refused_at_once_and_charges_nothing() {
    for policy in [one_a_second(), queue()] {
        let limiter = fake(policy);
        assert!(limiter.until_ready("a", 1).await.is_ok());
        let before = limiter.status("a");
        let patience = WaitLimits {
            wait_max: Duration::from_nanos(999_999_999),
            ..STRICT
        };
        let refused = limiter.until_ready_with(patience, "a", 1).await;
        assert_eq!(
            refused,
            Err(WaitError::TooLong {
                retry_after: SECOND
            })
        );
        assert_eq!(limiter.status("a"), before);
        assert_eq!(
            limiter.clock().now(),
            Instant::default(),
            "it did not sleep"
        );
        assert_eq!(limiter.waiting(), 0);
        let patience = WaitLimits {
            wait_max: SECOND,
            ..STRICT
        };
        assert!(limiter.until_ready_with(patience, "a", 1).await.is_ok());
    }
}

#[tokio::test]
async fn what_can_never_pass_is_refused_at_once() {
    let limiter = fake(one_a_second());
    assert_eq!(limiter.until_ready("a", 2).await, Err(WaitError::Never));
    assert_eq!(
        limiter.until_ready_blocking("a", u64::MAX),
        Err(WaitError::Never)
    );
}

#[tokio::test]
async fn only_so_many_wait_at_once() {
    for policy in [one_a_second(), queue()] {
        let limiter = stubborn(policy, Sleep::Forever);
        assert!(limiter.until_ready("a", 1).await.is_ok());
        let patience = WaitLimits {
            waiters_max: 1,
            ..STRICT
        };
        {
            let mut first = pin!(limiter.until_ready_with(patience, "a", 1));
            assert!(poll_once(first.as_mut()).is_pending());
            assert_eq!(limiter.waiting(), 1);
            let taken = limiter.status("a");
            let second = limiter.until_ready_with(patience, "a", 1).await;
            assert_eq!(second, Err(WaitError::TooManyWaiting));
            assert_eq!(
                limiter.status("a"),
                taken,
                "whoever is sent away pays nothing"
            );
        }
        assert_eq!(limiter.waiting(), 0, "a dropped wait gives its place back");
        assert!(
            limiter.until_ready_with(patience, "b", 1).await.is_ok(),
            "others need not wait"
        );
    }
}

#[tokio::test]
async fn a_wait_dropped_before_its_turn_has_charged_nothing() {
    for policy in [one_a_second(), queue()] {
        let limiter = stubborn(policy, Sleep::Forever);
        assert!(limiter.until_ready("a", 1).await.is_ok());
        let before = limiter.status("a");
        {
            let mut waiting = pin!(limiter.until_ready_with(STRICT, "a", 1));
            assert!(poll_once(waiting.as_mut()).is_pending());
        }
        assert_eq!(limiter.status("a"), before);
        drop(limiter.until_ready_with(STRICT, "a", 1));
        assert_eq!(
            limiter.status("a"),
            before,
            "a future that was never polled has not asked"
        );
    }
}

#[tokio::test]
async fn a_delay_that_was_waited_for_stays_charged() {
    let limiter = fake(queue());
    assert!(limiter.until_ready("a", 1).await.is_ok());
    let answer = limiter.until_ready("a", 1).await.unwrap();
    assert!(matches!(answer.verdict, Verdict::Delay { .. }));
    assert_eq!(limiter.check("a", 0).remaining, 0);
    limiter.settle(&answer.receipt, 0);
    assert_eq!(
        limiter.check("a", 0).remaining,
        1,
        "the receipt came with the answer"
    );
}

#[tokio::test]
async fn a_clock_that_stands_still_makes_nobody_wait_for_ever() {
    let limiter = stubborn(one_a_second(), Sleep::NotAtAll);
    assert!(limiter.until_ready("a", 1).await.is_ok());
    let refused = limiter.until_ready_with(STRICT, "a", 1).await;
    assert_eq!(
        refused,
        Err(WaitError::TooLong {
            retry_after: SECOND
        })
    );
    let refused = limiter.until_ready_blocking_with(STRICT, "a", 1);
    assert_eq!(
        refused,
        Err(WaitError::TooLong {
            retry_after: SECOND
        })
    );
}

#[test]
fn a_thread_waits_by_the_same_rules() {
    let limiter = fake(one_a_second());
    for second in 0..5 {
        assert!(limiter.until_ready_blocking_with(STRICT, "a", 1).is_ok());
        assert_eq!(
            limiter.clock().now(),
            Instant::from_nanos(second * 1_000_000_000)
        );
    }
    let patience = WaitLimits {
        waiters_max: 0,
        ..STRICT
    };
    let refused = limiter.until_ready_blocking_with(patience, "a", 1);
    assert_eq!(refused, Err(WaitError::TooManyWaiting));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tasks_that_share_a_limiter_keep_to_its_rate() {
    let mut policy = PolicyConfig::token_bucket(10, Period::SECOND);
    policy.burst = Some(3);
    let limiter = Arc::new(fake(policy));
    let patience = WaitLimits {
        wait_max: Duration::from_hours(1),
        ..STRICT
    };
    let tasks = (0..40).map(|_| {
        let limiter = Arc::clone(&limiter);
        tokio::spawn(async move {
            for _ in 0..5 {
                assert!(limiter.until_ready_with(patience, "a", 1).await.is_ok());
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let earliest = Duration::from_millis(100) * (200 - 3);
    assert!(Duration::from_nanos(limiter.clock().now().as_nanos()) >= earliest);
    assert_eq!(limiter.waiting(), 0);
}

#[cfg(feature = "remote")]
mod remote {
    use tollgate_client::{
        BackoffConfig, Client, ClientConfig, DecisionPath, GiveUp, Key, WhenAway,
    };

    use super::*;

    /// A client of a node that is not there.
    fn nobody(when_away: WhenAway) -> Arc<Client> {
        let config = ClientConfig {
            timeout: Duration::from_millis(5),
            when_away,
            ..ClientConfig::new(["127.0.0.1:1"])
        };
        Arc::new(Client::connect(config).unwrap())
    }

    #[tokio::test]
    async fn a_task_hears_what_is_to_be_when_nobody_answers() {
        let (denies, allows) = (nobody(WhenAway::Deny), nobody(WhenAway::Allow));
        let outcome = denies.check_in_task("ada", 1).await;
        assert_eq!(
            (outcome.is_allowed, outcome.path),
            (false, DecisionPath::Failed)
        );
        for key in [Key::Word(7), Key::Entries(&[("user", "ada")])] {
            let outcome = allows.check_in_task(key, 1).await;
            assert_eq!(
                (outcome.is_allowed, outcome.path),
                (true, DecisionPath::Failed)
            );
        }
    }

    #[tokio::test]
    async fn a_task_that_waits_gives_up_as_it_was_told_to() {
        let config = BackoffConfig {
            base: Duration::from_millis(1),
            tries_max: 3,
            ..BackoffConfig::default()
        };
        let refused = nobody(WhenAway::Deny).until_ready("ada", 1, config).await;
        assert_eq!(refused, Err(GiveUp::Tries { tries: 3 }));
        let passed = nobody(WhenAway::Allow).until_ready("ada", 1, config).await;
        assert!(passed.unwrap().is_allowed);
    }
}
