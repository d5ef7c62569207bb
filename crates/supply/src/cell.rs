//! Everything a node knows about one key: its tokens, its loans, what it promised, and what it is about to ask.
//!
//! A key that deals with nobody is its tokens and its demand; the rest is kept only while there is something to know.
//! [`SupplyCell::settle`] brings it to a time, step by step: whatever begins or ends before then does so at its own
//! instant, so that it makes no difference how often it is looked at. Not here: what is said to others.

use std::ops::{Deref, DerefMut};

use tollgate_gossip::NodeId;
use tollgate_limit::{Instant, Span};
use tollgate_mode::Weigh;

use crate::asking::KeyQuestions;
use crate::bucket::{SupplyBucket, signed};
use crate::demand::Demand;
use crate::ground::BaseShare;
use crate::limits::Limits;
use crate::loans::{BookedLoan, Borrowed};
use crate::planted;
use crate::promises::Promises;

/// One key on one node. What it has to do with others is read and changed as if it were always there.
#[derive(Clone, Debug)]
pub(crate) struct SupplyCell {
    pub(crate) bucket: SupplyBucket,
    pub(crate) demand: Demand,
    dealings: Option<Box<Dealings>>,
}

/// What a key has to do with others.
#[derive(Clone, Debug)]
pub(crate) struct Dealings {
    pub(crate) lent: Vec<BookedLoan>,
    pub(crate) borrowed: Vec<Borrowed>,
    /// Requests that were let in and wait.
    promises: Promises,
    /// When a leaking bucket is through with those it let in.
    through: Instant,
    pub(crate) asking: KeyQuestions,
}

impl Dealings {
    const NONE: Self = Self {
        lent: Vec::new(),
        borrowed: Vec::new(),
        promises: Promises::NONE,
        through: Instant::from_nanos(0),
        asking: KeyQuestions::NONE,
    };
}

static NO_DEALINGS: Dealings = Dealings::NONE;

impl Deref for SupplyCell {
    type Target = Dealings;

    fn deref(&self) -> &Dealings {
        self.dealings.as_deref().unwrap_or(&NO_DEALINGS)
    }
}

impl DerefMut for SupplyCell {
    fn deref_mut(&mut self) -> &mut Dealings {
        self.dealings
            .get_or_insert_with(|| Box::new(Dealings::NONE))
    }
}

impl Weigh for SupplyCell {
    fn heap_bytes(&self) -> u64 {
        let of = |dealings: &Dealings| {
            let lent = dealings.lent.len() * size_of::<BookedLoan>();
            let borrowed = dealings.borrowed.len() * size_of::<Borrowed>();
            (size_of::<Dealings>() + lent + borrowed) as u64
        };
        self.dealings.as_deref().map_or(0, of)
    }
}

/// Loans that came to their end while nobody looked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EndedLoans {
    /// Those taken.
    pub(crate) expired: u64,
    /// How old these were, altogether.
    pub(crate) age: u128,
    /// Those given.
    pub(crate) lapsed: u64,
}

impl SupplyCell {
    /// A key that has just been heard of.
    pub(crate) fn new(bucket: SupplyBucket, now: Instant) -> Self {
        Self {
            bucket,
            demand: Demand::new(now),
            dealings: None,
        }
    }

    /// What it has to do with others, where there is something.
    pub(crate) fn dealings(&mut self) -> Option<&mut Dealings> {
        self.dealings.as_deref_mut()
    }

    /// Keeps nothing where there is nothing to know.
    pub(crate) fn forget_dealings(&mut self) {
        let is_over = |dealings: &Dealings| {
            let asking = &dealings.asking;
            dealings.lent.is_empty()
                && dealings.borrowed.is_empty()
                && dealings.promises.is_empty()
                && dealings.through <= self.bucket.at
                && asking.is_quiet()
                && asking.need.is_none()
                && !asking.has_refused
                && asking.again_at <= self.bucket.at
        };
        if self.dealings.as_deref().is_some_and(is_over) {
            self.dealings = None;
        }
    }

    /// What of the home is lent.
    pub(crate) fn lent(&self) -> u64 {
        let sum = self.lent.iter().map(|lent| u128::from(lent.amount())).sum();
        crate::loans::narrow(sum)
    }

    /// What is borrowed.
    pub(crate) fn borrowed(&self) -> u64 {
        self.borrowed
            .iter()
            .fold(0, |sum, loan| sum.saturating_add(loan.amount()))
    }

    /// What of the home can be used or lent at the cell's time.
    pub(crate) fn free(&self, ground: &BaseShare) -> u64 {
        if ground.is_valid(self.bucket.at) {
            ground.home.saturating_sub(self.lent())
        } else {
            0
        }
    }

    /// What can be used at the cell's time.
    pub(crate) fn usable(&self, ground: &BaseShare) -> u64 {
        self.free(ground).saturating_add(self.borrowed())
    }

    /// How many tokens there may be: the depth, less what lies ready for those who wait.
    pub(crate) fn room(&self, ground: &BaseShare) -> i128 {
        let depth = ground.depth(self.usable(ground));
        signed(depth).saturating_sub(signed(self.promises.sum()))
    }

    /// Whether somebody waits for tokens of this node, or it owes some.
    pub(crate) fn is_in_debt(&self) -> bool {
        self.bucket.tokens < 0 || !self.promises.is_empty()
    }

    /// Brings the cell to `now`.
    pub(crate) fn settle(&mut self, ground: &BaseShare, now: Instant) -> EndedLoans {
        let mut ended = EndedLoans::default();
        while self.bucket.at < now {
            let next = self.next_event(ground).filter(|next| *next <= now);
            let (rate, room) = (ground.earns(self.usable(ground)), self.room(ground));
            self.bucket.fill(rate, room, next.unwrap_or(now));
            if next.is_some() {
                self.end(&mut ended);
                let room = self.room(ground);
                self.bucket.clamp(room);
            }
        }
        debug_assert!(
            self.bucket.tokens <= self.room(ground),
            "more tokens than there is room for"
        );
        ended
    }

    /// The next instant, after the cell's time, at which something begins or ends.
    fn next_event(&self, ground: &BaseShare) -> Option<Instant> {
        let loans = self.borrowed.iter().map(|loan| loan.until);
        let lent = self.lent.iter().map(|loan| loan.until);
        let promises = self.promises.first();
        let home = [ground.from, ground.until].into_iter();
        let events = loans.chain(lent).chain(promises).chain(home);
        events.filter(|event| *event > self.bucket.at).min()
    }

    /// Drops what has ended at the cell's time.
    fn end(&mut self, ended: &mut EndedLoans) {
        let now = self.bucket.at;
        let Some(dealings) = self.dealings() else {
            return;
        };
        dealings.borrowed.retain(|loan| {
            let is_over = loan.until <= now;
            if is_over {
                ended.expired += 1;
                ended.age += u128::from(now.nanos_since(loan.since));
            }
            !is_over
        });
        let lent = dealings.lent.len();
        dealings.lent.retain(|loan| loan.until > now);
        ended.lapsed += (lent - dealings.lent.len()) as u64;
        dealings.promises.pass(now);
    }

    /// How long until a request of `cost` tokens can be let through, counting on nothing that could end and after all
    /// who wait; `None` where that is not certain.
    pub(crate) fn promise(&self, ground: &BaseShare, cost: u128) -> Option<Span> {
        let begin = self.bucket.at;
        // When the last who waits has passed, nothing is certain to be left: more may have come meanwhile, but have had
        // no room.
        let (mut at, mut left) = match self.promises.last() {
            None => (begin, signed(cost).saturating_sub(self.bucket.tokens)),
            Some(last) => {
                let real = self
                    .bucket
                    .tokens
                    .saturating_add(signed(self.promises.sum()));
                (last, signed(cost).saturating_sub(real.min(0)))
            }
        };
        loop {
            let (rate, end) = self.certain(ground, at);
            let time = u128::from(end.nanos_since(at));
            let earned = u128::from(ground.earns(rate));
            let short = u128::try_from(left).unwrap_or(0);
            let up = short.saturating_add(earned.saturating_sub(1));
            let needed = if short == 0 {
                Some(0)
            } else {
                up.checked_div(earned)
            };
            match needed.filter(|needed| *needed < time) {
                Some(needed) => {
                    let at = at.saturating_add(Span::from_nanos(needed));
                    let fits = ground.depth(rate) >= cost;
                    return fits.then(|| Span::from_nanos(u128::from(at.nanos_since(begin))));
                }
                None if end == Instant::LAST => return None,
                None => left = left.saturating_sub(signed(earned * time)),
            }
            at = end;
        }
    }

    /// The rate that is certain at an instant that is not before the cell's, and until when.
    fn certain(&self, ground: &BaseShare, at: Instant) -> (u64, Instant) {
        let is_valid = ground.is_valid(self.bucket.at) && at < ground.until;
        let home = if is_valid {
            (ground.home.saturating_sub(self.lent()), ground.until)
        } else {
            (0, Instant::LAST)
        };
        let until =
            |loan: &Borrowed| planted!("promises-count-on-renewals", loan.until, Instant::LAST);
        let live = self.borrowed.iter().filter(|loan| until(loan) > at);
        live.fold(home, |(rate, end), loan| {
            (rate.saturating_add(loan.amount()), end.min(until(loan)))
        })
    }

    /// Takes tokens of a request that passes after `wait`.
    pub(crate) fn take(&mut self, cost: u64, wait: Span, wait_max: Span) {
        let tokens = Limits::tokens(cost);
        self.bucket.take(tokens);
        if wait > Span::ZERO {
            let passes = self.bucket.at.saturating_add(wait);
            self.promises.push(passes, tokens, wait_max);
        }
    }

    /// How long one more request of a leaking bucket waits.
    pub(crate) fn leak_wait(&self) -> Span {
        Span::from_nanos(u128::from(self.through.nanos_since(self.bucket.at)))
    }

    /// Lets a leaking bucket be through later by what `cost` takes.
    pub(crate) fn leak(&mut self, ground: &BaseShare, cost: u64) {
        let rate = u128::from(ground.earns(self.usable(ground))).max(1);
        let time = Limits::tokens(cost).div_ceil(rate);
        let begin = self.through.max(self.bucket.at);
        self.through = begin.saturating_add(Span::from_nanos(time));
    }

    /// Takes tokens along with a rate that leaves: their part, and never more than its depth.
    pub(crate) fn carve(&mut self, ground: &BaseShare, rate: u64) -> u128 {
        let usable = u128::from(self.usable(ground)).max(1);
        let tokens = u128::try_from(self.bucket.tokens).unwrap_or(0);
        let whole = tokens / usable * u128::from(rate);
        let rest = tokens % usable * u128::from(rate) / usable;
        let carved = (whole + rest).min(ground.depth(rate));
        self.bucket.take(planted!("tokens-stay-behind", carved, 0));
        carved
    }

    /// Gives back of a loan until it is `keep`, and the tokens that belong to it; says whether anything was.
    pub(crate) fn give_back(&mut self, ground: &BaseShare, place: usize, keep: u64) -> bool {
        let Some(amount) = self.borrowed.get(place).map(Borrowed::amount) else {
            return false;
        };
        let less = amount.saturating_sub(keep);
        if less == 0 {
            return false;
        }
        let carved = self.carve(ground, less);
        if let Some(loan) = self.borrowed.get_mut(place) {
            loan.returned += u128::from(less);
            loan.tokens_back += carved;
            loan.is_unreported = true;
        }
        let room = self.room(ground);
        self.bucket.clamp(room);
        true
    }

    /// The place of the loan from a lender that can be added to, if there is one.
    pub(crate) fn loan_from(&self, lender: NodeId) -> Option<usize> {
        self.borrowed.iter().rposition(|loan| loan.from == lender)
    }

    /// Whether the key has no need of others: at least half full, nothing borrowed or asked for, and nothing refused of
    /// late.
    pub(crate) fn is_calm(&self, ground: &BaseShare) -> bool {
        let asking = &self.asking;
        self.borrowed.is_empty()
            && asking.asks.is_empty()
            && asking.need.is_none()
            && !asking.has_refused
            && self.bucket.tokens.saturating_mul(2) >= self.room(ground)
    }

    /// Whether the key is as a key that was never heard of, whose bucket would hold `blank`.
    pub(crate) fn is_blank(&self, blank: i128) -> bool {
        planted!("forgets-what-it-lent", self.lent.is_empty(), true)
            && self.borrowed.is_empty()
            && self.promises.is_empty()
            && self.asking.is_quiet()
            && self.bucket.tokens >= blank
            && self.through <= self.bucket.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_deals_with_nobody_takes_80_bytes() {
        assert_eq!(size_of::<SupplyCell>(), 80);
    }
}
