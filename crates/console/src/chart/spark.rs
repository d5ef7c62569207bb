//! How a policy answers a burst and then a steady stream that is too fast: decided by the limiter itself, not painted.

use tollgate_limit::{Cell, Cost, Instant, Lot, Policy, PolicyConfig, PolicySet, Verdict};

use super::axis::coordinate;
use super::traffic::Tally;
use crate::html::{Element, el};
use crate::number::float;

/// Columns of the picture.
const COLUMNS: u32 = 30;
/// Periods the picture shows.
const PERIODS: u64 = 3;
/// Requests in a period at exactly the limit; each costs that part of it.
const GRAIN: u64 = 40;
/// Before the burst: two in each column where four would be the limit.
const QUIET: u64 = 2;
/// After it: six.
const STREAM: u64 = 6;
/// The burst comes late in a window, which is where windows are weak.
const BURST_COLUMN: u32 = 8;
/// It is what a bucket holds and half a limit more, within reason.
const BURST_MAX: u64 = 10 * GRAIN;

/// What becomes of each column's requests; nothing for an invalid policy.
pub fn behaviour(config: &PolicyConfig) -> Vec<Tally> {
    let config = PolicyConfig {
        enforce_percent: 100,
        ..config.clone()
    };
    let period = config.period.nanos();
    // Small limits have costs of one and coarser columns; a token cannot be split.
    let cost = Cost::new((config.limit / GRAIN).max(1)).unwrap_or(Cost::MAX);
    let per_period = (config.limit / cost.tokens()).clamp(1, GRAIN);
    let depth = config.burst.unwrap_or(config.limit) / cost.tokens();
    let burst = depth.saturating_add(per_period / 2).clamp(1, BURST_MAX);
    let part = |requests: u64| (requests * per_period).div_ceil(GRAIN);
    let Ok(set) = Policy::new(config).and_then(|policy| PolicySet::new(vec![policy])) else {
        return Vec::new();
    };
    let mut cell = Cell::<1>::fresh(&set);
    let width = (period / u64::from(COLUMNS)).saturating_mul(PERIODS);
    // A Monday at midnight, so that windows and calendars begin with the picture.
    let start = 1_794_787_200_000_000_000_u64;
    (0..COLUMNS)
        .map(|column| {
            let mut tally = Tally::default();
            let requests = match column {
                ..BURST_COLUMN => part(QUIET),
                BURST_COLUMN => burst,
                _ => part(STREAM),
            };
            for i in 0..requests {
                let within = width / requests * i;
                let now = start
                    .saturating_add(width.saturating_mul(u64::from(column)))
                    .saturating_add(within);
                match set
                    .check(&mut cell, cost, Instant::from_nanos(now), Lot::ALWAYS)
                    .decision
                    .verdict
                {
                    Verdict::Allow => tally.allowed += 1,
                    Verdict::Delay { .. } => tally.delayed += 1,
                    Verdict::Deny { .. } | Verdict::Never => tally.denied += 1,
                }
            }
            tally
        })
        .collect()
}

pub fn spark(config: &PolicyConfig) -> Element {
    let columns = behaviour(config);
    let usual = columns.last().map_or(1, |tally| tally.all()).max(1);
    let unit = 15.0 / float(usual);
    let drawn = columns.iter().enumerate().flat_map(|(i, tally)| {
        let mut bottom = 40.0_f64;
        // The burst is pressed into the picture: what follows it must stay visible.
        let unit = unit.min(40.0 / float(tally.all().max(1)));
        let parts = [
            ("allowed", tally.allowed),
            ("delayed", tally.delayed),
            ("denied", tally.denied),
        ];
        parts
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(move |(class, count)| {
                let top = (bottom - unit * float(count)).max(0.0);
                let rect = el("rect")
                    .class(class)
                    .attr("x", 4 * i)
                    .attr("y", coordinate(top))
                    .attr("width", 3)
                    .attr("height", coordinate((bottom - top).max(0.0)));
                bottom = top;
                rect
            })
    });
    let denied: u64 = columns.iter().map(|tally| tally.denied).sum();
    let all: u64 = columns.iter().map(|tally| tally.all()).sum();
    let name =
        format!("A burst, then a stream half over the limit: {denied} of {all} requests refused");
    el("svg")
        .class("spark")
        .attr("width", 120)
        .attr("height", 40)
        .attr("role", "img")
        .attr("aria-label", name)
        .each(drawn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_limit::{Algorithm, OnLimit, Period};

    #[test]
    fn every_algorithm_refuses_part_of_the_burst_and_lets_the_stream_through_at_its_rate() {
        for algorithm in Algorithm::ALL {
            let config = PolicyConfig::new(algorithm, 1000, Period::MINUTE);
            let columns = behaviour(&config);
            assert_eq!(columns.len(), 30, "{algorithm:?}");
            let passed: u64 = columns.iter().map(|t| t.allowed + t.delayed).sum();
            let denied: u64 = columns.iter().map(|t| t.denied).sum();
            // Three periods of the limit, and at most one burst beyond.
            assert!(
                (90..=180).contains(&passed) && denied > 10,
                "{algorithm:?}: {passed} passed, {denied} denied"
            );
        }
    }

    #[test]
    fn pictures_differ_where_the_algorithms_do() {
        let columns = |algorithm| behaviour(&PolicyConfig::new(algorithm, 1000, Period::MINUTE));
        assert_ne!(
            columns(Algorithm::TokenBucket),
            columns(Algorithm::FixedWindow)
        );
        assert_ne!(
            columns(Algorithm::FixedWindow),
            columns(Algorithm::SlidingLog)
        );
        let mut shaper = PolicyConfig::token_bucket(1000, Period::MINUTE);
        shaper.on_limit = OnLimit::Delay { max_wait_ns: None };
        assert!(behaviour(&shaper).iter().any(|tally| tally.delayed > 0));
    }

    #[test]
    fn any_policy_has_a_picture_or_none_but_never_falls_over() {
        for limit in [0, 1, 2, 39, 41, 1 << 53, u64::MAX] {
            for nanos in [0, 1, 1_000_000_000, u64::MAX] {
                let config = PolicyConfig::token_bucket(limit, Period::from_nanos(nanos));
                let _ = spark(&config);
            }
        }
    }
}
