//! Operations on a limiter, as data, so that a trace can be generated, shrunk and replayed.

use crate::model::{Model, ModelAnswer, ModelReceipt};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    Check {
        key: String,
        /// Zero is a peek.
        cost: u64,
        now_ns: u64,
    },
    /// A charge without a check.
    Charge {
        key: String,
        amount: u64,
        now_ns: u64,
    },
    /// A refund without a receipt.
    Refund {
        key: String,
        amount: u64,
        now_ns: u64,
    },
    /// The settlement of an earlier receipt, which is removed then.
    Settle {
        /// Chooses among the receipts outstanding, see [`Operation::pick`].
        receipt: usize,
        /// What the request actually cost.
        actual: u64,
        now_ns: u64,
    },
    /// Deletes a key; its receipts stay outstanding.
    Reset { key: String },
}

impl Operation {
    /// The index of a receipt among `outstanding` ones, oldest first; `None` if there are none.
    pub fn pick(receipt: usize, outstanding: usize) -> Option<usize> {
        receipt.checked_rem(outstanding)
    }
}

impl Model {
    /// Receipts are added to and removed from `outstanding`; a settlement without
    /// any receipt does nothing. Only a check has an answer.
    pub fn apply(
        &mut self,
        operation: &Operation,
        outstanding: &mut Vec<ModelReceipt>,
    ) -> Option<ModelAnswer> {
        match operation {
            Operation::Check { key, cost, now_ns } => {
                let answer = self.check(key, *cost, *now_ns);
                outstanding.extend(answer.receipt.clone());
                return Some(answer);
            }
            Operation::Charge {
                key,
                amount,
                now_ns,
            } => self.charge(key, *amount, *now_ns),
            Operation::Refund {
                key,
                amount,
                now_ns,
            } => self.refund(key, *amount, *now_ns),
            Operation::Settle {
                receipt,
                actual,
                now_ns,
            } => {
                if let Some(index) = Operation::pick(*receipt, outstanding.len()) {
                    self.settle(&outstanding.remove(index), *actual, *now_ns);
                }
            }
            Operation::Reset { key } => self.reset(key),
        }
        None
    }
}
