//! One request against every contract that binds it, all or nothing.
//!
//! The cells are entered one inside the other, in an order that all nodes with the same cells share, and charged on the
//! way out: nobody sees a request that is half charged, and since every request enters in the same order no two wait
//! for each other.

use std::sync::Arc;

use smallvec::SmallVec;
use tollgate_contract::Terms;
use tollgate_limit::{
    Cell, Charge, Cost, Instant, Lot, Outcome, Policy, PolicySet, Refusing, Span, Verdict,
};
use tollgate_table::{CellRules, Print, Table};

use crate::answer::{
    Answer, Booking, KeyLocation, KeyTerms, OwnTerms, Receipt, RefusedBy, Violation,
};
use crate::cells::{Cells, Miss, on_table};
use crate::company::{Charged, enter_company};
use crate::terms::CellSlot;
use crate::worth::Worth;

/// One contract that binds a request, and the key's print in it.
#[derive(Clone, Copy)]
pub(crate) struct Bound<'a> {
    pub(crate) contract: usize,
    pub(crate) cells: &'a Cells,
    pub(crate) print: Print,
    pub(crate) lot: Lot,
}

impl Bound<'_> {
    /// Whether what is left in its cells matters: not where a policy elsewhere binds the key and none in them does.
    fn has_least(&self) -> bool {
        let Some(parts) = self.cells.parts() else {
            return true;
        };
        let binds = |policy: &Policy| self.lot.is_within(policy.config().enforce_percent);
        !parts.binds(self.lot) || self.cells.set.policies().iter().any(binds)
    }

    /// Whether any policy of the contract binds the key; the others only watch.
    pub(crate) fn is_bound(&self) -> bool {
        let binds = |policy: &Policy| self.lot.is_within(policy.config().enforce_percent);
        self.cells.set.policies().iter().any(binds)
            || self
                .cells
                .parts()
                .is_some_and(|parts| parts.binds(self.lot))
    }

    /// The contract and the place in it of a policy in its cells.
    fn spot_of(&self, policy: usize) -> (usize, usize) {
        (self.contract, self.cells.place(policy))
    }

    pub(crate) const fn place(&self) -> KeyLocation {
        KeyLocation {
            contract: self.contract,
            cells: self.cells.id,
            print: self.print,
        }
    }
}

/// What is asked of every contract.
#[derive(Clone, Copy)]
pub(crate) struct DecideRequest {
    pub(crate) cost: Cost,
    pub(crate) now: Instant,
}

/// Decides one request and charges it; `None` where cells were left meanwhile, and nothing was charged.
pub(crate) fn decide(bound: &mut [Bound<'_>], ask: DecideRequest) -> Option<Answer> {
    match bound {
        [] => Some(Answer::unbound()),
        [bound] => decide_one(*bound, ask),
        several => decide_several(several, ask),
    }
}

/// One contract and one key, the short way where there is one.
fn decide_one(bound: Bound<'_>, ask: DecideRequest) -> Option<Answer> {
    let Bound { cells, print, .. } = bound;
    if let Some((plain, taken)) = cells.take(print, ask.cost, || ask.now) {
        return Some(Answer::taken(bound.place(), plain, taken));
    }
    if cells.parts().is_some() {
        return decide_several(&mut [bound], ask);
    }
    match cells.check(print, ask.cost, ask.now, bound.lot) {
        Ok((outcome, terms)) => Some(Answer::of(bound.place(), &outcome).under(terms)),
        Err(miss) => missed(miss),
    }
}

/// The answer to a request that is not decided; `None` where somebody else does.
fn missed(miss: Miss) -> Option<Answer> {
    match miss {
        Miss::Full => Some(Answer::full()),
        Miss::Unread => Some(Answer::unread()),
        Miss::Left => None,
    }
}

fn decide_several(bound: &mut [Bound<'_>], ask: DecideRequest) -> Option<Answer> {
    bound.sort_unstable_by_key(|bound| bound.cells.order);
    for bound in &*bound {
        bound.cells.adopt(bound.print, ask.now);
    }
    let mut tally = ContractTally::new(bound.len());
    match enter(Yet { bound, all: bound }, ask, &mut tally) {
        Ok(()) => Some(tally.answer()),
        Err(miss) => missed(miss),
    }
}

/// Of all contracts, those yet to be entered.
#[derive(Clone, Copy)]
struct Yet<'a> {
    bound: &'a [Bound<'a>],
    all: &'a [Bound<'a>],
}

/// Enters the first cell, asks the rest, and charges the first by what all of them said. Machines are asked last.
fn enter(yet: Yet<'_>, ask: DecideRequest, tally: &mut ContractTally) -> Result<(), Miss> {
    let all = yet.all;
    let Some((first, rest)) = yet.bound.split_first() else {
        let has_parts = |bound: &Bound<'_>| bound.cells.parts().is_some();
        return if all.iter().any(has_parts) {
            enter_company(all, ask, tally)
        } else {
            Ok(())
        };
    };
    let rest = Yet { bound: rest, all };
    if first.cells.is_hollow() {
        enter(rest, ask, tally)?;
        tally.book(
            first,
            Charge {
                at: ask.now,
                cost: ask.cost.tokens(),
                charged: 0,
            },
        );
        return Ok(());
    }
    on_table!(first.cells, table => enter_table(table, first, rest, ask, tally))
}

fn enter_table<const N: usize, S: CellSlot<N>>(
    table: &Table<S, Worth>,
    first: &Bound<'_>,
    rest: Yet<'_>,
    ask: DecideRequest,
    tally: &mut ContractTally,
) -> Result<(), Miss>
where
    Worth: CellRules<S>,
{
    let entered = table.update(first.print, ask.now.as_nanos(), |slot| {
        if let Some(miss) = first.cells.misses(slot.is_none(), first.print) {
            return (Err(miss), None);
        }
        let wanted = first.cells.wanted_by(slot.as_deref(), first.print, ask.now);
        let mut made = None;
        let slot = slot.unwrap_or_else(|| made.insert(S::fresh(first.cells, wanted.as_ref())));
        let (set, cell) = slot.open(first.cells, wanted.as_ref(), ask.now);
        let outcome = set.probe(cell, ask.cost, ask.now, first.lot);
        tally.add(first, &outcome);
        if let Err(miss) = enter(rest, ask, tally) {
            return (Err(miss), None);
        }
        let receipt = charge(set, cell, &outcome, ask, tally.verdict);
        first.cells.decided(first.print, receipt.charged);
        tally.book(first, receipt);
        let reset_after = |policy| set.reset_after_of(cell, policy, receipt.at);
        if tally.verdict.is_allowed() {
            let policy = outcome.decision.policy;
            tally.reset(first.spot_of(policy), || reset_after(policy));
        } else {
            let left = set.probe(cell, ask.cost, ask.now, first.lot);
            tally.add_refused(first, set, &left, reset_after);
        }
        let wrote = receipt.charged != 0;
        if let Some(terms) = slot.terms() {
            tally.under(first, terms);
        }
        (Ok(()), made.filter(|_| wrote))
    });
    entered.unwrap_or_else(|_| Err(first.cells.miss()))
}

/// Charges one cell by what all contracts together said.
fn charge<const N: usize>(
    set: &PolicySet,
    cell: &mut Cell<N>,
    outcome: &Outcome,
    ask: DecideRequest,
    verdict: Verdict,
) -> Charge {
    if outcome.decision.verdict.is_allowed() && !verdict.is_allowed() {
        let receipt = set.refuse(cell, ask.cost, ask.now);
        set.penalise(cell, &receipt);
        return receipt;
    }
    set.commit(cell, outcome);
    outcome.receipt
}

/// What one policy said whose counts are in no cell.
pub(crate) struct PartProbe {
    pub(crate) contract: usize,
    pub(crate) policy: usize,
    pub(crate) limit: u64,
    pub(crate) verdict: Verdict,
    /// Before the request.
    pub(crate) remaining: u64,
    pub(crate) debt: u64,
    pub(crate) cost: Cost,
    pub(crate) is_enforced: bool,
    /// Whether what is left of it matters.
    pub(crate) counts: bool,
}

/// The answers of the contracts so far: the tightest remaining, the longest waits, all refusals.
pub(crate) struct ContractTally {
    pub(crate) verdict: Verdict,
    /// The least left if the request is charged.
    least: Option<Stand>,
    /// The policies that refuse, once the refused request has been counted where refusals count.
    refusals: Vec<(Refusing, Stand)>,
    shadowed: bool,
    /// Innermost first.
    bookings: Vec<Booking>,
    /// What was charged in no cell.
    parts: Charged,
    /// Terms of the key's own.
    terms: SmallVec<[OwnTerms; 1]>,
}

impl PartProbe {
    const fn stand(&self, taken: u64) -> Stand {
        Stand {
            contract: self.contract,
            policy: self.policy,
            limit: self.limit,
            remaining: self.remaining.saturating_sub(taken),
            debt: self.debt,
            reset_after: Span::ZERO,
        }
    }
}

/// How a policy stands.
#[derive(Clone, Copy)]
struct Stand {
    contract: usize,
    policy: usize,
    limit: u64,
    remaining: u64,
    debt: u64,
    reset_after: Span,
}

impl ContractTally {
    fn new(contracts: usize) -> Self {
        Self {
            verdict: Verdict::Allow,
            least: None,
            refusals: Vec::new(),
            shadowed: false,
            bookings: Vec::with_capacity(contracts),
            parts: Charged::new(),
            terms: SmallVec::new(),
        }
    }

    fn add(&mut self, bound: &Bound<'_>, outcome: &Outcome) {
        let decision = &outcome.decision;
        if bound.has_least() {
            lower(
                &mut self.least,
                Stand {
                    contract: bound.contract,
                    policy: bound.cells.place(decision.policy),
                    limit: decision.limit,
                    remaining: decision.remaining,
                    debt: decision.debt,
                    reset_after: Span::ZERO,
                },
            );
        }
        self.shadowed |= outcome.shadowed != 0;
        self.verdict = graver(self.verdict, decision.verdict);
    }

    /// Notes how long the policy with the least left takes to be as if the key had never been seen, if it is that one.
    pub(crate) fn reset(&mut self, spot: (usize, usize), reset_after: impl FnOnce() -> Span) {
        let least = self.least.as_mut();
        if let Some(least) = least.filter(|least| (least.contract, least.policy) == spot) {
            least.reset_after = reset_after();
        }
    }

    /// Adds the policies of a contract that refuse once the refused request has been counted where refusals count.
    fn add_refused(
        &mut self,
        bound: &Bound<'_>,
        set: &PolicySet,
        left: &Outcome,
        reset_after: impl Fn(usize) -> Span,
    ) {
        let answer = Answer::of(bound.place(), left);
        for Violation { said, contract } in answer.violations() {
            let policy = set.policies().get(said.policy);
            let place = bound.cells.place(said.policy);
            let stand = Stand {
                contract,
                policy: place,
                limit: policy.map_or(0, |policy| policy.config().limit),
                remaining: said.remaining,
                debt: said.debt,
                reset_after: reset_after(said.policy),
            };
            let said = Refusing {
                policy: place,
                ..said
            };
            self.refusals.push((said, stand));
        }
    }

    /// Adds what a policy said whose counts are in no cell.
    pub(crate) fn add_part(&mut self, part: &PartProbe) {
        let admits = part.verdict.is_allowed();
        let taken = if admits { part.cost.tokens() } else { 0 };
        if part.counts {
            lower(&mut self.least, part.stand(taken));
        }
        if !part.is_enforced {
            self.shadowed |= !admits;
            return;
        }
        self.verdict = graver(self.verdict, part.verdict);
    }

    /// Adds how such a policy stands once the refused request has been counted where refusals count.
    pub(crate) fn add_refused_part(&mut self, part: &PartProbe, reset_after: Span) {
        if !part.is_enforced || part.verdict.is_allowed() {
            return;
        }
        let stand = Stand {
            reset_after,
            ..part.stand(0)
        };
        let said = Refusing {
            policy: part.policy,
            remaining: part.remaining,
            debt: part.debt,
            retry_after: part.verdict.retry_after(),
        };
        self.refusals.push((said, stand));
    }

    /// Notes that such a policy was charged.
    pub(crate) fn charge_part(&mut self, contract: usize, policy: usize) {
        match self.parts.iter_mut().find(|(at, _)| *at == contract) {
            Some((_, bits)) => *bits |= 1 << policy,
            None => self.parts.push((contract, 1 << policy)),
        }
    }

    /// Books what was charged to the cells of a contract, and besides.
    fn book(&mut self, bound: &Bound<'_>, receipt: Charge) {
        let place = bound.place();
        let parts = { self.parts.iter() }.find(|(contract, _)| *contract == place.contract);
        let charged = bound.cells.widen(receipt.charged) | parts.map_or(0, |(_, bits)| *bits);
        let charge = Charge { charged, ..receipt };
        self.bookings.push(place.booking(charge));
    }

    /// Notes that a key has terms of its own in a contract that was just booked.
    fn under(&mut self, bound: &Bound<'_>, terms: &Arc<Terms>) {
        if let Some(booking) = self.bookings.last_mut() {
            booking.terms = terms.version;
        }
        self.terms.push((bound.contract, Arc::clone(terms)));
    }

    fn answer(mut self) -> Answer {
        self.bookings
            .sort_unstable_by_key(|booking| booking.contract);
        self.refusals
            .sort_unstable_by_key(|(_, stand)| (stand.contract, stand.policy));
        let refusals = self.refusals.iter().copied();
        let longest = refusals.reduce(|longest, one| {
            if one.0.outlasts(&longest.0) {
                one
            } else {
                longest
            }
        });
        let refused = longest.map(|(_, stand)| stand);
        let told = refused.or(self.least);
        let violated = self.refusals.iter().map(|(said, stand)| Violation {
            contract: stand.contract,
            said: *said,
        });
        Answer {
            verdict: longest.map_or(self.verdict, |(said, _)| match said.retry_after {
                Some(retry_after) => Verdict::Deny { retry_after },
                None => Verdict::Never,
            }),
            refused_by: refused.map(|stand| RefusedBy::Policy {
                contract: stand.contract,
                policy: stand.policy,
            }),
            violated: Violation::several(violated),
            contract: told.map(|stand| stand.contract),
            policy: told.map_or(0, |stand| stand.policy),
            limit: told.map_or(0, |stand| stand.limit),
            remaining: told.map_or(0, |stand| stand.remaining),
            debt: told.map_or(0, |stand| stand.debt),
            reset_after: told.map_or(Span::ZERO, |stand| stand.reset_after),
            shadowed: self.shadowed,
            is_part: false,
            terms: KeyTerms::of(self.terms),
            receipt: match *self.bookings {
                [booking] => Receipt::One(booking),
                _ => Receipt::Several(self.bookings.into()),
            },
            version: 0,
        }
    }
}

fn lower(place: &mut Option<Stand>, least: Stand) {
    let rank = |least: &Stand| (least.remaining, least.contract, least.policy);
    if place.is_none_or(|present| rank(&least) < rank(&present)) {
        *place = Some(least);
    }
}

/// The answer that covers both: never over deny over delay over allow, and the longer wait of two alike.
fn graver(a: Verdict, b: Verdict) -> Verdict {
    let longer = |a: Span, b: Span| a.max(b);
    match (a, b) {
        (Verdict::Never, _) | (_, Verdict::Never) => Verdict::Never,
        (Verdict::Deny { retry_after: a }, Verdict::Deny { retry_after: b }) => Verdict::Deny {
            retry_after: longer(a, b),
        },
        (Verdict::Deny { retry_after }, _) | (_, Verdict::Deny { retry_after }) => {
            Verdict::Deny { retry_after }
        }
        (Verdict::Delay { wait: a }, Verdict::Delay { wait: b }) => {
            Verdict::Delay { wait: longer(a, b) }
        }
        (Verdict::Delay { wait }, Verdict::Allow) | (Verdict::Allow, Verdict::Delay { wait }) => {
            Verdict::Delay { wait }
        }
        (Verdict::Allow, Verdict::Allow) => Verdict::Allow,
    }
}
