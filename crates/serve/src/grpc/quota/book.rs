//! The pools that quotas are assigned from, one for each key that a data plane reports of.
//!
//! A pool that is made soon after the start of the server is empty for as long as anything may be in use that was assigned before.
//! Not here: streams.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use parking_lot::Mutex;
use tollgate_lease::{Action, Limits, Pool, Quota, QuotaFigures, QuotaRules, Report, Rules};
use tollgate_limit::Instant;

use super::bind::Place;
use crate::meter::text::{Kind, Text};
use crate::settings::QuotaLimits;

/// What data planes are assigned.
pub struct Quotas {
    rules: QuotaRules,
    /// Until when something may be in use that an earlier process assigned.
    quiet_until: Instant,
    streams: AtomicUsize,
    /// Subscriptions so far: each has a number.
    planes: AtomicU64,
    books: Mutex<Books>,
}

#[derive(Default)]
struct Books {
    pools: BTreeMap<Place, Lent>,
    /// What pools counted that are gone.
    past: QuotaFigures,
    swept: Instant,
}

struct Lent {
    limits: Limits,
    pool: Pool,
    quota: Quota,
}

impl Quotas {
    /// Nobody is assigned anything yet.
    pub fn new(limits: &QuotaLimits, now: Instant) -> Self {
        let rules = QuotaRules {
            ttl_s: limits.ttl_s,
            delivery_ns: u64::try_from(limits.delivery.as_nanos()).unwrap_or(u64::MAX),
            ..QuotaRules::default()
        };
        let quiet = now.as_nanos().saturating_add(rules.hold_ns());
        Self {
            rules,
            quiet_until: Instant::from_nanos(quiet),
            streams: AtomicUsize::new(0),
            planes: AtomicU64::new(0),
            books: Mutex::default(),
        }
    }

    /// For how many seconds an assignment lives.
    pub(super) const fn ttl_s(&self) -> u32 {
        self.rules.ttl_s
    }

    /// A place among the streams; whether there was one.
    pub(super) fn enter(&self) -> bool {
        if self.streams.fetch_add(1, Relaxed) < STREAMS_MAX {
            return true;
        }
        self.leave();
        false
    }

    /// Gives the place among the streams back.
    pub(super) fn leave(&self) {
        self.streams.fetch_sub(1, Relaxed);
    }

    /// The number of a new subscription.
    pub(super) fn number(&self) -> u64 {
        self.planes.fetch_add(1, Relaxed)
    }

    /// Takes a report; what the data plane is told, and when to look again. `None` where there is no room for the key.
    pub(super) fn report(
        &self,
        (place, limits): (&Place, Limits),
        number: u64,
        report: &Report,
        now: Instant,
    ) -> Option<(Option<Action>, Option<Instant>)> {
        let mut books = self.books.lock();
        books.sweep(now);
        if !books.pools.contains_key(place) {
            if books.pools.len() >= KEYS_MAX {
                return None;
            }
            books.pools.insert(place.clone(), self.lent(limits, now));
        }
        let lent = books.pools.get_mut(place)?;
        if lent.limits != limits {
            lent.limits = limits;
            lent.pool.change(limits, now);
        }
        let action = lent
            .quota
            .handle_report(&mut lent.pool, number, report, now);
        Some((action, lent.quota.due(number)))
    }

    /// Does what is due for a data plane; what it is told, and when to look again.
    pub(super) fn due(
        &self,
        place: &Place,
        number: u64,
        now: Instant,
    ) -> (Option<Action>, Option<Instant>) {
        let mut books = self.books.lock();
        let Some(lent) = books.pools.get_mut(place) else {
            return (None, None);
        };
        let action = lent.quota.handle_due(&mut lent.pool, number, now);
        (action, lent.quota.due(number))
    }

    /// A data plane is gone, or no longer concerned.
    pub(super) fn part(&self, place: &Place, number: u64) {
        if let Some(lent) = self.books.lock().pools.get_mut(place) {
            lent.quota.leave(number);
        }
    }

    fn lent(&self, limits: Limits, now: Instant) -> Lent {
        let mut pool = Pool::new(limits, Rules::default(), 1, now);
        if now < self.quiet_until {
            pool.quarantine(self.quiet_until);
        }
        Lent {
            limits,
            pool,
            quota: Quota::new(self.rules),
        }
    }

    /// Adds how quotas stand, for Prometheus; nothing where nobody ever asked for one.
    pub(crate) fn render(&self, body: &mut String) {
        if self.planes.load(Relaxed) == 0 {
            return;
        }
        let books = self.books.lock();
        let mut sum = books.past;
        let mut planes = 0;
        for lent in books.pools.values() {
            planes += lent.quota.planes();
            sum = added(&sum, &lent.quota.figures());
        }
        let keys = books.pools.len();
        drop(books);
        let mut text = Text::new();
        let gauges = [
            (
                "tollgate_quota_streams",
                "Streams of data planes.",
                self.streams.load(Relaxed),
            ),
            (
                "tollgate_quota_planes",
                "Subscriptions of data planes to keys.",
                planes,
            ),
            (
                "tollgate_quota_keys",
                "Keys that quotas are assigned from.",
                keys,
            ),
        ];
        for (name, help, value) in gauges {
            text.one(name, Kind::Gauge, help, value);
        }
        let counters = [
            (
                "tollgate_quota_reports_total",
                "Reports of usage.",
                sum.reports,
            ),
            (
                "tollgate_quota_changed_total",
                "Buckets assigned that were new to a data plane.",
                sum.changed,
            ),
            (
                "tollgate_quota_extended_total",
                "Buckets assigned again as they were.",
                sum.extended,
            ),
            (
                "tollgate_quota_denied_total",
                "Times that there was nothing to assign.",
                sum.denied,
            ),
            (
                "tollgate_quota_abandoned_total",
                "Buckets that nobody used any more.",
                sum.abandoned,
            ),
        ];
        for (name, help, value) in counters {
            text.one(name, Kind::Counter, help, value);
        }
        // Writing to a string cannot fail.
        let _ = write!(body, "{}", text.finish());
    }
}

impl Books {
    /// Forgets pools that are as if they had never been, once in a while.
    fn sweep(&mut self, now: Instant) {
        if now.nanos_since(self.swept) < SWEEP_NS {
            return;
        }
        self.swept = now;
        let past = &mut self.past;
        self.pools.retain(|_, lent| {
            lent.pool.advance(now);
            let is_kept = lent.quota.planes() > 0 || !lent.pool.is_fresh();
            if !is_kept {
                *past = added(past, &lent.quota.figures());
            }
            is_kept
        });
    }
}

const fn added(one: &QuotaFigures, two: &QuotaFigures) -> QuotaFigures {
    QuotaFigures {
        reports: one.reports + two.reports,
        changed: one.changed + two.changed,
        extended: one.extended + two.extended,
        denied: one.denied + two.denied,
        abandoned: one.abandoned + two.abandoned,
    }
}

/// Streams of data planes, all connections together.
const STREAMS_MAX: usize = 4_096;
/// Keys that quotas are assigned from at once.
const KEYS_MAX: usize = 65_536;
const SWEEP_NS: u64 = 1_000_000_000;
