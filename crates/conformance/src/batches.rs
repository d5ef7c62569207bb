//! Batches: each request by itself, requests of one key in order, several batches in flight.

use std::sync::Arc;

use tollgate_kit::scramble;
use tollgate_limit::{Algorithm, Outcome};
use tollgate_oracle::{self as oracle, Model, Period};
use tollgate_store::{Engine, StoreRequest};

use crate::compare;
use crate::fault::EngineFault;
use crate::kit::{Case, SECOND_NS, SUNDAY, ask, book_of, check};
use crate::plan::SuitePlan;

/// Batches of many keys, of one key many times, of several contracts, empty ones, and many at once.
pub async fn batches(engine: &Arc<impl Engine>, plan: &SuitePlan) -> Result<(), EngineFault> {
    let case = Case::new(&**engine, plan, "batches", plan.seed);
    case.ask_all(Vec::new()).await?;
    refuses_between(&case).await?;
    let mut flights = Vec::new();
    for flight in 0..FLIGHTS {
        let (batch, expected) = drawn(plan, plan.seed_of(13, flight));
        let (engine, time) = (Arc::clone(engine), plan.time);
        let said = tokio::spawn(async move { engine.ask(batch, time).await });
        flights.push((said, expected));
    }
    for (flight, expected) in flights {
        let said = flight
            .await
            .map_err(|error| case.fault(error.to_string()))?;
        case.same("the number of answers", said.len(), expected.len())?;
        for (place, (said, expected)) in said.into_iter().zip(expected).enumerate() {
            let said = said.map_err(|failure| case.fault(failure.to_string()))?;
            let what = format!("answer {place} of a batch");
            case.same(&what, case.outcome(said)?, expected)?;
        }
    }
    Ok(())
}

/// Batches in flight at the same time, and requests in each.
const FLIGHTS: u64 = 16;
const ASKS: u64 = 100;

fn drawn(plan: &SuitePlan, seed: u64) -> (Vec<StoreRequest>, Vec<Outcome>) {
    let kinds = [
        oracle::ModelAlgorithm::TokenBucket,
        oracle::ModelAlgorithm::LeakyBucket,
        oracle::ModelAlgorithm::FixedWindow,
        oracle::ModelAlgorithm::SlidingLog,
        oracle::ModelAlgorithm::SlidingCounters { slices: 60 },
        oracle::ModelAlgorithm::SlidingWeighted,
    ];
    let contract = |kind| vec![oracle::Policy::new(kind, 20, Period::Nanos(60 * SECOND_NS))];
    let mut keys: Vec<_> = kinds
        .into_iter()
        .map(|kind| {
            (
                plan.name(),
                book_of(&contract(kind)),
                Model::new(contract(kind)),
            )
        })
        .collect();
    let mut batch = Vec::new();
    let mut expected = Vec::new();
    for number in 0..ASKS {
        let dice = scramble(seed ^ number);
        let key = usize::try_from(dice % 6).unwrap_or(0);
        let (name, book, model) = &mut keys[key];
        let tokens = (dice >> 8) % 4;
        let now = SUNDAY + (dice >> 16) % 30 * SECOND_NS;
        batch.push(ask(book, *name, check(tokens), now));
        let (outcome, _) = compare::expected(model, "", tokens, now);
        expected.push(outcome);
    }
    (batch, expected)
}

/// A refused request in the middle does not affect the others.
async fn refuses_between<E: Engine>(case: &Case<'_, E>) -> Result<(), EngineFault> {
    for algorithm in Algorithm::ALL {
        let book = crate::kit::book([crate::kit::config(algorithm, 10, 60 * SECOND_NS)]);
        let name = case.plan.name();
        let costs = [6, 5, 4, 1, 0];
        let batch = costs.map(|tokens| ask(&book, name, check(tokens), SUNDAY));
        let said = case.ask_all(batch.into()).await?;
        let passed: Result<Vec<_>, EngineFault> = said
            .into_iter()
            .map(|said| Ok(case.outcome(said)?.decision.verdict.is_allowed()))
            .collect();
        let what = format!("who passes of {costs:?} in a batch of {}", algorithm.name());
        case.same(
            &what,
            passed?.as_slice(),
            &[true, false, true, false, false],
        )?;
    }
    Ok(())
}
