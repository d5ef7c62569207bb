//! One question to an engine, and its answer.

use std::sync::Arc;

use tollgate_limit::{Charge, Cost, Instant, Lot, Outcome};

use crate::book::{Book, StoredKey};

/// By what an engine knows a key of a contract: the same on all nodes, and not to be guessed from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(pub u128);

/// One question about one key of one contract.
#[derive(Clone, Debug)]
pub struct StoreRequest {
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
        charge: Charge,
        /// What it should have been.
        actual: Cost,
    },
    /// Forget the key.
    Reset,
    /// Show what is remembered, and change nothing.
    Show,
}

/// How an engine changes what it keeps for a key without deciding, in plain numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreChange {
    /// What is done.
    pub kind: ChangeKind,
    /// For how many tokens; zero where nothing changes.
    pub tokens: u64,
    /// When: that of the ask, or of a receipt where that is later.
    pub now: Instant,
    /// When the receipt was made; `now` where there is none.
    pub at: Instant,
    /// Bits of the policies that are changed.
    charged: u64,
}

/// What is done without deciding. The numbers are those that engines know it by; zero is a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// Charge, into debt if need be.
    Charge = 1,
    /// Give back what was taken last.
    Refund = 2,
    /// Charge what a receipt has too little.
    Surcharge = 3,
    /// Give back what a receipt has too much.
    Return = 4,
}

impl Verb {
    /// The change that it is at `now`; `None` for what decides, forgets or shows.
    pub fn change(&self, now: Instant) -> Option<StoreChange> {
        let of_all = |kind, cost: Cost| StoreChange {
            kind,
            tokens: cost.tokens(),
            now,
            at: now,
            charged: u64::MAX,
        };
        match *self {
            Self::Charge(cost) => Some(of_all(ChangeKind::Charge, cost)),
            Self::Refund(cost) => Some(of_all(ChangeKind::Refund, cost)),
            Self::Settle { charge, actual } => {
                let is_more = actual.tokens() > charge.cost;
                let due = actual.tokens().abs_diff(charge.cost);
                Some(StoreChange {
                    kind: if is_more {
                        ChangeKind::Surcharge
                    } else {
                        ChangeKind::Return
                    },
                    tokens: if charge.charged == 0 { 0 } else { due },
                    now: now.max(charge.at),
                    at: charge.at,
                    charged: charge.charged,
                })
            }
            Self::Check { .. } | Self::Reset | Self::Show => None,
        }
    }
}

impl StoreChange {
    /// Whether it changes the policy at that place.
    pub const fn is_of(&self, place: usize) -> bool {
        place < 64 && self.charged >> place & 1 == 1
    }
}

/// What an engine says to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineAnswer {
    /// To a check.
    Outcome {
        /// The decision and what was charged.
        outcome: Outcome,
        /// What is remembered of the key from now on, as far as the engine told: for whoever must decide without it.
        after: StoredKey,
    },
    /// To a charge, a refund, a settlement, a reset: it is done.
    Done,
    /// To a show; `None` for a key never seen.
    Found(Option<StoredKey>),
}
