//! Ledgers: writes are read back, the second writer loses, and with concurrent increments every
//! increment is kept.

use std::sync::Arc;

use tollgate_limit::Span;
use tollgate_store::{Engine, LedgerId, LedgerVersion, LoadedLedger, Swap, Swapped};

use crate::fault::EngineFault;
use crate::kit::Case;
use crate::plan::SuitePlan;

/// All engines must share the same ledgers. Returns the number of lost swaps.
pub async fn ledgers<E: Engine>(engines: &[Arc<E>], plan: &SuitePlan) -> Result<u64, EngineFault> {
    let Some(engine) = engines.first() else {
        return Ok(0);
    };
    let mut case = Case::new(&**engine, plan, "ledgers", plan.seed);
    one_after_the_other(&mut case).await?;
    case.step += 1;
    crowd(engines, &case).await
}

/// How long ledgers are kept here.
const KEEP: Span = Span::from_nanos(3_600_000_000_000);
/// Named in faults.
const WHAT: &str = "what a ledger says";
/// Increments per caller.
const ROUNDS: u64 = 8;

async fn one_after_the_other<E: Engine>(case: &mut Case<'_, E>) -> Result<(), EngineFault> {
    let id = LedgerId {
        tag: u64::MAX,
        name: case.plan.name(),
    };
    let other = LedgerId { tag: 1, ..id };
    let nothing = load(case, id).await?;
    let state = |loaded: &LoadedLedger| (loaded.bytes.clone(), loaded.version);
    case.same(WHAT, state(&nothing), (None, LedgerVersion::NONE))?;
    let first: Arc<[u8]> = (0..=u8::MAX).collect();
    let second: Arc<[u8]> = vec![7; 300_000].into();
    let written = nothing.replaced_by(Arc::clone(&first), KEEP);
    case.same(WHAT, swap(case, id, &written).await?, Swapped::Done)?;
    case.step += 1;
    case.same(WHAT, swap(case, id, &written).await?, Swapped::Lost)?;
    let found = load(case, id).await?;
    case.same(WHAT, state(&found), (Some(first), written.to))?;
    if found.at < nothing.at {
        return Err(case.fault("the engine's clock goes backwards"));
    }
    case.same(WHAT, load(case, other).await?.bytes, None)?;
    case.step += 1;
    let next = found.replaced_by(Arc::clone(&second), KEEP);
    case.same(WHAT, swap(case, id, &next).await?, Swapped::Done)?;
    for late in [found.replaced_by(Arc::from([1]), KEEP), written] {
        case.same(WHAT, swap(case, id, &late).await?, Swapped::Lost)?;
    }
    let found = load(case, id).await?;
    case.same(WHAT, state(&found), (Some(second), next.to))
}

async fn crowd<E: Engine>(engines: &[Arc<E>], case: &Case<'_, E>) -> Result<u64, EngineFault> {
    let id = LedgerId {
        tag: 2,
        name: case.plan.name(),
    };
    let tasks: Vec<_> = (0..case.plan.callers)
        .zip(engines.iter().cycle())
        .map(|(_, engine)| tokio::spawn(count(Arc::clone(engine), id, case.plan.time)))
        .collect();
    let mut lost = 0;
    for task in tasks {
        let counted = task.await.map_err(|error| case.fault(error.to_string()))?;
        lost += counted.map_err(|failure| case.fault(failure.to_string()))?;
    }
    let sum = number(&load(case, id).await?);
    case.same(WHAT, sum, u64::from(case.plan.callers) * ROUNDS)?;
    Ok(lost)
}

/// Increments a ledger several times. Returns the number of lost swaps.
async fn count<E: Engine>(
    engine: Arc<E>,
    id: LedgerId,
    time: core::time::Duration,
) -> Result<u64, tollgate_store::Failure> {
    let mut lost = 0;
    for _ in 0..ROUNDS {
        loop {
            let found = engine.load(id, time).await?;
            let next = (number(&found) + 1).to_be_bytes();
            let next = found.replaced_by(Arc::from(next), KEEP);
            match engine.swap(id, next, time).await? {
                Swapped::Done => break,
                Swapped::Lost => lost += 1,
            }
        }
    }
    Ok(lost)
}

fn number(found: &LoadedLedger) -> u64 {
    let bytes = found
        .bytes
        .as_deref()
        .and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, u64::from_be_bytes)
}

async fn load<E: Engine>(case: &Case<'_, E>, id: LedgerId) -> Result<LoadedLedger, EngineFault> {
    let loaded = case.engine.load(id, case.plan.time).await;
    loaded.map_err(|failure| case.fault(failure.to_string()))
}

async fn swap<E: Engine>(
    case: &Case<'_, E>,
    id: LedgerId,
    to: &Swap,
) -> Result<Swapped, EngineFault> {
    let swapped = case.engine.swap(id, to.clone(), case.plan.time).await;
    swapped.map_err(|failure| case.fault(failure.to_string()))
}
