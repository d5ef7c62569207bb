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

use tollgate_limit::{Instant, Span};
use tollgate_mode::Key;

use crate::replica::Design;
use crate::setup::Setup;
use crate::talk::Talk;

use self::rule::Segments;

/// A node's part.
pub(crate) fn build(setup: &Setup) -> Box<dyn Design> {
    Box::new(node(setup))
}

fn node(setup: &Setup) -> Talk<Segments> {
    Talk::new(Segments::new(setup), setup)
}

impl Design for Talk<Segments> {
    fn level(&mut self, key: Key, now: Instant) -> u128 {
        let cell = self.cell(key);
        cell.map_or(0, |cell| self.rule().level(cell, now))
    }

    fn accept(&mut self, key: Key, cost: u64, now: Instant) {
        self.admit(key, cost, now);
    }

    fn time_for(&self, short: u128) -> Span {
        self.rule().bucket.time_for(short)
    }
}
