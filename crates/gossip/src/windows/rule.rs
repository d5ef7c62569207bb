//! How each algorithm sums slices, and when a node speaks.
//!
//! Every node's unpublished tokens are within its share of the room it sees, and it sees no more room than there is
//! beyond what is published; so with whole shares and instant news the sum of all never passes the limit.
//! Not here: answers.

use tollgate_limit::{Instant, Span};
use tollgate_mode::planted;

use crate::list::Segment;
use crate::setup::{Ratio, Setup, shares};
use crate::talk::{Known, News, Rule, Taken};
use tollgate_kit::mix;

use super::cell::{Cell, Own, Sum};
use super::{Shape, Window};

/// Bits of a check that hold a sum; the rest say which slice it is of.
const SUM_BITS: u32 = 24;

/// A window shared by silent nodes.
#[derive(Debug)]
pub(super) struct Windows {
    pub(super) window: Window,
    beta: Option<Ratio>,
    nodes: u64,
}

impl Windows {
    pub(super) fn new(window: Window, setup: &Setup) -> Self {
        Self {
            window,
            beta: setup.knobs.beta,
            nodes: 1,
        }
    }

    /// The first slice that counts at an instant, and the current one.
    pub(super) fn live(&self, now: Instant) -> (Instant, Instant) {
        let current = self.window.slice(now).start;
        let reach = u64::try_from(self.window.reach().as_nanos()).unwrap_or(u64::MAX);
        let first = current.as_nanos().saturating_sub(reach);
        (Instant::from_nanos(first), current)
    }

    /// Sums of the slices that count.
    pub(super) fn sums<'a>(&self, cell: &'a Cell, now: Instant) -> &'a [Sum] {
        let (first, current) = self.live(now);
        cell.sums(first, current)
    }

    /// Tokens that may still be admitted, as known here, rounded down.
    pub(super) fn room(&self, cell: Option<&Cell>, now: Instant) -> u64 {
        let sums = cell.map_or(&[][..], |cell| self.sums(cell, now));
        let limit = self.window.limit();
        if let Shape::Weighted { period } = &self.window.shape {
            let pair = Pair::new(sums, self.window.slice(now).start);
            return pair.room(limit, *period, now);
        }
        let taken = sums
            .iter()
            .fold(0_u64, |sum, slice| sum.saturating_add(slice.all));
        limit.saturating_sub(taken)
    }

    /// Tokens that are taken, as known here, rounded up.
    pub(super) fn taken(&self, cell: &Cell, now: Instant) -> u64 {
        let sums = self.sums(cell, now);
        if let Shape::Weighted { period } = &self.window.shape {
            let pair = Pair::new(sums, self.window.slice(now).start);
            return u64::MAX - pair.room(u64::MAX, *period, now);
        }
        sums.iter()
            .fold(0_u64, |sum, slice| sum.saturating_add(slice.all))
    }

    /// Own tokens that count and are not published.
    fn unsent(&self, cell: &Cell, now: Instant) -> u64 {
        let (first, _) = self.live(now);
        let live = cell.own.iter().filter(|own| own.start >= first);
        let unsent = live.map(|own| own.count.saturating_sub(own.sent));
        unsent.fold(cell.restored, u64::saturating_add)
    }

    /// Published tokens that count.
    fn published(&self, cell: &Cell, now: Instant) -> u64 {
        let sums = self.sums(cell, now).iter();
        sums.fold(0, |sum, slice| sum.saturating_add(slice.public))
    }

    fn share(&self, cell: &Cell, now: Instant) -> u64 {
        let shares = shares(self.beta, self.window.limit(), self.nodes);
        let room = u128::from(self.room(Some(cell), now));
        let part = shares.of(room) / u128::from(self.nodes);
        let share = u64::try_from(part).unwrap_or(u64::MAX);
        planted!("windows-share-one-more", share, share.saturating_add(1))
    }

    /// Eight bits that differ from one slice to the next, and the low bits of a sum.
    fn number(&self, sum: u64, now: Instant) -> u32 {
        let slice = self.window.slice(now).start;
        let [tag, ..] = mix(slice.as_nanos()).to_le_bytes();
        let [a, b, c, ..] = sum.to_le_bytes();
        u32::from_le_bytes([a, b, c, tag])
    }
}

impl Rule for Windows {
    type Cell = Cell;

    fn set_nodes(&mut self, nodes: u64) {
        self.nodes = nodes.max(1);
    }

    fn fresh(&self, _: Instant) -> Cell {
        Cell::default()
    }

    /// Slices that are over are not counted, whether they are still here or not.
    fn settle(&self, _: &mut Cell, _: &mut Known, _: Instant) -> bool {
        false
    }

    /// A clock that steps back counts in the newest slice it was in.
    fn accept(&self, cell: &mut Cell, _: &Known, taken: Taken) {
        let current = self.window.slice(taken.now).start;
        let newest = cell
            .own
            .last()
            .map_or(current, |own| own.start.max(current));
        cell.count(newest, taken.cost);
    }

    fn learn(&self, cell: &mut Cell, known: &Known, news: News<'_>) -> bool {
        if known.has_untold() || news.told > 0 {
            cell.restored = cell.restored.saturating_sub(news.told);
            cell.recompute(known);
        } else {
            cell.replace(news.old, news.new);
        }
        false
    }

    fn must_speak(&self, cell: &mut Cell, now: Instant) -> bool {
        let unsent = self.unsent(cell, now);
        unsent > 0 && unsent > self.share(cell, now)
    }

    fn secret(&self, cell: &mut Cell, now: Instant) -> u64 {
        self.unsent(cell, now)
    }

    fn restore(&self, cell: &mut Cell, known: &Known, taken: Taken) {
        cell.restored = cell.restored.saturating_add(taken.cost);
        cell.recompute(known);
    }

    fn speak(&self, cell: &mut Cell, now: Instant) -> Vec<Segment> {
        let (first, _) = self.live(now);
        cell.drop_before(first);
        cell.publish();
        self.whole(cell)
    }

    fn whole(&self, cell: &Cell) -> Vec<Segment> {
        let whole = |own: &Own| Segment {
            start: own.start,
            count: own.count,
        };
        cell.own.iter().map(whole).collect()
    }

    fn told(&self, cell: &Cell) -> Vec<Segment> {
        let told = |own: &Own| Segment {
            start: own.start,
            count: own.sent,
        };
        let sent = cell.own.iter().filter(|own| own.sent > 0);
        sent.map(told).collect()
    }

    /// Drops slices that are over, of everybody; they are over for all.
    fn prune(&self, cell: &mut Cell, known: &mut Known, now: Instant) -> Option<Instant> {
        let (live, current) = self.live(now);
        let first = planted!("windows-drop-the-current", live, self.window.slice(now).end);
        known.edit(|list| list.retain(|slice| slice.start >= first));
        known.drop_empty();
        let over = known.drop_untold_if(|entry| entry.list.iter().all(|slice| slice.start < first));
        cell.restored = cell.restored.saturating_sub(over);
        cell.drop_before(first);
        if cell.own.iter().all(|own| own.sent == 0) {
            known.said = None;
        }
        let is_empty = cell.own.is_empty() && known.is_empty();
        let oldest = cell.sums(first, Instant::LAST).first();
        let oldest = oldest.map_or(current, |sum| sum.start);
        let end = self
            .window
            .slice(oldest)
            .end
            .saturating_add(self.window.reach());
        (!is_empty).then_some(end)
    }

    fn is_hot(&self, cell: &Cell, now: Instant) -> bool {
        self.published(cell, now) > 0
    }

    fn check(&self, cell: &Cell, now: Instant) -> u32 {
        self.number(self.published(cell, now), now)
    }

    /// Sums of different slices cannot be compared; those of one are compared round the clock of their bits.
    fn is_behind(&self, cell: Option<&Cell>, check: u32, now: Instant) -> bool {
        let mine = cell.map_or(0, |cell| self.published(cell, now));
        let mine = self.number(mine, now);
        let is_same_slice = mine >> SUM_BITS == check >> SUM_BITS;
        let ahead = check.wrapping_sub(mine) << (u32::BITS - SUM_BITS);
        is_same_slice && ahead.cast_signed() > 0
    }

    fn keep_until(&self, _: u64, now: Instant) -> Instant {
        let end = self.window.slice(now).end;
        end.saturating_add(self.window.reach())
    }

    fn holds_copies(&self, _: &Cell, _: Instant) -> bool {
        false
    }

    fn left(&self, cell: &Cell, now: Instant) -> u128 {
        u128::from(self.room(Some(cell), now))
    }

    fn bytes(&self, cell: &Cell) -> u64 {
        cell.bytes()
    }
}

/// The counts of two adjacent windows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) previous: u64,
    pub(super) current: u64,
    pub(super) start: Instant,
}

impl Pair {
    pub(super) fn new(sums: &[Sum], start: Instant) -> Self {
        let sum = |is_current: bool| {
            let those = sums.iter().filter(|sum| (sum.start == start) == is_current);
            those.fold(0_u64, |sum, slice| sum.saturating_add(slice.all))
        };
        Self {
            previous: sum(false),
            current: sum(true),
            start,
        }
    }

    /// The greatest cost `n` with `previous * (P - e) + (current + n) * P <= limit * P`.
    fn room(self, limit: u64, period: Span, now: Instant) -> u64 {
        let period = period.as_nanos().max(1);
        let gone = u128::from(now.nanos_since(self.start)).min(period);
        let weighted = u128::from(self.previous).saturating_mul(period - gone);
        let whole = u128::from(limit.saturating_sub(self.current)).saturating_mul(period);
        u64::try_from(whole.saturating_sub(weighted) / period).unwrap_or(u64::MAX)
    }
}
