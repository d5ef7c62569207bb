//! Tokens go where messages wait: asking, giving with a hold, and confirming.
//!
//! What is given leaves the giver's tokens at once, and its room stays taken until the receiver has said what it kept,
//! or would not take it any more. So what all have and what is on its way is never more than the one bucket. Not here:
//! whom to ask.

use tollgate_gossip::NodeId;
use tollgate_limit::Instant;

use super::SplitMachine;
use crate::config::Borrow;
use crate::holds::Gift;
use crate::wire::{Message, SplitStanding};

impl SplitMachine {
    fn may_borrow(&self) -> bool {
        self.config.borrow != Borrow::Off
    }

    /// Asks the richest if somebody waits or tokens are low, and nobody is asked already.
    pub(super) fn ask(&mut self, now: Instant) {
        let want = self.want(now);
        if self.asks.is_open() || want == 0 {
            return;
        }
        let Some(to) = self.peers.choose(self.bucket.share(), now) else {
            return;
        };
        let patience = self.peers.patience(to, &self.config);
        let ticket = self.asks.open(to, patience, now);
        self.counts.asks += 1;
        let ask = Message::Ask {
            ticket,
            want: want.min(self.limits.whole().depth),
            standing: self.standing(now),
        };
        self.send(to, &ask);
    }

    /// What there is use for: nothing unless somebody waits, or there is too little for those who come next.
    pub(super) fn want(&self, now: Instant) -> u128 {
        let tokens = self.bucket.tokens_at(now);
        let is_short = !self.queue.is_empty() || tokens < self.low();
        if !self.may_borrow() || !is_short {
            return 0;
        }
        // Those who were told when they go need nothing.
        self.bucket.room().saturating_sub(tokens) + self.queue.cost()
    }

    pub(super) fn low(&self) -> u128 {
        self.limits.message() / 1000 * u128::from(self.config.low_milli)
    }

    pub(super) fn handle_ask(
        &mut self,
        gift: Gift,
        want: u128,
        asker: SplitStanding,
        now: Instant,
    ) {
        self.peers.see(gift.to, asker, now);
        if !self.peers.is_later(gift.to, gift.ticket) {
            return;
        }
        self.run(now);
        self.bucket.pass(now);
        let mut amount = self.to_give(want, asker);
        if amount > 0 && self.bucket.give(amount) {
            let end = now.saturating_add(self.config.hold());
            self.holds.insert(gift, amount, end);
            self.counts.given += amount;
        } else {
            amount = 0;
        }
        let give = Message::Give {
            ticket: gift.ticket,
            yours: gift.boot,
            amount,
            standing: self.standing(now),
        };
        self.send(gift.to, &give);
    }

    /// Half of the difference, and nothing while somebody waits here, or if it is next to nothing.
    fn to_give(&self, want: u128, asker: SplitStanding) -> u128 {
        let waits = self.queued() > 0;
        if !self.may_borrow() || waits || self.holds.len() >= HOLDS_MAX {
            return 0;
        }
        let tokens = self.bucket.tokens();
        let half = (tokens + asker.queued).saturating_sub(asker.tokens) / 2;
        // So much room must stay that any message can pass.
        let room = self.bucket.sure_room().saturating_sub(self.floor());
        let amount = want.min(half).min(tokens).min(room);
        if amount < self.limits.message() / GIFT_PART_MIN {
            return 0;
        }
        amount
    }

    pub(super) fn handle_give(&mut self, from: NodeId, boot: u64, ticket: u64, amount: u128) {
        let now = self.now;
        let Some(ask) = self.asks.answer(from, ticket) else {
            return;
        };
        let took_ns = now.nanos_since(ask.at);
        self.peers.answered(from, took_ns, &self.config, now);
        if amount == 0 {
            self.had_nothing(from, now);
        } else if u128::from(took_ns) <= self.config.term.as_nanos() {
            self.counts.hits += 1;
            if self.is_trifle(amount) {
                self.had_nothing(from, now);
            } else {
                self.peers.gave();
            }
            let returned = self.receive(amount, now);
            let confirm = Message::Confirm {
                ticket,
                yours: boot,
                returned,
                standing: self.standing(now),
            };
            self.send(from, &confirm);
        }
        self.ask(now);
    }

    /// What is less than a message passes to and fro where all are asked for too much. Where shares are not much
    /// deeper, there is nothing else to give.
    fn is_trifle(&self, amount: u128) -> bool {
        let message = self.limits.message();
        let is_deep = self.bucket.share().depth >= message.saturating_mul(TRIFLE_DEPTHS);
        self.config.rests_max > 1 && amount < message && is_deep
    }

    /// Serves those who wait, keeps what there is room for, and says what is left.
    fn receive(&mut self, amount: u128, now: Instant) -> u128 {
        self.run(now);
        self.bucket.pass(now);
        let mut left = amount;
        loop {
            let put = self.bucket.put(left);
            left -= put;
            self.leave(now);
            if put == 0 || left == 0 {
                break;
            }
        }
        self.counts.borrowed += amount - left;
        left
    }

    pub(super) fn handle_confirm(&mut self, gift: Gift, returned: u128, now: Instant) {
        self.run(now);
        self.bucket.pass(now);
        let Some(amount) = self.holds.confirm(gift) else {
            return;
        };
        self.bucket.free(amount);
        let returned = returned.min(amount);
        self.bucket.put(returned);
        self.counts.given = self.counts.given.saturating_sub(returned);
        self.leave(now);
    }

    pub(super) fn had_nothing(&mut self, from: NodeId, now: Instant) {
        let (rest, times) = (self.rest(), self.config.rests_max);
        self.peers.had_nothing(from, rest, times, now);
    }
}

/// Nothing below that part of a message is given: a quarter.
const GIFT_PART_MIN: u128 = 4;
/// Where a share holds so many messages, less than one is a trifle.
const TRIFLE_DEPTHS: u128 = 4;
/// Gifts that may be on their way.
const HOLDS_MAX: usize = 1 << 10;
