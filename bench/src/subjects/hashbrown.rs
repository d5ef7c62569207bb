//! The reference: one probe of a bare `hashbrown` map and an increment of what it finds.
//!
//! No clock, no limit, no lock, no second thread: a limiter that keeps its state in a hash table
//! cannot do less than this.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::{REFERENCE, SubjectEntry, SubjectRole, USUAL};
use crate::subject::{Limit, Subject, boxed};

/// Counts per key, and compares the count with a bound so that it too answers a boolean.
struct Counts<K> {
    counts: HashMap<K, u64, RandomState>,
    bound: u64,
}

impl<K> Counts<K> {
    fn new(limit: Limit) -> Self {
        let bound = match limit {
            Limit::Open => u64::MAX,
            Limit::Shut => 1,
        };
        Self {
            counts: HashMap::default(),
            bound,
        }
    }
}

impl Subject<u64> for Counts<u64> {
    fn build(limit: Limit) -> Self {
        Self::new(limit)
    }

    fn decide(&mut self, key: &u64) -> bool {
        let Some(count) = self.counts.get_mut(key) else {
            self.counts.insert(*key, 1);
            return true;
        };
        *count += 1;
        *count <= self.bound
    }
}

impl Subject<String> for Counts<String> {
    fn build(limit: Limit) -> Self {
        Self::new(limit)
    }

    fn decide(&mut self, key: &String) -> bool {
        let Some(count) = self.counts.get_mut(key.as_str()) else {
            self.counts.insert(key.clone(), 1);
            return true;
        };
        *count += 1;
        *count <= self.bound
    }
}

/// The bare map, hashed by foldhash.
pub(super) fn entry() -> SubjectEntry {
    SubjectEntry {
        name: REFERENCE,
        decides: "nothing; probe and increment, no clock",
        note: "a bare map for one thread: the reference of a ratio, not a limiter",
        role: SubjectRole::Reference,
        instructions_about: 30,
        number: Some(boxed::<u64, Counts<u64>>),
        text: Some(boxed::<String, Counts<String>>),
        ..USUAL
    }
}
