//! The totals of a replay, in memory that does not depend on the trace's length.

use serde::Serialize;

use super::sketch::TopKeys;
use super::timeline::Timeline;
use super::waits::Waits;
use super::{Meaning, PolicyLabel, ReplayOutcome, ReplayVerdict};

/// Requests, and the tokens they asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct RequestCount {
    pub requests: u64,
    pub cost: u128,
}

impl RequestCount {
    fn add(&mut self, cost: u64) {
        self.requests += 1;
        self.cost += u128::from(cost);
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PolicyCount {
    /// Requests it refused.
    pub denied: RequestCount,
    pub delayed: RequestCount,
    /// The earliest and the latest time it did either.
    pub span: Option<(u64, u64)>,
}

/// The totals of a replay. Report every outcome with [`add`](Self::add), in the order of the trace.
#[derive(Debug)]
pub(crate) struct Summary {
    labels: Vec<PolicyLabel>,
    counts: [RequestCount; 4],
    policies: Vec<PolicyCount>,
    timeline: Timeline,
    top: TopKeys,
    waits: Waits,
    retries: Waits,
    never: u64,
    skipped: u64,
}

impl Summary {
    pub(crate) fn new(labels: Vec<PolicyLabel>) -> Self {
        Self {
            counts: [RequestCount::default(); 4],
            policies: vec![PolicyCount::default(); labels.len()],
            timeline: Timeline::new(labels.len()),
            labels,
            top: TopKeys::new(),
            waits: Waits::default(),
            retries: Waits::default(),
            never: 0,
            skipped: 0,
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, outcome: &ReplayOutcome<'_>) {
        let meaning = outcome.verdict.meaning();
        self.counts[meaning as usize].add(outcome.cost);
        let slot = self.timeline.add(outcome.time_ms, meaning);
        match outcome.verdict {
            ReplayVerdict::Allowed | ReplayVerdict::Unmatched => {}
            ReplayVerdict::Delayed { wait_ns } => {
                self.waits.add(wait_ns);
                self.bite(outcome, slot);
            }
            ReplayVerdict::Denied { retry_after_ns } => {
                match retry_after_ns {
                    Some(retry_after_ns) => self.retries.add(retry_after_ns),
                    None => self.never += 1,
                }
                self.top.add(outcome.key, outcome.policy);
                self.bite(outcome, slot);
            }
        }
    }

    pub(crate) fn skip(&mut self) {
        self.skipped += 1;
    }

    fn bite(&mut self, outcome: &ReplayOutcome<'_>, slot: usize) {
        let Some(index) = outcome.policy else { return };
        let Some(policy) = self.policies.get_mut(index) else {
            return;
        };
        match outcome.verdict.meaning() {
            Meaning::Delayed => policy.delayed.add(outcome.cost),
            Meaning::Denied => policy.denied.add(outcome.cost),
            Meaning::Allowed | Meaning::Unmatched => {}
        }
        let (first, last) = policy.span.unwrap_or((outcome.time_ms, outcome.time_ms));
        policy.span = Some((first.min(outcome.time_ms), last.max(outcome.time_ms)));
        self.timeline.bite(index, slot);
    }

    pub(crate) fn count(&self, meaning: Meaning) -> RequestCount {
        self.counts[meaning as usize]
    }

    pub(crate) fn total(&self) -> RequestCount {
        RequestCount {
            requests: self.counts.iter().map(|count| count.requests).sum(),
            cost: self.counts.iter().map(|count| count.cost).sum(),
        }
    }

    pub(crate) fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The earliest and the latest time of the trace.
    pub(crate) fn span(&self) -> Option<(u64, u64)> {
        self.timeline.span()
    }

    /// The policies and their counts, in the order of the labels.
    pub(crate) fn policies(&self) -> impl Iterator<Item = (&PolicyLabel, &PolicyCount)> {
        self.labels.iter().zip(&self.policies)
    }

    pub(crate) fn label(&self, policy: Option<usize>) -> Option<&PolicyLabel> {
        self.labels.get(policy?)
    }

    pub(crate) fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// The keys that were denied most.
    pub(crate) fn top(&self) -> &TopKeys {
        &self.top
    }

    /// How long delayed requests waited.
    pub(crate) fn waits(&self) -> &Waits {
        &self.waits
    }

    /// After how long denied requests could pass.
    pub(crate) fn retries(&self) -> &Waits {
        &self.retries
    }

    /// Denied requests that waiting does not help.
    pub(crate) fn never(&self) -> u64 {
        self.never
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn every_outcome_is_counted_once() {
        let summary = sample();
        assert_eq!(summary.total().requests, 10_800);
        assert_eq!(summary.total().cost, 10_800 * 3 / 2);
        assert_eq!(summary.count(Meaning::Unmatched).requests, 1080);
        assert_eq!(summary.count(Meaning::Delayed).requests, 360);
        assert_eq!(summary.count(Meaning::Denied).requests, 720 + 22);
        assert_eq!(summary.never(), 22);
        assert_eq!(summary.retries().count(), 720);
        assert_eq!(summary.span(), Some((1_700_000_000_000, 1_700_010_799_000)));
    }

    #[test]
    fn a_policy_knows_what_it_did_and_when() {
        let summary = sample();
        let policies: Vec<_> = summary.policies().collect();
        assert_eq!(policies[0].1.denied.requests, 720);
        assert_eq!(
            policies[0].1.span,
            Some((1_700_003_600_000, 1_700_007_191_000))
        );
        assert_eq!(
            (
                policies[1].1.denied.requests,
                policies[1].1.delayed.requests
            ),
            (22, 360)
        );
        assert_eq!(policies[2].1, &PolicyCount::default());
    }

    #[test]
    fn a_policy_nobody_named_is_no_accident() {
        let mut summary = Summary::new(vec![]);
        let verdict = ReplayVerdict::Denied {
            retry_after_ns: None,
        };
        summary.add(&ReplayOutcome {
            time_ms: 0,
            cost: u64::MAX,
            verdict,
            policy: Some(7),
            remaining: None,
            key: &"k",
        });
        assert_eq!(summary.count(Meaning::Denied).requests, 1);
        assert_eq!(summary.top().list(10).first().unwrap().key, "k");
    }
}
