//! Requests that the grantor decides for somebody without a lease, and edits of its bucket.
//!
//! Whoever asks each time is served from the pool, as those who wait for an answer are. Not here: leases.

use std::sync::Arc;

use tollgate_gossip::{ModeProbe, ModeVerdict};
use tollgate_limit::{Instant, Span};

use super::promise::span;
use super::{Pool, PoolTerms};
use crate::amount::{after, mites, tokens, wait_ns};
use crate::message::{Grant, Question};

impl Pool {
    /// What a request of that cost would be told.
    pub fn probe(&mut self, cost: u64, now: Instant) -> ModeProbe {
        self.advance(now);
        let remaining = tokens(self.level.tokens);
        // Whoever takes nothing hears what one token would.
        let asked = cost.max(1);
        let passes = |wait_ns: u64| ModeVerdict::Allow {
            remaining: remaining.saturating_sub(cost),
            wait: span(wait_ns),
        };
        let verdict = if asked > self.terms.limits.burst() {
            ModeVerdict::Never
        } else if mites(asked) <= self.level.tokens {
            passes(0)
        } else if let Some(waits) = self.waits(asked, 1) {
            passes(waits.first_ns)
        } else {
            ModeVerdict::Deny {
                retry_after: span(self.retry_ns(asked).max(1)),
            }
        };
        ModeProbe {
            verdict,
            remaining,
            over: tokens(self.level.tokens.saturating_neg()),
        }
    }

    /// How long whoever is refused should wait.
    fn retry_ns(&self, cost: u64) -> u64 {
        let term_ns = self.terms.rules.term_ns;
        if let Some(unknown) = &self.unknown {
            let left = unknown.until.nanos_since(self.level.at);
            return left.min(term_ns);
        }
        let in_turn = self.line(cost).map(|(first, _)| first);
        let wait = in_turn.or_else(|| self.wait_ns(mites(cost)));
        let wait = wait.map(
            |wait| match wait.saturating_sub(self.terms.rules.max_wait_ns) {
                // What is promised already is in its way.
                0 => self.promised_ns(),
                longer => longer,
            },
        );
        match wait {
            Some(wait) if self.is_alone() => wait,
            // Whatever is lent has come back, or is known, a term from now.
            wait => wait.map_or(term_ns, |wait| wait.min(term_ns)),
        }
    }

    /// Takes what a request costs that was found to pass, now or after a wait.
    pub fn spend(&mut self, cost: u64, now: Instant) {
        self.miss(cost, now);
        self.served += 1;
        let is_there = mites(cost) <= self.level.tokens;
        match self.waits(cost, 1) {
            Some(waits) if !is_there => self.promise(cost, &waits),
            _ => self.pay(cost),
        }
    }

    /// Hears of a request that asked for so much, whatever came of it.
    pub fn miss(&mut self, cost: u64, now: Instant) {
        self.advance(now);
        self.asked.add(cost, self.level.at);
    }

    /// Charges without asking, at most into that much debt.
    pub fn charge(&mut self, cost: u64, debt_max: Option<u64>, now: Instant) {
        self.advance(now);
        if let Some(count) = self.count.as_mut() {
            count.charge(cost, self.level.at);
            return self.reckon(0);
        }
        let least = debt_max.map_or(i128::MIN, |most| -mites(most));
        let level = self.level.tokens.saturating_sub(mites(cost));
        self.level.tokens = level.max(least.min(self.level.tokens));
    }

    /// Gives tokens back, as far as there is room beside what is lent.
    pub fn refund(&mut self, cost: u64, now: Instant) {
        self.advance(now);
        if let Some(count) = self.count.as_mut() {
            count.refund(cost, self.level.at);
            return self.reckon(0);
        }
        let level = self.level.tokens.saturating_add(mites(cost));
        self.level.tokens = level.min(self.top().max(self.level.tokens));
    }

    /// Forgets what was spent; what is lent stays lent.
    pub fn reset(&mut self, now: Instant) {
        self.advance(now);
        self.forget();
    }

    /// How long until nothing is left of what was spent, if nobody spends and what is lent stays where it is.
    pub fn full_after(&self) -> Span {
        if let Some(count) = self.count.as_ref() {
            return count.fresh_after(self.level.at);
        }
        let missing = self.terms.limits.depth() - self.level.tokens;
        let wait = wait_ns(&self.terms.limits, missing, 0, self.level.part);
        Span::from_nanos(u128::from(wait.unwrap_or(u64::MAX)))
    }

    /// How many requests in the line of a question could pass.
    pub fn servable(&mut self, question: &Question, now: Instant) -> u64 {
        self.advance(now);
        let most = tokens(self.level.tokens).checked_div(question.need.cost);
        most.map_or(u64::MAX, |most| most.min(question.need.count))
    }

    /// Takes what a client says as [`Self::handle_question`] does, and serves at most so many of its line: others have
    /// a say.
    pub fn handle_shared(
        &mut self,
        question: &Question,
        served_max: u64,
        now: Instant,
    ) -> Option<Grant> {
        let mut shared = *question;
        let is_new = match self.busy.records.get(&question.client) {
            Some(record) => (question.boot, question.seq) > (record.booked.boot, record.seq),
            None => true,
        };
        if is_new && shared.need.count > served_max {
            shared.need.count = served_max;
            if served_max == 0 {
                shared.need.cost = 0;
            }
        }
        self.handle_question(&shared, now)
    }

    /// Lends by other rules from the next answer on.
    pub(crate) fn follow(&mut self, terms: &Arc<PoolTerms>) {
        self.terms = Arc::clone(terms);
    }

    /// Begins again as the successor of itself, since another may have granted meanwhile; what that one lent is over by
    /// `end`.
    pub fn relearn(&mut self, generation: u64, now: Instant, end: Instant) {
        let terms = Arc::clone(&self.terms);
        let mut next = Self::restating_by(terms, generation, now);
        if let Some(count) = self.count.as_ref() {
            next = next.counting(count.window(), count.clock);
        }
        next.served = self.served;
        if let Some(busy) = self.busy.there() {
            next.busy.figures = busy.figures;
        }
        *self = next.until(end);
    }

    /// What all lessees say they use, and what those without a lease do, in thousandths of a token per second.
    pub fn demand(&self) -> (u64, u64) {
        let asked = self.asked.rate(self.level.at, super::ASKED_NS);
        (self.busy.sums.want, asked)
    }

    /// Until when a predecessor's leases may be out.
    pub fn learns_until(&self) -> Option<Instant> {
        self.unknown.as_ref().map(|unknown| unknown.until)
    }

    /// The same successor, which knows when all that its predecessor lent is over.
    #[must_use]
    pub fn until(mut self, end: Instant) -> Self {
        // Until then a predecessor may have lent.
        let lent = Instant::from_nanos(end.as_nanos().saturating_sub(self.terms.rules.term_ns));
        let end = self.cut(lent, end).max(after(self.level.at, 1));
        if let Some(unknown) = self.unknown.as_mut() {
            unknown.until = end;
        }
        self
    }
}
