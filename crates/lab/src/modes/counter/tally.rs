//! What a node knows of one key: who admitted how much, and how much may be admitted.
//!
//! Not here: when it is told to whom.

use tollgate_gossip::{Bucket, planted};
use tollgate_limit::Instant;

use crate::modes::rounds::Bits;

/// The greatest limit: what a varint on the wire can carry.
pub(crate) const LIMIT_MAX: u128 = 1 << 125;

/// The most entries of a key, besides the one this node writes. What further nodes admitted is not counted.
pub(crate) const ENTRIES_MAX: usize = 4096;

/// How a limit grows and is compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CounterRules {
    pub(crate) bucket: Bucket,
    /// Clamps the balance, not the step, and compares limits at a common instant.
    pub(crate) fixed: bool,
}

/// How many grains may be admitted in all, as of an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowance {
    pub(crate) limit: u128,
    pub(crate) instant: Instant,
}

/// How many tokens one node, or one boot of it, admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AdmissionEntry {
    pub(crate) who: u16,
    pub(crate) count: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct CounterTally {
    pub(crate) allowance: Allowance,
    /// The allowance when the key last was news: what is sent. Were the live one sent, every refill would be
    /// news to somebody and gossip would not end while requests are denied.
    pub(crate) told: Allowance,
    /// In ascending order of `who`.
    pub(crate) entries: Vec<AdmissionEntry>,
    consumed: u64,
    /// The neighbours it waits for.
    pub(crate) waiting: Bits,
    /// What is sent, as bytes, or nothing. Most of what is sent and heard is what was sent before.
    pub(crate) image: Vec<u8>,
}

/// What a frame says of one key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CounterReport<'a> {
    pub(crate) allowance: Allowance,
    pub(crate) entries: &'a [AdmissionEntry],
}

impl CounterRules {
    /// The allowance after a refill, with `consumed` tokens known to be gone.
    fn refill(self, from: Allowance, consumed: u64, now: Instant) -> Allowance {
        let grains = self.bucket.refilled(now.nanos_since(from.instant));
        let capacity = self.bucket.capacity();
        let limit = if self.fixed {
            let full = self.bucket.grains(consumed).saturating_add(capacity);
            let refilled = from.limit.saturating_add(grains);
            planted!("counter-clamp", refilled.min(full), refilled).max(from.limit)
        } else {
            from.limit.saturating_add(grains.min(capacity))
        };
        Allowance {
            limit: limit.min(LIMIT_MAX),
            instant: planted!("counter-instant", from.instant.max(now), from.instant),
        }
    }

    /// Whether `other` takes the place of `mine`.
    fn prefers(self, other: Allowance, mine: Allowance) -> bool {
        if !planted!("counter-common", self.fixed, false) {
            return other.limit > mine.limit;
        }
        let at = |limit: u128, instant: Instant| {
            limit.saturating_add(self.bucket.refilled(instant.as_nanos()))
        };
        let (theirs, ours) = (at(other.limit, mine.instant), at(mine.limit, other.instant));
        theirs > ours || theirs == ours && other.instant > mine.instant
    }
}

impl CounterTally {
    /// A key nobody has spoken of: a full bucket as of now.
    pub(crate) fn new(rules: CounterRules, now: Instant) -> Self {
        let allowance = Allowance {
            limit: rules.bucket.capacity(),
            instant: now,
        };
        Self {
            allowance,
            told: allowance,
            entries: Vec::new(),
            consumed: 0,
            waiting: Bits::default(),
            image: Vec::new(),
        }
    }

    /// A key heard of for the first time.
    pub(crate) fn copy(heard: CounterReport<'_>) -> Self {
        let entries: Vec<_> = heard.entries.iter().copied().take(ENTRIES_MAX).collect();
        let consumed = total(&entries);
        Self {
            allowance: heard.allowance,
            told: heard.allowance,
            entries,
            consumed,
            waiting: Bits::default(),
            image: Vec::new(),
        }
    }

    pub(crate) fn refill(&mut self, rules: CounterRules, now: Instant) {
        self.allowance = rules.refill(self.allowance, self.consumed, now);
    }

    /// Grains missing from a full bucket; zero if the limit has run ahead.
    pub(crate) fn level(&self, rules: CounterRules) -> u128 {
        let full = rules
            .bucket
            .grains(self.consumed)
            .saturating_add(rules.bucket.capacity());
        full.saturating_sub(self.allowance.limit)
    }

    pub(crate) fn consume(&mut self, who: u16, cost: u64) {
        match self.entries.binary_search_by_key(&who, |entry| entry.who) {
            Ok(at) => {
                if let Some(entry) = self.entries.get_mut(at) {
                    entry.count = entry.count.saturating_add(cost);
                }
            }
            Err(at) => self.entries.insert(at, AdmissionEntry { who, count: cost }),
        }
        self.consumed = total(&self.entries);
        self.publish();
    }

    /// What is known now is what is sent.
    fn publish(&mut self) {
        self.told = self.allowance;
        self.image.clear();
    }

    /// Takes the greater count of everyone and the better allowance; whether anything is news to others.
    pub(crate) fn merge(&mut self, heard: CounterReport<'_>, rules: CounterRules) -> bool {
        let grew = self.merge_entries(heard.entries);
        let better = rules.prefers(heard.allowance, self.allowance);
        if better {
            self.allowance = heard.allowance;
        }
        if grew {
            self.consumed = total(&self.entries);
        }
        let news = grew || better;
        if news {
            self.publish();
        }
        news
    }

    /// Both lists are in ascending order.
    fn merge_entries(&mut self, heard: &[AdmissionEntry]) -> bool {
        let mut grew = false;
        let mut at = 0;
        for &other in heard {
            while self
                .entries
                .get(at)
                .is_some_and(|mine| mine.who < other.who)
            {
                at += 1;
            }
            let is_full = self.entries.len() >= ENTRIES_MAX;
            match self.entries.get_mut(at) {
                Some(mine) if mine.who == other.who => {
                    if planted!(
                        "counter-max",
                        other.count > mine.count,
                        other.count != mine.count
                    ) {
                        mine.count = other.count;
                        grew = true;
                    }
                }
                _ if is_full => continue,
                _ => {
                    self.entries.insert(at, other);
                    grew = true;
                }
            }
            at += 1;
        }
        grew
    }

    /// Bytes of the key as documented: key, limit, instant, and ten per entry.
    pub(crate) fn bytes(&self) -> u64 {
        32 + 10 * self.entries.len() as u64
    }
}

fn total(entries: &[AdmissionEntry]) -> u64 {
    entries
        .iter()
        .fold(0, |sum: u64, entry| sum.saturating_add(entry.count))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rules() -> CounterRules {
        CounterRules {
            bucket: Bucket::new(5, 3, 10_000_000_000).unwrap(),
            fixed: true,
        }
    }

    fn tally() -> impl Strategy<Value = CounterTally> {
        let entries = prop::collection::btree_map(0_u16..6, 1_u64..4, 1..6);
        // Few instants and limits, so that ties at a common instant are frequent.
        (entries, 0_u64..4, 0_u128..4).prop_map(|(entries, seconds, tokens)| {
            let entries: Vec<_> = entries
                .into_iter()
                .map(|(who, count)| AdmissionEntry { who, count })
                .collect();
            CounterTally::copy(CounterReport {
                allowance: Allowance {
                    limit: tokens * 3_000_000_000,
                    instant: Instant::from_nanos(seconds * 1_000_000_000),
                },
                entries: &entries,
            })
        })
    }

    fn merged(mut into: CounterTally, other: &CounterTally) -> CounterTally {
        into.merge(
            CounterReport {
                allowance: other.allowance,
                entries: &other.entries,
            },
            rules(),
        );
        into
    }

    fn known(tally: &CounterTally) -> (Allowance, Vec<AdmissionEntry>, u64) {
        (tally.allowance, tally.entries.clone(), tally.consumed)
    }

    proptest! {
        #[test]
        fn a_fixed_merge_is_a_join(a in tally(), b in tally(), c in tally()) {
            let ab = merged(a.clone(), &b);
            prop_assert_eq!(known(&ab), known(&merged(b.clone(), &a)));
            prop_assert_eq!(known(&merged(ab.clone(), &c)), known(&merged(a.clone(), &merged(b, &c))));
            prop_assert_eq!(known(&merged(ab.clone(), &a)), known(&ab));
            prop_assert_eq!(known(&merged(a.clone(), &a)), known(&a));
        }

        #[test]
        fn only_what_changed_is_news(a in tally(), b in tally()) {
            let before = known(&a);
            let mut after = a;
            let news = after.merge(CounterReport { allowance: b.allowance, entries: &b.entries }, rules());
            prop_assert_eq!(news, known(&after) != before);
        }
    }

    #[test]
    fn entries_are_bounded_but_for_ones_own() {
        let many: Vec<_> = (0..=u16::MAX)
            .map(|who| AdmissionEntry { who, count: 1 })
            .collect();
        let heard = |entries| CounterReport {
            allowance: Allowance {
                limit: 0,
                instant: Instant::from_nanos(0),
            },
            entries,
        };
        let mut tally = CounterTally::copy(heard(&many));
        assert!(!tally.merge(heard(&many), rules()));
        assert_eq!(tally.entries.len(), ENTRIES_MAX);
        tally.consume(u16::MAX, 2);
        assert_eq!(tally.consumed, ENTRIES_MAX as u64 + 2);
        // What is known already still grows.
        let grown = [AdmissionEntry { who: 7, count: 5 }];
        assert!(tally.merge(heard(&grown), rules()));
        assert_eq!(tally.entries.len(), ENTRIES_MAX + 1);
        assert_eq!(tally.consumed, ENTRIES_MAX as u64 + 6);
    }

    #[test]
    fn as_printed_every_idle_time_adds_to_the_limit() {
        let fixed = rules();
        let printed = CounterRules {
            fixed: false,
            ..fixed
        };
        for (rules, tokens) in [(printed, 4 * 5), (fixed, 1 + 5)] {
            let mut tally = CounterTally::new(rules, Instant::from_nanos(0));
            tally.consume(0, 1);
            for hours in 1..4 {
                tally.refill(rules, Instant::from_nanos(hours * 3_600_000_000_000));
            }
            assert_eq!(tally.allowance.limit, rules.bucket.grains(tokens));
            assert_eq!(tally.level(rules), 0);
        }
    }
}
