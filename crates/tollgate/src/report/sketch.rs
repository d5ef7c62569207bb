//! The most frequent keys of a stream, counted in constant memory (Space-Saving, Metwally et al. 2005).
//!
//! As long as there are no more keys than counters the counts are exact. After that the least counted key makes room
//! for the next one, which inherits its count: a count is then an upper bound, and `over_max` says by how much at most.

use std::fmt::{self, Write as _};
use std::hash::{BuildHasher, RandomState};

use super::index::Index;

/// Keys counted at once.
const COUNTERS: usize = 1024;

/// A key and how often it was counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopKey {
    /// The key's text.
    pub key: String,
    /// How often it was counted, or an upper bound of it.
    pub count: u64,
    /// By how much `count` may be too high.
    pub over_max: u64,
    /// The policy that refused it last.
    pub policy: Option<usize>,
}

/// The most frequent keys of a stream.
pub struct TopKeys {
    counters: Vec<Counter>,
    /// The counters by the hash of their keys. Its order never shows.
    index: Index,
    hasher: RandomState,
    /// The counts as a heap: none is above those of its two children.
    heap: Vec<Node>,
    /// The key being added, written out.
    text: String,
}

struct Counter {
    key: String,
    hash: u64,
    over_max: u64,
    policy: Option<usize>,
    /// Where in the heap the count is.
    place: usize,
}

#[derive(Clone, Copy)]
struct Node {
    count: u64,
    counter: usize,
}

impl TopKeys {
    pub(super) fn new() -> Self {
        Self {
            counters: Vec::new(),
            index: Index::for_items(COUNTERS),
            hasher: RandomState::new(),
            heap: Vec::new(),
            text: String::new(),
        }
    }

    /// Counts one occurrence of a key.
    pub(super) fn add(&mut self, key: &dyn fmt::Display, policy: Option<usize>) {
        self.text.clear();
        // Writing to a string does not fail; a key that refuses to be written counts as what it wrote.
        let _ = write!(self.text, "{key}");
        let hash = self.hasher.hash_one(self.text.as_str());
        let same = |counter: usize| {
            self.counters[counter].hash == hash && self.counters[counter].key == self.text
        };
        let counter = match self.index.find(hash, same) {
            Some(counter) => counter,
            None if self.counters.len() < COUNTERS => self.start(hash),
            None => self.replace(hash),
        };
        self.counters[counter].policy = policy;
        let place = self.counters[counter].place;
        self.heap[place].count += 1;
        self.sink(place);
    }

    /// The most frequent keys, most frequent first; keys of one count in the order of their texts.
    pub fn list(&self, len_max: usize) -> Vec<TopKey> {
        let mut sorted: Vec<(u64, &Counter)> = self
            .heap
            .iter()
            .map(|node| (node.count, &self.counters[node.counter]))
            .collect();
        sorted.sort_by(|(a_count, a), (b_count, b)| {
            b_count.cmp(a_count).then_with(|| a.key.cmp(&b.key))
        });
        let list = sorted
            .into_iter()
            .take(len_max)
            .map(|(count, counter)| TopKey {
                key: counter.key.clone(),
                count,
                over_max: counter.over_max,
                policy: counter.policy,
            });
        list.collect()
    }

    /// Whether every count is exact.
    pub fn is_exact(&self) -> bool {
        self.counters.iter().all(|counter| counter.over_max == 0)
    }

    /// How many different keys there are, as far as there are counters for them.
    pub fn len(&self) -> usize {
        self.counters.len()
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.counters.is_empty()
    }

    fn start(&mut self, hash: u64) -> usize {
        let (counter, place) = (self.counters.len(), self.heap.len());
        self.counters.push(Counter {
            key: self.text.clone(),
            hash,
            over_max: 0,
            policy: None,
            place,
        });
        self.heap.push(Node { count: 0, counter });
        self.rise(place);
        self.index.insert(hash, counter);
        counter
    }

    /// Gives the least counted key's counter to the key being added.
    fn replace(&mut self, hash: u64) -> usize {
        let Node { count, counter } = self.heap[0];
        let known = &self.counters;
        self.index
            .remove(known[counter].hash, counter, |other| known[other].hash);
        let least = &mut self.counters[counter];
        least.key.clone_from(&self.text);
        (least.hash, least.over_max) = (hash, count);
        self.index.insert(hash, counter);
        counter
    }

    fn put(&mut self, place: usize, node: Node) {
        self.heap[place] = node;
        self.counters[node.counter].place = place;
    }

    fn sink(&mut self, mut place: usize) {
        let node = self.heap[place];
        loop {
            let left = 2 * place + 1;
            let child = match self.heap.get(left..=left + 1) {
                Some([a, b]) => left + usize::from(b.count < a.count),
                _ => left,
            };
            match self.heap.get(child) {
                Some(below) if below.count < node.count => self.put(place, *below),
                _ => break,
            }
            place = child;
        }
        self.put(place, node);
    }

    fn rise(&mut self, mut place: usize) {
        let node = self.heap[place];
        while place > 0 && node.count < self.heap[(place - 1) / 2].count {
            self.put(place, self.heap[(place - 1) / 2]);
            place = (place - 1) / 2;
        }
        self.put(place, node);
    }
}

impl fmt::Debug for TopKeys {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.list(10)).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::trace::Dice;

    #[test]
    fn few_keys_are_counted_exactly() {
        let mut top = TopKeys::new();
        for n in 0..10_000u32 {
            top.add(&format!("user={}", n % 10 * (n % 3)), Some(1));
        }
        assert!(top.is_exact());
        let list = top.list(2);
        assert_eq!(
            (list[0].key.as_str(), list[0].over_max, list[0].policy),
            ("user=0", 0, Some(1))
        );
        assert_eq!(
            top.list(100).iter().map(|key| key.count).sum::<u64>(),
            10_000
        );
    }

    #[test]
    fn counts_of_many_keys_are_bounds_that_hold() {
        let (mut top, mut dice) = (TopKeys::new(), Dice(7));
        let mut truth: BTreeMap<String, u64> = BTreeMap::new();
        for _ in 0..100_000 {
            let sides = 1 + dice.roll(5000);
            let key = format!("k{}", dice.roll(sides));
            top.add(&key, None);
            *truth.entry(key).or_default() += 1;
        }
        assert!(!top.is_exact());
        assert_eq!(top.len(), COUNTERS);
        for key in top.list(COUNTERS) {
            let real = truth.get(&key.key).copied().unwrap_or(0);
            assert!(
                key.count >= real && key.count - key.over_max <= real,
                "{key:?} is really {real}"
            );
        }
        let most = truth
            .iter()
            .max_by_key(|(_, count)| **count)
            .map(|(key, _)| key.as_str());
        assert_eq!(top.list(1).first().map(|key| key.key.as_str()), most);
    }

    #[test]
    fn the_least_count_is_always_on_top_of_the_heap_and_places_agree() {
        let (mut top, mut dice) = (TopKeys::new(), Dice(3));
        for _ in 0..10_000 {
            top.add(&dice.roll(3000), None);
            let least = top.heap.iter().map(|node| node.count).min();
            assert_eq!(top.heap.first().map(|node| node.count), least);
            assert!(
                top.counters
                    .iter()
                    .enumerate()
                    .all(|(n, counter)| top.heap[counter.place].counter == n)
            );
        }
        assert_eq!(top.heap.iter().map(|node| node.count).sum::<u64>(), 10_000);
    }
}
