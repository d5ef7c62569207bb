//! Several policies over many keys: decisions, charges and answers.

use std::collections::BTreeMap;

use crate::history::History;
use crate::policy::Policy;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelAnswer {
    pub allowed: bool,
    /// The policy that refuses longest in the state this request leaves behind; the first of several.
    pub policy: Option<usize>,
    /// The tokens that policy has left in that state; the least of all policies if none refuses.
    pub remaining: u64,
    /// How long until the same request passes without other requests, in the state this request leaves
    /// behind. `None` if it passed or never will.
    pub retry_after: Option<u128>,
    /// Whether some policy can never hold this cost.
    pub never: bool,
    /// The longest wait of all policies; zero for a refused request.
    pub wait: u128,
    /// By policy, in order.
    pub per_policy: Vec<PolicyAnswer>,
    /// Only for an admitted request with a cost above zero.
    pub receipt: Option<ModelReceipt>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyAnswer {
    pub allowed: bool,
    /// Tokens left in the state the request leaves behind.
    pub remaining: u64,
    /// Tokens below zero in that state; zero for a shaper, where requests wait.
    pub debt: u64,
    /// How long until this policy admits the same request, in the state this request leaves behind; `None` if it
    /// does or never will.
    pub retry_after: Option<u128>,
    /// Whether this policy can never hold the cost.
    pub never: bool,
    /// For a request that it admits.
    pub wait: u128,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelReceipt {
    pub key: String,
    /// After clamping.
    pub time_ns: u64,
    pub cost: u64,
    pub charged: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyState {
    /// The latest time of a charge or refund; earlier times are clamped to it.
    pub newest_ns: Option<u64>,
    /// One history for each policy, in order.
    pub histories: Vec<History>,
}

impl KeyState {
    fn clamp(&self, now_ns: u64) -> u64 {
        self.newest_ns.map_or(now_ns, |newest| newest.max(now_ns))
    }
}

/// One contract and every key it ever saw.
#[derive(Clone, Debug)]
pub struct Model {
    pub policies: Vec<Policy>,
    pub keys: BTreeMap<String, KeyState>,
}

impl Model {
    pub fn new(policies: Vec<Policy>) -> Self {
        Model {
            policies,
            keys: BTreeMap::new(),
        }
    }

    /// Decides a request and charges it if it passes. A cost of zero is a peek.
    pub fn check(&mut self, key: &str, cost: u64, now_ns: u64) -> ModelAnswer {
        let before = self.state(key);
        let now_ns = before.clamp(now_ns);
        let now = i128::from(now_ns);
        let asked = cost.max(1);
        let admitted: Vec<bool> = each(&self.policies, &before)
            .map(|(policy, history)| history.admits(policy, now, asked))
            .collect();
        let allowed = admitted.iter().all(|admits| *admits);

        let mut after = before.clone();
        let mut charged = Vec::new();
        for (index, policy) in self.policies.iter().enumerate() {
            let history = &mut after.histories[index];
            if cost > 0 && allowed {
                history.admit(policy, now, cost);
                charged.push(index);
            } else if cost > 0 && policy.count_refused {
                history.charge(policy, now, cost);
                charged.push(index);
            }
        }
        let receipt = ModelReceipt {
            key: key.to_owned(),
            time_ns: now_ns,
            cost,
            charged,
        };
        if !receipt.charged.is_empty() {
            after.newest_ns = Some(now_ns);
            self.keys.insert(key.to_owned(), after.clone());
        }
        let receipt = (allowed && cost > 0).then_some(receipt);
        self.answer(
            &before,
            &after,
            Asked {
                now,
                cost: asked,
                admitted,
                receipt,
            },
        )
    }

    /// Charges every policy without a check, within its bound on debt.
    pub fn charge(&mut self, key: &str, amount: u64, now_ns: u64) {
        self.change(key, amount, now_ns, History::charge);
    }

    /// Gives back to every policy.
    pub fn refund(&mut self, key: &str, amount: u64, now_ns: u64) {
        self.change(key, amount, now_ns, History::refund);
    }

    /// Corrects the charge of a receipt to what the request really cost.
    pub fn settle(&mut self, receipt: &ModelReceipt, actual: u64, now_ns: u64) {
        if actual == receipt.cost {
            return;
        }
        let mut state = self.state(&receipt.key);
        // A receipt outlives a reset, and still proves that its time has passed.
        let now_ns = state.clamp(now_ns).max(receipt.time_ns);
        let (now, charged_at) = (i128::from(now_ns), i128::from(receipt.time_ns));
        for index in &receipt.charged {
            let (policy, history) = (&self.policies[*index], &mut state.histories[*index]);
            if actual > receipt.cost {
                history.settle_more(policy, now, charged_at, actual - receipt.cost);
            } else {
                history.settle_less(policy, now, charged_at, receipt.cost - actual);
            }
        }
        state.newest_ns = Some(now_ns);
        self.keys.insert(receipt.key.clone(), state);
    }

    pub fn reset(&mut self, key: &str) {
        self.keys.remove(key);
    }

    /// How long until the key equals an unknown one, by policy.
    pub fn reset_after(&self, key: &str, now_ns: u64) -> Vec<u128> {
        let state = self.state(key);
        let now = i128::from(state.clamp(now_ns));
        each(&self.policies, &state)
            .map(|(policy, history)| history.reset_after(policy, now))
            .collect()
    }

    fn state(&self, key: &str) -> KeyState {
        self.keys.get(key).cloned().unwrap_or_else(|| KeyState {
            newest_ns: None,
            histories: self.policies.iter().map(History::fresh).collect(),
        })
    }

    fn change(&mut self, key: &str, amount: u64, now_ns: u64, apply: Change) {
        if amount == 0 {
            return;
        }
        let mut state = self.state(key);
        let now_ns = state.clamp(now_ns);
        for (policy, history) in self.policies.iter().zip(&mut state.histories) {
            apply(history, policy, i128::from(now_ns), amount);
        }
        state.newest_ns = Some(now_ns);
        self.keys.insert(key.to_owned(), state);
    }

    /// Waits are those of the state before the request; remaining tokens and retry times are those of the
    /// state after it, which differs for a refused request only if refused requests count.
    fn answer(&self, before: &KeyState, after: &KeyState, asked: Asked) -> ModelAnswer {
        let Asked {
            now,
            cost,
            admitted,
            receipt,
        } = asked;
        let allowed = admitted.iter().all(|admits| *admits);
        let mut retries = Vec::new();
        let mut per_policy = Vec::new();
        for (index, (policy, left)) in each(&self.policies, after).enumerate() {
            let retry = if allowed {
                Some(0)
            } else {
                left.retry_after(policy, now, cost)
            };
            let found = &before.histories[index];
            per_policy.push(PolicyAnswer {
                allowed: admitted[index],
                remaining: left.remaining(policy, now),
                debt: left.debt(policy, now),
                retry_after: retry.filter(|retry| *retry > 0),
                never: retry.is_none(),
                wait: if admitted[index] {
                    found.wait(policy, now, cost)
                } else {
                    0
                },
            });
            retries.push(retry);
        }
        let policy = if allowed { None } else { longest_of(&retries) };
        let longest: Option<u128> = retries
            .into_iter()
            .try_fold(0, |longest, retry| Some(longest.max(retry?)));
        let wait = per_policy
            .iter()
            .map(|answer| answer.wait)
            .max()
            .unwrap_or(0);
        ModelAnswer {
            allowed,
            policy,
            remaining: match policy {
                Some(policy) => per_policy[policy].remaining,
                None => per_policy
                    .iter()
                    .map(|answer| answer.remaining)
                    .min()
                    .unwrap_or(u64::MAX),
            },
            retry_after: longest.filter(|_| !allowed),
            never: longest.is_none(),
            wait: if allowed { wait } else { 0 },
            per_policy,
            receipt,
        }
    }
}

/// The first of those that last longest; `None` (never) is longest.
fn longest_of(retries: &[Option<u128>]) -> Option<usize> {
    let longest = retries
        .iter()
        .max_by_key(|retry| (retry.is_none(), **retry))?;
    retries.iter().position(|retry| retry == longest)
}

/// A request already evaluated by every policy.
struct Asked {
    now: i128,
    cost: u64,
    admitted: Vec<bool>,
    receipt: Option<ModelReceipt>,
}

type Change = fn(&mut History, &Policy, i128, u64);

fn each<'a>(
    policies: &'a [Policy],
    state: &'a KeyState,
) -> impl Iterator<Item = (&'a Policy, &'a History)> {
    policies.iter().zip(&state.histories)
}
