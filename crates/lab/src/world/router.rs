//! Which node a request is meant for.
//!
//! Not here: what happens when that node is down.

use tollgate_gossip::ModeKey;

use crate::dice::{LabDice, Purpose, scramble};
use crate::world::{BadWorld, Cluster, Request, Routing};

pub(crate) struct Router {
    nodes: u16,
    routing: Routing,
    dice: LabDice,
}

impl Router {
    pub(crate) fn new(cluster: &Cluster, seed: u64) -> Self {
        Self {
            nodes: cluster.nodes,
            routing: cluster.routing,
            dice: LabDice::new(seed, Purpose::Routing),
        }
    }

    /// The node that the next request is meant for.
    pub(crate) fn meant(&mut self, request: &Request) -> u16 {
        let hashed = hashed(request.key);
        let millis = request.at.as_nanos() / 1_000_000;
        let nodes = u64::from(self.nodes.max(1));
        let wish = match (request.node, self.routing) {
            (Some(node), _) => u64::from(node),
            (None, Routing::Hash) => scramble(hashed ^ millis) % nodes,
            (None, Routing::Sticky) => hashed % nodes,
            (None, Routing::HotNode) if self.dice.below(2) == 0 => 0,
            (None, Routing::HotNode | Routing::Uniform) => self.dice.below(nodes),
        };
        u16::try_from(wish % nodes).unwrap_or(0)
    }
}

/// The node that each request of a trace is meant for in a simulation of that seed, for clients that do the same to
/// real nodes.
pub fn places(cluster: &Cluster, trace: &[Request], seed: u64) -> Result<Vec<u16>, BadWorld> {
    cluster.check(trace)?;
    let mut router = Router::new(cluster, seed);
    let meant = |request: &Request| router.meant(request);
    Ok(trace.iter().map(meant).collect())
}

/// A key's own number, the same everywhere.
#[allow(clippy::cast_possible_truncation, reason = "in halves")]
pub(crate) fn hashed(key: ModeKey) -> u64 {
    scramble(key.0 as u64 ^ scramble((key.0 >> 64) as u64))
}
