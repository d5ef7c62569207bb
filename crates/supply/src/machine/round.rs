//! What is due: rounds of busy keys and of some of the others, and looks that go on without an answer.
//!
//! Not here: what a look or a loan is.

use tollgate_gossip::ModeKey;
use tollgate_limit::{Instant, Span};
use tollgate_mode::SHARDS;

use super::Machine;
use crate::cell::SupplyCell;
use crate::loans::Borrowed;

impl Machine {
    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        let now = self.at(now);
        while let Some((_, key)) = self.agenda.first().copied().filter(|(at, _)| *at <= now) {
            self.agenda.pop_first();
            self.pour(key, now);
        }
        self.stand_on(now);
        if self.round_at.is_some_and(|at| at <= now) {
            self.round(now);
        }
        self.post.flush(&self.peers, now);
    }

    /// When to call [`Self::handle_timeout`] next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let agenda = self.agenda.first().map(|(at, _)| *at);
        let events = [agenda, self.round_at, self.stand_at()];
        events.into_iter().flatten().min()
    }

    fn round(&mut self, now: Instant) {
        self.peers.shuffle();
        let busy: Vec<_> = self.busy.iter().copied().collect();
        for key in &busy {
            self.round_of(*key, true, now);
        }
        let all = self.cells.len();
        for turn in 0..(all / CALM_PARTS).clamp(CALM_LOOKS, CALM_MAX).min(all) {
            let calm = self.cells.sweep();
            if let Some(key) = calm.filter(|key| busy.binary_search(key).is_err()) {
                self.round_of(key, turn < CALM_LOOKS, now);
            }
        }
        let next = now.saturating_add(self.own.config.round);
        self.round_at = (!self.cells.is_empty()).then_some(next);
    }

    /// One key's round: renews what is due, gives back what is not needed, looks around if it may, or is forgotten.
    fn round_of(&mut self, key: ModeKey, may_look: bool, now: Instant) {
        let (round, term) = (self.own.config.round, self.own.config.term);
        let blank = self.blank_at(now).tokens;
        if self.settled(key, now).is_none() {
            self.busy.remove(&key);
            return;
        }
        let ground = self.home.ground;
        let Some(cell) = self.cells.get_mut(key) else {
            return;
        };
        let is_calm = cell.is_calm(&ground);
        cell.demand.roll(round, now);
        if let Some(dealings) = cell.dealings() {
            dealings.asking.adapt(&self.own.config);
            dealings.asking.forget(term, now);
            cell.forget_dealings();
        }
        let is_idle = cell.demand.is_idle(term, now);
        if is_idle || self.has_left() {
            self.return_all(key, now);
        }
        self.renew_due(key, now);
        let Some(cell) = self.cells.get(key) else {
            return;
        };
        if is_idle && cell.is_blank(blank) {
            self.cells.remove(key);
            self.busy.remove(&key);
            return;
        }
        if !is_idle && may_look {
            self.look(key, false, now);
        }
        if is_calm {
            self.busy.remove(&key);
        } else {
            self.busy.insert(key);
        }
    }

    /// Gives everything back that nobody needs here.
    pub(super) fn return_all(&mut self, key: ModeKey, now: Instant) {
        let count = self.cells.get(key).map_or(0, |cell| cell.borrowed.len());
        for place in 0..count {
            self.return_down_to(key, place, 0, now);
        }
    }

    /// Gives back so much of some loans, the first of them first.
    pub(super) fn return_some(
        &mut self,
        key: ModeKey,
        mut amount: u64,
        of: impl Fn(&Borrowed) -> bool,
        now: Instant,
    ) {
        let cell = self.cells.get(key);
        let loans: Vec<_> = cell.map_or_else(Vec::new, |cell| cell.borrowed.clone());
        for (place, loan) in loans.iter().enumerate().filter(|(_, loan)| of(loan)) {
            let back = loan.amount().min(amount);
            if back > 0 {
                self.return_down_to(key, place, loan.amount() - back, now);
                amount -= back;
            }
        }
    }

    /// Renews what would end too soon after the next round, all of one lender at once; drops what is given back and
    /// reported.
    fn renew_due(&mut self, key: ModeKey, now: Instant) {
        let soon = now.saturating_add(Span::from_nanos(self.own.config.round.as_nanos() / 2));
        let cell = self.cells.get_mut(key);
        let Some(dealings) = cell.and_then(SupplyCell::dealings) else {
            return;
        };
        let asks = &dealings.asking.asks;
        let is_over = |loan: &Borrowed| {
            loan.amount() == 0 && !loan.is_unreported && asks.iter().all(|ask| ask.to != loan.from)
        };
        dealings.borrowed.retain(|loan| !is_over(loan));
        let due: Vec<_> = dealings
            .borrowed
            .iter()
            .enumerate()
            .filter(|(_, loan)| loan.amount() > 0 && loan.renew_at <= soon || loan.is_unreported)
            .map(|(place, _)| place)
            .collect();
        for place in due {
            self.renew_loan(key, place, now);
        }
    }

    /// Forgets one key to make room, one that is as if never seen; says whether there was one.
    pub fn evict(&mut self, now: Instant) -> bool {
        let now = self.at(now);
        let blank = self.blank_at(now).tokens;
        for _ in 0..EVICT_LOOKS_MAX {
            let Some(key) = self.cells.sweep() else {
                break;
            };
            let is_blank = self
                .settled(key, now)
                .is_some_and(|cell| cell.is_blank(blank));
            if is_blank {
                self.cells.remove(key);
                self.busy.remove(&key);
                return true;
            }
        }
        false
    }
}

/// Calm keys that look around in one round, and that take part in it at least: those of all shards together are 256,
const CALM_LOOKS: usize = 256 / SHARDS;
/// or one in so many of all keys,
const CALM_PARTS: usize = 64;
/// but no more, as requests wait for a round.
const CALM_MAX: usize = 1_024 / SHARDS;
/// Keys that are looked at to make room for one.
const EVICT_LOOKS_MAX: usize = 256;
