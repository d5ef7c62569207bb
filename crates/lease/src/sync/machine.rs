//! One node's part in all keys of a policy.
//!
//! Not here: what is said to other nodes (`talk`), what a policy says, and how it is shown.

use std::collections::{BTreeSet, VecDeque};

use tollgate_gossip::{Footprint, ModeKey, ModeProbe, ModeVerdict, NodeId, Send, Standing, Writer};
use tollgate_limit::{Instant, Span};
use tollgate_mode::Keyed;

use super::config::SyncConfig;
use super::entry::{DUE, SyncEntry, WAITS, moved, owed};
use super::lists::Lists;
use super::status::SyncCounts;
use crate::amount::{Limits, after, mites, tokens, wait_ns};

/// What all keys of a policy have in common at one node.
#[derive(Clone, Debug)]
pub struct SyncingSetup {
    /// The bucket of every key, and how often it is synchronised.
    pub config: SyncConfig,
    /// This node.
    pub me: NodeId,
    /// This boot; never used before in the cluster.
    pub writer: Writer,
    /// Who lives, this node included, in ascending order.
    pub members: Vec<NodeId>,
    /// How long a request may be made to wait.
    pub wait_max: Span,
    /// How long a message and its answer take, about.
    pub trip_ns: u64,
}

/// One node's part in all keys of a policy that is synchronised now and then.
#[derive(Debug)]
pub struct Syncing {
    pub(super) setup: SyncingSetup,
    pub(super) entries: Keyed<SyncEntry>,
    /// Keys whose centre this is.
    pub(super) centred: u64,
    /// Those of them that owed something when they were looked at last.
    pub(super) debtors: BTreeSet<ModeKey>,
    /// Keys of which the centre has not confirmed everything.
    pub(super) lists: Lists,
    pub(super) sends: VecDeque<Send>,
    /// The last session.
    sessions: u64,
    /// The latest time it heard of.
    now: Instant,
    pub(super) counts: SyncCounts,
    /// Mites that were spent beyond the buckets of keys whose centre this is.
    pub(super) over: i128,
}

impl SyncingSetup {
    /// The node that is the centre of a key.
    pub(super) fn centre(&self, key: ModeKey) -> NodeId {
        super::centre::centre(key, &self.members).unwrap_or(self.me)
    }
}

impl Syncing {
    /// A node that knows no key.
    pub fn new(setup: SyncingSetup) -> Self {
        Self {
            setup,
            entries: Keyed::default(),
            centred: 0,
            debtors: BTreeSet::new(),
            lists: Lists::default(),
            sends: VecDeque::new(),
            sessions: 0,
            now: Instant::default(),
            counts: SyncCounts::default(),
            over: 0,
        }
    }

    /// How it synchronises.
    pub const fn config(&self) -> SyncConfig {
        self.setup.config
    }

    /// How many nodes live.
    pub const fn nodes(&self) -> u64 {
        self.setup.members.len() as u64
    }

    /// Other numbers, from now on.
    pub fn change(&mut self, config: SyncConfig, now: Instant) {
        let (before, now) = (self.setup.config.limits, self.wind(now));
        self.entries.each_mut(|_, entry| {
            let level = entry.level(&before, now);
            entry.set_level(&config.limits, level, now);
        });
        self.setup.config = config;
    }

    /// Goes to another time, as the clock was set: every key has then what it has at `from`.
    pub fn move_time(&mut self, from: Instant, to: Instant) {
        let me = self.setup.me;
        self.entries
            .each_mut(|_, entry| entry.move_time(entry.centre == me, from, to));
        self.lists.move_time(|at| moved(at, from, to));
        self.now = to;
    }

    /// Sets how long a request may be made to wait.
    pub const fn set_wait_max(&mut self, wait_max: Span) {
        self.setup.wait_max = wait_max;
    }

    /// Hears how long a message and its answer take; only [`Self::over_max`] depends on it.
    pub const fn set_trip(&mut self, trip_ns: u64) {
        self.setup.trip_ns = trip_ns;
    }

    /// Tokens that all live nodes together may admit too much of a key at once: each but one has the burst, and what
    /// comes back until it hears of the others; where requests wait, what they are promised as well.
    pub fn over_max(&self) -> u64 {
        let wait = u64::try_from(self.setup.wait_max.as_nanos()).unwrap_or(u64::MAX);
        let time = self.setup.trip_ns.saturating_add(wait);
        let nodes = self.setup.members.len() as u64;
        if nodes < 2 {
            return 0;
        }
        let waits = self.waits_max().saturating_mul(nodes - 1);
        self.setup
            .config
            .over_max(nodes, time)
            .saturating_add(waits)
    }

    /// Tokens of a key that may wait to be told.
    pub(super) const fn waits_max(&self) -> u64 {
        self.setup.config.limits.burst() / WAITS_PART
    }

    /// Hears the time. A clock that was set back fills nothing until that is said.
    pub(super) fn wind(&mut self, now: Instant) -> Instant {
        self.now = self.now.max(now);
        self.now
    }

    /// Hears who lives, this node included, in ascending order.
    pub fn handle_members(&mut self, alive: &[NodeId], now: Instant) {
        self.setup.members = alive.to_vec();
        let setup = &self.setup;
        let all = self.entries.iter();
        let moved = all.filter(|(key, entry)| setup.centre(*key) != entry.centre);
        let moved: Vec<ModeKey> = moved.map(|(key, _)| key).collect();
        for key in moved {
            self.settle(key, now);
        }
    }

    /// Goes on under other numbers. What is not confirmed is told under these, and may then count twice, which is too
    /// little.
    pub fn renumber(&mut self, me: (NodeId, Writer), members: &[NodeId], now: Instant) {
        (self.setup.me, self.setup.writer) = me;
        self.setup.members = members.to_vec();
        for key in self.keys() {
            self.settle(key, now);
        }
    }

    /// Finds the centre of a key anew.
    fn settle(&mut self, key: ModeKey, now: Instant) {
        let now = self.wind(now);
        let (centre, me) = (self.setup.centre(key), self.setup.me);
        if let Some(entry) = self.entries.get_mut(key) {
            self.centred -= u64::from(entry.centre == me);
            self.centred += u64::from(centre == me);
            entry.set_centre(centre, centre == me, now);
            if centre == me {
                self.lists.confirmed(entry);
            } else {
                self.lists.tell_soon(key, entry);
            }
            self.note_debt(key, now);
        }
    }

    /// What a request of that cost would be told. A cost of zero is a peek: as cost one.
    pub fn probe(&mut self, key: ModeKey, cost: u64, now: Instant) -> ModeProbe {
        let limits = self.setup.config.limits;
        let level = self.level(key, now);
        let asked = cost.max(1);
        let short = mites(asked).saturating_sub(level);
        let wait = if short <= 0 {
            Some(0)
        } else {
            wait_ns(&limits, short, 0, 0).map(u128::from)
        };
        let wait_max = self.setup.wait_max.as_nanos();
        let verdict = match wait {
            None => ModeVerdict::Never,
            Some(_) if asked > limits.burst() => ModeVerdict::Never,
            Some(wait) if wait > wait_max => ModeVerdict::Deny {
                retry_after: Span::from_nanos(wait - wait_max),
            },
            Some(wait) => ModeVerdict::Allow {
                remaining: tokens(level.saturating_sub(mites(cost))),
                wait: Span::from_nanos(wait),
            },
        };
        ModeProbe {
            verdict,
            remaining: tokens(level),
            over: tokens(level.saturating_neg()),
        }
    }

    /// Takes what a probe at the same time admitted.
    pub fn take(&mut self, key: ModeKey, cost: u64, now: Instant) {
        self.edit(key, now, |entry, limits, is_centre, now| {
            entry.spend(limits, cost, is_centre, now);
        });
    }

    /// Charges without asking, but no more than takes the key `debt_max` tokens below zero.
    pub fn charge(&mut self, key: ModeKey, cost: u64, debt_max: Option<u64>, now: Instant) {
        let level = self.level(key, now);
        let most = debt_max.map(|debt| tokens(level.saturating_add(mites(debt))));
        self.take(key, most.map_or(cost, |most| cost.min(most)), now);
    }

    /// Gives tokens back.
    pub fn refund(&mut self, key: ModeKey, cost: u64, now: Instant) {
        self.edit(key, now, |entry, limits, is_centre, now| {
            entry.give_back(limits, cost, is_centre, now);
        });
    }

    /// Gives back what is missing, as far as this node knows.
    pub fn reset(&mut self, key: ModeKey, now: Instant) {
        if self.entries.contains_key(key) {
            let level = self.level(key, now);
            let missing = self.setup.config.limits.depth().saturating_sub(level);
            self.refund(key, owed(missing), now);
        }
    }

    /// How a key stands.
    pub fn standing(&mut self, key: ModeKey, now: Instant) -> Standing {
        let limits = self.setup.config.limits;
        let level = self.level(key, now);
        let full = wait_ns(&limits, limits.depth().saturating_sub(level), 0, 0);
        Standing {
            remaining: tokens(level),
            reset_after: Span::from_nanos(u128::from(full.unwrap_or(u64::MAX))),
        }
    }

    /// When to call [`Self::handle_timeout`] next: at once for what comes after a silence, and then every interval.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.lists.next(self.setup.config.interval_ns)
    }

    /// The next frame to send.
    pub fn poll_send(&mut self) -> Option<Send> {
        self.sends.pop_front()
    }

    /// Whether centres know everything.
    pub fn is_quiet(&self) -> bool {
        self.lists.untold() == 0 && self.sends.is_empty()
    }

    /// About how many bytes it takes.
    pub fn footprint(&self) -> Footprint {
        let one = size_of::<SyncEntry>() + size_of::<ModeKey>();
        Footprint {
            local: (self.entries.len() * one) as u64,
            extra: self.entries.heap_bytes(),
        }
    }

    /// Bytes of memory that it takes.
    pub fn held(&self) -> u64 {
        let debtors = self.debtors.len() as u64 * DEBTOR_BYTES;
        self.entries.held() + self.lists.held() + debtors
    }

    /// Keys that are known, in ascending order.
    pub fn keys(&self) -> Vec<ModeKey> {
        self.entries.keys()
    }

    /// How many keys are known.
    pub fn keys_count(&self) -> usize {
        self.entries.len()
    }

    /// Whether a key is known.
    pub fn knows(&self, key: ModeKey) -> bool {
        self.entries.contains_key(key)
    }

    /// Drops a key that stands as if it had never been seen; `false` where none of those that were looked at does.
    pub fn evict(&mut self, now: Instant) -> bool {
        for _ in 0..EVICT_LOOKS {
            let Some(key) = self.entries.sweep() else {
                break;
            };
            if self.is_fresh(key, now) {
                let gone = self.entries.remove(key);
                let is_centre = gone.is_some_and(|entry| entry.centre == self.setup.me);
                self.centred -= u64::from(is_centre);
                self.debtors.remove(&key);
                return true;
            }
        }
        false
    }

    fn is_fresh(&mut self, key: ModeKey, now: Instant) -> bool {
        let is_full = self.level(key, now) >= self.setup.config.limits.depth();
        let entry = self.entries.get(key);
        // A frame that is later than that would count again.
        let is_late = |entry: &SyncEntry| now.nanos_since(entry.touched()) >= FRAMES_LATE_NS;
        let is_over = |entry: &SyncEntry| entry.centre != self.setup.me || is_late(entry);
        let is_told = |entry: &SyncEntry| entry.marks & (DUE | WAITS) == 0;
        is_full && entry.is_some_and(|entry| is_told(entry) && is_over(entry))
    }

    /// The level of a key as far as this node knows.
    pub(super) fn level(&mut self, key: ModeKey, now: Instant) -> i128 {
        let now = self.wind(now);
        let limits = &self.setup.config.limits;
        let entry = self.entries.get(key);
        entry.map_or_else(|| limits.depth(), |entry| entry.level(limits, now))
    }

    /// The entry of a key, which is made if need be.
    pub(super) fn entry(&mut self, key: ModeKey, now: Instant) -> &mut SyncEntry {
        let (setup, sessions, centred) = (&self.setup, &mut self.sessions, &mut self.centred);
        self.entries.get_or_insert_with(key, || {
            *sessions = now.as_nanos().max(sessions.saturating_add(1));
            let centre = setup.centre(key);
            *centred += u64::from(centre == setup.me);
            SyncEntry::new(centre, *sessions, now)
        })
    }

    fn edit(
        &mut self,
        key: ModeKey,
        at: Instant,
        change: impl FnOnce(&mut SyncEntry, &Limits, bool, Instant),
    ) {
        let (config, me) = (self.setup.config, self.setup.me);
        let (now, waits_max) = (self.wind(at), self.waits_max());
        let entry = self.entry(key, now);
        let is_centre = entry.centre == me;
        change(entry, &config.limits, is_centre, now);
        if is_centre {
            self.note_debt(key, now);
            return;
        }
        let may_wait = can_wait(entry, &config.limits, waits_max, now);
        if entry.marks & DUE > 0 || (may_wait && entry.marks & WAITS > 0) {
            self.lists.was_set_back(at);
        } else if let Some(entry) = self.entries.get_mut(key) {
            self.lists.was_set_back(at);
            if may_wait {
                self.lists.wait(
                    key,
                    entry,
                    after(at, config.interval_ns.saturating_mul(WAITS_INTERVALS)),
                );
            } else {
                self.lists.tell_soon(key, entry);
            }
        }
    }

    /// At the centre: remembers a key that owes something.
    pub(super) fn note_debt(&mut self, key: ModeKey, now: Instant) {
        let (limits, me) = (&self.setup.config.limits, self.setup.me);
        let entry = self.entries.get(key).filter(|entry| entry.centre == me);
        if entry.is_some_and(|entry| entry.level(limits, now) < 0) {
            self.debtors.insert(key);
        }
    }
}

/// Whether the centre need not hear at once of what this node did: it is little, and there is plenty left.
pub(super) fn can_wait(entry: &SyncEntry, limits: &Limits, waits_max: u64, now: Instant) -> bool {
    let untold = entry.untold();
    let is_little = untold.spent <= waits_max && untold.back == 0;
    is_little && entry.level(limits, now) >= limits.depth() / 2
}

/// So little of a burst may wait to be told,
const WAITS_PART: u64 = 64;
/// for so many intervals.
pub(super) const WAITS_INTERVALS: u64 = 64;
/// Keys that are looked at for one that can be dropped.
const EVICT_LOOKS: usize = 64;
/// No frame is later than that.
const FRAMES_LATE_NS: u64 = 60_000_000_000;
/// About what a place in a tree takes.
const DEBTOR_BYTES: u64 = 24;
