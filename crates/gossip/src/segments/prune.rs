//! What a node forgets about a key, and when.
//!
//! No rule here raises a level, and none lowers it but the fading of what was never published. Nothing needs a
//! tombstone: a list that is heard again carries the instants it began at, so it adds nothing to a level once drained.
//! Not here: when it is done, beyond the instant to look again.

use tollgate_limit::{Instant, Span};

use crate::bucket::{Bucket, Mark};
use crate::list::{Backlog, Segment, backlog};
use crate::planted;
use crate::talk::{Known, Pruned};

use super::cell::{Cell, Own};
use super::rule::Segments;

impl Segments {
    pub(super) fn prune_cell(&self, cell: &mut Cell, known: &mut Known, now: Instant) -> Pruned {
        self.refresh(cell, now);
        let mut is_rewritten = false;
        if self.is_forgettable(cell, now) {
            is_rewritten = self.forget(cell, known);
        } else if self.is_settled(cell, now) {
            tidy(cell, known);
        }
        if cell.secret == 0 && !self.is_public(cell, now) {
            self.drop_secret(cell, known);
        }
        let is_empty = cell.own.is_empty() && known.is_empty();
        Pruned {
            next: (!is_empty).then(|| self.next_prune(cell, now)),
            is_rewritten,
        }
    }

    /// How long it takes for that many secret grains to fade.
    pub(super) fn fading(&self, secret: u128) -> Span {
        let shares = secret.saturating_mul(u128::from(self.nodes));
        let whole = self.fade.whole_of(shares).unwrap_or(u128::MAX);
        self.bucket.time_for(whole)
    }

    /// The published level has been zero for the time of grace.
    fn is_forgettable(&self, cell: &Cell, now: Instant) -> bool {
        let graced = |public: Backlog| {
            let end = self.bucket.instant(public.end);
            let grace = planted!("segments-forget-at-once", self.grace, Span::ZERO);
            end.saturating_add(grace) <= now
        };
        cell.public.is_some_and(graced)
    }

    /// The key is hot, and everybody has had the time of grace to answer the first news of it.
    fn is_settled(&self, cell: &Cell, now: Instant) -> bool {
        let is_old = |since: Instant| since.saturating_add(self.grace) <= now;
        let is_busy_for_long = cell.public.is_some_and(|public| is_old(public.start));
        self.is_public(cell, now) && is_old(cell.hot) && is_busy_for_long
    }

    /// Drops everything published. What is unpublished of the busy period that has ended is carried over: the published
    /// part has used the drain up to some instant, and from there on the rest is the whole backlog. Returns whether
    /// anything was carried.
    fn forget(&self, cell: &mut Cell, known: &mut Known) -> bool {
        let Some(public) = cell.public else {
            return false;
        };
        let ended = self.ended(cell, known, public.end);
        let is_carried = |own: &Own| {
            let begins = self.bucket.mark(own.start);
            own.start >= ended.start && begins < public.end
        };
        let carried: u64 = cell
            .own
            .iter()
            .filter(|own| is_carried(own))
            .map(|own| own.unsent())
            .sum();
        let mut left: Vec<Own> = Vec::new();
        if carried > 0 {
            let begins = ended.end.0.saturating_sub(self.bucket.grains(carried));
            let start = planted!(
                "segments-no-carry",
                instant_before(self.bucket, Mark(begins)),
                ended.start
            );
            push(&mut left, start, carried);
        }
        for own in cell.own.iter().filter(|own| !is_carried(own)) {
            push(&mut left, own.start, own.unsent());
        }
        left.sort_unstable_by_key(|own| own.start);
        cell.own = left;
        known.forget();
        cell.recompute(self.bucket, known);
        carried > 0
    }

    /// The backlog of everything that began before the published one ended.
    fn ended(&self, cell: &Cell, known: &Known, end: Mark) -> Backlog {
        let mut segments = cell.whole();
        segments.extend(known.published());
        segments.retain(|segment| self.bucket.mark(segment.start) < end);
        let start = self.bucket.instant(end);
        backlog(self.bucket, &mut segments).unwrap_or(Backlog { start, end })
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
        let drained = self.bucket.instant(public.end).saturating_add(self.grace);
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

/// Adds unpublished tokens to those that begin at `start`.
fn push(own: &mut Vec<Own>, start: Instant, count: u64) {
    if count == 0 {
        return;
    }
    match own.iter_mut().find(|own| own.start == start) {
        Some(own) => own.count = own.count.saturating_add(count),
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
