//! Arrivals: first, repeated, out of order, and how long after they were due.
//!
//! Sequence numbers come from any publisher under the topic; one that jumps too far is from outside the run, and is
//! only counted.

use hdrhistogram::Histogram;

use super::clock::RunSpan;
use super::stamp::PayloadStamp;
use crate::report::{NS_MAX, histogram};

/// Arrivals from publishers at one target, of what was due in the part of the run that counts.
#[derive(Clone)]
pub(crate) struct Arrived {
    pub(crate) count: u64,
    pub(crate) duplicated: u64,
    pub(crate) out_of_order: u64,
    /// From when it was due.
    pub(crate) latency: Histogram<u64>,
    /// From when it was sent.
    pub(crate) service: Histogram<u64>,
}

impl Arrived {
    fn new() -> Self {
        Self {
            count: 0,
            duplicated: 0,
            out_of_order: 0,
            latency: histogram(),
            service: histogram(),
        }
    }
}

/// Which messages of one publisher arrived.
#[derive(Clone)]
struct Seen {
    /// One more than the highest.
    next: u32,
    /// A bit for each of the last `WINDOW`.
    bits: [u64; WORDS],
}

/// How a message relates to those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    InOrder,
    Late,
    Again,
    /// Nothing that could have been sent.
    Strange,
}

impl Seen {
    const NEW: Self = Self {
        next: 0,
        bits: [0; WORDS],
    };

    fn see(&mut self, sequence: u32) -> Turn {
        if sequence >= self.next {
            let ahead = sequence - self.next;
            if ahead > AHEAD_MAX {
                return Turn::Strange;
            }
            for passed in 0..ahead.min(WINDOW) {
                self.mark(sequence - 1 - passed, false);
            }
            self.mark(sequence, true);
            self.next = sequence.saturating_add(1);
            return Turn::InOrder;
        }
        // An arrival older than the window cannot be distinguished from a repeated one.
        if self.next - sequence > WINDOW || self.mark(sequence, true) {
            return Turn::Again;
        }
        Turn::Late
    }

    /// Sets a bit; returns what it was before.
    fn mark(&mut self, sequence: u32, seen: bool) -> bool {
        let at = (sequence % WINDOW) as usize;
        let Some(word) = self.bits.get_mut(at / 64) else {
            return false;
        };
        let bit = 1 << (at % 64);
        let before = *word & bit != 0;
        if seen {
            *word |= bit;
        } else {
            *word &= !bit;
        }
        before
    }
}

pub(crate) struct ArrivalTally {
    pub(crate) targets: Vec<Arrived>,
    /// Messages under the topics that do not belong to this run.
    pub(crate) strange: u64,
    seen: Vec<Seen>,
    /// Targets of publishers.
    target: Vec<usize>,
    run: u32,
}

impl ArrivalTally {
    /// `target` has the target of each publisher.
    pub(crate) fn new(targets: usize, target: Vec<usize>, run: u32) -> Self {
        Self {
            targets: vec![Arrived::new(); targets],
            strange: 0,
            seen: vec![Seen::NEW; target.len()],
            target,
            run,
        }
    }

    /// A payload arrived; `true` for the first arrival of a message of this run.
    pub(crate) fn add(&mut self, payload: &[u8], now: u64, span: Option<RunSpan>) -> bool {
        let ours = PayloadStamp::read(payload).filter(|stamp| stamp.run == self.run);
        let Some(stamp) = ours else {
            self.strange += 1;
            return false;
        };
        let publisher = stamp.publisher as usize;
        let (Some(seen), Some(target)) = (
            self.seen.get_mut(publisher),
            self.target.get(publisher).copied(),
        ) else {
            self.strange += 1;
            return false;
        };
        let turn = seen.see(stamp.sequence);
        let counts = span.is_some_and(|span| span.has(stamp.due));
        let Some(arrived) = self.targets.get_mut(target) else {
            return false;
        };
        match turn {
            Turn::Strange => {
                self.strange += 1;
                return false;
            }
            Turn::Again => {
                arrived.duplicated += u64::from(counts);
                return false;
            }
            Turn::Late => arrived.out_of_order += u64::from(counts),
            Turn::InOrder => {}
        }
        if counts {
            arrived.count += 1;
            let took = |from: u64| now.saturating_sub(from).clamp(1, NS_MAX);
            arrived.latency.saturating_record(took(stamp.due));
            arrived.service.saturating_record(took(stamp.sent));
        }
        true
    }
}

const WORDS: usize = WINDOW as usize / 64;
const WINDOW: u32 = 64 * 32;
const AHEAD_MAX: u32 = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_is_told_by_what_came_before_it() {
        use Turn::{Again, InOrder, Late};
        let mut seen = Seen::NEW;
        let turns = [0, 1, 3, 2, 2, 5, 1, 4, 5].map(|sequence| seen.see(sequence));
        let expected = [
            InOrder, InOrder, InOrder, Late, Again, InOrder, Again, Late, Again,
        ];
        assert_eq!(turns, expected);
    }

    #[test]
    fn a_gap_wider_than_memory_leaves_no_marks() {
        let mut seen = Seen::NEW;
        assert_eq!(seen.see(7), Turn::InOrder);
        assert_eq!(seen.see(7 + 3 * WINDOW), Turn::InOrder);
        assert_eq!(seen.see(7 + 2 * WINDOW + 1), Turn::Late);
        assert_eq!(seen.see(8), Turn::Again);
        assert_eq!(seen.see(u32::MAX), Turn::Strange);
    }
}
