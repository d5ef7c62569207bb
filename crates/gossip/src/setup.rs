//! What may be tuned of a node's part in a policy.
//!
//! Not here: what changes while it runs (membership).

use tollgate_limit::Span;

/// What may be tuned; the default is what the documentation calls the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Knobs {
    /// Time between two deliveries of copies.
    pub interval: Span,
    /// How long a message is expected to take, for timers that wait for answers.
    pub delay: Span,
    /// How much of the room a node keeps to itself, in shares.
    pub beta: Ratio,
    /// How fast silence is forgotten, in shares of the refill.
    pub fade: Ratio,
    /// How long what is drained is kept, to cover delay and repair.
    pub grace: Span,
    /// Keep a copy of what is silent with the next node.
    pub buddy: bool,
}

impl Default for Knobs {
    fn default() -> Self {
        Self {
            interval: Span::from_nanos(300_000_000),
            delay: Span::ZERO,
            beta: Ratio::new(1, 1),
            fade: Ratio::new(1, 4),
            grace: Span::from_nanos(3_000_000_000),
            buddy: true,
        }
    }
}

/// A fraction in whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    over: u32,
    under: u32,
}

impl Ratio {
    /// `over` / `under`; a denominator of zero counts as one.
    pub const fn new(over: u32, under: u32) -> Self {
        Self {
            over,
            under: if under == 0 { 1 } else { under },
        }
    }

    /// That part of `whole`, rounded down.
    pub fn of(self, whole: u128) -> u128 {
        whole.saturating_mul(u128::from(self.over)) / u128::from(self.under)
    }

    /// The least whole of which `part` is that part; `None` if there is none, or none that fits.
    pub fn whole_of(self, part: u128) -> Option<u128> {
        let whole = part.checked_mul(u128::from(self.under))?;
        (self.over > 0).then(|| whole.div_ceil(u128::from(self.over)))
    }
}
