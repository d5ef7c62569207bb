//! One request against every contract that binds it, all or nothing.
//!
//! The cells are entered one inside the other, in the order of the contracts, and charged on the way out: nobody
//! sees a request that is half charged, and since every request enters in the same order no two wait for each other.

use tollgate_limit::{
    Cell, Cost, Decision, Instant, Lot, Outcome, PolicySet, Receipt as Charge, Span, Verdict,
};
use tollgate_table::{Full, Print, Table};

use crate::answer::{Answer, Booking, Place, Receipt, RefusedBy};
use crate::cells::{Cells, Worth, on_table};

/// One contract that binds a request, and the key's print in it.
#[derive(Clone, Copy)]
pub(crate) struct Bound<'a> {
    pub(crate) contract: usize,
    pub(crate) cells: &'a Cells,
    pub(crate) print: Print,
    pub(crate) lot: Lot,
}

/// What is asked of every contract.
#[derive(Clone, Copy)]
pub(crate) struct Ask {
    pub(crate) cost: Cost,
    pub(crate) now: Instant,
}

/// Decides one request and charges it.
pub(crate) fn decide(bound: &[Bound<'_>], ask: Ask) -> Answer {
    match bound {
        [] => Answer::unbound(),
        [bound] => decide_one(*bound, ask),
        several => decide_several(several, ask),
    }
}

/// One contract and one key, the short way where there is one.
fn decide_one(bound: Bound<'_>, ask: Ask) -> Answer {
    let Bound {
        contract,
        cells,
        print,
        ..
    } = bound;
    if let Some((plain, taken)) = cells.take(print, ask.cost, || ask.now) {
        return Answer::taken(Place { contract, print }, plain, taken);
    }
    match bound.cells.check(bound.print, ask.cost, ask.now, bound.lot) {
        Ok(outcome) => answer_one(&bound, &outcome),
        Err(Full) => Answer::full(),
    }
}

/// The answer of one contract.
pub(crate) fn answer_one(bound: &Bound<'_>, outcome: &Outcome) -> Answer {
    let Bound {
        contract, print, ..
    } = *bound;
    Answer::of(Place { contract, print }, outcome)
}

fn decide_several(bound: &[Bound<'_>], ask: Ask) -> Answer {
    let mut tally = Tally::new(bound.len());
    match enter(bound, ask, &mut tally) {
        Ok(()) => {}
        Err(Full) => return Answer::full(),
    }
    let answer = tally.answer();
    for (bound, booking) in bound.iter().zip(answer.receipt.bookings()) {
        if booking.receipt.charged != 0 {
            bound.cells.changed(bound.print);
        }
    }
    answer
}

/// Enters the first cell, asks the rest, and charges the first by what all of them said.
fn enter(bound: &[Bound<'_>], ask: Ask, tally: &mut Tally) -> Result<(), Full> {
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
) -> Result<(), Full> {
    let set = &*first.cells.set;
    table.update(first.print, ask.now.as_nanos(), |cell| {
        let mut made = None;
        let cell = cell.unwrap_or_else(|| made.insert(Cell::fresh(set)));
        let outcome = set.probe(cell, ask.cost, ask.now, first.lot);
        tally.add(first.contract, &outcome);
        if let Err(full) = enter(rest, ask, tally) {
            return (Err(full), None);
        }
        let receipt = charge(set, cell, &outcome, ask, tally.verdict);
        let Bound {
            contract, print, ..
        } = *first;
        tally.bookings.push(Booking {
            contract,
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
    })?
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
        if let (None, Some(policy)) = (self.refused_by, decision.refused_by) {
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
        self.bookings.reverse();
        Answer {
            verdict: self.verdict,
            refused_by: self.refused_by,
            contract: least.map(|least| least.contract),
            policy: least.map(|least| least.policy),
            limit: least.map_or(0, |least| least.limit),
            remaining: least.map_or(0, |least| least.remaining),
            reset_after: self.reset_after,
            shadowed: self.shadowed,
            receipt: Receipt::Several(self.bookings.into()),
        }
    }
}

fn lower(place: &mut Option<Least>, least: Least) {
    if place.is_none_or(|present| least.remaining < present.remaining) {
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
