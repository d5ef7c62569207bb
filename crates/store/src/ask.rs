//! One question to an engine, and its answer.

use std::sync::Arc;

use tollgate_limit::{Cost, Instant, Lot, Outcome, Receipt};

use crate::book::{Book, Found};

/// By what an engine knows a key of a contract: the same on all nodes, and not to be guessed from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(pub u128);

/// One question about one key of one contract.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The policies.
    pub book: Arc<Book>,
    /// The key.
    pub name: Name,
    /// What to do.
    pub verb: Verb,
    /// When, by the node's clock; the engine takes the newest time the key was charged at where that is later.
    pub now: Instant,
}

/// What to do to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Decide and charge; a cost of zero peeks.
    Check {
        /// The cost.
        cost: Cost,
        /// The key's place in a staged roll-out.
        lot: Lot,
    },
    /// Charge without asking.
    Charge(Cost),
    /// Give tokens back, the last taken first.
    Refund(Cost),
    /// Charge the difference to what a receipt says.
    Settle {
        /// What was charged.
        charge: Receipt,
        /// What it should have been.
        actual: Cost,
    },
    /// Forget the key.
    Reset,
    /// Show what is remembered, and change nothing.
    Show,
}

/// What an engine says to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// To a check.
    Outcome {
        /// The decision and what was charged.
        outcome: Outcome,
        /// What is remembered of the key from now on, as far as the engine told: for whoever must decide without it.
        after: Found,
    },
    /// To a charge, a refund, a settlement, a reset: it is done.
    Done,
    /// To a show; `None` for a key never seen.
    Found(Option<Found>),
}
