//! Publishers and when they send: at random or by the clock, alone or in groups that send together.
//!
//! Not here: where they send to.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "times of a simulation, far below 2^53"
)]

use tollgate_split::plan::place::Publisher;
use tollgate_split::plan::profile::ProfileArrival;

use crate::dice::{LabDice, Purpose};

pub(super) const MICRO: u64 = 1_000;
pub(super) const MILLI: u64 = 1_000 * MICRO;
pub(super) const SECOND: u64 = 1_000 * MILLI;

/// A batch of one publisher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Burst {
    pub(super) at_ns: u64,
    pub(super) publisher: u32,
    pub(super) count: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// At any time, without memory.
    Poisson,
    /// By the clock, each group with a phase of its own.
    Periodic,
}

impl Pattern {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Poisson => "Poisson",
            Self::Periodic => "periodic",
        }
    }
}

/// Publishers that send ten messages a second each.
#[derive(Clone, Copy, Debug)]
pub(super) struct PublisherTraffic {
    pub(super) publishers: u32,
    /// Messages that a publisher sends at once.
    pub(super) batch: u32,
    /// Publishers that send together.
    pub(super) group: u32,
    /// The batches of a group are spread over so long.
    pub(super) spread_ns: u64,
    pub(super) pattern: Pattern,
    pub(super) seconds: u64,
}

/// Messages per second of a publisher, in thousandths.
const RATE_MILLI: u64 = 10_000;

impl PublisherTraffic {
    /// Publishers that know nothing of each other.
    pub(super) const fn alone(publishers: u32, batch: u32, pattern: Pattern, seconds: u64) -> Self {
        Self {
            publishers,
            batch,
            group: 1,
            spread_ns: 0,
            pattern,
            seconds,
        }
    }

    /// A thousand publishers in groups, with batches of ten; fewer where a thousand is not a number of whole groups.
    pub(super) const fn groups(group: u32, pattern: Pattern, seconds: u64) -> Self {
        Self {
            publishers: 1_000 / group * group,
            batch: 10,
            group,
            spread_ns: 0,
            pattern,
            seconds,
        }
    }

    pub(super) fn publishers(&self) -> Vec<Publisher> {
        let one = |id: u32| Publisher {
            id: u64::from(id),
            rate: RATE_MILLI,
            batch: self.batch,
            group: (self.group > 1).then(|| u64::from(id / self.group)),
        };
        (0..self.publishers).map(one).collect()
    }

    /// All batches of a seed, in order of time.
    pub(super) fn bursts(&self, seed: u64) -> Vec<Burst> {
        let groups = self.publishers.div_ceil(self.group);
        let period = SECOND as f64 * f64::from(self.batch) * 1e3 / RATE_MILLI as f64;
        let mut dice = LabDice::new(seed, Purpose::Arrivals);
        let mut offsets = LabDice::new(seed, Purpose::Delays);
        let mut bursts = Vec::new();
        let end = self.seconds * SECOND;
        match self.pattern {
            Pattern::Poisson => {
                let gap = period / f64::from(groups);
                let mut at = exponential(&mut dice, gap);
                while (at as u64) < end {
                    let group = dice.below(u64::from(groups)) as u32;
                    self.send(at as u64, group, &mut offsets, &mut bursts);
                    at += exponential(&mut dice, gap);
                }
            }
            Pattern::Periodic => {
                for group in 0..groups {
                    let mut at = unit(&mut dice) * period;
                    while (at as u64) < end {
                        self.send(at as u64, group, &mut offsets, &mut bursts);
                        at += period;
                    }
                }
            }
        }
        if self.pattern == Pattern::Periodic || self.spread_ns > 0 {
            bursts.sort_unstable();
        }
        bursts
    }

    fn send(&self, at_ns: u64, group: u32, offsets: &mut LabDice, bursts: &mut Vec<Burst>) {
        let first = group * self.group;
        for publisher in first..(first + self.group).min(self.publishers) {
            let offset = if self.spread_ns > 0 {
                offsets.below(self.spread_ns)
            } else {
                0
            };
            bursts.push(Burst {
                at_ns: at_ns + offset,
                publisher,
                count: self.batch,
            });
        }
    }
}

/// A trace as a profile wants it.
pub(super) fn arrivals(bursts: &[Burst]) -> Vec<ProfileArrival> {
    let mut trace: Vec<ProfileArrival> = Vec::with_capacity(bursts.len());
    for burst in bursts {
        match trace.last_mut().filter(|last| last.at_ns == burst.at_ns) {
            Some(last) => last.count += burst.count,
            None => trace.push(ProfileArrival {
                at_ns: burst.at_ns,
                count: burst.count,
            }),
        }
    }
    trace
}

/// Between zero and one.
pub(super) fn unit(dice: &mut LabDice) -> f64 {
    (dice.roll() >> 11) as f64 / (1_u64 << 53) as f64
}

pub(super) fn exponential(dice: &mut LabDice, mean: f64) -> f64 {
    -(1.0 - unit(dice)).ln() * mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_send_together_and_as_often_as_they_should() {
        let traffic = PublisherTraffic::groups(30, Pattern::Periodic, 4);
        let bursts = traffic.bursts(1);
        assert_eq!(bursts.len(), 4 * 990);
        assert_eq!(arrivals(&bursts).len(), 4 * 33);
        let spread = PublisherTraffic {
            spread_ns: 5 * MILLI,
            ..traffic
        };
        assert!(arrivals(&spread.bursts(1)).len() > 3_880);
        let random = PublisherTraffic::groups(30, Pattern::Poisson, 40).bursts(1);
        assert!((36_000..44_000).contains(&random.len()));
        assert!(random.is_sorted_by_key(|burst| burst.at_ns));
    }
}
