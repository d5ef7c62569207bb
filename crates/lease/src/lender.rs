//! The grantor's side of all keys of one policy: a pool for each key that is not as if it had never been seen.
//!
//! A key that is new begins as it would have when this grantor began: with nothing, as its predecessors may have lent
//! and spent all. The same holds for all keys after a pause in which another may have granted. Not here: who grants,
//! sockets, clocks.

mod begin;
mod quota;
mod stand;
mod window;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tollgate_gossip::{Footprint, ModeKey, ModeProbe, NodeId, Send, Standing};
use tollgate_limit::{Instant, Span};
use tollgate_mode::planted;
use tollgate_mode::{Keyed, Weigh};

use crate::amount::{Limits, after};
use crate::bundle::encode_nudge;
use crate::holder::client_node;
use crate::message::{Grant, Nudge, Question};
use crate::pool::{Pool, PoolFigures, PoolTerms, Rules};
use crate::quota::QuotaRules;
use crate::window::{LeaseWindow, WindowClock};
use begin::{Beginning, Past};
use quota::Planes;

pub use quota::{QuotaStand, QuotaTold};
pub use stand::LenderStand;

/// What a grantor is set up with.
#[derive(Clone, Debug)]
pub struct LenderSetup {
    /// The bucket of every key.
    pub limits: Limits,
    /// What every key is counted by, where that is no bucket; it has the same limits.
    pub window: Option<LeaseWindow>,
    /// How it lends.
    pub rules: Rules,
    /// Larger than that of any grantor before.
    pub generation: u64,
    /// Since when it grants.
    pub since: Instant,
    /// Whether others take over where it is silent.
    pub has_successors: bool,
    /// How data planes are assigned quotas, where they are.
    pub quota: Option<QuotaRules>,
}

/// A grantor's side of all keys of one policy.
#[derive(Debug)]
pub struct Lender {
    setup: LenderSetup,
    /// What all pools have in common.
    terms: Arc<PoolTerms>,
    pools: Keyed<Pool>,
    nudges: VecDeque<Nudge>,
    /// The same for nodes that lease keys.
    node_nudges: VecDeque<(NodeId, Nudge)>,
    /// The last time it was called.
    latest: Instant,
    /// Whether somebody calls it when it says so.
    is_called: bool,
    /// Keys that it grants in another's place, and when it last did.
    acted: BTreeMap<ModeKey, Instant>,
    counts: LenderCounts,
    planes: Planes,
    clock: WindowClock,
    /// No pool that was dropped had more sessions.
    opened: u64,
    past: Past,
}

/// What a grantor counted over all keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LenderCounts {
    /// Of pools that are no more.
    pub past: PoolFigures,
    /// Questions that were taken.
    pub questions: u64,
    /// Times that it began anew after a pause.
    pub pauses: u64,
}

impl Lender {
    /// A grantor that begins now.
    pub fn new(setup: LenderSetup) -> Self {
        Self {
            latest: setup.since,
            is_called: false,
            terms: setup.terms(),
            setup,
            pools: Keyed::default(),
            nudges: VecDeque::new(),
            node_nudges: VecDeque::new(),
            acted: BTreeMap::new(),
            counts: LenderCounts {
                past: PoolFigures::NOTHING,
                questions: 0,
                pauses: 0,
            },
            planes: Planes::new(),
            clock: WindowClock {
                ahead: 0,
                asked: None,
            },
            opened: 0,
            past: Past::new(),
        }
    }

    /// How it lends.
    pub const fn rules(&self) -> Rules {
        self.setup.rules
    }

    /// Tokens that may be admitted too much of a key when it begins to grant it.
    pub const fn over_max(&self) -> u64 {
        if self.setup.rules.begins_full {
            self.setup.limits.burst()
        } else {
            0
        }
    }

    /// Other numbers, from the next answer on.
    pub fn change(&mut self, limits: Limits, rules: Rules, now: Instant) {
        self.look(now);
        if rules != self.setup.rules {
            let lend = self.setup.rules.lend;
            self.setup.rules = Rules { lend, ..rules };
            self.terms = self.setup.terms();
            let terms = &self.terms;
            self.pools.each_mut(|_, pool| pool.follow(terms));
        }
        if limits == self.setup.limits {
            return;
        }
        self.setup.limits = limits;
        self.terms = self.setup.terms();
        let terms = &self.terms;
        self.pools
            .each_mut(|_, pool| pool.change_to(Arc::clone(terms), now));
        for key in self.pools.keys() {
            self.drain(key);
        }
    }

    /// Takes what a client says of a key, and answers if it asks; no more than so many of its line pass.
    pub fn handle_question(
        &mut self,
        key: ModeKey,
        question: &Question,
        served_max: u64,
        now: Instant,
    ) -> Option<Grant> {
        self.look(now);
        self.counts.questions += 1;
        let pool = self.lending(key, now);
        let grant = pool.handle_shared(question, served_max, now);
        self.drain(key);
        grant
    }

    /// How many requests in the line of a question could pass.
    pub fn servable(&mut self, key: ModeKey, question: &Question, now: Instant) -> u64 {
        self.look(now);
        self.lending(key, now).servable(question, now)
    }

    /// The next hint to send.
    pub fn poll_nudge(&mut self) -> Option<Nudge> {
        self.nudges.pop_front()
    }

    /// Grants a key in the place of another, who has gone: it begins as a successor, unless it is the one already.
    pub fn act(&mut self, key: ModeKey, now: Instant) {
        self.look(now);
        let before = self.acted.insert(key, now);
        if before.is_some_and(|before| now.nanos_since(before) < PAUSE_NS) {
            return;
        }
        self.begin_anew(now);
        self.planes.retain(|of| of != key);
        let setup = &self.setup;
        let over = after(
            now,
            planted!("lease-40", setup.out_ns(), setup.rules.term_ns),
        );
        let pool = self.beginning().successor(now).until(over);
        if let Some(before) = self.pools.insert(key, pool) {
            add(&mut self.counts.past, &before.figures());
        }
    }

    /// What it lent of a key before is as foreign to it from here on as what another did.
    fn begin_anew(&mut self, now: Instant) {
        self.setup.generation = self.setup.generation.saturating_add(1);
        self.latest = self.latest.max(now);
    }

    /// Forgets the keys that another grants from here on. Keys that are new may have been granted by another until now,
    /// unless nodes only came: then none is new.
    pub fn retain(&mut self, is_mine: impl FnMut(ModeKey) -> bool, grew: bool, now: Instant) {
        planted!("lease-41", self.look(now), ());
        if !grew {
            self.setup.since = planted!("lease-42", self.setup.since.max(now), self.setup.since);
            self.past.doubt();
        }
        self.begin_anew(now);
        self.acted.clear();
        self.give_up(is_mine, now);
    }

    /// The pool of a key, where there is one.
    pub fn inspect(&mut self, key: ModeKey, now: Instant) -> Option<&Pool> {
        self.known(key)?.advance(now);
        self.pools.get(key)
    }

    /// How all keys stand.
    pub fn stand(&self) -> LenderStand {
        let mut stand = LenderStand {
            figures: self.counts.past,
            questions: self.counts.questions,
            pauses: self.counts.pauses,
            ..LenderStand::default()
        };
        self.pools.values().for_each(|pool| stand.add(pool));
        stand
    }

    /// Counts what happened to a pool that somebody else keeps.
    pub const fn add_past(&mut self, figures: &PoolFigures, questions: u64) {
        add(&mut self.counts.past, figures);
        self.counts.questions += questions;
    }

    /// How one key stands.
    pub fn stand_of(&mut self, key: ModeKey, now: Instant) -> LenderStand {
        let mut stand = LenderStand::default();
        match self.inspect(key, now) {
            Some(pool) => stand.add(pool),
            None => stand.add(&self.beginning().fresh(now)),
        }
        stand
    }

    /// What a request of that cost would be told.
    pub fn probe(&mut self, key: ModeKey, cost: u64, now: Instant) -> ModeProbe {
        self.look(now);
        if let Some(pool) = self.known(key) {
            return pool.probe(cost, now);
        }
        self.beginning().fresh(now).probe(cost, now)
    }

    /// Takes what a request costs.
    pub fn take(&mut self, key: ModeKey, cost: u64, now: Instant) {
        self.pool(key, now).spend(cost, now);
    }

    /// Hears of a request that was refused.
    pub fn miss(&mut self, key: ModeKey, cost: u64, now: Instant) {
        self.pool(key, now).miss(cost, now);
    }

    /// Charges without asking.
    pub fn charge(&mut self, key: ModeKey, cost: u64, debt_max: Option<u64>, now: Instant) {
        self.look(now);
        self.pool(key, now).charge(cost, debt_max, now);
    }

    /// Gives tokens back.
    pub fn refund(&mut self, key: ModeKey, cost: u64, now: Instant) {
        self.look(now);
        if let Some(pool) = self.known(key) {
            pool.refund(cost, now);
        }
    }

    /// Forgets what was spent of a key.
    pub fn reset(&mut self, key: ModeKey, now: Instant) {
        if let Some(pool) = self.known(key) {
            pool.reset(now);
        }
    }

    /// How a key stands.
    pub fn standing(&mut self, key: ModeKey, now: Instant) -> Standing {
        if let Some(pool) = self.known(key) {
            return Standing {
                remaining: pool.probe(0, now).remaining,
                reset_after: pool.full_after(),
            };
        }
        let mut fresh = self.beginning().fresh(now);
        Standing {
            remaining: fresh.probe(0, now).remaining,
            reset_after: Span::ZERO,
        }
    }

    /// Drops what need not be kept, a part of the keys at a time.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.look(now);
        self.is_called = true;
        self.acted
            .retain(|_, acted| now.nanos_since(*acted) < PAUSE_NS);
        for _ in 0..SWEPT_AT_ONCE {
            if !self.sweep(now) {
                break;
            }
        }
        self.planes.sweep(SWEPT_AT_ONCE, now);
    }

    /// When to call [`Self::handle_timeout`] next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        // Where others take over, a pause is noticed by being called too late.
        let is_awake = self.setup.has_successors || !self.is_quiet();
        is_awake.then(|| after(self.latest, SWEEP_NS))
    }

    /// The next hint for a node that leases a key.
    pub fn poll_send(&mut self) -> Option<Send> {
        let (to, nudge) = self.node_nudges.pop_front()?;
        let frame = encode_nudge(nudge);
        Some(Send { to, frame })
    }

    /// Whether there is nothing to look after.
    pub fn is_quiet(&self) -> bool {
        self.pools.is_empty() && self.planes.is_empty()
    }

    /// About how many bytes it takes.
    pub fn footprint(&self) -> Footprint {
        Footprint {
            local: self.pools.heap_bytes(),
            extra: 0,
        }
    }

    /// Bytes of memory that it takes.
    pub fn held(&self) -> u64 {
        self.pools.held()
    }

    /// Keys that it keeps, in ascending order.
    pub fn keys(&self) -> Vec<ModeKey> {
        self.pools.keys()
    }

    /// How many keys it keeps.
    pub fn keys_count(&self) -> usize {
        self.pools.len()
    }

    /// Whether it keeps a key.
    pub fn knows(&self, key: ModeKey) -> bool {
        self.pools.contains_key(key)
    }

    /// Drops a key that need not be kept, if one is found soon: any other would come back full.
    pub fn evict(&mut self, now: Instant) -> bool {
        let before = self.pools.len();
        for _ in 0..LOOKS_MAX {
            if !self.sweep(now) || self.pools.len() < before {
                break;
            }
        }
        self.pools.len() < before
    }

    /// Looks at the next key, and drops it if it is as if it had never been seen; whether there was one.
    fn sweep(&mut self, now: Instant) -> bool {
        let Some(key) = self.pools.sweep() else {
            return false;
        };
        let Some(pool) = self.known(key) else {
            return false;
        };
        pool.advance(now);
        let tidied = pool.tidy();
        let (is_fresh, figures, opened) = (pool.is_fresh(), pool.figures(), pool.opened());
        if let Some(tidied) = tidied {
            add(&mut self.counts.past, &tidied);
        }
        // What is dropped begins as a key that was never seen.
        if is_fresh && self.beginning().fresh(now).is_fresh() {
            add(&mut self.counts.past, &figures);
            self.opened = self.opened.max(opened);
            self.pools.remove(key);
        }
        true
    }

    /// Notices a pause in which another may have granted.
    fn look(&mut self, now: Instant) {
        let gap = now.nanos_since(self.latest);
        self.latest = self.latest.max(now);
        let is_awake = self.is_called || !self.is_quiet();
        if gap < PAUSE_NS || !self.setup.has_successors || !is_awake {
            return;
        }
        self.counts.pauses += 1;
        self.setup.since = self.setup.since.max(now);
        self.past.doubt();
        self.begin_anew(now);
        self.planes.retain(|_| false);
        let (generation, learnt) = (self.setup.generation, self.setup.learnt());
        let clock = self.clock;
        self.pools.each_mut(|_, pool| {
            pool.tell_time(clock);
            pool.relearn(generation, now, learnt);
        });
    }

    fn pool(&mut self, key: ModeKey, now: Instant) -> &mut Pool {
        let clock = self.clock;
        let beginning = Beginning {
            setup: &self.setup,
            terms: &self.terms,
            clock,
            is_proven: self.past.is_proven,
        };
        let opened = self.opened;
        // A client may still name a session of the pool that was dropped.
        let fresh = || {
            beginning
                .fresh(now)
                .opening_after(planted!("lease-45", opened, 0))
        };
        let pool = self.pools.get_or_insert_with(key, fresh);
        pool.tell_time(clock);
        pool
    }

    fn drain(&mut self, key: ModeKey) {
        if let Some(pool) = self.pools.get_mut(key) {
            while let Some(nudge) = pool.poll_nudge(key) {
                match client_node(nudge.client) {
                    Some(to) if self.node_nudges.len() < NUDGES_MAX => {
                        self.node_nudges.push_back((to, nudge));
                    }
                    None if self.nudges.len() < NUDGES_MAX => self.nudges.push_back(nudge),
                    _ => {}
                }
            }
        }
    }
}

impl Weigh for Pool {
    fn heap_bytes(&self) -> u64 {
        Self::heap_bytes(self) as u64
    }
}

const fn add(sum: &mut PoolFigures, of: &PoolFigures) {
    sum.stale += of.stale;
    sum.repeated += of.repeated;
    sum.ended += of.ended;
    sum.served += of.served;
    sum.promised += of.promised;
    sum.nudges += of.nudges;
    sum.clamped += of.clamped;
}

/// How often keys are looked at that may be dropped, and how long a pause goes unnoticed at most.
const SWEEP_NS: u64 = 250_000_000;
/// For so long others may not have heard that a grantor is back, and grant in its place.
const HEARD_NS: u64 = 1_000_000_000;
/// A grantor that was away for so long may have been succeeded.
const PAUSE_NS: u64 = 1_000_000_000;
/// Keys looked at in one go.
const SWEPT_AT_ONCE: usize = 512;
/// Keys looked at to make room for one.
const LOOKS_MAX: usize = 16;
/// Hints that wait to be sent; more are dropped, as hints may be.
const NUDGES_MAX: usize = 4096;
