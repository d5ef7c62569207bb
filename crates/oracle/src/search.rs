//! Finding the turning point of a yes-or-no question. Questions must turn at most once.

/// The smallest `d >= 0` for which `passes(d)` holds, given that it holds for all larger ones too.
///
/// Stops at the largest value, whether it passes or not.
pub(crate) fn smallest(passes: impl Fn(i128) -> bool) -> i128 {
    if passes(0) {
        return 0;
    }
    let (mut fails, mut holds) = (0_i128, 1_i128);
    while !passes(holds) {
        fails = holds;
        let Some(doubled) = holds.checked_mul(2) else {
            return i128::MAX;
        };
        holds = doubled;
    }
    while holds - fails > 1 {
        let middle = fails + (holds - fails) / 2;
        if passes(middle) {
            holds = middle;
        } else {
            fails = middle;
        }
    }
    holds
}

/// The largest `n <= most` for which `fits(n)` holds, given that it holds for all smaller ones too; zero
/// if none does.
pub(crate) fn largest(most: u64, fits: impl Fn(u64) -> bool) -> u64 {
    if fits(most) {
        return most;
    }
    let (mut holds, mut fails) = (0, most);
    while fails - holds > 1 {
        let middle = holds + (fails - holds) / 2;
        if fits(middle) {
            holds = middle;
        } else {
            fails = middle;
        }
    }
    holds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_finds_every_turning_point() {
        for turn in 0..200 {
            assert_eq!(smallest(|d| d >= turn), turn);
        }
        assert_eq!(smallest(|_| false), i128::MAX);
    }

    #[test]
    fn largest_finds_every_turning_point() {
        for turn in 0..50 {
            assert_eq!(largest(30, |n| n <= turn), turn.min(30));
        }
        assert_eq!(largest(30, |_| false), 0);
        assert_eq!(largest(0, |_| false), 0);
    }
}
