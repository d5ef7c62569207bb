//! What the links between nodes carry, and what a way of counting must know of it.
//!
//! A [`Law`] is how one key is counted: a bucket or a window. Tokens admitted here are *silent* until they are
//! reported; what everybody reported is *told*. Not here: how reports travel (`link`, `post`).

use core::fmt;

use tollgate_limit::{Instant, Span};
use tollgate_mode::{ModeKey, ModeProbe, Standing, Weigh};

/// Tokens, and the instant of the first of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seg {
    pub(super) at: Instant,
    pub(super) n: u64,
    /// They waited for a link together although the bucket may have been full between them: whoever gets them so knows
    /// it as busy for longer than the others do.
    pub(super) is_loose: bool,
}

impl Seg {
    /// Tokens as everybody is told of them.
    pub(super) const fn new(at: Instant, n: u64) -> Self {
        Self {
            at,
            n,
            is_loose: false,
        }
    }
}

/// What was told of a key, for a node that starts: an interval of a bucket in grains, a slice of a window in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RestoredLevel {
    pub(super) at: Instant,
    pub(super) amount: u128,
    /// As with tokens.
    pub(super) is_loose: bool,
}

/// What a frame says of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LinkEntry {
    pub(super) key: ModeKey,
    pub(super) what: What,
}

/// What happened to a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Tokens were admitted.
    Report(Vec<Seg>),
    /// So many tokens were given back then.
    Refund(Seg),
    /// Everything from before then was given back.
    Reset(Instant),
}

/// How old a report is when it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Age {
    /// It comes as soon as it can: it may leave a debt.
    Fresh,
    /// It waited for a link: it takes the bucket to empty at most.
    Late,
}

/// Something is to be done with the silent tokens of a key, and the key is on a list for that.
pub(super) type CellMarks = u8;
/// They are not yet copied to the successor.
pub(super) const UNKEPT: CellMarks = 1;
/// They go out with the next frame.
pub(super) const DUE: CellMarks = 2;

/// How keys are counted.
pub(super) trait Law: fmt::Debug + Send {
    /// What is kept of one key. The default is what is known of a key that nobody ever asked for.
    type Cell: Weigh + Default + fmt::Debug + Send;

    /// So many nodes share every key.
    fn set_nodes(&mut self, nodes: u64);

    /// Requests may be made to wait so long, and all that was too much is repaid or one bucket of it.
    fn set_terms(&mut self, wait_max: Span, repays_all: bool);

    /// What a request would be answered.
    fn probe(&self, cell: &Self::Cell, cost: u64, now: Instant) -> ModeProbe;

    /// How a key stands.
    fn standing(&self, cell: &Self::Cell, now: Instant) -> Standing;

    /// Whole tokens that are left.
    fn left(&self, cell: &Self::Cell, now: Instant) -> u64;

    /// How many tokens may be charged until the key is that far below zero.
    fn chargeable(&self, cell: &Self::Cell, debt: u64, now: Instant) -> u64;

    /// Whether what was counted then still counts.
    fn counts(&self, then: Instant, now: Instant) -> bool;

    /// Counts tokens admitted here, silently.
    fn accept(&self, cell: &mut Self::Cell, cost: u64, now: Instant);

    /// Whether more is silent than a node may keep to itself.
    fn is_over_share(&self, cell: &mut Self::Cell, now: Instant) -> bool;

    /// Takes the silent tokens as told; what the others must be told.
    fn report(&self, cell: &mut Self::Cell, now: Instant) -> Vec<Seg>;

    /// Counts what another node reported; whether that is the first news of a key with silent tokens.
    fn learn(&self, cell: &mut Self::Cell, segs: &[Seg], age: Age, now: Instant) -> bool;

    /// The silent tokens.
    fn silent(&self, cell: &mut Self::Cell, now: Instant) -> Vec<Seg>;

    /// Takes silent tokens of a former start back.
    fn recall(&self, cell: &mut Self::Cell, segs: &[Seg], now: Instant);

    /// Gives tokens back; how many of them the others must be told of.
    fn refund(&self, cell: &mut Self::Cell, cost: u64, now: Instant) -> u64;

    /// Another node gave told tokens back.
    fn give_back(&self, cell: &mut Self::Cell, refund: Seg, now: Instant);

    /// Everything from before `at` was given back.
    fn reset(&self, cell: &mut Self::Cell, at: Instant, now: Instant);

    /// What is told, as far as it still counts.
    fn told(&self, cell: &Self::Cell, now: Instant) -> Vec<RestoredLevel>;

    /// Takes the greater of what is told here and elsewhere.
    fn raise(&self, cell: &mut Self::Cell, told: &[RestoredLevel], age: Age, now: Instant);

    /// The clock was set: what is used up at `from` is used up at `to`.
    fn shift(&self, cell: &mut Self::Cell, from: Instant, to: Instant);

    /// Forgets what counts no more, and takes as little room as can be; when to look again, or `None` where nothing is
    /// left.
    fn settle(&self, cell: &mut Self::Cell, now: Instant) -> Option<Instant>;

    /// Adds tokens to those that wait for a link.
    fn merge(&self, waiting: &mut Vec<Seg>, more: &[Seg]);

    /// Which lists the key is on; `None` where no token is silent.
    fn marks<'a>(&self, cell: &'a mut Self::Cell) -> Option<&'a mut CellMarks>;

    /// Bytes of a cell without its key, by the encoding in the documentation.
    fn bytes(&self, cell: &Self::Cell) -> u64;
}
