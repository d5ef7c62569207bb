//! How much a client is lent: its share of depth, rate and tokens by its demand.
//!
//! Policy, never safety: whatever is computed here is cut to what is free before it is lent. Not here: what is free.

use crate::amount::{Limits, TOKEN, mites, part, used};
use crate::pool::Rules;

/// What there is to share, and among whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crowd<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) rules: &'a Rules,
    /// Demand of all lessees, the one in question included.
    pub(crate) want: u64,
    /// Demand of those who ask without a lease.
    pub(crate) asked: u64,
}

impl Crowd<'_> {
    /// All demand.
    pub(crate) fn whole(&self) -> u64 {
        self.want.saturating_add(self.asked).max(1)
    }

    /// Whether all demand is below the limit. What one client wants counts up to the limit, so that one alone that wants more
    /// is no calm.
    pub(crate) fn is_calm(&self) -> bool {
        self.whole() < self.limits.want()
    }

    /// The depth that is due to a demand; `None` where a lease is not worth it.
    pub(crate) fn depth(&self, want: u64) -> Option<i128> {
        let use_in_term = used(want, self.rules.term_ns);
        let lent = part(self.limits.depth(), self.rules.lent_depth, ONE);
        let depth = part(lent, want, self.want).min(use_in_term);
        // Others who ask would lease too, if there were depth for all of them; its own asking is among theirs.
        let all = self.want.saturating_add(self.asked.saturating_sub(want));
        let fair = part(lent, want, all).min(use_in_term);
        let is_worth = fair >= mites(self.rules.depth_min)
            && use_in_term >= mites(self.rules.uses_min)
            && self.limits.burst() >= BURST_MIN;
        is_worth.then_some(depth)
    }

    /// The rate that is due to a demand with such a depth.
    pub(crate) fn rate(&self, want: u64, depth: i128) -> i128 {
        let sure = part(rate_of(want), fraction(depth), ONE);
        sure.min(self.rate_share(want))
    }

    /// The part of the lendable rate that is due to a demand.
    pub(crate) fn rate_share(&self, want: u64) -> i128 {
        let asked = part(i128::from(ONE), self.asked, self.whole());
        let asked = u64::try_from(asked).unwrap_or(ONE);
        let kept = self.rules.pool_rate.max(asked).min(ONE);
        part(
            part(self.limits.rate(), ONE - kept, ONE),
            want,
            self.whole(),
        )
    }
}

/// A demand as a rate.
pub(crate) fn rate_of(want: u64) -> i128 {
    part(used(want, SECOND_NS), 1, SECOND_NS)
}

/// How much of a demand is leased as rate with that depth: so much that a Poisson stream leaves the bucket full 1 % of the
/// time, `(1 - e^-t) / t` with `t = ln(100) / depth`, at most 0.95; in 2^-16.
fn fraction(depth: i128) -> u64 {
    let tokens = usize::try_from((depth / TOKEN).max(1)).unwrap_or(usize::MAX);
    let last = FRACTIONS.len();
    let found = FRACTIONS.get(tokens.min(last) - 1);
    u64::from(found.copied().unwrap_or(0))
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
