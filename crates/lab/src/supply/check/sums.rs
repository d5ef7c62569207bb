//! Whether the nodes together hold more than there is, looked at after every event.
//!
//! Shares no code with what it judges. Not here: what was admitted.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) checks: u64,
    /// How often the nodes could use more than there is.
    pub(crate) above: u64,
    /// How often supply was made or destroyed, by the design's own books.
    pub(crate) unbalanced: u64,
    pub(crate) most: i128,
    /// The sum over all looks, for the mean.
    total: i128,
}

impl Sums {
    /// Takes note of what the nodes can use, where there is `rate`, and of how many entries of the books are wrong.
    pub(crate) fn look(
        &mut self,
        usable: impl Iterator<Item = i128>,
        rate: u64,
        wrong: u64,
    ) -> i128 {
        let sum: i128 = usable.sum();
        self.checks += 1;
        self.above += u64::from(sum > i128::from(rate));
        self.unbalanced += u64::from(wrong > 0);
        self.most = self.most.max(sum);
        self.total += sum;
        sum
    }

    /// Looks at which something was wrong.
    pub(crate) fn violations(&self) -> u64 {
        self.above + self.unbalanced
    }

    /// The mean of what could be used, over all looks.
    pub(crate) fn mean(&self) -> i128 {
        self.total / i128::from(self.checks.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_unit_above_is_seen() {
        let mut sums = Sums::default();
        assert_eq!(sums.look([40, 60].into_iter(), 100, 0), 100);
        assert_eq!(sums.violations(), 0);
        sums.look([40, 61].into_iter(), 100, 0);
        sums.look([40, 50].into_iter(), 100, 2);
        assert_eq!((sums.above, sums.unbalanced, sums.checks), (1, 1, 3));
        assert_eq!((sums.most, sums.mean()), (101, 97));
    }
}
