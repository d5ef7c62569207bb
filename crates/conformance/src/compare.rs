//! The model's answers in the product's types: every field of an outcome.

use tollgate_limit::{Charge, Decision, Instant, Outcome, Refusing, Span, Verdict};
use tollgate_oracle::{Model, ModelAnswer, Policy, PolicyAnswer};

/// The model's answer to a check, which it charges.
pub(crate) fn expected(
    model: &mut Model,
    key: &str,
    cost: u64,
    now_ns: u64,
) -> (Outcome, Option<tollgate_oracle::ModelReceipt>) {
    let newest = model.keys.get(key).and_then(|state| state.newest_ns);
    let at = newest.map_or(now_ns, |newest| newest.max(now_ns));
    let answer = model.check(key, cost, now_ns);
    let resets = model.reset_after(key, now_ns);
    let policy = answer.policy.unwrap_or_else(|| least(&answer.per_policy));
    let told = &answer.per_policy[policy];
    let outcome = Outcome {
        decision: Decision {
            verdict: verdict(&answer),
            refused_by: answer.policy,
            policy,
            limit: model.policies[policy].limit,
            remaining: told.remaining,
            debt: told.debt,
            reset_after: Span::from_nanos(resets[policy]),
        },
        receipt: Charge {
            at: Instant::from_nanos(at),
            cost,
            charged: charged(&model.policies, cost, answer.allowed),
        },
        refusing: refusing(&answer),
        shadowed: 0,
    };
    (outcome, answer.receipt)
}

pub(crate) fn verdict(answer: &ModelAnswer) -> Verdict {
    match (answer.allowed, answer.retry_after) {
        (true, _) if answer.wait == 0 => Verdict::Allow,
        (true, _) => Verdict::Delay {
            wait: Span::from_nanos(answer.wait),
        },
        (false, Some(retry)) => Verdict::Deny {
            retry_after: Span::from_nanos(retry),
        },
        (false, None) => Verdict::Never,
    }
}

/// All policies that refuse in the state that a refused request leaves behind, in order.
fn refusing(answer: &ModelAnswer) -> Vec<Refusing> {
    let each = answer.per_policy.iter().enumerate();
    let refusing =
        each.filter(|(_, one)| !answer.allowed && (one.never || one.retry_after.is_some()));
    let refusing: Vec<_> = refusing
        .map(|(policy, one)| Refusing {
            policy,
            remaining: one.remaining,
            debt: one.debt,
            retry_after: one.retry_after.map(Span::from_nanos),
        })
        .collect();
    if refusing.len() > 1 {
        refusing
    } else {
        Vec::new()
    }
}

/// The first policy with the fewest tokens left.
fn least(answers: &[PolicyAnswer]) -> usize {
    let left = answers.iter().map(|answer| answer.remaining).enumerate();
    let least = left.min_by_key(|(_, remaining)| *remaining);
    least.expect("a contract has policies").0
}

/// Bits of the policies that are charged: all, none, or those that count refused requests.
fn charged(policies: &[Policy], cost: u64, allowed: bool) -> u64 {
    let is_charged = |policy: &Policy| cost > 0 && (allowed || policy.count_refused);
    bits(policies.iter().map(is_charged))
}

/// A number with a bit for each that is true.
pub(crate) fn bits(each: impl IntoIterator<Item = bool>) -> u64 {
    let bit = |(place, is): (u32, bool)| u64::from(is) << place;
    (0..).zip(each).map(bit).sum()
}
