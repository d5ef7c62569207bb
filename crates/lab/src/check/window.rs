//! Windows in drawn worlds, beside a list of everything that was admitted.
//!
//! Not here: calendars, and buckets.

use tollgate_gossip::ModeKey;
use tollgate_limit::Span;

use crate::check::{Finding, TIDY_NS, findings, window_promises};
use crate::dice::{LabDice, Purpose};
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

    /// Compares answers with those of one window that sees everything.
    fn judge(self, answers: &[(Request, bool)]) -> Judgement {
        let (mut central, mut cluster) = (Ledger::default(), Ledger::default());
        let mut found = Judgement::default();
        for (request, did) in answers {
            let should = central.fits(self, request);
            central.note(request, should);
            found.over += if *did && !should { request.cost } else { 0 };
            found.under += if !did && should { request.cost } else { 0 };
            found.rejected += u64::from(!did);
            found.central_rejected += u64::from(!should);
            found.false_rejections += u64::from(!did && cluster.fits(self, request));
            cluster.note(request, *did);
        }
        found
    }
}

/// Everything that was admitted: whose, when, how much.
#[derive(Debug, Default)]
struct Ledger {
    admitted: Vec<(ModeKey, u64, u64)>,
}

impl Ledger {
    fn note(&mut self, request: &Request, is_admitted: bool) {
        if is_admitted {
            let at = request.at.as_nanos();
            self.admitted.push((request.key, at, request.cost));
        }
    }

    /// By the definition, over the whole list.
    fn fits(&self, law: WindowLaw, request: &Request) -> bool {
        let (now, period) = (request.at.as_nanos(), law.period_ns);
        let (limit, cost) = (u128::from(law.limit), u128::from(request.cost));
        let sum = |within: &dyn Fn(u64) -> bool| -> u128 {
            let those = self
                .admitted
                .iter()
                .filter(|(key, at, _)| *key == request.key && within(*at));
            those.map(|(_, _, cost)| u128::from(*cost)).sum()
        };
        match law.counts {
            WindowCounting::Current => sum(&|at| at / period == now / period) + cost <= limit,
            WindowCounting::Slices(slices) => {
                let width = period / u64::from(slices);
                let counts = |at: u64| at / width + u64::from(slices) > now / width;
                sum(&counts) + cost <= limit
            }
            WindowCounting::Weighted => {
                let current = sum(&|at| at / period == now / period);
                let before = sum(&|at| at / period + 1 == now / period);
                let kept = u128::from(period - now % period);
                let period = u128::from(period);
                before * kept + (current + cost) * period <= limit * period
            }
        }
    }
}
