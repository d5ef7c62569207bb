//! One node per key collects what the others admitted and announces the end of the backlog.
//!
//! A node does not need everybody's segments to decide. It needs one number, a lower bound of the end of the backlog,
//! that becomes exact when little room is left. The *home* of a key, the node with the greatest hash of key and node,
//! collects the segments and knows the exact end; it speaks when the room has halved or is nearly gone. A second node,
//! the *standby*, collects as well and speaks when the home does not. Near exhaustion everybody counts from a common
//! base and tells everybody, one hop.
//!
//! Ends only ever rise, so no message does damage by being old, lost or doubled, and nobody is ever rejected while the
//! bucket that saw everything had tokens left. Costs of more than one token are counted exactly, but the home is silent
//! over the last few tokens per node, so a large request may be admitted there on what a small one would not.
//!
//! Not here: who is alive, and several sites.

mod alarm;
mod change;
mod collect;
mod desk;
mod entry;
mod epoch;
mod keep;
mod own;
mod peers;
mod post;
mod room;
mod rules;
mod view;
mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tollgate_limit::{Instant, Span};
use tollgate_mode::{Footprint, Key, Malformed, NodeId, Send, Sort, Writer};

use crate::codec::{Encoder, Header};
use crate::home::alarm::Alarm;
use crate::home::collect::Sender;
use crate::home::entry::Entry;
use crate::home::keep::Copies;
use crate::home::peers::Peers;
pub use crate::home::peers::collectors;
use crate::home::post::Post;
use crate::home::rules::{Desktop, Rules};
use crate::home::wire::{
    ASK, Announce, Direct, Frame, HAND, JOIN, KEEP, Kept, REPORT, Report, Route,
};
use crate::machine::Exchange;
use crate::replica::Design;
use crate::setup::Setup;
use crate::spare::Hand;
use tollgate_kit::Dice;

/// Keys that are remembered because somebody else spoke of them.
const KEYS_MAX: usize = 1 << 20;
/// A frame of many keys is closed when it is about that long.
const FRAME_BYTES: usize = 16 * 1024;
/// News is passed on that often at most, whatever anybody believes of the tree.
const HOPS_MAX: u8 = 16;

/// A node's part.
pub(crate) fn build(setup: &Setup) -> Box<dyn Design> {
    Box::new(Home::new(setup))
}

/// A node's part in all keys of one policy.
#[derive(Debug)]
struct Home {
    cx: Desktop,
    entries: BTreeMap<Key, Entry>,
    /// Keys about which something may have to be said.
    speak: Alarm,
    /// Keys of which something may be forgotten.
    prune: Alarm,
    copies: Copies,
    /// Keys whose copy is out of date.
    changed: BTreeSet<Key>,
    /// When copies are sent next, if there are any to send; in step with `phase`.
    copy_at: Option<Instant>,
    phase: u64,
    /// The boot before, until the neighbours were asked for their copies, and when that is.
    ask: Option<(Writer, Instant)>,
    was: Option<Writer>,
    /// Until when a newcomer waits for what the others know, and when it asked.
    joining_until: Option<Instant>,
    joined_at: Instant,
    bytes: Footprint,
    /// Goes round the keys that may be forgotten for want of room.
    hand: Hand,
}

impl Home {
    fn new(setup: &Setup) -> Self {
        let rules = Rules::new(setup);
        let start = setup.start;
        let wait = if setup.was.is_some() {
            rules.gather()
        } else {
            Span::ZERO
        };
        let interval = u64::try_from(rules.interval.as_nanos()).unwrap_or(u64::MAX);
        let ask_at = start.saturating_add(rules.patience());
        let cx = Desktop {
            peers: Peers::new(setup.me, setup.members.clone(), rules.has_standby),
            post: Post::new(setup.writer),
            now: start,
            epochs: 0,
            gathered_at: start.saturating_add(wait),
            learns_until: start,
            rules,
        };
        let mut home = Self {
            cx,
            entries: BTreeMap::new(),
            speak: Alarm::default(),
            prune: Alarm::default(),
            copies: Copies::default(),
            changed: BTreeSet::new(),
            copy_at: None,
            phase: Dice::new(setup.seed).below(interval),
            ask: setup.was.map(|was| (was, ask_at)),
            was: setup.was,
            joining_until: None,
            joined_at: start,
            bytes: Footprint::default(),
            hand: Hand::default(),
        };
        if let Some(was) = setup.was {
            home.join(was);
        }
        home
    }

    /// Brings alarms and sizes up to date after anything happened to a key, and drops it when nothing is left to know.
    fn file(&mut self, key: Key) {
        let Some(entry) = self.entries.get_mut(&key) else {
            return;
        };
        let is_spent = entry.is_spent(&self.cx);
        let bytes = if is_spent {
            Footprint::default()
        } else {
            entry.footprint()
        };
        let before = std::mem::replace(&mut entry.bytes, bytes);
        self.bytes.local = self.bytes.local + bytes.local - before.local;
        self.bytes.extra = self.bytes.extra + bytes.extra - before.extra;
        if is_spent {
            self.entries.remove(&key);
            self.changed.remove(&key);
            self.speak.set(key, None);
            self.prune.set(key, None);
            return;
        }
        self.speak.set(key, entry.speak_at(&self.cx));
        self.prune.by(key, entry.prune_at(&self.cx));
    }

    fn take(&mut self, from: NodeId, header: Header, frame: Frame) {
        match frame {
            Frame::Report(report) => self.take_report(from, header, report),
            Frame::Announce(announce) => self.take_announce(header, &announce),
            Frame::Direct(direct) => self.take_direct(header, &direct),
            Frame::Keep(kept) => {
                let name = (header.writer, header.sequence);
                self.copies.keep(from, name, kept, self.cx.now);
            }
            Frame::Join(was) => self.take_join(from, was),
            Frame::Hand(hands) => {
                self.learn_on();
                for hand in hands {
                    self.take_hand(hand);
                }
            }
            Frame::Ask(was) => self.take_ask(from, was),
        }
    }

    fn take_report(&mut self, from: NodeId, header: Header, report: Report) {
        let key = report.key;
        let pair = self.cx.peers.pair(key);
        if !pair.has(self.cx.peers.me()) {
            self.forward(header, report);
            return;
        }
        let sender = Sender {
            node: (!report.is_forwarded).then_some(from),
            writer: header.writer,
            version: 2 * header.sequence,
        };
        self.with_heard(key, |entry, cx| entry.take_report(cx, sender, report));
    }

    /// Passes a report on to whom this node takes for the right address, once.
    fn forward(&mut self, header: Header, report: Report) {
        if report.is_forwarded {
            return;
        }
        let pair = self.cx.peers.pair(report.key);
        let report = Report {
            is_forwarded: true,
            ..report
        };
        let frame = report.write(self.cx.rules.bucket, Encoder::new(header));
        debug_assert_eq!(header.kind, REPORT);
        self.cx.post.send(pair.nodes(), &frame);
    }

    fn take_announce(&mut self, header: Header, announce: &Announce) {
        if let Some((to, route)) = self.next_hops(announce.route) {
            let passed = Announce {
                route: Some(route),
                ..*announce
            };
            let frame = passed.write(self.cx.rules.bucket, Encoder::new(header));
            self.cx.post.send(to, &frame);
        }
        self.with_heard(announce.key, |entry, cx| entry.take_announce(cx, announce));
    }

    fn take_direct(&mut self, header: Header, direct: &Direct) {
        if let Some((to, route)) = self.next_hops(direct.route) {
            let passed = Direct {
                route: Some(route),
                ..*direct
            };
            let frame = passed.write(self.cx.rules.bucket, Encoder::new(header));
            self.cx.post.send(to, &frame);
        }
        self.with_heard(direct.key, |entry, cx| {
            entry.take_direct(cx, header.writer, direct);
        });
    }

    /// To whom news that came along a tree is passed on.
    fn next_hops(&self, route: Option<Route>) -> Option<(Vec<NodeId>, Route)> {
        let route = route.filter(|route| route.hops < HOPS_MAX)?;
        let to = self.cx.peers.children(route.root, self.cx.rules.tree?);
        let next = Route {
            hops: route.hops + 1,
            ..route
        };
        Some((to, next)).filter(|_| route.root != self.cx.peers.me())
    }

    /// Acts on a key somebody else spoke of, unless there are too many.
    fn with_heard(&mut self, key: Key, act: impl FnOnce(&mut Entry, &mut Desktop)) {
        if self.entries.len() >= KEYS_MAX && !self.entries.contains_key(&key) {
            return;
        }
        let cx = &mut self.cx;
        let entry = self
            .entries
            .entry(key)
            .or_insert_with(|| Entry::new(cx, key));
        entry.prune(cx);
        act(entry, cx);
        self.file(key);
    }

    /// Notes that a key's copy is out of date.
    fn note_change(&mut self, key: Key) {
        let has_unsent = |entry: &Entry| entry.own.has_unsent();
        if !self.cx.rules.has_buddy || !self.entries.get(&key).is_some_and(has_unsent) {
            return;
        }
        self.changed.insert(key);
        if self.copy_at.is_none() {
            self.copy_at = Some(self.next_tick());
        }
    }

    fn next_tick(&self) -> Instant {
        let interval = self.cx.rules.interval.as_nanos().max(1);
        let interval = u64::try_from(interval).unwrap_or(u64::MAX);
        let into = (self
            .cx
            .now
            .as_nanos()
            .wrapping_add(interval - self.phase % interval))
            % interval;
        Instant::from_nanos(self.cx.now.as_nanos().saturating_add(interval - into))
    }

    /// Sends its neighbours what was admitted here and told nobody. A restarted node first lets it give back what it
    /// has.
    fn send_copies(&mut self) {
        self.copy_at = None;
        if self.ask.is_some() {
            self.copy_at = Some(self.next_tick());
            return;
        }
        let mut frames = BTreeMap::new();
        for key in std::mem::take(&mut self.changed) {
            let Some((to, kept)) = self.copy(key) else {
                continue;
            };
            let post = &mut self.cx.post;
            let mut encoder = frames.remove(&to).unwrap_or_else(|| post.begin(KEEP).0);
            kept.write(&mut encoder);
            if encoder.len() < FRAME_BYTES {
                frames.insert(to, encoder);
            } else {
                post.send([to], &encoder.finish());
            }
        }
        for (to, encoder) in frames {
            self.cx.post.send([to], &encoder.finish());
        }
    }

    /// What is to be kept of a key, and by whom.
    fn copy(&self, key: Key) -> Option<(NodeId, Kept)> {
        let entry = self.entries.get(&key)?;
        let to = self.cx.peers.buddy(entry.pair)?;
        entry.own.has_unsent().then(|| {
            let kept = Kept {
                key,
                seconds: entry.lasts_seconds(&self.cx),
                version: entry.version + 1,
                list: entry.own.list(),
            };
            (to, kept)
        })
    }
}

impl Design for Home {
    fn level(&mut self, key: Key, now: Instant) -> u128 {
        let mark = self.cx.rules.bucket.mark(now);
        let entry = self.entries.get(&key);
        entry.map_or(0, |entry| entry.view.end.since(mark))
    }

    fn accept(&mut self, key: Key, cost: u64, now: Instant) {
        self.cx.now = now;
        let cx = &mut self.cx;
        let entry = self
            .entries
            .entry(key)
            .or_insert_with(|| Entry::new(cx, key));
        entry.admit(cx, cost);
        self.note_change(key);
        self.file(key);
    }

    fn time_for(&self, short: u128) -> Span {
        self.cx.rules.bucket.time_for(short)
    }
}

impl Exchange for Home {
    fn handle_frame(&mut self, from: NodeId, frame: &[u8], now: Instant) -> Result<(), Malformed> {
        let (header, frame) = Frame::decode(self.cx.rules.bucket, frame)?;
        self.cx.now = now;
        self.take(from, header, frame);
        Ok(())
    }

    fn handle_members(&mut self, alive: &[NodeId], now: Instant) {
        self.cx.now = now;
        self.change_members(alive);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.cx.now = now;
        for key in self.prune.due(now) {
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.prune(&self.cx);
            }
            self.file(key);
        }
        for key in self.speak.due(now) {
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.speak(&mut self.cx);
            }
            self.file(key);
        }
        self.joining_until = self.joining_until.filter(|&at| at > now);
        if let Some((was, at)) = self.ask
            && at <= now
        {
            self.ask = None;
            self.ask_buddies(was);
        }
        if self.copy_at.is_some_and(|at| at <= now) {
            self.send_copies();
        }
        self.copies.prune(now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let ask = self.ask.map(|(_, at)| at);
        let times = [
            self.speak.next(),
            self.prune.next(),
            self.copies.next(),
            ask,
            self.copy_at,
            self.joining_until,
        ];
        times.into_iter().flatten().min()
    }

    fn poll_send(&mut self) -> Option<Send> {
        self.cx.post.poll()
    }

    fn is_quiet(&self) -> bool {
        let is_done = self.speak.is_empty() && self.changed.is_empty();
        is_done && self.ask.is_none() && self.cx.post.is_empty()
    }

    fn footprint(&self) -> Footprint {
        Footprint {
            local: self.bytes.local,
            extra: self.bytes.extra + self.copies.bytes(),
        }
    }

    fn sort(&self, kind: u8) -> Sort {
        match kind {
            KEEP => Sort::Copy,
            JOIN | HAND | ASK => Sort::Memory,
            _ => Sort::Publication,
        }
    }

    fn keys_count(&self) -> usize {
        self.entries.len()
    }

    fn knows(&self, key: Key) -> bool {
        self.entries.contains_key(&key)
    }

    fn evict(&mut self, now: Instant) -> bool {
        self.forget_one(now)
    }

    fn drop_copy(&mut self) -> bool {
        self.copies.drop_first()
    }

    fn held(&self) -> u64 {
        self.held_bytes()
    }

    fn handle_join(&mut self, now: Instant) {
        self.cx.now = now;
        self.join_anew();
    }

    fn is_joining(&self) -> bool {
        self.joining_until.is_some()
    }

    fn handle_leave(&mut self, now: Instant) {
        self.cx.now = now;
        self.hand_over();
    }

    fn save(&mut self, key: Key, now: Instant) -> Option<Arc<[u8]>> {
        self.cx.now = now;
        let hand = self.entries.get(&key)?.saved(&self.cx)?;
        let (mut encoder, _) = self.cx.post.begin(HAND);
        hand.write(self.cx.rules.bucket, &mut encoder);
        Some(encoder.finish())
    }

    fn restore(&mut self, frame: &[u8], now: Instant) -> Result<(), Malformed> {
        let (header, frame) = Frame::decode(self.cx.rules.bucket, frame)?;
        let Frame::Hand(hands) = frame else {
            return Err(Malformed::Kind(header.kind));
        };
        if hands.is_empty() {
            return Err(Malformed::Truncated);
        }
        self.cx.now = now;
        for hand in hands {
            self.with_heard(hand.key, |entry, cx| entry.restore(cx, hand));
        }
        Ok(())
    }

    fn keys(&self) -> Vec<Key> {
        self.entries.keys().copied().collect()
    }

    fn set_delay(&mut self, delay: Span) {
        self.cx.rules.delay = delay;
    }
}
