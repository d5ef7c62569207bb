//! What a design that publishes lists must say about one key.
//!
//! Not here: how lists travel.

use std::fmt;

use tollgate_limit::Instant;

use crate::list::Segment;

use super::known::Known;

/// How one kind of limit counts: what a node keeps about a key besides what others published, and when it speaks.
pub(crate) trait Rule: fmt::Debug + Send {
    /// What a node keeps about a key.
    type Cell: fmt::Debug + Send;

    /// Hears how many nodes share a key.
    fn set_nodes(&mut self, nodes: u64);

    /// The cell of a key that was not heard of.
    fn fresh(&self, now: Instant) -> Self::Cell;

    /// Forgets what is over by now, before anything else is looked at: what a node knows must not depend on when it was
    /// pruned last. Whether unpublished counts were written in another form, so that copies of them are out of date.
    fn settle(&self, cell: &mut Self::Cell, known: &mut Known, now: Instant) -> bool;

    /// Counts what was admitted here.
    fn accept(&self, cell: &mut Self::Cell, known: &Known, taken: Taken);

    /// Hears that one list of `known` was replaced. Whether the key was thought idle by all until then.
    fn learn(&self, cell: &mut Self::Cell, known: &Known, news: News<'_>) -> bool;

    /// Whether what is unpublished here is too much to keep to itself.
    fn must_speak(&self, cell: &mut Self::Cell, now: Instant) -> bool;

    /// Tokens unpublished here, rounded up.
    fn secret(&self, cell: &mut Self::Cell, now: Instant) -> u64;

    /// Adds to what is unpublished here, after `known` took back a list of a former boot.
    fn restore(&self, cell: &mut Self::Cell, known: &Known, taken: Taken);

    /// The whole list, taken as published from now on.
    fn speak(&self, cell: &mut Self::Cell, now: Instant) -> Vec<Segment>;

    /// The whole list.
    fn whole(&self, cell: &Self::Cell) -> Vec<Segment>;

    /// The part of it that is published.
    fn told(&self, cell: &Self::Cell) -> Vec<Segment>;

    /// Drops what no decision needs; when to do so next, or `None` if nothing is left.
    fn prune(&self, cell: &mut Self::Cell, known: &mut Known, now: Instant) -> Option<Instant>;

    /// Whether what is published still counts.
    fn is_hot(&self, cell: &Self::Cell, now: Instant) -> bool;

    /// A number by which others can tell that they lack news.
    fn check(&self, cell: &Self::Cell, now: Instant) -> u32;

    /// Whether a node with that number knows more.
    fn is_behind(&self, cell: Option<&Self::Cell>, check: u32, now: Instant) -> bool;

    /// Until when a copy of that many unpublished tokens is worth keeping, if the key does not change.
    fn keep_until(&self, secret: u64, now: Instant) -> Instant;

    /// Whether copies stay as they are for now, however old.
    fn holds_copies(&self, cell: &Self::Cell, now: Instant) -> bool;

    /// How much of its limit a key has left, as known here; nothing where it has used it up.
    fn left(&self, cell: &Self::Cell, now: Instant) -> u128;

    /// Bytes of a cell, its key included.
    fn bytes(&self, cell: &Self::Cell) -> u64;
}

/// Tokens admitted, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) cost: u64,
    pub(crate) now: Instant,
}

/// A writer's list was replaced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct News<'a> {
    pub(crate) old: &'a [Segment],
    pub(crate) new: &'a [Segment],
    /// Tokens that were thought untold and are known to others after all.
    pub(crate) told: u64,
    pub(crate) now: Instant,
}
