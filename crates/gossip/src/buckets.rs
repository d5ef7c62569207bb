//! What a policy asks of a key of a bucket, and what links tell of it.
//!
//! Not here: what a key is made of, and how its level follows from that (`level`).

use tollgate_limit::{Instant, Span};
use tollgate_mode::{ModeProbe, ModeVerdict, Standing, planted};

use crate::bucket::Mark;

use super::cell::{BucketCell, add};
use super::interval::{Interval, Intervals};
use super::law::{Age, CellMarks, Law, RestoredLevel, Seg};
use super::level::{Buckets, newest};

/// News of an idle key makes nodes report what they were silent about, but no more often than that.
const CUE_EVERY: Span = Span::from_nanos(1_000_000_000);
/// A record is looked at so often.
const LOOK_EVERY: Span = Span::from_nanos(1_000_000_000);

impl Law for Buckets {
    type Cell = BucketCell;

    fn set_nodes(&mut self, nodes: u64) {
        self.nodes = nodes.max(1);
    }

    fn set_wait(&mut self, wait_max: Span) {
        self.wait_max = wait_max;
    }

    fn probe(&self, cell: &BucketCell, cost: u64, now: Instant) -> ModeProbe {
        let asked = cost.max(1);
        let level = self.level(cell, now);
        let capacity = self.bucket.capacity();
        let left = |level: u128| self.bucket.tokens(capacity.saturating_sub(level));
        let wanted = level.saturating_add(self.bucket.grains(asked));
        let verdict = if asked > self.bucket.burst() {
            ModeVerdict::Never
        } else {
            match self.wait(level, wanted.saturating_sub(capacity)) {
                Ok(wait) => ModeVerdict::Allow {
                    remaining: left(level.saturating_add(self.bucket.grains(cost))),
                    wait,
                },
                Err(retry_after) => ModeVerdict::Deny { retry_after },
            }
        };
        ModeProbe {
            verdict,
            remaining: left(level),
            over: self.bucket.tokens(level.saturating_sub(capacity)),
        }
    }

    fn standing(&self, cell: &BucketCell, now: Instant) -> Standing {
        Standing {
            remaining: self.left(cell, now),
            reset_after: self.bucket.time_for(self.level(cell, now)),
        }
    }

    fn left(&self, cell: &BucketCell, now: Instant) -> u64 {
        let level = self.level(cell, now);
        self.bucket
            .tokens(self.bucket.capacity().saturating_sub(level))
    }

    fn chargeable(&self, cell: &BucketCell, debt: u64, now: Instant) -> u64 {
        let bound = self.bucket.capacity() + self.bucket.grains(debt);
        let room = bound.saturating_sub(self.level(cell, now));
        self.bucket.tokens(room)
    }

    fn counts(&self, _: Instant, _: Instant) -> bool {
        true
    }

    fn accept(&self, cell: &mut BucketCell, cost: u64, now: Instant) {
        if let BucketCell::Silent {
            at,
            faded,
            nodes,
            tokens,
            marks,
        } = *cell
            && let Ok(cost) = u32::try_from(cost)
        {
            let (is_void, more) = (tokens == 0 || faded <= now, tokens.checked_add(cost));
            let end = self.mark(at).plus(self.tokens(tokens));
            let all = match more {
                _ if is_void => Some((now, cost)),
                Some(more) if self.mark(now) <= end => Some((at, more)),
                _ => None,
            };
            if let Some((at, tokens)) = all {
                let faded = if is_void || nodes == self.nodes() {
                    self.faded(faded.max(now), self.tokens(cost))
                } else {
                    let secret = self.secret(tokens - cost, faded, nodes, now);
                    self.faded(now, secret.saturating_add(self.tokens(cost)))
                };
                *cell = BucketCell::Silent {
                    at,
                    faded,
                    nodes: self.nodes(),
                    tokens,
                    marks,
                };
                return;
            }
        }
        let record = self.record(cell, now);
        self.accept_busy(record, cost, now);
    }

    fn is_over_share(&self, cell: &mut BucketCell, now: Instant) -> bool {
        let secret = match cell {
            BucketCell::Told { .. } | BucketCell::Silent { tokens: 0, .. } => 0,
            BucketCell::Silent {
                faded,
                nodes,
                tokens,
                ..
            } => self.secret(*tokens, *faded, *nodes, now),
            BucketCell::Busy(record) => {
                self.refresh(record, now);
                record.secret
            }
        };
        secret > 0 && secret > self.share(self.level(cell, now))
    }

    fn report(&self, cell: &mut BucketCell, now: Instant) -> Vec<Seg> {
        if matches!(
            cell,
            BucketCell::Told { .. } | BucketCell::Silent { tokens: 0, .. }
        ) {
            return Vec::new();
        }
        let record = self.record(cell, now);
        if record.own.is_empty() {
            return Vec::new();
        }
        let start = record.view.map_or(now, |view| view.start);
        let first = record.own.partition_point(|own| own.at < start);
        let running = record.own.split_off(first);
        if let Some(first) = running.first() {
            let n = running.iter().map(|own| own.n);
            let n = n.fold(0, u64::saturating_add);
            record.own.push(Seg::new(first.at, n));
        }
        let segs = core::mem::take(&mut record.own);
        for seg in &segs {
            record.told.push(self.bucket, *seg);
        }
        record.secret = 0;
        record.heard = now;
        record.look(self.bucket);
        segs
    }

    fn learn(&self, cell: &mut BucketCell, segs: &[Seg], age: Age, now: Instant) -> bool {
        let cap = self.cap(age, now);
        if let &[seg] = segs
            && self.learn_calm(cell, seg, cap, now)
        {
            return false;
        }
        let record = self.record(cell, now);
        let mark = self.mark(now);
        let is_idle = |told: &Intervals| told.last().is_none_or(|last| last.end <= mark);
        let was_idle = is_idle(&record.told);
        let reset = record.reset;
        for seg in segs.iter().filter(|seg| seg.at >= reset) {
            self.push(&mut record.told, *seg, cap, now);
        }
        let is_cue = !is_idle(&record.told) || record.heard.saturating_add(CUE_EVERY) <= now;
        record.heard = now;
        record.look(self.bucket);
        let wakes = was_idle && is_cue && !record.own.is_empty();
        planted!("links-no-flush", wakes, false)
    }

    fn silent(&self, cell: &mut BucketCell, now: Instant) -> Vec<Seg> {
        match cell {
            BucketCell::Busy(record) => {
                self.refresh(record, now);
                newest(&record.own, self.rounded(record.secret))
            }
            BucketCell::Silent {
                at,
                faded,
                nodes,
                tokens,
                ..
            } if *tokens > 0 && *faded > now => {
                let all = [Seg::new(*at, u64::from(*tokens))];
                newest(
                    &all,
                    self.rounded(self.secret(*tokens, *faded, *nodes, now)),
                )
            }
            BucketCell::Silent { .. } | BucketCell::Told { .. } => Vec::new(),
        }
    }

    fn recall(&self, cell: &mut BucketCell, segs: &[Seg], now: Instant) {
        let record = self.record(cell, now);
        let reset = record.reset;
        for seg in segs.iter().filter(|seg| seg.at >= reset) {
            let at = seg.at.min(now);
            add(&mut record.own, Seg::new(at, seg.n), self.segs_max, false);
            record.secret = record.secret.saturating_add(self.bucket.grains(seg.n));
        }
        record.look(self.bucket);
        if let Some(calm) = self.calm(record, now) {
            *cell = calm;
        }
    }

    fn refund(&self, cell: &mut BucketCell, cost: u64, now: Instant) -> u64 {
        let mark = self.mark(now);
        let record = self.record(cell, now);
        let Some(view) = record.view.filter(|view| view.end > mark) else {
            return 0;
        };
        let mut left = cost;
        for seg in record.own.iter_mut().rev() {
            if seg.at >= view.start {
                let taken = left.min(seg.n);
                seg.n -= taken;
                left -= taken;
            }
        }
        record.own.retain(|seg| seg.n > 0);
        let silent = self.bucket.grains(record.silent());
        record.secret = record.secret.min(silent);
        let running = record.told.last().filter(|last| last.end > mark);
        let token = self.bucket.grains(1);
        let level = running.map_or(0, |last| last.end.since(mark));
        let told = u64::try_from(level.div_ceil(token)).unwrap_or(u64::MAX);
        let told = left.min(told);
        self.lower(record, told, now);
        told
    }

    fn give_back(&self, cell: &mut BucketCell, refund: Seg, now: Instant) {
        let record = self.record(cell, now);
        if refund.at >= record.reset {
            self.lower(record, refund.n, now);
        }
    }

    fn reset(&self, cell: &mut BucketCell, at: Instant, now: Instant) {
        let record = self.record(cell, now);
        let at = at.min(now);
        record
            .own
            .retain(|seg| planted!("links-reset-told-only", seg.at > at, true));
        record.told.clear();
        record.secret = record.secret.min(self.bucket.grains(record.silent()));
        record.reset = record.reset.max(at);
        record.heard = now;
        record.look(self.bucket);
    }

    fn told(&self, cell: &BucketCell, now: Instant) -> Vec<RestoredLevel> {
        let last = match cell {
            BucketCell::Silent { .. } | BucketCell::Told { .. } => self.interval(cell),
            BucketCell::Busy(record) => record.told.last(),
        };
        let running = last.filter(|last| last.end > self.mark(now));
        let told = running.map(|last| RestoredLevel {
            at: last.start,
            amount: last.end.since(self.mark(last.start)),
            is_loose: last.is_loose,
        });
        told.into_iter().collect()
    }

    fn raise(&self, cell: &mut BucketCell, told: &[RestoredLevel], age: Age, now: Instant) {
        let cap = self.cap(age, now);
        for known in told {
            let start = known.at.min(now);
            let end = self.mark(known.at).plus(known.amount).min(cap);
            if end <= self.mark(now) {
                continue;
            }
            let record = self.record(cell, now);
            if start >= record.reset {
                let is_loose = known.is_loose || known.at > now;
                let known = Interval {
                    start,
                    end,
                    is_loose,
                };
                record.told.raise(self.bucket, known);
                record.heard = now;
                record.look(self.bucket);
            }
            if let Some(calm) = self.calm(record, now) {
                *cell = calm;
            }
        }
    }

    fn shift(&self, cell: &mut BucketCell, from: Instant, to: Instant) {
        let moved = |at: Instant| match at {
            Instant::LAST => at,
            at => at.shifted(from, to),
        };
        match cell {
            BucketCell::Silent { at, faded, .. } => (*at, *faded) = (moved(*at), moved(*faded)),
            BucketCell::Told { start, end, .. } => (*start, *end) = (moved(*start), moved(*end)),
            BucketCell::Busy(record) => {
                let (ahead, back) = (self.mark(to), self.mark(from));
                record.told.each(|it| {
                    it.start = moved(it.start);
                    it.end = Mark(it.end.plus(ahead.0).since(back));
                });
                record.own.iter_mut().for_each(|seg| seg.at = moved(seg.at));
                record.secret_at = moved(record.secret_at);
                record.heard = moved(record.heard);
                record.reset = moved(record.reset);
                record.look(self.bucket);
            }
        }
    }

    fn settle(&self, cell: &mut BucketCell, now: Instant) -> Option<Instant> {
        if let BucketCell::Busy(record) = cell {
            self.refresh(record, now);
            if let Some(calm) = self.calm(record, now) {
                *cell = calm;
            }
        }
        let next = match cell {
            BucketCell::Silent { tokens: 0, .. } => return None,
            BucketCell::Silent { faded, .. } => *faded,
            BucketCell::Told { end, .. } => end.saturating_add(self.grace),
            BucketCell::Busy(_) => now.saturating_add(LOOK_EVERY),
        };
        (next > now).then_some(next)
    }

    fn merge(&self, waiting: &mut Vec<Seg>, more: &[Seg]) {
        for seg in more {
            let is_loose = planted!("links-merge-tight", true, false);
            add(waiting, *seg, self.segs_max, is_loose);
            // Tokens that keep the bucket busy until others came are one with them.
            waiting.dedup_by(|later, first| {
                let end = self.mark(first.at).plus(self.bucket.grains(first.n));
                let is_one = end >= self.mark(later.at);
                if is_one {
                    first.n = first.n.saturating_add(later.n);
                    first.is_loose |= later.is_loose;
                }
                is_one
            });
        }
    }

    fn marks<'a>(&self, cell: &'a mut BucketCell) -> Option<&'a mut CellMarks> {
        match cell {
            BucketCell::Silent { tokens: 0, .. } | BucketCell::Told { .. } => None,
            BucketCell::Silent { marks, .. } => Some(marks),
            BucketCell::Busy(record) => Some(&mut record.marks),
        }
    }

    fn bytes(&self, cell: &BucketCell) -> u64 {
        let BucketCell::Busy(record) = cell else {
            return CELL_BYTES;
        };
        let further = record.told.len().saturating_sub(1) as u64;
        CELL_BYTES + SEG_BYTES * record.own.len() as u64 + INTERVAL_BYTES * further
    }
}

/// What a cell takes on paper: an end, the offset of its start, silent tokens and their instant.
const CELL_BYTES: u64 = 20;
/// What a segment takes on paper.
const SEG_BYTES: u64 = 8;
/// What a further interval takes on paper.
const INTERVAL_BYTES: u64 = 12;
