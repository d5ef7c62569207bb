//! How a machine meets others: it greets, gives back and takes back copies, and asks and answers pages.
//!
//! Not here: when it does (`join`), and frames that report.

use tollgate_limit::Instant;
use tollgate_mode::NodeId;

use super::join::JoinMessage;
use super::keep::NodeBoot;
use super::law::{Age, DUE, Law, LinkEntry, What};
use super::machine::{Machine, mark, numbered};
use super::wire::{BODY_BYTES, ExchangePage, FrameHead, LinkReport, PAGE_BYTES, bodies};

/// Keys on a page.
const PAGE_KEYS: usize = 1 << 11;

impl<L: Law> Machine<L> {
    /// A node that starts is told that it is known, and gets what was kept for it.
    pub(super) fn answer_hello(&mut self, sender: NodeBoot) {
        let (from, now) = (sender.node, self.now);
        let entries = self.keep.of(&self.law, sender, now);
        for (body, number) in bodies(&entries, now, BODY_BYTES).into_iter().zip(0..) {
            let part = numbered(number, now, body);
            self.post.send(from, |head| head.give_back(&part), now);
        }
        if entries.is_empty() {
            self.post.send(from, FrameHead::ack, now);
        }
    }

    /// Takes back what was silent before this node started.
    pub(super) fn take_back(&mut self, from: NodeId, part: LinkReport) {
        if self.join.has_restored || !self.join.is_first(from, part.number) {
            return;
        }
        let now = self.now;
        for LinkEntry { key, what } in part.entries {
            let What::Report(segs) = what else { continue };
            let is_due = self.change(key, |law, cell| {
                law.recall(cell, &segs, now);
                law.is_over_share(cell, now) && mark(law, cell, DUE)
            });
            if is_due {
                self.report_soon(key);
            }
        }
    }

    pub(super) fn answer_ask(&mut self, from: NodeId, place: u32) {
        let now = self.now;
        let (mut keys, mut next, mut bytes) = (Vec::new(), None, 0);
        for (count, (after, key, cell)) in self.keys.from_slot(place).enumerate() {
            let told = self.law.told(cell, now);
            bytes += 24 * told.len() + usize::from(!told.is_empty()) * 17;
            if !told.is_empty() {
                keys.push((key, told));
            }
            if bytes >= PAGE_BYTES || count >= PAGE_KEYS {
                next = Some(after);
                break;
            }
        }
        let page = ExchangePage {
            time: now,
            next,
            vector: self.post.vector(),
            keys,
        };
        self.post.send(from, |head| head.page(&page), now);
    }

    pub(super) fn take_page(&mut self, from: NodeId, page: &ExchangePage) {
        let now = self.now;
        let is_new = self.join.is_joining();
        let age = if is_new { Age::Fresh } else { Age::Late };
        self.post.adopt(&page.vector, now);
        for (key, told) in &page.keys {
            self.change(*key, |law, cell| law.raise(cell, told, age, now));
        }
        self.join.turn(from, page.next, now);
        self.go_on_joining();
    }

    /// Catches up with the others.
    pub(super) fn join(&mut self, now: Instant) {
        let now = self.wind(now);
        let others: Vec<_> = self.post.others().collect();
        let first = self.dice.place(others.len());
        self.join.begin(&others, first, now);
        self.go_on_joining();
    }

    pub(super) fn go_on_joining(&mut self) {
        let now = self.now;
        let (calls, is_done) = self.join.handle_timeout(now);
        self.has_joined |= is_done;
        self.post.is_mute = self.join.is_joining() && !self.has_joined;
        let hello = self.hello;
        for call in calls {
            match call {
                JoinMessage::Hello(node) => self.post.send(node, |head| head.hello(hello), now),
                JoinMessage::Ask(node, place) => self.post.send(node, |head| head.ask(place), now),
            }
        }
        if is_done {
            self.post.acknowledge_all(now);
        }
    }
}
