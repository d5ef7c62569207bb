//! Freshness of a peer's reports: phi accrual over the gaps between its messages, and its measured delay.
//!
//! Gaps are taken to be exponential with the mean of those observed, as in Cassandra's detector: phi = log10(e) ·
//! silence /
//! mean. All in integers: phi in thousandths, rounded down, by 434/1000 for log10(e); the mean is smoothed by a
//! sixteenth of each gap. Not here: who is a member.

use crate::status::Grade;

/// Gaps between messages of one peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gaps {
    heard: Option<u64>,
    mean_ns: u64,
}

impl Default for Gaps {
    fn default() -> Self {
        Self {
            heard: None,
            mean_ns: MEAN_NS_START,
        }
    }
}

impl Gaps {
    /// A message arrived.
    pub(crate) fn hear(&mut self, mono: u64) {
        if let Some(before) = self.heard {
            let gap = mono.saturating_sub(before).min(GAP_NS_MAX);
            self.mean_ns = self.mean_ns - self.mean_ns / SMOOTH + gap / SMOOTH;
        }
        self.heard = Some(mono);
    }

    pub(crate) const fn heard(&self) -> Option<u64> {
        self.heard
    }

    /// Phi in thousandths; the maximum for a peer that never sent.
    pub(crate) fn phi_milli(&self, mono: u64) -> u32 {
        let Some(heard) = self.heard else {
            return u32::MAX;
        };
        let silence = u128::from(mono.saturating_sub(heard));
        let mean = u128::from(self.mean_ns.max(MEAN_NS_MIN));
        u32::try_from(silence * 434 / mean).unwrap_or(u32::MAX)
    }
}

pub(crate) const fn grade(phi_milli: u32) -> Grade {
    match phi_milli {
        0..1000 => Grade::Fresh,
        1000..3000 => Grade::Late,
        3000..8000 => Grade::Stale,
        8000.. => Grade::Silent,
    }
}

/// Half the round trip, smoothed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkDelay {
    smoothed_ns: Option<u64>,
    /// Token and time of the last ping.
    asked: Option<(u64, u64)>,
}

impl LinkDelay {
    pub(crate) const fn ask(&mut self, token: u64, mono: u64) {
        self.asked = Some((token, mono));
    }

    /// Only the answer to the last ping counts, once.
    pub(crate) fn answer(&mut self, token: u64, mono: u64) {
        let Some((_, sent)) = self.asked.take_if(|(asked, _)| *asked == token) else {
            return;
        };
        let delay = mono.saturating_sub(sent) / 2;
        self.smoothed_ns = Some(match self.smoothed_ns {
            None => delay,
            Some(smoothed) => smoothed - smoothed / 8 + delay / 8,
        });
    }

    pub(crate) const fn smoothed_ns(&self) -> Option<u64> {
        self.smoothed_ns
    }
}

/// A new peer is expected to send this often.
const MEAN_NS_START: u64 = 2_000_000_000;
/// Lower bound of the mean: an idle peer sends only pings, which come no faster.
const MEAN_NS_MIN: u64 = 1_000_000_000;
/// A longer gap is an outage and does not enter the mean.
const GAP_NS_MAX: u64 = 60_000_000_000;
const SMOOTH: u64 = 16;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn silence_is_graded_by_what_is_usual() {
        let mut gaps = Gaps::default();
        assert_eq!(grade(gaps.phi_milli(0)), Grade::Silent);
        for second in 0..200 {
            gaps.hear(second * 2 * SECOND);
        }
        let last = 199 * 2 * SECOND;
        let after = |seconds: u64| grade(gaps.phi_milli(last + seconds * SECOND));
        assert_eq!(after(0), Grade::Fresh);
        assert_eq!(after(4), Grade::Fresh);
        assert_eq!(after(6), Grade::Late);
        assert_eq!(after(15), Grade::Stale);
        assert_eq!(after(40), Grade::Silent);
    }

    #[test]
    fn a_busy_peer_that_pauses_for_two_seconds_is_fresh() {
        let mut gaps = Gaps::default();
        for milli in 0..10_000 {
            gaps.hear(milli * 1_000_000);
        }
        assert_eq!(grade(gaps.phi_milli(12 * SECOND)), Grade::Fresh);
        assert_eq!(grade(gaps.phi_milli(30 * SECOND)), Grade::Silent);
    }

    #[test]
    fn only_the_answer_to_the_last_ping_counts_and_once() {
        let mut delay = LinkDelay::default();
        delay.ask(1, 100);
        delay.ask(2, 1000);
        delay.answer(1, 1100);
        assert_eq!(delay.smoothed_ns(), None);
        delay.answer(2, 1200);
        assert_eq!(delay.smoothed_ns(), Some(100));
        delay.answer(2, 9999);
        assert_eq!(delay.smoothed_ns(), Some(100));
    }

    proptest! {
        #[test]
        fn phi_never_falls_while_nothing_comes(
            heard in proptest::collection::vec(0..u64::MAX / 4, 1..20), at in any::<u64>(), later in any::<u64>(),
        ) {
            let mut gaps = Gaps::default();
            for mono in &heard {
                gaps.hear(*mono);
            }
            let (at, later) = (at.min(later), at.max(later));
            prop_assert!(gaps.phi_milli(at) <= gaps.phi_milli(later));
        }
    }
}
