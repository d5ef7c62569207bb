//! Keys whose tokens are lent: only their owner lends, and a node that takes over begins with nothing, unless all
//! others say that they have lent nothing of it.
//!
//! Not here: lending (`tollgate-node`).

use std::time::Duration;

use tollgate_gossip::NodeId;
use tollgate_limit::{Instant, Lot};
use tollgate_node::{Node, Spot};

use super::map::Map;
use super::{Crew, Owner, join_all};
use crate::engine::{Question, QuotaAsk, Verb};
use crate::shared::Shared;

impl Owner {
    /// Keys that are lent and another's by right begin here as those of a successor: whoever asks has found the other
    /// gone.
    pub(super) fn act_for(&self, node: &Node, map: &Map, question: &Question, now: Instant) {
        if let Verb::Quota(_, QuotaAsk::Leave) = question.verb {
            return;
        }
        let known = self.crew.load();
        for spot in &question.spots {
            if map.is_lent(spot.contract) && self.owner_of(&known, map, node, spot).is_some() {
                node.act_for(spot, now);
            }
        }
    }

    /// Looks at who is there again, and lends no longer what is another's.
    pub(crate) fn look_around(&self, node: &Node, now: Instant) {
        let Some(known) = self.newer() else {
            return;
        };
        let map = self.map(node);
        let is_mine = |contract: usize, print| {
            let lot = Lot::ALWAYS;
            let spot = Spot {
                contract,
                print,
                lot,
            };
            self.owner_of(&known, &map, node, &spot).is_none()
        };
        // Before anybody asks for keys that are new here: another may have lent them.
        node.retain_lent(&is_mine, self.is_growth(&known.crew), now);
        self.adopt(known);
    }

    /// Whether nodes only came, of which none was here before: one that was may have lent what was its own then.
    fn is_growth(&self, next: &Crew) -> bool {
        let before = self.crew.load();
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

    /// Has all others say that they have not lent what this node lends, where it has never run before.
    pub(super) async fn ask_for_proof(&self, shared: &Shared) {
        let node = shared.engine.node();
        let known = self.crew.load_full();
        let others = known.crew.alive.iter().map(|(node, _)| *node);
        let others: Vec<NodeId> = others.filter(|one| Some(*one) != known.crew.me).collect();
        if others.is_empty() || known.crew.me.is_none() || !node.wants_proof() {
            return;
        }
        let view = view(&known.crew);
        let asked = others.into_iter();
        let asked = asked.map(|to| self.peers.request(to, PROVE, view.clone(), WITHIN));
        let said = join_all(asked).await;
        let is_same = self.newer().is_none() && self.crew.load().era == known.era;
        if is_same && said.iter().all(Result::is_ok) {
            node.prove_lent();
        }
    }

    /// Says that this node has lent nothing of what others lend, where it sees the same nodes as the one that asks: it
    /// lends none of their keys from here on. `None` where it cannot say so.
    pub(super) fn prove(&self, shared: &Shared, body: &[u8]) -> Option<Vec<u8>> {
        let (node, now) = (shared.engine.node(), shared.engine.now());
        self.look_around(&node, now);
        let is_same = view(&self.crew.load().crew) == body;
        (is_same && node.has_settled(now)).then(|| vec![VERSION])
    }
}

/// `version 1 | id 16 of each node`, in order.
fn view(crew: &Crew) -> Vec<u8> {
    let mut ids: Vec<u128> = crew.alive.iter().map(|(_, id)| *id).collect();
    ids.sort_unstable();
    let ids = ids.into_iter().flat_map(u128::to_le_bytes);
    std::iter::once(VERSION).chain(ids).collect()
}

/// The kind of such questions.
pub(super) const PROVE: u8 = tollgate_cluster::FrameKind::Prove as u8;
const VERSION: u8 = 1;
const WITHIN: Duration = Duration::from_millis(500);
/// Nodes that were here before and are remembered; of more, some are forgotten.
const LOST_MAX: usize = 4096;
