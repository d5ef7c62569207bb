//! One data plane: what it may be using, what it asks for, and what it is assigned next.
//!
//! Nothing is acknowledged. What was assigned counts until its time to live is over wherever it arrived as late as it
//! may; or, where another one was sent since, until the stream is seen to be there so late that the other must have
//! arrived. Not here: the books.

use tollgate_limit::Instant;
use tollgate_mode::planted;

use super::{QuotaBucket, QuotaReport, QuotaRules, SECOND_NS, terms_after};
use crate::amount::{WANT_MAX, after, mites};
use crate::pool::{Pool, Reserved};

/// What is to be said to a data plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// A bucket that may start full.
    Change(QuotaBucket),
    /// The one that is in use.
    Extend(QuotaBucket),
    /// Nothing passes for so many seconds.
    Deny(u32),
    /// Nothing is said.
    Wait,
}

/// A bucket that a data plane may be using.
#[derive(Clone, Copy, Debug)]
struct Part {
    bucket: QuotaBucket,
    /// When it was sent last.
    sent: Instant,
    /// When another one was sent.
    replaced: Instant,
}

impl Part {
    /// When it is not in use any more, if the stream is there then: another one was sent, and it has arrived.
    fn given_up(&self, rules: &QuotaRules) -> Instant {
        after(self.replaced, rules.sure_ns())
    }
}

/// One data plane.
#[derive(Clone, Debug)]
pub(super) struct Plane {
    /// Its name in the pool.
    name: u64,
    /// Demand in thousandths of a token per second.
    want: u64,
    heard: Option<Instant>,
    /// When it last had requests.
    busy: Instant,
    current: Option<Part>,
    old: Vec<Part>,
    /// When it may have another bucket.
    settled: Instant,
    /// When to try again, where there was nothing for it.
    retry: Option<Instant>,
    /// Until when it was told to refuse.
    denied: Instant,
}

impl Plane {
    pub(super) const fn new(name: u64, now: Instant) -> Self {
        Self {
            name,
            want: 0,
            heard: None,
            busy: now,
            current: None,
            old: Vec::new(),
            settled: now,
            retry: None,
            denied: now,
        }
    }

    /// Takes a report: it is a sign that the data plane has what was sent before, and says how much is asked for.
    pub(super) fn hear(&mut self, report: &QuotaReport, now: Instant) {
        let count = report.allowed.saturating_add(report.denied);
        let said = report.elapsed_ns;
        // Envoy says whole seconds, rounded down; by our clock it is known better.
        let seen = self.heard.map_or(SECOND_NS, |heard| now.nanos_since(heard));
        let elapsed = seen
            .clamp(said, said.saturating_add(SECOND_NS))
            .max(SHORT_NS);
        let rate = u128::from(count) * 1_000_000_000_000 / u128::from(elapsed);
        let (elapsed, tau) = (u128::from(elapsed), u128::from(SMOOTH_NS));
        let mean = if self.heard.is_none() {
            rate
        } else {
            let rate = rate.min(1 << 63);
            let mean = (u128::from(self.want) * tau + rate * elapsed) / (tau + elapsed);
            // Over so long, what is not asked for any more is not asked for.
            let is_long = elapsed >= tau;
            if is_long { mean.min(2 * rate) } else { mean }
        };
        self.want = u64::try_from(mean).unwrap_or(WANT_MAX).min(WANT_MAX);
        self.heard = Some(now);
        if count > 0 {
            self.busy = now;
        }
    }

    /// Goes on with what it says that it uses, as another bucket, out of what may be out although nobody has said so.
    pub(super) fn restate(
        &mut self,
        pool: &mut Pool,
        rules: &QuotaRules,
        report: &QuotaReport,
        now: Instant,
    ) -> Option<QuotaBucket> {
        let is_new = self.current.is_none() && self.old.is_empty();
        if !is_new || report.elapsed_ns == 0 || report.allowed == 0 {
            return None;
        }
        let elapsed = u128::from(report.elapsed_ns.max(SHORT_NS));
        let used = u128::from(report.allowed) * 1_000_000_000_000 / elapsed;
        let used = u64::try_from(used).unwrap_or(WANT_MAX).min(WANT_MAX);
        let (depth, rate) = pool.claimable(used, rules.ttl_ns());
        let bucket = QuotaBucket::fit(pool.limits(), depth, rate, rules.drift_ppm);
        if bucket.depth() > depth || bucket.rate(rules.drift_ppm) > rate {
            return None;
        }
        planted!(
            "lease-44",
            pool.claim(bucket.depth(), bucket.rate(rules.drift_ppm)),
            ()
        );
        self.begin(bucket, rules, now);
        self.book(pool, rules, used.min(pool.limits().want().max(1)), now);
        Some(bucket)
    }

    /// Drops what can no longer be in use. Whoever calls has just seen that the stream is there.
    pub(super) fn settle(&mut self, rules: &QuotaRules, now: Instant) {
        let is_out = |part: &Part| after(part.sent, rules.hold_ns()) > now;
        let is_had = |part: &Part| planted!("lease-18", part.given_up(rules) > now, false);
        self.old.retain(|part| is_out(part) && is_had(part));
        self.current = self.current.filter(is_out);
    }

    /// Whether nobody used it for four terms.
    pub(super) fn is_idle(&self, rules: &QuotaRules, now: Instant) -> bool {
        terms_after(self.busy, rules, IDLE_TERMS) <= now
    }

    /// Whether nobody used it for a term more than that, so that somebody should have been told.
    pub(super) fn is_gone(&self, rules: &QuotaRules, now: Instant) -> bool {
        terms_after(self.busy, rules, IDLE_TERMS + 1) <= now
    }

    /// When something is to be done without a report.
    pub(super) fn due(&self, rules: &QuotaRules) -> Instant {
        let idle = terms_after(self.busy, rules, IDLE_TERMS);
        let given_up = self.old.iter().map(|part| part.given_up(rules));
        let times = given_up.chain(self.retry);
        times.fold(idle, Instant::min)
    }

    /// What counts as its demand: at least two tokens in a term, as it cannot ask, and at most the limit.
    pub(super) fn want(&self, pool: &Pool, rules: &QuotaRules) -> u64 {
        let least = 2_000 / u64::from(rules.ttl_s.max(1)) + 1;
        self.want.max(least).min(pool.limits().want().max(1))
    }

    /// Decides what it is told, draws tokens for that, and leaves it off the books.
    pub(super) fn decide(
        &mut self,
        pool: &mut Pool,
        rules: &QuotaRules,
        want: u64,
        now: Instant,
    ) -> Act {
        let is_over = pool.is_over();
        pool.withdraw(self.name);
        let (depth, rate) = pool.due_plane(want, rules.ttl_ns());
        let wished = QuotaBucket::fit(pool.limits(), depth, rate, rules.drift_ppm);
        let fresh = self.fresh(pool, rules, want, wished);
        let current = self.current.filter(|part| {
            let until = after(part.sent, rules.extend_ns());
            now < until
        });
        let has_room = self.old.len() < OLD_MAX;
        let is_due = now >= self.settled && has_room;
        let act = match (current, fresh) {
            (None, Some(bucket)) if has_room => self.change(pool, rules, bucket, now),
            (None, _) if self.current.is_some() && !is_over => self.wait(pool, rules, now),
            (None, _) => self.deny(pool, rules, now),
            (Some(part), Some(bucket))
                if is_due && is_better(&part.bucket, &wished, &bucket, is_over) =>
            {
                self.change(pool, rules, bucket, now)
            }
            (Some(_), None) if is_over => self.deny(pool, rules, now),
            (Some(_), _) => self.extend(now),
        };
        self.look_again(&wished, now);
        act
    }

    /// Looks again soon, later and later until it reports, where what it has is far from what is due.
    fn look_again(&mut self, wished: &QuotaBucket, now: Instant) {
        let is_short = |part: &Part| {
            u64::from(part.bucket.tokens_per_fill) * 5 < u64::from(wished.tokens_per_fill) * 4
        };
        if self.current.as_ref().is_some_and(is_short) {
            let silent = self.heard.map_or(0, |heard| now.nanos_since(heard));
            self.retry = Some(after(now, silent.max(LOOK_NS)));
        }
    }

    /// What is wished, cut to what there is; `None` where there is nothing.
    fn fresh(
        &self,
        pool: &Pool,
        rules: &QuotaRules,
        want: u64,
        wished: QuotaBucket,
    ) -> Option<QuotaBucket> {
        let tokens = pool.offered(want).min(u64::from(wished.max_tokens));
        let own = self.reserved(rules, 0).rate;
        let rate = pool.rate_free().max(own);
        let most = QuotaBucket::fit(pool.limits(), mites(tokens), rate, rules.drift_ppm);
        let mut bucket = QuotaBucket {
            tokens_per_fill: most.tokens_per_fill.min(wished.tokens_per_fill),
            ..most
        };
        if self.parts().any(|part| part.bucket.is_twin(&bucket)) {
            bucket.max_tokens -= 1;
        }
        let is_there = tokens > 0 && bucket.max_tokens > 0 && bucket.rate(rules.drift_ppm) <= rate;
        is_there.then_some(bucket)
    }

    fn change(
        &mut self,
        pool: &mut Pool,
        rules: &QuotaRules,
        bucket: QuotaBucket,
        now: Instant,
    ) -> Act {
        planted!("lease-16", pool.draw(bucket.max_tokens), ());
        self.replace(now);
        self.begin(bucket, rules, now);
        Act::Change(bucket)
    }

    /// Has another bucket from here on.
    fn begin(&mut self, bucket: QuotaBucket, rules: &QuotaRules, now: Instant) {
        self.current = Some(Part {
            bucket,
            sent: now,
            replaced: now,
        });
        self.settled = after(now, (rules.ttl_ns() / 4).min(rules.sure_ns()));
        self.retry = None;
    }

    /// Renews the time of what is in use, if there was a report just now.
    fn extend(&mut self, now: Instant) -> Act {
        self.retry = None;
        let is_report = self.heard == Some(now);
        match self.current.as_mut().filter(|_| is_report) {
            Some(part) => {
                part.sent = now;
                Act::Extend(part.bucket)
            }
            None => Act::Wait,
        }
    }

    /// Leaves it with what it has; perhaps there is something before that ends.
    fn wait(&mut self, pool: &Pool, rules: &QuotaRules, now: Instant) -> Act {
        self.retry = Some(after(now, pause_ns(pool, rules)));
        Act::Wait
    }

    fn deny(&mut self, pool: &Pool, rules: &QuotaRules, now: Instant) -> Act {
        let pause = pause_ns(pool, rules);
        self.retry = Some(after(now, pause));
        let is_told = now < self.denied && self.current.is_none();
        if is_told && self.heard != Some(now) {
            return Act::Wait;
        }
        self.replace(now);
        let seconds = u32::try_from(pause.div_ceil(SECOND_NS)).unwrap_or(1).max(1);
        self.denied = after(now, u64::from(seconds) * SECOND_NS);
        Act::Deny(seconds)
    }

    /// Another assignment takes the place of the current one, once it arrives.
    fn replace(&mut self, now: Instant) {
        if let Some(part) = self.current.take() {
            let replaced = now;
            self.old.push(Part { replaced, ..part });
        }
    }

    fn parts(&self) -> impl Iterator<Item = &Part> {
        self.old.iter().chain(&self.current)
    }

    /// What must be kept for all that it may be using: one bucket at a time, but others may be on their way to it.
    fn reserved(&self, rules: &QuotaRules, want: u64) -> Reserved {
        let rate = |part: &Part| part.bucket.rate(rules.drift_ppm);
        let depth = |part: &Part| part.bucket.depth();
        Reserved {
            rate: planted!(
                "lease-21",
                self.parts().map(rate).max().unwrap_or(0),
                self.current.as_ref().map_or(0, rate)
            ),
            depth: planted!(
                "lease-23",
                self.parts().map(depth).sum(),
                self.current.as_ref().map_or(0, depth)
            ),
            want,
        }
    }

    /// Enters it in the books.
    pub(super) fn book(&self, pool: &mut Pool, rules: &QuotaRules, want: u64, now: Instant) {
        let sent = self.parts().map(|part| part.sent).max().unwrap_or(now);
        let until = after(sent, rules.hold_ns());
        pool.reserve(self.name, &self.reserved(rules, want), until);
    }
}

/// Whether a bucket is worth a change: what is wished is another one than there is, and this is as near to it.
fn is_better(
    held: &QuotaBucket,
    wished: &QuotaBucket,
    bucket: &QuotaBucket,
    is_over: bool,
) -> bool {
    if is_over {
        return bucket.max_tokens < held.max_tokens
            || bucket.tokens_per_fill < held.tokens_per_fill;
    }
    // What is to come back to others is cut even if the pool can pay for a part of the depth only.
    let is_cut = u64::from(wished.tokens_per_fill) * 5 < u64::from(held.tokens_per_fill) * 4;
    let least = wished.max_tokens.min(held.max_tokens);
    let is_near = bucket.max_tokens >= if is_cut { least / 4 } else { least }
        && bucket.tokens_per_fill >= wished.tokens_per_fill.min(held.tokens_per_fill);
    is_near && !held.is_similar(wished) && !held.is_similar(bucket)
}

/// How long to wait for a token, a quarter of a term at most.
fn pause_ns(pool: &Pool, rules: &QuotaRules) -> u64 {
    let longest = (rules.ttl_ns() / 4).max(PAUSE_NS);
    pool.dry_ns().clamp(PAUSE_NS, longest)
}

/// Terms without a request after which a bucket is abandoned.
const IDLE_TERMS: u64 = 4;
/// Buckets that were replaced and may be in use still, per data plane.
const OLD_MAX: usize = 4;
/// Reports count as that far apart at least.
const SHORT_NS: u64 = 100_000_000;
/// Over how long demand is averaged.
const SMOOTH_NS: u64 = 1_000_000_000;
/// The shortest time after which it is tried again.
const PAUSE_NS: u64 = 10_000_000;
/// The shortest time after which it is looked for more than there was.
const LOOK_NS: u64 = 250_000_000;
