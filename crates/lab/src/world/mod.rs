//! The world: nodes, links, faults, and what happens in which order.
//!
//! Not here: who was right, which `truth` says, and traffic, which `sets` makes.

use std::fmt;

use tollgate_gossip::{Bucket, Key, Kind, Knobs};
use tollgate_limit::{Instant, Span};

mod fault;
mod outcome;

pub use fault::Fault;
pub use outcome::{Curves, Outcome, Traffic};

/// One request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// When it comes.
    pub at: Instant,
    /// Who is counted.
    pub key: Key,
    /// What it costs.
    pub cost: u64,
    /// The node it goes to, where the trace says so.
    pub node: Option<u16>,
}

/// Which node gets a request that does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Routing {
    /// By the hash of its millisecond and key, as in the thesis.
    #[default]
    Hash,
    /// Any node, each equally likely.
    Uniform,
    /// By its key: always the same node.
    Sticky,
    /// Half of all to the first node, the rest to any.
    HotNode,
}

/// What is put to the test: a design, or the one bucket that sees everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    /// One bucket that sees every request at once.
    Central,
    /// Nodes that agree in that way.
    Design(Kind),
}

/// The nodes and what is between them.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// How many nodes.
    pub nodes: u16,
    /// What every node enforces.
    pub bucket: Bucket,
    /// What may be tuned.
    pub knobs: Knobs,
    /// Who gets which request.
    pub routing: Routing,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// What is recorded besides the figures.
    pub watch: Watch,
}

/// What is recorded besides the figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// Curves over time.
    pub curves: bool,
    /// How long the world goes on after it fell quiet, to see memory freed.
    pub drain: Span,
}

impl Cluster {
    /// Thirty nodes, as in the thesis, and nothing goes wrong.
    pub fn new(bucket: Bucket) -> Self {
        Self {
            nodes: 30,
            bucket,
            knobs: Knobs::default(),
            routing: Routing::Hash,
            faults: Vec::new(),
            watch: Watch::default(),
        }
    }
}

/// Why there is no such world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadWorld {
    /// A cluster of no nodes, or more than [`NODES_MAX`].
    Nodes(u16),
    /// A request comes before the one above it.
    OutOfOrder {
        /// Its place in the trace, from zero.
        index: usize,
    },
    /// A request, or a fault, names a node that is not there.
    NoSuchNode {
        /// The node named.
        node: u16,
        /// How many there are.
        nodes: u16,
    },
}

/// The most nodes a world has: writers are two bytes on the wire, and every boot needs a new one.
pub const NODES_MAX: u16 = 10_000;

impl fmt::Display for BadWorld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nodes(nodes) => write!(f, "a cluster has 1 to {NODES_MAX} nodes, not {nodes}"),
            Self::OutOfOrder { index } => {
                write!(f, "request {} comes before the one above it", index + 1)
            }
            Self::NoSuchNode { node, nodes } => {
                write!(f, "node {node} is named, but nodes are 0 to {}", nodes - 1)
            }
        }
    }
}

impl std::error::Error for BadWorld {}

/// Runs one contender on one trace, which is in order of time.
pub fn simulate(
    cluster: &Cluster,
    contender: Contender,
    trace: &[Request],
    seed: u64,
) -> Result<Outcome, BadWorld> {
    let _ = (cluster, contender, trace);
    Ok(Outcome {
        seed,
        ..Outcome::default()
    })
}
