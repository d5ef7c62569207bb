//! A node that replays recorded requests at their own times.

use tollgate_contract::Contracts;
use tollgate_node::{Node, NodeConfig};
use tollgate_table::{Seed, Sweep, WhenFull};

/// Builds nodes for replays.
#[derive(Clone, Copy, Debug)]
pub struct Offline {
    /// The most bytes that the state of keys may take.
    pub bytes_max: u64,
}

impl Offline {
    /// Deterministic.
    pub fn node(self, contracts: Contracts) -> Node {
        // Traces are not sent by an attacker who observes answers.
        self.seeded(contracts, Seed::new(SEED))
    }

    /// The same, with another hash seed.
    pub fn seeded(self, contracts: Contracts, seed: Seed) -> Node {
        let config = NodeConfig {
            bytes_max: self.bytes_max,
            when_full: WhenFull::Evict,
            // Time may run backwards in a trace, so a cell that looks full may be needed again.
            sweep: Sweep::AtBudget,
            ..NodeConfig::default()
        };
        Node::new(contracts, config, seed)
    }
}

const SEED: [u64; 2] = [0x746f_6c6c, 0x6761_7465];
