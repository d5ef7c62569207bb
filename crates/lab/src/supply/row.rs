//! One design in one scenario over some seeds, as a row to print.
//!
//! Not here: how it is printed.

#![allow(clippy::cast_precision_loss, reason = "figures of three digits")]

use super::stage::{PER_SECOND, SupplyOutcome};

/// One design in one scenario, over all seeds. What does not apply is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SupplyRow {
    /// What happened.
    pub scenario: String,
    /// The design.
    pub design: String,
    /// How many nodes.
    pub nodes: u16,
    /// How many runs.
    pub seeds: u64,
    /// How often the invariants were looked at.
    pub checks: Option<u64>,
    /// How often one of them did not hold.
    pub violations: Option<u64>,
    /// Requests admitted while one bucket of the whole limit had no token for them.
    pub over: Option<u64>,
    /// What a central limiter admits and this did not, in percent.
    pub lost_percent: Option<f64>,
    /// Rounds until all fill ratios are within 5 %, the median.
    pub rounds: Option<f64>,
    /// Messages between nodes, per node and second; per node until even where rounds are counted.
    pub messages_per_node_s: Option<f64>,
    /// Runs after which the nodes hold the whole limit again.
    pub recovered: Option<u64>,
    /// More about the same runs.
    pub more: SupplyMore,
    /// The reference's figure for the row's main column.
    pub reference: Option<f64>,
    /// Whether the row is there to be seen to fail.
    pub may_break: bool,
}

/// What else is known of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SupplyMore {
    /// The most that one bucket was short of in any run, in requests.
    pub worst: Option<u64>,
    /// The largest sum of what nodes could use, in parts of the limit.
    pub most: Option<f64>,
    /// The mean of that sum.
    pub mean: Option<f64>,
    /// The least that nodes could use together at their best in the time of recovery, in parts of the limit.
    pub back: Option<f64>,
    /// What was lost in a run, in seconds of the limit.
    pub lost_s: Option<f64>,
    /// Messages from and to a service, per node and second.
    pub service_messages: Option<f64>,
    /// A fingerprint of all runs.
    pub hash: u64,
}

/// The sum that counts as the whole limit, in parts of it: the rest may be on its way.
const RECOVERED: f64 = 0.98;

impl SupplyRow {
    /// The row of some runs of a limit; the caller names it.
    pub(super) fn of(runs: &[SupplyOutcome], rate: u64, recovers: bool) -> Self {
        let sum = |pick: fn(&SupplyOutcome) -> u64| runs.iter().map(pick).sum::<u64>();
        let mean = |values: Vec<f64>| {
            let count = values.len() as f64;
            (count > 0.0).then(|| values.iter().sum::<f64>() / count)
        };
        let of = |value: i128| value as f64 / (rate as f64 * 1_000.0);
        let back = |run: &&SupplyOutcome| of(run.recovered) >= RECOVERED;
        let (offered, admitted, central) = (
            sum(|run| run.offered),
            sum(|run| run.admitted),
            sum(|run| run.central),
        );
        debug_assert!(admitted <= offered);
        let per_second = rate as f64 / PER_SECOND as f64;
        let lost = |run: &SupplyOutcome| (run.central as f64 - run.admitted as f64) / per_second;
        Self {
            seeds: runs.len() as u64,
            checks: Some(sum(|run| run.sums.checks)),
            violations: Some(sum(|run| run.sums.violations())),
            over: Some(sum(|run| run.excess.over)),
            lost_percent: (central > 0).then(|| 100.0 * (1.0 - admitted as f64 / central as f64)),
            messages_per_node_s: mean(
                runs.iter()
                    .map(SupplyOutcome::messages_per_node_s)
                    .collect(),
            ),
            recovered: recovers.then(|| runs.iter().filter(back).count() as u64),
            more: SupplyMore {
                worst: runs.iter().map(|run| run.excess.worst).max(),
                most: runs.iter().map(|run| run.sums.most).max().map(of),
                mean: mean(runs.iter().map(|run| of(run.sums.mean())).collect()),
                back: runs.iter().map(|run| run.recovered).min().map(of),
                lost_s: mean(runs.iter().map(lost).collect()),
                service_messages: mean(
                    runs.iter()
                        .map(|run| run.service_messages as f64 * 1e6 / (run.up_us as f64).max(1.0))
                        .collect(),
                ),
                hash: runs
                    .iter()
                    .fold(0, |all, run| crate::dice::scramble(all ^ run.hash)),
            },
            ..Self::default()
        }
    }
}
