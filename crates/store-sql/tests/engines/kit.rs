//! One key of one contract, for any engine, and requests about it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tollgate_contract::Contracts;
use tollgate_limit::{Cost, Instant as Nanos, Lot, Span};
use tollgate_store::{
    Book, Engine, EngineAnswer, Failure, LedgerId, Name, StoreRequest, Swapped, Verb,
};
use tollgate_store_sql::Sweep;

const FILE: &str = "
contracts:
  - id: api
    key: [user]
    policies:
      - { name: hourly, limit: 1000, per: 1h, algorithm: fixed-window }
";

/// Only a hang takes this long.
pub(crate) const PATIENT: Duration = Duration::from_secs(30);
/// Tolerance beyond the deadline on a busy machine.
const SLACK: Duration = Duration::from_secs(2);

pub(crate) struct EngineKey<E> {
    engine: E,
    book: Arc<Book>,
}

impl<E: Engine> EngineKey<E> {
    pub(crate) fn new(engine: E) -> Self {
        let contracts = Contracts::parse(FILE).unwrap();
        let book = Arc::new(Book::of(contracts.get(0).unwrap()).unwrap());
        Self { engine, book }
    }

    /// Requests one token, in 2023; returns whether it was admitted.
    pub(crate) async fn ask(&self, time: Duration) -> Result<bool, Failure> {
        let begin = Instant::now();
        let (cost, lot) = (Cost::ONE, Lot::ALWAYS);
        let ask = self.asks(1, Verb::Check { cost, lot }, 1_700_000_000_000_000_000);
        let said = self.engine.ask(vec![ask], time).await.remove(0);
        assert!(begin.elapsed() < time + SLACK, "{:?} late", begin.elapsed());
        match said? {
            EngineAnswer::Outcome { outcome, .. } => Ok(outcome.decision.verdict.is_allowed()),
            said => panic!("a check is answered by {said:?}"),
        }
    }

    /// Another request about the same key, at the same time.
    pub(crate) async fn said(&self, verb: Verb) -> Result<EngineAnswer, Failure> {
        let ask = self.asks(1, verb, 1_700_000_000_000_000_000);
        self.engine.ask(vec![ask], PATIENT).await.remove(0)
    }

    /// Repeats requests until one is answered.
    pub(crate) async fn recovers(&self) -> bool {
        let begin = Instant::now();
        loop {
            match self.ask(PATIENT).await {
                Ok(given) => return given,
                Err(failure) => assert!(begin.elapsed() < Duration::from_mins(1), "{failure}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn asks(&self, name: u128, verb: Verb, nanos: u64) -> StoreRequest {
        StoreRequest {
            book: Arc::clone(&self.book),
            name: Name(name),
            verb,
            now: Nanos::from_nanos(nanos),
        }
    }
}

/// A continuous sweep without a grace period.
pub(crate) const SWEEP: Sweep = Sweep {
    every: Duration::from_millis(20),
    grace: Duration::ZERO,
};

/// Many keys that expired in 2023, and one charged in 2500: all of the former are deleted, and the latter stays.
pub(crate) async fn sweeps<E: Engine>(still: E, sweeping: impl AsyncFnOnce() -> E) {
    const YEAR_2023: u64 = 1_700_000_000_000_000_000;
    const YEAR_2500: u64 = 16_725_225_600_000_000_000;
    /// More than a page.
    const MANY: u128 = 1_200;
    let mut key = EngineKey::new(still);
    let charge = |key: &EngineKey<E>, name, nanos| key.asks(name, Verb::Charge(Cost::ONE), nanos);
    let mut charges: Vec<StoreRequest> = (1..MANY)
        .map(|name| charge(&key, name, YEAR_2023))
        .collect();
    charges.push(charge(&key, MANY, YEAR_2500));
    for charged in key.engine.ask(charges, PATIENT).await {
        assert_eq!(charged, Ok(EngineAnswer::Done));
    }
    key.engine = sweeping().await;
    let begin = Instant::now();
    loop {
        let shows = (1..=MANY).map(|name| key.asks(name, Verb::Show, YEAR_2500));
        let mut said = key.engine.ask(shows.collect(), PATIENT).await;
        let last = said.pop();
        assert!(
            matches!(last, Some(Ok(EngineAnswer::Found(Some(_))))),
            "{last:?}"
        );
        let left = said
            .iter()
            .filter(|said| **said != Ok(EngineAnswer::Found(None)))
            .count();
        if left == 0 {
            return;
        }
        assert!(begin.elapsed() < Duration::from_mins(1), "{left} are left");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Two ledgers, one of which is expired: it is deleted, and the other stays.
pub(crate) async fn sweeps_ledgers(engine: impl Engine) {
    let id = |name| LedgerId {
        tag: 1,
        name: Name(name),
    };
    for (name, nanos) in [(1, 1), (2, 3_600_000_000_000)] {
        let nothing = engine.load(id(name), PATIENT).await.unwrap();
        let swap = nothing.replaced_by(Arc::from([3]), Span::from_nanos(nanos));
        let swapped = engine.swap(id(name), swap, PATIENT).await;
        assert_eq!(swapped, Ok(Swapped::Done));
    }
    let begin = Instant::now();
    while engine.load(id(1), PATIENT).await.unwrap().bytes.is_some() {
        assert!(begin.elapsed() < Duration::from_mins(1), "it is left");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(engine.load(id(2), PATIENT).await.unwrap().bytes.is_some());
}
