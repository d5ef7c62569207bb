//! One node's part in all keys of a policy.
//!
//! Not here: what a policy says, and how it is shown.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};

use tollgate_gossip::{Footprint, Key, Malformed, NodeId, Probe, Send, Standing, Verdict, Writer};
use tollgate_limit::{Instant, Span};
use tollgate_mode::Keyed;

use super::config::SyncConfig;
use super::entry::{Entry, moved, owed};
use super::status::SyncCounts;
use super::wire::{self, Answer, Frame, Report};
use crate::amount::{after, mites, tokens, wait_ns};

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
    /// Keys of which the centre has not confirmed everything.
    pub(super) untold: BTreeSet<Key>,
    sends: VecDeque<Send>,
    /// When the centres were told last.
    spoke: Option<Instant>,
    /// The key that was told last.
    told: Key,
    /// The last session.
    sessions: u64,
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
            untold: BTreeSet::new(),
            sends: VecDeque::new(),
            spoke: None,
            told: Key(0),
            sessions: 0,
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
        let before = self.setup.config.limits;
        self.entries.each_mut(|_, entry| {
            entry.bucket.fill(&before, now);
            entry.bucket.level = entry.bucket.level.min(config.limits.depth());
        });
        self.setup.config = config;
    }

    /// Goes to another time, as the clock was set: every key has then what it has at `from`.
    pub fn move_time(&mut self, from: Instant, to: Instant) {
        let limits = self.setup.config.limits;
        self.entries
            .each_mut(|_, entry| entry.move_time(&limits, from, to));
        self.spoke = self.spoke.map(|spoke| moved(spoke, from, to));
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
        self.setup.config.over_max(nodes, time)
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
        let centre = self.setup.centre(key);
        let is_centre = centre == self.setup.me;
        if let Some(entry) = self.entries.get_mut(key) {
            entry.bucket.fill(&self.setup.config.limits, now);
            entry.set_centre(centre, is_centre, now);
        }
        if is_centre {
            self.untold.remove(&key);
        } else {
            self.untold.insert(key);
        }
    }

    /// What a request of that cost would be told. A cost of zero is a peek: as cost one.
    pub fn probe(&mut self, key: Key, cost: u64, now: Instant) -> Probe {
        let limits = self.setup.config.limits;
        let (level, part) = self.level(key, now);
        let asked = cost.max(1);
        let short = mites(asked).saturating_sub(level);
        let wait = wait_ns(&limits, short, 0, part).map(u128::from);
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
        self.edit(key, now, |entry, _, is_centre| entry.spend(cost, is_centre));
    }

    /// Charges without asking, but no more than takes the key `debt_max` tokens below zero.
    pub fn charge(&mut self, key: Key, cost: u64, debt_max: Option<u64>, now: Instant) {
        let level = self.level(key, now).0;
        let most = debt_max.map(|debt| tokens(level.saturating_add(mites(debt))));
        self.take(key, most.map_or(cost, |most| cost.min(most)), now);
    }

    /// Gives tokens back.
    pub fn refund(&mut self, key: Key, cost: u64, now: Instant) {
        self.edit(key, now, |entry, depth, is_centre| {
            entry.give_back(cost, depth, is_centre);
        });
    }

    /// Gives back what is missing, as far as this node knows.
    pub fn reset(&mut self, key: Key, now: Instant) {
        if self.entries.contains_key(key) {
            let level = self.level(key, now).0;
            let missing = self.setup.config.limits.depth().saturating_sub(level);
            self.refund(key, owed(missing), now);
        }
    }

    /// How a key stands.
    pub fn standing(&mut self, key: Key, now: Instant) -> Standing {
        let limits = self.setup.config.limits;
        let (level, part) = self.level(key, now);
        let full = wait_ns(&limits, limits.depth().saturating_sub(level), 0, part);
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
        if self.poll_timeout().is_some_and(|due| due <= now) {
            self.speak(now);
        }
    }

    /// Tells the centres what only this node knows, as it is about to go.
    pub fn handle_leave(&mut self, now: Instant) {
        self.speak(now);
    }

    /// When to call [`Self::handle_timeout`] next: at once for what comes after a silence, and then every interval.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let interval = self.setup.config.interval_ns;
        let next = self.spoke.map(|spoke| after(spoke, interval));
        (!self.untold.is_empty()).then(|| next.unwrap_or_default())
    }

    /// The next frame to send.
    pub fn poll_send(&mut self) -> Option<Send> {
        self.sends.pop_front()
    }

    /// Whether centres know everything.
    pub fn is_quiet(&self) -> bool {
        self.untold.is_empty() && self.sends.is_empty()
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
        self.entries.held() + self.untold.len() as u64 * UNTOLD_BYTES
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
                self.entries.remove(key);
                return true;
            }
        }
        false
    }

    fn is_fresh(&mut self, key: Key, now: Instant) -> bool {
        let is_full = self.level(key, now).0 >= self.setup.config.limits.depth();
        let entry = self.entries.get(key);
        // A frame that is later than that would count again.
        let is_late = |entry: &Entry| now.nanos_since(entry.touched) >= FRAMES_LATE_NS;
        let is_over = |entry: &Entry| entry.centre != self.setup.me || is_late(entry);
        is_full && !self.untold.contains(&key) && entry.is_some_and(is_over)
    }

    /// The level of a key as far as this node knows, and what it has beyond whole mites.
    pub(super) fn level(&mut self, key: Key, now: Instant) -> (i128, u64) {
        let limits = &self.setup.config.limits;
        match self.entries.get_mut(key) {
            None => (limits.depth(), 0),
            Some(entry) => {
                entry.bucket.fill(limits, now);
                (entry.bucket.level, entry.bucket.part)
            }
        }
    }

    /// The entry of a key, which is made if need be.
    fn entry(&mut self, key: Key, now: Instant) -> &mut Entry {
        let (setup, sessions) = (&self.setup, &mut self.sessions);
        self.entries.get_or_insert_with(key, || {
            *sessions = now.as_nanos().max(sessions.saturating_add(1));
            Entry::new(&setup.config.limits, setup.centre(key), *sessions, now)
        })
    }

    fn edit(&mut self, key: Key, now: Instant, change: impl FnOnce(&mut Entry, i128, bool)) {
        let (limits, me) = (self.setup.config.limits, self.setup.me);
        let entry = self.entry(key, now);
        entry.bucket.fill(&limits, now);
        let is_centre = entry.centre == me;
        change(entry, limits.depth(), is_centre);
        if !is_centre {
            self.untold.insert(key);
            // A clock that was set back must not silence this node.
            self.spoke = self.spoke.map(|spoke| spoke.min(now));
        }
    }

    /// At the centre: what a node says of a key.
    fn hear(&mut self, writer: Writer, report: &Report, now: Instant) -> Option<Answer> {
        let config = self.setup.config;
        let has_room = self.entries.len() < KEYS_MAX || self.knows(report.key);
        let answer = if has_room && self.setup.centre(report.key) == self.setup.me {
            let entry = self.entry(report.key, now);
            entry.handle_report(&config, writer, report, now)
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
    fn answered(&mut self, from: NodeId, level: &Answer, now: Instant) {
        let limits = self.setup.config.limits;
        let asked = self.untold.contains(&level.key);
        let entry = self.entries.get_mut(level.key);
        let entry = entry.filter(|entry| asked && entry.centre == from);
        let Some(is_all) = entry.and_then(|entry| entry.handle_level(&limits, level, now)) else {
            return;
        };
        self.counts.answered += 1;
        if is_all {
            self.untold.remove(&level.key);
        }
    }

    /// Tells centres what they have not confirmed, as much as goes at once; the rest an interval later.
    fn speak(&mut self, now: Instant) {
        let behind = self.untold.range((Excluded(self.told), Unbounded));
        let around = behind.chain(self.untold.range(..=self.told));
        let mut by_centre: BTreeMap<NodeId, Vec<Report>> = BTreeMap::new();
        let mut last = None;
        for key in around.take(TOLD_AT_ONCE) {
            let Some(entry) = self.entries.get_mut(*key) else {
                continue;
            };
            entry.bucket.fill(&self.setup.config.limits, now);
            let reports = by_centre.entry(entry.centre).or_default();
            reports.push(entry.report(*key));
            self.counts.told += 1;
            last = Some(*key);
        }
        self.told = last.unwrap_or(self.told);
        self.spoke = Some(now);
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

/// Keys that are told at once.
const TOLD_AT_ONCE: usize = 1 << 14;
/// Keys that others can make a node remember.
const KEYS_MAX: usize = 1 << 20;
/// Frames that may wait; the oldest are dropped, as on any network.
const SENDS_MAX: usize = 1 << 12;
/// Keys that are looked at for one that can be dropped.
const EVICT_LOOKS: usize = 64;
/// No frame is later than that.
const FRAMES_LATE_NS: u64 = 60_000_000_000;
/// About what a place in a tree takes.
const UNTOLD_BYTES: u64 = 24;
