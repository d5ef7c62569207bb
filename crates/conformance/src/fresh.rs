//! Keys that are full again: dropping them changes no answer, and they are full exactly on time.

use std::sync::Arc;

use tollgate_limit::{Algorithm, Span};
use tollgate_store::{Engine, Verb};

use crate::fault::EngineFault;
use crate::kit::{Case, SECOND_NS, SUNDAY, book, config, cost};
use crate::plan::SuitePlan;

/// At the nanosecond a key becomes full, at the one before, and long after.
pub async fn fresh(engine: &Arc<impl Engine>, plan: &SuitePlan) -> Result<(), EngineFault> {
    let case = Case::new(&**engine, plan, "fresh", 0);
    for algorithm in Algorithm::ALL {
        for pause in [0, 1, 3_600 * SECOND_NS, 400 * 86_400 * SECOND_NS] {
            forgets(&case, algorithm, pause).await?;
        }
    }
    Ok(())
}

async fn forgets<E: Engine>(
    case: &Case<'_, E>,
    algorithm: Algorithm,
    pause: u64,
) -> Result<(), EngineFault> {
    let book = book([config(algorithm, 7, 60 * SECOND_NS)]);
    let name = case.plan.name();
    let used = case.check(&book, name, 7, SUNDAY + 5).await?;
    let what = |what: &str| format!("{}: {what}", algorithm.name());
    let reset = u64::try_from(used.decision.reset_after.as_nanos());
    let fresh_at = SUNDAY + 5 + reset.map_err(|_| case.fault("reset_after is beyond time"))?;
    let before = case.check(&book, name, 0, fresh_at - 1).await?;
    let nanosecond = Span::from_nanos(1);
    case.same(
        &what("a nanosecond before it is fresh"),
        before.decision.reset_after,
        nanosecond,
    )?;
    let now = fresh_at + pause;
    let after = case.check(&book, name, 0, now).await?;
    case.same(
        &what("what is left once it is fresh"),
        after.decision.remaining,
        7,
    )?;
    case.same(
        &what("until it is fresh once it is"),
        after.decision.reset_after,
        Span::ZERO,
    )?;
    // A receipt outlives its charge: a refund finds nothing, and a surcharge lands at `now`.
    let charge = used.receipt;
    let settle = |actual| Verb::Settle {
        charge,
        actual: cost(actual),
    };
    case.tell(&book, name, settle(0), now).await?;
    let peek = case.check(&book, name, 0, now).await?;
    case.same(
        &what("what is left after a late refund"),
        peek.decision.remaining,
        7,
    )?;
    case.tell(&book, name, settle(9), now).await?;
    let peek = case.check(&book, name, 0, now).await?;
    case.same(
        &what("what is left after a late surcharge"),
        peek.decision.remaining,
        5,
    )?;
    let all = case.check(&book, name, 5, now).await?;
    case.same(&what("the rest"), all.decision.verdict.is_allowed(), true)
}
