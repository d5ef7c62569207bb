//! What will happen when, in order of time, and of entry where times are equal.
//!
//! Not here: what it does.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Things to come.
#[derive(Debug)]
pub struct Agenda<T> {
    heap: BinaryHeap<Entry<T>>,
    entered: u64,
}

#[derive(Debug)]
struct Entry<T> {
    at: u64,
    number: u64,
    what: T,
}

impl<T> Agenda<T> {
    /// Nothing to come.
    pub fn new() -> Self {
        Self {
            heap: BinaryHeap::new(),
            entered: 0,
        }
    }

    /// Enters what happens at a time.
    pub fn add(&mut self, at: u64, what: T) {
        self.entered += 1;
        self.heap.push(Entry {
            at,
            number: self.entered,
            what,
        });
    }

    /// When something happens next.
    pub fn next_at(&self) -> Option<u64> {
        self.heap.peek().map(|entry| entry.at)
    }

    /// Takes what happens next, if it does at `until` or before.
    pub fn next_until(&mut self, until: u64) -> Option<(u64, T)> {
        let is_due = self.next_at()? <= until;
        let entry = if is_due { self.heap.pop() } else { None };
        entry.map(|entry| (entry.at, entry.what))
    }
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Ord for Entry<T> {
    /// The earliest is the greatest, as a heap has it.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Entry<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_keep_their_order_and_nothing_comes_early() {
        let mut agenda = Agenda::default();
        for (at, what) in [(5, 'c'), (3, 'a'), (5, 'd'), (3, 'b'), (9, 'e')] {
            agenda.add(at, what);
        }
        let mut taken = Vec::new();
        while let Some((_, what)) = agenda.next_until(5) {
            taken.push(what);
        }
        assert_eq!(taken, ['a', 'b', 'c', 'd']);
        assert_eq!(agenda.next_at(), Some(9));
    }
}
