//! Requests: whether they pass, what they take, and what is given back.
//!
//! Not here: where more could come from.

use tollgate_gossip::{ModeKey, ModeProbe, ModeVerdict, Standing};
use tollgate_limit::{Instant, Span};

use super::Machine;
use crate::bucket::signed;
use crate::cell::SupplyCell;
use crate::ground::BaseShare;
use crate::limits::Limits;

impl Machine {
    /// Sets how long a request may be made to wait for its tokens.
    pub fn set_wait_max(&mut self, wait_max: Span) {
        self.own.wait_max = wait_max;
        self.own.waited = self.own.waited.max(wait_max);
    }

    /// Decides one request and counts it if it passes. A cost of zero is a peek: as cost one, and nothing is counted.
    /// A refused request may make this node ask others.
    pub fn handle_request(&mut self, key: ModeKey, cost: u64, now: Instant) -> ModeVerdict {
        let ModeProbe { verdict, .. } = self.probe(key, cost, now);
        match verdict {
            ModeVerdict::Allow { .. } if cost > 0 => self.take(key, cost, now),
            ModeVerdict::Deny { .. } => self.miss(key, cost, now),
            ModeVerdict::Allow { .. } | ModeVerdict::Never => {}
        }
        verdict
    }

    /// What [`Self::handle_request`] would answer; nothing is counted and nobody is asked.
    pub fn probe(&mut self, key: ModeKey, cost: u64, now: Instant) -> ModeProbe {
        let now = self.at(now);
        if self.settled(key, now).is_none() {
            return self.peek(key, cost, now);
        }
        self.cells
            .get(key)
            .map_or_else(|| self.peek(key, cost, now), |cell| self.judge(cell, cost))
    }

    /// Like [`Self::probe`], without any change.
    pub fn peek(&self, key: ModeKey, cost: u64, now: Instant) -> ModeProbe {
        let cell = self.view(key, now.max(self.now));
        self.judge(&cell, cost)
    }

    /// A key's cell as it is at `now`, known or not.
    pub(super) fn view(&self, key: ModeKey, now: Instant) -> SupplyCell {
        let known = self.cells.get(key).cloned();
        let mut cell = known.unwrap_or_else(|| SupplyCell::new(self.blank, now));
        cell.settle(&self.home.ground, now);
        cell
    }

    /// What a cell says to a cost at its time.
    fn judge(&self, cell: &SupplyCell, cost: u64) -> ModeProbe {
        let ground = &self.home.ground;
        let asked = cost.max(1);
        let tokens = cell.bucket.tokens;
        let left = |tokens: i128| Limits::requests(u128::try_from(tokens).unwrap_or(0));
        let verdict = if asked > ground.limits.burst() {
            ModeVerdict::Never
        } else {
            match self.wait(cell, Limits::tokens(asked)) {
                Ok(wait) => ModeVerdict::Allow {
                    remaining: left(tokens.saturating_sub(signed(Limits::tokens(cost)))),
                    wait,
                },
                Err(retry_after) => ModeVerdict::Deny { retry_after },
            }
        };
        ModeProbe {
            verdict,
            remaining: left(tokens),
            over: left(tokens.saturating_neg()),
        }
    }

    /// How long an admitted request waits, or after how long one that is not might be.
    fn wait(&self, cell: &SupplyCell, cost: u128) -> Result<Span, Span> {
        let ground = &self.home.ground;
        let short = signed(cost).saturating_sub(cell.bucket.tokens);
        let fits = ground.depth(cell.usable(ground)) >= cost;
        let short = u128::try_from(short).unwrap_or(0);
        if fits && short == 0 {
            return Ok(if self.own.leaks {
                cell.leak_wait()
            } else {
                Span::ZERO
            });
        }
        let may_wait = fits && !self.own.leaks && self.own.wait_max > Span::ZERO;
        let promise = may_wait.then(|| cell.promise(ground, cost)).flatten();
        match promise {
            Some(wait) if wait <= self.own.wait_max => Ok(wait),
            Some(_) | None => Err(self.retry_after(cell, short, fits)),
        }
    }

    /// When it may be worth trying again, as far as that can be told.
    fn retry_after(&self, cell: &SupplyCell, short: u128, fits: bool) -> Span {
        let ground = &self.home.ground;
        let rate = u128::from(ground.earns(cell.usable(ground)));
        let round = self.own.config.round;
        let until_valid = ground.from.nanos_since(cell.bucket.at);
        if rate == 0 {
            return Span::from_nanos(u128::from(until_valid)).max(round);
        }
        let time = Span::from_nanos(short.div_ceil(rate));
        let waits = self.own.wait_max.as_nanos();
        if fits {
            Span::from_nanos(time.as_nanos().saturating_sub(waits)).max(Span::from_nanos(1))
        } else {
            time.max(round)
        }
    }

    /// Counts what a probe at the same time admitted.
    pub fn take(&mut self, key: ModeKey, cost: u64, now: Instant) {
        let now = self.at(now);
        self.figures.requests.offered += 1;
        self.figures.requests.admitted += 1;
        let (leaks, round) = (self.own.leaks, self.own.config.round);
        let wait_max = self.own.wait_max;
        let wait = self.peek_wait(key, cost, now);
        let ground = self.home.ground;
        let Some(cell) = self.enter(key, now) else {
            return;
        };
        cell.demand.count(cost, round, now);
        if leaks {
            cell.take(cost, Span::ZERO, wait_max);
            cell.leak(&ground, cost);
        } else {
            cell.take(cost, wait, wait_max);
        }
        self.activate(key, now);
    }

    /// How long a request that is taken waits.
    fn peek_wait(&mut self, key: ModeKey, cost: u64, now: Instant) -> Span {
        match self.probe(key, cost, now).verdict {
            ModeVerdict::Allow { wait, .. } => wait,
            ModeVerdict::Deny { .. } | ModeVerdict::Never => Span::ZERO,
        }
    }

    /// Counts that a request was offered and refused, here or by another policy; others are asked if that may help.
    pub fn miss(&mut self, key: ModeKey, cost: u64, now: Instant) {
        let now = self.at(now);
        self.figures.requests.offered += 1;
        self.figures.requests.refused += 1;
        let (round, term) = (self.own.config.round, self.own.config.term);
        let ground = self.home.ground;
        let Some(cell) = self.enter(key, now) else {
            return;
        };
        cell.demand.count(cost.max(1), round, now);
        cell.asking.has_refused = true;
        let is_rich = cell.asking.has_rich;
        let tokens = Limits::tokens(cost.max(1));
        if ground.depth(cell.usable(&ground)) < tokens {
            let need = ground.limits.share_for(tokens);
            let need = need.map(|need| (need, now.saturating_add(term)));
            let more = |need: &(u64, Instant)| cell.asking.need.is_none_or(|old| old.0 <= need.0);
            cell.asking.need = need.filter(more).or(cell.asking.need);
        }
        if is_rich {
            self.figures.requests.refused_while_rich += 1;
        }
        self.activate(key, now);
        self.ask_soon(key, now);
        self.post.flush(&self.peers, now);
    }

    /// Counts `cost` without asking, as debt if need be, but no more than takes the key `debt_max` tokens below zero.
    pub fn charge(&mut self, key: ModeKey, cost: u64, debt_max: Option<u64>, now: Instant) {
        let now = self.at(now);
        let Some(cell) = self.enter(key, now) else {
            return;
        };
        let cost = debt_max.map_or(cost, |debt| {
            let room = cell
                .bucket
                .tokens
                .saturating_add(signed(Limits::tokens(debt)));
            cost.min(Limits::requests(u128::try_from(room).unwrap_or(0)))
        });
        cell.bucket.take(Limits::tokens(cost));
        self.activate(key, now);
    }

    /// Gives `cost` back, as far as the bucket holds it. Other nodes do not see it.
    pub fn refund(&mut self, key: ModeKey, cost: u64, now: Instant) {
        let now = self.at(now);
        let ground = self.home.ground;
        if let Some(cell) = self.settled(key, now) {
            let room = cell.room(&ground);
            cell.bucket.add(Limits::tokens(cost), room);
        }
    }

    /// Fills this node's bucket, whatever others admitted.
    pub fn reset(&mut self, key: ModeKey, now: Instant) {
        let now = self.at(now);
        let ground = self.home.ground;
        if let Some(cell) = self.settled(key, now) {
            cell.bucket.tokens = cell.room(&ground);
        }
    }

    /// How a key stands.
    pub fn standing(&mut self, key: ModeKey, now: Instant) -> Standing {
        let now = self.at(now);
        let cell = self.view(key, now);
        let ground: &BaseShare = &self.home.ground;
        let rate = u128::from(ground.earns(cell.usable(ground)));
        let tokens = cell.bucket.tokens;
        let missing = signed(ground.depth(cell.usable(ground))).saturating_sub(tokens);
        let missing = u128::try_from(missing).unwrap_or(0);
        let filled = missing.div_ceil(rate.max(1));
        Standing {
            remaining: Limits::requests(u128::try_from(tokens).unwrap_or(0)),
            reset_after: Span::from_nanos(if rate == 0 { 0 } else { filled }),
        }
    }
}
