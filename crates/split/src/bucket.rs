//! A sub-bucket: tokens that come back at its share of the rate, up to its share of the depth less what it has given away.
//!
//! All times are those of its node and never run backwards; whatever is asked about an earlier instant is answered for the
//! last one. Not here: who waits, and what is given to whom.

use tollgate_limit::{Instant, Span};

use crate::limits::Share;

/// A sub-bucket, in grains.
#[derive(Clone, Debug)]
pub(crate) struct SubBucket {
    share: Share,
    /// The depth it should have; above it only while so much is held.
    depth_aim: u128,
    /// What comes back each nanosecond: its rate, slowed by as much as its clock may run fast.
    refill: u128,
    slow_ppm: u32,
    tokens: u128,
    /// Given away and perhaps on its way: there must be room for it.
    held: u128,
    at: Instant,
}

impl SubBucket {
    pub(crate) fn new(share: Share, slow_ppm: u32, at: Instant) -> Self {
        let mut bucket = Self {
            share: Share::NONE,
            depth_aim: 0,
            refill: 0,
            slow_ppm: slow_ppm.min(MILLION),
            tokens: 0,
            held: 0,
            at,
        };
        bucket.change(share);
        bucket
    }

    pub(crate) const fn share(&self) -> Share {
        self.share
    }

    pub(crate) const fn tokens(&self) -> u128 {
        self.tokens
    }

    pub(crate) const fn held(&self) -> u128 {
        self.held
    }

    /// The time of the last change.
    pub(crate) const fn at(&self) -> Instant {
        self.at
    }

    /// The most it may hold.
    pub(crate) const fn room(&self) -> u128 {
        self.share.depth.saturating_sub(self.held)
    }

    /// What is missing until it is full.
    pub(crate) const fn missing(&self) -> u128 {
        self.room().saturating_sub(self.tokens)
    }

    /// Lets time pass, up to `now`.
    pub(crate) fn pass(&mut self, now: Instant) {
        let elapsed = u128::from(now.nanos_since(self.at));
        self.at = self.at.max(now);
        self.put(self.refill.saturating_mul(elapsed));
    }

    /// What it would have by `now`.
    pub(crate) fn tokens_at(&self, now: Instant) -> u128 {
        let elapsed = u128::from(now.nanos_since(self.at));
        let put = self.refill.saturating_mul(elapsed).min(self.missing());
        self.tokens + put
    }

    /// When there are so many tokens, no earlier than the last change; `None` where there never will be.
    pub(crate) fn when(&self, cost: u128) -> Option<Instant> {
        let missing = cost.saturating_sub(self.tokens);
        if missing == 0 {
            return Some(self.at);
        }
        if cost > self.room() || self.refill == 0 {
            return None;
        }
        Some(
            self.at
                .saturating_add(Span::from_nanos(missing.div_ceil(self.refill))),
        )
    }

    /// Takes tokens if they are there.
    #[must_use]
    pub(crate) fn take(&mut self, cost: u128) -> bool {
        let left = self.tokens.checked_sub(cost);
        self.tokens = left.unwrap_or(self.tokens);
        left.is_some()
    }

    /// Adds what there is room for, and says how much that was.
    pub(crate) fn put(&mut self, grains: u128) -> u128 {
        let put = grains.min(self.missing());
        self.tokens += put;
        put
    }

    /// Fills it.
    pub(crate) fn fill(&mut self) {
        self.tokens = self.room();
    }

    /// Takes tokens off to give them away, and keeps their room.
    #[must_use]
    pub(crate) fn give(&mut self, grains: u128) -> bool {
        let gives = self.take(grains);
        if gives {
            self.held += grains;
        }
        gives
    }

    /// Holds room for what may have been given by somebody that is forgotten.
    pub(crate) fn hold(&mut self, grains: u128) {
        self.held += grains;
        self.tokens = self.tokens.min(self.room());
    }

    /// Frees room: what was given has arrived, or never will.
    pub(crate) fn free(&mut self, grains: u128) {
        self.held = self.held.saturating_sub(grains);
        self.settle();
    }

    /// Changes the share. The depth falls no lower than what is held, until that is freed.
    pub(crate) fn change(&mut self, share: Share) {
        self.share.rate = share.rate;
        self.depth_aim = share.depth;
        self.refill = slowed(share.rate, self.slow_ppm);
        self.share.depth = self.share.depth.max(share.depth);
        self.settle();
    }

    fn settle(&mut self) {
        if self.share.depth > self.depth_aim {
            self.share.depth = self.depth_aim.max(self.held);
        }
        self.tokens = self.tokens.min(self.room());
    }
}

/// A rate less so many millionths, rounded down.
fn slowed(rate: u128, ppm: u32) -> u128 {
    let million = u128::from(MILLION);
    let keep = u128::from(MILLION - ppm);
    rate / million * keep + rate % million * keep / million
}

const MILLION: u32 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    const SHARE: Share = Share {
        rate: 3,
        depth: 100,
    };

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn tokens_come_back_up_to_the_depth_less_what_is_held() {
        let mut bucket = SubBucket::new(SHARE, 0, at(0));
        assert_eq!(bucket.when(10), Some(at(4)));
        bucket.pass(at(20));
        assert!(bucket.give(40));
        bucket.pass(at(1000));
        assert_eq!(bucket.tokens(), 60);
        assert_eq!(bucket.when(61), None);
        bucket.free(40);
        bucket.pass(at(1001));
        assert_eq!(bucket.tokens(), 63);
    }

    #[test]
    fn the_depth_falls_no_lower_than_what_is_held() {
        let mut bucket = SubBucket::new(SHARE, 0, at(0));
        bucket.fill();
        assert!(bucket.give(70));
        bucket.change(Share { rate: 1, depth: 50 });
        assert_eq!((bucket.share().depth, bucket.tokens()), (70, 0));
        bucket.free(30);
        assert_eq!((bucket.share().depth, bucket.tokens()), (50, 0));
        bucket.pass(at(100));
        assert_eq!(bucket.tokens(), 10);
    }

    #[test]
    fn a_fast_clock_earns_no_more_than_the_rate() {
        let mut bucket = SubBucket::new(
            Share {
                rate: 1_000_003,
                depth: 1 << 60,
            },
            1000,
            at(0),
        );
        bucket.pass(at(1_001_000_000));
        assert!(bucket.tokens() <= 1_000_003 * 1_000_000_000);
    }
}
