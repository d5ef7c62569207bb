//! Keys whose tokens are lent: only their owner lends, and whoever takes over begins with nothing.
//!
//! Not here: lending (`tollgate-node`).

use tollgate_limit::{Instant, Lot};
use tollgate_node::{Node, Spot};

use super::Owner;
use super::map::Map;
use crate::engine::{Question, QuotaAsk, Verb};

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
        node.retain_lent(&is_mine, now);
        self.adopt(known);
    }
}
