//! One request of a key that is lent: decided by what is held of the key, and what it is answered.
//!
//! Not here: which keys are held, and what is said to the nodes in charge of them.

use tollgate_contract::Contract;
use tollgate_kit::mix;
use tollgate_lease::{DecidedBy, HeldKey, JoinAnswer, Joined};
use tollgate_limit::{Charge, Cost, Instant, Lot, Span, Verdict};

use super::super::parts::PolicyPart;
use super::super::tag::key;
use super::super::{Company, DividedAdmission};
use super::{HeldAnswer, HeldSpot, HoldShard};
use crate::answer::{Answer, Receipt, RefusedBy};
use crate::apart::{Due, Spot};
use crate::node::Node;

/// A request of a key that is lent.
#[derive(Clone, Copy)]
pub(super) struct HeldAsk<'a> {
    pub(super) node: &'a Node,
    pub(super) contract: &'a Contract,
    pub(super) company: &'a Company,
    pub(super) parts: &'a [PolicyPart],
    pub(super) spot: Spot,
    /// The name of the key here.
    pub(super) name: u64,
    pub(super) cost: u64,
    /// When it came, by the clock of requests.
    pub(super) now: Instant,
}

impl Node {
    pub(super) fn held_ask<'a>(
        &'a self,
        spot: &Spot,
        cost: Cost,
        now: Instant,
    ) -> Option<HeldAsk<'a>> {
        let place = spot.contract;
        let (contract, company, parts) = self.lent_parts(place)?;
        // Keys with terms of their own have owners, and books in a store have no node in charge.
        let is_apart = self.has_terms(place)
            && (self.is_stranger(spot, now) || self.is_beside(place, spot.print));
        if is_apart || contract.is_in_ledger() {
            return None;
        }
        Some(HeldAsk {
            node: self,
            contract,
            company,
            parts,
            spot: *spot,
            name: mix(parts.first()?.tag) ^ spot.print.0,
            cost: cost.tokens(),
            now,
        })
    }

    pub(super) fn held_spot(&self, held: &HeldSpot) -> Option<Spot> {
        Some(Spot {
            contract: self.contracts().position(&held.contract)?,
            print: held.print,
            lot: Lot::ALWAYS,
        })
    }

    /// What a request that waited is answered; `None` where the node in charge must be asked.
    pub(super) fn joined(
        &self,
        name: u64,
        held: &HeldKey<HeldSpot>,
        joined: &Joined,
        now: Instant,
    ) -> Option<Answer> {
        let spot = self.held_spot(&held.of)?;
        let cost = Cost::new(joined.cost).ok()?;
        let ask = self
            .held_ask(&spot, cost, now)
            .filter(|ask| ask.name == name)?;
        let verdict = match joined.by? {
            DecidedBy::Nobody => return None,
            by if joined.is_allowed => {
                if by == DecidedBy::Lease {
                    ask.write_down(joined.wait);
                }
                passes(joined.wait)
            }
            _ => Verdict::Deny {
                retry_after: joined.retry_after,
            },
        };
        Some(ask.answer(held, verdict))
    }
}

impl HoldShard {
    /// Leaves a key to the node in charge of it, where that lends nothing of it.
    pub(super) fn let_go(&mut self, name: u64) {
        let now = self.latest;
        let goes = self.holder.get(name).is_some_and(|key| {
            // What it held before is on no books any more.
            let is_over = now.nanos_since(key.of.since) > key.of.term_ns.saturating_mul(2);
            let is_same = key.holding.figures().local == key.of.local;
            let is_over = is_over && is_same && !key.holding.has_waiting();
            let is_missed = key.of.missed > MISSED_MAX && is_over;
            is_missed && !key.holding.held(now).iter().any(|(_, held)| held.depth > 0)
        });
        if goes {
            self.holder.forget(name);
        }
    }
}

impl HeldAsk<'_> {
    pub(super) fn decide(&self, shard: &mut HoldShard) -> Option<HeldAnswer> {
        let now = shard.at(self.company.steady(self.now));
        let known = shard.holder.get(self.name)?;
        // Two keys may have one name.
        if known.of.print != self.spot.print || *known.of.contract != *self.contract.id {
            return None;
        }
        let (said, is_quiet) = shard.holder.check(self.name, self.cost, now)?;
        let verdict = match said {
            JoinAnswer::Allow(_) => Some(Verdict::Allow),
            JoinAnswer::Delay { wait, .. } => Some(passes(wait)),
            JoinAnswer::Deny { retry_after } => Some(Verdict::Deny { retry_after }),
            JoinAnswer::Wait(_) | JoinAnswer::Ask | JoinAnswer::Failed { .. } => None,
        };
        if let Some(verdict) = verdict.filter(|verdict| verdict.is_allowed()) {
            self.write_down(verdict.wait());
        }
        if !is_quiet {
            self.count(shard, &said);
        }
        if let JoinAnswer::Wait(number) = said {
            return Some(HeldAnswer::Wait((self.name, number)));
        }
        let held = shard.holder.get(self.name)?;
        Some(HeldAnswer::Now(self.answer(held, verdict?)))
    }

    /// Takes note of how often a lease is missed, and has said what there is to say.
    fn count(&self, shard: &mut HoldShard, said: &JoinAnswer) {
        if let (JoinAnswer::Wait(_), Some(key)) = (said, shard.holder.get(self.name)) {
            let (now, local) = (shard.latest, key.holding.figures().local);
            shard.holder.remember(self.name, |held| {
                if held.local != local {
                    (held.missed, held.since, held.local) = (0, now, local);
                }
                held.missed = held.missed.saturating_add(1);
            });
        }
        let wakes = shard.holder.has_something_to_say() || shard.holder.has_joined();
        if let Some(hold) = self.company.hold().filter(|_| wakes) {
            hold.wake();
        }
    }

    /// The answer by what is held: what the rest of the bucket has is not known here.
    fn answer(&self, held: &HeldKey<HeldSpot>, verdict: Verdict) -> Answer {
        let at = self.company.steady(self.now);
        let is_allowed = verdict.is_allowed();
        let (part, remaining) = self.tightest(held, at, is_allowed);
        let policy = part.map_or(0, |part| part.place);
        let contract = self.spot.contract;
        let bits = self
            .parts
            .iter()
            .fold(0, |bits, part| bits | 1 << part.place);
        let charge = Charge {
            at: self.now,
            cost: self.cost,
            charged: if is_allowed { bits } else { 0 },
        };
        let due = Due { charge, terms: 0 };
        let by = RefusedBy::Policy { contract, policy };
        Answer {
            verdict,
            refused_by: (!is_allowed).then_some(by),
            contract: Some(contract),
            policy,
            limit: part.map_or(0, PolicyPart::limit),
            remaining,
            is_part: true,
            receipt: Receipt::One(self.node.booking_elsewhere(&self.spot, due)),
            ..Answer::unbound()
        }
        .by(self.node.version())
    }

    /// The policy that has least, or that lets a request wait longest, and what is held of it.
    fn tightest(
        &self,
        held: &HeldKey<HeldSpot>,
        at: Instant,
        is_allowed: bool,
    ) -> (Option<&PolicyPart>, u64) {
        if let [only] = self.parts {
            return (Some(only), held.holding.peek(at).unwrap_or(0));
        }
        // What was taken is gone from the lease already.
        let cost = if is_allowed { 0 } else { self.cost };
        let (tag, tokens) = held.holding.tightest(cost, at).unwrap_or_default();
        let mut parts = self.parts.iter();
        let part = parts.find(|part| part.tag == tag);
        (part.or(self.parts.first()), tokens)
    }

    /// Writes down what a lease admitted, where anybody reads that.
    fn write_down(&self, wait: Span) {
        let lend = self.company.lend.as_ref();
        let Some(journal) = lend.and_then(|lend| lend.journal.as_ref()) else {
            return;
        };
        let (key, at) = (key(self.spot.print), self.company.steady(self.now));
        for part in self.parts {
            journal(&DividedAdmission {
                tag: part.tag,
                key,
                cost: self.cost,
                at,
                wait,
            });
        }
    }
}

const fn passes(wait: Span) -> Verdict {
    if wait.as_nanos() == 0 {
        Verdict::Allow
    } else {
        Verdict::Delay { wait }
    }
}

/// A key of which nothing is lent is held for so many requests that ask for it.
const MISSED_MAX: u32 = 32;
