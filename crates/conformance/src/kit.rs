//! The same policies for an engine and for the model, and requests to an engine.

use std::sync::Arc;

use tollgate_contract::Contracts;
use tollgate_limit::{
    Algorithm, Calendar, Cost, Instant, Lot, OnLimit, Outcome, Period, Policy, PolicyConfig,
};
use tollgate_oracle as oracle;
use tollgate_store::{Book, Engine, EngineAnswer, Failure, Name, StoreRequest, Verb};

use crate::fault::EngineFault;
use crate::plan::SuitePlan;

pub(crate) const SECOND_NS: u64 = 1_000_000_000;
pub(crate) const DECADE_NS: u64 = 3_650 * 86_400 * SECOND_NS;
/// A Sunday in November 2023, a whole number of minutes after the epoch.
pub(crate) const SUNDAY: u64 = 1_700_000_000 / 60 * 60 * SECOND_NS;
/// Characters of a difference that are shown.
const SHOWN_MAX: usize = 2_000;

/// Position in the suite, for faults.
pub(crate) struct Case<'e, E> {
    pub(crate) engine: &'e E,
    pub(crate) plan: &'e SuitePlan,
    pub(crate) part: &'static str,
    pub(crate) seed: u64,
    pub(crate) step: usize,
}

impl<'e, E: Engine> Case<'e, E> {
    pub(crate) const fn new(
        engine: &'e E,
        plan: &'e SuitePlan,
        part: &'static str,
        seed: u64,
    ) -> Self {
        Self {
            engine,
            plan,
            part,
            seed,
            step: 0,
        }
    }

    pub(crate) fn fault(&self, what: impl Into<String>) -> EngineFault {
        EngineFault {
            part: self.part,
            seed: self.seed,
            step: self.step,
            what: what.into(),
        }
    }

    pub(crate) async fn ask(
        &self,
        book: &Arc<Book>,
        name: Name,
        verb: Verb,
        now: u64,
    ) -> Result<EngineAnswer, EngineFault> {
        let mut said = self.ask_all(vec![ask(book, name, verb, now)]).await?;
        said.pop().ok_or_else(|| self.fault("no answer"))
    }

    /// Checks that each request has an answer.
    pub(crate) async fn ask_all(
        &self,
        batch: Vec<StoreRequest>,
    ) -> Result<Vec<EngineAnswer>, EngineFault> {
        let asked = batch.len();
        let said = self.engine.ask(batch, self.plan.time).await;
        if said.len() != asked {
            let answers = said.len();
            return Err(self.fault(format!("{answers} answers to {asked} questions")));
        }
        let said: Result<Vec<_>, Failure> = said.into_iter().collect();
        said.map_err(|failure| self.fault(failure.to_string()))
    }

    pub(crate) async fn check(
        &self,
        book: &Arc<Book>,
        name: Name,
        tokens: u64,
        now: u64,
    ) -> Result<Outcome, EngineFault> {
        let said = self.ask(book, name, check(tokens), now).await?;
        self.outcome(said)
    }

    /// For verbs without an answer.
    pub(crate) async fn tell(
        &self,
        book: &Arc<Book>,
        name: Name,
        verb: Verb,
        now: u64,
    ) -> Result<(), EngineFault> {
        match self.ask(book, name, verb, now).await? {
            EngineAnswer::Done => Ok(()),
            said => Err(self.fault(format!("{verb:?} is answered by {said:?}"))),
        }
    }

    pub(crate) fn outcome(&self, said: EngineAnswer) -> Result<Outcome, EngineFault> {
        match said {
            EngineAnswer::Outcome { outcome, .. } => Ok(outcome),
            said => Err(self.fault(format!("a check is answered by {said:?}"))),
        }
    }

    /// Fails unless both are equal.
    #[allow(clippy::needless_pass_by_value)] // So that both may be what an expression gave.
    pub(crate) fn same<T: PartialEq + core::fmt::Debug>(
        &self,
        of: &str,
        came: T,
        expected: T,
    ) -> Result<(), EngineFault> {
        if came == expected {
            return Ok(());
        }
        let text = format!("{of} is {came:?} and not {expected:?}");
        Err(self.fault(text.chars().take(SHOWN_MAX).collect::<String>()))
    }
}

pub(crate) fn ask(book: &Arc<Book>, name: Name, verb: Verb, now: u64) -> StoreRequest {
    StoreRequest {
        book: Arc::clone(book),
        name,
        verb,
        now: Instant::from_nanos(now),
    }
}

pub(crate) fn check(tokens: u64) -> Verb {
    let (cost, lot) = (cost(tokens), Lot::ALWAYS);
    Verb::Check { cost, lot }
}

/// Saturates at the largest cost.
pub(crate) fn cost(tokens: u64) -> Cost {
    Cost::new(tokens).unwrap_or(Cost::MAX)
}

pub(crate) fn book(configs: impl IntoIterator<Item = PolicyConfig>) -> Arc<Book> {
    let configs = configs.into_iter();
    let policies = configs.map(|config| Policy::new(config).expect("a valid policy"));
    let contracts = Contracts::for_every_key(policies.collect()).expect("a valid set");
    let contract = contracts.get(0).expect("one contract");
    Arc::new(Book::of(contract).expect("a valid set"))
}

pub(crate) fn book_of(policies: &[oracle::Policy]) -> Arc<Book> {
    book(policies.iter().map(config_of))
}

/// `limit` per `period_ns` by an algorithm, in six slices.
pub(crate) fn config(algorithm: Algorithm, limit: u64, period_ns: u64) -> PolicyConfig {
    let mut config = PolicyConfig::new(algorithm, limit, Period::from_nanos(period_ns));
    config.slices = 6;
    config
}

/// The product's policy for one of the model.
pub(crate) fn config_of(policy: &oracle::Policy) -> PolicyConfig {
    let (algorithm, slices) = match policy.algorithm {
        oracle::ModelAlgorithm::TokenBucket => (Algorithm::TokenBucket, None),
        oracle::ModelAlgorithm::LeakyBucket => (Algorithm::LeakyBucket, None),
        oracle::ModelAlgorithm::FixedWindow => (Algorithm::FixedWindow, None),
        oracle::ModelAlgorithm::SlidingLog => (Algorithm::SlidingLog, None),
        oracle::ModelAlgorithm::SlidingCounters { slices } => {
            (Algorithm::SlidingCounters, Some(slices))
        }
        oracle::ModelAlgorithm::SlidingWeighted => (Algorithm::SlidingWeighted, None),
    };
    let mut config = PolicyConfig::new(algorithm, policy.limit, period_of(policy));
    if let Some(slices) = slices {
        config.slices = u32::try_from(slices).expect("few slices");
    }
    config.burst = policy.burst.filter(|_| algorithm.is_bucket());
    config.on_limit = policy
        .delay
        .map_or(OnLimit::Deny, |max_wait_ns| OnLimit::Delay { max_wait_ns });
    config.offset_ns = policy.offset_ns;
    config.max_debt = policy.max_debt;
    config.count_refused = policy.count_refused;
    config
}

fn period_of(policy: &oracle::Policy) -> Period {
    let unit = match policy.period {
        oracle::Period::Nanos(nanos) => return Period::from_nanos(nanos),
        oracle::Period::Day => Calendar::DAY,
        oracle::Period::Week => Calendar::WEEK,
        oracle::Period::Month => Calendar::MONTH,
        oracle::Period::Year => Calendar::YEAR,
    };
    let zoned = policy
        .time_zone
        .as_deref()
        .map(|name| unit.in_zone(name).expect("a zone"));
    Period::Calendar(zoned.unwrap_or(unit))
}
