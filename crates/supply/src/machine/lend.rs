//! The lender's side: says how it stands, lends of its home, and asks for it back when it is short.
//!
//! A lender books what it gives before it says so, keeps it booked until the borrower has reported it back or the term
//! has surely ended, and never lends what it has borrowed. Not here: the borrower's side.

use tollgate_gossip::ModeKey;
use tollgate_limit::{Instant, Span};

use super::{Machine, Sender};
use crate::fill::{Party, equalise};
use crate::loans::{BookedLoan, narrow};
use crate::planted;
use crate::wire::{Given, Loan, LoanGrant, LoanRequest, Message, Offered, Recall};

impl Machine {
    /// A peer wants to know how this node stands.
    pub(super) fn hear_look(&mut self, from: Sender, key: ModeKey, ticket: u64, now: Instant) {
        let cell = self.view(key, now);
        let party = self.party(&cell, now);
        self.note_drift(from, now);
        let free = if cell.is_in_debt() || !self.may_lend(from, now) {
            0
        } else {
            cell.free(&self.home.ground)
        };
        let offered = Offered {
            key,
            ticket,
            party,
            free,
        };
        self.post.push(from.node, Message::Offer(offered));
    }

    /// Whether this node lends to a peer at all.
    fn may_lend(&self, to: Sender, now: Instant) -> bool {
        let ground = &self.home.ground;
        ground.is_valid(now)
            && ground.slowest.is_none()
            && !self.peers.peer(to.node).clock.is_off(now)
    }

    /// Counts questions of peers whose clock runs wrong.
    fn note_drift(&mut self, from: Sender, now: Instant) {
        if self.peers.peer(from.node).clock.is_off(now) {
            self.figures.ignored.drift += 1;
        }
    }

    /// A peer wants a loan, or to keep one.
    pub(super) fn hear_ask(&mut self, from: Sender, ask: &LoanRequest, now: Instant) {
        let answer = |given| {
            let (key, ticket) = (ask.key, ask.ticket);
            Message::Grant(LoanGrant { key, ticket, given })
        };
        self.note_drift(from, now);
        let given = if self.enter(ask.key, now).is_none() {
            None
        } else if let Some(place) = self.find(from, ask) {
            self.report(place, ask);
            let ask = self.unwind(from, ask, now);
            self.renew(from, place, &ask, now)
        } else {
            let ask = self.unwind(from, ask, now);
            self.open(from, &ask, now)
        };
        self.post.push(from.node, answer(given));
        self.activate(ask.key, now);
    }

    /// The place of the loan that an ask is about.
    fn find(&self, from: Sender, ask: &LoanRequest) -> Option<usize> {
        let cell = self.cells.get(ask.key)?;
        let is_borrower = |lent: &BookedLoan| lent.to == from.node && lent.boot == from.boot;
        cell.lent.iter().position(|lent| {
            is_borrower(lent)
                && match ask.loan {
                    Some(loan) if loan.boot == self.own.boot => lent.seq == loan.seq,
                    Some(_) | None => lent.opened == ask.ticket,
                }
        })
    }

    /// Books what the borrower gave back.
    fn report(&mut self, place: usize, ask: &LoanRequest) {
        let ground = self.home.ground;
        let Some(cell) = self.cells.get_mut(ask.key) else {
            return;
        };
        let (Some(lent), Some(loan)) = (cell.lent.get_mut(place), ask.loan) else {
            return;
        };
        if loan.returned > lent.given {
            self.figures.ignored.lies += 1;
            return;
        }
        let less = loan.returned.saturating_sub(lent.returned);
        let tokens = loan.tokens.saturating_sub(lent.tokens_back);
        lent.returned = lent.returned.max(loan.returned);
        debug_assert!(lent.returned <= lent.given, "more came back than was lent");
        lent.tokens_back = lent.tokens_back.max(loan.tokens);
        let room = cell.room(&ground);
        let tokens = tokens.min(ground.depth(narrow(less)));
        cell.bucket.add(tokens, room);
    }

    /// Extends a loan, adds to it what is wanted and can be had, and says what the borrower may keep.
    fn renew(
        &mut self,
        from: Sender,
        place: usize,
        ask: &LoanRequest,
        now: Instant,
    ) -> Option<Given> {
        let is_new = {
            let lent = self.lent_mut(ask.key, place)?;
            ask.ticket > lent.ticket
        };
        if is_new && !self.extend(from, place, ask, now) {
            return None;
        }
        if is_new {
            self.lent_mut(ask.key, place)?.ticket = ask.ticket;
            let amount = self.amount_for(from, ask, now);
            if amount > 0 {
                self.give(ask.key, place, amount);
            }
        }
        let lent = *self.lent_mut(ask.key, place)?;
        if lent.amount() == 0 {
            self.cells.get_mut(ask.key)?.lent.remove(place);
            return None;
        }
        let allow = self.allow(ask, &lent, now);
        let overdrawn = (allow < lent.amount()).then(|| lent.overdrawn.unwrap_or(now));
        self.lent_mut(ask.key, place)?.overdrawn = overdrawn;
        if planted!("freed-before-reported", false, true) {
            let back = u128::from(lent.amount() - allow);
            self.lent_mut(ask.key, place)?.returned += back;
        }
        Some(told(&lent, ask, allow))
    }

    /// Lets a loan last a term from now, if this node may lend on and has what it lent.
    fn extend(&mut self, from: Sender, place: usize, ask: &LoanRequest, now: Instant) -> bool {
        let ground = self.home.ground;
        let is_off = self.peers.peer(from.node).clock.is_off(now);
        let term = self.own.config.term;
        let until = now.saturating_add(self.own.config.longer(term, 2));
        let patience = Span::from_nanos(term.as_nanos() / 2);
        let Some(cell) = self.cells.get_mut(ask.key) else {
            return false;
        };
        // More is lent than there is after a change: the loan goes on only once enough was given back.
        let has_it = cell.lent() <= ground.home;
        let Some(lent) = cell.lent.get_mut(place) else {
            return false;
        };
        if is_off || !ground.is_valid(now) {
            return false;
        }
        // Who does not give back, as it promised what it has or will not, keeps it to the end of the term and no
        // longer.
        let is_overdrawn = lent
            .overdrawn
            .is_some_and(|since| since.saturating_add(patience) <= now);
        if has_it && !is_overdrawn {
            lent.until = planted!("lender-ends-first", lent.until.max(until), lent.until);
            lent.extended = ask.ticket;
        }
        true
    }

    /// Makes a loan, if something can be had.
    fn open(&mut self, from: Sender, ask: &LoanRequest, now: Instant) -> Option<Given> {
        let cell = self.cells.get(ask.key)?;
        let mut theirs = cell.lent.iter().filter(|lent| lent.to == from.node);
        if theirs.clone().count() >= LOANS_PER_PEER {
            return None;
        }
        // Asked before what has been answered since: it was answered, or is too late.
        if theirs.any(|lent| lent.boot == from.boot && lent.ticket >= ask.ticket) {
            self.figures.ignored.duplicates += 1;
            return None;
        }
        let amount = self.amount_for(from, ask, now);
        if amount == 0 {
            return None;
        }
        let (term, key) = (self.own.config.term, ask.key);
        self.seqs += 1;
        let lent = BookedLoan {
            to: from.node,
            boot: from.boot,
            seq: self.seqs,
            opened: ask.ticket,
            ticket: ask.ticket,
            extended: ask.ticket,
            given: 0,
            returned: 0,
            tokens: 0,
            tokens_back: 0,
            until: now.saturating_add(self.own.config.longer(term, 2)),
            overdrawn: None,
        };
        let cell = self.cells.get_mut(key)?;
        let place = cell.lent.len();
        cell.lent.push(lent);
        self.give(key, place, amount);
        let lent = *self.lent_mut(key, place)?;
        Some(told(&lent, ask, lent.amount()))
    }

    /// Gives back what was borrowed where an asker should have it: what is the asker's own first, which is an answer
    /// too, then so much of others' as is not there to lend, for what is borrowed cannot be lent on. Says what is left
    /// to ask for.
    fn unwind(&mut self, from: Sender, ask: &LoanRequest, now: Instant) -> LoanRequest {
        let mut ask = *ask;
        let Some(cell) = self.cells.get(ask.key).filter(|_| ask.want > 0) else {
            return ask;
        };
        let me = self.party(cell, now);
        let fair = u64::try_from(equalise(me, ask.party)).unwrap_or(0);
        let wish = fair.min(ask.want);
        if cell.borrowed.is_empty() || self.is_trifle(wish, me, ask.party) {
            return ask;
        }
        let before = cell.borrowed();
        self.return_some(ask.key, wish, |loan| loan.from == from.node, now);
        let Some(cell) = self.cells.get(ask.key) else {
            return ask;
        };
        let back = before - cell.borrowed();
        ask.want -= back;
        let stuck = (wish - back).saturating_sub(cell.free(&self.home.ground));
        self.return_some(ask.key, stuck, |_| true, now);
        ask
    }

    /// How much an asker gets: what makes both alike, no more than it wants and than there is.
    fn amount_for(&mut self, from: Sender, ask: &LoanRequest, now: Instant) -> u64 {
        if ask.want == 0 {
            return 0;
        }
        if ask.number != self.home.number() {
            self.figures.ignored.elsewhere += 1;
            return 0;
        }
        let Some(cell) = self.cells.get(ask.key) else {
            return 0;
        };
        if cell.is_in_debt() || !self.may_lend(from, now) {
            return 0;
        }
        let me = self.party(cell, now);
        let is_idle = cell.demand.rate(self.own.config.round, now) == 0;
        let fair = u64::try_from(equalise(me, ask.party)).unwrap_or(0);
        let free = cell.free(&self.home.ground);
        if ask.is_deep && is_idle {
            return ask.want.min(free);
        }
        let amount = fair.min(ask.want).min(free);
        if self.is_trifle(amount, me, ask.party) {
            return 0;
        }
        amount
    }

    /// Books a gift, and the tokens that go with it.
    fn give(&mut self, key: ModeKey, place: usize, amount: u64) {
        let ground = self.home.ground;
        let Some(cell) = self.cells.get_mut(key) else {
            return;
        };
        let tokens = cell.carve(&ground, amount);
        if let Some(lent) = cell.lent.get_mut(place) {
            lent.given += u128::from(amount);
            lent.tokens += tokens;
        }
        let room = cell.room(&ground);
        cell.bucket.clamp(room);
        debug_assert!(cell.lent() <= ground.home, "more is lent than there is");
        self.figures.loans.given += 1;
    }

    /// What a borrower may keep, so that both are alike and no more is lent than there is.
    fn allow(&self, ask: &LoanRequest, lent: &BookedLoan, now: Instant) -> u64 {
        let amount = lent.amount();
        let Some(cell) = self.cells.get(ask.key) else {
            return amount;
        };
        let me = self.party(cell, now);
        let back = u64::try_from(equalise(ask.party, me)).unwrap_or(0);
        // Who needs the depth keeps it while nobody asks for anything here.
        let is_spared = ask.is_deep && cell.demand.rate(self.own.config.round, now) == 0;
        let back = if is_spared || self.is_trifle(back, me, ask.party) {
            0
        } else {
            back
        };
        let excess = cell.lent().saturating_sub(self.home.ground.home);
        amount.saturating_sub(back.max(excess))
    }

    /// Asks those who borrowed most to give back, as requests are refused here.
    pub(super) fn recall(&mut self, key: ModeKey, now: Instant) {
        let Some(cell) = self.cells.get(key) else {
            return;
        };
        let party: Party = self.party(cell, now);
        let mut lent = cell.lent.clone();
        lent.sort_unstable_by_key(|lent| std::cmp::Reverse(lent.amount()));
        let count = cell.asking.probes.max(self.own.config.probes_min) as usize;
        for BookedLoan { to, seq, boot, .. } in lent.into_iter().take(count) {
            if self.peers.peer(to).boot == boot {
                self.figures.loans.recalls += 1;
                let recall = Recall { key, seq, party };
                self.post.push(to, Message::Recall(recall));
            }
        }
    }

    fn lent_mut(&mut self, key: ModeKey, place: usize) -> Option<&mut BookedLoan> {
        self.cells.get_mut(key)?.lent.get_mut(place)
    }
}

/// Loans that one peer may have of one key.
const LOANS_PER_PEER: usize = 4;

/// A loan as its borrower is told in answer to an ask.
fn told(lent: &BookedLoan, ask: &LoanRequest, allow: u64) -> Given {
    Given {
        seq: lent.seq,
        is_first: lent.opened == ask.ticket,
        is_renewed: lent.extended >= ask.ticket,
        total: lent.given,
        tokens: lent.tokens,
        allow,
    }
}

/// A loan that its borrower does not know and wants to be over.
pub(super) fn release(boot: crate::setup::Boot, given: &Given) -> Loan {
    Loan {
        boot,
        seq: given.seq,
        returned: given.total,
        tokens: 0,
    }
}
