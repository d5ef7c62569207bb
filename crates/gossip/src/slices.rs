//! How keys of a window are counted: tokens per slice of time, silent and told.
//!
//! A report names the instant of its first token, and so its slice; merging is adding, and slices that are over are
//! dropped by everybody at the same instant. Not here: how windows lie in time (`crate::windows`).

use tollgate_limit::{Instant, Span};
use tollgate_mode::{Weigh, planted};

use crate::setup::Ratio;
use crate::window::{Shape, Window};

use super::law::CellMarks;

/// A window shared by silent nodes.
#[derive(Debug)]
pub(super) struct Windows {
    pub(super) window: Window,
    /// How much of the room a node keeps to itself, in shares.
    pub(super) sigma: Ratio,
    /// How long a reset keeps what came before it away.
    pub(super) grace: Span,
    pub(super) nodes: u64,
}

/// What is kept of one key.
#[derive(Debug)]
pub(super) enum SliceCell {
    /// One slice.
    One {
        /// In the slice: the instant of the first silent token, where there are any.
        at: Instant,
        own: u32,
        told: u32,
        marks: CellMarks,
    },
    /// Several slices, large counts, or a reset.
    Many(Box<SliceRecord>),
}

/// Slices of a key, ascending.
#[derive(Clone, Debug, Default)]
pub(super) struct SliceRecord {
    pub(super) slices: Vec<Slice>,
    /// What came before then was given back.
    pub(super) reset: Instant,
    pub(super) marks: CellMarks,
}

/// What is counted in one slice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slice {
    pub(super) start: Instant,
    pub(super) at: Instant,
    pub(super) own: u64,
    pub(super) told: u64,
}

impl Slice {
    pub(super) const fn all(&self) -> u64 {
        self.own.saturating_add(self.told)
    }
}

/// Slices of a key beyond those that count: of peers whose clocks are ahead.
pub(super) const AHEAD_MAX: usize = 8;

impl Default for SliceCell {
    fn default() -> Self {
        Self::One {
            at: Instant::default(),
            own: 0,
            told: 0,
            marks: 0,
        }
    }
}

impl Weigh for SliceCell {
    fn heap_bytes(&self) -> u64 {
        let Self::Many(record) = self else {
            return 0;
        };
        let slices = record.slices.capacity() * size_of::<Slice>();
        (slices + size_of::<SliceRecord>()) as u64
    }
}

impl Windows {
    pub(super) fn start(&self, at: Instant) -> Instant {
        self.window.slice(at).start
    }

    /// The first slice that counts now.
    pub(super) fn first(&self, now: Instant) -> Instant {
        let reach = u64::try_from(self.window.reach().as_nanos()).unwrap_or(u64::MAX);
        let current = self.start(now).as_nanos();
        Instant::from_nanos(current.saturating_sub(reach))
    }

    /// Until when a slice counts.
    pub(super) fn over(&self, start: Instant) -> Instant {
        let end = self.window.slice(start).end;
        end.saturating_add(self.window.reach())
    }

    /// The slices that count now: begun by now, and not over.
    pub(super) fn live(&self, cell: &SliceCell, now: Instant) -> Vec<Slice> {
        let (first, current) = (self.first(now), self.start(now));
        let is_live = |slice: &Slice| slice.start >= first && slice.start <= current;
        match cell {
            SliceCell::One {
                own: 0, told: 0, ..
            } => Vec::new(),
            SliceCell::One { at, own, told, .. } => {
                let slice = self.slice(*at, *own, *told);
                Some(slice).filter(is_live).into_iter().collect()
            }
            SliceCell::Many(record) => {
                let live = record.slices.iter().filter(|slice| is_live(slice));
                live.copied().collect()
            }
        }
    }

    fn slice(&self, at: Instant, own: u32, told: u32) -> Slice {
        Slice {
            start: self.start(at),
            at,
            own: u64::from(own),
            told: u64::from(told),
        }
    }

    /// Tokens that may still be admitted, as known here, rounded down.
    pub(super) fn room(&self, cell: &SliceCell, now: Instant) -> u64 {
        self.room_of(&self.live(cell, now), self.window.limit(), now)
    }

    pub(super) fn room_of(&self, live: &[Slice], limit: u64, now: Instant) -> u64 {
        let Shape::Weighted { period } = self.window.shape() else {
            return limit.saturating_sub(sum(live));
        };
        // The greatest n with previous * (P - e) + (current + n) * P <= limit * P.
        let start = self.start(now);
        let (current, previous) = pair(live, start);
        let period = period.as_nanos().max(1);
        let gone = u128::from(now.nanos_since(start)).min(period);
        let weighted = u128::from(previous).saturating_mul(period - gone);
        let whole = u128::from(limit.saturating_sub(current)).saturating_mul(period);
        u64::try_from(whole.saturating_sub(weighted) / period).unwrap_or(u64::MAX)
    }

    /// Tokens that are taken, as known here, rounded up.
    pub(super) fn taken(&self, live: &[Slice], now: Instant) -> u64 {
        u64::MAX - self.room_of(live, u64::MAX, now)
    }

    /// How long until a request that is denied now would pass, if nothing else came.
    pub(super) fn retry_after(&self, live: &[Slice], cost: u64, now: Instant) -> Span {
        let until = |at: Instant| Span::from_nanos(u128::from(at.nanos_since(now)));
        let (slice, limit) = (self.window.slice(now), self.window.limit());
        match self.window.shape() {
            Shape::Fixed { .. } | Shape::Calendar(_) => until(slice.end),
            Shape::Counters { .. } => {
                let mut lacking = sum(live).saturating_add(cost).saturating_sub(limit);
                for slice in live {
                    lacking = lacking.saturating_sub(slice.all());
                    if lacking == 0 {
                        return until(self.over(slice.start));
                    }
                }
                until(self.over(slice.start))
            }
            Shape::Weighted { period } => {
                let (current, previous) = pair(live, slice.start);
                let (period, free) = (period.as_nanos(), limit - cost);
                // A window of `count` tokens weighs no more than `room` once that much of its successor is gone.
                let gone = |count: u64, room: u64| {
                    let kept = u128::from(room) * period / u128::from(count.max(1));
                    period.saturating_sub(kept)
                };
                let wait = match free.checked_sub(current) {
                    Some(room) => gone(previous, room),
                    None => period + gone(current, free),
                };
                let passed = u128::from(now.nanos_since(slice.start));
                Span::from_nanos(wait.saturating_sub(passed))
            }
        }
    }

    /// The record of a key, which is opened where there is none, without what is over.
    pub(super) fn record<'a>(&self, cell: &'a mut SliceCell, now: Instant) -> &'a mut SliceRecord {
        if let SliceCell::One {
            at,
            own,
            told,
            marks,
        } = *cell
        {
            let slice = self.slice(at, own, told);
            let slices = if slice.all() > 0 {
                vec![slice]
            } else {
                Vec::new()
            };
            *cell = SliceCell::Many(Box::new(SliceRecord {
                slices,
                marks,
                ..SliceRecord::default()
            }));
        }
        let first = self.first(now);
        match cell {
            SliceCell::Many(record) => {
                record.slices.retain(|it| it.start >= first && it.all() > 0);
                record
            }
            SliceCell::One { .. } => unreachable!("it was opened just now"),
        }
    }

    /// The slice that holds an instant; `None` where there are too many, or what came then was given back.
    pub(super) fn at<'a>(
        &self,
        record: &'a mut SliceRecord,
        at: Instant,
        now: Instant,
    ) -> Option<&'a mut Slice> {
        let start = self.start(at);
        if start < self.first(now) || at < record.reset {
            return None;
        }
        let place = record.slices.partition_point(|it| it.start < start);
        if record.slices.get(place).is_none_or(|it| it.start != start) {
            if record.slices.len() > self.window.past() as usize + AHEAD_MAX {
                return None;
            }
            let empty = Slice {
                start,
                at,
                own: 0,
                told: 0,
            };
            record.slices.insert(place, empty);
        }
        record.slices.get_mut(place)
    }

    /// Puts a record that fits back into a cell.
    pub(super) fn close(&self, cell: &mut SliceCell, now: Instant) {
        let SliceCell::Many(record) = cell else {
            return;
        };
        if record.reset.saturating_add(self.grace) > now {
            return;
        }
        let marks = record.marks;
        let calm = match record.slices.as_slice() {
            [] => Some(SliceCell::default()),
            [one] => {
                let own = u32::try_from(one.own).ok();
                let told = u32::try_from(one.told).ok();
                own.zip(told).map(|(own, told)| SliceCell::One {
                    at: one.at,
                    own,
                    told,
                    marks,
                })
            }
            _ => None,
        };
        if let Some(calm) = calm {
            *cell = calm;
        }
    }

    pub(super) fn share(&self, room: u64) -> u64 {
        let share = self.sigma.of(u128::from(room)) / u128::from(self.nodes);
        let share = u64::try_from(share).unwrap_or(u64::MAX);
        planted!("links-window-share", share, share.saturating_add(1))
    }
}

fn sum(live: &[Slice]) -> u64 {
    let all = live.iter().map(Slice::all);
    all.fold(0, u64::saturating_add)
}

/// Tokens of the current window and of the one before.
fn pair(live: &[Slice], start: Instant) -> (u64, u64) {
    let (current, before): (Vec<Slice>, Vec<Slice>) = live.iter().partition(|it| it.start == start);
    (sum(&current), sum(&before))
}
