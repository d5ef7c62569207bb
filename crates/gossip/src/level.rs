//! How keys of a bucket are counted: by the level that this node knows of, and its silent share of the room.
//!
//! The level follows from the intervals that are told and the node's own silent segments. As it is never above the
//! true one, nothing is refused that one bucket in the place of all nodes would admit. Not here: sets of intervals, and
//! what a policy asks of a key (`buckets`).

use tollgate_limit::{Instant, Span};
use tollgate_mode::planted;

use crate::bucket::{Bucket, Mark};
use crate::setup::Ratio;

use super::cell::{BucketCell, BucketRecord, add};
use super::interval::{Interval, Intervals};
use super::law::{Age, Seg};

/// A bucket shared by silent nodes.
#[derive(Clone, Debug)]
pub(super) struct Buckets {
    pub(super) bucket: Bucket,
    pub(super) wait_max: Span,
    /// Whether admitted requests wait for those before them.
    pub(super) leaks: bool,
    /// How much of the room a node keeps to itself, in shares.
    pub(super) sigma: Ratio,
    /// How fast silence is forgotten, in shares of the refill.
    pub(super) fade: Ratio,
    /// How long what has drained is kept.
    pub(super) grace: Span,
    /// Own segments of a key at most.
    pub(super) segs_max: usize,
    pub(super) nodes: u64,
}

impl Buckets {
    /// Where the backlog ends, as known here.
    pub(super) fn end(&self, cell: &BucketCell) -> Mark {
        match cell {
            BucketCell::Silent { tokens: 0, .. } => Mark(0),
            BucketCell::Silent { at, tokens, .. } => self.mark(*at).plus(self.tokens(*tokens)),
            BucketCell::Told { end, rest, .. } => self.mark(*end).plus(u128::from(*rest)),
            BucketCell::Busy(record) => record.view.map_or(Mark(0), |view| view.end),
        }
    }

    pub(super) fn level(&self, cell: &BucketCell, now: Instant) -> u128 {
        self.end(cell).since(self.mark(now))
    }

    pub(super) fn mark(&self, at: Instant) -> Mark {
        self.bucket.mark(at)
    }

    /// What a calm key is told of.
    pub(super) fn interval(&self, cell: &BucketCell) -> Option<Interval> {
        let BucketCell::Told {
            start, is_loose, ..
        } = *cell
        else {
            return None;
        };
        Some(Interval {
            start,
            end: self.end(cell),
            is_loose,
        })
    }

    fn intervals(&self, cell: &BucketCell) -> Intervals {
        self.interval(cell)
            .map_or_else(Intervals::default, Intervals::of)
    }

    pub(super) fn tokens(&self, tokens: u32) -> u128 {
        self.bucket.grains(u64::from(tokens))
    }

    /// The last instant before a mark, or at it.
    pub(super) fn floor(&self, mark: Mark) -> Instant {
        let nanos = mark.0 / self.bucket.refilled(1);
        Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// How long a request waits that is admitted, or after how long one that is not could be.
    pub(super) fn wait(&self, level: u128, short: u128) -> Result<Span, Span> {
        if self.leaks {
            return match short {
                0 => Ok(self.bucket.time_for(level)),
                short => Err(self.bucket.time_for(short)),
            };
        }
        let wait = self.bucket.time_for(short);
        match wait.as_nanos().checked_sub(self.wait_max.as_nanos()) {
            None | Some(0) => Ok(wait),
            Some(over) => Err(Span::from_nanos(over)),
        }
    }

    /// How long grains take to fade; `None` where they never do.
    fn fading(&self, grains: u128) -> Option<Span> {
        let whole = grains.checked_mul(u128::from(self.nodes))?;
        Some(self.bucket.time_for(self.fade.whole_of(whole)?))
    }

    /// Tokens that so many grains are a part of.
    pub(super) fn rounded(&self, grains: u128) -> u64 {
        let token = self.bucket.grains(1);
        self.bucket.tokens(grains.saturating_add(token - 1))
    }

    /// From when on `grains` more are forgotten, if all before are by `faded`.
    pub(super) fn faded(&self, faded: Instant, grains: u128) -> Instant {
        let fading = self.fading(grains);
        fading.map_or(Instant::LAST, |fading| faded.saturating_add(fading))
    }

    /// Grains that fade in so many grains of time, among so many nodes.
    fn fades(&self, drained: u128, nodes: u64) -> u128 {
        let nodes = planted!("links-fade-as-one", nodes, 1);
        self.fade.of(drained) / u128::from(nodes.max(1))
    }

    /// How many nodes a calm key takes note of.
    pub(super) fn nodes(&self) -> u16 {
        u16::try_from(self.nodes).unwrap_or(u16::MAX)
    }

    /// Grains of silent tokens that are forgotten at `faded`, as among so many nodes.
    pub(super) fn secret(&self, tokens: u32, faded: Instant, nodes: u16, now: Instant) -> u128 {
        let all = self.tokens(tokens);
        if faded == Instant::LAST {
            return all;
        }
        let time = self.bucket.refilled(faded.nanos_since(now));
        self.fades(time, u64::from(nodes)).min(all)
    }

    /// Grains that a node may keep to itself: whole tokens.
    pub(super) fn share(&self, level: u128) -> u128 {
        let room = self.bucket.capacity().saturating_sub(level);
        let share = self.sigma.of(room) / u128::from(self.nodes);
        let share = self.bucket.tokens(share);
        self.bucket
            .grains(planted!("links-share-one-more", share, share + 1))
    }

    /// The latest end that a report may bring a bucket to.
    pub(super) fn cap(&self, age: Age, now: Instant) -> Mark {
        let full = self.bucket.capacity();
        let waiting = u64::try_from(self.wait_max.as_nanos()).unwrap_or(u64::MAX);
        let more = match age {
            Age::Late => planted!("links-late-debt", 0, full),
            Age::Fresh => full.max(self.bucket.refilled(waiting)),
        };
        self.mark(now).plus(full).plus(more)
    }

    /// The record of a key, which is opened where there is none, as of now.
    pub(super) fn record<'a>(
        &self,
        cell: &'a mut BucketCell,
        now: Instant,
    ) -> &'a mut BucketRecord {
        if !matches!(cell, BucketCell::Busy(_)) {
            *cell = BucketCell::Busy(Box::new(self.open(cell, now)));
        }
        match cell {
            BucketCell::Busy(record) => {
                self.refresh(record, now);
                record
            }
            _ => unreachable!("it was opened just now"),
        }
    }

    fn open(&self, cell: &BucketCell, now: Instant) -> BucketRecord {
        let mut record = BucketRecord {
            secret_at: now,
            ..BucketRecord::default()
        };
        match *cell {
            BucketCell::Silent {
                at,
                faded,
                nodes,
                tokens,
                marks,
            } if tokens > 0 && faded > now => {
                record.own = vec![Seg::new(at, u64::from(tokens))];
                record.secret = self.secret(tokens, faded, nodes, now);
                record.marks = marks;
            }
            BucketCell::Told { .. } => record.told = self.intervals(cell),
            BucketCell::Silent { .. } | BucketCell::Busy(_) => {}
        }
        record.look(self.bucket);
        record
    }

    /// Brings a record up to date: silence fades, what has drained is carried over and forgotten.
    pub(super) fn refresh(&self, record: &mut BucketRecord, now: Instant) {
        let before = (record.own.len(), record.told.len());
        self.fade(record, now);
        let mut is_carried = false;
        for seg in &mut record.own {
            // Silent tokens in an interval that others saw drain fill the idle time after it. Others may have
            // forgotten the interval by now.
            let around = record.told.around(self.bucket, seg.at);
            let is_over = |it: &Interval| it.end <= self.mark(now) && !it.is_loose;
            let Some(around) = around.filter(is_over) else {
                continue;
            };
            let to = planted!("links-no-carry", self.floor(around.end), seg.at);
            is_carried |= to != seg.at;
            seg.at = to;
        }
        if record.heard.saturating_add(self.grace) <= now {
            let nanos = u64::try_from(self.grace.as_nanos()).unwrap_or(u64::MAX);
            let long_ago = Instant::from_nanos(now.as_nanos().saturating_sub(nanos));
            record.told.drop_until(self.mark(long_ago));
        }
        if is_carried || before != (record.own.len(), record.told.len()) {
            record.look(self.bucket);
        }
    }

    /// Silence fades while nothing told is draining; at zero it is forgotten.
    fn fade(&self, record: &mut BucketRecord, now: Instant) {
        let told = record.told.last().map_or(Mark(0), |last| last.end);
        let from = self.mark(record.secret_at).max(told);
        let drained = self.mark(now).since(from);
        record.secret = record
            .secret
            .saturating_sub(self.fades(drained, self.nodes));
        record.secret_at = now;
        if record.secret == 0 {
            record.own.clear();
        }
    }

    pub(super) fn accept_busy(&self, record: &mut BucketRecord, cost: u64, now: Instant) {
        let (work, mark) = (self.bucket.grains(cost), self.mark(now));
        let running = record.view.as_mut().filter(|view| view.end >= mark);
        match (running, record.own.last_mut()) {
            (Some(view), Some(last)) if last.at >= view.start => {
                last.n = last.n.saturating_add(cost);
                view.end = view.end.plus(work);
            }
            _ => {
                add(&mut record.own, Seg::new(now, cost), self.segs_max, false);
                record.look(self.bucket);
            }
        }
        record.secret = record.secret.saturating_add(work);
    }

    /// A key that is told of in one interval only.
    pub(super) fn as_told(&self, told: &Intervals) -> Option<BucketCell> {
        let last = told.last().filter(|_| told.len() == 1)?;
        let end = self.floor(last.end);
        let rest = u32::try_from(last.end.since(self.mark(end))).ok()?;
        Some(BucketCell::Told {
            start: last.start,
            end,
            rest,
            is_loose: last.is_loose,
        })
    }

    /// Takes a report into intervals, within a bound.
    pub(super) fn push(&self, told: &mut Intervals, seg: Seg, cap: Mark, now: Instant) {
        let before = told.last().map_or(Mark(0), |last| last.end);
        // A clock that is ahead says that tokens came later than they did.
        let is_loose = seg.is_loose || seg.at > now;
        let at = seg.at.min(now);
        told.push(
            self.bucket,
            Seg {
                at,
                is_loose,
                ..seg
            },
        );
        let end = told.last().map_or(Mark(0), |last| last.end);
        let bound = cap.max(before);
        if end > bound {
            told.end_at(self.bucket, bound);
        }
    }

    /// Takes one report about a key of which at most one interval is told; `false` where that needs a record.
    pub(super) fn learn_calm(
        &self,
        cell: &mut BucketCell,
        seg: Seg,
        cap: Mark,
        now: Instant,
    ) -> bool {
        let mut told = match *cell {
            BucketCell::Silent { tokens: 0, .. } => Intervals::default(),
            BucketCell::Told { .. } => self.intervals(cell),
            _ => return false,
        };
        self.push(&mut told, seg, cap, now);
        let is_running = told.last().is_some_and(|last| last.end >= self.mark(now));
        match self.as_told(&told).filter(|_| is_running) {
            Some(calm) => *cell = calm,
            None => return false,
        }
        true
    }

    /// What a record of a key fits into, now that it is calm; `None` where it does not.
    pub(super) fn calm(&self, record: &BucketRecord, now: Instant) -> Option<BucketCell> {
        let is_over = |since: Instant| since.saturating_add(self.grace) <= now;
        if !is_over(record.reset) {
            return None;
        }
        if record.own.is_empty() {
            if record.told.is_empty() && is_over(record.heard) {
                return Some(BucketCell::default());
            }
            let last = record.told.last()?;
            let is_enough = last.end >= self.mark(record.heard) || is_over(record.heard);
            return self.as_told(&record.told).filter(|_| is_enough);
        }
        let &[
            Seg {
                at,
                n,
                is_loose: false,
            },
        ] = record.own.as_slice()
        else {
            return None;
        };
        let tokens = u32::try_from(n).ok().filter(|_| record.told.is_empty())?;
        Some(BucketCell::Silent {
            at,
            faded: self.faded(now, record.secret),
            nodes: self.nodes(),
            tokens,
            marks: record.marks,
        })
    }

    /// Takes tokens off what is told, down to nothing.
    pub(super) fn lower(&self, record: &mut BucketRecord, tokens: u64, now: Instant) {
        let (mark, work) = (self.mark(now), self.bucket.grains(tokens));
        if let Some(last) = record.told.last().filter(|last| last.end > mark) {
            let end = Mark(last.end.since(Mark(work))).max(mark);
            record.told.end_at(self.bucket, end);
        }
        record.look(self.bucket);
    }
}

/// The last of some tokens.
pub(super) fn newest(segs: &[Seg], count: u64) -> Vec<Seg> {
    let mut before: u64 = segs
        .iter()
        .map(|seg| seg.n)
        .sum::<u64>()
        .saturating_sub(count);
    let mut kept = segs.to_vec();
    for seg in &mut kept {
        let gone = seg.n.min(before);
        seg.n -= gone;
        before -= gone;
    }
    kept.retain(|seg| seg.n > 0);
    kept
}
