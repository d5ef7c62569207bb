//! Requests as they come: independent of each other, at rates that change at known times.
//!
//! Not here: who is asked when a node is down.

use super::units::{REQUEST, WHOLE};
use crate::dice::{LabDice, Purpose};

/// Rates per node from some time on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Phase {
    /// Since when, in microseconds.
    pub(crate) at: u64,
    /// What each node is asked, in millionths of a request per second.
    pub(crate) rates: Vec<u64>,
}

/// The requests of one run, one after the other.
#[derive(Debug)]
pub(crate) struct DemandArrivals<'a> {
    phases: &'a [Phase],
    phase: usize,
    /// Sums of the current phase's rates.
    sums: Vec<u64>,
    /// In 2^-32 microseconds.
    at: u128,
    dice: LabDice,
    nodes: LabDice,
}

impl<'a> DemandArrivals<'a> {
    pub(crate) fn new(phases: &'a [Phase], seed: u64) -> Self {
        let mut arrivals = Self {
            phases,
            phase: 0,
            sums: Vec::new(),
            at: 0,
            dice: LabDice::new(seed, Purpose::Arrivals),
            nodes: LabDice::new(seed, Purpose::Routing),
        };
        arrivals.enter(0);
        arrivals
    }

    fn enter(&mut self, phase: usize) {
        self.phase = phase;
        let rates = self.phases.get(phase).map_or(&[][..], |own| &own.rates);
        let mut sum = 0;
        self.sums.clear();
        self.sums.extend(rates.iter().map(|rate| {
            sum += rate;
            sum
        }));
    }

    /// When the next request comes, and to whom; `None` when no more come.
    pub(crate) fn draw(&mut self) -> Option<(u64, u16)> {
        loop {
            let end = self.phases.get(self.phase + 1).map(|next| next.at);
            let all = self.sums.last().copied().unwrap_or(0);
            if all > 0 {
                let mean = u128::from(REQUEST) << 32;
                let at = self.at
                    + u128::from(exponential(&mut self.dice)) * (mean / u128::from(all))
                        / (1 << 32);
                let micros = u64::try_from(at >> 32).unwrap_or(u64::MAX);
                if end.is_none_or(|end| micros < end) {
                    self.at = at;
                    let mark = self.nodes.below(all);
                    let node = self.sums.partition_point(|&sum| sum <= mark);
                    return Some((micros, u16::try_from(node).unwrap_or(0)));
                }
            }
            // Nobody remembers how long they have waited, so the next phase begins anew.
            self.at = u128::from(end?) << 32;
            self.enter(self.phase + 1);
        }
    }
}

/// A waiting time of mean one, in 2^-32, by comparisons alone (von Neumann's way), so that it is alike on every
/// machine.
fn exponential(dice: &mut LabDice) -> u64 {
    let mut whole = 0;
    loop {
        let first = dice.roll();
        let (mut last, mut run) = (first, 1_u32);
        loop {
            let next = dice.roll();
            if next >= last {
                break;
            }
            last = next;
            run += 1;
        }
        if run % 2 == 1 {
            return (whole << 32) + (first >> 32);
        }
        whole += 1;
    }
}

/// Shares that fall as 1, 1/2, 1/3 and so on, of a whole.
pub(crate) fn zipf(whole: u64, nodes: u16) -> Vec<u64> {
    let weight = |rank: u16| WHOLE * WHOLE / (u64::from(rank) + 1);
    let sum: u64 = (0..nodes).map(weight).sum();
    (0..nodes)
        .map(|rank| super::units::part(whole, weight(rank), sum))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supply::stage::units::{PER_SECOND, SECOND};

    #[test]
    fn requests_come_as_often_as_asked_and_where() {
        let phases = [
            Phase {
                at: 0,
                rates: vec![1_000 * PER_SECOND, 3_000 * PER_SECOND],
            },
            Phase {
                at: 10 * SECOND,
                rates: vec![0, 0],
            },
            Phase {
                at: 20 * SECOND,
                rates: vec![500 * PER_SECOND, 0],
            },
        ];
        let mut arrivals = DemandArrivals::new(&phases, 1);
        let mut counts = [[0_u32; 2]; 3];
        while let Some((at, node)) = arrivals.draw().filter(|(at, _)| *at < 30 * SECOND) {
            counts[usize::try_from(at / (10 * SECOND)).unwrap()][usize::from(node)] += 1;
        }
        let near = |count: u32, want: u32| count.abs_diff(want) < 4 * want.isqrt();
        assert!(near(counts[0][0], 10_000) && near(counts[0][1], 30_000));
        assert_eq!(counts[1], [0, 0]);
        assert!(near(counts[2][0], 5_000) && counts[2][1] == 0);
    }

    #[test]
    #[allow(clippy::cast_precision_loss, reason = "moments of a sample")]
    fn waiting_times_have_the_moments_of_an_exponential() {
        let mut dice = LabDice::new(1, Purpose::Arrivals);
        let draws: Vec<f64> = (0..200_000)
            .map(|_| exponential(&mut dice) as f64 / 2f64.powi(32))
            .collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let square = draws.iter().map(|one| one * one).sum::<f64>() / draws.len() as f64;
        assert!((mean - 1.0).abs() < 0.02 && (square - 2.0).abs() < 0.08);
    }

    #[test]
    fn the_first_of_ten_gets_a_third() {
        let shares = zipf(1_000_000, 10);
        assert_eq!(shares[0], 341_417);
        assert!(shares.iter().sum::<u64>() > 999_980);
    }
}
