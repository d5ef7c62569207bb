//! The one bucket that was cut, slow and obvious: every interval between two departures is looked at.
//!
//! It shares no code with what it judges.

use crate::nodes::OneBucket;

/// So many messages per period, and a burst.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ghost {
    pub(super) messages: u64,
    pub(super) period_ns: u64,
    pub(super) burst: u64,
}

/// A departure: when, in 2^-20 of a nanosecond of true time, and its cost.
pub(super) type Left = (u128, u64);

impl Ghost {
    /// The first interval in which more left than the burst and what comes back in it, if any. `slack` is how much
    /// times may be rounded wrong.
    pub(super) fn violation(self, departures: &[Left], slack: u128) -> Option<(Left, Left)> {
        let mut sorted = departures.to_vec();
        sorted.sort_unstable();
        for (first, from) in sorted.iter().enumerate() {
            let mut cost = 0_u128;
            for to in &sorted[first..] {
                cost += u128::from(to.1);
                let elapsed = to.0 - from.0 + slack;
                // cost <= burst + messages · elapsed / period, without division.
                let over = (cost.saturating_sub(u128::from(self.burst))
                    * u128::from(self.period_ns))
                    << 20;
                if over > u128::from(self.messages) * elapsed {
                    return Some((*from, *to));
                }
            }
        }
        None
    }

    /// The same by one bucket that is emptied departure by departure, for times that are exact.
    pub(super) fn overdrawn(self, departures: &[Left]) -> Option<Left> {
        let mut sorted = departures.to_vec();
        sorted.sort_unstable();
        let message = i128::from(self.period_ns) << 20;
        let full = i128::from(self.burst) * message;
        OneBucket::of(self.messages, message, full)
            .violations(sorted)
            .next()
    }
}

#[test]
fn the_ghost_sees_one_message_too_many() {
    let ghost = Ghost {
        messages: 10,
        period_ns: 1_000,
        burst: 2,
    };
    let at = |nanos: u128| (nanos << 20, 1);
    assert_eq!(ghost.violation(&[at(0), at(0), at(100), at(200)], 0), None);
    assert!(ghost.violation(&[at(0), at(0), at(99)], 0).is_some());
    assert!(ghost.violation(&[at(0), at(0), at(0)], 0).is_some());
    assert!(
        ghost
            .violation(&[at(0), (100 << 20, 2), at(199)], 0)
            .is_some()
    );
    for (times, is_over) in [
        ([0, 0, 100], false),
        ([0, 0, 99], true),
        ([0, 50, 99], true),
    ] {
        let departures = times.map(at);
        assert_eq!(ghost.overdrawn(&departures).is_some(), is_over);
        assert_eq!(ghost.violation(&departures, 0).is_some(), is_over);
    }
}
