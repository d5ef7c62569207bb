//! A client of the world: its side of the protocol, its clock, and what it waits for.
//!
//! Not here: what is between it and the grantor.

use std::collections::VecDeque;

use tollgate_lease::{Lessee, Replica, Stamp};
use tollgate_limit::Instant;
use tollgate_sim::Clock;

/// A client.
pub(super) struct Client {
    pub(super) side: Side,
    pub(super) boot: u64,
    pub(super) clock: Clock,
    /// When it looks at it by itself.
    pub(super) timer: u64,
    /// A grant of a grantor that fell: it may still arrive, and counts until then.
    pub(super) orphan: Option<Orphan>,
    /// Requests that wait: number, and since when.
    pub(super) waiting: VecDeque<(u64, u64)>,
    pub(super) admitted: u64,
    pub(super) central: u64,
}

/// What a client runs.
pub(super) enum Side {
    Down,
    Lessee(Box<Lessee>),
    Replica(Replica),
    /// Asks about each request by itself.
    Asker,
}

/// A grant under way when its grantor fell.
#[derive(Clone, Copy)]
pub(super) struct Orphan {
    pub(super) stamp: Stamp,
    pub(super) tokens: i128,
    pub(super) until: u64,
}

impl Client {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            side: Side::Down,
            boot: 0,
            clock,
            timer: u64::MAX,
            orphan: None,
            waiting: VecDeque::new(),
            admitted: 0,
            central: 0,
        }
    }

    /// What its clock shows.
    pub(super) fn local(&self, now: u64) -> Instant {
        Instant::from_nanos(self.clock.at(now))
    }

    pub(super) fn is_up(&self) -> bool {
        !matches!(self.side, Side::Down)
    }

    /// How long a request that is decided now has waited.
    pub(super) fn waited(&mut self, number: u64, now: u64) -> u64 {
        let found = self.waiting.iter().position(|(own, _)| *own == number);
        let since = found.and_then(|at| self.waiting.remove(at));
        since.map_or(0, |(_, since)| now - since)
    }
}
