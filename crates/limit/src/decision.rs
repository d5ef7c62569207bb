//! What is asked and what is answered: costs, verdicts, receipts.
//!
//! A denial is an answer, not an error.

use crate::time::{Instant, Span};

/// Tokens a request takes, at most `2^63 - 1`. Zero is a peek.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost(u64);

/// A cost of 2^63 or more was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostTooLarge(pub u64);

impl core::fmt::Display for CostTooLarge {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "cost {} is beyond 2^63 - 1", self.0)
    }
}

impl core::error::Error for CostTooLarge {}

impl Cost {
    /// Asks without taking: the answer is the one a cost of 1 would get.
    pub const PEEK: Self = Self(0);
    /// One token.
    pub const ONE: Self = Self(1);
    /// The largest cost there is.
    pub const MAX: Self = Self(i64::MAX as u64);

    /// A cost of that many tokens.
    pub const fn new(tokens: u64) -> Result<Self, CostTooLarge> {
        if tokens > Self::MAX.0 {
            return Err(CostTooLarge(tokens));
        }
        Ok(Self(tokens))
    }

    /// A cost of that many tokens.
    pub const fn from_u32(tokens: u32) -> Self {
        Self(tokens as u64)
    }

    /// The tokens.
    pub const fn tokens(self) -> u64 {
        self.0
    }
}

/// May the request pass?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may pass at once; the cost was taken.
    Allow,
    /// It may pass after `wait`; the cost was taken.
    Delay {
        /// How long to hold the request back.
        wait: Span,
    },
    /// It may not pass; nothing was taken.
    Deny {
        /// The same request would pass after this long if nothing else came.
        retry_after: Span,
    },
    /// It may never pass: the cost is more than a policy can ever hold.
    Never,
}

impl Verdict {
    /// Whether the request passes, at once or after a wait.
    pub const fn is_allowed(self) -> bool {
        matches!(self, Self::Allow | Self::Delay { .. })
    }

    /// How long to hold an admitted request back; zero where it need not wait.
    pub const fn wait(self) -> Span {
        match self {
            Self::Delay { wait } => wait,
            Self::Allow | Self::Deny { .. } | Self::Never => Span::ZERO,
        }
    }

    /// When a refused request could pass; `None` where it passed, or never will.
    pub const fn retry_after(self) -> Option<Span> {
        match self {
            Self::Deny { retry_after } => Some(retry_after),
            Self::Allow | Self::Delay { .. } | Self::Never => None,
        }
    }
}

/// The answer of a contract to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Decision {
    /// May it pass?
    pub verdict: Verdict,
    /// Position in the set of the policy that refuses longest; of several, the first.
    pub refused_by: Option<usize>,
    /// Position in the set of the policy that the answer tells of: that one, or the policy with the least left.
    pub policy: usize,
    /// Its limit.
    pub limit: u64,
    /// Whole tokens it has left.
    pub remaining: u64,
    /// Tokens that it is below zero.
    pub debt: u64,
    /// Until it is as if the key had never been seen.
    pub reset_after: Span,
}

/// How a policy stands that refuses a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusing {
    /// Position in the set.
    pub policy: usize,
    /// Whole tokens left.
    pub remaining: u64,
    /// Tokens that it is below zero.
    pub debt: u64,
    /// When it would let the same request pass; `None` where it never will.
    pub retry_after: Option<Span>,
}

impl Refusing {
    /// Whether it refuses longer than another.
    pub fn outlasts(&self, other: &Self) -> bool {
        let rank = |one: &Self| (one.retry_after.is_none(), one.retry_after);
        rank(self) > rank(other)
    }
}

/// A decision and what was written because of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Outcome {
    /// The answer.
    pub decision: Decision,
    /// What was charged, for `settle`.
    pub receipt: Charge,
    /// All policies that refused, in order, where several did; empty where one did, or none.
    pub refusing: Vec<Refusing>,
    /// Bit `i` is set where policy `i` would have refused but is not enforced for this key.
    pub shadowed: u64,
}

/// What a check charged: when, how much, and which policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// The time the charge was booked at.
    pub at: Instant,
    /// The cost each charged policy took.
    pub cost: u64,
    /// Bit `i` is set where policy `i` was charged.
    pub charged: u64,
}

/// A key's place in a staged roll-out, 0 to 99: a policy binds it where `enforce_percent` is larger.
///
/// The caller derives it from the key so that a key keeps its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lot(u8);

impl Lot {
    /// The place that every policy with a percentage above zero binds.
    pub const ALWAYS: Self = Self(0);

    /// The place of a key, from any well-mixed number that belongs to it.
    #[allow(clippy::cast_possible_truncation)] // a remainder below 100
    pub const fn from_hash(hash: u64) -> Self {
        Self((hash % 100) as u8)
    }

    /// The place, below 100: [`Self::from_hash`] of it is the same place.
    pub const fn place(self) -> u8 {
        self.0
    }

    /// Whether a policy enforced for `percent` of the keys binds this one.
    pub const fn is_within(self, percent: u8) -> bool {
        self.0 < percent
    }
}
