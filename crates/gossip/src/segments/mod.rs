//! Busy-period segments with silent shares.
//!
//! A node counts what it admits as segments: a count, and the instant of its first token. The end of the backlog is a
//! pure function of everybody's segments, equal to that of one bucket that saw everything, and never above it from a
//! part of them: what the central bucket admits is never rejected. While a node's unpublished tokens are within its
//! share of the room, it keeps silent; beyond that it sends its whole list to everybody. A request of several tokens
//! may pass although the silent shares of others leave less, so such costs can over-admit by up to these shares.
//!
//! Not here: how lists travel and how loss is repaired, which is in `talk`.

mod cell;
mod prune;
mod rule;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use tollgate_limit::{Instant, Span};
use tollgate_mode::{Footprint, Key, Malformed, NodeId, Send, Sort};

use crate::replica::Design;
use crate::setup::Setup;
use crate::talk::{Talk, sort};

use self::rule::Segments;

/// A node's part.
pub(crate) fn build(setup: &Setup) -> Box<dyn Design> {
    Box::new(Node::new(setup))
}

#[derive(Debug)]
struct Node {
    talk: Talk<Segments>,
}

impl Node {
    fn new(setup: &Setup) -> Self {
        Self {
            talk: Talk::new(Segments::new(setup), setup),
        }
    }
}

impl Design for Node {
    fn level(&mut self, key: Key, now: Instant) -> u128 {
        let cell = self.talk.cell(key);
        cell.map_or(0, |cell| self.talk.rule().level(cell, now))
    }

    fn accept(&mut self, key: Key, cost: u64, now: Instant) {
        self.talk.accept(key, cost, now);
    }

    fn handle_frame(&mut self, from: NodeId, frame: &[u8], now: Instant) -> Result<(), Malformed> {
        self.talk.handle_frame(from, frame, now)
    }

    fn handle_members(&mut self, alive: &[NodeId], now: Instant) {
        self.talk.handle_members(alive, now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.talk.handle_timeout(now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.talk.poll_timeout()
    }

    fn poll_send(&mut self) -> Option<Send> {
        self.talk.poll_send()
    }

    fn is_quiet(&self) -> bool {
        self.talk.is_quiet()
    }

    fn footprint(&self) -> Footprint {
        self.talk.footprint()
    }

    fn time_for(&self, short: u128) -> Span {
        self.talk.rule().bucket.time_for(short)
    }

    fn sort(&self, kind: u8) -> Sort {
        sort(kind)
    }

    fn keys_count(&self) -> usize {
        self.talk.keys_count()
    }

    fn knows(&self, key: Key) -> bool {
        self.talk.cell(key).is_some()
    }

    fn evict(&mut self, now: Instant) -> bool {
        self.talk.evict(now)
    }

    fn drop_copy(&mut self) -> bool {
        self.talk.drop_copy()
    }

    fn held(&self) -> u64 {
        self.talk.held()
    }

    fn handle_join(&mut self, now: Instant) {
        self.talk.handle_join(now);
    }

    fn is_joining(&self) -> bool {
        self.talk.is_joining()
    }

    fn handle_leave(&mut self, now: Instant) {
        self.talk.handle_leave(now);
    }

    fn save(&mut self, key: Key, now: Instant) -> Option<Arc<[u8]>> {
        self.talk.save(key, now)
    }

    fn restore(&mut self, frame: &[u8], now: Instant) -> Result<(), Malformed> {
        self.talk.restore(frame, now)
    }

    fn keys(&self) -> Vec<Key> {
        self.talk.keys()
    }

    fn set_delay(&mut self, delay: Span) {
        self.talk.set_delay(delay);
    }
}
