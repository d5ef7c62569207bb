//! A client of the world: its side of the protocol, its clock, and what it waits for.
//!
//! Not here: what is between it and the grantor.

use std::collections::VecDeque;

use tollgate_lease::{Lessee, Replica, Stamp};
use tollgate_limit::Instant;

/// A client.
pub(super) struct Client {
    pub(super) side: Side,
    pub(super) boot: u64,
    offset: i128,
    ppm: i128,
    /// When it looks at its clock by itself.
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
    pub(super) fn new(offset: u64, ppm: i128) -> Self {
        Self {
            side: Side::Down,
            boot: 0,
            offset: i128::from(offset),
            ppm,
            timer: u64::MAX,
            orphan: None,
            waiting: VecDeque::new(),
            admitted: 0,
            central: 0,
        }
    }

    /// What its clock shows.
    pub(super) fn clock(&self, now: u64) -> Instant {
        let now = i128::from(now);
        let shown = self.offset + now + now * self.ppm / 1_000_000;
        Instant::from_nanos(u64::try_from(shown.max(0)).unwrap_or(u64::MAX))
    }

    /// Its clock jumps.
    pub(super) fn step(&mut self, by: i64) {
        self.offset += i128::from(by);
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
