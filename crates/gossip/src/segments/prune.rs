//! What a node forgets about a key, and when.
//!
//! No rule here raises a level, and none lowers it but the fading of what was never published. Nothing needs a
//! tombstone: a list that is heard again carries the instants it began at, so it adds nothing to a level once drained.
//! Not here: when it is done, beyond the instant to look again.

use tollgate_limit::{Instant, Span};
use tollgate_mode::planted;

use crate::bucket::{Bucket, Mark};
use crate::list::{Backlog, Segment};
use crate::talk::Known;

use super::cell::{Cell, Own};
use super::rule::Segments;

impl Segments {
    /// Forgets what is drained, and what has faded. Whether anything was carried over.
    pub(super) fn settle_cell(&self, cell: &mut Cell, known: &mut Known, now: Instant) -> bool {
        let mut is_carried = false;
        if self.is_forgettable(cell, now) {
            self.refresh(cell, now);
            is_carried = self.forget(cell, known);
        }
        if cell.secret > 0 {
            self.refresh(cell, now);
        }
        if cell.secret == 0 && !self.is_public(cell, now) {
            self.drop_secret(cell, known);
        }
        is_carried
    }

    pub(super) fn prune_cell(
        &self,
        cell: &mut Cell,
        known: &mut Known,
        now: Instant,
    ) -> Option<Instant> {
        if self.is_settled(cell, now) {
            tidy(cell, known);
        }
        let is_empty = cell.own.is_empty() && known.is_empty();
        (!is_empty).then(|| self.next_prune(cell, now))
    }

    /// How long it takes for that many secret grains to fade.
    pub(super) fn fading(&self, secret: u128) -> Span {
        let shares = secret.saturating_mul(u128::from(self.nodes));
        let whole = self.fade.whole_of(shares).unwrap_or(u128::MAX);
        self.bucket.time_for(whole)
    }

    /// The published level has been zero for the time of grace. What is heard late has its time of grace from then on,
    /// for there may be more to come: lists that are drained each by itself can be a backlog together.
    fn is_forgettable(&self, cell: &Cell, now: Instant) -> bool {
        let is_over = |public: Backlog| {
            let now = self.bucket.mark(now);
            let grace = u64::try_from(self.grace.as_nanos()).unwrap_or(u64::MAX);
            let grace = self.bucket.refilled(grace);
            planted!(
                "segments-forget-early",
                public.end.plus(grace) <= now,
                public.end <= now.plus(grace)
            )
        };
        cell.public.is_some_and(is_over) && cell.hot.saturating_add(self.grace) <= now
    }

    /// The key is hot, and everybody has had the time of grace to answer the first news of it.
    fn is_settled(&self, cell: &Cell, now: Instant) -> bool {
        let is_old = |since: Instant| since.saturating_add(self.grace) <= now;
        let is_busy_for_long = cell.public.is_some_and(|public| is_old(public.start));
        self.is_public(cell, now) && is_old(cell.hot) && is_busy_for_long
    }

    /// Drops everything published. What is unpublished of the published busy period is carried over to its end: the
    /// published part alone has used the drain until then, so from there on the rest is the whole backlog. Returns
    /// whether anything was carried.
    ///
    /// What began before that busy period must stay where it is. Carried over it would count for starts that it came
    /// before, and others may know those without what kept the bucket busy in between.
    fn forget(&self, cell: &mut Cell, known: &mut Known) -> bool {
        let Some(public) = cell.public else {
            return false;
        };
        let end = instant_before(self.bucket, public.end);
        let carry_to = planted!("segments-no-carry", end, public.start);
        let mut left: Vec<Own> = Vec::new();
        let mut is_carried = false;
        for own in cell.own.iter().filter(|own| own.unsent() > 0) {
            let is_inside = own.start >= public.start && own.start < end;
            is_carried |= is_inside;
            let start = if is_inside { carry_to } else { own.start };
            push(&mut left, start, own.unsent());
        }
        cell.own = left;
        known.forget();
        cell.recompute(self.bucket, known);
        is_carried
    }

    /// Drops what has faded without ever being published.
    fn drop_secret(&self, cell: &mut Cell, known: &mut Known) {
        let is_silent = |own: &Own| own.unsent() > 0;
        if !cell.own.iter().any(is_silent) && !known.has_untold() {
            return;
        }
        for own in &mut cell.own {
            own.count = own.sent;
        }
        cell.own.retain(|own| own.count > 0);
        known.drop_untold();
        cell.recompute(self.bucket, known);
    }

    fn next_prune(&self, cell: &Cell, now: Instant) -> Instant {
        let faded = || {
            let from = cell
                .public
                .map_or(now, |public| self.bucket.instant(public.end).max(now));
            from.saturating_add(self.fading(cell.secret))
        };
        let Some(public) = cell.public else {
            return faded();
        };
        let drained = self.bucket.instant(public.end).max(cell.hot);
        let drained = drained.saturating_add(self.grace);
        let settled = cell.hot.max(public.start).saturating_add(self.grace);
        let mut next = drained;
        if settled > now {
            next = next.min(settled);
        }
        if cell.secret > 0 {
            next = next.min(faded());
        }
        next
    }
}

/// Makes one segment of each list's part of the busy period, and drops what lies before.
///
/// Inside a busy period only its first start and the sum matter. It never splits and its start only moves back, as more
/// becomes known, so what is folded stays in one busy period for ever. Neither backlog changes.
fn tidy(cell: &mut Cell, known: &mut Known) {
    let (Some(all), Some(public)) = (cell.all, cell.public) else {
        return;
    };
    let from = planted!(
        "segments-fold-too-early",
        all.start.max(public.start),
        Instant::from_nanos(0)
    );
    let before = planted!(
        "segments-drop-the-first",
        all.start.min(public.start),
        public.start.saturating_add(Span::from_nanos(1))
    );
    known.edit(|list| {
        fold(list, from);
        list.retain(|segment| segment.start >= before);
    });
    fold_own(&mut cell.own, from);
    cell.own.retain(|own| own.start >= before);
}

/// Adds every segment from `from` on to the first of them.
fn fold(list: &mut Vec<Segment>, from: Instant) {
    let first = list.partition_point(|segment| segment.start < from);
    let folded = list.drain(first..).reduce(|first, next| Segment {
        count: first.count.saturating_add(next.count),
        ..first
    });
    list.extend(folded);
}

/// The same for own segments.
pub(super) fn fold_own(own: &mut Vec<Own>, from: Instant) {
    let first = own.partition_point(|own| own.start < from);
    let folded = own.drain(first..).reduce(|first, next| Own {
        count: first.count.saturating_add(next.count),
        sent: first.sent.saturating_add(next.sent),
        ..first
    });
    own.extend(folded);
}

/// Adds unpublished tokens that begin at `start`, no earlier than what is there.
fn push(own: &mut Vec<Own>, start: Instant, count: u64) {
    match own.last_mut().filter(|last| last.start == start) {
        Some(last) => last.count = last.count.saturating_add(count),
        None => own.push(Own {
            start,
            count,
            sent: 0,
        }),
    }
}

/// The last instant at or before `mark`: rounded so that nothing is counted that was not admitted.
fn instant_before(bucket: Bucket, mark: Mark) -> Instant {
    let after = bucket.instant(mark);
    if bucket.mark(after) > mark {
        Instant::from_nanos(after.as_nanos().saturating_sub(1))
    } else {
        after
    }
}
