//! What happens when nodes go, come and come back: lists are handed to whoever collects from then on.
//!
//! There are no tombstones: lists carry their start instants and ends only rise, so a list that is handed over twice
//! or late does no harm. Not here: how anybody notices.

use std::collections::BTreeMap;

use tollgate_limit::{Instant, Span};
use tollgate_mode::{Key, NodeId, Writer};

use crate::bucket::Mark;
use crate::home::entry::Entry;
use crate::home::peers::Role;
use crate::home::rules::Desktop;
use crate::home::wire::{ASK, HAND, Hand, Held, JOIN};
use crate::home::{FRAME_BYTES, Home};

/// Lists of a cold key are kept for a day at most, whatever anybody says.
const KEPT_SECONDS_MAX: u64 = 86_400;

/// A newcomer waits that long at least for what the others know.
const JOINING: Span = Span::from_nanos(300_000_000);

/// And no longer than that.
const JOINING_MAX: Span = Span::from_nanos(4_000_000_000);

/// What is to be handed to whom.
pub(super) type Parcels = BTreeMap<NodeId, Vec<Hand>>;

impl Home {
    /// Hears who is alive.
    pub(super) fn change_members(&mut self, alive: &[NodeId]) {
        let buddies: Vec<_> = self.cx.peers.buddies().collect();
        if !self.cx.peers.set(alive.to_vec()) {
            return;
        }
        self.cx.rules.set_nodes(alive.len());
        let has_others = !self.cx.peers.buddies().eq(buddies);
        let mut parcels = Parcels::new();
        let keys: Vec<_> = self.entries.keys().copied().collect();
        for key in keys {
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.change_pair(&mut self.cx, &mut parcels);
            }
            if has_others {
                self.note_change(key);
            }
            self.file(key);
        }
        send_parcels(&mut self.cx, parcels);
    }

    /// Asks everybody for what a restarted node should know, and names the boot before.
    pub(super) fn join(&mut self, was: Writer) {
        let (mut encoder, _) = self.cx.post.begin(JOIN);
        encoder.u16(was.0);
        let frame = encoder.finish();
        self.cx.post.send(self.cx.peers.others(), &frame);
    }

    /// Asks everybody for what a newcomer should know, and waits for it before anything is announced from here.
    pub(super) fn join_anew(&mut self) {
        let until = self.cx.after(self.cx.rules.gather());
        self.cx.gathered_at = self.cx.gathered_at.max(until);
        self.joined_at = self.cx.now;
        self.cx.learns_until = self.cx.after(JOINING).max(until);
        self.joining_until = Some(self.cx.learns_until);
        self.ask = self
            .was
            .map(|was| (was, self.cx.after(self.cx.rules.patience())));
        self.join(self.was.unwrap_or(self.cx.post.writer));
    }

    /// More comes: a newcomer waits for the rest of it, but not for ever.
    pub(super) fn learn_on(&mut self) {
        if self.joining_until.is_some() {
            let latest = self.joined_at.saturating_add(JOINING_MAX);
            let until = self.cx.after(JOINING).min(latest);
            self.cx.learns_until = self.cx.learns_until.max(until);
            self.joining_until = Some(self.cx.learns_until);
        }
    }

    /// Reports what was kept back, and hands what is collected here to those who will collect it.
    pub(super) fn hand_over(&mut self) {
        let mut parcels = Parcels::new();
        for entry in self.entries.values_mut() {
            entry.hand_over(&mut self.cx, &mut parcels);
        }
        send_parcels(&mut self.cx, parcels);
        self.changed.clear();
        self.copy_at = None;
    }

    /// Drops a key, but not what only this node knows of it.
    pub(super) fn forget(&mut self, key: Key) {
        let Some(mut entry) = self.entries.remove(&key) else {
            return;
        };
        let mut parcels = Parcels::new();
        entry.hand_over(&mut self.cx, &mut parcels);
        if entry.desk.is_none() {
            parcels.clear();
        }
        send_parcels(&mut self.cx, parcels);
        self.bytes.local -= entry.bytes.local;
        self.bytes.extra -= entry.bytes.extra;
        self.changed.remove(&key);
        self.speak.set(key, None);
        self.prune.set(key, None);
    }

    /// Answers a restarted node, and copies to it again what it kept.
    pub(super) fn take_join(&mut self, from: NodeId, was: Writer) {
        let peers = &self.cx.peers;
        let is_kept = |entry: &&Entry| peers.buddy(entry.pair) == Some(from);
        let kept = self.entries.values().filter(is_kept);
        let kept: Vec<_> = kept.map(|entry| entry.key).collect();
        for key in kept {
            self.note_change(key);
        }
        let cx = &self.cx;
        let hands = self.entries.values();
        let hands = hands.filter_map(|entry| entry.for_joiner(cx, from, was));
        let parcels = Parcels::from([(from, hands.collect())]);
        send_parcels(&mut self.cx, parcels);
    }

    /// Asks the neighbours to send the copies of the boot before to the homes.
    pub(super) fn ask_buddies(&mut self, was: Writer) {
        let (mut encoder, _) = self.cx.post.begin(ASK);
        encoder.u16(was.0);
        let frame = encoder.finish();
        self.cx.post.send(self.cx.peers.buddies(), &frame);
    }

    /// Sends the copies of a restarted node's boot before to the homes.
    pub(super) fn take_ask(&mut self, from: NodeId, was: Writer) {
        let mut parcels = Parcels::new();
        let me = self.cx.peers.me();
        for (key, until, held) in self.copies.take(from, was) {
            let hand = Hand {
                key,
                end: Mark(0),
                is_told: false,
                seconds: seconds(self.cx.now, until),
                lists: vec![held],
            };
            for node in self.cx.peers.pair(key).nodes() {
                if node == me {
                    self.take_hand(hand.clone());
                } else {
                    parcels.entry(node).or_default().push(hand.clone());
                }
            }
        }
        send_parcels(&mut self.cx, parcels);
    }

    /// Takes lists that were handed over.
    pub(super) fn take_hand(&mut self, hand: Hand) {
        self.with_heard(hand.key, |entry, cx| entry.take_hand(cx, hand));
    }
}

impl Entry {
    /// Finds the nodes that collect from now on, and hands over what the new ones lack.
    fn change_pair(&mut self, cx: &mut Desktop, parcels: &mut Parcels) {
        let before = self.pair;
        let after = cx.peers.pair(self.key);
        if before == after {
            return;
        }
        let me = cx.peers.me();
        let (was, is) = (before.role(me), after.role(me));
        let hand = self.whole(cx, was);
        for node in after
            .nodes()
            .filter(|&node| !before.has(node) && node != me)
        {
            if let Some(hand) = &hand {
                parcels.entry(node).or_default().push(hand.clone());
            }
        }
        self.pair = after;
        if is == Role::Writer {
            self.desk = None;
        }
        if is == Role::Home && was != Role::Home {
            self.become_home(cx);
        }
    }

    /// Reports what was kept back, and hands what is collected here to those who will collect it.
    fn hand_over(&mut self, cx: &mut Desktop, parcels: &mut Parcels) {
        if self.own.has_unsent() {
            self.report(cx, false);
        }
        let (before, role) = (self.pair, self.role(cx));
        let Some(after) = cx.peers.pair_without_me(self.key) else {
            return;
        };
        if let Some(hand) = self.whole(cx, role).filter(|_| role != Role::Writer) {
            for node in after.nodes().filter(|&node| !before.has(node)) {
                parcels.entry(node).or_default().push(hand.clone());
            }
        }
    }

    /// A new home waits for the lists, then speaks; until then it takes nothing for known to everybody.
    fn become_home(&mut self, cx: &Desktop) {
        let is_hot = self.view.public > cx.mark() || self.desk.is_some();
        if !is_hot {
            return;
        }
        let at = cx.after(cx.rules.gather()).max(cx.learns_until);
        let desk = self.desk(cx);
        desk.told = Mark(0);
        desk.announced = Mark(0);
        desk.raises = None;
        desk.due_at = None;
        desk.repeat_at = None;
        desk.gathered_at = Some(at);
    }

    /// What this node must not lose of the key: the end it knows, its own list whole, and those of its former boots.
    pub(super) fn saved(&self, cx: &Desktop) -> Option<Hand> {
        let own = Held {
            writer: cx.post.writer,
            version: self.version + u64::from(self.own.has_unsent()),
            list: self.own.list(),
        };
        let own = (!own.list.is_empty()).then_some(own);
        let hand = Hand {
            key: self.key,
            end: self.view.end,
            is_told: false,
            seconds: 0,
            lists: self.old.iter().cloned().chain(own).collect(),
        };
        let is_of_use = !hand.lists.is_empty() || hand.end > cx.mark();
        is_of_use.then_some(hand)
    }

    /// Takes back what a former boot saved. The lists are for whoever collects: this node, or those it hears of later.
    pub(super) fn restore(&mut self, cx: &mut Desktop, hand: Hand) {
        let (mine, now) = (cx.post.writer, cx.now);
        let collects = self.role(cx) != Role::Writer;
        for held in hand.lists.into_iter().filter(|held| held.writer != mine) {
            if collects {
                self.desk(cx).put(held.clone(), now);
            }
            self.keep_old(held);
        }
        self.hear(cx, hand.end);
        if self.role(cx) == Role::Home {
            self.become_home(cx);
        }
    }

    /// What this node knows of the key, as far as others may know it; from a collector, everybody's lists.
    fn whole(&self, cx: &Desktop, was: Role) -> Option<Hand> {
        let mut lists = self.lists(cx);
        let desk = self.desk.as_ref().filter(|_| was != Role::Writer);
        lists.extend(desk.into_iter().flat_map(|desk| desk.all()));
        let told = desk.filter(|_| was == Role::Home).map(|desk| desk.told);
        let kept = desk.and_then(|desk| desk.kept_until);
        let hand = Hand {
            key: self.key,
            end: told.unwrap_or(self.view.public),
            is_told: told.is_some(),
            seconds: kept.map_or(0, |until| seconds(cx.now, until)),
            lists,
        };
        (!hand.lists.is_empty()).then_some(hand)
    }

    /// What a restarted node should know of the key: its old list, the end, and everything if it collects.
    fn for_joiner(&self, cx: &Desktop, joiner: NodeId, was: Writer) -> Option<Hand> {
        let role = self.role(cx);
        if self.pair.has(joiner) {
            return self.whole(cx, role);
        }
        let desk = self.desk.as_ref().filter(|_| role == Role::Home)?;
        Some(Hand {
            key: self.key,
            end: desk.told,
            is_told: true,
            seconds: 0,
            lists: desk.of(was).into_iter().collect(),
        })
    }

    fn take_hand(&mut self, cx: &mut Desktop, hand: Hand) {
        let role = self.role(cx);
        let is_new = self.desk.is_none();
        if role == Role::Writer && hand.is_told {
            self.hear(cx, hand.end);
            hand.lists.into_iter().for_each(|held| self.keep_old(held));
            return;
        }
        if is_new && role == Role::Home && !hand.lists.is_empty() {
            self.become_home_with(cx);
        }
        self.hear(cx, hand.end);
        // To a newcomer the home before it says what it told everybody; else that may have been one side of a cut.
        if hand.is_told && (role == Role::Standby || cx.now < cx.learns_until) {
            let desk = self.desk(cx);
            desk.told = desk.told.max(hand.end);
        }
        self.take_lists(cx, hand.lists);
        self.keep_for(cx, hand.seconds);
    }

    /// What was never reported looks drained as long as nobody speaks of the key, and is not: others are silent about
    /// it too.
    fn keep_for(&mut self, cx: &Desktop, seconds: u64) {
        let nanos = u128::from(seconds.min(KEPT_SECONDS_MAX)) * 1_000_000_000;
        let until = cx.after(Span::from_nanos(nanos));
        if seconds > 0 && self.view.public <= cx.mark() {
            let desk = self.desk(cx);
            desk.kept_until = desk.kept_until.max(Some(until));
        }
    }

    fn become_home_with(&mut self, cx: &Desktop) {
        self.desk(cx);
        self.become_home(cx);
    }
}

/// Whole seconds until then, rounded up.
fn seconds(now: Instant, until: Instant) -> u64 {
    until.nanos_since(now).div_ceil(1_000_000_000)
}

fn send_parcels(cx: &mut Desktop, parcels: Parcels) {
    for (to, hands) in parcels {
        let mut hands = hands.into_iter().peekable();
        while hands.peek().is_some() {
            let (mut encoder, _) = cx.post.begin(HAND);
            while encoder.len() < FRAME_BYTES
                && let Some(hand) = hands.next()
            {
                hand.write(cx.rules.bucket, &mut encoder);
            }
            cx.post.send([to], &encoder.finish());
        }
    }
}
