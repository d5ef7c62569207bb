//! Who was right: the same trace through one exact bucket, and how far the cluster's answers are from it.
//!
//! Not here: anything the designs are made of. This bucket is written anew, so that it can judge them.

use std::collections::BTreeMap;

use tollgate_gossip::{Bucket, ModeKey};

use crate::world::Request;

/// The grid over which cumulative rejections are summed.
pub(crate) const GRID_NS: u64 = 100_000_000;

/// A cluster's answers beside those of the central bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Judgement {
    /// Requests that were rejected.
    pub rejected: u64,
    /// Requests the central bucket rejected.
    pub central_rejected: u64,
    /// Rejections in percent of the central bucket's, at the end; `None` if that rejects nothing.
    pub total: Option<f64>,
    /// The same for the sum of the cumulative rejections over a grid of 0.1 s.
    pub area: Option<f64>,
    /// The most that was admitted beyond the central bucket at any instant, summed over keys.
    pub over: u64,
    /// The most that was rejected beyond the central bucket at any instant, summed over keys.
    pub under: u64,
    /// Requests rejected although a bucket that saw everything this cluster admitted had room for them.
    pub false_rejections: u64,
}

/// A bucket that leaks: how full it was, and when.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Leaky {
    level: u128,
    at: u64,
}

impl Leaky {
    /// Lets out what leaked since it was last looked at.
    fn leak(&mut self, bucket: Bucket, now: u64) {
        let leaked = u128::from(now.saturating_sub(self.at)) * bucket.refilled(1);
        self.level = self.level.saturating_sub(leaked);
        self.at = now;
    }

    /// Whether that many tokens fit; a cost of zero asks for one.
    fn fits(self, bucket: Bucket, cost: u64) -> bool {
        let wanted = u128::from(cost.max(1)) * bucket.grains(1);
        self.level + wanted <= u128::from(bucket.burst()) * bucket.grains(1)
    }

    fn fill(&mut self, bucket: Bucket, cost: u64) {
        self.level += u128::from(cost) * bucket.grains(1);
    }

    /// Whole tokens left, rounded down; below zero is debt.
    pub(crate) fn left(mut self, bucket: Bucket, now: u64) -> i64 {
        self.leak(bucket, now);
        let capacity = u128::from(bucket.burst()) * bucket.grains(1);
        let tokens = |grains: u128| i64::try_from(grains).unwrap_or(i64::MAX);
        match capacity.checked_sub(self.level) {
            Some(room) => tokens(room / bucket.grains(1)),
            None => -tokens((self.level - capacity).div_ceil(bucket.grains(1))),
        }
    }
}

/// Both sides of one key.
#[derive(Clone, Copy, Debug, Default)]
struct Sides {
    /// What the cluster admitted, all of it, whoever did.
    cluster: Leaky,
    /// Tokens the cluster admitted beyond the central bucket; below zero it admitted less.
    ahead: i128,
}

/// What the central bucket answers to each request of a trace.
pub fn central(bucket: Bucket, trace: &[Request]) -> Vec<bool> {
    let mut levels: BTreeMap<ModeKey, Leaky> = BTreeMap::new();
    let decide = |request: &Request| {
        let level = levels.entry(request.key).or_default();
        level.leak(bucket, request.at.as_nanos());
        let fits = level.fits(bucket, request.cost);
        if fits {
            level.fill(bucket, request.cost);
        }
        fits
    };
    trace.iter().map(decide).collect()
}

/// How full each key's bucket is after everything that was admitted.
pub(crate) fn levels(
    bucket: Bucket,
    trace: &[Request],
    admitted: &[bool],
) -> BTreeMap<ModeKey, Leaky> {
    let mut levels: BTreeMap<ModeKey, Leaky> = BTreeMap::new();
    for (request, _) in trace.iter().zip(admitted).filter(|(_, did)| **did) {
        let level = levels.entry(request.key).or_default();
        level.leak(bucket, request.at.as_nanos());
        level.fill(bucket, request.cost);
    }
    levels
}

/// Compares what a cluster answered with what the central bucket would have.
pub fn judge(bucket: Bucket, trace: &[Request], admitted: &[bool]) -> Judgement {
    let should = central(bucket, trace);
    let mut judge = Judge::new(bucket, trace);
    for ((request, &did), &should) in trace.iter().zip(admitted).zip(&should) {
        judge.see(request, did, should);
    }
    judge.finish()
}

/// A comparison under way.
struct Judge {
    bucket: Bucket,
    start: u64,
    steps: u64,
    keys: BTreeMap<ModeKey, Sides>,
    over: i128,
    under: i128,
    area: u128,
    central_area: u128,
    found: Judgement,
}

impl Judge {
    fn new(bucket: Bucket, trace: &[Request]) -> Self {
        let start = trace.first().map_or(0, |request| request.at.as_nanos());
        let end = trace.last().map_or(0, |request| request.at.as_nanos());
        Self {
            bucket,
            start,
            steps: end.saturating_sub(start).div_ceil(GRID_NS),
            keys: BTreeMap::new(),
            over: 0,
            under: 0,
            area: 0,
            central_area: 0,
            found: Judgement::default(),
        }
    }

    fn see(&mut self, request: &Request, did: bool, should: bool) {
        let now = request.at.as_nanos();
        // A rejection counts in every step of the grid from its own on.
        let step = now.saturating_sub(self.start).div_ceil(GRID_NS);
        let weight = u128::from(self.steps.saturating_sub(step) + 1);
        if !should {
            self.found.central_rejected += 1;
            self.central_area += weight;
        }
        let sides = self.keys.entry(request.key).or_default();
        sides.cluster.leak(self.bucket, now);
        if did {
            sides.cluster.fill(self.bucket, request.cost);
        } else {
            self.found.rejected += 1;
            self.area += weight;
            self.found.false_rejections += u64::from(sides.cluster.fits(self.bucket, request.cost));
        }
        let before = sides.ahead;
        let cost = i128::from(request.cost);
        sides.ahead += cost * (i128::from(did) - i128::from(should));
        self.over += sides.ahead.max(0) - before.max(0);
        self.under += before.min(0) - sides.ahead.min(0);
        self.found.over = self.found.over.max(units(self.over));
        self.found.under = self.found.under.max(units(self.under));
    }

    fn finish(self) -> Judgement {
        Judgement {
            total: percent(
                u128::from(self.found.rejected),
                u128::from(self.found.central_rejected),
            ),
            area: percent(self.area, self.central_area),
            ..self.found
        }
    }
}

fn units(sum: i128) -> u64 {
    u64::try_from(sum).unwrap_or(if sum < 0 { 0 } else { u64::MAX })
}

#[allow(clippy::cast_precision_loss, reason = "a figure to read")]
fn percent(part: u128, whole: u128) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64 * 100.0)
}
