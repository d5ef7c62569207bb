//! Several policies over one cell, all or nothing.
//!
//! A request passes when every policy admits it, and then every policy is charged; if one refuses, none is. Policies
//! that are not enforced for a key (shadow mode) never refuse, and are charged only for what they would admit.

use crate::cell::Cell;
use crate::config::PolicyError;
use crate::decision::{Charge, Cost, Lot, Outcome, Verdict};
use crate::plain::{Plain, Plains};
use crate::policy::Policy;
use crate::state::{Fit, State};
use crate::tally::{Tally, bit};
use crate::time::{Instant, Span};

/// The most policies one contract may have.
pub const POLICIES_MAX: usize = 64;

/// The policies of one contract.
#[derive(Clone, Debug)]
pub struct PolicySet {
    policies: Box<[Policy]>,
    /// Set where there is a short way.
    plain: Option<Plain>,
    /// The same of several policies.
    plains: Option<Plains>,
    is_staged: bool,
}

/// How one policy stands for one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyStatus {
    /// The policy's limit.
    pub limit: u64,
    /// Whole tokens left.
    pub remaining: u64,
    /// Tokens that it is below zero.
    pub debt: u64,
    /// Until the policy is as if the key had never been seen.
    pub reset_after: Span,
    /// Until a request of cost 1 passes: zero where it would pass now.
    pub next_token_after: Span,
}

impl PolicySet {
    /// A set of one to [`POLICIES_MAX`] policies, in the order they are asked.
    pub fn new(policies: Vec<Policy>) -> Result<Self, PolicyError> {
        if policies.is_empty() {
            return Err(PolicyError::NoPolicy);
        }
        if policies.len() > POLICIES_MAX {
            return Err(PolicyError::TooManyPolicies(policies.len()));
        }
        let plain = Plain::of(&policies);
        let plains = Plains::of(&policies);
        let staged = |policy: &Policy| !matches!(policy.config().enforce_percent, 0 | 100);
        let is_staged = policies.iter().any(staged);
        Ok(Self {
            policies: policies.into(),
            plain,
            plains,
            is_staged,
        })
    }

    /// No policies at all, for a contract whose counts are kept elsewhere.
    pub fn none() -> Self {
        Self {
            policies: Box::default(),
            plain: None,
            plains: None,
            is_staged: false,
        }
    }

    /// The policies, in order.
    pub fn policies(&self) -> &[Policy] {
        &self.policies
    }

    /// The short way, where there is one; [`Self::check`] takes it too.
    #[inline]
    pub const fn plain(&self) -> Option<&Plain> {
        self.plain.as_ref()
    }

    /// Whether every state normally fits in a word, so that cells need no box.
    pub fn is_compact(&self) -> bool {
        self.policies.iter().all(Policy::is_compact)
    }

    /// Whether some policy binds only part of the keys, so that a [`Lot`] matters.
    #[inline]
    pub const fn is_staged(&self) -> bool {
        self.is_staged
    }

    /// Decides one request and charges it.
    #[inline]
    pub fn check<const N: usize>(
        &self,
        cell: &mut Cell<N>,
        cost: Cost,
        now: Instant,
        lot: Lot,
    ) -> Outcome {
        if let Some(plain) = &self.plain
            && let Some(taken) = plain.take(cell, cost, now)
        {
            return plain.outcome(taken);
        }
        if let Some(plains) = &self.plains
            && let Some(outcome) = plains.take(cell, cost, now)
        {
            return outcome;
        }
        self.check_any(cell, cost, now, lot)
    }

    /// The long way, for any policies.
    #[inline(never)]
    fn check_any<const N: usize>(
        &self,
        cell: &mut Cell<N>,
        cost: Cost,
        now: Instant,
        lot: Lot,
    ) -> Outcome {
        let mut outcome = self.probe(cell, cost, now, lot);
        self.commit(cell, &outcome);
        if !outcome.decision.verdict.is_allowed() && outcome.receipt.charged != 0 {
            // What a refusal says is true once the refused request itself has been counted.
            let after = self.probe(cell, cost, cell.at(), lot);
            outcome.decision = after.decision;
            outcome.refusing = after.refusing;
        }
        let policy = outcome.decision.policy;
        outcome.decision.reset_after = self.reset_after_of(cell, policy, outcome.receipt.at);
        outcome
    }

    /// Decides one request and writes nothing; [`Self::commit`] charges what the receipt says.
    pub fn probe<const N: usize>(
        &self,
        cell: &Cell<N>,
        cost: Cost,
        now: Instant,
        lot: Lot,
    ) -> Outcome {
        let now = now.max(cell.at());
        let mut tally = Tally::new(cost);
        cell.view(self, |at, states| {
            for (index, (policy, state)) in self.policies.iter().zip(states).enumerate() {
                let probe = policy.probe(state, at, now, cost.tokens().max(1));
                let enforced = lot.is_within(policy.config().enforce_percent);
                tally.add(index, policy.config().limit, probe, enforced);
            }
        });
        let charged = match tally.verdict() {
            _ if cost == Cost::PEEK => 0,
            Verdict::Allow | Verdict::Delay { .. } => tally.admitting(),
            Verdict::Deny { .. } | Verdict::Never => self.penalised(),
        };
        tally.outcome(Charge {
            at: now,
            cost: cost.tokens(),
            charged,
        })
    }

    /// The outcome of a request that somebody else refused: only policies that count refusals are charged.
    pub fn refuse<const N: usize>(&self, cell: &Cell<N>, cost: Cost, now: Instant) -> Charge {
        let charged = if cost == Cost::PEEK {
            0
        } else {
            self.penalised()
        };
        Charge {
            at: now.max(cell.at()),
            cost: cost.tokens(),
            charged,
        }
    }

    /// Charges what a probe of this cell said.
    pub fn commit<const N: usize>(&self, cell: &mut Cell<N>, outcome: &Outcome) {
        if outcome.decision.verdict.is_allowed() {
            self.book(cell, &outcome.receipt, Policy::take);
        } else {
            self.penalise(cell, &outcome.receipt);
        }
    }

    /// Charges a refused request to the policies of its receipt.
    pub fn penalise<const N: usize>(&self, cell: &mut Cell<N>, receipt: &Charge) {
        self.book(cell, receipt, Policy::charge);
    }

    /// Charges the difference between `actual` and what the receipt says was charged, to the policies that were.
    pub fn settle<const N: usize>(
        &self,
        cell: &mut Cell<N>,
        receipt: &Charge,
        actual: Cost,
        now: Instant,
    ) {
        let due = actual.tokens().abs_diff(receipt.cost);
        if due == 0 || receipt.charged == 0 {
            return;
        }
        // A receipt outlives a reset, and still proves that its time has been.
        self.write(cell, now.max(receipt.at), |index, policy, state, now| {
            if receipt.charged & bit(index) == 0 {
                return;
            }
            if actual.tokens() > receipt.cost {
                policy.surcharge(state, receipt, now, due);
            } else {
                policy.refund_receipt(state, receipt, now, due);
            }
        });
    }

    /// Charges without asking; the key may go into debt.
    pub fn charge<const N: usize>(&self, cell: &mut Cell<N>, cost: Cost, now: Instant) {
        if cost.tokens() > 0 {
            self.write(cell, now, |_, policy, state, now| {
                policy.charge(state, now, cost.tokens());
            });
        }
    }

    /// Gives tokens back, the last taken first.
    pub fn refund<const N: usize>(&self, cell: &mut Cell<N>, cost: Cost, now: Instant) {
        if cost.tokens() > 0 {
            self.write(cell, now, |_, policy, state, _| {
                policy.refund(state, cost.tokens());
            });
        }
    }

    /// The instant from which the cell is indistinguishable from a fresh one; the last one there is where that is
    /// later still.
    pub fn fresh_at<const N: usize>(&self, cell: &Cell<N>) -> Instant {
        Instant::from_nanos(u64::try_from(self.fresh_at_ns(cell)).unwrap_or(u64::MAX))
    }

    /// How much is used at `now` of what the policy that has least left may give, of those that bind anybody: from zero
    /// to all, which is `u32::MAX`.
    pub fn used<const N: usize>(&self, cell: &Cell<N>, now: Instant) -> u32 {
        let now = now.max(cell.at());
        cell.view(self, |at, states| {
            let policies = self.policies.iter().zip(states);
            let binding = policies.filter(|(policy, _)| policy.config().enforce_percent > 0);
            let each = binding.map(|(policy, state)| {
                let capacity = u128::from(policy.capacity().max(1));
                let left = u128::from(policy.probe(state, at, now, 1).remaining);
                let used = capacity.saturating_sub(left) * u128::from(u32::MAX) / capacity;
                u32::try_from(used).unwrap_or(u32::MAX)
            });
            each.max().unwrap_or(0)
        })
    }

    /// How each policy stands at `now`, in order.
    pub fn status<const N: usize>(&self, cell: &Cell<N>, now: Instant) -> Vec<KeyStatus> {
        let now = now.max(cell.at());
        cell.view(self, |at, states| {
            let each = self.policies.iter().zip(states).map(|(policy, state)| {
                let probe = policy.probe(state, at, now, 1);
                KeyStatus {
                    limit: policy.config().limit,
                    remaining: probe.remaining,
                    debt: probe.debt,
                    reset_after: Span::between(now, policy.fresh_at_ns(state, at)),
                    next_token_after: match probe.fit {
                        Fit::Now => Span::ZERO,
                        Fit::After(wait) | Fit::Retry(wait) => wait,
                        Fit::Never => Span::from_nanos(u128::MAX),
                    },
                }
            });
            each.collect()
        })
    }

    /// Moves the cell to another time: what it says at `from`, or at its newest charge where that is later, it says at
    /// `to`, however far apart these are and whichever comes first. For a clock that was set: nothing is regained by
    /// it.
    pub fn shift<const N: usize>(&self, cell: &mut Cell<N>, from: Instant, to: Instant) {
        self.write(cell, from, |_, policy, state, now| {
            policy.shift(state, now, to);
        });
        cell.edit(self, |at, _| *at = to);
    }

    /// A cell for this set from one that `old` wrote. `origins[i]` is the place in `old` of this set's policy `i`.
    pub fn inherit<const N: usize, const M: usize>(
        &self,
        old: &Self,
        origins: &[Option<usize>],
        cell: &Cell<M>,
        now: Instant,
    ) -> Cell<N> {
        let now = now.max(cell.at());
        let mut new = Cell::fresh(self);
        cell.view(old, |at, states| {
            self.write(&mut new, now, |index, policy, state, now| {
                let origin = origins.get(index).copied().flatten();
                let before = origin.and_then(|i| Some((old.policies.get(i)?, states.get(i)?)));
                if let Some((before, was)) = before {
                    let mut was = was.clone();
                    before.advance(&mut was, at, now);
                    *state = policy.inherit(before, &was, now);
                }
            });
        });
        new
    }

    /// Until the cell is as good as fresh.
    pub fn reset_after<const N: usize>(&self, cell: &Cell<N>, now: Instant) -> Span {
        Span::between(now, self.fresh_at_ns(cell))
    }

    /// Until one policy is as if the key had never been seen.
    pub fn reset_after_of<const N: usize>(
        &self,
        cell: &Cell<N>,
        policy: usize,
        now: Instant,
    ) -> Span {
        let fresh_at = cell.view(self, |at, states| {
            let both = self.policies.get(policy).zip(states.get(policy));
            both.map_or(0, |(policy, state)| policy.fresh_at_ns(state, at))
        });
        Span::between(now, fresh_at)
    }

    fn fresh_at_ns<const N: usize>(&self, cell: &Cell<N>) -> u128 {
        cell.view(self, |at, states| {
            let policies = self.policies.iter().zip(states);
            let each = policies.map(|(policy, state)| policy.fresh_at_ns(state, at));
            each.fold(0, u128::max)
        })
    }

    /// Books a receipt on the policies it names.
    fn book<const N: usize>(
        &self,
        cell: &mut Cell<N>,
        receipt: &Charge,
        take: impl Fn(&Policy, &mut State, Instant, u64),
    ) {
        if receipt.charged == 0 {
            return;
        }
        self.write(cell, receipt.at, |index, policy, state, now| {
            take(policy, state, now, charged_to(receipt, index));
        });
    }

    /// Brings every state to `now` and lets `change` at it.
    fn write<const N: usize>(
        &self,
        cell: &mut Cell<N>,
        now: Instant,
        change: impl Fn(usize, &Policy, &mut State, Instant),
    ) {
        cell.edit(self, |at, states| {
            let now = now.max(*at);
            for (index, (policy, state)) in self.policies.iter().zip(states).enumerate() {
                policy.advance(state, *at, now);
                change(index, policy, state, now);
            }
            *at = now;
        });
    }

    /// Bits of the policies that count refused requests.
    fn penalised(&self) -> u64 {
        let counting = self
            .policies
            .iter()
            .enumerate()
            .filter(|(_, p)| p.config().count_refused);
        counting.fold(0, |bits, (index, _)| bits | bit(index))
    }
}

fn charged_to(receipt: &Charge, index: usize) -> u64 {
    if receipt.charged & bit(index) == 0 {
        0
    } else {
        receipt.cost
    }
}
