//! Requests that were let in and wait: what they took, and when they pass.
//!
//! Tokens they will take count as taken when they are let in; until they pass, they lie ready, and have their room in
//! the bucket. Not here: when a request may be let in.

use std::collections::VecDeque;

use tollgate_limit::{Instant, Span};

/// Who waits, in the order in which they pass.
#[derive(Clone, Debug)]
pub(crate) struct Promises {
    queue: VecDeque<(Instant, u128)>,
    sum: u128,
}

impl Promises {
    /// Nobody waits.
    pub(crate) const NONE: Self = Self {
        queue: VecDeque::new(),
        sum: 0,
    };

    /// Tokens of all who wait.
    pub(crate) const fn sum(&self) -> u128 {
        self.sum
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// When the first one passes.
    pub(crate) fn first(&self) -> Option<Instant> {
        self.queue.front().map(|(at, _)| *at)
    }

    /// When all have passed.
    pub(crate) fn last(&self) -> Option<Instant> {
        self.queue.back().map(|(at, _)| *at)
    }

    /// Lets one more wait, after all who do.
    pub(crate) fn push(&mut self, passes: Instant, tokens: u128, wait_max: Span) {
        self.sum += tokens;
        match self.queue.back_mut() {
            Some((until, sum)) if *until >= passes => *sum += tokens,
            _ => {
                // Where very many wait, some share an entry, as if they passed a little later.
                let late = if self.queue.len() < EXACT_MAX {
                    Span::ZERO
                } else {
                    Span::from_nanos(wait_max.as_nanos() / EXACT_MAX as u128)
                };
                self.queue.push_back((passes.saturating_add(late), tokens));
            }
        }
    }

    /// Lets those pass whose time has come.
    pub(crate) fn pass(&mut self, now: Instant) {
        while let Some((_, tokens)) = self.queue.front().filter(|(at, _)| *at <= now) {
            self.sum -= tokens;
            self.queue.pop_front();
        }
    }
}

/// Up to so many everyone who waits has an entry.
const EXACT_MAX: usize = 1 << 11;
