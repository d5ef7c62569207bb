//! One thing that can be done to a limiter, as data, so that a trace can be generated, shrunk and replayed.

use crate::model::{Model, ModelAnswer, ModelReceipt};

/// One thing that can be done to a limiter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A request.
    Check {
        /// Who asks.
        key: String,
        /// For how much; zero is a peek.
        cost: u64,
        /// When.
        now_ns: u64,
    },
    /// A charge without a question.
    Charge {
        /// Who is charged.
        key: String,
        /// How much.
        amount: u64,
        /// When.
        now_ns: u64,
    },
    /// A refund without a receipt.
    Refund {
        /// Who is given back.
        key: String,
        /// How much.
        amount: u64,
        /// When.
        now_ns: u64,
    },
    /// The settlement of an earlier receipt, which is then used up.
    Settle {
        /// Chooses among the receipts outstanding, see [`Operation::pick`].
        receipt: usize,
        /// What the request really cost.
        actual: u64,
        /// When.
        now_ns: u64,
    },
    /// A key is forgotten; its receipts stay outstanding.
    Reset {
        /// Which.
        key: String,
    },
}

impl Operation {
    /// Which of `outstanding` receipts, oldest first, a settlement means; `None` if there are none.
    pub fn pick(receipt: usize, outstanding: usize) -> Option<usize> {
        receipt.checked_rem(outstanding)
    }
}

impl Model {
    /// Carries out one operation. Receipts are added to and taken out of `outstanding`; a settlement without
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
