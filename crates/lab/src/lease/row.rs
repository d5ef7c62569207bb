//! One design in one scenario over some seeds, as a row to print.
//!
//! Not here: how it is printed.

#![allow(clippy::cast_precision_loss, reason = "figures of three digits")]

use super::world::LeaseOutcome;

/// One design in one scenario, over all seeds. What does not apply is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LeaseRow {
    /// What happened.
    pub scenario: String,
    /// The design.
    pub design: String,
    /// How many clients.
    pub clients: u16,
    /// How many runs.
    pub seeds: u64,
    /// How often everything was compared with one bucket.
    pub checks: Option<u64>,
    /// How often a rule did not hold.
    pub violations: Option<u64>,
    /// Requests admitted while one bucket had no token for them.
    pub over: Option<u64>,
    /// Admitted of what a central bucket admits, the mean.
    pub admitted: Option<f64>,
    /// The least of that.
    pub least: Option<f64>,
    /// Messages per decision, nudges and repetitions included.
    pub messages: Option<f64>,
    /// The share of requests that waited for an answer.
    pub waited: Option<f64>,
    /// More about the same runs.
    pub more: LeaseMore,
    /// What the specification's simulator found.
    pub expected: LeaseExpected,
    /// What is known of `sync` alone.
    pub sync: Option<LeaseSync>,
    /// Whether the row is there to be seen to admit too much.
    pub may_break: bool,
}

/// How much `sync` admits beyond one bucket, in requests, beside its formula.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LeaseSync {
    /// In the first second, or two intervals.
    pub first: f64,
    /// What the formula says of that.
    pub first_bound: f64,
    /// In an interval and a round trip, later.
    pub steady: f64,
    /// What the formula says of that.
    pub steady_bound: f64,
    /// Admitted in the second half, in parts of the limit.
    pub long_run: f64,
    /// What the specification's simulator found for `first`.
    pub expected_first: Option<f64>,
    /// For `steady`.
    pub expected_steady: Option<f64>,
    /// For `long_run`.
    pub expected_long_run: Option<f64>,
}

/// What else is known of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LeaseMore {
    /// The most that one bucket was short of in any run, in requests.
    pub worst: Option<u64>,
    /// The most that the design says of itself that it admits too much.
    pub bound: Option<u64>,
    /// The share of requests that nobody answered.
    pub failed: Option<f64>,
    /// What a decision waits on average, in milliseconds.
    pub wait_ms: Option<f64>,
    /// Jain's index over what clients got of their central share, the least.
    pub jain: Option<f64>,
    /// The worst-off client's part of its central share.
    pub worst_client: Option<f64>,
    /// Tokens held and unused, in parts of the burst.
    pub idle: Option<f64>,
    /// What was lost to a failure, in seconds of the limit.
    pub lost_s: Option<f64>,
    /// The least admitted of central from 4 to 8 s after the last fault.
    pub back: Option<f64>,
    /// The share of runs in which that is at least 0.95.
    pub back_most: Option<f64>,
    /// The most records at a time.
    pub records: Option<u64>,
    /// Records in the end.
    pub records_end: Option<u64>,
    /// A fingerprint of all runs.
    pub hash: u64,
}

/// What the specification's simulator found for a row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LeaseExpected {
    /// For [`LeaseRow::admitted`].
    pub admitted: Option<f64>,
    /// For [`LeaseRow::messages`].
    pub messages: Option<f64>,
    /// For [`LeaseRow::waited`].
    pub waited: Option<f64>,
    /// For [`LeaseMore::lost_s`].
    pub lost_s: Option<f64>,
}

/// What counts as recovered.
const RECOVERED: f64 = 0.95;

impl LeaseRow {
    /// The row of some runs; the caller names it. With `calm`, the same runs without what happened in them.
    pub(super) fn of(runs: &[LeaseOutcome], calm: &[LeaseOutcome], per_second: u64) -> Self {
        let sum = |pick: fn(&LeaseOutcome) -> u64| runs.iter().map(pick).sum::<u64>();
        let mean = |pick: &dyn Fn(&LeaseOutcome) -> f64| {
            let count = runs.len() as f64;
            (count > 0.0).then(|| runs.iter().map(pick).sum::<f64>() / count)
        };
        let shares = || runs.iter().map(LeaseOutcome::share);
        Self {
            seeds: runs.len() as u64,
            checks: Some(sum(|run| run.checks)),
            violations: Some(sum(|run| run.broken.sum())),
            over: Some(sum(|run| run.excess.over)),
            admitted: mean(&LeaseOutcome::share),
            least: shares().reduce(f64::min),
            messages: mean(&|run| run.per_decision(run.tally.messages)),
            waited: mean(&|run| run.per_decision(run.tally.waited)),
            more: LeaseMore {
                worst: runs.iter().map(|run| run.excess.worst).max(),
                failed: mean(&|run| run.per_decision(run.tally.failed)),
                wait_ms: mean(&|run| run.per_decision(run.tally.wait_ns) / 1e6),
                idle: mean(&|run| run.idle),
                lost_s: lost(runs, calm, per_second),
                records: runs.iter().map(|run| run.records.0 as u64).max(),
                records_end: runs.iter().map(|run| run.records.1 as u64).max(),
                hash: runs
                    .iter()
                    .fold(0, |all, run| crate::dice::scramble(all ^ run.hash)),
                ..fairness(runs)
            },
            ..Self::default()
        }
        .recovered(runs)
    }

    /// What was admitted after the last fault, where that was looked at.
    fn recovered(mut self, runs: &[LeaseOutcome]) -> Self {
        let back: Vec<f64> = runs.iter().filter_map(LeaseOutcome::window_share).collect();
        self.more.back = back.iter().copied().reduce(f64::min);
        let count = back.iter().filter(|own| **own >= RECOVERED).count();
        self.more.back_most = (!back.is_empty()).then(|| count as f64 / back.len() as f64);
        self
    }
}

fn fairness(runs: &[LeaseOutcome]) -> LeaseMore {
    let both = || runs.iter().filter_map(LeaseOutcome::fairness);
    LeaseMore {
        jain: both().map(|own| own.0).reduce(f64::min),
        worst_client: both().map(|own| own.1).reduce(f64::min),
        ..LeaseMore::default()
    }
}

/// What runs lost more than the same runs without a failure, in seconds of the limit.
fn lost(runs: &[LeaseOutcome], calm: &[LeaseOutcome], per_second: u64) -> Option<f64> {
    let each = runs.iter().zip(calm);
    let more: Vec<f64> = each.map(|(run, calm)| run.lost() - calm.lost()).collect();
    let mean = more.iter().sum::<f64>() / (more.len() as f64).max(1.0);
    (!more.is_empty()).then(|| mean / per_second as f64)
}
