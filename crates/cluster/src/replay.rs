//! Replay detection, by the boot of their sender and its counter.
//!
//! Each boot has a window of the last [`WINDOW`] counters; older ones count as received. A boot is forgotten only
//! when the
//! clock check refuses everything that it can have sent. Not here: that check.

use std::collections::BTreeMap;

/// Windows by boot.
#[derive(Debug, Default)]
pub(crate) struct Replays(BTreeMap<u64, Window>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplayCheck {
    /// Not received before; now marked.
    New,
    /// Received before, or too old to tell.
    Before,
    /// Not marked: too many boots are tracked.
    Crowded,
}

#[derive(Debug)]
struct Window {
    newest: u64,
    /// Bit `n` is the counter `newest - n`.
    bits: [u64; WORDS],
    heard: u64,
}

impl Replays {
    /// `mono` is the time in nanoseconds.
    pub(crate) fn mark(&mut self, boot: u64, counter: u64, mono: u64) -> ReplayCheck {
        if let Some(window) = self.0.get_mut(&boot) {
            window.heard = mono;
            return if window.mark(counter) {
                ReplayCheck::New
            } else {
                ReplayCheck::Before
            };
        }
        if self.0.len() >= BOOTS_MAX {
            self.0
                .retain(|_, window| mono.saturating_sub(window.heard) < KEEP_NS);
        }
        if self.0.len() >= BOOTS_MAX {
            return ReplayCheck::Crowded;
        }
        let mut bits = [0; WORDS];
        bits[0] = 1;
        let newest = counter;
        let heard = mono;
        self.0.insert(
            boot,
            Window {
                newest,
                bits,
                heard,
            },
        );
        ReplayCheck::New
    }
}

impl Window {
    /// Returns whether the counter is new.
    fn mark(&mut self, counter: u64) -> bool {
        if counter > self.newest {
            self.shift(counter - self.newest);
            self.newest = counter;
        }
        let back = self.newest - counter;
        if back >= WINDOW {
            return false;
        }
        let (word, bit) = ((back / 64) as usize, 1_u64 << (back % 64));
        let Some(word) = self.bits.get_mut(word) else {
            return false;
        };
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    fn shift(&mut self, by: u64) {
        if by >= WINDOW {
            self.bits = [0; WORDS];
            return;
        }
        let (words, bits) = ((by / 64) as usize, (by % 64) as u32);
        for at in (0..WORDS).rev() {
            let high = at.checked_sub(words).and_then(|from| self.bits.get(from));
            let low = at
                .checked_sub(words + 1)
                .and_then(|from| self.bits.get(from));
            let (high, low) = (high.copied().unwrap_or(0), low.copied().unwrap_or(0));
            let carried = if bits == 0 { 0 } else { low >> (64 - bits) };
            if let Some(word) = self.bits.get_mut(at) {
                *word = high << bits | carried;
            }
        }
    }
}

/// How many counters back a datagram may arrive late.
pub(crate) const WINDOW: u64 = 1024;
const WORDS: usize = (WINDOW / 64) as usize;
/// Boots that are tracked: many more than live members.
const BOOTS_MAX: usize = 4096;
/// Above twice the allowed clock difference: older datagrams of a boot are refused by their time.
const KEEP_NS: u64 = 150_000_000_000;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Compares with an unbounded set.
        #[test]
        fn agrees_with_a_set(jumps in proptest::collection::vec((0_u64..2500, any::<bool>()), 1..400)) {
            let mut replays = Replays::default();
            let mut seen = BTreeSet::new();
            let (mut newest, mut counter) = (0_u64, 5000_u64);
            for (jump, forward) in jumps {
                let jump = if jump % 3 == 0 { jump % 7 } else { jump };
                counter = if forward { counter + jump } else { counter.saturating_sub(jump) };
                let is_first = seen.is_empty();
                newest = newest.max(counter);
                let is_new = is_first || (newest - counter < WINDOW && !seen.contains(&counter));
                seen.insert(counter);
                let expected = if is_new { ReplayCheck::New } else { ReplayCheck::Before };
                prop_assert_eq!(replays.mark(1, counter, 0), expected);
            }
        }
    }

    #[test]
    fn the_last_counter_is_a_counter() {
        let mut replays = Replays::default();
        assert_eq!(replays.mark(1, u64::MAX, 0), ReplayCheck::New);
        assert_eq!(replays.mark(1, u64::MAX, 0), ReplayCheck::Before);
        assert_eq!(replays.mark(1, 0, 0), ReplayCheck::Before);
    }

    #[test]
    fn boots_are_bounded_and_forgotten_only_when_long_silent() {
        let mut replays = Replays::default();
        for boot in 0..BOOTS_MAX as u64 {
            assert_eq!(replays.mark(boot, 1, 10), ReplayCheck::New);
        }
        assert_eq!(replays.mark(u64::MAX, 1, KEEP_NS), ReplayCheck::Crowded);
        assert_eq!(replays.mark(0, 1, KEEP_NS), ReplayCheck::Before);
        assert_eq!(replays.mark(u64::MAX, 1, KEEP_NS + 10), ReplayCheck::New);
        assert_eq!(replays.mark(0, 1, KEEP_NS + 10), ReplayCheck::Before);
    }
}
