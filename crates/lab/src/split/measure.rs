//! What a run took: percentiles of the whole topic and of its slowest broker.
//!
//! Not here: rows of reports.

#![allow(clippy::cast_precision_loss, reason = "figures to read")]

use tollgate_split::plan::place::{BrokerShare, Publisher};

use super::broker::{BROKER, Beside, Broker};
use super::topic::{Cut, TopicBucket, TopicResults, run_apart};
use super::traffic::{Burst, MILLI};

/// What a run took, in milliseconds where it is a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Figures {
    pub(super) p50: f64,
    pub(super) p95: f64,
    pub(super) p99: f64,
    pub(super) mean: f64,
    pub(super) max: f64,
    /// The 99th percentile of the slowest broker.
    pub(super) worst: f64,
    /// The part of the messages that waited for tokens.
    pub(super) p_wait: f64,
    /// Frames per message.
    pub(super) control: f64,
    pub(super) violations: u64,
    /// Brokers that took part.
    pub(super) k: u32,
    /// The 99th percentile of every broker, by its place in the list of brokers, in nanoseconds.
    pub(super) brokers: Vec<(usize, u64)>,
}

impl Figures {
    /// Of waits for tokens alone, of messages that arrived within a time.
    pub(super) fn of_waits(ran: &TopicResults, from: u64, until: u64) -> Self {
        let mut figures = Self::of_times(ran.waits(from, until));
        figures.tell(ran);
        figures.worst = figures.p99;
        figures
    }

    /// Of some times in nanoseconds.
    pub(super) fn of_times(mut times: Vec<u64>) -> Self {
        let ms = |nanos: u64| nanos as f64 / MILLI as f64;
        let sum: u128 = times.iter().map(|time| u128::from(*time)).sum();
        let count = times.len().max(1) as f64;
        let waited = times.iter().filter(|time| **time > 0).count();
        Self {
            p50: ms(percentile(&mut times, 500)),
            p95: ms(percentile(&mut times, 950)),
            p99: ms(percentile(&mut times, 990)),
            mean: sum as f64 / count / MILLI as f64,
            max: ms(times.iter().copied().max().unwrap_or(0)),
            p_wait: waited as f64 / count,
            ..Self::default()
        }
    }

    fn tell(&mut self, ran: &TopicResults) {
        let count = ran.count().max(1) as f64;
        let waits = ran.lefts.iter().flatten();
        let waited = waits.filter(|left| left.at > left.arrived).count();
        self.p_wait = waited as f64 / count;
        self.control = ran.frames as f64 / count;
        self.violations = ran.violations;
        self.k = u32::try_from(ran.lefts.len()).unwrap_or(u32::MAX);
    }
}

/// The least value that no more than the rest is above, by thousandths.
pub(super) fn percentile(values: &mut [u64], milli: u64) -> u64 {
    let rank = (values.len() as u64 * milli).div_ceil(1_000).max(1) - 1;
    let rank = usize::try_from(rank).unwrap_or(usize::MAX);
    if rank >= values.len() {
        return 0;
    }
    *values.select_nth_unstable(rank).1
}

/// A topic that is placed, and the brokers it is placed on.
pub(super) struct Placed<'a> {
    pub(super) bucket: TopicBucket,
    pub(super) publishers: &'a [Publisher],
    pub(super) places: &'a [BrokerShare],
    /// What each broker of the list carries besides; nothing where the list is shorter.
    pub(super) beside: &'a [Beside],
    pub(super) broker: Broker,
}

impl<'a> Placed<'a> {
    /// On brokers that carry nothing else.
    pub(super) const fn new(
        bucket: TopicBucket,
        publishers: &'a [Publisher],
        places: &'a [BrokerShare],
    ) -> Self {
        Self {
            bucket,
            publishers,
            places,
            beside: &[],
            broker: BROKER,
        }
    }

    /// The cut: parts of the bucket by quotas. Publishers without a place keep theirs, and do not publish.
    pub(super) fn cut(&self) -> Cut {
        let mut quotas: Vec<u64> = self.places.iter().map(|place| place.quota).collect();
        let all: u64 = self.publishers.iter().map(|one| one.rate).sum();
        let rest = all.saturating_sub(quotas.iter().sum());
        if rest > 0 {
            quotas.push(rest);
        }
        let mut shares = self.bucket.limits().cut(&quotas, 1);
        shares.truncate(self.places.len());
        let mut places = vec![None; self.publishers.len()];
        for (number, place) in (0..).zip(self.places) {
            for publisher in &place.publishers {
                if let Some(slot) = places.get_mut(*publisher) {
                    *slot = Some(number);
                }
            }
        }
        Cut { places, shares }
    }

    /// Runs it without borrowing, and the brokers behind it.
    pub(super) fn measure(&self, bursts: &[Burst], seed: u64) -> Figures {
        let ran = run_apart(self.bucket, &self.cut(), bursts);
        self.serve(&ran, seed)
    }

    /// What brokers make of what left the sub-buckets.
    fn serve(&self, ran: &TopicResults, seed: u64) -> Figures {
        let mut all = Vec::with_capacity(ran.count());
        let mut brokers = Vec::new();
        for (place, lefts) in self.places.iter().zip(&ran.lefts) {
            let beside = self.beside.get(place.broker).copied().unwrap_or_default();
            let own = seed.wrapping_mul(64).wrapping_add(place.broker as u64);
            let mut latencies = self.broker.latencies(lefts, beside, own);
            brokers.push((place.broker, percentile(&mut latencies, 990)));
            all.append(&mut latencies);
        }
        let mut figures = Figures::of_times(all);
        figures.tell(ran);
        let worst = brokers.iter().map(|(_, nanos)| *nanos).max().unwrap_or(0);
        figures.worst = worst as f64 / MILLI as f64;
        figures.brokers = brokers;
        figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let mut values: Vec<u64> = (1..=100).rev().collect();
        assert_eq!(percentile(&mut values, 990), 99);
        assert_eq!(percentile(&mut values, 500), 50);
        assert_eq!(percentile(&mut values, 0), 1);
        assert_eq!(percentile(&mut [], 990), 0);
    }
}
