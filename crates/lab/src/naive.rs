//! Windows as one would write them down: every admission with its time, counted anew each time.

use std::collections::VecDeque;

/// How admissions count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NaiveShape {
    /// Those of the window that holds the time; windows begin at that and every period after.
    Fixed(u64),
    /// Those less than a period ago.
    Log,
    /// Those in the current slice of so many, and in the others of a period before it.
    Counters(u64),
    /// Those in the current window, and those of the one before by how much of it is less than a period ago.
    Weighted,
}

/// Every admission that may still count.
#[derive(Clone, Debug)]
pub(crate) struct Naive {
    pub(crate) limit: u64,
    pub(crate) period: u64,
    pub(crate) shape: NaiveShape,
    admitted: VecDeque<(u64, u64)>,
}

impl Naive {
    pub(crate) fn new(shape: NaiveShape, limit: u64, period: u64) -> Self {
        Self {
            limit,
            period,
            shape,
            admitted: VecDeque::new(),
        }
    }

    pub(crate) fn add(&mut self, now: u64, cost: u64) {
        if cost > 0 {
            self.admitted.push_back((now, cost));
        }
        while self
            .admitted
            .front()
            .is_some_and(|(at, _)| at + 2 * self.period < now)
        {
            self.admitted.pop_front();
        }
    }

    /// Whether so much more is within the limit at `now`.
    pub(crate) fn fits(&self, cost: u64, now: u64) -> bool {
        let (all, period) = (i128::from(self.limit), i128::from(self.period));
        self.used(now) + i128::from(cost) * period <= all * period
    }

    /// What is in use at `now`, in tokens times the period.
    pub(crate) fn used(&self, now: u64) -> i128 {
        let all = self.admitted.iter();
        all.map(|(at, cost)| i128::from(*cost) * i128::from(self.weight(*at, now)))
            .sum()
    }

    /// By how much of a period something of `at` counts at `now`.
    fn weight(&self, at: u64, now: u64) -> u64 {
        let counts = match self.shape {
            NaiveShape::Fixed(start) => (at - start) / self.period == (now - start) / self.period,
            NaiveShape::Log => at + self.period > now,
            NaiveShape::Counters(slices) => {
                let width = self.period / slices;
                at / width + slices > now / width
            }
            NaiveShape::Weighted => {
                let windows = now / self.period - at / self.period;
                return match windows {
                    0 => self.period,
                    1 => self.period - now % self.period,
                    _ => 0,
                };
            }
        };
        if counts { self.period } else { 0 }
    }
}
