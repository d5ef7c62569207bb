//! The cap on what a node sends per second: a token bucket of one second's worth.
//!
//! Probes go into debt instead of waiting, at most one second's worth, or one datagram's where that is more. Not here:
//! the queues.

/// A token bucket of bytes, counted in billionths of a byte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cap {
    per_second: Option<u64>,
    level: i128,
    filled: u64,
}

impl Cap {
    pub(crate) fn new(per_second: Option<u64>) -> Self {
        let per_second = per_second.map(|bytes| bytes.max(1));
        Self {
            per_second,
            level: per_second.map_or(0, full),
            filled: 0,
        }
    }

    pub(crate) fn is_open(&mut self, mono: u64) -> bool {
        let Some(rate) = self.per_second else {
            return true;
        };
        let gained = i128::from(mono.saturating_sub(self.filled)) * i128::from(rate);
        self.filled = self.filled.max(mono);
        self.level = self.level.saturating_add(gained).min(full(rate));
        self.level >= 0
    }

    pub(crate) fn take(&mut self, bytes: usize) {
        if let Some(rate) = self.per_second {
            let cost = bytes as i128 * i128::from(SECOND_NS);
            self.level = (self.level - cost).max(-full(rate.max(DATAGRAM_BYTES)));
        }
    }

    /// When it opens again; `None` while it is open.
    pub(crate) fn opens(&self) -> Option<u64> {
        let rate = self.per_second.filter(|_| self.level < 0)?;
        let wait = self.level.unsigned_abs().div_ceil(u128::from(rate));
        Some(
            self.filled
                .saturating_add(u64::try_from(wait).unwrap_or(u64::MAX)),
        )
    }
}

fn full(rate: u64) -> i128 {
    i128::from(rate) * i128::from(SECOND_NS)
}

const SECOND_NS: u64 = 1_000_000_000;
/// The length limit of a datagram: under a cap below that, one is more than a second's worth.
const DATAGRAM_BYTES: u64 = 1 << 16;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn without_a_cap_everything_goes() {
        let mut cap = Cap::new(None);
        cap.take(usize::MAX / 2);
        assert!(cap.is_open(0));
        assert_eq!(cap.opens(), None);
    }

    proptest! {
        /// A sender that waits until it opens sends no more than the cap allows, give or take one second's worth and
        /// one
        /// datagram.
        #[test]
        fn holds_over_any_time(rate in 1_000_u64..1_000_000, sizes in proptest::collection::vec(50_usize..1400, 1..500)) {
            let mut cap = Cap::new(Some(rate));
            let (mut mono, mut sent) = (0, 0);
            for size in sizes {
                while !cap.is_open(mono) {
                    mono = cap.opens().unwrap();
                }
                cap.take(size);
                sent += size as u64;
            }
            let allowed = u128::from(rate) * u128::from(mono + SECOND_NS) / u128::from(SECOND_NS) + 1400;
            prop_assert!(u128::from(sent) <= allowed);
        }
    }
}
