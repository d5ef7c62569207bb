//! What a mode keeps of each key: one look-up however many keys there are, and the sum of their bytes without a walk.
//!
//! Values lie in blocks that never move, in slots that are used again, the lowest first. Nothing depends on hashes but
//! the time a look-up takes: values are walked in the order of their slots, which follows from the calls so far. Not
//! here: what a value means, and which key may be forgotten.

use core::cmp::Reverse;
use core::num::NonZeroU64;
use std::collections::BinaryHeap;

use tollgate_kit::{Dice, scramble};

use crate::ids::ModeKey;

/// A value that may hold memory besides its own.
pub trait Weigh {
    /// Bytes that it holds elsewhere.
    fn heap_bytes(&self) -> u64;
}

/// Values by key.
#[derive(Debug)]
pub struct Keyed<V> {
    blocks: Vec<Block<V>>,
    index: Index,
    /// Slots that were used before and are empty.
    free: BinaryHeap<Reverse<u32>>,
    len: usize,
    /// Bytes that values held elsewhere when they were last weighed.
    weighed: u64,
    /// The slot of the only value that may have changed since.
    touched: u32,
    /// Where the next sweep goes on.
    cursor: u32,
}

#[derive(Debug)]
struct Block<V> {
    slots: Vec<Option<Slot<V>>>,
    used: usize,
}

#[derive(Debug)]
struct Slot<V> {
    key: ModeKey,
    value: V,
    /// One more than what the value held elsewhere when it was last weighed: never zero, so that an empty slot takes no
    /// more room.
    weighed: NonZeroU64,
}

impl<V> Default for Keyed<V> {
    fn default() -> Self {
        Self {
            blocks: Vec::new(),
            index: Index::default(),
            free: BinaryHeap::new(),
            len: 0,
            weighed: 0,
            touched: 0,
            cursor: 0,
        }
    }
}

impl<V: Weigh> Keyed<V> {
    /// How many keys there are.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether a key is there.
    pub fn contains_key(&self, key: ModeKey) -> bool {
        self.find(key).is_some()
    }

    /// What is kept of a key.
    pub fn get(&self, key: ModeKey) -> Option<&V> {
        let slot = self.slot(self.find(key)?)?;
        Some(&slot.value)
    }

    /// What is kept of a key, to be changed.
    pub fn get_mut(&mut self, key: ModeKey) -> Option<&mut V> {
        let slot = self.find(key)?;
        self.touch(slot)
    }

    /// What is kept of a key, which is made first where it is not there.
    pub fn get_or_insert_with(&mut self, key: ModeKey, make: impl FnOnce() -> V) -> &mut V {
        let slot = match self.find(key) {
            Some(slot) => slot,
            None => self.add(key, make()),
        };
        let Some(value) = self.touch(slot) else {
            unreachable!("the index names an empty slot");
        };
        value
    }

    /// Keeps a value, and returns the one that it takes the place of.
    pub fn insert(&mut self, key: ModeKey, value: V) -> Option<V> {
        let before = self.remove(key);
        self.add(key, value);
        before
    }

    /// Forgets a key.
    pub fn remove(&mut self, key: ModeKey) -> Option<V> {
        let slot = self.find(key)?;
        self.index.remove(hash(key), slot);
        let block = self.blocks.get_mut(place(slot).0)?;
        let gone = block.slots.get_mut(place(slot).1)?.take()?;
        block.used -= 1;
        self.len -= 1;
        self.weighed -= gone.weight();
        self.free.push(Reverse(slot));
        self.give_back();
        Some(gone.value)
    }

    /// Forgets every key that `keep` does not want; it may change the others.
    pub fn retain(&mut self, mut keep: impl FnMut(ModeKey, &mut V) -> bool) {
        let mut gone = Vec::new();
        self.each_mut(|key, value| {
            if !keep(key, value) {
                gone.push(key);
            }
        });
        for key in gone {
            self.remove(key);
        }
    }

    /// Changes every value.
    pub fn each_mut(&mut self, mut change: impl FnMut(ModeKey, &mut V)) {
        let slots = self.blocks.iter_mut().flat_map(|block| &mut block.slots);
        for slot in slots.flatten() {
            change(slot.key, &mut slot.value);
            slot.weigh(&mut self.weighed);
        }
    }

    /// Every value.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    /// Every key and its value.
    pub fn iter(&self) -> impl Iterator<Item = (ModeKey, &V)> {
        let slots = self.blocks.iter().flat_map(|block| &block.slots);
        slots.flatten().map(|slot| (slot.key, &slot.value))
    }

    /// Every key, in ascending order.
    pub fn keys(&self) -> Vec<ModeKey> {
        let mut keys: Vec<_> = self.iter().map(|(key, _)| key).collect();
        keys.sort_unstable();
        keys
    }

    /// Every key from a slot on, each with the slot after it.
    pub fn from_slot(&self, slot: u32) -> impl Iterator<Item = (u32, ModeKey, &V)> {
        let (first, skipped) = place(slot);
        let blocks = self.blocks.iter().enumerate().skip(first);
        blocks.flat_map(move |(number, block)| {
            let skipped = if number == first { skipped } else { 0 };
            let slots = block.slots.iter().enumerate().skip(skipped);
            slots.filter_map(move |(place, slot)| {
                let slot = slot.as_ref()?;
                Some((slot_at(number, place) + 1, slot.key, &slot.value))
            })
        })
    }

    /// The key after the one that was told last, round and round; `None` where the next few slots are empty.
    pub fn sweep(&mut self) -> Option<ModeKey> {
        for _ in 0..SWEPT_SLOTS {
            let block = self.blocks.get(place(self.cursor).0);
            let Some(slot) = block.and_then(|block| block.slots.get(place(self.cursor).1)) else {
                if self.cursor == 0 {
                    return None;
                }
                self.cursor = 0;
                continue;
            };
            self.cursor += 1;
            if let Some(slot) = slot {
                return Some(slot.key);
            }
        }
        None
    }

    /// A key by chance: that of any slot, or of one soon after it; `None` where those are empty.
    pub fn by_chance(&self, dice: &mut Dice) -> Option<ModeKey> {
        let last = self.blocks.len().checked_sub(1)?;
        let end = slot_at(last, self.blocks.last()?.slots.len());
        let first = u32::try_from(dice.below(u64::from(end))).ok()?;
        let mut slots = (first..end).take(SWEPT_SLOTS);
        slots.find_map(|slot| Some(self.slot(slot)?.key))
    }

    /// Bytes that values hold elsewhere.
    pub fn heap_bytes(&self) -> u64 {
        let touched = self.slot(self.touched);
        touched.map_or(self.weighed, |slot| {
            self.weighed - slot.weight() + slot.value.heap_bytes()
        })
    }

    /// Bytes of memory that all of it takes. Empty slots do not count: the next keys are there for nothing.
    pub fn held(&self) -> u64 {
        let slots = self.len * size_of::<Option<Slot<V>>>();
        let free = self.free.len() * size_of::<u32>();
        (slots + free + self.index.held()) as u64 + self.heap_bytes()
    }

    fn find(&self, key: ModeKey) -> Option<u32> {
        let is_it = |slot| self.slot(slot).is_some_and(|slot| slot.key == key);
        self.index.find(hash(key), is_it)
    }

    fn slot(&self, slot: u32) -> Option<&Slot<V>> {
        let block = self.blocks.get(place(slot).0)?;
        block.slots.get(place(slot).1)?.as_ref()
    }

    fn slot_mut(&mut self, slot: u32) -> Option<&mut Slot<V>> {
        let block = self.blocks.get_mut(place(slot).0)?;
        block.slots.get_mut(place(slot).1)?.as_mut()
    }

    /// A value that may be changed from here on; the one before it has been.
    fn touch(&mut self, slot: u32) -> Option<&mut V> {
        if self.touched != slot {
            let mut weighed = self.weighed;
            if let Some(before) = self.slot_mut(self.touched) {
                before.weigh(&mut weighed);
            }
            self.weighed = weighed;
            self.touched = slot;
        }
        self.slot_mut(slot).map(|slot| &mut slot.value)
    }

    /// Puts a key that is not there into the lowest empty slot.
    fn add(&mut self, key: ModeKey, value: V) -> u32 {
        let mut new = Slot {
            key,
            value,
            weighed: NonZeroU64::MIN,
        };
        new.weigh(&mut self.weighed);
        self.len += 1;
        let last = self.blocks.len().saturating_sub(1);
        let is_whole = self.blocks.last().is_none_or(|it| it.slots.len() == BLOCK);
        let slot = match self.free.pop() {
            Some(Reverse(slot)) => slot,
            None if is_whole => {
                self.blocks.push(Block {
                    slots: Vec::with_capacity(BLOCK),
                    used: 0,
                });
                slot_at(self.blocks.len() - 1, 0)
            }
            None => slot_at(last, self.blocks.last().map_or(0, |it| it.slots.len())),
        };
        if let Some(block) = self.blocks.get_mut(place(slot).0) {
            block.used += 1;
            match block.slots.get_mut(place(slot).1) {
                Some(empty) => *empty = Some(new),
                None => block.slots.push(Some(new)),
            }
        }
        self.index.insert(hash(key), slot);
        slot
    }

    /// Gives memory of empty blocks at the end back.
    fn give_back(&mut self) {
        let before = self.blocks.len();
        while self.blocks.pop_if(|block| block.used == 0).is_some() {}
        if self.blocks.len() < before {
            let end = slot_at(self.blocks.len(), 0);
            self.free.retain(|Reverse(slot)| *slot < end);
            self.index.shrink(self.len);
        }
    }
}

impl<V: Weigh> Slot<V> {
    fn weigh(&mut self, sum: &mut u64) {
        let is = self.value.heap_bytes();
        *sum = *sum + is - self.weight();
        self.weighed = NonZeroU64::MIN.saturating_add(is);
    }

    const fn weight(&self) -> u64 {
        self.weighed.get() - 1
    }
}

/// Where a hash is: open addressing, each entry as near behind the place of its hash as there is room.
///
/// An entry is the upper half of the hash, which its place follows from, and its slot plus one; zero is none.
#[derive(Debug, Default)]
struct Index {
    entries: Vec<u64>,
    len: usize,
}

impl Index {
    fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mut at = self.home(hash);
        loop {
            let entry = *self.entries.get(at)?;
            if entry == 0 {
                return None;
            }
            if entry >> 32 == hash >> 32 && is_it(slot_of(entry)) {
                return Some(slot_of(entry));
            }
            at = self.next(at);
        }
    }

    fn insert(&mut self, hash: u64, slot: u32) {
        if (self.len + 1) * 4 > self.entries.len() * 3 {
            self.resize((self.entries.len() * 2).max(INDEX_MIN));
        }
        self.len += 1;
        self.put(hash >> 32 << 32 | (u64::from(slot) + 1));
    }

    fn remove(&mut self, hash: u64, slot: u32) {
        let mut at = self.home(hash);
        while self.entries.get(at).is_some_and(|it| slot_of(*it) != slot) {
            at = self.next(at);
        }
        // Whatever lies behind and could lie here moves up.
        let mut from = self.next(at);
        while let Some(entry) = self.entries.get(from).copied().filter(|it| *it != 0) {
            let home = self.home(entry);
            if self.distance(home, from) >= self.distance(at, from) {
                self.set(at, entry);
                at = from;
            }
            from = self.next(from);
        }
        self.set(at, 0);
        self.len -= 1;
    }

    /// Takes less memory where a much smaller index would do.
    fn shrink(&mut self, keys: usize) {
        let enough = (keys * 2).next_power_of_two().max(INDEX_MIN);
        if enough * 4 <= self.entries.len() {
            self.resize(enough);
        }
    }

    fn resize(&mut self, capacity: usize) {
        let before = core::mem::replace(&mut self.entries, vec![0; capacity]);
        for entry in before.into_iter().filter(|entry| *entry != 0) {
            self.put(entry);
        }
    }

    fn put(&mut self, entry: u64) {
        let mut at = self.home(entry);
        while self.entries.get(at).is_some_and(|other| *other != 0) {
            at = self.next(at);
        }
        self.set(at, entry);
    }

    fn set(&mut self, at: usize, entry: u64) {
        if let Some(place) = self.entries.get_mut(at) {
            *place = entry;
        }
    }

    /// Where the entry of a hash would lie if it were alone: by the first bits of the hash.
    #[allow(clippy::cast_possible_truncation, reason = "32 bits at most")]
    const fn home(&self, hash: u64) -> usize {
        let bits = self.entries.len().trailing_zeros();
        match bits {
            0 | 64 => 0,
            bits => (hash >> (64 - bits)) as usize,
        }
    }

    const fn next(&self, at: usize) -> usize {
        (at + 1) & self.entries.len().wrapping_sub(1)
    }

    const fn distance(&self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from) & self.entries.len().wrapping_sub(1)
    }

    const fn held(&self) -> usize {
        self.entries.len() * size_of::<u64>()
    }
}

#[allow(clippy::cast_possible_truncation, reason = "the lower half is wanted")]
const fn slot_of(entry: u64) -> u32 {
    (entry as u32).wrapping_sub(1)
}

#[allow(clippy::cast_possible_truncation, reason = "both halves count")]
const fn hash(key: ModeKey) -> u64 {
    scramble((key.0 >> 64) as u64 ^ key.0 as u64)
}

/// A slot's block, and its place in that.
const fn place(slot: u32) -> (usize, usize) {
    (slot as usize / BLOCK, slot as usize % BLOCK)
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "memory ends long before slots do"
)]
const fn slot_at(block: usize, place: usize) -> u32 {
    (block * BLOCK + place) as u32
}

/// Slots that are made at once.
const BLOCK: usize = 256;
/// The least size of an index that is not empty.
const INDEX_MIN: usize = 16;
/// Slots that are looked at for the next key.
const SWEPT_SLOTS: usize = 64;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tollgate_kit::Dice;

    use super::*;

    impl Weigh for Vec<u8> {
        fn heap_bytes(&self) -> u64 {
            self.len() as u64
        }
    }

    fn agree(keyed: &Keyed<Vec<u8>>, model: &BTreeMap<ModeKey, Vec<u8>>) {
        assert_eq!(keyed.len(), model.len());
        assert_eq!(keyed.keys(), model.keys().copied().collect::<Vec<_>>());
        let bytes: usize = model.values().map(Vec::len).sum();
        assert_eq!(keyed.heap_bytes(), bytes as u64);
        for (key, value) in model {
            assert_eq!(keyed.get(*key), Some(value));
        }
    }

    #[test]
    fn it_holds_what_a_plain_map_holds_through_any_calls() {
        for seed in 0..40 {
            let mut dice = Dice::new(seed);
            let (mut keyed, mut model) = (Keyed::default(), BTreeMap::new());
            let range = 1 << (1 + dice.below(11));
            for step in 0..4_000 {
                let key = ModeKey(u128::from(dice.below(range)));
                let value = vec![0; usize::try_from(dice.below(9)).unwrap()];
                match dice.below(8) {
                    0 | 1 => assert_eq!(keyed.remove(key), model.remove(&key)),
                    2 => assert_eq!(keyed.insert(key, value.clone()), model.insert(key, value)),
                    3 | 4 => {
                        let made = keyed.get_or_insert_with(key, || value.clone());
                        made.push(1);
                        model.entry(key).or_insert(value).push(1);
                    }
                    5 => {
                        let found = keyed.get_mut(key).map(|it| it.extend([2, 3]));
                        let known = model.get_mut(&key).map(|it| it.extend([2, 3]));
                        assert_eq!(found, known);
                    }
                    _ if step % 500 == 0 => {
                        let odd = dice.below(2);
                        keyed.retain(|key, _| key.0 % 2 != u128::from(odd));
                        model.retain(|key, _| key.0 % 2 != u128::from(odd));
                    }
                    _ => assert_eq!(keyed.contains_key(key), model.contains_key(&key)),
                }
            }
            agree(&keyed, &model);
        }
    }

    #[test]
    fn a_sweep_comes_to_every_key() {
        let mut keyed = Keyed::default();
        for key in 0..1_000_u128 {
            keyed.insert(ModeKey(key), Vec::new());
        }
        keyed.retain(|key, _| key.0 % 100 == 7);
        let mut seen: Vec<_> = (0..100).filter_map(|_| keyed.sweep()).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, keyed.keys());
    }

    #[test]
    fn pages_have_every_key_once() {
        let mut keyed = Keyed::default();
        for key in 0..1_000_u128 {
            keyed.insert(ModeKey(key), Vec::new());
        }
        keyed.retain(|key, _| key.0 % 3 != 1);
        let (mut seen, mut slot) = (Vec::new(), 0);
        loop {
            let page: Vec<_> = keyed.from_slot(slot).take(37).collect();
            let Some((next, ..)) = page.last() else { break };
            slot = *next;
            seen.extend(page.iter().map(|(_, key, _)| *key));
        }
        seen.sort_unstable();
        assert_eq!(seen, keyed.keys());
    }

    #[test]
    fn memory_comes_back_when_keys_go() {
        let mut keyed = Keyed::default();
        for key in 0..100_000_u128 {
            keyed.insert(ModeKey(key), vec![0; 3]);
        }
        let full = keyed.held();
        keyed.retain(|key, _| key.0 < 100);
        assert!(keyed.held() * 100 < full, "{} of {full}", keyed.held());
        assert_eq!(keyed.get(ModeKey(99)), Some(&vec![0; 3]));
    }
}
