//! Who owns a key: rendezvous hashing over the live members.
//!
//! Every member gets a score for the key, and the highest owns it. A member that leaves moves only the keys it owned,
//! and one that joins takes only those it will own. The score is SipHash-2-4, under the owner key, of `contract 8 |
//! print 8 | id 16`, all little-endian; equal scores go to the smaller id.
//!
//! Not here: forwarding, and what happens to a key's state when it moves.

use std::fmt;

use tollgate_gossip::NodeId;
use tollgate_kit::siphash24;

/// The key of the hash; derived from the cluster's secret, so that an outsider cannot aim keys at one node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OwnerKey(pub [u8; 16]);

impl fmt::Debug for OwnerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnerKey(…)")
    }
}

/// `None` if no member is alive.
pub fn owner<'a>(
    key: &OwnerKey,
    contract: u64,
    print: u64,
    alive: impl IntoIterator<Item = &'a (NodeId, u128)>,
) -> Option<NodeId> {
    let best = alive
        .into_iter()
        .max_by_key(|(_, id)| rank(key, contract, print, *id));
    best.map(|(node, _)| *node)
}

/// Greater wins: the score, and among equals the smaller id.
fn rank(key: &OwnerKey, contract: u64, print: u64, id: u128) -> (u64, u128) {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&contract.to_le_bytes());
    bytes[8..16].copy_from_slice(&print.to_le_bytes());
    bytes[16..].copy_from_slice(&id.to_le_bytes());
    (siphash24(&key.0, &bytes), u128::MAX - id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: OwnerKey = OwnerKey(*b"0123456789abcdef");

    fn members(count: u16) -> Vec<(NodeId, u128)> {
        (0..count)
            .map(|n| (NodeId(n), u128::from(n) << 64 | 7))
            .collect()
    }

    #[test]
    fn nobody_owns_where_nobody_is() {
        assert_eq!(owner(&KEY, 1, 2, &[]), None);
    }

    #[test]
    fn a_member_that_leaves_moves_only_its_own_keys() {
        let all = members(10);
        let fewer: Vec<_> = all
            .iter()
            .copied()
            .filter(|(node, _)| *node != NodeId(4))
            .collect();
        for print in 0..5000 {
            let before = owner(&KEY, 1, print, &all);
            let after = owner(&KEY, 1, print, &fewer);
            if before != Some(NodeId(4)) {
                assert_eq!(before, after);
            }
            assert_ne!(after, Some(NodeId(4)));
        }
    }

    #[test]
    fn keys_spread_evenly() {
        let all = members(10);
        let mut owned = [0_u32; 10];
        for print in 0..20_000 {
            let NodeId(node) = owner(&KEY, 1, print, &all).unwrap();
            owned[usize::from(node)] += 1;
        }
        assert!(
            owned.iter().all(|count| (1800..2200).contains(count)),
            "{owned:?}"
        );
    }

    #[test]
    fn the_order_of_the_members_does_not_matter() {
        let all = members(7);
        let mut turned = all.clone();
        turned.reverse();
        for print in 0..500 {
            assert_eq!(owner(&KEY, 1, print, &all), owner(&KEY, 1, print, &turned));
        }
    }
}
