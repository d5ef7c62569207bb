//! What statistics are told of decisions, and of tokens that are charged, settled and given back.
//!
//! A request is counted for every contract that binds it; one that is refused only for the contract that refused it. An
//! answer that is given again by its id is counted once. Not here: where it is counted (`statistics`).

use tollgate_limit::{Charge, Cost, Verdict};
use tollgate_node::{Answer, Booking, Due, Key, Node, Receipt};
use tollgate_stats::{Counts, Recorded, RecordedVerdict, Who, identity_of, key_name};

use super::later::Verb;
use super::{EngineRequest, Turn};
use crate::statistics::Tray;

impl Turn<'_> {
    /// Whether an operation with this id was done before.
    #[inline]
    pub(super) fn is_again(&self, ask: &EngineRequest<'_>) -> bool {
        let Some(id) = ask.id else { return false };
        let known = || self.node.recall(&self.operation(id).ok()?, self.now);
        self.engine.statistics().is_some() && known().is_some()
    }

    /// Counts a decision.
    #[inline]
    pub(super) fn count(&self, ask: &EngineRequest<'_>, answer: &Answer) {
        let Some(statistics) = self.engine.statistics() else {
            return;
        };
        let mut tray = statistics.tray(self.now);
        let tray = &mut *tray;
        if let Receipt::One(booking) = &answer.receipt {
            self.count_booking(tray, ask, answer, booking);
            self.record(tray, ask, answer, booking);
        } else {
            self.count_several(tray, ask, answer);
        }
    }

    #[inline]
    fn count_booking(
        &self,
        tray: &mut Tray,
        ask: &EngineRequest<'_>,
        answer: &Answer,
        booking: &Booking,
    ) {
        let said = said(answer.verdict);
        let name = |out: &mut String| {
            if let Some(contract) = self.contract_of(answer, booking.contract) {
                identity_of(contract, ask.key, out);
            }
        };
        let contract = || {
            let contract = self.contract_of(answer, booking.contract);
            contract.map_or(NO_CONTRACT, |contract| &contract.id)
        };
        let cost = ask.cost.tokens();
        tray.sheet.count(who(booking), contract, name, |counts| {
            decided(counts, said, cost, answer.shadowed);
        });
    }

    #[inline]
    fn record(&self, tray: &mut Tray, ask: &EngineRequest<'_>, answer: &Answer, booking: &Booking) {
        let hash = booking.print.0;
        if tray.recorder.wants(hash, self.now.as_nanos() / SECOND_NS) {
            let row = self.recorded(ask, answer);
            tray.recorder.push(hash, row);
        }
    }

    #[cold]
    fn recorded(&self, ask: &EngineRequest<'_>, answer: &Answer) -> Recorded {
        let at_ms = self.now.as_nanos() / 1_000_000;
        let cost = ask.cost.tokens();
        let mut row = Recorded::new(at_ms, ask.key, cost, said(answer.verdict));
        if let Some((contract, policy)) = self.refuser(answer) {
            row.contract.clone_from(&contract.id);
            row.policy = Some(policy.name.clone());
        } else if let Some((contract, _)) = self.named(answer) {
            row.contract.clone_from(&contract.id);
        }
        row
    }

    /// A request that several contracts bind, or none, or whose receipt says nothing.
    #[cold]
    fn count_several(&self, tray: &mut Tray, ask: &EngineRequest<'_>, answer: &Answer) {
        let said = said(answer.verdict);
        let mut bookings = answer.receipt.bookings().to_vec();
        if bookings.is_empty() && answer.contract.is_some() {
            bookings = self.bookings(ask);
        }
        if said == RecordedVerdict::Deny {
            bookings.retain(|booking| Some(booking.contract) == answer.contract);
        }
        if bookings.is_empty() {
            let (cost, is_shadowed) = (ask.cost.tokens(), answer.shadowed);
            return tray.sheet.count_all(NO_CELLS, NO_CONTRACT, |counts| {
                decided(counts, said, cost, is_shadowed);
            });
        }
        for booking in &bookings {
            self.count_booking(tray, ask, answer, booking);
        }
        if let Some(first) = bookings.first() {
            self.record(tray, ask, answer, first);
        }
    }

    /// Where a request is counted, of which no receipt says so.
    fn bookings(&self, ask: &EngineRequest<'_>) -> Vec<Booking> {
        let Ok(within) = self.within(ask.scope) else {
            return Vec::new();
        };
        let charge = Charge {
            at: self.now,
            cost: 0,
            charged: 0,
        };
        let nothing = Due { charge, terms: 0 };
        let spots = within.spots(ask.key);
        let spots = spots.iter();
        spots
            .map(|spot| self.node.booking_elsewhere(spot, nothing))
            .collect()
    }

    pub(super) fn contract_of<'a>(
        &'a self,
        answer: &Answer,
        place: usize,
    ) -> Option<&'a tollgate_contract::Contract> {
        let giver = self.node.giver(answer).map(Node::contracts);
        giver.unwrap_or_else(|| self.node.contracts()).get(place)
    }

    /// Counts what settling a receipt at its actual cost takes or gives back.
    pub(super) fn count_settled(&self, receipt: &Receipt, actual: Cost) {
        let Some(statistics) = self.engine.statistics() else {
            return;
        };
        let actual = actual.tokens();
        let mut tray = statistics.tray(self.now);
        for booking in receipt.bookings() {
            let was = booking.receipt.cost;
            let Some((spot, _)) = self.node.spot_of(booking) else {
                continue;
            };
            let Some(contract) = self.node.contracts().get(spot.contract) else {
                continue;
            };
            if booking.receipt.charged == 0 || was == actual {
                continue;
            }
            tray.sheet
                .count_nameless(who(booking), &contract.id, |counts| {
                    counts.cost = counts.cost.saturating_add(actual.saturating_sub(was));
                    counts.returned = counts.returned.saturating_add(was.saturating_sub(actual));
                });
        }
    }

    /// Counts tokens that are charged or given back without asking.
    pub(super) fn count_write(&self, verb: &Verb, ask: &EngineRequest<'_>) {
        let Some(statistics) = self.engine.statistics() else {
            return;
        };
        let cost = ask.cost.tokens();
        let bookings = self.bookings(ask);
        let mut tray = statistics.tray(self.now);
        for booking in &bookings {
            let Some(contract) = self.node.contracts().get(booking.contract) else {
                continue;
            };
            let name = |out: &mut String| identity_of(contract, ask.key, out);
            tray.sheet.count(
                who(booking),
                || &contract.id,
                name,
                |counts| match verb {
                    Verb::Charge => counts.cost = counts.cost.saturating_add(cost),
                    Verb::Refund => counts.returned = counts.returned.saturating_add(cost),
                    _ => {}
                },
            );
        }
    }

    /// Counts a decision by a policy that the request itself describes, under the hash of its key.
    #[inline]
    pub(super) fn count_described(&self, hash: u64, key: Key<'_>, cost: u64, verdict: Verdict) {
        let Some(statistics) = self.engine.statistics() else {
            return;
        };
        let who = Who {
            cells: DESCRIBED_CELLS,
            print: hash,
        };
        let name = |out: &mut String| key_name(key, out);
        let mut tray = statistics.tray(self.now);
        tray.sheet.count(
            who,
            || DESCRIBED,
            name,
            |counts| {
                decided(counts, said(verdict), cost, false);
            },
        );
    }
}

const fn who(booking: &Booking) -> Who {
    Who {
        cells: booking.cells,
        print: booking.print.0,
    }
}

const fn said(verdict: Verdict) -> RecordedVerdict {
    match verdict {
        Verdict::Allow => RecordedVerdict::Allow,
        Verdict::Delay { .. } => RecordedVerdict::Delay,
        Verdict::Deny { .. } | Verdict::Never => RecordedVerdict::Deny,
    }
}

#[inline]
fn decided(counts: &mut Counts, said: RecordedVerdict, cost: u64, is_shadowed: bool) {
    match said {
        RecordedVerdict::Allow => counts.allowed += 1,
        RecordedVerdict::Delay => counts.delayed += 1,
        RecordedVerdict::Deny => {
            counts.denied += 1;
            counts.refused = counts.refused.saturating_add(cost);
            return;
        }
    }
    counts.cost = counts.cost.saturating_add(cost);
    counts.shadowed += u64::from(is_shadowed);
}

/// The name of requests that no contract binds.
const NO_CONTRACT: &str = "(none)";
/// The name of requests that describe their policy themselves.
const DESCRIBED: &str = "(described)";
/// Numbers that no cells have.
const NO_CELLS: u64 = u64::MAX;
const DESCRIBED_CELLS: u64 = u64::MAX - 1;
const SECOND_NS: u64 = 1_000_000_000;
