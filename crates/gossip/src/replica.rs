//! One node's part in one policy: decides, counts, and hands frames to and fro.
//!
//! Not here: how nodes agree. That is the [`Design`] inside.

mod arrears;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tollgate_limit::{Instant, Span};
use tollgate_mode::{Footprint, Key, Malformed, NodeId, Probe, Send, Sort, Standing, Verdict};

use crate::bucket::Bucket;
use crate::kind::Kind;
use crate::setup::Setup;

use self::arrears::Arrears;

/// A way for nodes to agree about many keys of one bucket. The replica asks for the level and says what was admitted.
///
/// After every call, drain [`poll_send`](Self::poll_send). Timeouts may come early or twice; frames may be lost,
/// doubled, late, out of order or malformed: none of it may cause a panic or an unbounded state.
pub trait Design: std::fmt::Debug + std::marker::Send {
    /// Grains of backlog that this node knows of; above the bucket's capacity it is debt.
    fn level(&mut self, key: Key, now: Instant) -> u128;

    /// Counts `cost` tokens as admitted here, whatever the level. Called right after [`level`](Self::level) at the same
    /// time.
    fn accept(&mut self, key: Key, cost: u64, now: Instant);

    /// Takes a frame that `from` sent. A malformed one changes nothing.
    fn handle_frame(&mut self, from: NodeId, frame: &[u8], now: Instant) -> Result<(), Malformed>;

    /// Hears who is believed alive, this node included, in ascending order.
    fn handle_members(&mut self, alive: &[NodeId], now: Instant);

    /// Does what is due.
    fn handle_timeout(&mut self, now: Instant);

    /// When to call [`handle_timeout`](Self::handle_timeout) next.
    fn poll_timeout(&self) -> Option<Instant>;

    /// The next frame to send, oldest first.
    fn poll_send(&mut self) -> Option<Send>;

    /// Whether nothing waits to be told to anybody: without new requests this node will send nothing but checks.
    fn is_quiet(&self) -> bool;

    /// Bytes of state held now.
    fn footprint(&self) -> Footprint;

    /// Until how much later `short` more grains will have drained.
    fn time_for(&self, short: u128) -> Span;

    /// What a frame of that kind is for.
    fn sort(&self, _kind: u8) -> Sort {
        Sort::Publication
    }

    /// How many keys are known.
    fn keys_count(&self) -> usize {
        self.keys().len()
    }

    /// Whether something is known of a key.
    fn knows(&self, key: Key) -> bool {
        self.keys().binary_search(&key).is_ok()
    }

    /// Forgets one key to make room: of a few, the one that has most left; `false` where none may go.
    fn evict(&mut self, _: Instant) -> bool {
        false
    }

    /// Drops one copy that is kept for another node, the one that matters for the shortest time; `false` where there is
    /// none.
    fn drop_copy(&mut self) -> bool {
        false
    }

    /// About how many bytes of memory all of it takes: what the footprint counts, and what holds it.
    fn held(&self) -> u64 {
        let Footprint { local, extra } = self.footprint();
        self.keys_count() as u64 * KEY_HELD + 2 * (local + extra)
    }

    /// Asks the others for what a newcomer should know.
    fn handle_join(&mut self, _: Instant) {}

    /// Whether an answer to [`handle_join`](Self::handle_join) is still waited for.
    fn is_joining(&self) -> bool {
        false
    }

    /// Tells the others what only this node knows, as it is about to go.
    fn handle_leave(&mut self, _: Instant) {}

    /// What this node must not lose of a key when it is restarted, as a frame for [`restore`](Self::restore).
    fn save(&mut self, _: Key, _: Instant) -> Option<Arc<[u8]>> {
        None
    }

    /// Takes back what a former boot of this node saved. Others know it under the same names, so nothing counts twice.
    fn restore(&mut self, _frame: &[u8], _: Instant) -> Result<(), Malformed> {
        Ok(())
    }

    /// Every key that is known, in ascending order.
    fn keys(&self) -> Vec<Key>;

    /// Hears how long messages take, for designs with timers that wait for answers.
    fn set_delay(&mut self, _: Span) {}
}

/// One node's part in one policy.
///
/// Refunds work alike in every design. What is given back stays with the node that gave it, as *credit*: it
/// lowers the level this node sees and is spent before anything new is counted. Nothing admitted is ever uncounted
/// elsewhere, so merging stays a maximum and no refund can be lost or doubled; the price is that other nodes do not
/// see it. Credit never exceeds the backlog, and goes with it.
#[derive(Debug)]
pub struct Replica {
    bucket: Bucket,
    wait_max: Span,
    /// Whether admitted requests wait for those before them.
    leaks: bool,
    design: Box<dyn Design>,
    /// Grains given back.
    credit: BTreeMap<Key, u128>,
    /// What keys had used up when the clock was set.
    arrears: Arrears,
    /// With so many keys in either, those that are void are looked for.
    credit_many: usize,
}

/// Bytes that a key takes besides its counts: places in a few trees.
const KEY_HELD: u64 = 256;
/// Bytes that a key with credit takes.
const CREDIT_HELD: u64 = 64;
/// Fewer keys with credit are not worth looking at.
const CREDIT_FEW: usize = 1 << 10;

impl Replica {
    /// A replica of that kind.
    pub fn new(kind: Kind, setup: &Setup) -> Self {
        Self::of(kind.build(setup), setup)
    }

    /// A replica of a design that has just started.
    pub fn of(design: Box<dyn Design>, setup: &Setup) -> Self {
        Self {
            bucket: setup.bucket,
            wait_max: setup.wait_max,
            leaks: false,
            credit: BTreeMap::new(),
            arrears: Arrears::default(),
            credit_many: CREDIT_FEW,
            design,
        }
    }

    /// A replica of a bucket that leaks: who is admitted waits until those before are through.
    pub fn leaking(kind: Kind, setup: &Setup) -> Self {
        Self {
            leaks: true,
            ..Self::new(kind, setup)
        }
    }

    /// Sets how long a request may be made to wait for its tokens.
    pub fn set_wait_max(&mut self, wait_max: Span) {
        self.wait_max = wait_max;
    }

    /// Decides one request and counts it if it passes. A cost of zero is a peek: as cost one, and nothing is counted.
    pub fn handle_request(&mut self, key: Key, cost: u64, now: Instant) -> Verdict {
        let Probe { verdict, .. } = self.probe(key, cost, now);
        if verdict.is_allowed() {
            self.count(key, cost, now);
        }
        verdict
    }

    /// What [`Self::handle_request`] would answer; nothing is counted.
    pub fn probe(&mut self, key: Key, cost: u64, now: Instant) -> Probe {
        let asked = cost.max(1);
        let level = self.level(key, now);
        let capacity = self.bucket.capacity();
        let left = |level: u128| self.bucket.tokens(capacity.saturating_sub(level));
        let wanted = level.saturating_add(self.bucket.grains(asked));
        let short = wanted.saturating_sub(capacity);
        let verdict = if asked > self.bucket.burst() {
            Verdict::Never
        } else {
            match self.wait(level, short) {
                Ok(wait) => Verdict::Allow {
                    remaining: left(level.saturating_add(self.bucket.grains(cost))),
                    wait,
                },
                Err(retry_after) => Verdict::Deny { retry_after },
            }
        };
        Probe {
            verdict,
            remaining: left(level),
            over: self.bucket.tokens(level.saturating_sub(capacity)),
        }
    }

    /// How long an admitted request waits, or after how long one that is not could be.
    fn wait(&self, level: u128, short: u128) -> Result<Span, Span> {
        if self.leaks {
            return match short {
                0 => Ok(self.design.time_for(level)),
                short => Err(self.design.time_for(short)),
            };
        }
        let wait = self.design.time_for(short);
        match wait.as_nanos().checked_sub(self.wait_max.as_nanos()) {
            None | Some(0) => Ok(wait),
            Some(over) => Err(Span::from_nanos(over)),
        }
    }

    /// Counts what a probe at the same time admitted.
    pub fn take(&mut self, key: Key, cost: u64, now: Instant) {
        self.count(key, cost, now);
    }

    /// How many tokens may be charged until the key is that far below zero.
    pub fn chargeable(&mut self, key: Key, debt: u64, now: Instant) -> u64 {
        let bound = self
            .bucket
            .capacity()
            .saturating_add(self.bucket.grains(debt));
        let level = self.level(key, now);
        self.bucket.tokens(bound.saturating_sub(level))
    }

    /// Gives everything back that this node knows of.
    pub fn reset(&mut self, key: Key, now: Instant) {
        self.arrears.remove(key);
        let level = self.design.level(key, now);
        if level > 0 {
            self.credit.insert(key, level);
        }
    }

    /// How a key stands.
    pub fn standing(&mut self, key: Key, now: Instant) -> Standing {
        let level = self.level(key, now);
        let left = self.bucket.capacity().saturating_sub(level);
        Standing {
            remaining: self.bucket.tokens(left),
            reset_after: self.design.time_for(level),
        }
    }

    /// Counts `cost` without asking, as debt if need be.
    pub fn charge(&mut self, key: Key, cost: u64, now: Instant) {
        let _ = self.level(key, now);
        self.count(key, cost, now);
    }

    /// Gives `cost` back, as far as there is a backlog to take it from.
    pub fn refund(&mut self, key: Key, cost: u64, now: Instant) {
        let back = self.arrears.refund(key, self.bucket.grains(cost));
        let credit = self.credit.entry(key).or_default();
        *credit = credit.saturating_add(back);
        let _ = self.level(key, now);
    }

    /// Charges the difference between what a request was charged and what it really cost.
    pub fn settle(&mut self, key: Key, charged: u64, actual: u64, now: Instant) {
        if actual >= charged {
            self.charge(key, actual - charged, now);
        } else {
            self.refund(key, charged - actual, now);
        }
    }

    /// Takes a frame that `from` sent. A malformed one changes nothing.
    pub fn handle_frame(
        &mut self,
        from: NodeId,
        frame: &[u8],
        now: Instant,
    ) -> Result<(), Malformed> {
        self.design.handle_frame(from, frame, now)
    }

    /// Hears who is believed alive, this node included, in ascending order.
    pub fn handle_members(&mut self, alive: &[NodeId], now: Instant) {
        self.design.handle_members(alive, now);
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.design.handle_timeout(now);
        if self.adrift() >= self.credit_many {
            let credit = self.credit.keys().copied();
            let keys: Vec<_> = credit.chain(self.arrears.keys()).collect();
            for key in keys {
                let _ = self.level(key, now);
            }
            self.credit_many = CREDIT_FEW.max(2 * self.adrift());
        }
    }

    /// How many keys stand here as nowhere else.
    fn adrift(&self) -> usize {
        self.credit.len() + self.arrears.len()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.design.poll_timeout()
    }

    /// The next frame to send, oldest first. Drain it after every other call.
    pub fn poll_send(&mut self) -> Option<Send> {
        self.design.poll_send()
    }

    /// Whether nothing waits to be told to anybody.
    pub fn is_quiet(&self) -> bool {
        self.design.is_quiet()
    }

    /// Bytes of state held now.
    pub fn footprint(&self) -> Footprint {
        self.design.footprint()
    }

    /// Asks the others for what a newcomer should know, where the design can.
    pub fn handle_join(&mut self, now: Instant) {
        self.design.handle_join(now);
    }

    /// Whether an answer to [`Self::handle_join`] is still waited for.
    pub fn is_joining(&self) -> bool {
        self.design.is_joining()
    }

    /// Tells the others what only this node knows, as it is about to go.
    pub fn handle_leave(&mut self, now: Instant) {
        self.design.handle_leave(now);
    }

    /// How many keys are known.
    pub fn keys_count(&self) -> usize {
        self.design.keys_count()
    }

    /// Whether something is known of a key.
    pub fn knows(&self, key: Key) -> bool {
        self.design.knows(key) || self.arrears.get(key).is_some()
    }

    /// Forgets one key to make room: of a few, the one that has most left.
    pub fn evict(&mut self, now: Instant) -> bool {
        self.design.evict(now)
    }

    /// Drops one copy that is kept for another node; `false` where there is none.
    pub fn drop_copy(&mut self) -> bool {
        self.design.drop_copy()
    }

    /// About how many bytes of memory all of it takes.
    pub fn held(&self) -> u64 {
        self.design.held() + self.adrift() as u64 * CREDIT_HELD
    }

    /// What a frame of that kind is for.
    pub fn sort(&self, kind: u8) -> Sort {
        self.design.sort(kind)
    }

    /// Every key that is known, in ascending order.
    pub fn keys(&self) -> Vec<Key> {
        let keys: BTreeSet<Key> = self.arrears.keys().chain(self.design.keys()).collect();
        keys.into_iter().collect()
    }

    /// Hears how long messages take.
    pub fn set_delay(&mut self, delay: Span) {
        self.design.set_delay(delay);
    }

    /// The level as this node sees it, with what the key owes, its credit taken off; credit beyond the backlog is void.
    fn level(&mut self, key: Key, now: Instant) -> u128 {
        let level = self.design.level(key, now);
        let owed = self.arrears.of(key, (self.bucket, level), now);
        owed.saturating_add(self.uncredited(key, level))
    }

    fn uncredited(&mut self, key: Key, level: u128) -> u128 {
        let Some(credit) = self.credit.get_mut(&key) else {
            return level;
        };
        *credit = (*credit).min(level);
        let left = level - *credit;
        if *credit == 0 {
            self.credit.remove(&key);
        }
        left
    }

    /// Counts what credit does not cover, in whole tokens.
    fn count(&mut self, key: Key, cost: u64, now: Instant) {
        let mut rest = cost;
        if let Some(credit) = self.credit.get_mut(&key) {
            let spent = rest.min(self.bucket.tokens(*credit));
            *credit -= self.bucket.grains(spent);
            rest -= spent;
        }
        if rest > 0 {
            let grains = self.bucket.grains(rest);
            self.arrears.count(key, (self.bucket, grains), now);
            self.design.accept(key, rest, now);
        }
    }
}
