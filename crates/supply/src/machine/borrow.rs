//! The borrower's side: looks around, asks those who are richer, and keeps its loans alive.
//!
//! Whatever is granted counts from when it was asked for, on this node's clock; what is given back is booked before it is
//! reported. Not here: the lender's side.

use tollgate_gossip::{Key, NodeId};
use tollgate_limit::{Instant, Span};

use super::lend::release;
use super::{Machine, Sender};
use crate::asking::{Asked, Look};
use crate::fill::{Offer, Party, equalise, water_fill};
use crate::loans::Borrowed;
use crate::planted;
use crate::wire::{Ask, Given, Grant, Loan, Message};

impl Machine {
    /// Looks around at once as a request was refused, unless that was tried a moment ago.
    pub(super) fn ask_soon(&mut self, key: Key, now: Instant) {
        let least = self.own.config.ask_gap_min;
        let Some(cell) = self.cells.get_mut(&key) else {
            return;
        };
        let asking = &mut cell.asking;
        if now < asking.again_at || asking.look.is_some() {
            return;
        }
        asking.again_at = now.saturating_add(asking.gap.max(least));
        self.recall(key, now);
        self.look(key, true, now);
        let most = self.own.config.probes_max;
        if let Some(cell) = self.cells.get_mut(&key) {
            cell.asking.probes = cell.asking.probes.saturating_mul(2).min(most);
        }
    }

    /// Asks some peers how they stand: a few in a round, and others than a moment ago, more each time, as requests are `refused`.
    pub(super) fn look(&mut self, key: Key, refused: bool, now: Instant) {
        let patience = self.patience();
        if self.has_left() {
            return;
        }
        let ticket = self.ticket();
        let config = &self.own.config;
        let Some(cell) = self.cells.get_mut(&key) else {
            return;
        };
        let count = if refused {
            // Where answers take long, a look asks as many as several would have.
            let times = self.peers.answer_time() / config.ask_gap_min.as_nanos();
            let times = u32::try_from(times).unwrap_or(u32::MAX).max(1);
            cell.asking.probes.saturating_mul(times)
        } else {
            config.probes_min
        };
        let count = count.clamp(config.probes_min, config.probes_max);
        let peers = self.peers.some(count, refused);
        if peers.is_empty() || cell.asking.look.is_some() {
            return;
        }
        let deadline = now.saturating_add(patience);
        cell.asking.look = Some(Look {
            ticket,
            asked: peers.len(),
            offers: Vec::with_capacity(peers.len()),
            begin: now,
            deadline,
        });
        self.agenda.insert((deadline, key));
        self.figures.loans.looks += 1;
        for peer in peers {
            self.post.push(peer, Message::Look { key, ticket });
        }
    }

    fn patience(&self) -> Span {
        let config = &self.own.config;
        self.peers.patience(config.round, config.term)
    }

    /// How long a lender that was asked is not asked again.
    fn ask_patience(&self) -> Span {
        Span::from_nanos(self.patience().as_nanos() * 2)
    }

    /// A peer says how it stands.
    pub(super) fn hear_offer(
        &mut self,
        from: Sender,
        (key, ticket): (Key, u64),
        (party, free): (Party, u64),
        now: Instant,
    ) {
        let cell = self.cells.get_mut(&key);
        let look = cell.and_then(|cell| cell.asking.look.as_mut());
        let Some(look) = look.filter(|look| look.ticket == ticket) else {
            // Too late for its look: how late counts, or no look would ever wait long enough.
            if from.echo > Instant::default() {
                self.peers.note_answer(now.nanos_since(from.echo));
            }
            return;
        };
        if look.offers.iter().any(|offer| offer.from == from.node) {
            return;
        }
        self.peers.note_answer(now.nanos_since(look.begin));
        look.offers.push(Offer {
            from: from.node,
            party,
            free,
        });
        if look.offers.len() >= look.asked {
            self.pour(key, now);
        }
    }

    /// Asks those who are richer for what makes all alike. Ends the look.
    pub(super) fn pour(&mut self, key: Key, now: Instant) {
        let Some(look) = self
            .cells
            .get_mut(&key)
            .and_then(|cell| cell.asking.look.take())
        else {
            return;
        };
        self.agenda.remove(&(look.deadline, key));
        if self.settled(key, now).is_none() {
            return;
        }
        let Some(cell) = self.cells.get(&key) else {
            return;
        };
        let me = self.party(cell, now);
        let deep = self.deep_wants(key, me, &look.offers);
        // Who has nothing free to lend may have borrowed what it can give back.
        let mut offers = look.offers.clone();
        for offer in &mut offers {
            offer.free = offer.party.supply;
        }
        let pour = water_fill(me, &offers);
        let wants = pour.asks.into_iter().filter(|(from, amount)| {
            let party = look.offers.iter().find(|offer| offer.from == *from);
            party.is_some_and(|offer| !self.is_trifle(*amount, me, offer.party))
        });
        let wants: Vec<_> = wants.collect();
        // Taking from those who are short themselves helps nobody.
        let spare = |(from, amount): &(NodeId, u64)| {
            let offer = look.offers.iter().find(|offer| offer.from == *from);
            let party = offer.map(|offer| offer.party);
            let spare = party.map_or(0, |party| party.supply.saturating_sub(party.weight));
            u128::from(spare.min(*amount))
        };
        let gain: u128 = wants.iter().map(spare).sum();
        let short = u128::from(me.weight.saturating_sub(me.supply));
        let has_helped = gain * GAIN_PART >= short && gain > 0;
        let fills = look.offers.iter().map(|offer| offer.party.fill_milli());
        self.figures.peers_fill_min_milli = fills.clone().min().unwrap_or(0);
        self.figures.peers_fill_max_milli = fills.max().unwrap_or(0);
        let config = &self.own.config;
        if let Some(cell) = self.cells.get_mut(&key) {
            cell.asking.pace(has_helped || !deep.is_empty(), config);
            cell.asking.has_rich = has_helped;
        }
        if deep.is_empty() {
            self.ask_all(key, wants, false, now);
        } else {
            self.ask_all(key, deep, true, now);
        }
    }

    /// What to ask of whom for a cost that does not fit: whatever they can spare until it does.
    fn deep_wants(&self, key: Key, me: Party, offers: &[Offer<NodeId>]) -> Vec<(NodeId, u64)> {
        let need = self.cells.get(&key).and_then(|cell| cell.asking.need);
        let mut short = need.map_or(0, |(need, _)| need.saturating_sub(me.supply));
        let mut wants = Vec::new();
        for offer in offers {
            let want = offer.free.min(short);
            if want > 0 {
                wants.push((offer.from, want));
                short -= want;
            }
        }
        wants
    }

    fn ask_all(&mut self, key: Key, wants: Vec<(NodeId, u64)>, is_deep: bool, now: Instant) {
        if self.has_left() {
            return;
        }
        let patience = self.ask_patience();
        for (to, want) in wants {
            let cell = self.cells.get(&key);
            let awaits = cell.is_some_and(|cell| cell.asking.awaits(to, patience, now));
            if !awaits {
                let place = cell.and_then(|cell| cell.loan_from(to));
                self.ask(key, (to, place), (want, is_deep), now);
            }
        }
    }

    /// Asks a lender for more, or to keep what there is; reports what was given back.
    fn ask(
        &mut self,
        key: Key,
        (to, place): (NodeId, Option<usize>),
        (want, is_deep): (u64, bool),
        now: Instant,
    ) {
        let ticket = self.ticket();
        let Some(cell) = self.cells.get(&key) else {
            return;
        };
        let party = self.party(cell, now);
        let is_deep = is_deep || cell.asking.need.is_some();
        // Nobody has more than the limit, whatever is offered.
        let rate = self.home.ground.limits.rate();
        let room = rate.saturating_sub(party.supply);
        let want = want.min(room.saturating_sub(cell.asking.wanted()));
        if want == 0 && place.is_none() {
            return;
        }
        let number = self.home.number();
        let term = self.own.config.term;
        // Until it is answered; then a loan has time.
        let retry = self.ask_patience().max(self.own.config.round);
        let renew = self.renew_after().min(retry);
        let Some(cell) = self.cells.get_mut(&key) else {
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
        cell.asking.asks.push(Asked {
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
        self.figures.loans.asks += u64::from(want > 0);
        let ask = Ask {
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
    pub(super) fn hear_grant(&mut self, from: Sender, grant: &Grant, now: Instant) {
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
                self.begin_loan(from, grant.key, (&asked, &given), until);
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
    fn put_off(&mut self, asked: &Asked, key: Key) {
        let renew_at = asked.at.saturating_add(self.renew_after());
        let loans = self.cells.get_mut(&key).map(|cell| &mut cell.borrowed);
        for loan in loans.into_iter().flatten() {
            if loan.from == asked.to {
                loan.renew_at = loan.renew_at.max(renew_at);
            }
        }
    }

    /// The ask that a grant answers; it is answered then.
    fn answered(&mut self, from: Sender, grant: &Grant) -> Option<Asked> {
        let asks = &mut self.cells.get_mut(&grant.key)?.asking.asks;
        let is_it = |ask: &Asked| ask.ticket == grant.ticket && ask.to == from.node;
        let place = asks.iter().position(is_it)?;
        Some(asks.swap_remove(place))
    }

    /// A grant that was answered before, or that nobody waits for any more.
    fn hear_again(&mut self, from: Sender, grant: &Grant, now: Instant) {
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
    fn known(&self, from: Sender, key: Key, seq: u64) -> Option<usize> {
        let is_it =
            |loan: &Borrowed| (loan.from, loan.boot, loan.seq) == (from.node, from.boot, seq);
        self.cells.get(&key)?.borrowed.iter().position(is_it)
    }

    /// Begins to count on a loan.
    fn begin_loan(
        &mut self,
        from: Sender,
        key: Key,
        (asked, given): (&Asked, &Given),
        until: Instant,
    ) {
        let renew_at = asked.at.saturating_add(self.renew_after());
        let Some(cell) = self.cells.get_mut(&key) else {
            return;
        };
        if cell.borrowed.len() >= LOANS_MAX {
            return;
        }
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
            since: cell.bucket.at,
            is_unreported: false,
        });
        let place = cell.borrowed.len() - 1;
        self.add_to(key, place, given, until);
    }

    /// Counts on what was added to a loan, and for how long it lasts.
    fn add_to(&mut self, key: Key, place: usize, given: &Given, until: Instant) {
        let ground = self.home.ground;
        let Some(cell) = self.cells.get_mut(&key) else {
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
    pub(super) fn hear_recall(
        &mut self,
        from: Sender,
        (key, seq): (Key, u64),
        lender: Party,
        now: Instant,
    ) {
        if self.settled(key, now).is_none() {
            return;
        }
        let Some(place) = self.known(from, key, seq) else {
            return;
        };
        let Some(cell) = self.cells.get(&key) else {
            return;
        };
        let me = self.party(cell, now);
        let back = u64::try_from(equalise(me, lender)).unwrap_or(0);
        if self.is_trifle(back, me, lender) {
            return;
        }
        let amount = cell.borrowed.get(place).map_or(0, Borrowed::amount);
        self.return_down_to(key, place, amount.saturating_sub(back), now);
    }

    /// Gives back of a loan until it is `keep`, unless somebody waits for what it brings, and reports that.
    pub(super) fn return_down_to(&mut self, key: Key, place: usize, keep: u64, now: Instant) {
        let ground = self.home.ground;
        let Some(cell) = self.cells.get_mut(&key) else {
            return;
        };
        let is_bound = planted!("gives-back-what-is-promised", cell.is_in_debt(), false);
        if is_bound || !cell.give_back(&ground, place, keep) {
            return;
        }
        self.renew_loan(key, place, now);
    }

    /// Renews a loan, and reports what was given back of it.
    pub(super) fn renew_loan(&mut self, key: Key, place: usize, now: Instant) {
        let cell = self.cells.get(&key);
        let Some(loan) = cell.and_then(|cell| cell.borrowed.get(place)) else {
            return;
        };
        let lender = loan.from;
        self.ask(key, (lender, Some(place)), (0, false), now);
    }

    /// Tells a lender that a loan it made is not counted on here.
    fn let_go(&mut self, from: Sender, grant: &Grant, _: Instant) {
        let Some(given) = grant.given else {
            return;
        };
        let ask = Ask {
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

/// A look that finds less than one part in so many of what is missing has not helped.
const GAIN_PART: u128 = 20;
/// Asks of one key without an answer.
const ASKS_MAX: usize = 256;
/// Loans that one key may count on.
const LOANS_MAX: usize = 256;
