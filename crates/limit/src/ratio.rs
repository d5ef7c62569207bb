//! Shares of numbers: exact multiplication and division by a ratio, always rounded up.
//!
//! Used only where a policy changes, so it is simple before it is fast.

/// How a change of policy scales what was spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ratio {
    pub(crate) numerator: u128,
    pub(crate) denominator: u128,
}

impl Ratio {
    /// Everything stays as it is.
    pub(crate) const ONE: Self = Self {
        numerator: 1,
        denominator: 1,
    };

    /// The share of `amount`, rounded up; the largest number there is where it does not fit.
    pub(crate) fn of(self, amount: u128) -> u128 {
        mul_div_ceil(amount, self.numerator, self.denominator.max(1))
    }

    /// The share of a count.
    pub(crate) fn of_count(self, count: u64) -> u64 {
        narrow(self.of(u128::from(count)))
    }

    /// Shares of one count after the other, newest first, rounded so that the sum of the newest so far is the share
    /// of their sum. Whatever has expired later, less than one token is lost and none is created.
    pub(crate) fn of_newest_first(self) -> impl FnMut(u64) -> u64 {
        let (mut sum, mut shares) = (0_u128, 0);
        move |count| {
            sum = sum.saturating_add(u128::from(count));
            let before = core::mem::replace(&mut shares, self.of(sum));
            narrow(shares - before)
        }
    }
}

fn narrow(count: u128) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// `a * b / c` rounded up, exact unless the result does not fit.
fn mul_div_ceil(a: u128, b: u128, c: u128) -> u128 {
    let (low, high) = a.carrying_mul(b, c - 1);
    if high == 0 {
        low / c
    } else if high >= c {
        u128::MAX
    } else {
        long_div(high, low, c)
    }
}

/// `(high * 2^128 + low) / divisor` bit by bit, for `high` below the divisor.
fn long_div(high: u128, low: u128, divisor: u128) -> u128 {
    let (mut rest, mut quotient) = (high, 0);
    for place in (0..u128::BITS).rev() {
        let overflows = rest >> 127 == 1;
        rest = rest << 1 | (low >> place & 1);
        quotient <<= 1;
        if overflows || rest >= divisor {
            rest = rest.wrapping_sub(divisor);
            quotient |= 1;
        }
    }
    quotient
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// `a * b / c` is `q` exactly where `(q - 1) * c < a * b <= q * c`.
        #[test]
        fn a_share_is_the_smallest_that_covers_it(
            a in any::<u128>(), b in any::<u128>(), c in 1..=u128::MAX, shifts in [0_u32..128, 0..128, 0..128]
        ) {
            let (a, b, c) = (a >> shifts[0], b >> shifts[1], (c >> shifts[2]).max(1));
            let wide = |(low, high): (u128, u128)| (high, low);
            let product = wide(a.carrying_mul(b, 0));
            let share = mul_div_ceil(a, b, c);
            if share < u128::MAX {
                prop_assert!(product <= wide(share.carrying_mul(c, 0)));
            }
            if let Some(less) = share.checked_sub(1) {
                prop_assert!(wide(less.carrying_mul(c, 0)) < product);
            }
        }

        #[test]
        fn shares_of_many_round_up_only_once(
            counts in proptest::collection::vec(0_u64..50, 0..40), numerator in 1_u128..100, denominator in 1_u128..100
        ) {
            let mut share = Ratio { numerator, denominator }.of_newest_first();
            let (mut sum, mut shares) = (0, 0);
            for count in counts {
                sum += u128::from(count);
                shares += u128::from(share(count));
                prop_assert_eq!(shares, (sum * numerator).div_ceil(denominator));
            }
        }
    }

    #[test]
    fn only_what_does_not_fit_saturates() {
        assert_eq!(mul_div_ceil(u128::MAX, 3, 2), u128::MAX);
        assert_eq!(mul_div_ceil(u128::MAX, u128::MAX, u128::MAX), u128::MAX);
        assert_eq!(
            mul_div_ceil(u128::MAX - 1, u128::MAX, u128::MAX),
            u128::MAX - 1
        );
        assert_eq!(mul_div_ceil(7, 3, 2), 11);
        assert_eq!(mul_div_ceil(0, 3, 2), 0);
    }
}
