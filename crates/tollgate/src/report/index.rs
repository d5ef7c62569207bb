//! A small hash index of fixed size: numbers of items, found by their hashes.
//!
//! Open addressing with linear probing; removal closes the gap, so nothing wears out. A plain map would store every
//! key twice and hash it three times to replace it.

/// Numbers of items by hash. The items themselves live elsewhere.
pub(super) struct Index {
    /// Item numbers, or `EMPTY`.
    slots: Vec<u16>,
}

const EMPTY: u16 = u16::MAX;

impl Index {
    /// Room for so many items, fewer than 65 535, three quarters of it left free so that probes stay short.
    pub(super) fn for_items(count: usize) -> Self {
        Self {
            slots: vec![EMPTY; (count * 4).next_power_of_two()],
        }
    }

    /// The item with this hash that is the same.
    #[inline]
    pub(super) fn find(&self, hash: u64, same: impl Fn(usize) -> bool) -> Option<usize> {
        let mut slot = self.home(hash);
        while self.slots[slot] != EMPTY {
            let item = usize::from(self.slots[slot]);
            if same(item) {
                return Some(item);
            }
            slot = self.after(slot);
        }
        None
    }

    /// Adds an item that is not there.
    pub(super) fn insert(&mut self, hash: u64, item: usize) {
        let mut slot = self.home(hash);
        while self.slots[slot] != EMPTY {
            slot = self.after(slot);
        }
        self.slots[slot] = u16::try_from(item).unwrap_or(EMPTY);
    }

    /// Removes an item; `hash_of` tells the hashes of those that may have to move.
    pub(super) fn remove(&mut self, hash: u64, item: usize, hash_of: impl Fn(usize) -> u64) {
        let mut gap = self.home(hash);
        while usize::from(self.slots[gap]) != item {
            if self.slots[gap] == EMPTY {
                return;
            }
            gap = self.after(gap);
        }
        let mut slot = self.after(gap);
        while self.slots[slot] != EMPTY {
            let home = self.home(hash_of(usize::from(self.slots[slot])));
            // An item may move into the gap unless that lies before its home.
            if self.distance(home, slot) >= self.distance(gap, slot) {
                self.slots[gap] = self.slots[slot];
                gap = slot;
            }
            slot = self.after(slot);
        }
        self.slots[gap] = EMPTY;
    }

    fn mask(&self) -> usize {
        self.slots.len() - 1
    }

    #[allow(clippy::cast_possible_truncation, reason = "the mask cuts more")]
    fn home(&self, hash: u64) -> usize {
        hash as usize & self.mask()
    }

    fn after(&self, slot: usize) -> usize {
        (slot + 1) & self.mask()
    }

    fn distance(&self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from) & self.mask()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_kit::Dice;

    #[test]
    fn items_are_found_after_any_insertions_and_removals() {
        // Few slots and hashes that collide, so that probes wrap around and gaps close across homes.
        let (mut index, mut dice) = (Index::for_items(4), Dice::new(11));
        let hash_of = |item: usize| (item as u64 * 5) % 7 + 10;
        let mut there = [false; 14];
        for _ in 0..20_000 {
            let item = dice.place(there.len());
            if there[item] {
                index.remove(hash_of(item), item, hash_of);
            } else {
                index.insert(hash_of(item), item);
            }
            there[item] = !there[item];
            for (item, there) in there.iter().enumerate() {
                let found = index.find(hash_of(item), |other| other == item);
                assert_eq!(found, there.then_some(item));
            }
        }
    }

    #[test]
    fn removing_what_is_not_there_changes_nothing() {
        let mut index = Index::for_items(4);
        index.insert(3, 0);
        index.remove(3, 1, |_| 3);
        assert_eq!(index.find(3, |item| item == 0), Some(0));
    }
}
