//! A sub-bucket: tokens that come back at its share of the rate, up to its share of the depth less what it has given
//! away.
//!
//! What is *owed* to messages that were told when they go comes first of what comes back. Their tokens are there a
//! little before they go, so that room is reserved for these until the last of them has gone. What is hired of other
//! nodes may be counted on until its term ends, and depth that is hired holds tokens only, nothing that lasts longer.
//!
//! All times are those of its node and never run backwards; whatever is asked about an earlier instant is answered for
//! the last one. Not here: who waits, and what is given to whom.

use tollgate_limit::{Instant, Span};

use crate::limits::Share;
use crate::line::RepaymentLine;

/// A sub-bucket, in grains.
#[derive(Clone, Debug)]
pub(crate) struct SubBucket {
    share: Share,
    /// Of that, what is hired.
    hired: Share,
    /// What is hired is sure until then.
    hired_until: Instant,
    /// The depth it should have; above it only while so much is held.
    depth_aim: u128,
    /// What comes back each nanosecond: its rate, slowed by as much as its clock may run fast.
    refill: u128,
    slow_ppm: u32,
    tokens: u128,
    /// Given away and perhaps on its way: there must be room for it.
    held: u128,
    at: Instant,
    /// Nothing comes back before.
    dry_until: Instant,
    /// What comes back is promised to messages up to here.
    owed: u128,
    /// How fast that comes back: what was sure when it was promised.
    line: RepaymentLine,
    /// When the last of these goes.
    last_goes: Instant,
    /// The most tokens there can be at once of messages that have not gone, while each gets its own as it goes.
    reserve: u128,
    /// What was promised to messages that do not go after all: others may have got it early.
    freed: u128,
}

impl SubBucket {
    /// A bucket for messages that cost no more than `reserve`, empty.
    pub(crate) fn new(share: Share, slow_ppm: u32, reserve: u128, at: Instant) -> Self {
        let mut bucket = Self {
            share: Share::NONE,
            hired: Share::NONE,
            hired_until: at,
            depth_aim: 0,
            refill: 0,
            slow_ppm: slow_ppm.min(MILLION),
            tokens: 0,
            held: 0,
            at,
            dry_until: at,
            owed: 0,
            line: RepaymentLine::default(),
            last_goes: Instant::default(),
            reserve,
            freed: 0,
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
    pub(crate) fn room(&self) -> u128 {
        let taken = self.held.saturating_add(self.reserved());
        self.share.depth.saturating_sub(taken)
    }

    /// The same without what is hired.
    pub(crate) fn sure_room(&self) -> u128 {
        self.room().saturating_sub(self.hired.depth)
    }

    /// Room for tokens of messages that have not gone.
    pub(crate) fn reserved(&self) -> u128 {
        if self.at < self.last_goes {
            self.reserve.saturating_add(self.freed)
        } else {
            0
        }
    }

    /// What comes back and is promised already.
    pub(crate) const fn owed(&self) -> u128 {
        self.owed
    }

    /// What comes back each nanosecond.
    pub(crate) const fn refill(&self) -> u128 {
        self.refill
    }

    /// Nothing comes back before.
    pub(crate) const fn dry(&self) -> Instant {
        self.dry_until
    }

    /// What is missing until it is full.
    pub(crate) fn missing(&self) -> u128 {
        self.room().saturating_sub(self.tokens)
    }

    /// Lets time pass, up to `now`.
    pub(crate) fn pass(&mut self, now: Instant) {
        if self.at < self.last_goes && self.last_goes <= now {
            self.step(self.last_goes);
            self.freed = 0;
        }
        self.step(now);
    }

    fn step(&mut self, now: Instant) {
        let since = self.since();
        let back = self
            .refill
            .saturating_mul(u128::from(now.nanos_since(since)));
        let paid = self.line.back(since, now).min(self.owed);
        self.owed -= paid;
        self.put(back - paid);
        self.at = self.at.max(now);
    }

    /// As it would be by `now`.
    pub(crate) fn by(&self, now: Instant) -> Self {
        let mut then = self.clone();
        then.pass(now);
        then
    }

    /// What it would have by `now`.
    pub(crate) fn tokens_at(&self, now: Instant) -> u128 {
        self.by(now).tokens
    }

    /// When there are so many tokens, no earlier than the last change; `None` where there never will be.
    pub(crate) fn when(&self, cost: u128) -> Option<Instant> {
        let missing = cost.saturating_sub(self.tokens);
        if missing == 0 {
            return Some(self.at);
        }
        if cost > self.room() {
            return None;
        }
        let refill = Some(self.refill).filter(|refill| *refill > 0)?;
        let wait = Span::from_nanos(missing.div_ceil(refill));
        Some(self.since().saturating_add(wait))
    }

    /// From when on tokens come back.
    fn since(&self) -> Instant {
        self.at.max(self.dry_until)
    }

    /// How fast that comes back which is promised next.
    fn next_line(&self) -> RepaymentLine {
        if self.owed > 0 {
            return self.line;
        }
        self.line_of_share()
    }

    fn line_of_share(&self) -> RepaymentLine {
        let sure = self.share.less(self.hired);
        let last = slowed(sure.rate, self.slow_ppm);
        RepaymentLine::new(self.refill, self.hired_until, last)
    }

    /// When a message of that cost goes that is told so now: at once if its tokens are there, and otherwise when what
    /// comes back has paid for it and for all that were told before it. Tokens that are there count where nothing is
    /// owed.
    pub(crate) fn promise(&self, cost: u128) -> Option<Instant> {
        if cost <= self.tokens {
            return Some(self.at);
        }
        self.next_line().by(self.since(), self.owing(cost))
    }

    /// Tells a message that it goes then.
    pub(crate) fn promised(&mut self, cost: u128, goes: Instant) {
        if self.take(cost) {
            return;
        }
        self.line = self.next_line();
        if self.owed == 0 {
            self.tokens = 0;
        }
        // The whole of its last nanosecond, or the next one would go by that much too early.
        self.owed = self.line.back(self.since(), goes);
        self.last_goes = self.last_goes.max(goes);
        self.settle();
    }

    fn owing(&self, cost: u128) -> u128 {
        let tokens = if self.owed == 0 { self.tokens } else { 0 };
        self.owed.saturating_add(cost.saturating_sub(tokens))
    }

    /// Messages of so much that were told when they go do not; what cannot be kept for others is lost.
    pub(crate) fn refund(&mut self, grains: u128) {
        let early = grains.min(self.owed);
        if early <= self.sure_room().saturating_sub(self.tokens) {
            self.owed -= early;
            self.freed = self.freed.saturating_add(early);
        }
        self.put(grains - early);
    }

    /// How long so much takes to come back; nothing where nothing does.
    pub(crate) fn takes(&self, grains: u128) -> Span {
        Span::from_nanos(
            grains
                .checked_div(self.refill)
                .map_or(0, |_| grains.div_ceil(self.refill)),
        )
    }

    /// Forgets what is owed, and fills it.
    pub(crate) fn reset(&mut self) {
        self.owed = 0;
        self.fill();
    }

    /// Lets nothing come back before.
    pub(crate) fn dry_until(&mut self, until: Instant) {
        self.dry_until = until;
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

    /// Has that much for itself and that much hired, which is sure until then. Who was told when it goes stays with
    /// what there was.
    pub(crate) fn hire(&mut self, sure: Share, hired: Share, until: Instant) {
        (self.hired, self.hired_until) = (hired, until);
        self.change(sure.plus(hired));
        if self.owed > 0
            && let Some(line) = self.line.then(self.last_goes, &self.line_of_share())
        {
            self.line = line;
        }
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
        let mut bucket = SubBucket::new(SHARE, 0, 1, at(0));
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
        let mut bucket = SubBucket::new(SHARE, 0, 1, at(0));
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
    fn promises_are_no_closer_than_what_comes_back_between_them() {
        let mut bucket = SubBucket::new(SHARE, 0, 10, at(0));
        let goes: Vec<_> = (0..5)
            .map(|_| {
                let goes = bucket.promise(10).unwrap();
                bucket.promised(10, goes);
                goes
            })
            .collect();
        // A third of a nanosecond less would be enough for each alone.
        assert_eq!(goes, [4, 8, 12, 16, 20].map(at));
        bucket.pass(at(5));
        assert_eq!((bucket.owed(), bucket.tokens(), bucket.room()), (45, 0, 90));
        bucket.refund(10);
        assert_eq!((bucket.owed(), bucket.room()), (35, 80));
        bucket.pass(at(20));
        assert_eq!(
            (bucket.owed(), bucket.tokens(), bucket.room()),
            (0, 10, 100)
        );
    }

    #[test]
    fn a_fast_clock_earns_no_more_than_the_rate() {
        let mut bucket = SubBucket::new(
            Share {
                rate: 1_000_003,
                depth: 1 << 60,
            },
            1000,
            1,
            at(0),
        );
        bucket.pass(at(1_001_000_000));
        assert!(bucket.tokens() <= 1_000_003 * 1_000_000_000);
    }
}
