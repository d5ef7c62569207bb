//! A node that is made at once, and full soon.

use tollgate_node::NodeConfig;
use tollgate_table::{Sweep, WhenFull};

/// How it is made.
pub const CONFIG: NodeConfig = NodeConfig {
    bytes_max: 1 << 20,
    when_full: WhenFull::Evict,
    sweep: Sweep::BeforeGrowth,
    ids_max: 1 << 10,
    is_assigned: false,
    unmatched: tollgate_contract::Unmatched::Warn,
};
