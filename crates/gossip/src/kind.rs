//! The designs of a bucket that contracts can name.
//!
//! Not here: designs that are simulated only, which the lab has.

use std::fmt;

use crate::replica::Design;
use crate::setup::Setup;
use crate::{home, segments};

/// A way for nodes to agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Busy-period segments with silent shares.
    Segments,
    /// One node per key collects and announces.
    Home,
    /// `segments` where that sends less, else `home`.
    Auto,
}

/// From that many nodes on, collecting at a home costs less than telling everybody. Measured on the limited users of
/// data set B with buckets of 1 to 30 tokens per node: telling everybody takes 0.8 to 1.2 times the bytes of a home at
/// 5 nodes, 1.0 to 1.4 at 7, 1.0 to 1.8 at 10.
const HOME_NODES_MIN: u64 = 7;

impl Kind {
    /// Every design.
    pub const ALL: [Self; 3] = [Self::Segments, Self::Home, Self::Auto];

    /// The name in contracts, on the command line and in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Segments => "segments",
            Self::Home => "home",
            Self::Auto => "auto",
        }
    }

    /// The design of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// What `auto` comes to for that bucket and cluster; every other design is itself.
    ///
    /// A home pays off once its announcements save more than they cost: not in a small cluster, and not for a bucket
    /// with fewer tokens than there are nodes, of which every token is announced. All nodes must choose alike, so what
    /// counts is the cluster as it was set up, not who is alive.
    #[must_use]
    pub fn resolve(self, burst: u64, nodes: u64) -> Self {
        match self {
            Self::Auto if nodes < HOME_NODES_MIN || burst < nodes => Self::Segments,
            Self::Auto => Self::Home,
            chosen => chosen,
        }
    }

    /// A node's part in it.
    pub fn build(self, setup: &Setup) -> Box<dyn Design> {
        match self.resolve(setup.bucket.burst(), setup.members.len() as u64) {
            Self::Segments => segments::build(setup),
            Self::Home | Self::Auto => home::build(setup),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
