//! A request to an engine, and its answer.

use std::sync::Arc;

use tollgate_limit::{Charge, Cost, Instant, Lot, Outcome};

use crate::book::{Book, StoredKey};

/// Identifies a key of a contract in an engine: the same on all nodes, and not derivable from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(pub u128);

#[derive(Clone, Debug)]
pub struct StoreRequest {
    pub book: Arc<Book>,
    pub name: Name,
    pub verb: Verb,
    /// By the node's clock; the engine uses the key's last charge if that is later.
    pub now: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Decide and charge; a cost of zero peeks.
    Check {
        cost: Cost,
        /// The key's bucket in a staged roll-out.
        lot: Lot,
    },
    /// Charge without a decision.
    Charge(Cost),
    /// Give tokens back, the most recent first.
    Refund(Cost),
    /// Charge the difference to a receipt.
    Settle { charge: Charge, actual: Cost },
    /// Delete the state of the key.
    Reset,
    /// Read the state, and change nothing.
    Show,
}

/// A change of a key's state without a decision, in plain numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreChange {
    pub kind: ChangeKind,
    /// Zero changes nothing.
    pub tokens: u64,
    /// The time of the request, or of a receipt if that is later.
    pub now: Instant,
    /// The time of the receipt; `now` without one.
    pub at: Instant,
    /// Bits of the policies that change.
    charged: u64,
}

/// The numbers are part of the engines' protocol; zero is a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// Charge, into debt if needed.
    Charge = 1,
    /// Refund the most recent charges.
    Refund = 2,
    /// Charge what a receipt lacks.
    Surcharge = 3,
    /// Refund what a receipt charged too much.
    Return = 4,
}

impl Verb {
    /// `None` for checks, resets and shows.
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
    /// Whether it changes the policy with that index.
    pub const fn is_of(&self, place: usize) -> bool {
        place < 64 && self.charged >> place & 1 == 1
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineAnswer {
    /// To a check.
    Outcome {
        outcome: Outcome,
        /// The key's new state, as far as the engine returned it: for later decisions without the engine.
        after: StoredKey,
    },
    /// To a charge, a refund, a settlement, a reset: done.
    Done,
    /// To a show; `None` for an unknown key.
    Found(Option<StoredKey>),
}
