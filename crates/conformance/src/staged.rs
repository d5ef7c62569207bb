//! Policies that bind only part of the keys: they never refuse, and are charged for what they would admit.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tollgate_limit::{Charge, Decision, Instant, Lot, Outcome, Refusing, Span, Verdict};
use tollgate_oracle::strategy::{self, Grain, ModelRequest};
use tollgate_oracle::{Model, ModelAnswer, Policy};
use tollgate_store::{Book, Engine, Verb};

use crate::compare::bits;
use crate::fault::EngineFault;
use crate::kit::{Case, book, config_of, cost};
use crate::plan::SuitePlan;

/// Policies in shadow mode and in staged roll-outs, for keys of several rollout buckets.
pub async fn staged(engine: &Arc<impl Engine>, plan: &SuitePlan) -> Result<(), EngineFault> {
    for case in 0..plan.cases {
        let seed = plan.seed_of(11, case);
        let (policies, percents, lot, requests) = SuitePlan::draw(seed, &lives(plan.steps));
        let mut case = Case::new(&**engine, plan, "staged", seed);
        let configs = policies.iter().zip(&percents).map(|(policy, percent)| {
            let mut config = config_of(policy);
            config.enforce_percent = *percent;
            config
        });
        let book = book(configs);
        let name = plan.name();
        let mut model = Staged::new(&policies, &percents, lot);
        for (step, request) in requests.iter().enumerate() {
            case.step = step;
            play(&case, &book, name, &mut model, request).await?;
        }
    }
    Ok(())
}

async fn play<E: Engine>(
    case: &Case<'_, E>,
    book: &Arc<Book>,
    name: tollgate_store::Name,
    model: &mut Staged,
    request: &ModelRequest,
) -> Result<(), EngineFault> {
    let lot = Lot::from_hash(model.lot);
    let cost = cost(request.cost);
    let said = case
        .ask(book, name, Verb::Check { cost, lot }, request.now_ns)
        .await?;
    let expected = model.check(cost.tokens(), request.now_ns);
    let what = format!("the outcome of {request:?} of {model:?}");
    case.same(&what, case.outcome(said)?, expected)
}

type Life = (Vec<Policy>, Vec<u8>, u64, Vec<ModelRequest>);

fn lives(steps: usize) -> impl Strategy<Value = Life> {
    strategy::policies(2..=3).prop_flat_map(move |mut policies| {
        for policy in &mut policies {
            policy.count_refused = false;
        }
        let percents = vec(select(vec![0_u8, 30, 100]), policies.len());
        let requests = strategy::trace(policies.clone(), Grain::Nanos, 1..=steps);
        (
            Just(policies),
            percents,
            select(vec![0_u64, 29, 30, 99]),
            requests,
        )
    })
}

/// One model for each policy, since the model of a contract knows no policy that does not bind.
#[derive(Debug)]
struct Staged {
    parts: Vec<Model>,
    binds: Vec<bool>,
    lot: u64,
    newest: u64,
}

impl Staged {
    fn new(policies: &[Policy], percents: &[u8], lot: u64) -> Self {
        let parts = policies
            .iter()
            .map(|policy| Model::new(vec![policy.clone()]));
        Self {
            parts: parts.collect(),
            binds: percents
                .iter()
                .map(|percent| lot < u64::from(*percent))
                .collect(),
            lot,
            newest: 0,
        }
    }

    fn check(&mut self, cost: u64, now_ns: u64) -> Outcome {
        let now_ns = self.newest.max(now_ns);
        let would = |part: &Model| part.clone().check("", cost, now_ns);
        let answers: Vec<ModelAnswer> = self.parts.iter().map(would).collect();
        let refuses = |bound: bool| {
            let each = self.binds.iter().zip(&answers);
            each.map(move |(binds, answer)| *binds == bound && !answer.allowed)
        };
        let refusing: Vec<_> = refuses(true)
            .enumerate()
            .filter(|(_, refuses)| *refuses)
            .collect();
        let refusing: Vec<_> = refusing
            .iter()
            .map(|(policy, _)| told(*policy, &answers[*policy]))
            .collect();
        let longest = refusing
            .iter()
            .rev()
            .max_by_key(|one| (one.retry_after.is_none(), one.retry_after));
        let refused_by = longest.map(|one| one.policy);
        let shadowed = bits(refuses(false));
        let is_charged = |answer: &ModelAnswer| refused_by.is_none() && cost > 0 && answer.allowed;
        let charged = bits(answers.iter().map(is_charged));
        let bound = || {
            answers
                .iter()
                .zip(&self.binds)
                .filter(|(_, binds)| **binds)
                .map(|(answer, _)| answer)
        };
        let verdict = verdict(refused_by, bound);
        for (part, answer) in self.parts.iter_mut().zip(&answers) {
            if is_charged(answer) {
                let _ = part.check("", cost, now_ns);
            }
        }
        if charged != 0 {
            self.newest = now_ns;
        }
        let after: Vec<ModelAnswer> = self
            .parts
            .iter_mut()
            .map(|part| part.check("", 0, now_ns))
            .collect();
        let policy = refused_by.unwrap_or_else(|| self.least(&after));
        let resets = self.parts[policy].reset_after("", now_ns);
        Outcome {
            decision: Decision {
                verdict,
                refused_by,
                policy,
                limit: self.parts[policy].policies[0].limit,
                remaining: after[policy].remaining,
                debt: after[policy].per_policy[0].debt,
                reset_after: Span::from_nanos(resets[0]),
            },
            receipt: Charge {
                at: Instant::from_nanos(now_ns),
                cost,
                charged,
            },
            refusing: if refusing.len() > 1 {
                refusing
            } else {
                Vec::new()
            },
            shadowed,
        }
    }

    /// The first policy with the least left, of those that bind the key, if any.
    fn least(&self, answers: &[ModelAnswer]) -> usize {
        let any = self.binds.iter().any(|binds| *binds);
        let left = answers.iter().map(|answer| answer.remaining).enumerate();
        let heard = left.filter(|(place, _)| !any || self.binds[*place]);
        let least = heard.min_by_key(|(_, remaining)| *remaining);
        least.expect("a contract has policies").0
    }
}

/// The state of a refusing policy.
fn told(policy: usize, answer: &ModelAnswer) -> Refusing {
    Refusing {
        policy,
        remaining: answer.remaining,
        debt: answer.per_policy[0].debt,
        retry_after: answer.retry_after.map(Span::from_nanos),
    }
}

fn verdict<'a, I: Iterator<Item = &'a ModelAnswer>>(
    refused_by: Option<usize>,
    bound: impl Fn() -> I,
) -> Verdict {
    let wait = bound().map(|answer| answer.wait).max().unwrap_or(0);
    let retry = bound()
        .filter_map(|answer| answer.retry_after)
        .max()
        .unwrap_or(0);
    match refused_by {
        None if wait == 0 => Verdict::Allow,
        None => Verdict::Delay {
            wait: Span::from_nanos(wait),
        },
        Some(_) if bound().any(|answer| answer.never) => Verdict::Never,
        Some(_) => Verdict::Deny {
            retry_after: Span::from_nanos(retry),
        },
    }
}
