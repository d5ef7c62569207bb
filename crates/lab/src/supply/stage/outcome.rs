//! What came of a run.
//!
//! Not here: what it means.

use crate::supply::check::{Excess, Sums};

#[derive(Clone, Debug, Default)]
pub(crate) struct SupplyOutcome {
    pub(crate) hash: u64,
    pub(crate) offered: u64,
    /// Of these, admitted.
    pub(crate) admitted: u64,
    /// What one bucket that sees all of them admits.
    pub(crate) central: u64,
    /// What one bucket says of those that were admitted.
    pub(crate) excess: Excess,
    /// What the nodes held.
    pub(crate) sums: Sums,
    /// The best sum in the time of recovery.
    pub(crate) recovered: i128,
    /// Messages between nodes.
    pub(crate) messages: u64,
    pub(crate) service_messages: u64,
    /// Microseconds that nodes were up, all together.
    pub(crate) up_us: u64,
    /// What the nodes held over time.
    pub(crate) samples: Vec<HoldingSample>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct HoldingSample {
    pub(crate) at: u64,
    /// What each node could use; `None` for one that is not there.
    pub(crate) usable: Vec<Option<i128>>,
    /// What each node is asked.
    pub(crate) demand: Vec<u64>,
}

impl SupplyOutcome {
    /// Messages between nodes, per node and second.
    #[allow(clippy::cast_precision_loss, reason = "a figure of three digits")]
    pub(crate) fn messages_per_node_s(&self) -> f64 {
        self.messages as f64 * 1e6 / (self.up_us as f64).max(1.0)
    }
}
