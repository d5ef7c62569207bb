//! Keys that are lent begin with nothing at a node that may have had a predecessor. A node that has none has all others
//! say so.
//!
//! All must see the same nodes, so that none lends a key for another at the same time. Not here: lending
//! (`tollgate_lease`), and how questions get there.

use tollgate_gossip::NodeId;
use tollgate_limit::Instant;
use tollgate_node::Node;

use crate::{Crew, Owners};

/// What the others are asked.
#[derive(Clone, Debug)]
pub struct ProofAsk {
    /// All others.
    pub to: Vec<NodeId>,
    /// What each is asked.
    pub body: Vec<u8>,
}

impl Owners {
    /// What to ask the others, where this node would know that none of them has lent what it lends.
    pub fn proof_ask(&self, node: &Node) -> Option<ProofAsk> {
        let known = self.known();
        let me = known.crew.me?;
        let others = known.crew.alive.iter().map(|(node, _)| *node);
        let to: Vec<NodeId> = others.filter(|one| *one != me).collect();
        let body = view(&known.crew);
        (!to.is_empty() && node.wants_proof()).then_some(ProofAsk { to, body })
    }

    /// All others have said so, of the nodes that are seen now.
    pub fn handle_proof(&self, ask: &ProofAsk, node: &Node) {
        if view(&self.known().crew) == ask.body {
            node.prove_lent();
        }
    }

    /// Says that this node has lent nothing of what others lend, where it sees the same nodes as the one that asks: it
    /// lends none of their keys from here on. `None` where it cannot say so.
    pub fn prove(&self, node: &Node, body: &[u8], now: Instant) -> Option<Vec<u8>> {
        let is_same = view(&self.known().crew) == body;
        (is_same && node.has_settled(now)).then(|| vec![VERSION])
    }

    /// Whether nodes only came, of which none was here before: one that was may have lent what was its own then.
    pub(crate) fn is_growth(&self, next: &Crew) -> bool {
        let before = self.known();
        let gone = before.crew.alive.iter();
        let gone = gone.filter(|one| !next.alive.contains(one));
        let mut lost = self.lost.lock();
        let was = lost.len();
        lost.extend(gone.map(|(_, id)| *id));
        let is_less = lost.len() > was || next.alive.iter().any(|(_, id)| lost.contains(id));
        while lost.len() > LOST_MAX {
            lost.pop_first();
        }
        !is_less && (before.crew.me.is_none() || before.crew.me == next.me)
    }
}

/// `version 1 | id 16 of each node`, in order.
fn view(crew: &Crew) -> Vec<u8> {
    let mut ids: Vec<u128> = crew.alive.iter().map(|(_, id)| *id).collect();
    ids.sort_unstable();
    let ids = ids.into_iter().flat_map(u128::to_le_bytes);
    std::iter::once(VERSION).chain(ids).collect()
}

const VERSION: u8 = 1;
/// Nodes that were here before and are remembered; of more, some are forgotten.
const LOST_MAX: usize = 4096;
