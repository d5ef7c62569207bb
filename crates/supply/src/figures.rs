//! What can be seen of a machine from outside.
//!
//! Not here: names and forms of metrics.

use tollgate_limit::{Instant, Span};

use crate::setup::Boot;

/// How one key stands on one node. Rates are in 10^-9 requests per second, tokens in 10^-18 requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// The rate this node may use: its valid home less what is lent, and what is borrowed.
    pub usable: u64,
    /// Its home, whether valid or not.
    pub home: u64,
    /// What of it is lent.
    pub lent: u64,
    /// What is borrowed from others.
    pub borrowed: u64,
    /// What was asked for and is not answered.
    pub asked: u64,
    /// Requests offered per second, smoothed.
    pub demand: u64,
    /// `usable` over demand (with the least weight), in thousandths.
    pub fill_milli: u64,
    /// Tokens there are; below zero they are promised.
    pub tokens: i128,
    /// Tokens there can be.
    pub depth: u128,
    /// Until when nothing of the home is used after a restart.
    pub quarantine_until: Option<Instant>,
    /// Until when the home is valid by the lease.
    pub lease_until: Option<Instant>,
    /// Loans given and taken that have not ended.
    pub loans: u32,
    /// Whether every node stands on the same limits and shares.
    pub is_settled: bool,
    /// This boot.
    pub boot: Boot,
}

/// What a machine counted since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SupplyFigures {
    /// What requests met.
    pub requests: RequestFigures,
    /// What moved.
    pub loans: LoanFigures,
    /// What was ignored or refused.
    pub ignored: IgnoredFigures,
    /// Frames sent.
    pub frames_sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Fill ratios of the probed peers at the last look, in thousandths: the least.
    pub peers_fill_min_milli: u64,
    /// And the greatest.
    pub peers_fill_max_milli: u64,
    /// When the authority last answered.
    pub authority_heard: Option<Instant>,
}

/// What requests met. Each is counted in requests, whatever they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestFigures {
    /// Requests asked for.
    pub offered: u64,
    /// Requests that passed.
    pub admitted: u64,
    /// Requests that did not.
    pub refused: u64,
    /// Those refused while the last look at others showed one that was richer.
    pub refused_while_rich: u64,
}

/// What moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoanFigures {
    /// Looks at the others.
    pub looks: u64,
    /// Asks sent.
    pub asks: u64,
    /// Loans taken, or added to.
    pub taken: u64,
    /// Loans given, or added to.
    pub given: u64,
    /// Loans renewed, as borrower.
    pub renewals: u64,
    /// Recalls sent.
    pub recalls: u64,
    /// Loans that ended without an answer, as borrower.
    pub expired: u64,
    /// Loans that ended without being reported, as lender.
    pub lapsed: u64,
    /// Answers to asks.
    pub answers: u64,
    /// How long they took altogether.
    pub answer_time: Span,
    /// Loans that ended, as borrower, in any way.
    pub ended: u64,
    /// How old they were altogether.
    pub ended_age: Span,
}

/// What was ignored or refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IgnoredFigures {
    /// Grants that came when their term was over.
    pub late: u64,
    /// Grants that had been taken before.
    pub duplicates: u64,
    /// Grants of more than was asked for, and reports of more than was lent.
    pub lies: u64,
    /// Messages from or for a boot that is over.
    pub old_boots: u64,
    /// Questions of peers whose clock runs wrong, who are not lent to.
    pub drift: u64,
    /// Asks from peers that stand on other limits or shares.
    pub elsewhere: u64,
    /// Signs that another process runs under this node's name.
    pub duplicate_identities: u64,
    /// Messages about keys for which there is no room.
    pub full: u64,
    /// Frames and messages from those who have no business here.
    pub strangers: u64,
    /// Frames that make no sense.
    pub malformed: u64,
}
