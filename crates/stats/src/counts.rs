//! What is counted of requests: plain sums, so that parts are put together by adding.

use serde::{Deserialize, Serialize};

/// What became of requests. The sum of `allowed`, `delayed` and `denied` is how many were decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Passed at once.
    pub allowed: u64,
    /// Passed after a wait.
    pub delayed: u64,
    /// Refused.
    pub denied: u64,
    /// Of those that passed, how many a policy that is not enforced would have refused.
    pub shadowed: u64,
    /// Tokens that were taken: by requests that passed, by charges, and by settling at more than was taken before.
    pub cost: u64,
    /// Tokens that were given back: by refunds, and by settling at less.
    pub returned: u64,
    /// Tokens that refused requests asked for.
    pub refused: u64,
}

impl Counts {
    /// Nothing.
    pub const ZERO: Self = Self {
        allowed: 0,
        delayed: 0,
        denied: 0,
        shadowed: 0,
        cost: 0,
        returned: 0,
        refused: 0,
    };

    /// How many requests were decided.
    pub const fn asked(&self) -> u64 {
        self.allowed
            .saturating_add(self.delayed)
            .saturating_add(self.denied)
    }

    /// Tokens that were taken and not given back.
    pub const fn net_cost(&self) -> i64 {
        0_i64
            .saturating_add_unsigned(self.cost.saturating_sub(self.returned))
            .saturating_sub_unsigned(self.returned.saturating_sub(self.cost))
    }

    /// Whether nothing was counted.
    pub fn is_zero(&self) -> bool {
        *self == Self::ZERO
    }

    /// Adds to it.
    pub fn add(&mut self, more: &Self) {
        *self = self.joined(more, u64::saturating_add);
    }

    /// What is left without a part of it.
    #[must_use]
    pub fn without(&self, part: &Self) -> Self {
        self.joined(part, u64::saturating_sub)
    }

    fn joined(&self, other: &Self, join: fn(u64, u64) -> u64) -> Self {
        Self::from_array(std::array::from_fn(|field| {
            join(self.to_array()[field], other.to_array()[field])
        }))
    }

    /// All fields, in their order.
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

    /// The counts with these fields, in their order.
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

/// How many fields there are.
const FIELDS: usize = 7;
