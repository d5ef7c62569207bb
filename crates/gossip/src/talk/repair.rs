//! What loss, crashes and newcomers need: checks, pulls, digests, exchanges, and getting one's memory back.
//!
//! Nothing here is trusted to arrive: every part is repeated or made up for by another. Not here: publishing.

use std::collections::BTreeMap;

use tollgate_limit::{Instant, Span};
use tollgate_mode::{Key, NodeId, Writer};

use crate::setup::Setup;

use super::frame::{Copied, Entry, Frame, list_bytes, parts};
use super::post::{Beat, Post};
use super::rule::{Rule, Taken};
use super::{Record, Talk};

/// News is waited for that long before anybody is asked for it.
const PATIENCE: Span = Span::from_nanos(100_000_000);
/// A newcomer counts this node as a member by then.
const GREETING: Span = Span::from_nanos(1_000_000_000);
/// Keys with a check that is waited for; further ones are left to digests.
const CHECKS_MAX: usize = 1 << 16;
/// Times a node asks for the same news.
const PULLS_MAX: u32 = 3;
/// Times a restarted node asks for its memory.
const ASKS_MAX: u32 = 5;

/// What is under way.
#[derive(Debug)]
pub(crate) struct Repair {
    /// Time between digests; `None`: no digests and no pulls.
    digests: Option<Beat>,
    /// The member that came last, which gets the next digest.
    newcomer: Option<NodeId>,
    /// How long a digest mentions a change.
    recent: Span,
    patience: Span,
    /// Checks that this node falls short of.
    checks: BTreeMap<Key, Short>,
    /// When what is published of a key changed last.
    changed: BTreeMap<Key, Instant>,
    /// Whom this node waits for, and how often it has asked.
    from_buddy: Option<u32>,
    from_peers: Vec<u32>,
}

/// A number that a publication brought, and who sent it.
#[derive(Clone, Copy, Debug)]
struct Check {
    from: NodeId,
    number: u32,
    at: Instant,
}

/// The oldest check that this node falls short of, and the newest.
#[derive(Clone, Copy, Debug)]
struct Short {
    oldest: Check,
    newest: Check,
    /// How often somebody was asked.
    asked: u32,
}

impl Repair {
    pub(crate) fn new(setup: &Setup, post: &mut Post) -> Self {
        let every = setup.knobs.digest;
        let first = setup.start.saturating_add(post.part_of(every));
        let twice = |span: Span| Span::from_nanos(span.as_nanos().saturating_mul(2));
        let is_restart = setup.was.is_some();
        let mut repair = Self {
            digests: (every > Span::ZERO).then(|| Beat::new(every, first)),
            newcomer: None,
            recent: twice(every),
            patience: PATIENCE.max(twice(setup.knobs.delay)),
            checks: BTreeMap::new(),
            changed: BTreeMap::new(),
            from_buddy: (is_restart && setup.knobs.buddy).then_some(0),
            from_peers: if is_restart { vec![0, 0] } else { Vec::new() },
        };
        repair.ask(post);
        repair
    }

    /// Hears how long a message takes, so that an answer is not asked for before it can be there.
    pub(crate) fn set_delay(&mut self, delay: Span) {
        let twice = Span::from_nanos(delay.as_nanos().saturating_mul(2));
        self.patience = PATIENCE.max(twice);
    }

    pub(crate) fn note_change(&mut self, key: Key, now: Instant) {
        if self.digests.is_some() {
            self.changed.insert(key, now);
        }
    }

    /// Nothing is known of a key any more.
    pub(crate) fn remove(&mut self, key: Key) {
        self.changed.remove(&key);
        self.checks.remove(&key);
    }

    pub(crate) fn next_digest(&self) -> Option<Instant> {
        let digests = self.digests.as_ref()?;
        (!self.changed.is_empty()).then(|| digests.next())
    }

    pub(crate) fn waits_for_tick(&self) -> bool {
        !self.checks.is_empty() || self.from_buddy.is_some() || !self.from_peers.is_empty()
    }

    /// Sends the next digest early, and to this member.
    ///
    /// A welcome is lost where the other end does not count this node as a member yet, and whoever admits nothing
    /// publishes nothing that would make up for it.
    pub(crate) fn greet(&mut self, newcomer: NodeId, now: Instant) {
        if let Some(digests) = &mut self.digests {
            self.newcomer = Some(newcomer);
            digests.bring_forward(now.saturating_add(GREETING));
        }
    }

    pub(crate) fn wind(&mut self, now: Instant) {
        if let Some(digests) = self.digests.as_mut().filter(|_| self.changed.is_empty()) {
            digests.pass(now);
        }
    }

    /// Whether anybody's memory is waited for.
    pub(crate) fn is_joining(&self) -> bool {
        self.from_buddy.is_some() || !self.from_peers.is_empty()
    }

    /// Begins to ask for what a newcomer should know, and for copies if there may be some.
    pub(crate) fn join(&mut self, post: &mut Post, has_copies: bool) {
        self.from_buddy = has_copies.then_some(0);
        self.from_peers = vec![0, 0];
        self.ask(post);
    }

    /// Asks for this node's memory, again if there was no answer. The node before is told first: it must send its
    /// copies again.
    fn ask(&mut self, post: &mut Post) {
        self.from_buddy = self.from_buddy.filter(|&asked| asked < ASKS_MAX);
        self.from_peers.retain(|&asked| asked < ASKS_MAX);
        if let Some(asked) = &mut self.from_buddy {
            // Also when there is nobody to ask: a lone node must not wait for ever.
            *asked += 1;
            if let Some(buddy) = post.buddy() {
                post.send(buddy, &Frame::Recall);
            }
        }
        for (at, asked) in self.from_peers.iter_mut().enumerate() {
            let is_first = at == 0 && *asked == 0;
            let peer = if is_first {
                post.ward()
            } else {
                post.any_other()
            };
            *asked += 1;
            if let Some(peer) = peer {
                post.send(peer, &Frame::Join);
            }
        }
    }
}

impl<R: Rule> Talk<R> {
    /// Remembers a check that this node falls short of, to ask for what it lacks if that does not come by itself.
    pub(super) fn note_check(&mut self, key: Key, from: NodeId, check: u32, now: Instant) {
        if self.repair.digests.is_none() || self.repair.checks.len() >= CHECKS_MAX {
            return;
        }
        if self.rule.is_behind(self.cell(key), check, now) {
            let newest = Check {
                from,
                number: check,
                at: now,
            };
            let first = Short {
                oldest: newest,
                newest,
                asked: 0,
            };
            let short = self.repair.checks.entry(key).or_insert(first);
            short.newest = newest;
        }
    }

    /// Asks for what did not come.
    pub(super) fn repair_at_tick(&mut self, now: Instant) {
        self.repair.ask(&mut self.post);
        let mut pulls: BTreeMap<NodeId, Vec<Key>> = BTreeMap::new();
        for (key, short) in std::mem::take(&mut self.repair.checks) {
            let Short {
                oldest,
                newest,
                asked,
            } = short;
            let is_short = |check: Check| self.rule.is_behind(self.cell(key), check.number, now);
            let left = if oldest.at.saturating_add(self.repair.patience) > now {
                Some(short)
            } else if is_short(oldest) {
                pulls.entry(newest.from).or_default().push(key);
                let asked = asked + 1;
                let oldest = Check { at: now, ..oldest };
                (asked < PULLS_MAX).then_some(Short {
                    oldest,
                    newest,
                    asked,
                })
            } else {
                let oldest = newest;
                is_short(newest).then_some(Short {
                    oldest,
                    newest,
                    asked: 0,
                })
            };
            if let Some(left) = left {
                self.repair.checks.insert(key, left);
            }
        }
        for (from, keys) in pulls {
            for part in parts(keys, |_| 16) {
                self.post.send(from, &Frame::Pull(part));
            }
        }
    }

    pub(super) fn answer_pull(&mut self, from: NodeId, keys: &[Key]) {
        let known = keys
            .iter()
            .filter_map(|&key| Some((key, self.published(key)?)));
        let known: Vec<_> = known.collect();
        if !known.is_empty() {
            self.send_known(from, known, Frame::Full);
        }
    }

    /// Tells one other node, a newcomer first, as hashes, what is known of the keys that changed lately and still
    /// count.
    pub(super) fn digest_at_beat(&mut self, now: Instant) {
        let Some(digests) = &mut self.repair.digests else {
            return;
        };
        if self.repair.changed.is_empty() || !digests.pass(now) {
            return;
        }
        let recent = self.repair.recent;
        self.repair
            .changed
            .retain(|_, at| at.saturating_add(recent) > now);
        let mut hashes = Vec::new();
        for &key in self.repair.changed.keys() {
            if let Some(record) = self.keys.get(&key)
                && self.rule.is_hot(&record.cell, now)
            {
                hashes.push((key, record.known.hash(self.post.writer)));
            }
        }
        let newcomer = self.repair.newcomer.take();
        let peer = newcomer.or_else(|| self.post.any_other());
        let Some(peer) = peer.filter(|_| !hashes.is_empty()) else {
            return;
        };
        for part in parts(hashes, |_| 20) {
            self.post.send(peer, &Frame::Digest(part));
        }
    }

    pub(super) fn answer_digest(&mut self, from: NodeId, hashes: &[(Key, u32)]) {
        let mut known = Vec::new();
        for &(key, hash) in hashes {
            let mine = self.keys.get(&key);
            if mine.map_or(0, |mine| mine.known.hash(self.post.writer)) != hash {
                known.push((key, self.published(key).unwrap_or_default()));
            }
        }
        if !known.is_empty() {
            self.send_known(from, known, Frame::Full);
        }
    }

    /// Takes what a peer knows and answers with what it lacks.
    pub(super) fn exchange(&mut self, from: NodeId, known: Vec<(Key, Vec<Entry>)>, now: Instant) {
        let mut lacking = Vec::new();
        for (key, theirs) in known {
            let mut mine = self.published(key).unwrap_or_default();
            mine.retain(|entry| {
                let has =
                    |other: &Entry| other.writer == entry.writer && other.version >= entry.version;
                !theirs.iter().any(has)
            });
            let is_hot = |cell| self.rule.is_hot(cell, now);
            if !mine.is_empty() && self.cell(key).is_some_and(is_hot) {
                lacking.push((key, mine));
            }
            self.hear(key, theirs, now);
        }
        if !lacking.is_empty() {
            self.send_known(from, lacking, Frame::Fill);
        }
    }

    pub(super) fn take_fill(&mut self, _: NodeId, known: Vec<(Key, Vec<Entry>)>, now: Instant) {
        self.repair.from_peers.pop();
        for (key, entries) in known {
            self.hear(key, entries, now);
        }
    }

    /// Sends a newcomer everything that is published and still counts.
    pub(super) fn answer_join(&mut self, from: NodeId, now: Instant) {
        if self.post.buddy() == Some(from) {
            self.keep_all_again(now);
        }
        let known = self.hot(now);
        self.send_known(from, known, Frame::Fill);
    }

    /// A node has come: both its neighbours tell it what they know.
    pub(super) fn welcome(&mut self, node: NodeId, now: Instant) {
        let is_next = self.post.buddy() == Some(node) || self.post.ward() == Some(node);
        let known = self.hot(now);
        if is_next && !known.is_empty() {
            self.send_known(node, known, Frame::Fill);
        }
    }

    pub(super) fn answer_recall(&mut self, from: NodeId, writer: Writer) {
        let copies = self.kept.of(from, writer);
        for part in parts(copies, |copy| 33 + list_bytes(&copy.entry.list)) {
            self.post.send(from, &Frame::Kept(part));
        }
    }

    /// Takes back what former boots of this node had not published: it is unpublished again.
    pub(super) fn take_back(&mut self, from: NodeId, copies: Vec<Copied>, now: Instant) {
        if self.post.buddy() != Some(from) {
            return;
        }
        self.repair.from_buddy = None;
        for Copied { key, secret, entry } in copies {
            let is_mine = entry.writer == self.post.writer;
            let is_new = !is_mine && !entry.list.is_empty();
            let is_hot = self.change(key, now, |rule, record| {
                let Record { cell, known, .. } = record;
                let more = is_new.then(|| known.restore(entry, secret)).flatten();
                if let Some(cost) = more {
                    rule.restore(cell, known, Taken { cost, now });
                }
                rule.is_hot(cell, now)
            });
            self.speak_if_due(key, is_hot == Some(true), now);
        }
    }

    /// What is published about a key, this node's part included.
    fn published(&self, key: Key) -> Option<Vec<Entry>> {
        let record = self.keys.get(&key)?;
        let mut entries = record.known.entries().to_vec();
        if let Some(version) = record.known.said {
            let writer = self.post.writer;
            let at = entries.partition_point(|entry| entry.writer < writer);
            let list = self.rule.told(&record.cell);
            let mine = Entry {
                writer,
                version,
                list,
            };
            entries.insert(at, mine);
        }
        Some(entries)
    }

    fn hot(&self, now: Instant) -> Vec<(Key, Vec<Entry>)> {
        let records = self.keys.iter();
        let hot = records.filter(|(_, record)| self.rule.is_hot(&record.cell, now));
        hot.filter_map(|(&key, _)| Some((key, self.published(key)?)))
            .collect()
    }

    pub(super) fn send_known(
        &mut self,
        to: NodeId,
        known: Vec<(Key, Vec<Entry>)>,
        frame: fn(Vec<(Key, Vec<Entry>)>) -> Frame,
    ) {
        let entry_bytes = |entry: &Entry| 7 + list_bytes(&entry.list);
        let bytes =
            |(_, entries): &(Key, Vec<Entry>)| 19 + entries.iter().map(entry_bytes).sum::<usize>();
        for part in parts(known, bytes) {
            self.post.send(to, &frame(part));
        }
    }
}
