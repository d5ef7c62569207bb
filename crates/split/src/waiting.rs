//! Messages that wait for tokens, first come first served.
//!
//! Bounded. Not here: when they go.

use std::collections::VecDeque;

use tollgate_limit::Instant;

/// A message that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitingMessage {
    pub(crate) id: u64,
    /// Grains it needs.
    pub(crate) cost: u128,
    pub(crate) arrived: Instant,
}

/// The queue of one sub-bucket.
#[derive(Clone, Debug, Default)]
pub(crate) struct SubBucketQueue {
    waiting: VecDeque<WaitingMessage>,
    cost: u128,
}

impl SubBucketQueue {
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Grains that all of them need.
    pub(crate) const fn cost(&self) -> u128 {
        self.cost
    }

    pub(crate) fn head(&self) -> Option<WaitingMessage> {
        self.waiting.front().copied()
    }

    pub(crate) fn push(&mut self, message: WaitingMessage) {
        self.cost = self.cost.saturating_add(message.cost);
        self.waiting.push_back(message);
    }

    pub(crate) fn pop(&mut self) -> Option<WaitingMessage> {
        let message = self.waiting.pop_front()?;
        self.cost = self.cost.saturating_sub(message.cost);
        Some(message)
    }

    /// Takes one out that no longer wants to wait.
    pub(crate) fn remove(&mut self, id: u64) -> bool {
        let place = self.waiting.iter().position(|message| message.id == id);
        let message = place.and_then(|place| self.waiting.remove(place));
        self.cost = self
            .cost
            .saturating_sub(message.map_or(0, |message| message.cost));
        message.is_some()
    }
}
