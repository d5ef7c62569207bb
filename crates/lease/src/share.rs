//! How much a client is lent: its share of depth, rate and tokens by its demand.
//!
//! Policy, never safety: whatever is computed here is cut to what is free before it is lent. Not here: what is free.

use crate::amount::{Limits, TOKEN, mites, part, used};
use crate::pool::Rules;

/// Who gets how much where there is not enough for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharingRule {
    /// Everybody in proportion to what he asks for, as one bucket would treat requests.
    Request,
    /// Everybody what he asks for, up to a mark that is the same for all: who asks for much takes nothing from who asks
    /// for little.
    Client,
}

/// What there is to share, and among whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedDemand<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) rules: &'a Rules,
    /// Demand of all lessees, the one in question included, each up to the mark.
    pub(crate) want: u64,
    /// Demand of those who ask without a lease.
    pub(crate) asked: u64,
    /// Up to which the demand of each counts.
    pub(crate) mark: u64,
    /// What all lessees want, whatever the mark.
    pub(crate) wanted: u64,
}

impl SharedDemand<'_> {
    /// All demand.
    pub(crate) fn whole(&self) -> u64 {
        self.want.saturating_add(self.asked).max(1)
    }

    /// Whether all demand is below the limit. What one client wants counts up to the limit, so that one alone that
    /// wants more is no calm.
    pub(crate) fn is_calm(&self) -> bool {
        self.wanted.saturating_add(self.asked).max(1) < self.limits.want()
    }

    /// The depth that is due to a demand; `None` where a lease is not worth it.
    pub(crate) fn depth(&self, want: u64) -> Option<i128> {
        let want = want.min(self.mark);
        let use_in_term = used(want, self.rules.term_ns);
        let lent = part(self.limits.depth(), self.rules.lent_depth, ONE);
        let depth = part(lent, want, self.want).min(use_in_term);
        // Those who ask would lease too, and there must be about enough for all of them; its own asking is among
        // theirs.
        let all = self.want.saturating_add(self.asked.saturating_sub(want));
        let fair = part(lent, want, all).min(use_in_term);
        let is_worth = depth >= mites(self.rules.depth_min)
            && fair >= mites(self.rules.depth_min) / 4 * 3
            && use_in_term >= mites(self.rules.uses_min)
            && self.limits.burst() >= BURST_MIN;
        is_worth.then_some(depth)
    }

    /// The rate that is due to a demand with such a depth.
    pub(crate) fn rate(&self, want: u64, depth: i128) -> i128 {
        let sure = part(rate_of(want), fraction(depth, self.rules.spill), ONE);
        sure.min(self.rate_share(want))
    }

    /// The part of the lendable rate that is due to a demand.
    pub(crate) fn rate_share(&self, want: u64) -> i128 {
        let asked = part(i128::from(ONE), self.asked, self.whole());
        let asked = u64::try_from(asked).unwrap_or(ONE);
        let kept = self.rules.pool_rate.max(asked).min(ONE);
        part(
            part(self.limits.rate(), ONE - kept, ONE),
            want.min(self.mark),
            self.whole(),
        )
    }

    /// The part of some tokens that is due to a demand.
    pub(crate) fn of(&self, tokens: i128, want: u64) -> i128 {
        part(tokens, want.min(self.mark), self.whole())
    }
}

/// The mark up to which each of these demands can be met out of `whole`, the same for all; their sum where all can be.
pub(crate) fn mark(wants: &mut [u64], whole: u64) -> u64 {
    wants.sort_unstable();
    let mut left = whole;
    for (met, want) in wants.iter().enumerate() {
        let each = left / (wants.len() - met) as u64;
        if *want > each {
            return each.max(1);
        }
        left -= want;
    }
    u64::MAX
}

/// A demand as a rate.
pub(crate) fn rate_of(want: u64) -> i128 {
    part(used(want, SECOND_NS), 1, SECOND_NS)
}

/// How much of a demand is leased as rate with that depth: so much that a Poisson stream leaves the bucket full one
/// time in `spill`, `(1 - e^-t) / t` with `t = ln(spill) / depth`, at most 0.95; in 2^-16.
fn fraction(depth: i128, spill: u64) -> u64 {
    // The table is for one time in a hundred: another one is that of another depth.
    let depth = part(depth, log2(100), log2(spill.max(2)));
    let tokens = usize::try_from((depth / TOKEN).max(1)).unwrap_or(usize::MAX);
    let last = FRACTIONS.len();
    let found = FRACTIONS.get(tokens.min(last) - 1);
    u64::from(found.copied().unwrap_or(0))
}

/// The logarithm of a number above zero, in 2^-16.
fn log2(number: u64) -> u64 {
    let whole = u64::from(number.max(1).ilog2());
    // The rest is between one and two, in 2^-32; its square says the next digit.
    let mut rest = (u128::from(number.max(1)) << 32) >> whole;
    let mut log = whole;
    for _ in 0..16 {
        rest = (rest * rest) >> 32;
        let digit = rest >> 33;
        rest >>= digit;
        log = log << 1 | u64::from(digit > 0);
    }
    log
}

/// One, in which shares are counted.
pub(crate) const ONE: u64 = 1 << 16;
const SECOND_NS: u64 = 1_000_000_000;
/// Tokens of burst below which nobody can hold anything beside a pool.
const BURST_MIN: u64 = 4;
const FRACTIONS: [u16; 45] = [
    14089, 25616, 33495, 38923, 42828, 45753, 48020, 49826, 51298, 52518, 53547, 54426, 55186,
    55848, 56431, 56948, 57409, 57824, 58198, 58538, 58848, 59131, 59392, 59632, 59854, 60060,
    60252, 60430, 60597, 60754, 60901, 61039, 61169, 61291, 61408, 61517, 61622, 61721, 61815,
    61904, 61989, 62071, 62149, 62223, 62259,
];

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn a_bucket_that_may_spill_more_often_is_lent_more() {
        for (spill, depth, expected) in [
            (100, 10, 0.8014),
            (100, 4, 0.5939),
            (10, 4, 0.7611),
            (1_000, 10, 0.7222),
            (100, 1_000, 0.95),
        ] {
            let found = fraction(i128::from(depth) * TOKEN, spill);
            #[allow(clippy::cast_precision_loss)]
            let found = found as f64 / ONE as f64;
            assert!((found - expected).abs() < 0.03, "{spill}, {depth}: {found}");
        }
    }

    #[test]
    fn logarithms_are_right_to_four_digits() {
        for (number, expected) in [
            (1, 0.0),
            (2, 1.0),
            (3, 1.58496),
            (100, 6.64386),
            (u64::MAX, 64.0),
        ] {
            #[allow(clippy::cast_precision_loss)]
            let found = log2(number) as f64 / ONE as f64;
            assert!((found - expected).abs() < 1e-4, "{number}: {found}");
        }
    }

    #[test]
    fn a_mark_meets_the_small_and_cuts_the_rest_alike() {
        assert_eq!(mark(&mut [900, 10, 20], 100), 70);
        assert_eq!(mark(&mut [50, 50, 50], 90), 30);
        assert_eq!(mark(&mut [10, 20], 100), u64::MAX);
        assert_eq!(mark(&mut [], 0), u64::MAX);
        assert_eq!(mark(&mut [5, 5], 0), 1);
    }
}
