//! Samples of a running world on a grid of time: bytes of state and bytes sent.
//!
//! Not here: curves that follow from the answers alone.

use crate::world::node::Node;

/// The finest grid.
const STEP_NS_MIN: u64 = 100_000_000;

/// Equally spaced instants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    pub(crate) start: u64,
    pub(crate) step: u64,
    taken: u64,
}

impl Grid {
    /// A grid of about `steps` steps over `duration`, none shorter than 0.1 s.
    pub(crate) fn new(start: u64, duration: u64, steps: u64) -> Self {
        Self {
            start,
            step: (duration / steps.max(1)).max(STEP_NS_MIN),
            taken: 0,
        }
    }

    /// The next instant of the grid, taken if it is before `now`.
    pub(crate) fn take_before(&mut self, now: u64) -> bool {
        let due = self
            .start
            .saturating_add(self.step.saturating_mul(self.taken));
        if due >= now {
            return false;
        }
        self.taken += 1;
        true
    }
}

/// Bytes of state, summed over samples.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    local: u128,
    all: u128,
    nodes: u128,
}

impl Sum {
    /// Adds what all running nodes hold now.
    pub(crate) fn add(&mut self, nodes: &[Node]) {
        for node in nodes.iter().filter(|node| node.is_up) {
            if let Some(replica) = &node.replica {
                let held = replica.footprint();
                self.local += u128::from(held.local);
                self.all += u128::from(held.local.saturating_add(held.extra));
                self.nodes += 1;
            }
        }
    }

    /// Mean bytes of local state of a node.
    pub(crate) fn local(self) -> f64 {
        mean(self.local, self.nodes)
    }

    /// Mean bytes of state of a node.
    pub(crate) fn all(self) -> f64 {
        mean(self.all, self.nodes)
    }

    /// Bytes of state of all nodes.
    pub(crate) fn bytes(self) -> u64 {
        u64::try_from(self.all).unwrap_or(u64::MAX)
    }
}

#[allow(clippy::cast_precision_loss, reason = "a figure to read")]
fn mean(sum: u128, count: u128) -> f64 {
    if count == 0 {
        return 0.0;
    }
    sum as f64 / count as f64
}
