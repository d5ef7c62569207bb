//! What the model's answers are, as the product says them: every field of an outcome.

use tollgate_limit::{Decision, Instant, Outcome, Receipt, Span, Verdict};
use tollgate_oracle::{Answer, Model, Policy, PolicyAnswer};

/// What the model says to a check, which it charges. `peek` is what it says to a peek before.
pub(crate) fn expected(
    model: &mut Model,
    peek: &Answer,
    (key, cost, now_ns): (&str, u64, u64),
) -> (Outcome, Option<tollgate_oracle::Receipt>) {
    let newest = model.keys.get(key).and_then(|state| state.newest_ns);
    let at = newest.map_or(now_ns, |newest| newest.max(now_ns));
    let answer = model.check(key, cost, now_ns);
    let resets = model.reset_after(key, now_ns);
    let reset_after = resets.into_iter().max().unwrap_or(0);
    let (policy, remaining) = least(&answer.per_policy);
    let (policy_before, remaining_before) = least(&peek.per_policy);
    let outcome = Outcome {
        decision: Decision {
            verdict: verdict(&answer),
            refused_by: answer.policy,
            policy,
            limit: model.policies[policy].limit,
            remaining,
            reset_after: Span::from_nanos(reset_after),
        },
        receipt: Receipt {
            at: Instant::from_nanos(at),
            cost,
            charged: charged(&model.policies, cost, answer.allowed),
        },
        remaining_before,
        policy_before,
        shadowed: 0,
    };
    (outcome, answer.receipt)
}

pub(crate) fn verdict(answer: &Answer) -> Verdict {
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

/// The first of the policies with the least left, and what that is.
fn least(answers: &[PolicyAnswer]) -> (usize, u64) {
    let left = answers.iter().map(|answer| answer.remaining).enumerate();
    left.min_by_key(|(_, remaining)| *remaining)
        .expect("a contract has policies")
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
