//! What a policy asks of a key of a window, and what links tell of it.
//!
//! Not here: what a key is made of (`slices`).

use tollgate_limit::{Instant, Span};
use tollgate_mode::{ModeProbe, ModeVerdict, Standing, planted};

use super::law::{Age, CellMarks, Law, RestoredLevel, Seg};
use super::slices::{AHEAD_MAX, Slice, SliceCell, SliceRecord, Windows};

impl Law for Windows {
    type Cell = SliceCell;

    fn set_nodes(&mut self, nodes: u64) {
        self.nodes = nodes.max(1);
    }

    fn set_terms(&mut self, _: Span, _: bool) {}

    fn probe(&self, cell: &SliceCell, cost: u64, now: Instant) -> ModeProbe {
        let (asked, limit) = (cost.max(1), self.window.limit());
        let live = self.live(cell, now);
        let room = self.room_of(&live, limit, now);
        let verdict = if asked > limit {
            ModeVerdict::Never
        } else if asked > room {
            ModeVerdict::Deny {
                retry_after: self.retry_after(&live, asked, now),
            }
        } else {
            ModeVerdict::Allow {
                remaining: room - cost,
                wait: Span::ZERO,
            }
        };
        ModeProbe {
            verdict,
            remaining: room,
            over: self.taken(&live, now).saturating_sub(limit),
        }
    }

    fn standing(&self, cell: &SliceCell, now: Instant) -> Standing {
        let live = self.live(cell, now);
        let last = live.iter().rev().find(|slice| slice.all() > 0);
        let left = last.map_or(0, |last| self.over(last.start).nanos_since(now));
        Standing {
            remaining: self.room(cell, now),
            reset_after: Span::from_nanos(u128::from(left)),
        }
    }

    fn left(&self, cell: &SliceCell, now: Instant) -> u64 {
        self.room(cell, now)
    }

    fn chargeable(&self, cell: &SliceCell, debt: u64, now: Instant) -> u64 {
        let bound = self.window.limit().saturating_add(debt);
        bound.saturating_sub(self.taken(&self.live(cell, now), now))
    }

    fn counts(&self, then: Instant, now: Instant) -> bool {
        then >= self.first(now)
    }

    fn accept(&self, cell: &mut SliceCell, cost: u64, now: Instant) {
        if let SliceCell::One { at, own, told, .. } = cell
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

    fn is_over_share(&self, cell: &mut SliceCell, now: Instant) -> bool {
        let live = self.live(cell, now);
        let silent = live.iter().map(|slice| slice.own);
        let silent = silent.fold(0, u64::saturating_add);
        silent > 0 && silent > self.share(self.room_of(&live, self.window.limit(), now))
    }

    fn report(&self, cell: &mut SliceCell, now: Instant) -> Vec<Seg> {
        let segs = self.silent(cell, now);
        let record = self.record(cell, now);
        for slice in &mut record.slices {
            slice.told = slice.told.saturating_add(core::mem::take(&mut slice.own));
        }
        self.close(cell, now);
        segs
    }

    fn learn(&self, cell: &mut SliceCell, segs: &[Seg], _: Age, now: Instant) -> bool {
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

    fn silent(&self, cell: &mut SliceCell, now: Instant) -> Vec<Seg> {
        let live = self.live(cell, now).into_iter();
        let silent = live.filter(|slice| slice.own > 0);
        silent.map(|slice| Seg::new(slice.at, slice.own)).collect()
    }

    fn recall(&self, cell: &mut SliceCell, segs: &[Seg], now: Instant) {
        let record = self.record(cell, now);
        for seg in segs {
            if let Some(slice) = self.at(record, seg.at, now) {
                slice.own = slice.own.saturating_add(seg.n);
            }
        }
        self.close(cell, now);
    }

    /// What was admitted in slices before the current one is not given back.
    fn refund(&self, cell: &mut SliceCell, cost: u64, now: Instant) -> u64 {
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

    fn give_back(&self, cell: &mut SliceCell, refund: Seg, now: Instant) {
        let record = self.record(cell, now);
        if let Some(slice) = self.at(record, refund.at, now) {
            slice.told = slice.told.saturating_sub(refund.n);
        }
        self.close(cell, now);
    }

    fn reset(&self, cell: &mut SliceCell, at: Instant, now: Instant) {
        let record = self.record(cell, now);
        for slice in &mut record.slices {
            slice.told = 0;
            slice.own = if slice.at > at { slice.own } else { 0 };
        }
        record.reset = record.reset.max(at.min(now));
    }

    fn told(&self, cell: &SliceCell, now: Instant) -> Vec<RestoredLevel> {
        let live = self.live(cell, now).into_iter();
        let told = live.filter(|slice| slice.told > 0);
        let told = told.map(|slice| RestoredLevel {
            at: slice.at,
            amount: u128::from(slice.told),
            is_loose: false,
        });
        told.collect()
    }

    fn raise(&self, cell: &mut SliceCell, told: &[RestoredLevel], _: Age, now: Instant) {
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
    fn shift(&self, cell: &mut SliceCell, from: Instant, to: Instant) {
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
        *cell = SliceCell::Many(Box::new(SliceRecord {
            slices: vec![slice],
            reset,
            marks,
        }));
        self.close(cell, to);
    }

    fn settle(&self, cell: &mut SliceCell, now: Instant) -> Option<Instant> {
        let first = self.first(now);
        let (oldest, reset) = match cell {
            SliceCell::One {
                own: 0, told: 0, ..
            } => (None, Instant::default()),
            SliceCell::One { at, .. } => (Some(self.start(*at)), Instant::default()),
            SliceCell::Many(_) => {
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

    fn marks<'a>(&self, cell: &'a mut SliceCell) -> Option<&'a mut CellMarks> {
        match cell {
            SliceCell::One { own: 0, .. } => None,
            SliceCell::One { marks, .. } => Some(marks),
            SliceCell::Many(record) => Some(&mut record.marks),
        }
    }

    fn bytes(&self, cell: &SliceCell) -> u64 {
        match cell {
            SliceCell::One { .. } => SLICE_BYTES,
            SliceCell::Many(record) => SLICE_BYTES * record.slices.len().max(1) as u64,
        }
    }
}

/// What a slice takes on paper: its start, tokens told, own tokens.
const SLICE_BYTES: u64 = 20;
