//! Supply and weights of all nodes, and how far they are from equal fill ratios.
//!
//! Floating point: these are models of rules, not rules that decide; only roots and the four operations are used, which
//! are alike on every machine. Not here: the rules.

use crate::dice::LabDice;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DemandSpread {
    /// Over two decades, each size equally likely.
    Spread,
    /// One node has half of it.
    Hot,
}

#[derive(Clone, Debug)]
pub(super) struct RoundState {
    pub(super) supply: Vec<f64>,
    pub(super) weight: Vec<f64>,
}

/// Within that much of equal is even.
const NEAR: f64 = 0.05;

impl RoundState {
    /// Everybody has the same, and needs what the load says.
    pub(super) fn new(nodes: usize, load: DemandSpread, dice: &mut LabDice) -> Self {
        let weight = match load {
            DemandSpread::Spread => (0..nodes).map(|_| hundred_to_the(dice)).collect(),
            DemandSpread::Hot => {
                let mut weight = vec![1.0; nodes];
                if let Some(hot) = weight.first_mut() {
                    *hot = (nodes.max(2) - 1) as f64;
                }
                weight
            }
        };
        Self {
            supply: vec![1.0; nodes],
            weight,
        }
    }

    pub(super) fn nodes(&self) -> usize {
        self.supply.len()
    }

    /// Whether all ratios are within 5 % of equal.
    pub(super) fn is_even(&self) -> bool {
        self.error() <= NEAR
    }

    /// The largest distance of a ratio from equal, as a part of it.
    pub(super) fn error(&self) -> f64 {
        let level = self.supply.iter().sum::<f64>() / self.weight.iter().sum::<f64>();
        let far = |(supply, weight): (&f64, &f64)| (supply / weight / level - 1.0).abs();
        self.supply
            .iter()
            .zip(&self.weight)
            .map(far)
            .fold(0.0, f64::max)
    }

    pub(super) fn at(&self, node: usize) -> (f64, f64) {
        let pick = |from: &[f64]| from.get(node).copied().unwrap_or(1.0);
        (pick(&self.supply), pick(&self.weight))
    }

    pub(super) fn ratio(&self, node: usize) -> f64 {
        let (supply, weight) = self.at(node);
        supply / weight
    }

    /// What makes two nodes even; above zero the first gives.
    pub(super) fn even(&self, one: usize, other: usize) -> f64 {
        let ((s, w), (t, v)) = (self.at(one), self.at(other));
        (s * v - t * w) / (w + v)
    }

    pub(super) fn pass(&mut self, from: usize, to: usize, amount: f64) {
        if let Some(supply) = self.supply.get_mut(from) {
            *supply -= amount;
        }
        if let Some(supply) = self.supply.get_mut(to) {
            *supply += amount;
        }
    }
}

/// A hundred to a power between zero and one, by roots alone.
fn hundred_to_the(dice: &mut LabDice) -> f64 {
    let bits = dice.roll();
    let (mut root, mut value) = (100_f64, 1.0);
    for bit in 0..30 {
        root = root.sqrt();
        if bits >> (63 - bit) & 1 == 1 {
            value *= root;
        }
    }
    value
}
