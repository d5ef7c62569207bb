//! The judge against slow, obvious models that share nothing with it.

#![allow(
    clippy::unwrap_used,
    clippy::similar_names,
    clippy::cast_precision_loss,
    reason = "a test fails that way, and rounds what it shows"
)]

use proptest::prelude::*;
use tollgate_gossip::{Bucket, ModeKey};
use tollgate_lab::{Request, central, judge};
use tollgate_limit::Instant;

/// A trace of three users with costs from zero up, some equal instants among them.
fn traces() -> impl Strategy<Value = Vec<Request>> {
    let one = (0_u64..400, 0_u128..3, 0_u64..7);
    prop::collection::vec(one, 0..60).prop_map(|steps| {
        let mut at = 5_000;
        let request = |(gap, user, cost)| {
            at += if gap < 100 { 0 } else { gap };
            Request {
                at: Instant::from_millis(at).unwrap(),
                key: ModeKey(user),
                cost,
                node: None,
            }
        };
        steps.into_iter().map(request).collect()
    })
}

/// Bursts of a few tokens, one of which comes back in some milliseconds.
#[derive(Clone, Copy, Debug)]
struct Size {
    burst: u64,
    token_ms: u64,
}

fn buckets() -> impl Strategy<Value = Size> {
    let token_ms = prop::sample::select(vec![1_u64, 100, 170, 1_000]);
    (1_u64..6, token_ms).prop_map(|(burst, token_ms)| Size { burst, token_ms })
}

fn bucket(size: Size) -> Bucket {
    Bucket::new(size.burst, 1, size.token_ms * 1_000_000).unwrap()
}

/// How full a bucket is, in nanoseconds of refill: the greatest, over all instants, of what came since less what leaked
/// since.
fn level(taken: &[(u64, u64)], token_ns: u64, now: u64) -> i128 {
    let since = |from: u64| {
        let came: u64 = taken
            .iter()
            .filter(|(at, _)| *at >= from)
            .map(|(_, cost)| cost)
            .sum();
        i128::from(came) * i128::from(token_ns) - i128::from(now - from)
    };
    taken
        .iter()
        .map(|(at, _)| since(*at))
        .max()
        .unwrap_or(0)
        .max(0)
}

fn fits(taken: &[(u64, u64)], size: Size, request: &Request) -> bool {
    let token_ns = size.token_ms * 1_000_000;
    let wanted = level(taken, token_ns, request.at.as_nanos())
        + i128::from(request.cost.max(1)) * i128::from(token_ns);
    wanted <= i128::from(size.burst) * i128::from(token_ns)
}

/// What one user was granted up to each request.
fn granted(trace: &[Request], admitted: &[bool], user: ModeKey, upto: usize) -> i64 {
    let pairs = trace.iter().zip(admitted).take(upto + 1);
    let mine = pairs.filter(|(request, did)| request.key == user && **did);
    mine.map(|(request, _)| request.cost.cast_signed()).sum()
}

proptest! {
    #[test]
    fn the_central_bucket_is_the_one_that_remembers_everything(
        trace in traces(),
        size in buckets(),
    ) {
        let mut taken: [Vec<(u64, u64)>; 3] = Default::default();
        for (request, did) in trace.iter().zip(central(bucket(size), &trace)) {
            let mine = &mut taken[usize::try_from(request.key.0).unwrap()];
            prop_assert_eq!(did, fits(mine, size, request));
            if did {
                mine.push((request.at.as_nanos(), request.cost));
            }
        }
    }

    #[test]
    fn over_and_under_are_the_greatest_sums_over_users(
        trace in traces(),
        size in buckets(),
        coin in prop::collection::vec(any::<bool>(), 60),
    ) {
        let should = central(bucket(size), &trace);
        let did = &coin[..trace.len()];
        let (mut over, mut under) = (0, 0);
        for upto in 0..trace.len() {
            let ahead = |user| granted(&trace, did, ModeKey(user), upto) - granted(&trace, &should, ModeKey(user), upto);
            over = over.max((0..3).map(|user| ahead(user).max(0)).sum());
            under = under.max((0..3).map(|user| (-ahead(user)).max(0)).sum());
        }
        let judged = judge(bucket(size), &trace, did);
        prop_assert_eq!(judged.over.cast_signed(), over);
        prop_assert_eq!(judged.under.cast_signed(), under);
    }

    #[test]
    fn a_false_rejection_left_room_for_what_was_asked(
        trace in traces(),
        size in buckets(),
        coin in prop::collection::vec(any::<bool>(), 60),
    ) {
        let mut taken: [Vec<(u64, u64)>; 3] = Default::default();
        let mut wrong = 0;
        for (request, did) in trace.iter().zip(&coin) {
            let mine = &mut taken[usize::try_from(request.key.0).unwrap()];
            if *did {
                mine.push((request.at.as_nanos(), request.cost));
            } else {
                wrong += u64::from(fits(mine, size, request));
            }
        }
        let judged = judge(bucket(size), &trace, &coin[..trace.len()]);
        prop_assert_eq!(judged.false_rejections, wrong);
    }

    #[test]
    fn total_and_area_compare_the_curves_point_by_point(
        trace in traces(),
        size in buckets(),
        coin in prop::collection::vec(any::<bool>(), 60),
    ) {
        let should = central(bucket(size), &trace);
        let did = &coin[..trace.len()];
        let judged = judge(bucket(size), &trace, did);
        let start = trace.first().map_or(0, |request| request.at.as_nanos());
        let end = trace.last().map_or(0, |request| request.at.as_nanos());
        let rejected = |answers: &[bool], until: u64| {
            let pairs = trace.iter().zip(answers);
            pairs.filter(|(request, did)| request.at.as_nanos() <= until && !**did).count() as f64
        };
        let area = |answers: &[bool]| {
            let steps = (end - start).div_ceil(100_000_000);
            (0..=steps).map(|step| rejected(answers, start + step * 100_000_000)).sum::<f64>()
        };
        if area(&should) > 0.0 {
            let total = rejected(did, end) / rejected(&should, end) * 100.0;
            prop_assert!((judged.total.unwrap() - total).abs() < 1e-9);
            let ratio = area(did) / area(&should) * 100.0;
            prop_assert!((judged.area.unwrap() - ratio).abs() < 1e-9);
        } else {
            prop_assert_eq!((judged.total, judged.area), (None, None));
        }
    }
}
