//! Random policies of every algorithm and random histories: every answer is the model's, in every field.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use tollgate_limit::{Cell, Charge, Instant, Span};
use tollgate_oracle::strategy::{self, Grain};
use tollgate_oracle::{Model, ModelAlgorithm, Operation, Policy};
use tollgate_store::{Book, Engine, EngineAnswer, Name, StoredKey, Verb};

use crate::compare;
use crate::fault::EngineFault;
use crate::kit::{Case, book_of, check, cost};
use crate::plan::SuitePlan;

/// Each algorithm by itself, with checks, charges, refunds, settlements, resets and shows.
pub async fn algorithms(engine: &Arc<impl Engine>, plan: &SuitePlan) -> Result<(), EngineFault> {
    let slices = ModelAlgorithm::SlidingCounters { slices: 6 };
    let kinds = [
        ("token-bucket", ModelAlgorithm::TokenBucket),
        ("leaky-bucket", ModelAlgorithm::LeakyBucket),
        ("fixed-window", ModelAlgorithm::FixedWindow),
        ("sliding-log", ModelAlgorithm::SlidingLog),
        ("sliding-counters", slices),
        ("sliding-weighted", ModelAlgorithm::SlidingWeighted),
    ];
    for (kind, (part, algorithm)) in (0..).zip(kinds) {
        for case in 0..plan.cases {
            let seed = plan.seed_of(kind, case);
            let policies = strategy::policy_of(algorithm).prop_map(|policy| vec![policy]);
            let (policies, operations) = SuitePlan::draw(seed, &lives(policies, plan.steps));
            let case = Case::new(&**engine, plan, part, seed);
            play(case, policies, &operations).await?;
        }
    }
    Ok(())
}

/// Contracts of two and three policies: all or nothing.
pub async fn contracts(engine: &Arc<impl Engine>, plan: &SuitePlan) -> Result<(), EngineFault> {
    for case in 0..plan.cases * 2 {
        let seed = plan.seed_of(10, case);
        let policies = strategy::policies(2..=3);
        let (policies, operations) = SuitePlan::draw(seed, &lives(policies, plan.steps));
        let case = Case::new(&**engine, plan, "contracts", seed);
        play(case, policies, &operations).await?;
    }
    Ok(())
}

/// Policies with a history. Every other history has whole milliseconds only.
fn lives(
    policies: impl Strategy<Value = Vec<Policy>>,
    steps: usize,
) -> impl Strategy<Value = (Vec<Policy>, Vec<Operation>)> {
    let grain = select(vec![Grain::Nanos, Grain::Millis]);
    (policies, grain).prop_flat_map(move |(policies, grain)| {
        let operations = strategy::operations(policies.clone(), grain, 1..=steps);
        (Just(policies), operations)
    })
}

/// Plays a history to the engine and to the model.
pub(crate) async fn play<E: Engine>(
    case: Case<'_, E>,
    policies: Vec<Policy>,
    operations: &[Operation],
) -> Result<(), EngineFault> {
    let mut player = Player {
        book: book_of(&policies),
        model: Model::new(policies),
        names: BTreeMap::new(),
        kept: BTreeMap::new(),
        receipts: Vec::new(),
        case,
    };
    for (step, operation) in operations.iter().enumerate() {
        player.case.step = step;
        player.play(operation).await.map_err(|fault| EngineFault {
            what: format!(
                "{operation:?} of {:?}: {}",
                player.model.policies, fault.what
            ),
            ..fault
        })?;
    }
    Ok(())
}

/// The engine and the model, side by side.
struct Player<'e, E> {
    case: Case<'e, E>,
    book: Arc<Book>,
    model: Model,
    names: BTreeMap<String, Name>,
    kept: BTreeMap<String, StoredKey>,
    /// Receipts that are not settled yet: the engine's, and the model's.
    receipts: Vec<(Charge, tollgate_oracle::ModelReceipt)>,
}

impl<E: Engine> Player<'_, E> {
    async fn play(&mut self, operation: &Operation) -> Result<(), EngineFault> {
        match operation {
            Operation::Check { key, cost, now_ns } => {
                self.check(key, *cost, *now_ns).await?;
                self.show(key, *now_ns).await
            }
            Operation::Charge {
                key,
                amount,
                now_ns,
            } => {
                self.model.charge(key, *amount, *now_ns);
                self.tell(key, Verb::Charge(cost(*amount)), *now_ns).await
            }
            Operation::Refund {
                key,
                amount,
                now_ns,
            } => {
                self.model.refund(key, *amount, *now_ns);
                self.tell(key, Verb::Refund(cost(*amount)), *now_ns).await
            }
            Operation::Settle {
                receipt,
                actual,
                now_ns,
            } => {
                let Some(place) = Operation::pick(*receipt, self.receipts.len()) else {
                    return Ok(());
                };
                let (charge, theirs) = self.receipts.remove(place);
                self.model.settle(&theirs, *actual, *now_ns);
                let actual = cost(*actual);
                self.tell(&theirs.key, Verb::Settle { charge, actual }, *now_ns)
                    .await
            }
            Operation::Reset { key } => {
                self.model.reset(key);
                self.tell(key, Verb::Reset, 0).await
            }
        }
    }

    async fn check(&mut self, key: &str, tokens: u64, now_ns: u64) -> Result<(), EngineFault> {
        let name = self.name(key);
        let tokens = cost(tokens).tokens();
        let said = self
            .case
            .ask(&self.book, name, check(tokens), now_ns)
            .await?;
        let EngineAnswer::Outcome { outcome, after } = said else {
            return Err(self.case.fault(format!("a check is answered by {said:?}")));
        };
        let (expected, receipt) = compare::expected(&mut self.model, key, tokens, now_ns);
        let charged = outcome.receipt;
        self.case.same("the outcome", outcome, expected)?;
        if let Some(receipt) = receipt {
            self.receipts.push((charged, receipt));
        }
        self.remember(key, check(tokens), now_ns)?;
        self.alike("what is left behind", Some(&after), key, now_ns)
    }

    async fn tell(&mut self, key: &str, verb: Verb, now_ns: u64) -> Result<(), EngineFault> {
        let name = self.name(key);
        self.case.tell(&self.book, name, verb, now_ns).await?;
        self.remember(key, verb, now_ns)
    }

    /// An unknown key shows nothing; an engine may drop a full key, and then shows nothing either.
    async fn show(&mut self, key: &str, now_ns: u64) -> Result<(), EngineFault> {
        let name = self.name(key);
        let said = self.case.ask(&self.book, name, Verb::Show, now_ns).await?;
        match said {
            EngineAnswer::Found(Some(found)) if !self.kept.contains_key(key) => Err(self
                .case
                .fault(format!("an unknown key is shown: {found:?}"))),
            EngineAnswer::Found(found) => self.alike("what is shown", found.as_ref(), key, now_ns),
            said => Err(self.case.fault(format!("a show is answered by {said:?}"))),
        }
    }

    /// Compares states: equal in time, and in everything derived from them.
    fn alike(
        &self,
        of: &str,
        came: Option<&StoredKey>,
        key: &str,
        now_ns: u64,
    ) -> Result<(), EngineFault> {
        let expected = self.kept.get(key);
        let at = expected.map_or(0, |found| found.at.as_nanos()).max(now_ns);
        let status = |found: Option<&StoredKey>| {
            let cell = found.map(|found| self.book.set().recall(found.at, &found.kept));
            let cell: Cell<0> = match cell {
                None => Cell::fresh(self.book.set()),
                Some(cell) => cell.map_err(|error| self.case.fault(error.to_string()))?,
            };
            Ok(self.book.set().status(&cell, Instant::from_nanos(at)))
        };
        let wanted = status(expected)?;
        let is_fresh = wanted.iter().all(|status| status.reset_after == Span::ZERO);
        self.case.same(of, status(came)?, wanted)?;
        match (came, expected) {
            (Some(came), Some(expected)) if !is_fresh => {
                let of = format!("the time of {of}");
                self.case.same(&of, came.at, expected.at)
            }
            // The time of a full key does not matter.
            _ => Ok(()),
        }
    }

    /// Applies the same request in memory.
    fn remember(&mut self, key: &str, verb: Verb, now_ns: u64) -> Result<(), EngineFault> {
        let found = self.kept.get(key);
        let next = self.book.apply(found, verb, Instant::from_nanos(now_ns));
        let next = next.map_err(|error| self.case.fault(error.to_string()))?;
        match next.write {
            None => {}
            Some(tollgate_store::Write::Forget) => drop(self.kept.remove(key)),
            Some(tollgate_store::Write::Keep { found, .. }) => {
                self.kept.insert(key.to_owned(), found);
            }
        }
        Ok(())
    }

    fn name(&mut self, key: &str) -> Name {
        let plan = self.case.plan;
        *self
            .names
            .entry(key.to_owned())
            .or_insert_with(|| plan.name())
    }
}
