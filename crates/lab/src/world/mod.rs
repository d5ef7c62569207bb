//! The world: nodes, links, faults, and what happens in which order.
//!
//! Not here: who was right, which `truth` says, and traffic, which `sets` makes.

use std::fmt;

use tollgate_gossip::{Bucket, Knobs, ModeKey};
use tollgate_limit::{Instant, Span};

use crate::contender::Contender;
use crate::modes::Frequency;
use crate::truth;

mod drive;
mod fault;
pub(crate) mod hash;
mod lent;
mod limit;
mod links;
mod meter;
mod outcome;
mod owned;
mod player;
mod router;
mod sim;

pub use fault::WorldFault;
pub use lent::LendingMode;
use limit::WorldLimit;
pub use outcome::{Curves, FrameTraffic, KeyProbe, RunOutcome};
use owned::Asked;
pub use router::places;
use sim::TraceWorld;

/// One request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// When it comes.
    pub at: Instant,
    /// Who is counted.
    pub key: ModeKey,
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

/// The nodes and what is between them.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// How many nodes.
    pub nodes: u16,
    /// What every node enforces.
    pub bucket: Bucket,
    /// What may be tuned.
    pub knobs: Knobs,
    /// The same for `queue+freq`.
    pub frequency: Frequency,
    /// Who gets which request.
    pub routing: Routing,
    /// What goes wrong.
    pub faults: Vec<WorldFault>,
    /// What is recorded besides the figures.
    pub watch: RecordingOptions,
}

/// What is recorded besides the figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordingOptions {
    /// Curves over time.
    pub curves: bool,
    /// What every node knows of every key once all is quiet, beside the truth.
    pub probes: bool,
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
            frequency: Frequency::default(),
            routing: Routing::Hash,
            faults: Vec::new(),
            watch: RecordingOptions::default(),
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
    /// No contract can say what nodes should enforce.
    Contract,
    /// Something befalls nodes that those who lend or decide for others are not put through here.
    Lent,
}

/// The most nodes a world has: numbers of nodes are two bytes on the wire, and each has some to change to.
pub const NODES_MAX: u16 = 6_500;

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
            Self::Contract => f.write_str("no contract can say that: smaller numbers, or a shorter period"),
            Self::Lent => f.write_str(
                "lease, supply and split know delay, loss, copies, cuts and skew here; `lab run lease-faults` has crashes",
            ),
        }
    }
}

impl std::error::Error for BadWorld {}

/// Runs one contender on one trace, which is in order of time.
///
/// A request that comes while every node is down is answered by nobody, and not judged.
pub fn simulate(
    cluster: &Cluster,
    contender: Contender,
    trace: &[Request],
    seed: u64,
) -> Result<RunOutcome, BadWorld> {
    Ok(answered(cluster, contender, trace, seed)?.1)
}

/// The same with the answers, in order; requests that nobody answered are left out.
pub(crate) fn answered(
    cluster: &Cluster,
    contender: Contender,
    trace: &[Request],
    seed: u64,
) -> Result<(Vec<(Request, bool)>, RunOutcome), BadWorld> {
    cluster.check(trace)?;
    match contender {
        Contender::Central => run(&cluster.alone(), Contender::Local, trace, seed),
        Contender::Lent(lent) if lent != LendingMode::Owner && lent != LendingMode::Store => {
            lent::run(cluster, lent, trace, seed)
        }
        design => run(cluster, design, trace, seed),
    }
}

fn run(
    cluster: &Cluster,
    design: Contender,
    trace: &[Request],
    seed: u64,
) -> Result<(Vec<(Request, bool)>, RunOutcome), BadWorld> {
    let limit = WorldLimit::bucket(cluster, design, trace.len())?;
    let mut world = TraceWorld::new(cluster, &limit, trace, seed);
    let answers = answers(&mut world, trace);
    let (answered, admitted): (Vec<_>, Vec<_>) = answers.iter().copied().unzip();
    let quiet_s = world.settle();
    let probes = if cluster.watch.probes {
        world.probe(&truth::levels(cluster.bucket, &answered, &admitted))
    } else {
        Vec::new()
    };
    let mut outcome = world.finish(quiet_s);
    outcome.probes = probes;
    outcome.requests = trace.len() as u64;
    outcome.judged = truth::judge(cluster.bucket, &answered, &admitted);
    if cluster.watch.curves {
        outcome.curves.follow(cluster.bucket, &answered, &admitted);
    }
    Ok((answers, outcome))
}

/// The answers of one design to one trace, in order, for whoever judges them by other means. Requests that nobody
/// answered are left out.
pub fn answers_of(
    cluster: &Cluster,
    design: Contender,
    trace: &[Request],
    seed: u64,
) -> Result<Vec<(Request, bool)>, BadWorld> {
    cluster.check(trace)?;
    let limit = WorldLimit::bucket(cluster, design, trace.len())?;
    let mut world = TraceWorld::new(cluster, &limit, trace, seed);
    Ok(answers(&mut world, trace))
}

/// Runs a policy in the place of the cluster's bucket, as contract files have it: the answers, and an outcome in which
/// nothing is judged.
pub(crate) fn simulate_policy(
    cluster: &Cluster,
    policy: &str,
    trace: &[Request],
    seed: u64,
) -> Result<(Vec<(Request, bool)>, RunOutcome), BadWorld> {
    cluster.check(trace)?;
    let limit = WorldLimit::policy(cluster, policy, trace.len())?;
    let mut world = TraceWorld::new(cluster, &limit, trace, seed);
    let answers = answers(&mut world, trace);
    let quiet_s = world.settle();
    Ok((answers, world.finish(quiet_s)))
}

/// Brings a world every request; those that somebody answered, and how.
fn answers(world: &mut TraceWorld<'_>, trace: &[Request]) -> Vec<(Request, bool)> {
    let answer = |request: &Request| Some((*request, world.request(request)?));
    let answers: Vec<_> = trace.iter().filter_map(answer).collect();
    let decided = world.decided();
    let answered = answers.into_iter().filter_map(|(request, asked)| {
        let passed = match asked {
            Asked::Now(passed) => passed,
            Asked::Later(number) => *decided.get(&number)?,
        };
        Some((request, passed))
    });
    answered.collect()
}

impl Cluster {
    /// Whether such a world can be built, and lived in by that trace.
    fn check(&self, trace: &[Request]) -> Result<(), BadWorld> {
        if self.nodes == 0 || self.nodes > NODES_MAX {
            return Err(BadWorld::Nodes(self.nodes));
        }
        let named = trace.iter().filter_map(|request| request.node);
        let afflicted = self.faults.iter().flat_map(WorldFault::nodes);
        if let Some(node) = named.chain(afflicted).find(|&node| node >= self.nodes) {
            let nodes = self.nodes;
            return Err(BadWorld::NoSuchNode { node, nodes });
        }
        let falls = trace.windows(2).position(|pair| match pair {
            [a, b] => b.at < a.at,
            _ => false,
        });
        falls.map_or(Ok(()), |index| {
            Err(BadWorld::OutOfOrder { index: index + 1 })
        })
    }

    /// The same with one node, whom nothing befalls.
    fn alone(&self) -> Self {
        Self {
            nodes: 1,
            faults: Vec::new(),
            ..self.clone()
        }
    }
}
