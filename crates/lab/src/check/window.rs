//! Windows in drawn worlds, beside a list of everything that was admitted.
//!
//! Not here: calendars, and buckets.

use std::collections::BTreeMap;

use tollgate_gossip::ModeKey;
use tollgate_limit::Span;

use crate::check::{Finding, TIDY_NS, findings, window_promises};
use crate::dice::{LabDice, Purpose};
use crate::naive::{Naive, NaiveShape};
use crate::truth::Judgement;
use crate::world::{BadWorld, Cluster, RecordingOptions, Request, simulate_policy};

const SECOND: u64 = 1_000_000_000;

/// A window as the checker reads it; all begin at whole periods since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowLaw {
    /// Tokens per window.
    pub limit: u64,
    /// Nanoseconds per window.
    pub period_ns: u64,
    /// Which of the past counts.
    pub counts: WindowCounting,
}

/// Which of the past counts in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowCounting {
    /// The current window.
    Current,
    /// The newest of these many slices of a period.
    Slices(u32),
    /// The current window, and the part of the one before that is within a period.
    Weighted,
}

/// Runs windows in a world to its very end and returns what is wrong.
pub fn check_window(
    cluster: &Cluster,
    law: WindowLaw,
    trace: &[Request],
    seed: u64,
) -> Result<Vec<Finding>, BadWorld> {
    let promised = window_promises(cluster, trace);
    let drain = Span::from_nanos(2 * u128::from(law.period_ns) + TIDY_NS);
    let watched = Cluster {
        watch: RecordingOptions {
            drain,
            ..RecordingOptions::default()
        },
        ..cluster.clone()
    };
    let (answers, mut outcome) = simulate_policy(&watched, &law.policy(), trace, seed)?;
    outcome.judged = law.judge(&answers);
    Ok(findings(&outcome, promised))
}

/// The window of a seed, to go with the world of that seed.
pub fn random_window(seed: u64) -> WindowLaw {
    let mut dice = LabDice::new(seed, Purpose::Windows);
    WindowLaw {
        limit: 1 + dice.below(60),
        period_ns: 6 * SECOND * (1 + dice.below(6)),
        counts: match dice.below(5) {
            0 => WindowCounting::Current,
            1 => WindowCounting::Slices(2),
            2 => WindowCounting::Slices(12),
            _ => WindowCounting::Weighted,
        },
    }
}

impl WindowLaw {
    /// The same as contract files have it.
    fn policy(self) -> String {
        let algorithm = match self.counts {
            WindowCounting::Current => "fixed-window".to_owned(),
            WindowCounting::Slices(slices) => format!("sliding-counters, slices: {slices}"),
            WindowCounting::Weighted => "sliding-weighted".to_owned(),
        };
        let Self {
            limit, period_ns, ..
        } = self;
        format!("coordination: gossip, limit: {limit}, per: {period_ns}ns, algorithm: {algorithm}")
    }

    fn shape(self) -> NaiveShape {
        match self.counts {
            WindowCounting::Current => NaiveShape::Fixed(0),
            WindowCounting::Slices(slices) => NaiveShape::Counters(slices.into()),
            WindowCounting::Weighted => NaiveShape::Weighted,
        }
    }

    /// Compares answers with those of one window that sees everything.
    fn judge(self, answers: &[(Request, bool)]) -> Judgement {
        let naive = Naive::new(self.shape(), self.limit, self.period_ns);
        let mut users: BTreeMap<ModeKey, [Naive; 2]> = BTreeMap::new();
        let mut found = Judgement::default();
        for (request, did) in answers {
            let (now, cost) = (request.at.as_nanos(), request.cost);
            let both = || [naive.clone(), naive.clone()];
            let [central, cluster] = users.entry(request.key).or_insert_with(both);
            let should = central.fits(cost, now);
            central.add(now, if should { cost } else { 0 });
            found.over += if *did && !should { cost } else { 0 };
            found.under += if !did && should { cost } else { 0 };
            found.rejected += u64::from(!did);
            found.central_rejected += u64::from(!should);
            found.false_rejections += u64::from(!did && cluster.fits(cost, now));
            cluster.add(now, if *did { cost } else { 0 });
        }
        found
    }
}
