//! What a question is answered: requests that wait first, then a lease (G4 to G7, G9).
//!
//! Not here: what the client held before.

use tollgate_limit::Instant;
use tollgate_mode::planted;

use super::settle::{Order, Stated};
use super::{Booked, Lend, Pool, Record};
use crate::amount::{TOKEN, after, mites, part, tokens};
use crate::lessee::WAITING_MAX;
use crate::message::{Grant, Question, Stamp, Waits};
use crate::share::{SharedDemand, rate_of};

/// A small bucket to lend.
#[derive(Clone, Copy, Debug, Default)]
struct Lease {
    tokens: i128,
    rate: i128,
    depth: i128,
    /// The depth that is due.
    due: i128,
    /// Whether less is free than is due.
    is_short: bool,
}

impl Pool {
    /// Takes what a client says, and answers if it asks.
    pub fn handle_question(&mut self, question: &Question, now: Instant) -> Option<Grant> {
        self.advance(now);
        match self.order(question) {
            Order::Stale => {
                self.busy.figures.stale += 1;
                return None;
            }
            Order::Again(answer) => {
                self.busy.figures.repeated += 1;
                return answer;
            }
            Order::Next => {}
        }
        let now = self.level.at;
        let stated = self.settle(question, now);
        self.pay(question.charge);
        let want = question.want.min(self.want_max());
        if !question.is_ask {
            self.keep(question, &stated, want, None);
            return None;
        }
        Some(self.answer(question, &stated, want))
    }

    /// The name of a new session.
    const fn open(&mut self) -> Stamp {
        self.opened += 1;
        Stamp {
            generation: self.generation,
            seq: self.opened,
        }
    }

    fn answer(&mut self, question: &Question, stated: &Stated, want: u64) -> Grant {
        let now = self.level.at;
        let (served, waits) = self.serve(question, stated);
        if stated.depth == 0 {
            self.asked.add(question.seen.max(question.need.count), now);
        }
        let lease = self.size(question, stated, want);
        let stamp = Stamp {
            generation: self.generation,
            seq: question.seq,
        };
        let given = lease.unwrap_or_default();
        self.level.tokens -= given.tokens;
        let mut grant = Grant {
            client: question.client,
            boot: question.boot,
            key: question.key,
            stamp,
            session: stated.session.unwrap_or_else(|| self.open()),
            served,
            waits,
            tokens: given.tokens,
            rate: given.rate,
            depth: given.depth,
            term_ns: lease.map_or(0, |_| self.term_ns()),
            deny_ns: 0,
        };
        let shorts = if given.is_short {
            stated.shorts.saturating_add(1)
        } else {
            0
        };
        self.keep(question, &Stated { shorts, ..*stated }, want, Some(grant));
        grant.deny_ns = self.deny_ns(&given, shorts, lease.is_some());
        let busy = self.busy.there();
        if let Some(record) = busy.and_then(|busy| busy.records.get_mut(&question.client)) {
            record.answer = Some(grant);
        }
        if given.is_short {
            self.nudge(question.client);
        }
        grant
    }

    /// Decides the requests that wait, here and now (G5): how many pass, and how many more after a wait.
    fn serve(&mut self, question: &Question, stated: &Stated) -> (u64, Waits) {
        let need = question.need;
        // No client of ours has more in line.
        let most = need.count.min(WAITING_MAX as u64);
        let count =
            (tokens(self.level.tokens).checked_div(need.cost)).map_or(0, |there| there.min(most));
        self.pay(count.saturating_mul(need.cost));
        let behind = most - count;
        let mut waits = Waits::default();
        if need.cost > 0 {
            // What the client holds itself is off the books.
            planted!("lease-39", self.hold(stated.rate, stated.depth), ());
            if let Some(made) = self.waits(need.cost, behind) {
                waits = made;
                self.promise(need.cost, &waits);
            }
            planted!("lease-39", self.hold(-stated.rate, -stated.depth), ());
        }
        self.served += count + waits.count;
        (count, waits)
    }

    /// The lease that is due, cut to what is free; `None` where it is not worth it.
    fn size(&mut self, question: &Question, stated: &Stated, want: u64) -> Option<Lease> {
        if self.unknown.is_some() {
            let is_held = stated.depth > 0 && want > 0;
            return is_held.then_some(Lease {
                rate: stated.rate,
                depth: stated.depth,
                ..Lease::default()
            });
        }
        let is_known = stated.session.is_some();
        if want == 0 || (!is_known && self.busy.records.len() >= self.terms.rules.lessees_max) {
            return None;
        }
        let crowd = self.crowd(want);
        let (depth_due, rate_due) = self.due(&crowd, want)?;
        let (depth, rate) = (
            unless_small(depth_due, stated.depth),
            unless_small(rate_due, stated.rate),
        );
        let have = question.have.clamp(0, stated.depth);
        let wished = match self.terms.rules.lend {
            Lend::Both => (depth / 2 - have).max(0),
            Lend::Tokens | Lend::Fixed(_) => (depth - have).max(0),
            Lend::Rate if is_known => 0,
            Lend::Rate => depth,
        };
        let level = self.level.tokens.max(0);
        let room = (self.terms.limits.depth() - self.busy.sums.depth - stated.depth).max(0);
        // What is due of a window is little, and whoever comes first may have it.
        let is_ample = crowd.is_calm() || self.count.is_some() || level > room / 4;
        let offered = if is_ample {
            level
        } else {
            crowd.of(level, want)
        };
        let lent = self.lendable(wished.min(offered));
        let depth = match self.terms.rules.lend {
            Lend::Both | Lend::Rate => depth,
            // Without a rate there is nothing to leave room for.
            Lend::Tokens | Lend::Fixed(_) => have + lent,
        };
        let kept = (self.level.tokens.saturating_add(self.promised_all()) - lent).max(0);
        let depth_free = self.terms.limits.depth() - self.busy.sums.depth - kept;
        let rate_free = self.rate_max() - self.busy.sums.rate;
        if rate_free < part(rate_due, 9, 10) {
            self.call(self.busy.sums.rate + rate_due);
        }
        let lease = Lease {
            tokens: lent,
            rate: rate.min(rate_free).max(0),
            depth: depth.min(depth_free),
            is_short: self.terms.limits.rate() - self.busy.sums.rate < part(rate_due, 9, 10),
            due: depth_due,
        };
        let is_dry = lease.tokens == 0 && lease.rate == 0 && self.is_promised();
        (lease.depth >= TOKEN && !is_dry).then_some(lease)
    }

    /// The depth and the rate that are due to a demand; `None` where a lease is not worth it.
    fn due(&self, crowd: &SharedDemand<'_>, want: u64) -> Option<(i128, i128)> {
        if let Lend::Fixed(count) = self.terms.rules.lend {
            return Some((mites(count), 0));
        }
        let depth = self.portion(crowd.depth(want)?);
        let rate = match self.terms.rules.lend {
            Lend::Both => crowd.rate(want, depth),
            Lend::Rate => crowd.rate_share(want).min(rate_of(want)),
            Lend::Tokens | Lend::Fixed(_) => 0,
        };
        Some((depth, rate))
    }

    /// Books what the client may hold from here on (G4): growth counts at once, a cut when the client states it.
    fn keep(&mut self, question: &Question, stated: &Stated, want: u64, grant: Option<Grant>) {
        let now = self.level.at;
        let (lent, rate, depth) =
            grant.map_or((0, 0, 0), |grant| (grant.tokens, grant.rate, grant.depth));
        let is_lease = grant.is_some_and(|grant| grant.depth > 0);
        let rate = planted!(
            "lease-7",
            planted!("lease-8", stated.rate.max(rate), stated.rate),
            if is_lease { rate } else { stated.rate }
        );
        let depth_kept = (stated.depth + lent).max(depth);
        let depth = planted!(
            "lease-7",
            planted!("lease-8", depth_kept, stated.depth),
            if is_lease { depth } else { stated.depth }
        );
        if !is_lease && rate == 0 && depth == 0 && self.unknown.is_none() {
            return;
        }
        let session = stated.session.or(grant.map(|grant| grant.session));
        // While a predecessor's leases may be out, nobody is forgotten: an old question must not carve twice.
        let unknown = self.unknown.as_ref();
        let known = unknown.map_or(stated.until, |unknown| unknown.until);
        let stamp = grant.map_or(question.got, |grant| grant.stamp);
        let record = Record {
            booked: Booked {
                boot: question.boot,
                session: session.unwrap_or_default(),
                rate,
                depth,
                tokens: lent,
                stamp,
                give: if stated.session.is_some() {
                    question.give
                } else {
                    0
                },
            },
            prior: stated.prior,
            seq: question.seq,
            until: if is_lease {
                stated.until.max(after(now, self.term_ns()))
            } else {
                stated.until.max(known)
            },
            want: if is_lease || grant.is_none() { want } else { 0 },
            lent: stated
                .lent
                .saturating_add(lent)
                .saturating_add(restated(stated)),
            answer: grant,
            heard: now,
            nudged: stated.nudged,
            shorts: stated.shorts,
        };
        self.put(question.client, &record);
    }

    /// How long the client refuses by itself when it is dry (G7).
    fn deny_ns(&self, given: &Lease, shorts: u32, is_lease: bool) -> u64 {
        let quarter = self.terms.rules.term_ns / 4;
        let until = |level: i128| self.wait_ns(level).unwrap_or(u64::MAX);
        if !is_lease || matches!(self.terms.rules.lend, Lend::Fixed(_)) {
            let exact = until(TOKEN).saturating_sub(self.terms.rules.max_wait_ns);
            return if self.is_alone() {
                exact
            } else {
                exact.min(quarter)
            };
        }
        let room = self.room();
        let is_lean = !self.crowd(0).is_calm() && self.level.tokens <= room / 4;
        if !is_lean {
            return 0;
        }
        if given.is_short {
            return (CALLED_NS << shorts.saturating_sub(1).min(10)).min(quarter);
        }
        let enough = match self.count {
            None => room / 2,
            Some(_) => given.due,
        };
        until(enough).min(quarter)
    }
}

/// What a restating client may return although this grantor never lent it.
fn restated(stated: &Stated) -> i128 {
    if stated.prior == Stamp::default() {
        0
    } else {
        stated.depth
    }
}

/// What is due, or what there is where a cut would be small: until it is confirmed it only wastes the difference (G9).
fn unless_small(due: i128, held: i128) -> i128 {
    if due < held && due >= part(held, 9, 10) {
        held
    } else {
        due
    }
}

/// How long a client waits first while rate is called in for it.
const CALLED_NS: u64 = 10_000_000;
