//! The borrower's side: asks for loans, counts on them, and keeps them alive.
//!
//! Whatever is granted counts from when it was asked for, on this node's clock; what is given back is booked before it
//! is reported. Not here: the lender's side.

use tollgate_gossip::{ModeKey, NodeId};
use tollgate_limit::{Instant, Span};

use super::lend::release;
use super::{Machine, Sender};
use crate::asking::LenderRequest;
use crate::fill::{Party, equalise};
use crate::loans::Borrowed;
use crate::planted;
use crate::wire::{Given, Loan, LoanGrant, LoanRequest, Message, Recall};

/// What is asked of a lender.
#[derive(Clone, Copy)]
struct Wish {
    to: NodeId,
    /// The loan from it, if there is one.
    place: Option<usize>,
    want: u64,
    is_deep: bool,
}

impl Machine {
    /// Asks every lender that is not already asked.
    pub(super) fn ask_all(
        &mut self,
        key: ModeKey,
        wants: Vec<(NodeId, u64)>,
        is_deep: bool,
        now: Instant,
    ) {
        if self.has_left() {
            return;
        }
        let patience = self.ask_patience();
        for (to, want) in wants {
            let cell = self.cells.get(key);
            let awaits = cell.is_some_and(|cell| cell.asking.awaits(to, patience, now));
            if !awaits {
                let place = cell.and_then(|cell| cell.loan_from(to));
                let wish = Wish {
                    to,
                    place,
                    want,
                    is_deep,
                };
                self.ask(key, wish, now);
            }
        }
    }

    /// Asks a lender for more, or to keep what there is; reports what was given back.
    fn ask(&mut self, key: ModeKey, wish: Wish, now: Instant) {
        let Wish { to, place, .. } = wish;
        let ticket = self.ticket();
        let Some(cell) = self.cells.get(key) else {
            return;
        };
        let party = self.party(cell, now);
        let is_deep = wish.is_deep || cell.asking.need.is_some();
        // Nobody has more than the limit, whatever is offered.
        let rate = self.home.ground.limits.rate();
        let room = rate.saturating_sub(party.supply);
        let want = wish.want.min(room.saturating_sub(cell.asking.wanted()));
        if want == 0 && place.is_none() {
            return;
        }
        let number = self.home.number();
        let term = self.own.config.term;
        // Until it is answered; then a loan has time.
        let retry = self.ask_patience().max(self.own.config.round);
        let renew = self.renew_after().min(retry);
        let Some(cell) = self.cells.get_mut(key) else {
            return;
        };
        let asks = &mut cell.asking.asks;
        if asks.len() >= ASKS_MAX {
            cell.asking.forget(term, now);
            if cell.asking.asks.len() >= ASKS_MAX {
                return;
            }
        }
        let at = now;
        cell.asking.asks.push(LenderRequest {
            ticket,
            to,
            at,
            want,
        });
        let loan = place.and_then(|place| cell.borrowed.get_mut(place));
        let loan = loan.map(|loan| {
            loan.asked += u128::from(want);
            loan.is_unreported = false;
            loan.renew_at = now.saturating_add(renew);
            Loan {
                boot: loan.boot,
                seq: loan.seq,
                returned: loan.returned,
                tokens: loan.tokens_back,
            }
        });
        self.busy.insert(key);
        self.figures.loans.asks += u64::from(want > 0);
        let ask = LoanRequest {
            key,
            ticket,
            loan,
            party,
            want,
            is_deep,
            number,
        };
        self.post.push(to, Message::Ask(ask));
    }

    /// How long after an ask a loan is renewed.
    fn renew_after(&self) -> Span {
        let config = &self.own.config;
        Span::from_nanos(config.term.as_nanos() * u128::from(config.renew_milli) / 1000)
    }

    /// A lender answers.
    pub(super) fn hear_grant(&mut self, from: Sender, grant: &LoanGrant, now: Instant) {
        if self.settled(grant.key, now).is_none() {
            self.let_go(from, grant, now);
            return;
        }
        let Some(asked) = self.answered(from, grant) else {
            self.hear_again(from, grant, now);
            return;
        };
        let taken = now.nanos_since(asked.at);
        self.peers.note_answer(taken);
        let loans = &mut self.figures.loans;
        loans.answers += 1;
        let time = loans
            .answer_time
            .as_nanos()
            .saturating_add(u128::from(taken));
        loans.answer_time = Span::from_nanos(time);
        self.put_off(&asked, grant.key);
        let Some(given) = grant.given else {
            return;
        };
        let begin = planted!("term-from-receipt", asked.at, now);
        let until = begin.saturating_add(self.own.config.shorter(self.own.config.term, 2));
        let known = self.known(from, grant.key, given.seq);
        // Nothing begins after a goodbye; what is added to a loan is given back at once.
        let has_left = planted!("takes-after-goodbye", self.has_left(), false);
        let begins = given.is_first && !has_left;
        if until <= now {
            self.figures.ignored.late += 1;
            if known.is_none() {
                self.let_go(from, grant, now);
            }
            return;
        }
        match known {
            Some(place) => self.add_to(grant.key, place, &given, until),
            None if begins && given.total <= u128::from(asked.want) => {
                self.begin_loan(from, grant, &asked, until);
            }
            None => {
                if begins {
                    self.figures.ignored.lies += 1;
                }
                self.let_go(from, grant, now);
            }
        }
        let keep = if has_left { 0 } else { given.allow };
        // Gives back what the lender needs more, and says so.
        if let Some(place) = self.known(from, grant.key, given.seq) {
            self.return_down_to(grant.key, place, keep, now);
        }
    }

    /// Loans whose lender has answered are not renewed before it is time.
    fn put_off(&mut self, asked: &LenderRequest, key: ModeKey) {
        let renew_at = asked.at.saturating_add(self.renew_after());
        let loans = self.cells.get_mut(key).map(|cell| &mut cell.borrowed);
        for loan in loans.into_iter().flatten() {
            if loan.from == asked.to {
                loan.renew_at = loan.renew_at.max(renew_at);
            }
        }
    }

    /// The ask that a grant answers; it is answered then.
    fn answered(&mut self, from: Sender, grant: &LoanGrant) -> Option<LenderRequest> {
        let asks = &mut self.cells.get_mut(grant.key)?.asking.asks;
        let is_it = |ask: &LenderRequest| ask.ticket == grant.ticket && ask.to == from.node;
        let place = asks.iter().position(is_it)?;
        Some(asks.swap_remove(place))
    }

    /// A grant that was answered before, or that nobody waits for any more.
    fn hear_again(&mut self, from: Sender, grant: &LoanGrant, now: Instant) {
        let Some(given) = grant.given else {
            return;
        };
        if self.known(from, grant.key, given.seq).is_some() {
            self.figures.ignored.duplicates += 1;
        } else {
            self.figures.ignored.late += 1;
            self.let_go(from, grant, now);
        }
    }

    /// The place of a loan in the book.
    fn known(&self, from: Sender, key: ModeKey, seq: u64) -> Option<usize> {
        let is_it =
            |loan: &Borrowed| (loan.from, loan.boot, loan.seq) == (from.node, from.boot, seq);
        self.cells.get(key)?.borrowed.iter().position(is_it)
    }

    /// Begins to count on a loan.
    fn begin_loan(
        &mut self,
        from: Sender,
        grant: &LoanGrant,
        asked: &LenderRequest,
        until: Instant,
    ) {
        let renew_at = asked.at.saturating_add(self.renew_after());
        let cell = self.cells.get_mut(grant.key);
        let Some((cell, given)) = cell.zip(grant.given) else {
            return;
        };
        if cell.borrowed.len() >= LOANS_MAX {
            return;
        }
        let since = cell.bucket.at;
        cell.borrowed.push(Borrowed {
            from: from.node,
            boot: from.boot,
            seq: given.seq,
            asked: u128::from(asked.want),
            taken: 0,
            returned: 0,
            tokens: 0,
            tokens_back: 0,
            until,
            renew_at,
            since,
            is_unreported: false,
        });
        let place = cell.borrowed.len() - 1;
        self.add_to(grant.key, place, &given, until);
    }

    /// Counts on what was added to a loan, and for how long it lasts.
    fn add_to(&mut self, key: ModeKey, place: usize, given: &Given, until: Instant) {
        let ground = self.home.ground;
        let Some(cell) = self.cells.get_mut(key) else {
            return;
        };
        let room = ground.limits.rate().saturating_sub(cell.usable(&ground));
        let Some(loan) = cell.borrowed.get_mut(place) else {
            return;
        };
        let adds = given.total.saturating_sub(loan.taken);
        if given.total > loan.asked || adds > u128::from(room) {
            self.figures.ignored.lies += 1;
            return;
        }
        let more = planted!(
            "duplicate-credited",
            given.total.saturating_sub(loan.taken),
            given.total
        );
        let tokens = given.tokens.saturating_sub(loan.tokens);
        loan.taken += more;
        loan.tokens = loan.tokens.max(given.tokens);
        debug_assert!(
            loan.returned <= loan.taken,
            "more was given back than taken"
        );
        if given.is_renewed {
            loan.until = loan.until.max(until);
        }
        let room = cell.room(&ground);
        let tokens = tokens.min(ground.depth(crate::loans::narrow(more)));
        cell.bucket.add(tokens, room);
        if more > 0 {
            self.figures.loans.taken += 1;
        } else {
            self.figures.loans.renewals += 1;
        }
    }

    /// A lender is short.
    pub(super) fn hear_recall(&mut self, from: Sender, recall: Recall, now: Instant) {
        let Recall { key, seq, party } = recall;
        if self.settled(key, now).is_none() {
            return;
        }
        let Some(place) = self.known(from, key, seq) else {
            return;
        };
        let Some(cell) = self.cells.get(key) else {
            return;
        };
        let me = self.party(cell, now);
        let back = u64::try_from(equalise(me, party)).unwrap_or(0);
        if self.is_trifle(back, me, party) {
            return;
        }
        let amount = cell.borrowed.get(place).map_or(0, Borrowed::amount);
        self.return_down_to(key, place, amount.saturating_sub(back), now);
    }

    /// Gives back of a loan until it is `keep`, unless somebody waits for what it brings, and reports that.
    pub(super) fn return_down_to(&mut self, key: ModeKey, place: usize, keep: u64, now: Instant) {
        let ground = self.home.ground;
        let Some(cell) = self.cells.get_mut(key) else {
            return;
        };
        let is_bound = planted!("gives-back-what-is-promised", cell.is_in_debt(), false);
        if is_bound || !cell.give_back(&ground, place, keep) {
            return;
        }
        self.renew_loan(key, place, now);
    }

    /// Renews a loan, and reports what was given back of it.
    pub(super) fn renew_loan(&mut self, key: ModeKey, place: usize, now: Instant) {
        let cell = self.cells.get(key);
        let Some(loan) = cell.and_then(|cell| cell.borrowed.get(place)) else {
            return;
        };
        let wish = Wish {
            to: loan.from,
            place: Some(place),
            want: 0,
            is_deep: false,
        };
        self.ask(key, wish, now);
    }

    /// Tells a lender that a loan it made is not counted on here.
    fn let_go(&mut self, from: Sender, grant: &LoanGrant, _: Instant) {
        let Some(given) = grant.given else {
            return;
        };
        let ask = LoanRequest {
            key: grant.key,
            ticket: self.ticket(),
            loan: Some(release(from.boot, &given)),
            party: Party {
                supply: 0,
                weight: 1,
            },
            want: 0,
            is_deep: false,
            number: self.home.number(),
        };
        self.post.push(from.node, Message::Ask(ask));
    }
}

/// Asks of one key without an answer.
const ASKS_MAX: usize = 256;
/// Loans that one key may count on.
const LOANS_MAX: usize = 256;
