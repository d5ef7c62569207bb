//! The designs by name.
//!
//! Not here: `central`, one bucket that sees everything; the lab adds it.

use std::fmt;
use std::str::FromStr;

use crate::alone::Alone;
use crate::replica::Design;
use crate::setup::Setup;
use crate::{counter, home, queue, segments};

/// A way for nodes to agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Each node counts alone.
    Local,
    /// Counters per node, a limit and a refill instant, as the thesis prints them.
    Counter,
    /// The same with the limit clamped and compared at a common instant.
    CounterFixed,
    /// Elements with a time of birth and a time of death.
    Queue {
        /// Sends at once what came fast.
        freq: bool,
        /// Gossips with the neighbour that lacks most.
        linf: bool,
    },
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
    pub const ALL: [Self; 10] = [
        Self::Local,
        Self::Counter,
        Self::CounterFixed,
        Self::Queue {
            freq: false,
            linf: false,
        },
        Self::Queue {
            freq: false,
            linf: true,
        },
        Self::Queue {
            freq: true,
            linf: false,
        },
        Self::Queue {
            freq: true,
            linf: true,
        },
        Self::Segments,
        Self::Home,
        Self::Auto,
    ];

    /// The name on the command line and in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Counter => "counter",
            Self::CounterFixed => "counter+fixed",
            Self::Queue {
                freq: false,
                linf: false,
            } => "queue",
            Self::Queue {
                freq: false,
                linf: true,
            } => "queue+linf",
            Self::Queue {
                freq: true,
                linf: false,
            } => "queue+freq",
            Self::Queue {
                freq: true,
                linf: true,
            } => "queue+freq+linf",
            Self::Segments => "segments",
            Self::Home => "home",
            Self::Auto => "auto",
        }
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
    pub(crate) fn build(self, setup: Setup) -> Box<dyn Design> {
        match self.resolve(setup.bucket.burst(), setup.members.len() as u64) {
            Self::Local => Box::new(Alone::new(setup.bucket)),
            Self::Counter => counter::build(&setup, false),
            Self::CounterFixed => counter::build(&setup, true),
            Self::Queue { freq, linf } => queue::build(&setup, freq, linf),
            Self::Segments => segments::build(&setup),
            Self::Home | Self::Auto => home::build(setup),
        }
    }
}

/// No design has that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKind(pub String);

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Self, UnknownKind> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| UnknownKind(name.to_owned()))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for UnknownKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        write!(
            f,
            "no design is called {:?}; there are {}",
            self.0,
            names.join(", ")
        )
    }
}

impl std::error::Error for UnknownKind {}
