//! Small histories with answers worked out by hand: each verb with every algorithm.

use std::sync::Arc;

use tollgate_limit::{Algorithm, Charge, OnLimit, Outcome, PolicyConfig, Span, Verdict};
use tollgate_store::{Book, Engine, EngineAnswer, Name, StoredKey, Verb};

use crate::fault::EngineFault;
use crate::kit::{Case, SECOND_NS, SUNDAY, book, config, cost};
use crate::plan::SuitePlan;

pub async fn examples(engine: &Arc<impl Engine>, plan: &SuitePlan) -> Result<(), EngineFault> {
    let case = Case::new(&**engine, plan, "examples", 0);
    for algorithm in Algorithm::ALL {
        let key = Key::new(&case, [config(algorithm, 10, 60 * SECOND_NS)]);
        verbs(&key).await.map_err(|fault| named(fault, algorithm))?;
        let key = Key::new(&case, [config(algorithm, 10, 60 * SECOND_NS)]);
        reservations(&key)
            .await
            .map_err(|fault| named(fault, algorithm))?;
        let key = Key::new(&case, [config(algorithm, 10, 60 * SECOND_NS)]);
        backwards(&key)
            .await
            .map_err(|fault| named(fault, algorithm))?;
        debts(&case, algorithm)
            .await
            .map_err(|fault| named(fault, algorithm))?;
        penalties(&case, algorithm)
            .await
            .map_err(|fault| named(fault, algorithm))?;
        all_or_nothing(&case, algorithm)
            .await
            .map_err(|fault| named(fault, algorithm))?;
    }
    waits(&case).await
}

fn named(mut fault: EngineFault, algorithm: Algorithm) -> EngineFault {
    fault.what = format!("{}: {}", algorithm.name(), fault.what);
    fault
}

/// An unknown key, and its contract.
struct Key<'c, 'e, E> {
    case: &'c Case<'e, E>,
    book: Arc<Book>,
    name: Name,
}

impl<'c, 'e, E: Engine> Key<'c, 'e, E> {
    fn new(case: &'c Case<'e, E>, configs: impl IntoIterator<Item = PolicyConfig>) -> Self {
        Self {
            case,
            book: book(configs),
            name: case.plan.name(),
        }
    }

    async fn check(&self, tokens: u64, seconds: u64) -> Result<Outcome, EngineFault> {
        let now = SUNDAY + seconds * SECOND_NS;
        self.case.check(&self.book, self.name, tokens, now).await
    }

    async fn tell(&self, verb: Verb, seconds: u64) -> Result<(), EngineFault> {
        let now = SUNDAY + seconds * SECOND_NS;
        self.case.tell(&self.book, self.name, verb, now).await
    }

    async fn settle(
        &self,
        checked: &(Charge, Option<usize>),
        actual: u64,
        seconds: u64,
    ) -> Result<(), EngineFault> {
        let charge = checked.0;
        let actual = cost(actual);
        self.tell(Verb::Settle { charge, actual }, seconds).await
    }

    /// Checks the remaining tokens of a peek, and whether one more would pass.
    async fn left(&self, tokens: u64, seconds: u64) -> Result<(), EngineFault> {
        let peek = self.check(0, seconds).await?;
        self.case
            .same("what is left", peek.decision.remaining, tokens)?;
        self.case.same(
            "whether one passes",
            peek.decision.verdict.is_allowed(),
            tokens > 0,
        )?;
        self.case
            .same("what a peek charges", peek.receipt.charged, 0)
    }

    /// Checks the verdict of a request, what was charged, and which policy refused.
    async fn passes(
        &self,
        tokens: u64,
        seconds: u64,
        passes: bool,
    ) -> Result<(Charge, Option<usize>), EngineFault> {
        let outcome = self.check(tokens, seconds).await?;
        let what = format!("whether {tokens} pass");
        let came = outcome.decision.verdict.is_allowed();
        self.case.same(&what, came, passes)?;
        Ok((outcome.receipt, outcome.decision.refused_by))
    }
}

async fn verbs<E: Engine>(key: &Key<'_, '_, E>) -> Result<(), EngineFault> {
    key.left(10, 0).await?;
    key.passes(4, 0, true).await?;
    key.left(6, 0).await?;
    key.passes(7, 0, false).await?;
    key.left(6, 0).await?;
    key.passes(6, 0, true).await?;
    let refused = key.passes(1, 0, false).await?;
    key.case.same("who refused", refused.1, Some(0))?;
    key.tell(Verb::Refund(cost(3)), 0).await?;
    key.left(3, 0).await?;
    key.tell(Verb::Charge(cost(2)), 0).await?;
    key.left(1, 0).await?;
    let never = key.check(11, 0).await?.decision.verdict;
    key.case.same("eleven of ten", never, Verdict::Never)?;
    key.tell(Verb::Reset, 0).await?;
    key.left(10, 0).await?;
    let shown = key
        .case
        .ask(&key.book, key.name, Verb::Show, SUNDAY)
        .await?;
    key.case.same(
        "what is kept after a reset",
        shown,
        EngineAnswer::Found(None),
    )?;
    // Two periods later everything is restored.
    key.passes(10, 1, true).await?;
    key.passes(10, 121, true).await.map(drop)
}

/// A reservation is a check; committing and cancelling it are settlements.
async fn reservations<E: Engine>(key: &Key<'_, '_, E>) -> Result<(), EngineFault> {
    let committed = key.passes(5, 0, true).await?;
    let cancelled = key.passes(4, 0, true).await?;
    key.settle(&committed, 3, 0).await?;
    key.left(3, 0).await?;
    key.settle(&cancelled, 0, 0).await?;
    key.left(7, 0).await?;
    let grown = key.passes(1, 0, true).await?;
    key.settle(&grown, 6, 0).await?;
    key.left(1, 0).await?;
    key.settle(&grown, 1, 0).await?;
    key.left(1, 0).await
}

/// After a clock step back the key is unchanged, and never refills twice.
async fn backwards<E: Engine>(key: &Key<'_, '_, E>) -> Result<(), EngineFault> {
    let first = key.passes(10, 30, true).await?;
    let early = key.passes(1, 0, false).await?;
    key.case
        .same("the time of an early request", early.0.at, first.0.at)?;
    key.left(0, 0).await?;
    key.tell(Verb::Refund(cost(2)), 10).await?;
    let given = key.passes(2, 20, true).await?;
    key.case
        .same("the time of an early request", given.0.at, first.0.at)?;
    key.passes(1, 30, false).await.map(drop)
}

/// A charge goes below zero, and no further than `max_debt`.
async fn debts<E: Engine>(case: &Case<'_, E>, algorithm: Algorithm) -> Result<(), EngineFault> {
    let deep = config(algorithm, 10, 60 * SECOND_NS);
    let mut bound = deep.clone();
    bound.max_debt = Some(2);
    for (config, given_back) in [(deep, 20), (bound, 2)] {
        let key = Key::new(case, [config]);
        key.tell(Verb::Charge(cost(30)), 0).await?;
        key.left(0, 0).await?;
        key.tell(Verb::Refund(cost(given_back)), 0).await?;
        key.passes(1, 0, false).await?;
        key.tell(Verb::Refund(cost(1)), 0).await?;
        key.passes(1, 0, true).await?;
        key.passes(1, 0, false).await?;
    }
    Ok(())
}

/// Refused requests count if a policy says so.
async fn penalties<E: Engine>(case: &Case<'_, E>, algorithm: Algorithm) -> Result<(), EngineFault> {
    let mut config = config(algorithm, 10, 60 * SECOND_NS);
    config.count_refused = true;
    let key = Key::new(case, [config]);
    key.passes(9, 0, true).await?;
    let refused = key.passes(2, 0, false).await?;
    case.same("what a refusal charges", refused.0.charged, 1)?;
    key.passes(1, 0, false).await?;
    key.tell(Verb::Refund(cost(2)), 0).await?;
    key.passes(1, 0, false).await?;
    key.tell(Verb::Refund(cost(2)), 0).await?;
    key.passes(1, 0, true).await.map(drop)
}

/// Of two policies the tighter one refuses, and then neither is charged, in either order.
async fn all_or_nothing<E: Engine>(
    case: &Case<'_, E>,
    algorithm: Algorithm,
) -> Result<(), EngineFault> {
    for tight_first in [false, true] {
        let wide = config(Algorithm::TokenBucket, 100, 3_600 * SECOND_NS);
        let tight = config(algorithm, 5, 60 * SECOND_NS);
        let mut configs = [wide, tight];
        configs.rotate_left(usize::from(tight_first));
        let tight = usize::from(!tight_first);
        let key = Key::new(case, configs);
        let first = key.passes(4, 0, true).await?;
        case.same("what is charged", first.0.charged, 0b11)?;
        for _ in 0..3 {
            let refused = key.passes(2, 0, false).await?;
            case.same("who refused", refused.1, Some(tight))?;
            case.same("what is charged", refused.0.charged, 0)?;
        }
        let said = case.ask(&key.book, key.name, Verb::Show, SUNDAY).await?;
        let EngineAnswer::Found(Some(StoredKey { at, kept })) = said else {
            return Err(case.fault(format!("a charged key is shown as {said:?}")));
        };
        let cell = key.book.set().recall::<0>(at, &kept);
        let cell = cell.map_err(|error| case.fault(error.to_string()))?;
        let status = key.book.set().status(&cell, at);
        let left: Vec<_> = status.iter().map(|status| status.remaining).collect();
        let expected = if tight_first { [1, 96] } else { [96, 1] };
        case.same("what is left of each", left.as_slice(), &expected)?;
    }
    Ok(())
}

/// Delays and queues: later requests wait longer, and a request that would wait too long is refused.
async fn waits<E: Engine>(case: &Case<'_, E>) -> Result<(), EngineFault> {
    let seconds = |seconds: u64| Span::from_nanos(u128::from(seconds * SECOND_NS));
    let mut shaper = config(Algorithm::TokenBucket, 1, SECOND_NS);
    shaper.on_limit = OnLimit::Delay {
        max_wait_ns: Some(2 * SECOND_NS),
    };
    let mut queue = config(Algorithm::LeakyBucket, 1, SECOND_NS);
    queue.burst = Some(3);
    for (policy, config) in [("delay", shaper), ("leaky-bucket", queue)] {
        let key = Key::new(case, [config]);
        for waits in 0..3 {
            let verdict = key.check(1, 0).await?.decision.verdict;
            case.same(
                &format!("the wait of a {policy}"),
                verdict.wait(),
                seconds(waits),
            )?;
            case.same(
                &format!("whether a {policy} admits"),
                verdict.is_allowed(),
                true,
            )?;
        }
        let retry_after = seconds(1);
        let refused = key.check(1, 0).await?.decision.verdict;
        case.same(
            &format!("the fourth of a {policy}"),
            refused,
            Verdict::Deny { retry_after },
        )?;
        key.passes(1, 1, true).await?;
    }
    Ok(())
}
