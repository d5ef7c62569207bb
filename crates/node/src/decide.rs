//! One request against every contract that binds it, all or nothing.
//!
//! The cells are entered one inside the other, in an order that all nodes with the same cells share, and charged on the way
//! out: nobody sees a request that is half charged, and since every request enters in the same order no two wait for
//! each other.

use tollgate_limit::{
    Cell, Cost, Decision, Instant, Lot, Outcome, PolicySet, Receipt as Charge, Span, Verdict,
};
use tollgate_table::{Print, Table};

use crate::answer::{Answer, Booking, Place, Receipt, RefusedBy};
use crate::cells::{Cells, Miss, Worth, on_table};

/// One contract that binds a request, and the key's print in it.
#[derive(Clone, Copy)]
pub(crate) struct Bound<'a> {
    pub(crate) contract: usize,
    pub(crate) cells: &'a Cells,
    pub(crate) print: Print,
    pub(crate) lot: Lot,
}

impl Bound<'_> {
    const fn place(&self) -> Place {
        Place {
            contract: self.contract,
            cells: self.cells.id,
            print: self.print,
        }
    }
}

/// What is asked of every contract.
#[derive(Clone, Copy)]
pub(crate) struct Ask {
    pub(crate) cost: Cost,
    pub(crate) now: Instant,
}

/// Decides one request and charges it; `None` where cells were left meanwhile, and nothing was charged.
pub(crate) fn decide(bound: &mut [Bound<'_>], ask: Ask) -> Option<Answer> {
    match bound {
        [] => Some(Answer::unbound()),
        [bound] => decide_one(*bound, ask),
        several => decide_several(several, ask),
    }
}

/// One contract and one key, the short way where there is one.
fn decide_one(bound: Bound<'_>, ask: Ask) -> Option<Answer> {
    let Bound { cells, print, .. } = bound;
    if let Some((plain, taken)) = cells.take(print, ask.cost, || ask.now) {
        return Some(Answer::taken(bound.place(), plain, taken));
    }
    match cells.check(print, ask.cost, ask.now, bound.lot) {
        Ok(outcome) => Some(Answer::of(bound.place(), &outcome)),
        Err(Miss::Full) => Some(Answer::full()),
        Err(Miss::Left) => None,
    }
}

fn decide_several(bound: &mut [Bound<'_>], ask: Ask) -> Option<Answer> {
    bound.sort_unstable_by_key(|bound| bound.cells.order);
    for bound in &*bound {
        bound.cells.adopt(bound.print, ask.now);
    }
    let mut tally = Tally::new(bound.len());
    match enter(bound, ask, &mut tally) {
        Ok(()) => {}
        Err(Miss::Full) => return Some(Answer::full()),
        Err(Miss::Left) => return None,
    }
    for (bound, booking) in bound.iter().rev().zip(&tally.bookings) {
        if booking.receipt.charged != 0 {
            bound.cells.changed(bound.print);
        }
    }
    Some(tally.answer())
}

/// Enters the first cell, asks the rest, and charges the first by what all of them said.
fn enter(bound: &[Bound<'_>], ask: Ask, tally: &mut Tally) -> Result<(), Miss> {
    let Some((first, rest)) = bound.split_first() else {
        return Ok(());
    };
    on_table!(first.cells, table => enter_table(table, first, rest, ask, tally))
}

fn enter_table<const N: usize>(
    table: &Table<Cell<N>, Worth>,
    first: &Bound<'_>,
    rest: &[Bound<'_>],
    ask: Ask,
    tally: &mut Tally,
) -> Result<(), Miss> {
    let set = &*first.cells.set;
    let entered = table.update(first.print, ask.now.as_nanos(), |cell| {
        if first.cells.is_left() {
            return (Err(Miss::Left), None);
        }
        let mut made = None;
        let cell = cell.unwrap_or_else(|| made.insert(Cell::fresh(set)));
        let outcome = set.probe(cell, ask.cost, ask.now, first.lot);
        tally.add(first.contract, &outcome);
        if let Err(miss) = enter(rest, ask, tally) {
            return (Err(miss), None);
        }
        let receipt = charge(set, cell, &outcome, ask, tally.verdict);
        let Place {
            contract,
            cells,
            print,
        } = first.place();
        tally.bookings.push(Booking {
            contract,
            cells,
            print,
            receipt,
        });
        if !tally.verdict.is_allowed() {
            let left = set.probe(cell, ask.cost, ask.now, first.lot);
            let policy = set.policies().get(left.policy_before);
            let limit = policy.map_or(0, |policy| policy.config().limit);
            tally.add_refused((contract, limit), &left);
        }
        tally.reset_after = tally.reset_after.max(set.reset_after(cell, receipt.at));
        let wrote = receipt.charged != 0;
        (Ok(()), made.filter(|_| wrote))
    });
    entered.unwrap_or_else(|_| Err(first.cells.miss()))
}

/// Charges one cell by what all contracts together said.
fn charge<const N: usize>(
    set: &PolicySet,
    cell: &mut Cell<N>,
    outcome: &Outcome,
    ask: Ask,
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

/// The answers of the contracts so far: the tightest remaining, the longest waits, the first refusal.
struct Tally {
    verdict: Verdict,
    refused_by: Option<RefusedBy>,
    /// The first contract that refused, in the order of the contracts.
    refused_at: Option<usize>,
    /// The least left if the request is charged, and if it is not.
    charged: Option<Least>,
    uncharged: Option<Least>,
    shadowed: bool,
    reset_after: Span,
    /// Innermost first.
    bookings: Vec<Booking>,
}

/// The policy with the least left, and its contract.
#[derive(Clone, Copy)]
struct Least {
    contract: usize,
    policy: usize,
    limit: u64,
    remaining: u64,
}

impl Tally {
    fn new(contracts: usize) -> Self {
        Self {
            verdict: Verdict::Allow,
            refused_by: None,
            refused_at: None,
            charged: None,
            uncharged: None,
            shadowed: false,
            reset_after: Span::ZERO,
            bookings: Vec::with_capacity(contracts),
        }
    }

    fn add(&mut self, contract: usize, outcome: &Outcome) {
        let decision = &outcome.decision;
        let Decision {
            policy,
            limit,
            remaining,
            ..
        } = *decision;
        lower(
            &mut self.charged,
            Least {
                contract,
                policy,
                limit,
                remaining,
            },
        );
        self.shadowed |= outcome.shadowed != 0;
        if let Some(policy) = decision.refused_by
            && self.refused_at.is_none_or(|before| contract < before)
        {
            self.refused_at = Some(contract);
            self.refused_by = Some(RefusedBy::Policy { contract, policy });
        }
        self.verdict = graver(self.verdict, decision.verdict);
    }

    /// Adds how a contract stands once the refused request has been counted where refusals count.
    fn add_refused(&mut self, (contract, limit): (usize, u64), left: &Outcome) {
        lower(
            &mut self.uncharged,
            Least {
                contract,
                policy: left.policy_before,
                limit,
                remaining: left.remaining_before,
            },
        );
        self.verdict = graver(self.verdict, left.decision.verdict);
    }

    fn answer(mut self) -> Answer {
        let least = if self.verdict.is_allowed() {
            self.charged
        } else {
            self.uncharged
        };
        self.bookings
            .sort_unstable_by_key(|booking| booking.contract);
        Answer {
            verdict: self.verdict,
            refused_by: self.refused_by,
            contract: least.map(|least| least.contract),
            policy: least.map_or(0, |least| least.policy),
            limit: least.map_or(0, |least| least.limit),
            remaining: least.map_or(0, |least| least.remaining),
            reset_after: self.reset_after,
            shadowed: self.shadowed,
            receipt: Receipt::Several(self.bookings.into()),
            version: 0,
        }
    }
}

fn lower(place: &mut Option<Least>, least: Least) {
    let rank = |least: &Least| (least.remaining, least.contract);
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
