//! Numbers by chance, drawn by remainder: the schedules that show a bug are known by their seeds.

/// Numbers from a seed.
#[derive(Clone, Debug)]
pub(crate) struct Dice(tollgate_kit::Dice);

impl Dice {
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

    /// Until the next of so many in a second.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        clippy::cast_possible_truncation
    )]
    pub(crate) fn wait_ns(&mut self, per_second: f64) -> u64 {
        let unit = (self.below(1 << 40) + 1) as f64 / (1_u64 << 40) as f64;
        (-unit.ln() / per_second * 1e9) as u64 + 1
    }
}
