//! What a node is told about its cluster at the start.
//!
//! Not here: where it comes from (settings, the data folder), and keys.

use std::net::SocketAddr;

use tollgate_limit::Span;

use crate::roll::MissingNode;

/// One boot of one node, and how it finds the others.
#[derive(Clone, Debug)]
pub struct ClusterConfig {
    /// The name people know it by; cut to 64 bytes.
    pub name: String,
    /// Where it stands, for people and for placement; cut to 32 bytes.
    pub zone: Option<String>,
    /// How much it can take, relative to the others.
    pub capacity: u32,
    /// The version of the program; cut to 32 bytes.
    pub version: String,
    /// The node, across all its boots.
    pub id: u128,
    /// Counts the boots of this node; a later one replaces an earlier one in everybody's list.
    pub generation: u64,
    /// This boot: random, never used before. The seal's subkey depends on it.
    pub boot: u64,
    /// Where the others reach it.
    pub advertise: SocketAddr,
    /// Where others may be found. Its own address among them is harmless.
    pub seeds: Vec<SocketAddr>,
    /// The longest datagram, seal included, without the headers of IP and UDP; brought between `MTU_MIN` and `MTU_MAX`.
    pub mtu: usize,
    /// The most that is sent per second, headers included; probes are counted but never held back.
    pub bytes_per_second_max: Option<u64>,
    /// Decides every random choice.
    pub seed: u64,
    /// How fast failures are noticed.
    pub pace: FailureTiming,
    /// Who was a member when this node last ran, or was missing then.
    pub missing: Vec<MissingNode>,
}

/// How fast failures are noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureTiming {
    /// Time between two probes.
    pub probe: Span,
    /// How long the answer to a probe may take before others are asked to try.
    pub answer: Span,
    /// How long a node that answers nobody stays suspected, before it is taken for gone. It grows with the size of the
    /// cluster.
    pub suspect: Span,
    /// How long a node without peers looks for one before it says that it is alone.
    pub alone: Span,
}

impl FailureTiming {
    /// For nodes that are milliseconds apart.
    pub const LAN: Self = Self {
        probe: Span::from_nanos(1_000_000_000),
        answer: Span::from_nanos(500_000_000),
        suspect: Span::from_nanos(4_000_000_000),
        alone: Span::from_nanos(3_000_000_000),
    };

    /// For nodes that are a tenth of a second apart and more.
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
    /// The usual length of a datagram: what an Ethernet frame holds, less tunnels.
    pub const MTU: usize = 1400;
    /// The shortest that may be set: what every path of IPv6 carries, less headers.
    pub const MTU_MIN: usize = 1200;
    /// The longest that may be set: what UDP carries.
    pub const MTU_MAX: usize = 65_000;
}
