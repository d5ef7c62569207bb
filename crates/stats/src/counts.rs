//! Counters of requests: plain sums, so that parts combine by adding.

use serde::{Deserialize, Serialize};

/// The sum of `allowed`, `delayed` and `denied` is the number of decisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub allowed: u64,
    pub delayed: u64,
    pub denied: u64,
    /// Requests that passed although a policy in shadow mode would have refused.
    pub shadowed: u64,
    /// Tokens taken by requests that passed, by charges, and by settling above the reserved amount.
    pub cost: u64,
    /// Tokens returned by refunds, and by settling below the reserved amount.
    pub returned: u64,
    /// Cost of refused requests.
    pub refused: u64,
}

impl Counts {
    pub const ZERO: Self = Self {
        allowed: 0,
        delayed: 0,
        denied: 0,
        shadowed: 0,
        cost: 0,
        returned: 0,
        refused: 0,
    };

    /// The number of decisions.
    pub const fn asked(&self) -> u64 {
        self.allowed
            .saturating_add(self.delayed)
            .saturating_add(self.denied)
    }

    /// May be negative.
    pub const fn net_cost(&self) -> i64 {
        0_i64
            .saturating_add_unsigned(self.cost.saturating_sub(self.returned))
            .saturating_sub_unsigned(self.returned.saturating_sub(self.cost))
    }

    pub fn is_zero(&self) -> bool {
        *self == Self::ZERO
    }

    pub fn add(&mut self, more: &Self) {
        *self = self.joined(more, u64::saturating_add);
    }

    /// Subtracts a part.
    #[must_use]
    pub fn without(&self, part: &Self) -> Self {
        self.joined(part, u64::saturating_sub)
    }

    fn joined(&self, other: &Self, join: fn(u64, u64) -> u64) -> Self {
        Self::from_array(std::array::from_fn(|field| {
            join(self.to_array()[field], other.to_array()[field])
        }))
    }

    pub const fn to_array(&self) -> [u64; FIELDS] {
        let Self {
            allowed,
            delayed,
            denied,
            shadowed,
            cost,
            returned,
            refused,
        } = *self;
        [allowed, delayed, denied, shadowed, cost, returned, refused]
    }

    pub const fn from_array(fields: [u64; FIELDS]) -> Self {
        let [allowed, delayed, denied, shadowed, cost, returned, refused] = fields;
        Self {
            allowed,
            delayed,
            denied,
            shadowed,
            cost,
            returned,
            refused,
        }
    }
}

const FIELDS: usize = 7;
