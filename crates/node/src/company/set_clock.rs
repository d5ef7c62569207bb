//! Machines when the clock is set. What divides rates, cuts buckets or lends for terms goes by a clock that nobody
//! sets.
//!
//! What others hear is of instants. Ahead, those are over and are forgotten as at any time; back, they are to come and
//! would hold keys up until then, so machines begin anew, and whoever has sockets takes other numbers
//! ([`Node::renumber`]): what others heard of this node before is then another's. Either way every key owes what it had
//! used up, on this node alone.

use std::sync::atomic::Ordering::Relaxed;

use tollgate_limit::Instant;

use super::tag::print;
use super::{SETTLE, nanos};
use crate::node::Node;

impl Node {
    /// Moves what machines know from one time to another.
    pub(crate) fn move_machines(&self, from: Instant, to: Instant) {
        let node = self.newest();
        let Some(company) = node.company() else {
            return;
        };
        let is_back = to < from;
        if is_back {
            let soon = to.saturating_add(SETTLE);
            company.joining.at.fetch_min(nanos(Some(soon)), Relaxed);
            company.outbox.clear();
        }
        let numbers = company.numbers();
        for (_, parts) in node.parts() {
            for shard in parts.each().iter().flat_map(|part| &part.shards) {
                let mut held = shard.hold(company);
                held.move_time(from, to, &numbers);
                held.release();
            }
        }
        node.mark_all();
        company.outbox.wake();
    }

    /// Has every key of the durable policies that nodes count together written anew.
    pub(super) fn mark_all(&self) {
        let Some(company) = self.company() else {
            return;
        };
        let parts = self.parts().flat_map(|(_, parts)| parts.each());
        let durable = parts.filter(|part| part.is_durable);
        for shard in durable.flat_map(|part| &part.shards) {
            let mut held = shard.hold(company);
            for key in held.machine().keys() {
                shard.dirty.mark(print(key));
            }
            held.release();
        }
    }
}
