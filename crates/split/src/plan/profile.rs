//! The bucket that a topic needs, from a trace: the least burst with which no more than a given part of the messages
//! would wait.
//!
//! A percentile of one trace is a noisy number, the more so the burstier the traffic; so it comes with an interval,
//! from busy periods, which are independent of each other, and with a word on whether the trace is long enough. Not
//! here: models.

use super::place::float;

/// Some messages at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileArrival {
    /// Nanoseconds since the trace began.
    pub at_ns: u64,
    /// Messages.
    pub count: u32,
}

/// What is wanted of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketTarget {
    /// The tokens' rate, in thousandths of the messages' rate.
    pub margin_milli: u32,
    /// Messages that may wait, in millionths.
    pub waits_ppm: u32,
}

impl Default for BucketTarget {
    /// A tenth more tokens than messages; one message in a hundred may wait.
    fn default() -> Self {
        Self {
            margin_milli: 1_100,
            waits_ppm: 10_000,
        }
    }
}

/// A profile of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Tokens per second, in thousandths.
    pub rate_milli: u64,
    /// The least burst that keeps the wish on this trace.
    pub burst: u64,
    /// The interval that holds the burst of an endless trace with 95 %: its lower end.
    pub burst_low: u64,
    /// Its upper end; on a trace with too few busy periods, what no message would wait with.
    pub burst_high: u64,
    /// The burst by the upper half of the trace: from the median on, waits are taken to fall by the same factor from
    /// message to message, as they do where bursts come at random. It differs half as much from trace to trace; of
    /// traffic by the clock it says nothing.
    pub burst_tail: u64,
    /// Busy periods.
    pub cycles: u64,
}

impl Profile {
    /// The burst with slack, in thousandths; twice as much is what makes a profile of a minute dependable.
    pub fn with_slack(&self, milli: u32) -> u64 {
        let slack = u128::from(self.burst) * u128::from(milli);
        u64::try_from(slack.div_ceil(1000)).unwrap_or(u64::MAX)
    }
}

/// What would have waited with another bucket: of all messages of the trace, how many find fewer tokens than they need.
#[derive(Clone, Debug)]
struct Levels {
    /// What each message needs of the bucket for not waiting, in grains, and its busy period.
    needs: Vec<(u64, u32)>,
    /// Messages of each busy period.
    sizes: Vec<u32>,
}

/// The profile of a trace, in order of time; `None` where there are fewer than two times, or nothing comes.
pub fn profile(trace: &[ProfileArrival], wish: BucketTarget) -> Option<Profile> {
    let rate_milli = rate(trace, wish)?;
    let levels = Levels::of(trace, rate_milli);
    let exact = levels.least(|waits, _| waits <= allowed(levels.needs.len(), wish));
    let part = f64::from(wish.waits_ppm) / 1e6;
    let low = levels.least(|waits, spread| waits_part(waits, &levels) - spread <= part);
    let high = levels.least(|waits, spread| waits_part(waits, &levels) + spread <= part);
    Some(Profile {
        rate_milli,
        burst: messages(exact),
        burst_low: messages(low).min(messages(exact)),
        burst_high: messages(high).max(messages(exact)),
        burst_tail: messages(levels.by_tail(part).unwrap_or(exact)),
        cycles: levels.sizes.len() as u64,
    })
}

/// The part of the messages of a trace that would wait, in millionths, in a bucket that refills at `rate_milli`.
pub fn waits_ppm(trace: &[ProfileArrival], rate_milli: u64, burst: u64) -> u64 {
    let levels = Levels::of(trace, rate_milli);
    let depth = burst.saturating_mul(MESSAGE);
    let waits = levels
        .needs
        .iter()
        .filter(|(need, _)| *need > depth)
        .count() as u64;
    waits * 1_000_000 / (levels.needs.len() as u64).max(1)
}

/// The rate of a trace with the margin.
fn rate(trace: &[ProfileArrival], wish: BucketTarget) -> Option<u64> {
    let (first, last) = (trace.first()?, trace.last()?);
    let elapsed = u128::from(last.at_ns.checked_sub(first.at_ns).filter(|ns| *ns > 0)?);
    let count: u128 = trace.iter().map(|arrival| u128::from(arrival.count)).sum();
    let rate = count * u128::from(wish.margin_milli) * 1_000_000_000 / elapsed;
    u64::try_from(rate).ok().filter(|rate| *rate > 0)
}

impl Levels {
    /// With a thousandth of a message per second a nanosecond gives one grain back, and a message is 10^12.
    fn of(trace: &[ProfileArrival], rate_milli: u64) -> Self {
        let mut levels = Self {
            needs: Vec::new(),
            sizes: Vec::new(),
        };
        let (mut work, mut last) = (0_u64, 0);
        for arrival in trace {
            let elapsed = arrival.at_ns.saturating_sub(last);
            last = last.max(arrival.at_ns);
            work = work.saturating_sub(elapsed.saturating_mul(rate_milli));
            if work == 0 || levels.sizes.is_empty() {
                levels.sizes.push(0);
            }
            for _ in 0..arrival.count {
                work = work.saturating_add(MESSAGE);
                levels.add(work);
            }
        }
        levels
    }

    fn add(&mut self, need: u64) {
        let cycle = u32::try_from(self.sizes.len()).unwrap_or(u32::MAX) - 1;
        self.needs.push((need, cycle));
        if let Some(size) = self.sizes.last_mut() {
            *size += 1;
        }
    }

    /// The least depth for which `keeps` says yes, told how many wait and how uncertain their part is.
    fn least(&self, keeps: impl Fn(u64, f64) -> bool) -> u64 {
        let mut depths: Vec<u64> = self.needs.iter().map(|(need, _)| *need).collect();
        depths.push(0);
        depths.sort_unstable();
        depths.dedup();
        let at = depths.partition_point(|depth| {
            let (waits, spread) = self.waits(*depth);
            !keeps(waits, spread)
        });
        let deepest = depths.last().copied().unwrap_or(0);
        depths.get(at).copied().unwrap_or(deepest)
    }

    /// The depth that only that part of the messages needs more of, if those above the median fall off evenly.
    fn by_tail(&self, part: f64) -> Option<u64> {
        let mut depths: Vec<u64> = self.needs.iter().map(|(need, _)| *need).collect();
        let all = float(depths.len() as u64);
        let middle = depths.len() / 2;
        let (_, median, above) = depths.select_nth_unstable(middle);
        let count = float(above.len() as u64);
        if count <= 0.0 || part <= 0.0 || part * all >= count {
            return None;
        }
        let excess = above.iter().map(|depth| u128::from(*depth - *median));
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "planning, and a sum of depths that fit"
        )]
        let more = (excess.sum::<u128>() as f64 / count * (count / (part * all)).ln()) as u64;
        Some(median.saturating_add(more))
    }

    /// How many wait, and twice the deviation of their part: by busy periods, which do not know of each other.
    fn waits(&self, depth: u64) -> (u64, f64) {
        let mut waits = vec![0_u32; self.sizes.len()];
        for (need, cycle) in &self.needs {
            if *need > depth
                && let Some(count) = waits.get_mut(*cycle as usize)
            {
                *count += 1;
            }
        }
        let sum: u64 = waits.iter().map(|count| u64::from(*count)).sum();
        let all = float(self.needs.len() as u64).max(1.0);
        let part = float(sum) / all;
        let pairs = waits.iter().zip(&self.sizes);
        let squares: f64 = pairs
            .map(|(count, size)| (f64::from(*count) - part * f64::from(*size)).powi(2))
            .sum();
        (sum, DEVIATIONS * squares.sqrt() / all)
    }
}

fn allowed(messages: usize, wish: BucketTarget) -> u64 {
    let waits = messages as u128 * u128::from(wish.waits_ppm) / 1_000_000;
    u64::try_from(waits).unwrap_or(u64::MAX)
}

fn waits_part(waits: u64, levels: &Levels) -> f64 {
    float(waits) / float(levels.needs.len() as u64).max(1.0)
}

/// Whole messages, rounded up.
const fn messages(grains: u64) -> u64 {
    let whole = grains.div_ceil(MESSAGE);
    if whole == 0 { 1 } else { whole }
}

/// Grains of a message.
const MESSAGE: u64 = 1_000_000_000_000;
/// Deviations of an interval that holds 95 %.
const DEVIATIONS: f64 = 1.96;

#[cfg(test)]
mod tests {
    use tollgate_kit::Dice;

    use super::*;

    /// Random times, 10,000 messages a second, `count` at a time.
    fn trace(seed: u64, seconds: u64, count: u32) -> Vec<ProfileArrival> {
        let (mut dice, mut at) = (Dice::new(seed), 0.0);
        let gap = 1e9 / (10_000.0 / f64::from(count));
        let mut trace = Vec::new();
        loop {
            at += dice.exponential(gap);
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a test's clock"
            )]
            let at_ns = at as u64;
            if at_ns > seconds * 1_000_000_000 {
                return trace;
            }
            trace.push(ProfileArrival { at_ns, count });
        }
    }

    #[test]
    fn random_messages_need_the_bucket_that_the_theory_says() {
        for seed in 0..3 {
            let found = profile(&trace(seed, 20, 1), BucketTarget::default()).unwrap();
            assert!((21..=30).contains(&found.burst), "{found:?}");
            assert!(found.burst_low <= 26 && 25 <= found.burst_high, "{found:?}");
            assert!(found.rate_milli.abs_diff(11_000_000) < 110_000);
        }
    }

    #[test]
    fn batches_need_as_many_times_more_and_are_less_certain() {
        let found = profile(&trace(1, 20, 10), BucketTarget::default()).unwrap();
        assert!((180..=340).contains(&found.burst), "{found:?}");
        assert!(found.burst_high - found.burst_low > 10, "{found:?}");
        assert_eq!(found.with_slack(2_000), 2 * found.burst);
    }

    #[test]
    fn the_upper_half_of_a_trace_says_the_same_with_less_noise() {
        let all: Vec<Profile> = (0..6)
            .filter_map(|seed| profile(&trace(seed, 20, 10), BucketTarget::default()))
            .collect();
        let spread = |pick: fn(&Profile) -> u64| {
            let values = || all.iter().map(pick);
            values().max().unwrap() - values().min().unwrap()
        };
        assert!(spread(|found| found.burst_tail) * 4 < spread(|found| found.burst) * 3);
        // The theory says 252.
        for found in &all {
            assert!((200..=310).contains(&found.burst_tail), "{found:?}");
        }
    }

    #[test]
    fn a_profile_keeps_its_wish_on_its_own_trace_and_no_smaller_one_does() {
        let trace = trace(5, 10, 1);
        let found = profile(&trace, BucketTarget::default()).unwrap();
        assert!(waits_ppm(&trace, found.rate_milli, found.burst) <= 10_000);
        assert!(waits_ppm(&trace, found.rate_milli, found.burst - 1) > 10_000);
    }

    #[test]
    fn too_little_to_tell_is_none() {
        let at = |at_ns| ProfileArrival { at_ns, count: 1 };
        assert_eq!(profile(&[], BucketTarget::default()), None);
        assert_eq!(profile(&[at(1)], BucketTarget::default()), None);
        assert_eq!(profile(&[at(1), at(1)], BucketTarget::default()), None);
        assert!(profile(&[at(1), at(2)], BucketTarget::default()).is_some());
        let huge = ProfileArrival {
            at_ns: u64::MAX,
            count: 1,
        };
        assert!(profile(&[at(0), huge], BucketTarget::default()).is_none_or(|p| p.burst >= 1));
    }
}
