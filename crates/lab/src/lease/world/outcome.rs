//! What came of a run.
//!
//! Not here: what it is compared with.

use crate::lease::check::{Excess, LeaseViolations};

#[derive(Clone, Debug, Default)]
pub(crate) struct LeaseOutcome {
    pub(crate) tally: LeaseTally,
    pub(crate) checks: u64,
    pub(crate) broken: LeaseViolations,
    pub(crate) excess: Excess,
    /// Of clients: admitted here, admitted by the central bucket.
    pub(crate) clients: Vec<(u64, u64)>,
    /// The same within the window.
    pub(crate) window: (u64, u64),
    /// Records at a time: the most, and in the end.
    pub(crate) records: (usize, usize),
    /// Tokens that clients held unused, the mean over all looks, in parts of the burst.
    pub(crate) idle: f64,
    /// Admissions per slot: here, and by the central bucket.
    pub(crate) slots: Vec<(u32, u32)>,
    /// Reserved for clients in the end, in percent of the rate.
    #[cfg(test)]
    pub(crate) reserved: i128,
    pub(crate) hash: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LeaseTally {
    pub(crate) arrived: u64,
    pub(crate) admitted: u64,
    pub(crate) central: u64,
    pub(crate) messages: u64,
    pub(crate) waited: u64,
    /// Nobody answered.
    pub(crate) failed: u64,
    /// Requests that leases, and that the grantor, let pass after a wait.
    pub(crate) promised: u64,
    pub(crate) granted: u64,
    pub(crate) charged: u64,
    /// Time that requests waited, all together.
    pub(crate) wait_ns: u64,
}

#[allow(clippy::cast_precision_loss, reason = "figures of three digits")]
impl LeaseOutcome {
    /// Admitted of what the central bucket admits.
    pub(crate) fn share(&self) -> f64 {
        self.tally.admitted as f64 / (self.tally.central as f64).max(1.0)
    }

    /// The same within the window; `None` where next to nothing was asked.
    pub(crate) fn window_share(&self) -> Option<f64> {
        let (own, central) = self.window;
        (central >= 50).then(|| own as f64 / central as f64)
    }

    /// A count for each request that came.
    pub(crate) fn per_decision(&self, count: u64) -> f64 {
        count as f64 / (self.tally.arrived as f64).max(1.0)
    }

    /// What was lost against the central bucket, in requests.
    pub(crate) fn lost(&self) -> f64 {
        self.tally.central as f64 - self.tally.admitted as f64
    }

    /// Jain's index over what clients got of their central share, and the least of those with thirty admissions there.
    pub(crate) fn fairness(&self) -> Option<(f64, f64)> {
        let shares: Vec<f64> = self
            .clients
            .iter()
            .filter(|(_, central)| *central >= 30)
            .map(|(own, central)| *own as f64 / *central as f64)
            .collect();
        let squares: f64 = shares.iter().map(|share| share * share).sum();
        let sum: f64 = shares.iter().sum();
        let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
        (squares > 0.0).then(|| (sum * sum / (squares * shares.len() as f64), least))
    }
}
