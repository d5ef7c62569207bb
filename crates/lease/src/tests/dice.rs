//! Numbers by chance, drawn by remainder: the schedules that show a bug are known by their seeds.

use tollgate_sim as sim;

/// Numbers from a seed.
#[derive(Clone, Debug)]
pub(crate) struct LeaseDice(tollgate_kit::Dice);

impl LeaseDice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(tollgate_kit::Dice::new(seed))
    }

    pub(crate) fn roll(&mut self) -> u64 {
        self.0.roll()
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.roll() % bound.max(1)
    }

    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    pub(crate) fn chance(&mut self, odds: u64, of: u64) -> bool {
        self.below(of) < odds
    }
}

impl sim::RandomSource for LeaseDice {
    fn below(&mut self, bound: u64) -> u64 {
        Self::below(self, bound)
    }
}
