//! One node's part in one policy: decides, counts, and hands frames to and fro.
//!
//! Not here: how nodes agree. That is the [`Design`] inside.

mod arrears;

use std::collections::{BTreeMap, BTreeSet};

use tollgate_limit::{Instant, Span};
use tollgate_mode::{Key, Malformed, Probe, Saved, Standing, Verdict};

use crate::bucket::Bucket;
use crate::kind::Kind;
use crate::machine::{Exchange, Machine, UsedUp};
use crate::setup::Setup;

use self::arrears::{Arrears, Owed};

/// A way for nodes to agree about many keys of one bucket. The replica asks for the level and says what was admitted.
pub trait Design: Exchange {
    /// Grains of backlog that this node knows of; above the bucket's capacity it is debt.
    fn level(&mut self, key: Key, now: Instant) -> u128;

    /// Counts `cost` tokens as admitted here, whatever the level. Called right after [`level`](Self::level) at the same
    /// time.
    fn accept(&mut self, key: Key, cost: u64, now: Instant);

    /// Until how much later `short` more grains will have drained.
    fn time_for(&self, short: u128) -> Span;
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

    /// How many keys stand here as nowhere else.
    fn adrift(&self) -> usize {
        self.credit.len() + self.arrears.len()
    }

    /// The level as this node sees it, with what the key owes, its credit taken off; credit beyond the backlog is void.
    fn level(&mut self, key: Key, now: Instant) -> u128 {
        let level = self.design.level(key, now);
        let owed = self.arrears.of(key, self.bucket, level, now);
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
            self.arrears.count(key, self.bucket, grains, now);
            self.design.accept(key, rest, now);
        }
    }
}

impl Machine for Replica {
    fn exchange(&self) -> &dyn Exchange {
        &*self.design
    }

    fn exchange_mut(&mut self) -> &mut dyn Exchange {
        &mut *self.design
    }

    fn set_wait_max(&mut self, wait_max: Span) {
        self.wait_max = wait_max;
    }

    fn probe(&mut self, key: Key, cost: u64, now: Instant) -> Probe {
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

    fn take(&mut self, key: Key, cost: u64, now: Instant) {
        self.count(key, cost, now);
    }

    fn charge(&mut self, key: Key, cost: u64, debt_max: Option<u64>, now: Instant) {
        let level = self.level(key, now);
        let most = debt_max.map(|debt| {
            let bound = self
                .bucket
                .capacity()
                .saturating_add(self.bucket.grains(debt));
            self.bucket.tokens(bound.saturating_sub(level))
        });
        self.count(key, most.map_or(cost, |most| cost.min(most)), now);
    }

    fn refund(&mut self, key: Key, cost: u64, now: Instant) {
        let back = self.arrears.refund(key, self.bucket.grains(cost));
        let credit = self.credit.entry(key).or_default();
        *credit = credit.saturating_add(back);
        let _ = self.level(key, now);
    }

    fn reset(&mut self, key: Key, now: Instant) {
        self.arrears.remove(key);
        let level = self.design.level(key, now);
        if level > 0 {
            self.credit.insert(key, level);
        }
    }

    fn standing(&mut self, key: Key, now: Instant) -> Standing {
        let level = self.level(key, now);
        let left = self.bucket.capacity().saturating_sub(level);
        Standing {
            remaining: self.bucket.tokens(left),
            reset_after: self.design.time_for(level),
        }
    }

    fn used_up(&mut self, now: Instant) -> Vec<UsedUp> {
        let keys = self.keys();
        let used = |key| UsedUp {
            key,
            amount: self.level(key, now),
            lasting: Span::ZERO,
        };
        keys.into_iter().map(used).collect()
    }

    fn owe(&mut self, used: &[UsedUp], now: Instant) {
        self.arrears.clear();
        for &UsedUp { key, amount, .. } in used {
            let counted = self.level(key, now);
            let owed = Owed {
                grains: amount.saturating_sub(counted),
                from: now.saturating_add(self.design.time_for(counted)),
            };
            self.arrears.insert(key, owed);
        }
    }

    fn save(&mut self, key: Key, now: Instant) -> Option<Saved> {
        self.saved(key, now)
    }

    fn restore(&mut self, key: Key, bytes: &[u8], now: Instant) -> Result<(), Malformed> {
        self.restored(key, bytes, now)
    }

    fn handle_timeout(&mut self, now: Instant) {
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

    fn keys(&self) -> Vec<Key> {
        let keys: BTreeSet<Key> = self.arrears.keys().chain(self.design.keys()).collect();
        keys.into_iter().collect()
    }

    fn knows(&self, key: Key) -> bool {
        self.design.knows(key) || self.arrears.get(key).is_some()
    }

    fn held(&self) -> u64 {
        self.design.held() + self.adrift() as u64 * CREDIT_HELD
    }
}
