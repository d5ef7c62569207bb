//! Settings of a node in its cluster.
//!
//! Not here: the source of these values (settings, the data folder), and keys.

use std::net::SocketAddr;

use tollgate_limit::Span;

use crate::roll::MissingNode;

/// One boot of one node, and how it finds its peers.
#[derive(Clone, Debug)]
pub struct ClusterConfig {
    /// Cut to 64 bytes.
    pub name: String,
    /// For operators and for placement; cut to 32 bytes.
    pub zone: Option<String>,
    /// Share of the load, relative to the other nodes.
    pub capacity: u32,
    pub version: String,
    /// Identifies the node across all its boots.
    pub id: u128,
    /// Counts the boots of this node; a later one replaces an earlier one at every node.
    pub generation: u64,
    /// This boot: random, never used before. The seal's subkey depends on it.
    pub boot: u64,
    /// The address under which the others reach it.
    pub advertise: SocketAddr,
    /// Addresses to search for peers. Its own address among them is harmless.
    pub seeds: Vec<SocketAddr>,
    /// The longest datagram, seal included, without the headers of IP and UDP; clamped to `MTU_MIN..=MTU_MAX`.
    pub mtu: usize,
    /// The most that is sent per second, headers included; probes are counted but never held back.
    pub bytes_per_second_max: Option<u64>,
    /// Seed of every random choice.
    pub seed: u64,
    pub pace: FailureTiming,
    /// Nodes that were members, or missing, when this node last ran.
    pub missing: Vec<MissingNode>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureTiming {
    pub probe: Span,
    /// How long the answer to a probe may take before other nodes are asked to probe.
    pub answer: Span,
    /// How long a node without answers stays suspected before it counts as gone. It grows with the size of the
    /// cluster.
    pub suspect: Span,
    /// How long a node without peers looks for one before it reports that it is alone.
    pub alone: Span,
}

impl FailureTiming {
    /// For nodes with delays of milliseconds.
    pub const LAN: Self = Self {
        probe: Span::from_nanos(1_000_000_000),
        answer: Span::from_nanos(500_000_000),
        suspect: Span::from_nanos(4_000_000_000),
        alone: Span::from_nanos(3_000_000_000),
    };

    /// For nodes with delays of 100 ms and more.
    pub const WAN: Self = Self {
        probe: Span::from_nanos(5_000_000_000),
        answer: Span::from_nanos(3_000_000_000),
        suspect: Span::from_nanos(30_000_000_000),
        alone: Span::from_nanos(10_000_000_000),
    };
}

impl Default for FailureTiming {
    fn default() -> Self {
        Self::LAN
    }
}

impl ClusterConfig {
    /// The usual length of a datagram: what an Ethernet frame holds, minus room for tunnels.
    pub const MTU: usize = 1400;
    /// The shortest that may be set: what every path of IPv6 carries, minus headers.
    pub const MTU_MIN: usize = 1200;
    /// The longest that may be set: what UDP carries.
    pub const MTU_MAX: usize = 65_000;
}
