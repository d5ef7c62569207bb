//! Whom to forget when there is no room: of a few keys, the one that has most left of its limit.
//!
//! A key that has used its limit up is the last to go, for forgetting it gives it a whole new one. Looking at some keys
//! in turn finds one with as much left as most have, and needs no order that would have to be kept. Not here: how much
//! a key has left, and what is said before it goes.

use std::collections::BTreeMap;
use std::ops::Bound;

use tollgate_mode::Key;

/// Keys that are looked at,
const LOOKED: usize = 16;
/// and at most where all of those have nothing left.
const LOOKED_MAX: usize = 512;

/// Goes round the keys.
#[derive(Debug, Default)]
pub(crate) struct Hand(Key);

impl Hand {
    /// The key to forget, given what each has left; `None` where there are none.
    pub(crate) fn pick<V>(
        &mut self,
        keys: &BTreeMap<Key, V>,
        left: impl Fn(&V) -> u128,
    ) -> Option<Key> {
        let after = keys.range((Bound::Excluded(self.0), Bound::Unbounded));
        let mut best: Option<(u128, Key)> = None;
        for (looked, (&key, value)) in after.chain(keys).take(LOOKED_MAX).enumerate() {
            self.0 = key;
            let left = left(value);
            if best.is_none_or(|(most, _)| left > most) {
                best = Some((left, key));
            }
            if looked + 1 >= LOOKED && best.is_some_and(|(most, _)| most > 0) {
                break;
            }
        }
        best.map(|(_, key)| key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_with_nothing_left_go_last() {
        let mut keys: BTreeMap<Key, u128> = (0..1_000).map(|key| (Key(key), 0)).collect();
        keys.extend((0..100).map(|key| (Key(key * 10), 1 + key)));
        let mut hand = Hand::default();
        for _ in 0..100 {
            let key = hand.pick(&keys, |left| *left).unwrap();
            assert!(keys.remove(&key).unwrap() > 0);
        }
        assert!(keys.values().all(|left| *left == 0));
        assert!(hand.pick(&keys, |left| *left).is_some());
        assert_eq!(hand.pick(&BTreeMap::<Key, u128>::new(), |left| *left), None);
    }
}
