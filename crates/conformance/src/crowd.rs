//! Many callers on one key at once: together they get exactly the limit.

use std::sync::Arc;

use tokio::sync::Barrier;
use tollgate_kit::scramble;
use tollgate_limit::{Algorithm, PolicyConfig};
use tollgate_store::{Book, Engine, Name};

use crate::fault::EngineFault;
use crate::kit::{Case, DECADE_NS, SECOND_NS, SUNDAY, ask, book, check, config};
use crate::plan::SuitePlan;

/// All engines must share the same states.
pub async fn crowd<E: Engine>(engines: &[Arc<E>], plan: &SuitePlan) -> Result<(), EngineFault> {
    let limits = [
        ("narrow", LIMIT, 3_600 * SECOND_NS),
        ("wide", LIMIT, DECADE_NS),
    ];
    for algorithm in Algorithm::ALL {
        for (what, limit, period_ns) in limits {
            let what = format!("{what} {}", algorithm.name());
            crowd_one(engines, plan, &what, &[config(algorithm, limit, period_ns)]).await?;
        }
    }
    let all = Algorithm::ALL.map(|algorithm| config(algorithm, LIMIT, DECADE_NS));
    crowd_one(engines, plan, "contract of six", &all).await
}

/// Tokens for all callers together: fewer than they request, in any order.
const LIMIT: u64 = 200;
/// Requests per caller.
const ROUNDS: u64 = 8;

async fn crowd_one<E: Engine>(
    engines: &[Arc<E>],
    plan: &SuitePlan,
    what: &str,
    configs: &[PolicyConfig],
) -> Result<(), EngineFault> {
    let engine = engines.first().expect("an engine");
    let case = Case::new(&**engine, plan, "crowd", plan.seed);
    let (book, name) = (book(configs.iter().cloned()), plan.name());
    let callers = usize::try_from(plan.callers).unwrap_or(1);
    let together = Arc::new(Barrier::new(callers));
    let tasks: Vec<_> = (0..plan.callers)
        .zip(engines.iter().cycle())
        .map(|(caller, engine)| {
            let caller = Caller {
                engine: Arc::clone(engine),
                book: Arc::clone(&book),
                name,
                seed: scramble(plan.seed ^ u64::from(caller)),
                time: plan.time,
            };
            let together = Arc::clone(&together);
            tokio::spawn(async move {
                together.wait().await;
                caller.run().await
            })
        })
        .collect();
    let mut admitted = 0;
    for task in tasks {
        let taken = task.await.map_err(|error| case.fault(error.to_string()))?;
        admitted += taken.map_err(|failure| case.fault(format!("{what}: {failure}")))?;
    }
    // They stop only when not even one token is left.
    case.same(
        &format!("what a crowd was given of a {what}"),
        admitted,
        LIMIT,
    )?;
    let peek = case.check(&book, name, 0, SUNDAY).await?;
    case.same(
        &format!("what a crowd left of a {what}"),
        peek.decision.remaining,
        0,
    )
}

struct Caller<E> {
    engine: Arc<E>,
    book: Arc<Book>,
    name: Name,
    seed: u64,
    time: std::time::Duration,
}

impl<E: Engine> Caller<E> {
    /// Requests up to three at a time, and in the end one at a time, all at one instant. Returns the admitted tokens.
    async fn run(self) -> Result<u64, tollgate_store::Failure> {
        let mut taken = 0;
        for round in 0..ROUNDS {
            let tokens = 1 + scramble(self.seed ^ round) % 3;
            let tokens = if round * 2 < ROUNDS { tokens } else { 1 };
            let batch = vec![ask(&self.book, self.name, check(tokens), SUNDAY)];
            for said in self.engine.ask(batch, self.time).await {
                if let tollgate_store::EngineAnswer::Outcome { outcome, .. } = said?
                    && outcome.decision.verdict.is_allowed()
                {
                    taken += tokens;
                }
            }
        }
        Ok(taken)
    }
}
