//! The answers of several policies to one request, put together.
//!
//! Policies that do not bind the key are heard last: what is left of them matters only where no other policy is.

use crate::decision::{Charge, Cost, Decision, Outcome, Refusing, Verdict};
use crate::state::{Fit, Probe};
use crate::time::Span;

/// The answers of the policies so far.
pub(crate) struct Tally {
    cost: Cost,
    /// Bits of the policies that were asked, and of those that would refuse but do not bind.
    asked: u64,
    shadowed: u64,
    /// The policy that refuses longest, and its limit.
    refusal: Option<(Refusing, u64)>,
    /// All that refuse, where several do.
    refusing: Vec<Refusing>,
    wait: Span,
    bound: Option<Left>,
    unbound: Option<Left>,
}

impl Tally {
    pub(crate) fn new(cost: Cost) -> Self {
        Self {
            cost,
            asked: 0,
            shadowed: 0,
            refusal: None,
            refusing: Vec::new(),
            wait: Span::ZERO,
            bound: None,
            unbound: None,
        }
    }

    /// Adds what the policy at `index` said; `enforced` is whether it binds the key.
    pub(crate) fn add(&mut self, index: usize, limit: u64, probe: Probe, enforced: bool) {
        let Probe {
            fit,
            remaining,
            debt,
        } = probe;
        self.asked |= bit(index);
        let left = Left {
            policy: index,
            limit,
            remaining: remaining.saturating_sub(self.taken(fit)),
            debt,
        };
        if !enforced {
            self.shadowed |= if fit.admits() { 0 } else { bit(index) };
            return lower(&mut self.unbound, left);
        }
        lower(&mut self.bound, left);
        let retry_after = match fit {
            Fit::Now => return,
            Fit::After(wait) => {
                self.wait = self.wait.max(wait);
                return;
            }
            Fit::Retry(after) => Some(after),
            Fit::Never => None,
        };
        let refusing = Refusing {
            policy: index,
            remaining,
            debt,
            retry_after,
        };
        self.refuse(refusing, limit);
    }

    fn refuse(&mut self, refusing: Refusing, limit: u64) {
        if let Some((before, _)) = self.refusal {
            if self.refusing.is_empty() {
                self.refusing.push(before);
            }
            self.refusing.push(refusing);
        }
        let is_longer = |(before, _): (Refusing, _)| refusing.outlasts(&before);
        if self.refusal.is_none_or(is_longer) {
            self.refusal = Some((refusing, limit));
        }
    }

    /// What all policies together say.
    pub(crate) fn verdict(&self) -> Verdict {
        match self.refusal {
            None if self.wait == Span::ZERO => Verdict::Allow,
            None => Verdict::Delay { wait: self.wait },
            Some((refusing, _)) => match refusing.retry_after {
                Some(retry_after) => Verdict::Deny { retry_after },
                None => Verdict::Never,
            },
        }
    }

    /// Bits of the policies that an admitted request is charged to.
    pub(crate) const fn admitting(&self) -> u64 {
        self.asked & !self.shadowed
    }

    /// The answer to a request of which `receipt` is what will be charged.
    pub(crate) fn outcome(self, receipt: Charge) -> Outcome {
        let verdict = self.verdict();
        let refused = self.refusal.map(|(refusing, limit)| Left {
            policy: refusing.policy,
            limit,
            remaining: refusing.remaining,
            debt: refusing.debt,
        });
        let told = refused.or(self.bound).or(self.unbound);
        let decision = Decision {
            verdict,
            refused_by: refused.map(|left| left.policy),
            policy: told.map_or(0, |left| left.policy),
            limit: told.map_or(0, |left| left.limit),
            remaining: told.map_or(0, |left| left.remaining),
            debt: told.map_or(0, |left| left.debt),
            reset_after: Span::ZERO,
        };
        Outcome {
            decision,
            receipt,
            refusing: self.refusing,
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
    debt: u64,
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
