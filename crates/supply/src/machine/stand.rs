//! Changes of limits and shares, restarts, leases and goodbyes: whatever moves the ground under all keys.
//!
//! Not here: who must agree to a change (`home`), and who grants leases (`authority`).

use std::collections::VecDeque;

use tollgate_gossip::NodeId;
use tollgate_kit::scramble;
use tollgate_limit::{Instant, Span};

use super::{Machine, Sender, note_ended};
use crate::authority::AUTHORITY;
use crate::cell::SupplyCell;
use crate::config::SupplyConfig;
use crate::home::Home;
use crate::limits::Limits;
use crate::setup::{Boot, SupplyRecord};
use crate::shares::Shares;
use crate::wire::{Here, Message, Renew, Renewed};

/// What a node knows of its lease, of who was asked about a change, and of what is stored.
#[derive(Debug)]
pub(super) struct Tenure {
    /// Renewals without an answer.
    asks: VecDeque<(u64, Instant)>,
    /// When the one was asked that was answered last, and which it was.
    renewed: Option<Instant>,
    seen: u64,
    /// When the authority answered.
    pub(super) heard: Option<Instant>,
    /// When to ask the authority.
    renew_at: Option<Instant>,
    /// Whether it has more than it has said to any question that was answered: its word may overtake an answer.
    is_nudged: bool,
    /// When to ask the others where they stand.
    ask_at: Option<Instant>,
    /// How often they were asked about this change.
    asked: u32,
    /// Whether no key has anything left of what was before.
    is_clear: bool,
    /// When all have passed who were let in before.
    clear_at: Instant,
    /// What was last handed out to be stored, and what is stored.
    told: Option<SupplyRecord>,
    stored: Option<u64>,
    /// Whether this node has said goodbye, or was told that another runs in its name.
    has_left: bool,
}

impl Tenure {
    pub(super) fn new(config: &SupplyConfig, start: Instant) -> Self {
        Self {
            asks: VecDeque::new(),
            renewed: None,
            seen: 0,
            heard: None,
            renew_at: config.lease.map(|_| start),
            is_nudged: false,
            ask_at: config.lease.is_none().then_some(start),
            asked: 0,
            is_clear: false,
            clear_at: start,
            told: None,
            stored: None,
            has_left: false,
        }
    }
}

impl Machine {
    /// Hears who is believed alive and may be asked, this node included or not, in ascending order.
    pub fn handle_members(&mut self, alive: &[NodeId], now: Instant) {
        let _ = self.at(now);
        let limit = alive.len().min(Shares::NODES_MAX);
        self.peers
            .set_members(alive.get(..limit).unwrap_or_default());
        let home = &self.home;
        self.peers
            .retain(|node| node == AUTHORITY || home.party().any(|other| other == node));
    }

    /// Hears how the rate is to be divided. Less counts at once, more when every node stands there. Under a lease homes
    /// are the authority's, and this changes nothing.
    pub fn handle_shares(&mut self, shares: Shares, now: Instant) {
        let now = self.at(now);
        if self.own.config.lease.is_none() {
            let limits = self.home.ground.limits;
            self.shift(now, |home| home.move_to(limits, shares));
        }
        self.post.flush(&self.peers, now);
    }

    /// Hears another limit. Less counts at once, more when every node stands there.
    pub fn set_limits(&mut self, limits: Limits, now: Instant) {
        let now = self.at(now);
        let shares = self.home.shares().clone();
        let is_leased = self.own.config.lease.is_some();
        self.shift(now, |home| {
            let had = home.ground;
            let has_moved = home.move_to(limits, shares);
            if is_leased && has_moved {
                // The same part of the new limit, if that is less; the authority says when it is more.
                let part = u128::from(had.home) * u128::from(limits.rate());
                let part = part / u128::from(had.limits.rate());
                home.ground.home = had.home.min(crate::loans::narrow(part));
            }
            has_moved
        });
        if is_leased {
            self.tenure.renew_at = Some(now);
            self.stand_on(now);
        }
        self.post.flush(&self.peers, now);
    }

    /// What is to be stored before this node says where it stands, if that has changed.
    pub fn poll_kept(&mut self) -> Option<SupplyRecord> {
        let kept = SupplyRecord {
            waited: self.own.waited,
            ..self.home.kept()
        };
        if self.tenure.told.as_ref() == Some(&kept) {
            return None;
        }
        self.tenure.told = Some(kept.clone());
        Some(kept)
    }

    /// Hears what is stored now.
    pub fn handle_kept(&mut self, kept: &SupplyRecord, now: Instant) {
        let _ = self.at(now);
        self.tenure.stored = Some(kept.number);
    }

    /// Gives back what is borrowed, stops using its home, and tells the others, as it is about to go. Send what there
    /// is afterwards.
    pub fn goodbye(&mut self, now: Instant) {
        let now = self.at(now);
        for key in self.cells.keys() {
            if self.settled(key, now).is_some() {
                self.return_all(key, now);
            }
        }
        self.leave(now);
        let peers = self.peers.some(u32::MAX, false);
        let lease = self.own.config.lease.map(|_| AUTHORITY);
        for peer in peers.into_iter().chain(lease) {
            self.post.push(peer, Message::Goodbye);
        }
        self.post.flush(&self.peers, now);
    }

    /// Uses its home no more, as somebody else has what was kept of it. What is borrowed is used until it ends.
    pub fn give_up(&mut self, now: Instant) {
        let now = self.at(now);
        if !self.tenure.has_left {
            self.leave(now);
        }
    }

    /// Whether this node has said goodbye.
    pub(super) const fn has_left(&self) -> bool {
        self.tenure.has_left
    }

    /// Uses its home no more.
    fn leave(&mut self, now: Instant) {
        self.tenure.has_left = true;
        self.tenure.renew_at = None;
        self.shift(now, |home| {
            home.leave(now);
            false
        });
    }

    /// Changes the ground: every key is brought to the time of the change first, and loses what has no room after it.
    fn shift(&mut self, now: Instant, change: impl FnOnce(&mut Home) -> bool) {
        let ground = self.home.ground;
        self.blank = self.blank_at(now);
        let figures = &mut self.figures;
        self.cells
            .each_mut(|_, cell| note_ended(figures, cell.settle(&ground, now)));
        let has_moved = change(&mut self.home);
        if has_moved {
            self.tenure.is_clear = false;
            self.tenure.clear_at = now.saturating_add(self.own.waited);
            self.tenure.asked = 0;
            if self.own.config.lease.is_none() {
                self.tenure.ask_at = Some(now);
            }
        }
        let ground = self.home.ground;
        let mut blank = SupplyCell::new(self.blank, now);
        let room = blank.room(&ground);
        blank.bucket.clamp(room);
        self.blank = blank.bucket;
        self.cells.each_mut(|_, cell| {
            let room = cell.room(&ground);
            cell.bucket.clamp(room);
        });
        // Only now: asking may shift the ground again.
        if has_moved {
            self.stand_on(now);
        }
    }

    /// When the ground wants attention.
    pub(super) fn stand_at(&self) -> Option<Instant> {
        let times = [self.tenure.renew_at, self.tenure.ask_at];
        times.into_iter().flatten().min()
    }

    /// Asks the others where they stand, and the authority for the home, when that is due.
    pub(super) fn stand_on(&mut self, now: Instant) {
        if self.tenure.ask_at.is_some_and(|at| at <= now) {
            self.ask_where(now);
        }
        if self.tenure.renew_at.is_some_and(|at| at <= now) {
            self.renew_home(now);
        }
    }

    fn ask_where(&mut self, now: Instant) {
        self.shift(now, |home| {
            home.rise();
            false
        });
        let is_back = self.home.is_back() && now < self.home.ground.from;
        if !is_back {
            self.home.forget_restart();
        }
        let message = Message::Where {
            change: self.home.change_count(),
            number: self.home.number(),
        };
        let whom: Vec<_> = if is_back {
            self.home.party().collect()
        } else {
            self.home.awaited().collect()
        };
        for peer in &whom {
            self.post.push(*peer, message);
        }
        self.tenure.asked = self.tenure.asked.saturating_add(1);
        let rounds = if self.tenure.asked > ASK_OFTEN {
            ASK_SELDOM
        } else {
            1
        };
        let pause = Span::from_nanos(self.own.config.round.as_nanos() * rounds);
        self.tenure.ask_at = (!whom.is_empty()).then(|| now.saturating_add(pause));
    }

    /// A peer wants to know where this node stands.
    pub(super) fn hear_where(&mut self, from: Sender, change: u64, now: Instant) {
        let is_clear = self.is_clear(now);
        let here = Here {
            change,
            number: self.home.number(),
            flags: self.home.flags(is_clear),
        };
        self.post.push(from.node, Message::Here(here));
    }

    /// Whether nothing is left of what was before the last change: loans beyond the home, promises, and after a restart
    /// whatever the boot before lent.
    fn is_clear(&mut self, now: Instant) -> bool {
        if self.tenure.is_clear {
            return true;
        }
        let is_stored = self.tenure.stored == Some(self.home.number());
        let waits_until = self.home.ground.from.max(self.tenure.clear_at);
        if now < waits_until || (self.own.config.keeps && !is_stored) {
            return false;
        }
        let ground = self.home.ground;
        let mut is_clear = true;
        self.cells.each_mut(|_, cell| {
            cell.settle(&ground, now);
            is_clear &= cell.lent() <= ground.home;
        });
        self.tenure.is_clear = is_clear;
        is_clear
    }

    /// A peer says where it stands.
    pub(super) fn hear_here(&mut self, from: Sender, here: Here, now: Instant) {
        if self.own.config.lease.is_some()
            || !(self.home.is_back() || self.home.is_awaited(from.node))
        {
            return;
        }
        self.shift(now, |home| {
            home.hear(from.node, here.change, here.number, here.flags);
            false
        });
        if self.home.awaited().next().is_some() && self.tenure.ask_at.is_none() {
            let round = self.own.config.round;
            self.tenure.ask_at = Some(now.saturating_add(round));
        }
    }

    /// Somebody heard a later boot under this node's name: this one uses its home no more.
    pub(super) fn hear_superseded(&mut self, by: Boot, now: Instant) {
        if by <= self.own.boot {
            return;
        }
        self.figures.ignored.duplicate_identities += 1;
        if !self.tenure.has_left {
            self.leave(now);
        }
    }

    /// Asks the authority for the home.
    fn renew_home(&mut self, now: Instant) {
        let Some(lease) = self.own.config.lease else {
            return;
        };
        let ticket = self.ticket();
        let is_clear = self.is_clear(now);
        self.tenure.is_nudged = false;
        self.tenure.asks.push_back((ticket, now));
        if self.tenure.asks.len() > RENEWALS_MAX {
            self.tenure.asks.pop_front();
        }
        let renew = Renew {
            ticket,
            number: limits_number(self.home.ground.limits),
            seen: self.tenure.seen,
            is_clear,
        };
        self.post.push(AUTHORITY, Message::Renew(renew));
        let retry = (lease.as_nanos() / RETRIES_PER_LEASE).max(self.own.config.round.as_nanos());
        self.tenure.renew_at = Some(now.saturating_add(Span::from_nanos(retry)));
    }

    /// The authority has more for this node than it knows: asks at once, but no more than once a round.
    pub(super) fn hear_nudge(&mut self, now: Instant) {
        self.tenure.is_nudged = true;
        self.renew_soon(now);
        self.stand_on(now);
    }

    fn renew_soon(&mut self, now: Instant) {
        let tenure = &mut self.tenure;
        let asked = tenure.asks.back().map(|(_, at)| *at).max(tenure.renewed);
        let round = self.own.config.round;
        let soon = asked.map_or(now, |at| at.saturating_add(round).max(now));
        // Who has no lease, or has left, has nothing to ask for.
        tenure.renew_at = tenure.renew_at.map(|at| at.min(soon));
    }

    /// The authority says what this node's home is.
    pub(super) fn hear_home(&mut self, renewed: Renewed, now: Instant) {
        let Renewed { ticket, home, .. } = renewed;
        let asks = &mut self.tenure.asks;
        let Some(place) = asks.iter().position(|(asked, _)| *asked == ticket) else {
            self.figures.ignored.duplicates += 1;
            return;
        };
        let Some((_, at)) = asks.remove(place) else {
            return;
        };
        let Some(lease) = self.own.config.lease.filter(|_| !self.tenure.has_left) else {
            return;
        };
        if self.tenure.renewed.is_some_and(|renewed| at <= renewed) {
            return;
        }
        self.tenure.heard = Some(now);
        let until = at.saturating_add(self.own.config.shorter(lease, 2));
        if until <= now {
            self.figures.ignored.late += 1;
            return;
        }
        (self.tenure.renewed, self.tenure.seen) = (Some(at), ticket);
        let part = lease.as_nanos() * u128::from(self.own.config.renew_milli) / 1000;
        self.tenure.renew_at = Some(at.saturating_add(Span::from_nanos(part)));
        if self.tenure.is_nudged {
            self.renew_soon(now);
        }
        let is_same = renewed.number == limits_number(self.home.ground.limits);
        self.shift(now, |own| {
            let home = if is_same {
                home
            } else {
                home.min(own.ground.home)
            };
            own.lease(home, until, now);
            if is_same && renewed.is_settled {
                own.agree();
            }
            false
        });
    }
}

/// A number for limits alone, as an authority compares them.
pub(crate) fn limits_number(limits: Limits) -> u64 {
    scramble(limits.rate() ^ scramble(limits.burst()))
}

/// So often others are asked every round; then less.
const ASK_OFTEN: u32 = 50;
/// Every so many rounds.
const ASK_SELDOM: u128 = 10;
/// Renewals that may wait for an answer.
const RENEWALS_MAX: usize = 16;
/// A renewal without an answer is repeated so often in a lease.
const RETRIES_PER_LEASE: u128 = 10;
