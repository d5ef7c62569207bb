//! Policies that change while keys are in use: spent tokens carry over as the new policy says.

use std::sync::Arc;

use tollgate_limit::{Algorithm, Inherit, PolicyConfig};
use tollgate_store::{Engine, Verb};

use crate::fault::EngineFault;
use crate::kit::{Case, SECOND_NS, SUNDAY, book, config, cost};
use crate::plan::SuitePlan;

/// Limits that change, with every carry-over mode; algorithms that change; policies that are added and removed.
pub async fn changes(engine: &Arc<impl Engine>, plan: &SuitePlan) -> Result<(), EngineFault> {
    let case = Case::new(&**engine, plan, "changes", 0);
    for algorithm in Algorithm::ALL {
        // Six of ten are spent; the limit becomes twenty.
        let ways = [
            (Inherit::AsIs, 14),
            (Inherit::Proportional, 8),
            (Inherit::Reset, 20),
        ];
        for (inherit, left) in ways {
            let mut doubled = config(algorithm, 20, PERIOD);
            doubled.inherit = inherit;
            let what = format!("{} {inherit:?}", algorithm.name());
            grows(&case, &what, config(algorithm, 10, PERIOD), doubled, left).await?;
        }
        // Another algorithm starts without the spent tokens.
        let others = Algorithm::ALL
            .into_iter()
            .filter(|other| *other != algorithm);
        for other in others {
            let what = format!("{} to {}", algorithm.name(), other.name());
            grows(
                &case,
                &what,
                config(algorithm, 10, PERIOD),
                config(other, 20, PERIOD),
                20,
            )
            .await?;
        }
        comes_and_goes(&case, algorithm).await?;
    }
    Ok(())
}

const PERIOD: u64 = 60 * SECOND_NS;

/// Spends six under one policy and checks under another, then spends the rest, and switches back.
async fn grows<E: Engine>(
    case: &Case<'_, E>,
    what: &str,
    old: PolicyConfig,
    new: PolicyConfig,
    left: u64,
) -> Result<(), EngineFault> {
    let (old, new) = (book([old]), book([new]));
    let name = case.plan.name();
    let _ = case.check(&old, name, 6, SUNDAY).await?;
    let peek = case.check(&new, name, 0, SUNDAY).await?;
    case.same(
        &format!("what is left of {what}"),
        peek.decision.remaining,
        left,
    )?;
    let over = case.check(&new, name, left + 1, SUNDAY).await?;
    case.same(&format!("one too many of {what}"), over.receipt.charged, 0)?;
    let all = case.check(&new, name, left, SUNDAY).await?;
    case.same(
        &format!("all that is left of {what}"),
        all.decision.verdict.is_allowed(),
        true,
    )?;
    let none = case.check(&new, name, 1, SUNDAY).await?;
    case.same(
        &format!("one after all of {what}"),
        none.decision.verdict.is_allowed(),
        false,
    )?;
    let charge = all.receipt;
    let actual = cost(0);
    case.tell(&new, name, Verb::Settle { charge, actual }, SUNDAY)
        .await?;
    let peek = case.check(&new, name, 0, SUNDAY).await?;
    case.same(&format!("{what} given back"), peek.decision.remaining, left)?;
    // Rare verbs must handle states of other policies too.
    case.tell(&old, name, Verb::Reset, SUNDAY).await?;
    let peek = case.check(&new, name, 0, SUNDAY).await?;
    case.same(
        &format!("{what} reset"),
        peek.decision.remaining,
        peek.decision.limit,
    )
}

/// A second policy joins a contract and is removed again; the first keeps its count.
async fn comes_and_goes<E: Engine>(
    case: &Case<'_, E>,
    algorithm: Algorithm,
) -> Result<(), EngineFault> {
    let first = config(Algorithm::FixedWindow, 50, PERIOD);
    let alone = book([first.clone()]);
    let both = book([first, config(algorithm, 30, PERIOD)]);
    let name = case.plan.name();
    let steps = [
        (&alone, 5, 45),
        (&both, 7, 23),
        (&both, 0, 23),
        (&alone, 1, 37),
        (&both, 1, 29),
    ];
    for (book, tokens, left) in steps {
        let outcome = case.check(book, name, tokens, SUNDAY).await?;
        let what = format!("what is left as {} joins and leaves", algorithm.name());
        case.same(&what, outcome.decision.remaining, left)?;
    }
    case.tell(&alone, name, Verb::Charge(cost(40)), SUNDAY)
        .await?;
    let peek = case.check(&both, name, 0, SUNDAY).await?;
    case.same("what is left after a charge", peek.decision.remaining, 0)
}
