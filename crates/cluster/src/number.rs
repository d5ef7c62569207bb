//! The small numbers by which replicas refer to nodes and boots.
//!
//! Both are hashes, so that a node finds its own without a request; if two live members have the same, the smaller id
//! keeps
//! it and the other takes the next free one. Not here: announcing it.

use std::collections::BTreeSet;

use tollgate_gossip::{NodeId, Writer};
use tollgate_kit::siphash24;

pub(crate) fn node(id: u128) -> NodeId {
    NodeId(short(siphash24(KEY, &id.to_le_bytes())))
}

/// Differs from the number of the previous boot.
pub(crate) fn writer(id: u128, generation: u64) -> Writer {
    let number = raw_writer(id, generation);
    let before = raw_writer(id, generation.wrapping_sub(1));
    Writer(if number == before {
        number.wrapping_add(1)
    } else {
        number
    })
}

/// The first number from `number` on that is free; `number` itself if all are taken.
pub(crate) fn next_free(number: u16, taken: &BTreeSet<u16>) -> u16 {
    let mut candidates = (0..=u16::MAX).map(|step| number.wrapping_add(step));
    candidates
        .find(|candidate| !taken.contains(candidate))
        .unwrap_or(number)
}

fn raw_writer(id: u128, generation: u64) -> u16 {
    let mut bytes = [0; 24];
    bytes[..16].copy_from_slice(&id.to_le_bytes());
    bytes[16..].copy_from_slice(&generation.to_le_bytes());
    short(siphash24(KEY, &bytes))
}

const fn short(hash: u64) -> u16 {
    let [low, high, ..] = hash.to_le_bytes();
    u16::from_le_bytes([low, high])
}

/// Not secret: numbers need to differ, not to be hard to guess.
const KEY: &[u8; 16] = b"tollgate numbers";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boot_never_has_the_number_of_the_one_before() {
        for id in 0..50 {
            for generation in 0..1000 {
                let before = raw_writer(id, u64::wrapping_sub(generation, 1));
                assert_ne!(writer(id, generation).0, before);
            }
        }
    }

    #[test]
    fn the_next_free_number_wraps_around() {
        let taken = BTreeSet::from([65_534, 65_535, 0, 2]);
        assert_eq!(next_free(65_534, &taken), 1);
        assert_eq!(next_free(7, &taken), 7);
        let all: BTreeSet<u16> = (0..=u16::MAX).collect();
        assert_eq!(next_free(7, &all), 7);
    }
}
