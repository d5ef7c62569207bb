//! What arrived of one stream of numbered frames: each number is applied once, in whatever order they come.
//!
//! Not here: what frames say, and when a stream is acknowledged (`link`).

use tollgate_mode::{Writer, planted};

use super::law::{LinkEntry, What};
use super::wire::{Ack, LinkReport};

/// The receiving end of a stream.
#[derive(Debug)]
pub(super) struct Stream {
    writer: Writer,
    /// Every number up to here was applied,
    cum: u64,
    /// and `cum + 1 + i` for every bit `i`.
    window: u64,
    /// Refunds, which are applied in the order of the stream, with their numbers.
    held: Vec<(u64, LinkEntry)>,
}

/// What a number is to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamArrival {
    /// It is applied now, for the first time.
    New,
    /// It was applied before.
    Repeat,
    /// It is too far ahead to be remembered; it will come again.
    Beyond,
}

/// Refunds that wait for earlier frames, at most; further ones are left out.
const HELD_MAX: usize = 1 << 10;

impl Stream {
    pub(super) const fn new(writer: Writer) -> Self {
        Self {
            writer,
            cum: 0,
            window: 0,
            held: Vec::new(),
        }
    }

    pub(super) const fn ack(&self) -> Ack {
        Ack {
            writer: self.writer,
            cum: self.cum,
            window: self.window,
        }
    }

    /// Whether later frames came before earlier ones.
    pub(super) const fn has_gap(&self) -> bool {
        self.window > 0
    }

    /// What of a frame is to be applied now: its entries if it is new, and refunds that waited for it.
    pub(super) fn take(&mut self, report: LinkReport) -> (StreamArrival, Vec<LinkEntry>) {
        let arrival = match report.lo {
            Some(lo) => self.arrive_range(lo, report.number, report.entries.is_empty()),
            None => self.arrive(report.number),
        };
        if arrival != StreamArrival::New {
            return (arrival, Vec::new());
        }
        let mut now = Vec::with_capacity(report.entries.len());
        for entry in report.entries {
            if matches!(entry.what, What::Refund(_)) && report.number > self.cum {
                if self.held.len() < HELD_MAX {
                    self.held.push((report.number, entry));
                }
            } else {
                now.push(entry);
            }
        }
        if !self.held.is_empty() {
            self.held.sort_by_key(|(number, _)| *number);
            let ready = self.held.partition_point(|(number, _)| *number <= self.cum);
            now.extend(self.held.drain(..ready).map(|(_, entry)| entry));
        }
        (arrival, now)
    }

    /// Takes whatever another node applied of it as applied.
    pub(super) fn join(&mut self, other: Ack) {
        if other.cum > self.cum {
            self.advance(other.cum);
        }
        let behind = self.cum - other.cum;
        self.window |=
            u32::try_from(behind).map_or(0, |behind| other.window.checked_shr(behind).unwrap_or(0));
        self.advance(self.cum);
    }

    fn arrive(&mut self, number: u64) -> StreamArrival {
        let Some(ahead) = number.checked_sub(self.cum + 1) else {
            return StreamArrival::Repeat;
        };
        if ahead >= u64::from(u64::BITS) {
            return StreamArrival::Beyond;
        }
        let bit = 1 << ahead;
        if planted!("links-apply-twice", self.window & bit > 0, false) {
            return StreamArrival::Repeat;
        }
        self.window |= bit;
        self.advance(self.cum);
        StreamArrival::New
    }

    /// A range comes in the place of numbers that were never sent; an empty one says that they never will be.
    fn arrive_range(&mut self, lo: u64, number: u64, is_empty: bool) -> StreamArrival {
        if number <= self.cum {
            return StreamArrival::Repeat;
        }
        let inside = u32::try_from(number - self.cum).unwrap_or(u32::MAX);
        let beyond = u64::MAX.checked_shl(inside).unwrap_or(0);
        let fits = self.cum == lo && self.window & !beyond == 0;
        if !planted!("links-range-anywhere", fits || is_empty, true) {
            return StreamArrival::Beyond;
        }
        self.advance(number);
        StreamArrival::New
    }

    /// Everything up to a number is applied.
    fn advance(&mut self, cum: u64) {
        let by = u32::try_from(cum - self.cum).unwrap_or(u32::MAX);
        self.window = self.window.checked_shr(by).unwrap_or(0);
        self.cum = cum;
        let more = self.window.trailing_ones();
        self.window = self.window.checked_shr(more).unwrap_or(0);
        self.cum += u64::from(more);
    }
}
