//! Sets of busy intervals against the bucket that sees arrivals in order of time.

use tollgate_kit::Dice;
use tollgate_limit::Instant;

use super::*;
use crate::bucket::Mark;
use crate::cell::BucketCell;
use crate::interval::{Interval, Intervals};
use crate::law::{Law, Seg};

fn numbers(dice: &mut Dice) -> JudgedLimit {
    JudgedLimit {
        burst: 10,
        tokens: 1 + dice.below(3),
        per_ns: 1 + dice.below(20),
    }
}

/// The busy intervals of a bucket that sees arrivals one after the other: the slow, obvious way.
fn central(bucket: Bucket, arrivals: &[(u64, u64)]) -> Vec<(u64, u128)> {
    let mut arrivals = arrivals.to_vec();
    arrivals.sort_unstable();
    let mut busy: Vec<(u64, u128)> = Vec::new();
    for (at, n) in arrivals {
        let mark = u128::from(at) * bucket.refilled(1);
        let work = bucket.grains(n);
        match busy.last_mut().filter(|(_, end)| *end >= mark) {
            Some((_, end)) => *end += work,
            None => busy.push((at, mark + work)),
        }
    }
    busy
}

fn pushed(bucket: Bucket, arrivals: &[(u64, u64)]) -> Intervals {
    let mut all = Intervals::default();
    for &(at, n) in arrivals {
        all.push(bucket, Seg::new(Instant::from_nanos(at), n));
    }
    all
}

fn plain(mut intervals: Intervals) -> Vec<(u64, u128)> {
    let mut list = Vec::new();
    intervals.each(|it| list.push((it.start.as_nanos(), it.end.0)));
    list
}

fn arrivals(dice: &mut Dice) -> Vec<(u64, u64)> {
    let span = [60, 300, 2_000][dice.place(3)];
    let count = 1 + dice.below(60);
    (0..count)
        .map(|_| (dice.below(span), 1 + dice.below(3)))
        .collect()
}

fn end(intervals: &Intervals) -> Mark {
    intervals.last().map_or(Mark(0), |last| last.end)
}

#[test]
fn pushes_in_any_order_make_the_intervals_of_the_central_bucket() {
    for seed in 0..4_000 {
        let mut dice = Dice::new(seed);
        let bucket = numbers(&mut dice).bucket();
        let mut arrivals = arrivals(&mut dice);
        let wanted = central(bucket, &arrivals);
        for _ in 0..3 {
            dice.shuffle(&mut arrivals);
            assert_eq!(plain(pushed(bucket, &arrivals)), wanted, "seed {seed}");
        }
    }
}

#[test]
fn leaving_out_moving_earlier_dropping_and_lowering_never_raise_the_end() {
    for seed in 0..4_000 {
        let mut dice = Dice::new(seed);
        let bucket = numbers(&mut dice).bucket();
        let all = arrivals(&mut dice);
        let now = 2_000;
        let truth = end(&pushed(bucket, &all));
        let mut part = Intervals::default();
        for &(at, n) in &all {
            match dice.below(6) {
                0 => continue,
                1 => part.push(
                    bucket,
                    Seg::new(Instant::from_nanos(at - dice.below(at + 1)), n),
                ),
                _ => part.push(bucket, Seg::new(Instant::from_nanos(at), n)),
            }
            match dice.below(12) {
                0 => drop(part.drop_until(bucket.mark(Instant::from_nanos(dice.below(now))))),
                1 => {
                    let lower = Mark(end(&part).0 - u128::from(dice.below(9)).min(end(&part).0));
                    part.end_at(bucket, lower);
                }
                _ => {}
            }
        }
        assert!(end(&part) <= truth, "seed {seed}");
    }
}

#[test]
fn the_greater_of_two_that_know_parts_is_never_beyond_both_together() {
    for seed in 0..2_000 {
        let mut dice = Dice::new(seed);
        let bucket = numbers(&mut dice).bucket();
        let all = arrivals(&mut dice);
        let (mut one, mut other) = (Vec::new(), Vec::new());
        for &arrival in &all {
            let whose = dice.below(3);
            if whose < 2 {
                one.push(arrival);
            }
            if whose > 0 {
                other.push(arrival);
            }
        }
        let mut raised = pushed(bucket, &one);
        if let Some(last) = pushed(bucket, &other).last() {
            raised.raise(bucket, last);
        }
        assert!(end(&raised) <= end(&pushed(bucket, &all)), "seed {seed}");
        assert!(end(&raised) >= end(&pushed(bucket, &one)), "seed {seed}");
        let list = plain(raised);
        let is_apart =
            |pair: &[(u64, u128)]| pair[0].1 < u128::from(pair[1].0) * bucket.refilled(1);
        assert!(list.windows(2).all(is_apart), "seed {seed}: {list:?}");
    }
}

#[test]
fn intervals_are_bounded_and_the_earliest_goes() {
    let bucket = Bucket::new(10, 1, 1).unwrap();
    let mut all = Intervals::default();
    for at in 0..1_000 {
        all.push(bucket, Seg::new(Instant::from_nanos(10 * at), 1));
    }
    assert_eq!(all.len(), 256);
    let last = Interval {
        start: Instant::from_nanos(9_990),
        end: Mark(9_991),
        is_loose: false,
    };
    assert_eq!(all.last(), Some(last));
}

#[test]
fn silent_segments_never_make_more_than_was_admitted_however_few_they_are() {
    for seed in 0..400 {
        let mut dice = Dice::new(seed);
        let numbers = JudgedLimit {
            burst: 20,
            tokens: 1,
            per_ns: 100,
        };
        let (mut law, mut central) = (numbers.law(), Central::new(numbers));
        law.segs_max = 1 + dice.place(8);
        law.nodes = 5;
        let (key, mut cell, mut now) = (ModeKey(1), <Buckets as Law>::Cell::default(), START);
        for _ in 0..200 {
            let most = [20, 200, 3_000][dice.place(3)];
            now += dice.below(most);
            let cost = 1 + dice.below(2);
            law.accept(&mut cell, cost, Instant::from_nanos(now));
            central.take(key, cost, now);
            let level = law.level(&cell, Instant::from_nanos(now));
            assert!(level <= central.level(key, now), "seed {seed}");
            // Two nodes that hold everything: what is reported makes the same level for both.
            if dice.chance(1, 10) {
                let mut other = <Buckets as Law>::Cell::default();
                let segs = law.report(&mut cell, Instant::from_nanos(now));
                law.learn(
                    &mut other,
                    &segs,
                    super::super::law::Age::Fresh,
                    Instant::from_nanos(now),
                );
                let known = law.level(&other, Instant::from_nanos(now));
                assert!(
                    known <= law.level(&cell, Instant::from_nanos(now)),
                    "seed {seed}"
                );
            }
        }
    }
}

#[test]
fn nothing_is_carried_over_tokens_that_were_joined_while_they_waited() {
    let numbers = JudgedLimit {
        burst: 100,
        tokens: 1,
        per_ns: 100,
    };
    let mut law = numbers.law();
    law.fade = Ratio::new(0, 1);
    let at = |nanos: u64| Instant::from_nanos(START + nanos);
    // Busy times with gaps between them: one too many to be kept apart.
    let mut waiting = Vec::new();
    for place in 0..9 {
        law.merge(&mut waiting, &[Seg::new(at(150 * place), 1)]);
    }
    assert_eq!(waiting.len(), 8);
    assert_eq!(waiting.iter().map(|seg| seg.n).sum::<u64>(), 9);
    assert!(waiting.iter().any(|seg| seg.n == 2 && seg.is_loose));
    // Tokens that kept the bucket busy until others came are one with them.
    let mut waiting = Vec::new();
    for place in 0..9 {
        law.merge(&mut waiting, &[Seg::new(at(90 * place), 1)]);
    }
    assert_eq!(waiting, [Seg::new(at(0), 9)]);
    for (is_loose, wanted) in [(false, at(1_000)), (true, at(40))] {
        let mut cell = <Buckets as Law>::Cell::default();
        law.accept(&mut cell, 1, at(40));
        let seg = Seg {
            is_loose,
            ..Seg::new(at(0), 10)
        };
        law.learn(&mut cell, &[seg], crate::law::Age::Late, at(1_200));
        assert_eq!(law.report(&mut cell, at(1_200)), [Seg::new(wanted, 1)]);
    }
}

#[test]
fn tokens_that_a_key_is_silent_about_stay_as_many_when_another_node_comes() {
    let numbers = JudgedLimit {
        burst: 60,
        tokens: 1,
        per_ns: SECOND,
    };
    let (mut law, now) = (numbers.law(), Instant::from_nanos(START));
    let mut cell = BucketCell::default();
    law.recall(&mut cell, &[Seg::new(now, 15)], now);
    assert!(matches!(cell, BucketCell::Silent { tokens: 15, .. }));
    // A third of the 45 that are left.
    law.set_nodes(3);
    assert!(!law.is_over_share(&mut cell, now));
    law.accept(&mut cell, 1, now);
    assert!(law.is_over_share(&mut cell, now));
}
