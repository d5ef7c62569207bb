//! A set of small numbers: the neighbours that something waits for.
//!
//! Up to 64 of them need no allocation. Not here: what the numbers stand for.

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bits {
    first: u64,
    rest: Vec<u64>,
}

impl Bits {
    pub(crate) fn contains(&self, slot: usize) -> bool {
        self.word(slot / 64) >> (slot % 64) & 1 == 1
    }

    pub(crate) fn count(&self) -> u64 {
        let ones = |word: &u64| u64::from(word.count_ones());
        ones(&self.first) + self.rest.iter().map(ones).sum::<u64>()
    }

    pub(crate) fn insert(&mut self, slot: usize) {
        let bit = 1 << (slot % 64);
        match (slot / 64).checked_sub(1) {
            None => self.first |= bit,
            Some(at) => {
                if at >= self.rest.len() {
                    self.rest.resize(at + 1, 0);
                }
                if let Some(word) = self.rest.get_mut(at) {
                    *word |= bit;
                }
            }
        }
    }

    /// Takes a slot out; whether it was in.
    pub(crate) fn remove(&mut self, slot: usize) -> bool {
        let was = self.contains(slot);
        let bit = 1 << (slot % 64);
        match (slot / 64).checked_sub(1) {
            None => self.first &= !bit,
            Some(at) => {
                if let Some(word) = self.rest.get_mut(at) {
                    *word &= !bit;
                }
            }
        }
        was
    }

    pub(crate) fn join(&mut self, other: &Self) {
        self.first |= other.first;
        if self.rest.len() < other.rest.len() {
            self.rest.resize(other.rest.len(), 0);
        }
        for (word, more) in self.rest.iter_mut().zip(&other.rest) {
            *word |= more;
        }
    }

    /// The slots that are here and not in `other`, in ascending order.
    pub(crate) fn without<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = usize> + 'a {
        (0..=self.rest.len())
            .flat_map(move |at| ones(self.word(at) & !other.word(at)).map(move |bit| at * 64 + bit))
    }

    fn word(&self, at: usize) -> u64 {
        match at.checked_sub(1) {
            None => self.first,
            Some(at) => self.rest.get(at).copied().unwrap_or(0),
        }
    }
}

/// The places of the ones in a word.
fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros() as usize;
        word &= word.checked_sub(1)?;
        Some(bit)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn behaves_as_a_set(changes in prop::collection::vec((any::<bool>(), 0_usize..200), 0..200)) {
            let (mut bits, mut set) = (Bits::default(), BTreeSet::new());
            for (add, slot) in changes {
                if add {
                    bits.insert(slot);
                    set.insert(slot);
                } else {
                    prop_assert_eq!(bits.remove(slot), set.remove(&slot));
                }
                prop_assert_eq!(bits.count(), set.len() as u64);
            }
            prop_assert!(bits.without(&Bits::default()).eq(set.iter().copied()));
            prop_assert!((0..200).all(|slot| bits.contains(slot) == set.contains(&slot)));
            let mut low = Bits::default();
            low.insert(3);
            prop_assert!(bits.without(&low).eq(set.iter().copied().filter(|&slot| slot != 3)));
            low.join(&bits);
            prop_assert_eq!(low.count(), (set.len() + usize::from(!set.contains(&3))) as u64);
        }
    }
}
