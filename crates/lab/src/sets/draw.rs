//! Draws requests at millisecond instants and puts them in order.
//!
//! Not here: which sets there are.

use std::ops::Range;

use tollgate_gossip::{Bucket, ModeKey};
use tollgate_limit::Instant;

use crate::dice::{LabDice, Purpose};
use crate::world::Request;

/// When every set begins: some time in 2020, in milliseconds since the epoch.
const START_MS: u64 = 1_600_000_000_000;

pub(crate) struct Draw {
    pub(crate) nodes: u16,
    pub(crate) dice: LabDice,
    bucket: Bucket,
    keys: LabDice,
    requests: Vec<Request>,
}

impl Draw {
    pub(crate) fn new(bucket: Bucket, nodes: u16, seed: u64) -> Self {
        Self {
            nodes,
            dice: LabDice::new(seed, Purpose::Arrivals),
            bucket,
            keys: LabDice::new(seed, Purpose::Keys),
            requests: Vec::new(),
        }
    }

    /// A user nobody has met.
    pub(crate) fn user(&mut self) -> ModeKey {
        ModeKey(u128::from(self.keys.roll()) << 64 | u128::from(self.keys.roll()))
    }

    /// That many hundredths of the burst, in tokens.
    pub(crate) fn hundredths(&self, hundredths: u64) -> u64 {
        let tokens = u128::from(self.bucket.burst()) * u128::from(hundredths) / 100;
        u64::try_from(tokens).unwrap_or(u64::MAX)
    }

    /// Milliseconds in which that many hundredths of a token are regained, rounded up.
    pub(crate) fn regain_ms(&self, hundredths: u64) -> u64 {
        let grains = self.bucket.grains(hundredths);
        let nanos = self.bucket.time_for(grains.div_ceil(100)).as_nanos();
        u64::try_from(nanos.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }

    pub(crate) fn one(&mut self, key: ModeKey, at_ms: u64) {
        self.push(key, at_ms, None);
    }

    /// One request that goes to a node of our choice.
    pub(crate) fn one_at(&mut self, key: ModeKey, at_ms: u64, node: u16) {
        self.push(key, at_ms, Some(node));
    }

    /// Requests at instants of a period, in milliseconds since the start, each equally likely.
    pub(crate) fn scatter(&mut self, key: ModeKey, count: u64, period: Range<u64>) {
        for _ in 0..count {
            let at = period.start + self.dice.below(period.end - period.start);
            self.one(key, at);
        }
    }

    fn push(&mut self, key: ModeKey, at_ms: u64, node: Option<u16>) {
        let since_epoch = START_MS.saturating_add(at_ms);
        self.requests.push(Request {
            at: Instant::from_nanos(since_epoch.saturating_mul(1_000_000)),
            key,
            cost: 1,
            node,
        });
    }

    /// All of it, in order of time.
    pub(crate) fn finish(mut self) -> Vec<Request> {
        self.requests.sort_by_key(|request| request.at);
        self.requests
    }
}
