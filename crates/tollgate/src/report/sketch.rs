//! The most frequent keys of a stream, counted in constant memory (Space-Saving, Metwally et al. 2005).
//!
//! As long as there are no more keys than counters the counts are exact. After that the least counted key makes room
//! for the next one, which inherits its count: a count is then an upper bound, and `over_max` says by how much at most.
//! That is never more than a 1024th of everything counted, and a key counted more often than that is always there.
//!
//! A key is its text: two that read alike are one. The same stream gives the same list, every time.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use super::least::Least;

/// Keys counted at once.
const COUNTERS: usize = 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CountedKey {
    pub key: String,
    /// How often it was counted, or an upper bound of it.
    pub count: u64,
    /// By how much `count` may be too high.
    pub over_max: u64,
    /// The policy that refused it last.
    pub policy: Option<usize>,
}

pub(crate) struct TopKeys {
    /// The limit on counters.
    counters_max: usize,
    counters: Vec<Counter>,
    /// The counter of each key. Its order has no effect.
    places: HashMap<Arc<str>, usize>,
    /// The count of each counter's key.
    counts: Least,
    /// The text of the key being added.
    text: String,
}

struct Counter {
    key: Arc<str>,
    over_max: u64,
    policy: Option<usize>,
}

impl TopKeys {
    pub(super) fn new() -> Self {
        Self::of(COUNTERS)
    }

    fn of(counters_max: usize) -> Self {
        Self {
            counters_max,
            counters: Vec::with_capacity(counters_max),
            places: HashMap::with_capacity(counters_max),
            counts: Least::for_items(counters_max),
            text: String::new(),
        }
    }

    pub(super) fn add(&mut self, key: &dyn fmt::Display, policy: Option<usize>) {
        self.text.clear();
        // Writing to a string does not fail; a key whose formatting fails counts as what it wrote.
        let _ = write!(self.text, "{key}");
        let known = self.places.get(self.text.as_str()).copied();
        let counter = known.unwrap_or_else(|| self.start());
        self.counters[counter].policy = policy;
        self.counts.count(counter);
    }

    /// The most frequent keys, most frequent first; keys of one count in the order of their texts.
    pub(crate) fn list(&self, len_max: usize) -> Vec<CountedKey> {
        let mut sorted: Vec<(u64, &Counter)> = self
            .counts
            .iter()
            .map(|(counter, count)| (count, &self.counters[counter]))
            .collect();
        sorted.sort_by(|(a_count, a), (b_count, b)| {
            b_count.cmp(a_count).then_with(|| a.key.cmp(&b.key))
        });
        let list = sorted
            .into_iter()
            .take(len_max)
            .map(|(count, counter)| CountedKey {
                key: counter.key.to_string(),
                count,
                over_max: counter.over_max,
                policy: counter.policy,
            });
        list.collect()
    }

    pub(crate) fn is_exact(&self) -> bool {
        self.counters.iter().all(|counter| counter.over_max == 0)
    }

    /// The number of different keys, up to the number of counters.
    pub(crate) fn len(&self) -> usize {
        self.counters.len()
    }

    /// A counter for the key being added: a new one, or that of the least counted key.
    fn start(&mut self) -> usize {
        let key: Arc<str> = self.text.as_str().into();
        let (counter, over_max) = if self.counters.len() < self.counters_max {
            self.counts.push();
            (self.counters.len(), 0)
        } else {
            self.counts.least().unwrap_or_default()
        };
        let started = Counter {
            key: Arc::clone(&key),
            over_max,
            policy: None,
        };
        match self.counters.get_mut(counter) {
            Some(least) => {
                self.places.remove(&least.key);
                *least = started;
            }
            None => self.counters.push(started),
        }
        self.places.insert(key, counter);
        counter
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

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use tollgate_kit::Dice;

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
        let (mut top, mut dice) = (TopKeys::new(), Dice::new(7));
        let mut truth: BTreeMap<String, u64> = BTreeMap::new();
        for _ in 0..100_000 {
            let sides = 1 + dice.place(5000);
            let key = format!("k{}", dice.place(sides));
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

    /// A number of counters and a stream of keys, most of them small: key and policy.
    fn streams() -> impl Strategy<Value = (usize, Vec<(u64, usize)>)> {
        let key = (0u64..1 << 16, 0u32..17).prop_map(|(key, shift)| key >> shift);
        (1usize..40, vec((key, 0usize..3), 0..1500))
    }

    proptest! {
        #[test]
        fn any_stream_is_counted_within_the_bounds_of_an_exact_count((counters, stream) in streams()) {
            let (mut top, mut again) = (TopKeys::of(counters), TopKeys::of(counters));
            let mut truth: BTreeMap<String, (u64, usize)> = BTreeMap::new();
            for (key, policy) in &stream {
                let key = format!("user={key}");
                top.add(&key, Some(*policy));
                again.add(&key, Some(*policy));
                let real = truth.entry(key).or_default();
                *real = (real.0 + 1, *policy);
            }
            let (list, all) = (top.list(usize::MAX), stream.len() as u64);
            prop_assert_eq!(&list, &again.list(usize::MAX));
            prop_assert_eq!(list.len(), counters.min(truth.len()));
            prop_assert_eq!(list.iter().map(|key| key.count).sum::<u64>(), all);
            prop_assert_eq!(top.is_exact(), truth.len() <= counters);
            for key in &list {
                let (real, policy) = truth[&key.key];
                prop_assert!(key.count >= real && key.count - key.over_max <= real, "{:?} is {}", key, real);
                prop_assert!(key.over_max <= all / counters as u64, "{:?} of {}", key, all);
                prop_assert_eq!(key.policy, Some(policy));
            }
            let least = list.last().map_or(0, |key| key.count);
            for (key, (real, _)) in &truth {
                let listed = list.iter().any(|listed| listed.key == *key);
                prop_assert!(listed || *real <= least.min(all / counters as u64), "{} was {}", key, real);
            }
        }
    }
}
