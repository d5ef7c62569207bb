//! The arguments of the script, and why none of its steps rounds.
//!
//! Lua counts in doubles. They hold every whole number up to 2^53 (9.007e15) exactly, and the nearest double of a
//! larger result is never below 2^53. Call a number *narrow* below 9e15. The script works with these:
//!
//! - **Times** are pairs of seconds (below 2^35) and nanoseconds (below 10^9), compared and subtracted part by part.
//! - **Buckets**: `spent`, `top`, the depth and the refill per nanosecond are narrow, or it is not asked. More than 9e6
//!   seconds are more than 9e15 nanoseconds, which refill any narrow bucket, a nanosecond being a grain at least; fewer
//!   make a difference in nanoseconds below 2^53. Times the refill that may round, but only where it is 2^53 or more,
//!   and then more than `spent` either way. A cost above the burst never passes; up to it, `cost * grain` is at most
//!   the depth. It is compared with `top - spent`, a difference of narrow numbers, and what is added when it fits stays
//!   within `top`. Without a top, the sum is checked first, and a wide one is not for the script.
//! - **Windows and entries**: counts and limits are narrow; a cost is compared with `limit - count`, and added where it
//!   fits.
//! - **Weighted windows** compare `previous * left` with `room * period`: up to 53 and 62 bits each. As doubles both
//!   are right to within 4 parts of 2^53, so where they differ by more than one part of 10^12 that decides. Otherwise
//!   both are computed in digits of 10^7: a digit of a product is at most three times 10^14 and a carry, and `fmod`
//!   and the division of a multiple are exact.
//! - **Changes** without a decision follow the same rules: whatever they would make wide is not for the script, nor are
//!   charges to weighted windows that debts are bounded in, as long as the window before counts, and logs that would
//!   have to be pruned.
//! - **Time to live** is the only number that rounds: it goes up, and a state kept too long equals an unknown
//!   key.
//!
//! Wide numbers are strings in the head, and at a string the script leaves the decision to `Book::apply`, as it does
//! for states of other shapes. The script is not used for contracts with a policy that is wide by its configuration,
//! nor for decisions of those that count refusals. Every verdict of the script is compared with that of
//! `Book::apply`, in production too.

use tollgate_limit::{Algorithm, Instant, Lot, Policy, RequestTerms};
use tollgate_store::{Book, StoreChange, StoreRequest, Verb};

use crate::head::{BUCKET, LOG, SLICES, WEIGHTED, WINDOW};
use crate::pack::Packer;

/// Numbers below this and their differences are exact in Lua, with margin to add seconds.
pub(crate) const NARROW: u64 = 9_000_000_000_000_000;

const SECOND: u128 = 1_000_000_000;

/// The policies of a book at some instant, in the script's format.
#[derive(PartialEq, Eq)]
pub(crate) struct PackedPolicies {
    packed: Packer,
    numbers: usize,
    /// Validity in nanoseconds: start, and exclusive end.
    since: u64,
    until: u128,
    head: [u64; 4],
}

pub(crate) fn seconds(nanos: u128) -> (u64, u64) {
    let whole = u64::try_from(nanos / SECOND).unwrap_or(NARROW);
    let rest = u64::try_from(nanos % SECOND).unwrap_or(0);
    (whole, rest)
}

/// The number of a kind in heads.
pub(crate) fn kind(policy: &Policy) -> u64 {
    match policy.config().algorithm {
        Algorithm::TokenBucket | Algorithm::LeakyBucket => BUCKET,
        Algorithm::FixedWindow => WINDOW,
        Algorithm::SlidingWeighted => WEIGHTED,
        Algorithm::SlidingLog => LOG,
        Algorithm::SlidingCounters => SLICES,
    }
}

/// Whether the script can compute with these policies.
pub(crate) fn is_narrow(book: &Book) -> bool {
    book.set().policies().iter().all(|policy| {
        let config = policy.config();
        if config.limit >= NARROW {
            return false;
        }
        if !config.algorithm.is_bucket() {
            return true;
        }
        match policy.terms(policy.capacity(), Instant::default()) {
            RequestTerms::Bucket {
                need, refill, top, ..
            } => refill < NARROW && narrow(need) && top.is_none_or(narrow),
            _ => false,
        }
    })
}

fn narrow(number: u128) -> bool {
    number < u128::from(NARROW)
}

/// The script's argument for an unconditional change.
pub(crate) fn told_change(book: &Book, change: &StoreChange) -> Vec<u8> {
    let policies = book.set().policies();
    let mut packed = Packer::default();
    packed.array(1 + 4 * policies.len());
    packed.number(change.kind as u64);
    for (place, policy) in policies.iter().enumerate() {
        let entry_at = match policy.terms(1, change.at) {
            RequestTerms::Slices { start, .. } => start,
            _ => change.at.as_nanos(),
        };
        let (seconds, nanos) = seconds(u128::from(entry_at));
        for number in [u64::from(change.is_of(place)), seconds, nanos] {
            packed.number(number);
        }
        let most = policy.owed_max().and_then(|most| u64::try_from(most).ok());
        match most.filter(|most| *most < NARROW) {
            Some(most) => packed.number(most),
            // A wide bound never binds narrow numbers.
            None => packed.minus_one(),
        }
    }
    packed.into_bytes()
}

impl Packer {
    pub(crate) fn request(&mut self, now: Instant, cost: u64) {
        let (seconds, nanos) = seconds(u128::from(now.as_nanos()));
        self.number(seconds);
        self.number(nanos);
        // Larger than every narrow policy can hold, either way.
        self.number(cost.min(NARROW));
    }
}

impl PackedPolicies {
    /// The policies for a request, at `not_before` or later.
    pub(crate) fn to_ask(ask: &StoreRequest, not_before: Instant, linger_ms: u64) -> Self {
        let lot = match ask.verb {
            Verb::Check { lot, .. } => lot,
            _ => Lot::ALWAYS,
        };
        let now = ask
            .verb
            .change(ask.now)
            .map_or(ask.now, |change| change.now);
        Self::of(&ask.book, lot, now.max(not_before), linger_ms)
    }

    /// The policies for a key's rollout bucket at `now`.
    fn of(book: &Book, lot: Lot, now: Instant, linger_ms: u64) -> Self {
        let mut told = Self {
            packed: Packer::default(),
            numbers: 0,
            since: 0,
            until: u128::from(u64::MAX),
            head: [book.shape_id(), 0, 0, linger_ms],
        };
        for policy in book.set().policies() {
            let enforced = lot.is_within(policy.config().enforce_percent);
            told.policy(policy, u64::from(enforced), now);
        }
        let (seconds, nanos) = seconds(told.until);
        told.head = [book.shape_id(), seconds, nanos, linger_ms];
        told
    }

    pub(crate) fn holds(&self, now: Instant) -> bool {
        now.as_nanos() >= self.since && u128::from(now.as_nanos()) < self.until
    }

    /// The script's argument, with these requests.
    pub(crate) fn argument(
        &self,
        requests: impl ExactSizeIterator<Item = (Instant, u64)>,
    ) -> Vec<u8> {
        let mut whole = self.before(3 * requests.len());
        for (now, cost) in requests {
            whole.request(now, cost);
        }
        whole.into_bytes()
    }

    /// The same without requests, which are a separate argument.
    pub(crate) fn terms(&self) -> Vec<u8> {
        self.before(0).into_bytes()
    }

    /// The head of an array with `more` further numbers.
    fn before(&self, more: usize) -> Packer {
        let mut whole = Packer::default();
        whole.array(5 + self.numbers + more);
        for number in self.head {
            whole.number(number);
        }
        whole.number(6 + self.numbers as u64);
        whole.append(&self.packed);
        whole
    }

    fn policy(&mut self, policy: &Policy, enforced: u64, now: Instant) {
        let limit = policy.config().limit;
        match policy.terms(1, now) {
            RequestTerms::Bucket {
                need, refill, top, ..
            } => {
                let grain = u64::try_from(need).unwrap_or(NARROW);
                self.numbers(&[BUCKET, enforced, grain, refill]);
                match top {
                    None => self.packed.minus_one(),
                    Some(top) => self.packed.number(u64::try_from(top).unwrap_or(NARROW)),
                }
                self.packed.number(policy.capacity());
                self.numbers += 2;
            }
            RequestTerms::Window { start, end, .. } => {
                self.within(start, end);
                self.numbers(&[WINDOW, enforced, limit]);
                self.time(u128::from(start));
                self.time(end);
            }
            RequestTerms::Weighted {
                start, period_ns, ..
            } => {
                self.within(start, u128::from(start) + u128::from(period_ns));
                self.numbers(&[WEIGHTED, enforced, limit]);
                self.time(u128::from(start));
                self.time(u128::from(period_ns));
            }
            RequestTerms::Log { period_ns, .. } => {
                self.numbers(&[LOG, enforced, limit]);
                self.time(u128::from(period_ns));
                self.time(0);
            }
            RequestTerms::Slices {
                start,
                width_ns,
                slices,
                ..
            } => {
                self.within(start, u128::from(start) + u128::from(width_ns));
                self.numbers(&[SLICES, enforced, limit]);
                self.time(u128::from(width_ns) * u128::from(slices));
                self.time(u128::from(start));
            }
        }
    }

    fn within(&mut self, start: u64, end: u128) {
        self.since = self.since.max(start);
        self.until = self.until.min(end);
    }

    fn numbers(&mut self, numbers: &[u64]) {
        for number in numbers {
            self.packed.number(*number);
        }
        self.numbers += numbers.len();
    }

    fn time(&mut self, nanos: u128) {
        let (seconds, nanos) = seconds(nanos);
        self.numbers(&[seconds, nanos]);
    }
}
