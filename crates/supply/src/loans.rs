//! The two books of a loan: what its lender remembers, and what its borrower counts on.
//!
//! Rates and tokens that go to and fro are totals over the life of a loan, so that lost, doubled and reordered messages
//! change nothing: the borrower's amount never exceeds the lender's, since it believes a gift after it was booked and
//! books a return before it reports it. Not here: when they are made and end.

use tollgate_gossip::NodeId;
use tollgate_limit::Instant;

use crate::setup::Boot;

/// A loan in the book of its lender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BookedLoan {
    pub(crate) to: NodeId,
    pub(crate) boot: Boot,
    pub(crate) seq: u64,
    /// The ask that began it.
    pub(crate) opened: u64,
    /// The last ask that was answered.
    pub(crate) ticket: u64,
    /// The last ask by which it was extended.
    pub(crate) extended: u64,
    /// Rate given, altogether.
    pub(crate) given: u128,
    /// Rate reported as given back, altogether.
    pub(crate) returned: u128,
    /// Tokens given, altogether.
    pub(crate) tokens: u128,
    /// Tokens that came back, altogether.
    pub(crate) tokens_back: u128,
    /// Until when the borrower may count on it.
    pub(crate) until: Instant,
    /// Since when the borrower was told to keep less than it does.
    pub(crate) overdrawn: Option<Instant>,
}

/// A loan in the book of its borrower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Borrowed {
    pub(crate) from: NodeId,
    pub(crate) boot: Boot,
    pub(crate) seq: u64,
    /// Rate asked for, altogether; no more than that is believed.
    pub(crate) asked: u128,
    /// Rate taken, altogether.
    pub(crate) taken: u128,
    /// Rate given back, altogether.
    pub(crate) returned: u128,
    /// Tokens taken, altogether.
    pub(crate) tokens: u128,
    /// Tokens given back, altogether.
    pub(crate) tokens_back: u128,
    /// Until when it counts.
    pub(crate) until: Instant,
    pub(crate) renew_at: Instant,
    pub(crate) since: Instant,
    /// Whether something was given back that the lender was not told yet.
    pub(crate) is_unreported: bool,
}

impl BookedLoan {
    pub(crate) fn amount(&self) -> u64 {
        narrow(self.given.saturating_sub(self.returned))
    }
}

impl Borrowed {
    pub(crate) fn amount(&self) -> u64 {
        narrow(self.taken.saturating_sub(self.returned))
    }
}

/// What is lent at once is part of a rate.
pub(crate) fn narrow(amount: u128) -> u64 {
    u64::try_from(amount).unwrap_or(u64::MAX)
}
