//! What every run must satisfy, and what each design promises on top.
//!
//! Findings are values; who asks decides whether to fail. Not here: anything the designs are made of, and bars on how
//! close or cheap a design is, which experiments show.

mod finding;
mod promise;
mod random;
mod window;

use tollgate_gossip::Knobs;
use tollgate_limit::Span;

pub use finding::Finding;
pub use promise::{Promises, promises};
pub use random::{FaultLevel, random_world};
pub use window::{WindowCounting, WindowLaw, check_window, random_window};

use promise::window_promises;

use crate::contender::Contender;
use crate::world::{BadWorld, Cluster, RecordingOptions, Request, RunOutcome, simulate};

/// How long after the last bucket has drained a node may keep what it knows, besides the grace.
const TIDY_NS: u128 = 12_000_000_000;

/// Runs a world to its very end and returns what is wrong with it.
pub fn check(
    cluster: &Cluster,
    contender: Contender,
    trace: &[Request],
    seed: u64,
) -> Result<Vec<Finding>, BadWorld> {
    let mut promised = promises(contender, cluster, trace);
    let watched = Cluster {
        watch: RecordingOptions {
            curves: false,
            probes: promised.agrees || promised.equal,
            drain: if promised.frees {
                drained_after(cluster, trace)
            } else {
                Span::ZERO
            },
        },
        ..cluster.clone()
    };
    let outcome = simulate(&watched, contender, trace, seed)?;
    // Links forgive what is more than a bucket below zero.
    promised.agrees &= outcome.judged.over <= cluster.bucket.burst();
    Ok(findings(&outcome, promised))
}

/// What is wrong with an outcome, given what was promised.
pub fn findings(outcome: &RunOutcome, promised: Promises) -> Vec<Finding> {
    let mut found = Vec::new();
    let judged = outcome.judged;
    let unread = outcome.traffic.malformed;
    if promised.readable && unread > 0 {
        found.push(Finding::Unread(unread));
    }
    found.extend(unbalanced(outcome));
    if promised.quiet && outcome.quiet_s.is_none() {
        found.push(Finding::NeverQuiet);
    }
    if promised.no_false_rejection && judged.false_rejections > 0 {
        found.push(Finding::FalseRejections(judged.false_rejections));
    }
    if promised.exact && (judged.over > 0 || judged.under > 0) {
        let (over, under) = (judged.over, judged.under);
        found.push(Finding::NotExact { over, under });
    }
    if promised.agrees {
        let astray = outcome.probes.iter().copied().filter(Finding::is_astray);
        found.extend(astray.map(Finding::Astray));
    }
    if promised.equal {
        let apart = outcome.probes.iter().copied().filter(Finding::is_apart);
        found.extend(apart.map(Finding::Apart));
    }
    if promised.frees && outcome.left_bytes > 0 {
        found.push(Finding::Kept(outcome.left_bytes));
    }
    found
}

/// Whether frames came from nowhere or went nowhere, whatever the design and the faults.
fn unbalanced(outcome: &RunOutcome) -> Option<Finding> {
    let traffic = outcome.traffic;
    let made = traffic.messages + traffic.copies;
    let gone = traffic.received + traffic.lost;
    let is_wrong = gone > made || (outcome.quiet_s.is_some() && gone != made);
    is_wrong.then_some(Finding::Unbalanced { made, gone })
}

/// When everything must be forgotten: the last bucket has drained, shares that were never told have faded, grace is
/// over.
fn drained_after(cluster: &Cluster, trace: &[Request]) -> Span {
    let bucket = cluster.bucket;
    let asked: u64 = trace
        .iter()
        .map(|request| request.cost)
        .fold(0, u64::saturating_add);
    let most = bucket
        .burst()
        .saturating_mul(u64::from(cluster.nodes))
        .min(asked);
    let drained = bucket.time_for(bucket.grains(most)).as_nanos();
    let faded = faded_after(bucket.time_for(bucket.capacity()), &cluster.knobs);
    let grace = cluster.knobs.grace.as_nanos();
    Span::from_nanos(
        drained
            .saturating_add(faded)
            .saturating_add(grace + TIDY_NS),
    )
}

/// A share of twice the burst fades at a part of the refill.
fn faded_after(full: Span, knobs: &Knobs) -> u128 {
    const MILLION: u128 = 1_000_000;
    let fade = knobs.fade.of(MILLION).max(1);
    full.as_nanos().saturating_mul(2 * MILLION) / fade
}
