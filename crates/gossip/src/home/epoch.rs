//! One hop near exhaustion: everybody counts from a common base.
//!
//! The home announces a base, the end of the backlog at that moment. Each writer counts what it admitted since it heard
//! of it and tells everybody. Every such token came after the base was computed and pushed the end by its own length,
//! so `base + all counts` is never more than the truth, in whatever order the counts arrive. Not here: what was under
//! way when the base was computed and is in nobody's count; the home finds it in the lists and raises the base.

use std::collections::BTreeMap;

use tollgate_mode::{Writer, planted};

use crate::bucket::{Bucket, Mark};

/// Which epoch; a later one is greater. No two have the same name: the creator counts its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EpochId {
    pub(super) number: u64,
    pub(super) creator: Writer,
}

/// What one writer has counted in which epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) id: EpochId,
    pub(super) tokens: u64,
}

/// An epoch as one node knows it.
#[derive(Clone, Debug)]
pub(super) struct Epoch {
    pub(super) id: EpochId,
    base: Mark,
    /// Tokens admitted here since this node heard of it.
    mine: u64,
    /// `mine` at the last report.
    told: u64,
    /// The same from the others.
    others: BTreeMap<Writer, u64>,
    sum: u64,
    /// Whether everybody has been sent every count known here.
    is_common: bool,
}

impl Epoch {
    pub(super) fn new(id: EpochId, base: Mark) -> Self {
        Self {
            id,
            base,
            mine: 0,
            told: 0,
            others: BTreeMap::new(),
            sum: 0,
            is_common: true,
        }
    }

    pub(super) fn base(&self) -> Mark {
        self.base
    }

    pub(super) fn raise(&mut self, base: Mark) {
        self.base = self.base.max(base);
    }

    /// Counts tokens admitted here.
    pub(super) fn admit(&mut self, cost: u64) {
        self.mine = self.mine.saturating_add(cost);
    }

    /// Everything counted here is about to be reported, and `is_direct`: told to everybody.
    pub(super) fn publish(&mut self, is_direct: bool) {
        self.is_common &= is_direct || self.told == self.mine;
        self.told = planted!("home-count", self.mine, self.told);
    }

    /// Everybody is about to be told the sum.
    pub(super) fn announce(&mut self) {
        self.is_common = true;
    }

    /// What the last report said: a list and a count belong together, or the collector counts twice.
    pub(super) fn told(&self) -> Count {
        Count {
            id: self.id,
            tokens: self.told,
        }
    }

    /// Hears a writer's count, which everybody `is_told`.
    pub(super) fn hear(&mut self, writer: Writer, tokens: u64, is_told: bool) {
        let known = self.others.entry(writer).or_default();
        if tokens > *known {
            self.sum = self.sum.saturating_add(tokens - *known);
            *known = tokens;
            self.is_common &= is_told;
        }
    }

    /// Tokens counted by everybody, this node included.
    pub(super) fn counted(&self) -> u64 {
        self.sum.saturating_add(self.mine)
    }

    /// The end of the backlog by these counts.
    pub(super) fn end(&self, bucket: Bucket) -> Mark {
        self.base.plus(bucket.grains(self.counted()))
    }

    /// The same without what this node has not reported.
    pub(super) fn public(&self, bucket: Bucket) -> Mark {
        let tokens = self.sum.saturating_add(self.told);
        self.base.plus(bucket.grains(tokens))
    }

    /// The same, if everybody has been sent all of it.
    pub(super) fn common(&self, bucket: Bucket) -> Option<Mark> {
        self.is_common.then(|| self.public(bucket))
    }

    /// Bytes held: name, base, two counts, and writer and count of everybody else.
    pub(super) fn bytes(&self) -> u64 {
        16 + 3 * self.others.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_may_come_in_any_order_and_twice() {
        let bucket = Bucket::new(10, 1, 1_000).unwrap();
        let id = EpochId {
            number: 1,
            creator: Writer(1),
        };
        let mut epoch = Epoch::new(id, Mark(5_000));
        for (writer, tokens) in [(2, 3), (3, 1), (2, 1), (2, 3), (3, 2)] {
            epoch.hear(Writer(writer), tokens, true);
        }
        epoch.admit(4);
        assert_eq!(epoch.counted(), 9);
        assert_eq!(epoch.end(bucket), Mark(14_000));
        assert_eq!(epoch.public(bucket), Mark(10_000));
        epoch.publish(false);
        assert_eq!(epoch.public(bucket), epoch.end(bucket));
        assert_eq!(epoch.common(bucket), None);
    }
}
