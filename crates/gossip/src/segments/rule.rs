//! When a node speaks about a key, and what it makes of what it hears.
//!
//! Not here: forgetting.

use tollgate_limit::{Instant, Span};
use tollgate_mode::planted;

use crate::bucket::{Bucket, Mark};
use crate::list::{Backlog, Segment};
use crate::setup::{Ratio, Setup, shares};
use crate::talk::{Known, News, Rule, Taken};

use super::cell::Cell;

/// A bucket shared by silent nodes.
#[derive(Debug)]
pub(super) struct Segments {
    pub(super) bucket: Bucket,
    beta: Option<Ratio>,
    pub(super) fade: Ratio,
    pub(super) grace: Span,
    pub(super) nodes: u64,
}

impl Segments {
    pub(super) fn new(setup: &Setup) -> Self {
        Self {
            bucket: setup.bucket,
            beta: setup.knobs.beta,
            fade: setup.knobs.fade,
            grace: setup.knobs.grace,
            nodes: 1,
        }
    }

    /// Grains of backlog known here.
    pub(super) fn level(&self, cell: &Cell, now: Instant) -> u128 {
        let now = self.bucket.mark(now);
        cell.all.map_or(0, |all| all.end.since(now))
    }

    /// Lets the secret level fade. It stands still while something published is undrained: then what is unpublished is
    /// part of a backlog that drains as a whole. Rounded so that it fades too slowly, which only makes a node speak
    /// earlier.
    pub(super) fn refresh(&self, cell: &mut Cell, now: Instant) {
        let mut from = self.bucket.mark(cell.secret_at);
        if let Some(public) = cell.public {
            from = from.max(public.end);
        }
        let drained = self.bucket.mark(now).since(from);
        let nodes = planted!("segments-fade-as-one", self.nodes, 1);
        let faded = self.fade.of(drained) / u128::from(nodes);
        cell.secret = cell.secret.saturating_sub(faded);
        cell.secret_at = cell.secret_at.max(now);
    }

    pub(super) fn is_public(&self, cell: &Cell, now: Instant) -> bool {
        let now = self.bucket.mark(now);
        cell.public.is_some_and(|public| public.end > now)
    }

    /// Tokens a node may keep to itself.
    fn share(&self, cell: &Cell, now: Instant) -> u64 {
        let capacity = self.bucket.capacity();
        let room = capacity.saturating_sub(self.level(cell, now));
        let part = shares(self.beta, self.bucket.burst(), self.nodes).of(room);
        let share = self.bucket.tokens(part / u128::from(self.nodes));
        planted!("segments-share-one-more", share, share + 1)
    }

    /// Milliseconds of a mark, as they go over the wire: their low 32 bits.
    #[allow(clippy::cast_possible_truncation, reason = "compared round the clock")]
    fn millis(&self, mark: Mark) -> u32 {
        (self.bucket.instant(mark).as_nanos() / 1_000_000) as u32
    }

    /// Brings both backlogs up to date after one list was replaced.
    fn apply(&self, cell: &mut Cell, known: &Known, news: News<'_>) {
        let is_plain = !known.has_untold() && news.told == 0;
        if !is_plain || !self.add_difference(cell, news.old, news.new) {
            cell.recompute(self.bucket, known);
        }
    }

    /// Adds what `new` has more than `old`; `false`, perhaps half done, if only the whole union can tell.
    fn add_difference(&self, cell: &mut Cell, old: &[Segment], new: &[Segment]) -> bool {
        let mut old = old.iter().peekable();
        for &segment in new {
            while let Some(gone) = old.next_if(|gone| gone.start < segment.start) {
                if !is_past(cell, *gone) {
                    return false;
                }
            }
            let before = old.next_if(|before| before.start == segment.start);
            let before = before.map_or(0, |before| before.count);
            let count = match segment.count.checked_sub(before) {
                Some(0) => continue,
                Some(count) => count,
                None => return false,
            };
            let more = Segment { count, ..segment };
            if !self.add(&mut cell.all, more) || !self.add(&mut cell.public, more) {
                return false;
            }
        }
        old.all(|gone| is_past(cell, *gone))
    }

    pub(super) fn add(&self, backlog: &mut Option<Backlog>, more: Segment) -> bool {
        if let Some(backlog) = backlog {
            return backlog.add(self.bucket, more);
        }
        *backlog = Some(Backlog::of(self.bucket, more));
        true
    }
}

/// Whether a segment lies before both busy periods, so that neither backlog changes when it goes.
fn is_past(cell: &Cell, segment: Segment) -> bool {
    let mut backlogs = [cell.all, cell.public].into_iter().flatten();
    backlogs.all(|backlog| segment.start < backlog.start)
}

impl Rule for Segments {
    type Cell = Cell;

    fn set_nodes(&mut self, nodes: u64) {
        self.nodes = nodes.max(1);
    }

    fn fresh(&self, now: Instant) -> Cell {
        Cell::new(now)
    }

    fn settle(&self, cell: &mut Cell, known: &mut Known, now: Instant) -> bool {
        self.settle_cell(cell, known, now)
    }

    fn accept(&self, cell: &mut Cell, known: &Known, taken: Taken) {
        let Taken { cost, now } = taken;
        self.refresh(cell, now);
        let more = cell.count(self.bucket, cost, now);
        if !self.add(&mut cell.all, more) {
            cell.recompute(self.bucket, known);
        }
        cell.secret = cell.secret.saturating_add(self.bucket.grains(cost));
    }

    fn learn(&self, cell: &mut Cell, known: &Known, news: News<'_>) -> bool {
        self.refresh(cell, news.now);
        let was_public = self.is_public(cell, news.now);
        let before = cell.public;
        self.apply(cell, known, news);
        let told = self.bucket.grains(news.told);
        cell.secret = cell.secret.saturating_sub(told);
        let wakes = !was_public && self.is_public(cell, news.now);
        if !was_public && cell.public != before {
            cell.hot = news.now;
        }
        planted!("segments-no-flush", wakes, false)
    }

    fn must_speak(&self, cell: &mut Cell, now: Instant) -> bool {
        if cell.secret == 0 {
            return false;
        }
        self.refresh(cell, now);
        cell.secret > self.bucket.grains(self.share(cell, now))
    }

    fn secret(&self, cell: &mut Cell, now: Instant) -> u64 {
        self.refresh(cell, now);
        let token = self.bucket.grains(1);
        self.bucket.tokens(cell.secret.saturating_add(token - 1))
    }

    fn restore(&self, cell: &mut Cell, known: &Known, taken: Taken) {
        self.refresh(cell, taken.now);
        cell.secret = cell.secret.saturating_add(self.bucket.grains(taken.cost));
        cell.recompute(self.bucket, known);
    }

    fn speak(&self, cell: &mut Cell, now: Instant) -> Vec<Segment> {
        self.refresh(cell, now);
        let was_public = self.is_public(cell, now);
        if let Some(all) = cell.all {
            super::prune::fold_own(&mut cell.own, all.start);
        }
        for own in &mut cell.own {
            own.sent = own.count;
        }
        cell.secret = 0;
        cell.public = cell.all;
        if !was_public {
            cell.hot = now;
        }
        cell.whole()
    }

    fn whole(&self, cell: &Cell) -> Vec<Segment> {
        cell.whole()
    }

    fn told(&self, cell: &Cell) -> Vec<Segment> {
        cell.told()
    }

    fn prune(&self, cell: &mut Cell, known: &mut Known, now: Instant) -> Option<Instant> {
        self.prune_cell(cell, known, now)
    }

    fn is_hot(&self, cell: &Cell, now: Instant) -> bool {
        self.is_public(cell, now)
    }

    fn check(&self, cell: &Cell, now: Instant) -> u32 {
        let now = self.bucket.mark(now);
        self.millis(cell.public.map_or(now, |public| public.end))
    }

    /// Milliseconds are compared round the clock of 32 bits; what is drained by now lacks nothing.
    fn is_behind(&self, cell: Option<&Cell>, check: u32, now: Instant) -> bool {
        let now = self.bucket.mark(now);
        let public = cell.and_then(|cell| cell.public);
        let mine = public.map_or(now, |public| public.end.max(now));
        let ahead = check.wrapping_sub(self.millis(mine)).cast_signed();
        let Ok(ahead) = u64::try_from(ahead) else {
            return false;
        };
        let lacking = self.bucket.refilled(ahead * 1_000_000);
        ahead > 0 && lacking.saturating_mul(2) > self.bucket.grains(1)
    }

    fn keep_until(&self, secret: u64, now: Instant) -> Instant {
        now.saturating_add(self.fading(self.bucket.grains(secret)))
    }

    /// Nothing fades while the key is hot.
    fn holds_copies(&self, cell: &Cell, now: Instant) -> bool {
        self.is_public(cell, now)
    }

    fn left(&self, cell: &Cell, now: Instant) -> u128 {
        self.bucket.capacity().saturating_sub(self.level(cell, now))
    }

    fn bytes(&self, cell: &Cell) -> u64 {
        cell.bytes()
    }
}
