//! How keys of a window are counted: tokens per slice of time, silent and told.
//!
//! A report names the instant of its first token, and so its slice; merging is adding, and slices that are over are
//! dropped by everybody at the same instant. Not here: how windows lie in time (`crate::windows`).

use tollgate_limit::{Instant, Span};
use tollgate_mode::{Probe, Standing, Verdict, Weigh, planted};

use crate::setup::Ratio;
use crate::windows::{Shape, Window};

use super::law::{Age, Law, Marks, Seg, Told};

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
pub(super) enum Cell {
    /// One slice.
    One {
        /// In the slice: the instant of the first silent token, where there are any.
        at: Instant,
        own: u32,
        told: u32,
        marks: Marks,
    },
    /// Several slices, large counts, or a reset.
    Many(Box<Record>),
}

/// Slices of a key, ascending.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    slices: Vec<Slice>,
    /// What came before then was given back.
    reset: Instant,
    marks: Marks,
}

/// What is counted in one slice.
#[derive(Clone, Copy, Debug)]
struct Slice {
    start: Instant,
    at: Instant,
    own: u64,
    told: u64,
}

impl Slice {
    const fn all(&self) -> u64 {
        self.own.saturating_add(self.told)
    }
}

/// Slices of a key beyond those that count: of peers whose clocks are ahead.
const AHEAD_MAX: usize = 8;

impl Default for Cell {
    fn default() -> Self {
        Self::One {
            at: Instant::default(),
            own: 0,
            told: 0,
            marks: 0,
        }
    }
}

impl Weigh for Cell {
    fn heap_bytes(&self) -> u64 {
        let Self::Many(record) = self else {
            return 0;
        };
        let slices = record.slices.capacity() * size_of::<Slice>();
        (slices + size_of::<Record>()) as u64
    }
}

impl Windows {
    fn start(&self, at: Instant) -> Instant {
        self.window.slice(at).start
    }

    /// The first slice that counts now.
    fn first(&self, now: Instant) -> Instant {
        let reach = u64::try_from(self.window.reach().as_nanos()).unwrap_or(u64::MAX);
        let current = self.start(now).as_nanos();
        Instant::from_nanos(current.saturating_sub(reach))
    }

    /// Until when a slice counts.
    fn over(&self, start: Instant) -> Instant {
        let end = self.window.slice(start).end;
        end.saturating_add(self.window.reach())
    }

    /// The slices that count now: begun by now, and not over.
    fn live(&self, cell: &Cell, now: Instant) -> Vec<Slice> {
        let (first, current) = (self.first(now), self.start(now));
        let is_live = |slice: &Slice| slice.start >= first && slice.start <= current;
        match cell {
            Cell::One {
                own: 0, told: 0, ..
            } => Vec::new(),
            Cell::One { at, own, told, .. } => {
                let slice = self.slice(*at, *own, *told);
                Some(slice).filter(is_live).into_iter().collect()
            }
            Cell::Many(record) => {
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
    fn room(&self, cell: &Cell, now: Instant) -> u64 {
        self.room_of(&self.live(cell, now), self.window.limit(), now)
    }

    fn room_of(&self, live: &[Slice], limit: u64, now: Instant) -> u64 {
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
    fn taken(&self, live: &[Slice], now: Instant) -> u64 {
        u64::MAX - self.room_of(live, u64::MAX, now)
    }

    /// How long until a request that is denied now would pass, if nothing else came.
    fn retry_after(&self, live: &[Slice], cost: u64, now: Instant) -> Span {
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
    fn record<'a>(&self, cell: &'a mut Cell, now: Instant) -> &'a mut Record {
        if let Cell::One {
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
            *cell = Cell::Many(Box::new(Record {
                slices,
                marks,
                ..Record::default()
            }));
        }
        let first = self.first(now);
        match cell {
            Cell::Many(record) => {
                record.slices.retain(|it| it.start >= first && it.all() > 0);
                record
            }
            Cell::One { .. } => unreachable!("it was opened just now"),
        }
    }

    /// The slice that holds an instant; `None` where there are too many, or what came then was given back.
    fn at<'a>(&self, record: &'a mut Record, at: Instant, now: Instant) -> Option<&'a mut Slice> {
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
    fn close(&self, cell: &mut Cell, now: Instant) {
        let Cell::Many(record) = cell else { return };
        if record.reset.saturating_add(self.grace) > now {
            return;
        }
        let marks = record.marks;
        let calm = match record.slices.as_slice() {
            [] => Some(Cell::default()),
            [one] => {
                let own = u32::try_from(one.own).ok();
                let told = u32::try_from(one.told).ok();
                own.zip(told).map(|(own, told)| Cell::One {
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

    fn share(&self, room: u64) -> u64 {
        let share = self.sigma.of(u128::from(room)) / u128::from(self.nodes);
        let share = u64::try_from(share).unwrap_or(u64::MAX);
        planted!("links-window-share", share, share.saturating_add(1))
    }
}

impl Law for Windows {
    type Cell = Cell;

    fn set_nodes(&mut self, nodes: u64) {
        self.nodes = nodes.max(1);
    }

    fn set_wait(&mut self, _: Span) {}

    fn probe(&self, cell: &Cell, cost: u64, now: Instant) -> Probe {
        let (asked, limit) = (cost.max(1), self.window.limit());
        let live = self.live(cell, now);
        let room = self.room_of(&live, limit, now);
        let verdict = if asked > limit {
            Verdict::Never
        } else if asked > room {
            Verdict::Deny {
                retry_after: self.retry_after(&live, asked, now),
            }
        } else {
            Verdict::Allow {
                remaining: room - cost,
                wait: Span::ZERO,
            }
        };
        Probe {
            verdict,
            remaining: room,
            over: self.taken(&live, now).saturating_sub(limit),
        }
    }

    fn standing(&self, cell: &Cell, now: Instant) -> Standing {
        let live = self.live(cell, now);
        let last = live.iter().rev().find(|slice| slice.all() > 0);
        let left = last.map_or(0, |last| self.over(last.start).nanos_since(now));
        Standing {
            remaining: self.room(cell, now),
            reset_after: Span::from_nanos(u128::from(left)),
        }
    }

    fn left(&self, cell: &Cell, now: Instant) -> u128 {
        u128::from(self.room(cell, now))
    }

    fn chargeable(&self, cell: &Cell, debt: u64, now: Instant) -> u64 {
        let bound = self.window.limit().saturating_add(debt);
        bound.saturating_sub(self.taken(&self.live(cell, now), now))
    }

    fn counts(&self, then: Instant, now: Instant) -> bool {
        then >= self.first(now)
    }

    fn accept(&self, cell: &mut Cell, cost: u64, now: Instant) {
        if let Cell::One { at, own, told, .. } = cell
            && let Some(more) = u32::try_from(cost)
                .ok()
                .and_then(|cost| own.checked_add(cost))
            && ((*own, *told) == (0, 0) || self.start(*at) == self.start(now))
        {
            *at = if *own == 0 { now } else { *at };
            *own = more;
            return;
        }
        let record = self.record(cell, now);
        if let Some(slice) = self.at(record, now, now) {
            if slice.own == 0 {
                slice.at = now;
            }
            slice.own = slice.own.saturating_add(cost);
        }
        self.close(cell, now);
    }

    fn is_over_share(&self, cell: &mut Cell, now: Instant) -> bool {
        let live = self.live(cell, now);
        let silent = live.iter().map(|slice| slice.own);
        let silent = silent.fold(0, u64::saturating_add);
        silent > 0 && silent > self.share(self.room_of(&live, self.window.limit(), now))
    }

    fn report(&self, cell: &mut Cell, now: Instant) -> Vec<Seg> {
        let segs = self.silent(cell, now);
        let record = self.record(cell, now);
        for slice in &mut record.slices {
            slice.told = slice.told.saturating_add(core::mem::take(&mut slice.own));
        }
        self.close(cell, now);
        segs
    }

    fn learn(&self, cell: &mut Cell, segs: &[Seg], _: Age, now: Instant) -> bool {
        let record = self.record(cell, now);
        let was_idle = record.slices.iter().all(|slice| slice.told == 0);
        let is_silent = record.slices.iter().any(|slice| slice.own > 0);
        for seg in segs {
            if let Some(slice) = self.at(record, seg.at, now) {
                slice.told = slice.told.saturating_add(seg.n);
            }
        }
        self.close(cell, now);
        was_idle && is_silent
    }

    fn silent(&self, cell: &mut Cell, now: Instant) -> Vec<Seg> {
        let live = self.live(cell, now).into_iter();
        let silent = live.filter(|slice| slice.own > 0);
        silent.map(|slice| Seg::new(slice.at, slice.own)).collect()
    }

    fn recall(&self, cell: &mut Cell, segs: &[Seg], now: Instant) {
        let record = self.record(cell, now);
        for seg in segs {
            if let Some(slice) = self.at(record, seg.at, now) {
                slice.own = slice.own.saturating_add(seg.n);
            }
        }
        self.close(cell, now);
    }

    /// What was admitted in slices before the current one is not given back.
    fn refund(&self, cell: &mut Cell, cost: u64, now: Instant) -> u64 {
        let start = self.start(now);
        let record = self.record(cell, now);
        let mut told = 0;
        for slice in record.slices.iter_mut().filter(|it| it.start == start) {
            let silent = cost.min(slice.own);
            told = (cost - silent).min(slice.told);
            slice.own -= silent;
            slice.told -= told;
        }
        self.close(cell, now);
        told
    }

    fn give_back(&self, cell: &mut Cell, refund: Seg, now: Instant) {
        let record = self.record(cell, now);
        if let Some(slice) = self.at(record, refund.at, now) {
            slice.told = slice.told.saturating_sub(refund.n);
        }
        self.close(cell, now);
    }

    fn reset(&self, cell: &mut Cell, at: Instant, now: Instant) {
        let record = self.record(cell, now);
        for slice in &mut record.slices {
            slice.told = 0;
            slice.own = if slice.at > at { slice.own } else { 0 };
        }
        record.reset = record.reset.max(at.min(now));
    }

    fn told(&self, cell: &Cell, now: Instant) -> Vec<Told> {
        let live = self.live(cell, now).into_iter();
        let told = live.filter(|slice| slice.told > 0);
        let told = told.map(|slice| Told {
            at: slice.at,
            amount: u128::from(slice.told),
            is_loose: false,
        });
        told.collect()
    }

    fn raise(&self, cell: &mut Cell, told: &[Told], _: Age, now: Instant) {
        let record = self.record(cell, now);
        for known in told {
            if let Some(slice) = self.at(record, known.at, now) {
                let amount = u64::try_from(known.amount).unwrap_or(u64::MAX);
                slice.told = slice.told.max(amount);
            }
        }
        self.close(cell, now);
    }

    /// What is used up counts in the slice that holds the new time.
    fn shift(&self, cell: &mut Cell, from: Instant, to: Instant) {
        let live = self.live(cell, from);
        let used = self.taken(&live, from);
        let silent = live.iter().map(|slice| slice.own);
        let own = silent.fold(0, u64::saturating_add).min(used);
        let reset = Instant::default();
        let marks = self.marks(cell).map_or(0, |marks| *marks);
        let slice = Slice {
            start: self.start(to),
            at: to,
            own,
            told: used - own,
        };
        *cell = Cell::Many(Box::new(Record {
            slices: vec![slice],
            reset,
            marks,
        }));
        self.close(cell, to);
    }

    fn settle(&self, cell: &mut Cell, now: Instant) -> Option<Instant> {
        let first = self.first(now);
        let (oldest, reset) = match cell {
            Cell::One {
                own: 0, told: 0, ..
            } => (None, Instant::default()),
            Cell::One { at, .. } => (Some(self.start(*at)), Instant::default()),
            Cell::Many(_) => {
                let record = self.record(cell, now);
                let oldest = record.slices.first().map(|slice| slice.start);
                (oldest, record.reset)
            }
        };
        self.close(cell, now);
        let oldest =
            oldest.filter(|start| planted!("links-window-drop", *start >= first, *start > now));
        let over = oldest.map(|start| self.over(start));
        let reset = reset.saturating_add(self.grace);
        over.or_else(|| Some(reset).filter(|reset| *reset > now))
    }

    fn merge(&self, waiting: &mut Vec<Seg>, more: &[Seg]) {
        for seg in more {
            let start = self.start(seg.at);
            match waiting.iter_mut().find(|it| self.start(it.at) == start) {
                Some(same) => {
                    same.at = same.at.min(seg.at);
                    same.n = same.n.saturating_add(seg.n);
                }
                None => waiting.push(*seg),
            }
        }
        if waiting.len() > self.window.past() as usize + AHEAD_MAX {
            waiting.remove(0);
        }
    }

    fn marks<'a>(&self, cell: &'a mut Cell) -> Option<&'a mut Marks> {
        match cell {
            Cell::One { own: 0, .. } => None,
            Cell::One { marks, .. } => Some(marks),
            Cell::Many(record) => Some(&mut record.marks),
        }
    }

    fn bytes(&self, cell: &Cell) -> u64 {
        match cell {
            Cell::One { .. } => SLICE_BYTES,
            Cell::Many(record) => SLICE_BYTES * record.slices.len().max(1) as u64,
        }
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

/// What a slice takes on paper: its start, tokens told, own tokens.
const SLICE_BYTES: u64 = 20;
