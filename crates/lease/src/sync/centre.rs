//! Which node is the centre of a key.
//!
//! Not here: what a centre does.

use tollgate_gossip::{ModeKey, NodeId};
use tollgate_kit::mix;

/// The node among `members` with the greatest hash of key and node.
pub(super) fn centre(key: ModeKey, members: &[NodeId]) -> Option<NodeId> {
    let half = |word: u128| u64::try_from(word & u128::from(u64::MAX)).unwrap_or(u64::MAX);
    let salt = mix(half(key.0) ^ mix(half(key.0 >> 64)));
    let weight = |node: &NodeId| (mix(salt ^ mix(u64::from(node.0) + 1)), *node);
    members.iter().copied().max_by_key(weight)
}
