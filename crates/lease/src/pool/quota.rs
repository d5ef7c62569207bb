//! What the pool does for data planes that are assigned quotas: room in the same books as leases.
//!
//! A data plane's record cannot be reached by questions: its boot and its number are the largest there are. Not here:
//! what is assigned to whom, and for how long it must be kept.

use tollgate_limit::Instant;

use super::{Booked, Pool, Record};
use crate::amount::{Limits, TOKEN, part, tokens, used};
use crate::message::Stamp;
use crate::share::{ONE, rate_of};

/// What is kept for a data plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reserved {
    /// The rate, in mites per nanosecond.
    pub(crate) rate: i128,
    /// The depth, in mites.
    pub(crate) depth: i128,
    /// Its demand in thousandths of a token per second.
    pub(crate) want: u64,
}

impl Pool {
    /// Limit, period and burst.
    pub fn limits(&self) -> &Limits {
        &self.terms.limits
    }

    /// Whether somebody has a record of that name.
    pub(crate) fn is_taken(&self, name: u64) -> bool {
        self.busy.records.contains_key(&name)
    }

    /// Whether there is room for another record.
    pub(crate) fn is_open(&self) -> bool {
        self.busy.records.len() < self.terms.rules.lessees_max
    }

    /// Keeps that for a data plane until `until`, instead of what was kept. Tokens are drawn apart.
    pub(crate) fn reserve(&mut self, name: u64, kept: &Reserved, until: Instant) {
        self.take(name);
        let record = Record {
            booked: Booked {
                boot: u64::MAX,
                rate: kept.rate,
                depth: kept.depth,
                ..Booked::default()
            },
            prior: Stamp::default(),
            seq: u64::MAX,
            until,
            want: kept.want,
            lent: 0,
            answer: None,
            heard: self.level.at,
            // Nobody hears a hint there.
            nudged: Instant::LAST,
            shorts: 0,
        };
        self.put(name, &record);
    }

    /// Takes a data plane off the books while it is decided what it is kept from here on.
    pub(crate) fn withdraw(&mut self, name: u64) {
        self.take(name);
    }

    /// Takes whole tokens out of the pool.
    pub(crate) fn draw(&mut self, count: u32) {
        self.level.tokens -= i128::from(count) * TOKEN;
    }

    /// Whole tokens that one with that demand may have of the pool.
    pub(crate) fn offered(&self, want: u64) -> u64 {
        let level = self.level.tokens.max(0);
        let crowd = self.crowd(want);
        let is_plenty = crowd.is_calm() || level > self.room() / 4;
        tokens(if is_plenty {
            level
        } else {
            crowd.of(level, want)
        })
    }

    /// The rate that a data plane may have: what nobody has, less the pool's share, out of which changes are paid; or
    /// half of what nobody has, so that nobody is left with nothing.
    pub(crate) fn rate_free(&self) -> i128 {
        let all = self.terms.limits.rate();
        let free = self.rate_max() - self.busy.sums.rate - self.unknown().0;
        let beside = free - part(all, self.terms.rules.pool_rate, ONE);
        beside.max(free / 2).max(0)
    }

    /// Whether more is reserved than there is, as after a change of limits.
    pub(crate) fn is_over(&self) -> bool {
        let (rate, depth) = self.unknown();
        self.busy.sums.rate + rate > self.terms.limits.rate()
            || self.busy.sums.depth + depth > self.terms.limits.depth()
    }

    /// The depth and the rate that are due to a demand that lasts for `term_ns`: there are no top-ups, so the rate is a
    /// quarter above what is asked for.
    pub(crate) fn due_plane(&self, want: u64, term_ns: u64) -> (i128, i128) {
        let crowd = self.crowd(want);
        let lent = part(self.terms.limits.depth(), self.terms.rules.lent_depth, ONE);
        let ample = want.saturating_add(want / 4);
        let depth = part(lent, want.min(crowd.mark), crowd.want).min(used(ample, term_ns));
        (depth, crowd.rate_share(want).min(rate_of(ample)))
    }

    /// The depth and the rate that a data plane may go on with, which uses so much of what may be out although nobody
    /// has said so: its share by its rate at least, and no more than half of the depth beyond that, so that others are
    /// left with some. Most have more than they use: they may have a quarter more, too.
    pub(crate) fn claimable(&self, used: u64, term_ns: u64) -> (i128, i128) {
        let (all, depth) = self.unknown();
        let lent = part(self.terms.limits.depth(), self.terms.rules.lent_depth, ONE);
        let own = part(lent, used, self.terms.limits.want());
        let due = self.due_plane(used, term_ns).0.min(depth / 2);
        let rate = rate_of(used).min(all);
        // Small rates are told in whole tokens, rounded down.
        let more = (rate / 4).max(rate_of(1_000)).min((all - rate) / 2);
        (due.max(own).max(2 * TOKEN).min(depth), rate + more)
    }

    /// Takes so much out of what may be out although nobody has said so.
    pub(crate) fn claim(&mut self, depth: i128, rate: i128) {
        if let Some(unknown) = self.unknown.as_mut() {
            unknown.depth -= depth;
            unknown.rate -= rate;
        }
    }

    /// How long until the pool has a token; the longest time there is where it never has.
    pub(crate) fn dry_ns(&self) -> u64 {
        self.wait_ns(TOKEN).unwrap_or(u64::MAX)
    }
}
