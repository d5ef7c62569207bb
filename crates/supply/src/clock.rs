//! Whether a peer's clock runs as fast as this one, within what both may be off.
//!
//! A frame that was sent at `theirs` after this node's time `low` was heard, and came at `high`, was sent somewhere
//! between. Two of those bound how fast the peer's clock runs, whatever the frames took. Not here: what clocks show.

use tollgate_limit::{Instant, Span};

/// What is known of a peer's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PeerClock {
    anchor: Option<ClockSample>,
    off_until: Option<Instant>,
}

/// A moment on both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockSample {
    pub(crate) theirs: Instant,
    pub(crate) low: Instant,
    pub(crate) high: Instant,
}

impl PeerClock {
    /// Compares a moment with an earlier one.
    pub(crate) fn note(&mut self, sample: ClockSample, drift_ppm: u32) {
        if sample.low > sample.high {
            return;
        }
        let Some(anchor) = self.anchor else {
            self.anchor = Some(sample);
            return;
        };
        if is_off(anchor, sample, drift_ppm) {
            self.off_until = Some(sample.high.saturating_add(WINDOW));
            self.anchor = Some(sample);
        } else if sample.high > anchor.high.saturating_add(WINDOW) {
            self.anchor = Some(sample);
        }
    }

    /// Whether it was lately seen to run wrong.
    pub(crate) fn is_off(&self, now: Instant) -> bool {
        self.off_until.is_some_and(|until| now < until)
    }
}

/// Whether both clocks within their bound could not have shown that.
fn is_off(first: ClockSample, second: ClockSample, drift_ppm: u32) -> bool {
    let (fast, slow) = (
        MILLION + u128::from(drift_ppm),
        MILLION.saturating_sub(u128::from(drift_ppm)),
    );
    let most = u128::from(second.high.nanos_since(first.low));
    let least = u128::from(second.low.nanos_since(first.high));
    let theirs = u128::from(second.theirs.nanos_since(first.theirs));
    let is_back = second.theirs < first.theirs && second.low > first.high;
    is_back || theirs * slow > most * fast || theirs * fast < least * slow
}

const MILLION: u128 = 1_000_000;
/// How long a first moment is kept, and a wrong clock is held against its node.
const WINDOW: Span = Span::from_nanos(30_000_000_000);

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(theirs: u64, low: u64, high: u64) -> ClockSample {
        let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
        ClockSample {
            theirs: at(theirs),
            low: at(low),
            high: at(high),
        }
    }

    fn notes(samples: &[ClockSample]) -> PeerClock {
        let mut clock = PeerClock::default();
        for sample in samples {
            clock.note(*sample, 1_000);
        }
        clock
    }

    #[test]
    fn clocks_within_the_bound_are_believed_whatever_frames_take() {
        let clock = notes(&[
            sample(500, 0, 80),
            sample(1_500, 1_000, 1_300),
            sample(2_503, 2_000, 2_080),
        ]);
        assert!(!clock.is_off(Instant::from_nanos(0)));
    }

    #[test]
    fn a_clock_that_runs_wrong_is_seen_from_both_sides() {
        for theirs in [11_050, 10_450, 400] {
            let clock = notes(&[sample(500, 0, 1), sample(theirs, 10_000, 10_001)]);
            assert!(
                clock.is_off(Instant::from_nanos(10_001_000_000)),
                "{theirs}"
            );
            assert!(!clock.is_off(Instant::from_nanos(50_000_000_000)));
        }
    }
}
