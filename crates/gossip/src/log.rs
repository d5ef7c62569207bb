//! What a link may have to send again: frames that went to everybody, and what waits for a suspended link.
//!
//! Not here: when it is sent (`link`).

use std::collections::VecDeque;
use std::sync::Arc;

use tollgate_limit::Instant;
use tollgate_mode::{Keyed, Weigh};

use super::law::{LinkEntry, Seg, What};
use super::wire::LinkReport;

/// A numbered frame as it is sent, but for its head.
pub(super) type Logged = LinkReport<Arc<[u8]>>;

/// Frames that were sent to everybody, by ascending numbers without gaps.
#[derive(Debug, Default)]
pub(super) struct Log {
    frames: VecDeque<Logged>,
    bytes: u64,
}

/// A frame is remembered so long,
const LOG_FOR_NS: u64 = 10_000_000_000;
/// and only as far as all of them take so many bytes.
const LOG_BYTES_MAX: u64 = 1 << 20;
/// As much is remembered whatever room is wanted.
const LITTLE: u64 = 1 << 14;
/// So many are remembered although everybody has them.
const RECENT: usize = 64;
/// What a frame takes in memory besides its body.
pub(super) const LOGGED_BYTES: u64 = 96;

impl Log {
    pub(super) fn push(&mut self, frame: Logged, now: Instant) {
        self.bytes += LOGGED_BYTES + frame.entries.len() as u64;
        self.frames.push_back(frame);
        let is_old = |frame: &Logged| now.nanos_since(frame.time) > LOG_FOR_NS;
        while self.bytes > LOG_BYTES_MAX || self.frames.front().is_some_and(is_old) {
            self.pop();
        }
    }

    /// Everybody has the frames up to a number; a node that learns of them from another may lack the newest.
    pub(super) fn trim(&mut self, number: u64) {
        let is_settled = |frame: &Logged| frame.number <= number;
        while self.frames.len() > RECENT && self.frames.front().is_some_and(is_settled) {
            self.pop();
        }
    }

    /// Remembers half of it to make room; `false` where it is little. Who lacks what is gone asks for what is known.
    pub(super) fn halve(&mut self) -> bool {
        let (half, is_much) = (self.bytes / 2, self.bytes > LITTLE);
        while is_much && self.bytes > half {
            self.pop();
        }
        is_much
    }

    fn pop(&mut self) {
        if let Some(old) = self.frames.pop_front() {
            self.bytes -= LOGGED_BYTES + old.entries.len() as u64;
        }
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn get(&self, number: u64) -> Option<&Logged> {
        let first = self.frames.front()?.number;
        let place = usize::try_from(number.checked_sub(first)?).ok()?;
        self.frames.get(place)
    }

    pub(super) fn first(&self) -> Option<u64> {
        self.frames.front().map(|frame| frame.number)
    }
}

/// What waits for a suspended link, by key.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    keys: Keyed<Waiting>,
    /// There was too much of it.
    pub(super) is_lost: bool,
}

#[derive(Debug, Default)]
struct Waiting {
    segs: Vec<Seg>,
    refund: Option<Seg>,
    reset: Option<Instant>,
}

impl Weigh for Waiting {
    fn heap_bytes(&self) -> u64 {
        (self.segs.capacity() * size_of::<Seg>()) as u64
    }
}

/// Keys that wait for one link at most.
const WAITING_MAX: usize = 1 << 15;

impl Backlog {
    pub(super) fn merge(&mut self, entries: &[LinkEntry], merge: Merge<'_>) {
        for entry in entries {
            if self.is_lost || self.keys.len() >= WAITING_MAX {
                self.drop_all();
                return;
            }
            let waiting = self.keys.get_or_insert_with(entry.key, Waiting::default);
            match &entry.what {
                What::Report(segs) => merge(&mut waiting.segs, segs),
                What::Refund(more) => {
                    let before = waiting.refund.map_or(0, |refund| refund.n);
                    let n = before.saturating_add(more.n);
                    waiting.refund = Some(Seg { n, ..*more });
                }
                What::Reset(at) => {
                    *waiting = Waiting {
                        reset: Some(*at),
                        ..Waiting::default()
                    };
                }
            }
        }
    }

    /// Keys that wait.
    pub(super) const fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn held(&self) -> u64 {
        self.keys.held()
    }

    pub(super) fn drop_all(&mut self) {
        *self = Self {
            is_lost: true,
            ..Self::default()
        };
    }

    pub(super) fn entries(&self) -> Vec<LinkEntry> {
        let mut entries = Vec::with_capacity(self.keys.len());
        for (key, waiting) in self.keys.iter() {
            let mut add = |what: What| entries.push(LinkEntry { key, what });
            if let Some(at) = waiting.reset {
                add(What::Reset(at));
            }
            if !waiting.segs.is_empty() {
                add(What::Report(waiting.segs.clone()));
            }
            if let Some(refund) = waiting.refund {
                add(What::Refund(refund));
            }
        }
        entries
    }
}

/// How tokens that wait are added to others.
pub(super) type Merge<'a> = &'a dyn Fn(&mut Vec<Seg>, &[Seg]);
