//! One node's part in all keys of a policy.
//!
//! Not here: what a policy says, and how it is shown.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tollgate_gossip::{Footprint, Key, Malformed, NodeId, Probe, Send, Standing, Verdict, Writer};
use tollgate_limit::{Instant, Span};
use tollgate_mode::Keyed;

use super::config::SyncConfig;
use super::entry::{DUE, Entry, WAITS, moved, owed};
use super::lists::{Lists, Turn};
use super::status::SyncCounts;
use super::wire::{self, Answer, Frame, Report};
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
    pub(super) entries: Keyed<Entry>,
    /// Keys whose centre this is.
    pub(super) centred: u64,
    /// Those of them that owed something when they were looked at last.
    pub(super) debtors: BTreeSet<Key>,
    /// Keys of which the centre has not confirmed everything.
    pub(super) lists: Lists,
    sends: VecDeque<Send>,
    /// The last session.
    sessions: u64,
    /// The latest time it heard of.
    now: Instant,
    pub(super) counts: SyncCounts,
    /// Mites that were spent beyond the buckets of keys whose centre this is.
    over: i128,
}

impl SyncingSetup {
    /// The node that is the centre of a key.
    pub(super) fn centre(&self, key: Key) -> NodeId {
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
    const fn waits_max(&self) -> u64 {
        self.setup.config.limits.burst() / WAITS_PART
    }

    /// Hears the time. A clock that was set back fills nothing until that is said.
    fn wind(&mut self, now: Instant) -> Instant {
        self.now = self.now.max(now);
        self.now
    }

    /// Hears who lives, this node included, in ascending order.
    pub fn handle_members(&mut self, alive: &[NodeId], now: Instant) {
        self.setup.members = alive.to_vec();
        let setup = &self.setup;
        let all = self.entries.iter();
        let moved = all.filter(|(key, entry)| setup.centre(*key) != entry.centre);
        let moved: Vec<Key> = moved.map(|(key, _)| key).collect();
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
    fn settle(&mut self, key: Key, now: Instant) {
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
    pub fn probe(&mut self, key: Key, cost: u64, now: Instant) -> Probe {
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
            None => Verdict::Never,
            Some(_) if asked > limits.burst() => Verdict::Never,
            Some(wait) if wait > wait_max => Verdict::Deny {
                retry_after: Span::from_nanos(wait - wait_max),
            },
            Some(wait) => Verdict::Allow {
                remaining: tokens(level.saturating_sub(mites(cost))),
                wait: Span::from_nanos(wait),
            },
        };
        Probe {
            verdict,
            remaining: tokens(level),
            over: tokens(level.saturating_neg()),
        }
    }

    /// Takes what a probe at the same time admitted.
    pub fn take(&mut self, key: Key, cost: u64, now: Instant) {
        self.edit(key, now, |entry, limits, is_centre, now| {
            entry.spend(limits, cost, is_centre, now);
        });
    }

    /// Charges without asking, but no more than takes the key `debt_max` tokens below zero.
    pub fn charge(&mut self, key: Key, cost: u64, debt_max: Option<u64>, now: Instant) {
        let level = self.level(key, now);
        let most = debt_max.map(|debt| tokens(level.saturating_add(mites(debt))));
        self.take(key, most.map_or(cost, |most| cost.min(most)), now);
    }

    /// Gives tokens back.
    pub fn refund(&mut self, key: Key, cost: u64, now: Instant) {
        self.edit(key, now, |entry, limits, is_centre, now| {
            entry.give_back(limits, cost, is_centre, now);
        });
    }

    /// Gives back what is missing, as far as this node knows.
    pub fn reset(&mut self, key: Key, now: Instant) {
        if self.entries.contains_key(key) {
            let level = self.level(key, now);
            let missing = self.setup.config.limits.depth().saturating_sub(level);
            self.refund(key, owed(missing), now);
        }
    }

    /// How a key stands.
    pub fn standing(&mut self, key: Key, now: Instant) -> Standing {
        let limits = self.setup.config.limits;
        let level = self.level(key, now);
        let full = wait_ns(&limits, limits.depth().saturating_sub(level), 0, 0);
        Standing {
            remaining: tokens(level),
            reset_after: Span::from_nanos(u128::from(full.unwrap_or(u64::MAX))),
        }
    }

    /// A frame came. A malformed one changes nothing.
    pub fn handle_frame(
        &mut self,
        from: NodeId,
        frame: &[u8],
        now: Instant,
    ) -> Result<(), Malformed> {
        let frame = wire::read(frame)?;
        let is_known = self.setup.members.contains(&from) && from != self.setup.me;
        match frame {
            Frame::Reports(writer, reports) => {
                self.counts.heard += reports.len() as u64;
                if !is_known {
                    self.counts.ignored += reports.len() as u64;
                    return Ok(());
                }
                let reports = reports.iter();
                let answers: Vec<Answer> = reports
                    .filter_map(|report| self.hear(writer, report, now))
                    .collect();
                self.post(from, wire::levels(&answers));
            }
            Frame::Levels(levels) if is_known => {
                for level in levels {
                    self.answered(from, &level, now);
                }
            }
            Frame::Levels(_) => {}
        }
        Ok(())
    }

    /// Tells the centres what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        let interval = self.setup.config.interval_ns;
        if self.lists.next(interval).is_some_and(|due| due <= now) {
            let turns = self.lists.some_due(interval, now);
            self.speak(&turns, now);
        }
    }

    /// Tells the centres what only this node knows, as it is about to go.
    pub fn handle_leave(&mut self, now: Instant) {
        let turns = self.lists.all();
        self.speak(&turns, now);
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
        let one = size_of::<Entry>() + size_of::<Key>();
        Footprint {
            local: (self.entries.len() * one) as u64,
            extra: self.entries.heap_bytes(),
        }
    }

    /// Bytes of memory that it takes.
    pub fn held(&self) -> u64 {
        self.entries.held() + self.lists.held()
    }

    /// Keys that are known, in ascending order.
    pub fn keys(&self) -> Vec<Key> {
        self.entries.keys()
    }

    /// How many keys are known.
    pub fn keys_count(&self) -> usize {
        self.entries.len()
    }

    /// Whether a key is known.
    pub fn knows(&self, key: Key) -> bool {
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

    fn is_fresh(&mut self, key: Key, now: Instant) -> bool {
        let is_full = self.level(key, now) >= self.setup.config.limits.depth();
        let entry = self.entries.get(key);
        // A frame that is later than that would count again.
        let is_late = |entry: &Entry| now.nanos_since(entry.touched()) >= FRAMES_LATE_NS;
        let is_over = |entry: &Entry| entry.centre != self.setup.me || is_late(entry);
        let is_told = |entry: &Entry| entry.marks & (DUE | WAITS) == 0;
        is_full && entry.is_some_and(|entry| is_told(entry) && is_over(entry))
    }

    /// The level of a key as far as this node knows.
    pub(super) fn level(&mut self, key: Key, now: Instant) -> i128 {
        let now = self.wind(now);
        let limits = &self.setup.config.limits;
        let entry = self.entries.get(key);
        entry.map_or_else(|| limits.depth(), |entry| entry.level(limits, now))
    }

    /// The entry of a key, which is made if need be.
    fn entry(&mut self, key: Key, now: Instant) -> &mut Entry {
        let (setup, sessions, centred) = (&self.setup, &mut self.sessions, &mut self.centred);
        self.entries.get_or_insert_with(key, || {
            *sessions = now.as_nanos().max(sessions.saturating_add(1));
            let centre = setup.centre(key);
            *centred += u64::from(centre == setup.me);
            Entry::new(centre, *sessions, now)
        })
    }

    fn edit(
        &mut self,
        key: Key,
        at: Instant,
        change: impl FnOnce(&mut Entry, &Limits, bool, Instant),
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
    fn note_debt(&mut self, key: Key, now: Instant) {
        let (limits, me) = (&self.setup.config.limits, self.setup.me);
        let entry = self.entries.get(key).filter(|entry| entry.centre == me);
        if entry.is_some_and(|entry| entry.level(limits, now) < 0) {
            self.debtors.insert(key);
        }
    }

    /// At the centre: what a node says of a key.
    fn hear(&mut self, writer: Writer, report: &Report, now: Instant) -> Option<Answer> {
        let config = self.setup.config;
        let has_room = self.entries.len() < KEYS_MAX || self.knows(report.key);
        let answer = if has_room && self.setup.centre(report.key) == self.setup.me {
            let now = self.wind(now);
            let entry = self.entry(report.key, now);
            let answer = entry.handle_report(&config, writer, report, now);
            self.note_debt(report.key, now);
            answer
        } else {
            None
        };
        let Some((level, over)) = answer else {
            self.counts.ignored += 1;
            return None;
        };
        self.over = self.over.saturating_add(over.more);
        self.counts.over = tokens(self.over);
        self.counts.debt_max = self.counts.debt_max.max(owed(over.debt));
        Some(level)
    }

    /// Elsewhere: what the centre says of a key. Only what was asked for is believed.
    fn answered(&mut self, from: NodeId, level: &Answer, at: Instant) {
        let (config, now) = (self.setup.config, self.wind(at));
        let waits_max = self.waits_max();
        let entry = self.entries.get_mut(level.key);
        let asked = |entry: &&mut Entry| entry.marks & (DUE | WAITS) > 0 && entry.centre == from;
        let Some(entry) = entry.filter(asked) else {
            return;
        };
        let Some(is_all) = entry.handle_level(&config.limits, level, now) else {
            return;
        };
        self.counts.answered += 1;
        if is_all {
            self.lists.confirmed(entry);
        } else if can_wait(entry, &config.limits, waits_max, now) {
            let until = config.interval_ns.saturating_mul(WAITS_INTERVALS);
            self.lists.wait(level.key, entry, after(at, until));
        }
    }

    /// Tells centres of some keys what they have not confirmed.
    fn speak(&mut self, turns: &[Turn], now: Instant) {
        let now = self.wind(now);
        let limits = &self.setup.config.limits;
        let mut by_centre: BTreeMap<NodeId, Vec<Report>> = BTreeMap::new();
        for turn in turns {
            let Some(entry) = self.entries.get_mut(turn.key) else {
                continue;
            };
            if !self.lists.told(*turn, entry) {
                continue;
            }
            let reports = by_centre.entry(entry.centre).or_default();
            reports.push(entry.report(limits, turn.key, now));
            self.counts.told += 1;
        }
        for (centre, reports) in by_centre {
            self.post(centre, wire::reports(self.setup.writer, &reports));
        }
    }

    fn post(&mut self, to: NodeId, frames: Vec<std::sync::Arc<[u8]>>) {
        for frame in frames {
            self.sends.push_back(Send { to, frame });
        }
        while self.sends.len() > SENDS_MAX {
            self.sends.pop_front();
        }
    }
}

/// Whether the centre need not hear at once of what this node did: it is little, and there is plenty left.
fn can_wait(entry: &Entry, limits: &Limits, waits_max: u64, now: Instant) -> bool {
    let untold = entry.untold();
    let is_little = untold.spent <= waits_max && untold.back == 0;
    is_little && entry.level(limits, now) >= limits.depth() / 2
}

/// So little of a burst may wait to be told,
const WAITS_PART: u64 = 64;
/// for so many intervals.
const WAITS_INTERVALS: u64 = 64;
/// Keys that others can make a node remember.
const KEYS_MAX: usize = 1 << 20;
/// Frames that may wait; the oldest are dropped, as on any network.
const SENDS_MAX: usize = 1 << 12;
/// Keys that are looked at for one that can be dropped.
const EVICT_LOOKS: usize = 64;
/// No frame is later than that.
const FRAMES_LATE_NS: u64 = 60_000_000_000;
