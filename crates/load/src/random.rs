//! Random key numbers: uniform, skewed, or in sequence.
//!
//! Seeded, so that two runs use the same keys in the same order.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "random bits are cut to what is needed, and weights need few digits"
)]

use tollgate_kit::Dice;

use crate::plan::Distribution;

#[derive(Clone, Debug)]
pub(crate) struct Draw {
    dice: Dice,
    count: u64,
    way: Way,
}

#[derive(Clone, Debug)]
enum Way {
    Uniform,
    /// The next number, and the step to the one after it.
    Sequence {
        next: u64,
        step: u64,
    },
    Alias(Vec<Column>),
}

/// One column of an alias table: keep the own number with this chance out of 2^32, else take the other.
#[derive(Clone, Copy, Debug)]
struct Column {
    keep: u32,
    other: u32,
}

impl Draw {
    /// Draws for thread `at` of `of`.
    pub(crate) fn new(keys: (u64, Distribution), seed: u64, at: u64, of: u64) -> Self {
        let (count, distribution) = (keys.0.max(1), keys.1);
        let way = match distribution {
            Distribution::Uniform => Way::Uniform,
            Distribution::Sequence => Way::Sequence {
                next: at % count,
                step: of.max(1),
            },
            Distribution::Zipf { exponent } => Way::Alias(alias(&zipf(count, exponent))),
        };
        let dice = Dice::new(seed.wrapping_add(at.wrapping_mul(0xa076_1d64_78bd_642f)));
        Self { dice, count, way }
    }

    /// The next number, below the count.
    pub(crate) fn next(&mut self) -> u64 {
        match &mut self.way {
            Way::Uniform => self.dice.below(self.count),
            Way::Sequence { next, step } => {
                let number = *next;
                *next = (number + *step) % self.count;
                number
            }
            Way::Alias(columns) => {
                let drawn = self.dice.roll();
                let column = (u128::from(drawn) * columns.len() as u128) >> 64;
                let chance = self.dice.roll() as u32;
                let at = column as usize;
                match columns.get(at) {
                    Some(column) if chance > column.keep => u64::from(column.other),
                    _ => at as u64,
                }
            }
        }
    }
}

/// Weights 1/1^s, 1/2^s, 1/3^s, ...
fn zipf(count: u64, exponent: f64) -> Vec<f64> {
    (1..=count)
        .map(|rank| (rank as f64).powf(-exponent))
        .collect()
}

/// Vose's alias method to draw from any weights in constant time.
fn alias(weights: &[f64]) -> Vec<Column> {
    let total: f64 = weights.iter().sum();
    let mean = total / weights.len() as f64;
    let mut shares: Vec<f64> = weights.iter().map(|weight| weight / mean).collect();
    let mut columns: Vec<Column> = (0..weights.len())
        .map(|at| Column {
            keep: u32::MAX,
            other: at as u32,
        })
        .collect();
    let (mut poor, mut rich): (Vec<usize>, Vec<usize>) =
        (0..shares.len()).partition(|at| shares.get(*at).is_some_and(|share| *share < 1.0));
    while let (Some(small), Some(&large)) = (poor.pop(), rich.last()) {
        let share = shares.get(small).copied().unwrap_or(1.0);
        if let Some(column) = columns.get_mut(small) {
            *column = Column {
                keep: (share * f64::from(u32::MAX)) as u32,
                other: large as u32,
            };
        }
        if let Some(left) = shares.get_mut(large) {
            *left -= 1.0 - share;
            if *left < 1.0 {
                rich.pop();
                poor.push(large);
            }
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(distribution: Distribution, keys: u64, draws: u64) -> Vec<u64> {
        let mut draw = Draw::new((keys, distribution), 7, 0, 1);
        let mut counts = vec![0; keys as usize];
        for _ in 0..draws {
            counts[draw.next() as usize] += 1;
        }
        counts
    }

    #[test]
    fn uniform_keys_come_about_equally_often() {
        let counts = counts(Distribution::Uniform, 100, 100_000);
        assert!(
            counts.iter().all(|count| (800..1200).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn a_zipf_key_comes_as_often_as_its_rank_says() {
        let keys = 1000;
        let counts = counts(Distribution::Zipf { exponent: 1.0 }, keys, 1_000_000);
        let whole: f64 = (1..=keys).map(|rank| 1.0 / rank as f64).sum();
        for rank in [1_u64, 2, 10, 100] {
            let expected = 1_000_000.0 / rank as f64 / whole;
            let seen = counts[rank as usize - 1] as f64;
            assert!(
                (seen / expected - 1.0).abs() < 0.15,
                "rank {rank}: {seen} for {expected}"
            );
        }
    }

    #[test]
    fn threads_share_a_sequence() {
        let numbers = |at| {
            let mut draw = Draw::new((6, Distribution::Sequence), 7, at, 2);
            [draw.next(), draw.next(), draw.next(), draw.next()]
        };
        assert_eq!((numbers(0), numbers(1)), ([0, 2, 4, 0], [1, 3, 5, 1]));
    }
}
