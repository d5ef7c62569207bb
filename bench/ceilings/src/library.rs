//! The paths of a program that links the library.
//!
//! Limits are those of `tollgate-bench`: an open one refills so slowly that a key that was asked for stays in the
//! table.

use std::hint::black_box;

use anyhow::Result;
use tollgate_client::{
    Contracts, Cost, Key, Limiter, LimiterConfig, Period, PolicyConfig, SystemClock,
};
use tollgate_kit::{Dice, scramble};
use tollgate_limit::Policy;

use crate::Work;

/// One key, every request passes.
pub(crate) fn hot() -> Result<Work> {
    Ok(same(limiter([OPEN])?))
}

/// One key, every request is denied.
pub(crate) fn denied() -> Result<Work> {
    let limiter = limiter([SHUT])?;
    let _ = limiter.check(HOT, 1);
    Ok(same(limiter))
}

/// One key, three policies.
pub(crate) fn three() -> Result<Work> {
    Ok(same(limiter([OPEN, OPEN, OPEN])?))
}

fn same(limiter: Limiter) -> Work {
    Box::new(move |count| {
        let mut passed = 0;
        for _ in 0..count {
            passed += u64::from(limiter.check(black_box(HOT), 1).is_allowed());
        }
        passed
    })
}

/// One key, and every part of the answer is looked at.
pub(crate) fn whole_answer() -> Result<Work> {
    let limiter = limiter([OPEN])?;
    Ok(Box::new(move |count| {
        let mut passed = 0;
        for _ in 0..count {
            let answer = black_box(limiter.check(black_box(HOT), 1));
            passed += u64::from(answer.is_allowed());
        }
        passed
    }))
}

/// Many keys, in random order.
pub(crate) fn keys() -> Result<Work> {
    let limiter = limiter([OPEN])?;
    let mut keys = shuffled(scramble);
    for key in keys.iter().rev() {
        let _ = limiter.check(*key, 1);
    }
    Ok(Box::new(move |count| {
        let mut passed = 0;
        for key in round(&mut keys, count) {
            passed += u64::from(limiter.check(black_box(*key), 1).is_allowed());
        }
        passed
    }))
}

/// Many keys of 21 bytes, in random order.
pub(crate) fn strings() -> Result<Work> {
    let limiter = limiter([OPEN])?;
    let mut keys = shuffled(|number| format!("user:{number:016}"));
    for key in keys.iter().rev() {
        let _ = limiter.check(key, 1);
    }
    Ok(Box::new(move |count| {
        let mut passed = 0;
        for key in round(&mut keys, count) {
            passed += u64::from(limiter.check(black_box(key), 1).is_allowed());
        }
        passed
    }))
}

/// Many keys in random order, 32 to a call.
pub(crate) fn batch() -> Result<Work> {
    let limiter = limiter([OPEN])?;
    let mut keys = shuffled(|number| (Key::Word(scramble(number)), Cost::ONE));
    for (key, _) in keys.iter().rev() {
        let _ = limiter.check(*key, 1);
    }
    Ok(Box::new(move |count| {
        let mut passed = 0;
        for batch in round(&mut keys, count).chunks(BATCH) {
            limiter.check_many(black_box(batch), |answer| {
                passed += u64::from(answer.is_allowed());
            });
        }
        passed
    }))
}

/// A key of two entries, one of which chooses the contract.
pub(crate) fn descriptor() -> Result<Work> {
    let limiter = Limiter::from_text(USERS)?;
    Ok(Box::new(move |count| {
        let mut passed = 0;
        for _ in 0..count {
            let key = black_box(&[("plan", "free"), ("user", "ada")]);
            passed += u64::from(limiter.check(key, 1).is_allowed());
        }
        passed
    }))
}

fn limiter<const N: usize>(policies: [(u64, u64); N]) -> Result<Limiter> {
    let policies = policies.into_iter().map(|(burst, seconds)| {
        let period = Period::from_nanos(seconds * 1_000_000_000);
        let mut config = PolicyConfig::token_bucket(1, period);
        config.burst = Some(burst);
        Policy::new(config)
    });
    let contracts = Contracts::for_every_key(policies.collect::<Result<_, _>>()?)?;
    let config = LimiterConfig {
        bytes_max: BYTES_MAX,
        ..LimiterConfig::default()
    };
    Ok(Limiter::with(contracts, config, SystemClock::new())?)
}

fn shuffled<T>(make: impl Fn(u64) -> T) -> Vec<T> {
    let mut numbers: Vec<u64> = (0..KEYS).collect();
    Dice::new(1).shuffle(&mut numbers);
    numbers.into_iter().map(make).collect()
}

/// The next keys, round and round.
fn round<T>(keys: &mut [T], count: u64) -> &[T] {
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(keys.len());
    keys.rotate_left(count);
    keys.get(..count).unwrap_or_default()
}

/// Contracts that ask for an entry and count by another.
pub(crate) const USERS: &str = "contracts:
  - id: free-users
    match: { plan: free }
    key: [user]
    policies:
      - { name: rate, limit: 100000, per: 1d }
";
/// Tokens at once, and seconds in which one comes back.
const OPEN: (u64, u64) = (200_000_000, 45);
const SHUT: (u64, u64) = (1, 3_600);
const HOT: u64 = 0x5EED_0000_0000_0007;
/// Keys in the tables of many.
const KEYS: u64 = 100_000;
const BATCH: usize = 32;
const BYTES_MAX: u64 = 4 << 30;
