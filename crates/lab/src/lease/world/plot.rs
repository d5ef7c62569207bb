//! What a run is: the bucket, the clients, what is between them, who is asked how much, and what happens when.
//!
//! Times are in nanoseconds. Not here: what comes of it.

use tollgate_sim::Conditions;

use crate::lease::naive::NaiveShape;
use crate::supply::stage::{PER_SECOND, Phase, WHOLE, part};

pub(crate) const MILLI: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000 * MILLI;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeaseSetting {
    pub(crate) per_second: u64,
    pub(crate) burst: u64,
    pub(crate) clients: u16,
    pub(crate) term_ns: u64,
    /// How wrong clocks may be.
    pub(crate) drift_ppm: u32,
    /// How wrong they are beyond that, which is wrong.
    pub(crate) drift_more: u32,
    /// Whether all run as fast as they may.
    pub(crate) is_hurried: bool,
    /// In nanoseconds.
    pub(crate) weather: Conditions,
    pub(crate) until: u64,
    /// Admissions within are counted apart, beside a bucket that begins with what could be spent then.
    pub(crate) window: Option<(u64, u64)>,
    /// How long requests may wait; then those of clients cost one to three tokens. Refused at once where it is zero.
    pub(crate) max_wait_ns: u64,
    /// Whether clients share alike what there is not enough of.
    pub(crate) is_shared_by_client: bool,
    /// What is lent, where it is no bucket: how a window counts, its period, and how far the time of day is ahead.
    pub(crate) window_of: Option<WindowOf>,
    /// Width of the slots in which admissions are counted; none are kept where it is zero.
    pub(crate) slot_ns: u64,
}

impl LeaseSetting {
    /// Ten clients a millisecond away for half a minute; the burst is in milliseconds of the limit.
    pub(crate) fn usual(per_second: u64, burst_ms: u64) -> Self {
        Self {
            per_second,
            burst: (per_second * burst_ms / 1_000).max(1),
            clients: 10,
            term_ns: 2 * SECOND,
            drift_ppm: 500,
            drift_more: 0,
            is_hurried: false,
            weather: Conditions::between(MILLI, MILLI * 6 / 5),
            until: 30 * SECOND,
            window: None,
            max_wait_ns: 0,
            is_shared_by_client: false,
            window_of: None,
            slot_ns: 0,
        }
    }

    /// Whole demand of so many percent of the limit, in millionths of a request per second.
    pub(crate) fn demand(&self, percent: u64) -> u64 {
        part(self.per_second * PER_SECOND, percent, 100)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WindowOf {
    pub(crate) shape: NaiveShape,
    pub(crate) period_ns: u64,
    /// How far the time of day is ahead of that of the run.
    pub(crate) day: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recovery {
    /// Books are kept.
    Ledger,
    /// Clients say what they hold.
    Restate,
    /// Nobody is heard for a term.
    Quarantine,
    /// The bucket is taken for full, which is wrong.
    Careless,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LeaseChange {
    Crash(u16),
    Restart(u16),
    /// These are cut off from the grantor.
    Cut(Vec<u16>),
    Heal,
    /// The grantor is gone.
    Fall,
    /// And has a successor.
    Rise(Recovery),
    /// A client's clock jumps.
    Step(u16, i64),
    /// A client does nothing, and goes on.
    Pause(u16),
    GoOn(u16),
    /// A client is cut off from the grantor for that long.
    Away(u16, u64),
    /// The time of day is set forward by that.
    Set(u64),
    /// From here on nothing is lost or doubled.
    Calm,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plot {
    pub(crate) setting: LeaseSetting,
    /// In microseconds, as arrivals are.
    pub(crate) phases: Vec<Phase>,
    pub(crate) changes: Vec<(u64, LeaseChange)>,
    pub(crate) seed: u64,
}

impl Plot {
    /// A steady demand of so many percent of the limit, by Zipf's law.
    pub(crate) fn steady(setting: LeaseSetting, percent: u64, seed: u64) -> Self {
        let rates = skewed(setting.demand(percent), setting.clients, 10);
        Self {
            phases: vec![Phase { at: 0, rates }],
            changes: Vec::new(),
            setting,
            seed,
        }
    }
}

/// Shares of a whole that fall as the rank to the power of so many tenths.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "weights to a millionth, rounded to whole numbers"
)]
pub(crate) fn skewed(whole: u64, clients: u16, tenths: u32) -> Vec<u64> {
    let weight = |rank: u16| {
        let power = f64::from(rank + 1).powf(f64::from(tenths) / 10.0);
        (WHOLE as f64 * 1_000.0 / power).round() as u64
    };
    let sum: u64 = (0..clients).map(weight).sum();
    (0..clients)
        .map(|rank| part(whole, weight(rank), sum))
        .collect()
}
