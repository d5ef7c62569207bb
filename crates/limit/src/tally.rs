//! The answers of several policies to one request, put together.
//!
//! Policies that do not bind the key are heard last: what is left of them matters only where no other policy is.

use crate::decision::{Cost, Decision, Outcome, Receipt, Verdict};
use crate::state::{Fit, Probe};
use crate::time::Span;

/// The answers of the policies so far.
pub(crate) struct Tally {
    cost: Cost,
    /// Bits of the policies that were asked, and of those that would refuse but do not bind.
    asked: u64,
    shadowed: u64,
    refused_by: Option<usize>,
    never: bool,
    retry_after: Span,
    wait: Span,
    bound: Least,
    unbound: Least,
}

impl Tally {
    pub(crate) fn new(cost: Cost) -> Self {
        Self {
            cost,
            asked: 0,
            shadowed: 0,
            refused_by: None,
            never: false,
            retry_after: Span::ZERO,
            wait: Span::ZERO,
            bound: Least::default(),
            unbound: Least::default(),
        }
    }

    /// Adds what the policy at `index` said; `enforced` is whether it binds the key.
    pub(crate) fn add(&mut self, index: usize, limit: u64, probe: Probe, enforced: bool) {
        let Probe { fit, remaining } = probe;
        self.asked |= bit(index);
        let left = Left {
            policy: index,
            limit,
            remaining,
        };
        if !enforced {
            self.shadowed |= if fit.admits() { 0 } else { bit(index) };
            self.unbound.add(left, self.taken(fit));
            return;
        }
        self.bound.add(left, self.taken(fit));
        match fit {
            Fit::Now => {}
            Fit::After(wait) => self.wait = self.wait.max(wait),
            Fit::Retry(after) => self.retry_after = self.retry_after.max(after),
            Fit::Never => self.never = true,
        }
        if !fit.admits() {
            self.refused_by = self.refused_by.or(Some(index));
        }
    }

    /// What all policies together say.
    pub(crate) fn verdict(&self) -> Verdict {
        match self.refused_by {
            None if self.wait == Span::ZERO => Verdict::Allow,
            None => Verdict::Delay { wait: self.wait },
            Some(_) if self.never => Verdict::Never,
            Some(_) => Verdict::Deny {
                retry_after: self.retry_after,
            },
        }
    }

    /// Bits of the policies that an admitted request is charged to.
    pub(crate) const fn admitting(&self) -> u64 {
        self.asked & !self.shadowed
    }

    /// The answer to a request of which `receipt` is what will be charged.
    pub(crate) fn outcome(&self, receipt: Receipt) -> Outcome {
        let least = if self.bound.before.is_some() {
            &self.bound
        } else {
            &self.unbound
        };
        let verdict = self.verdict();
        let left = if verdict.is_allowed() {
            least.after
        } else {
            least.before
        };
        let decision = Decision {
            verdict,
            refused_by: self.refused_by,
            policy: left.map_or(0, |left| left.policy),
            limit: left.map_or(0, |left| left.limit),
            remaining: left.map_or(0, |left| left.remaining),
            reset_after: Span::ZERO,
        };
        Outcome {
            decision,
            receipt,
            remaining_before: least.before.map_or(0, |left| left.remaining),
            policy_before: least.before.map_or(0, |left| left.policy),
            shadowed: self.shadowed,
        }
    }

    /// What an admitted request takes from a policy that says so.
    const fn taken(&self, fit: Fit) -> u64 {
        if fit.admits() { self.cost.tokens() } else { 0 }
    }
}

/// A policy, its limit and what is left of it.
#[derive(Clone, Copy)]
struct Left {
    policy: usize,
    limit: u64,
    remaining: u64,
}

/// The policy with the least left: before the request, and after it if it is admitted.
#[derive(Default)]
struct Least {
    before: Option<Left>,
    after: Option<Left>,
}

impl Least {
    fn add(&mut self, left: Left, taken: u64) {
        lower(&mut self.before, left);
        let remaining = left.remaining.saturating_sub(taken);
        lower(&mut self.after, Left { remaining, ..left });
    }
}

fn lower(least: &mut Option<Left>, left: Left) {
    if least.is_none_or(|least| left.remaining < least.remaining) {
        *least = Some(left);
    }
}

/// The bit of the policy at `index`.
pub(crate) fn bit(index: usize) -> u64 {
    let shift = u32::try_from(index).ok();
    shift
        .and_then(|shift| 1_u64.checked_shl(shift))
        .unwrap_or(0)
}
