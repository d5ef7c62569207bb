//! The suite passes on a correct engine, and detects each mistake that is planted in it.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tollgate_conformance::{EngineFault, SuitePlan, all};
use tollgate_limit::{CellError, Cost, Instant, KeptState, Lot, Verdict};
use tollgate_store::{
    Book, Engine, EngineAnswer, Failure, KeyWrite, Name, StoreRequest, StoredKey, Verb, Write,
};

/// A mistake that an engine might make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    None,
    /// One token of every charge is lost.
    OffByOne,
    /// Elapsed time refills nothing.
    RefillLost,
    /// A refused request is charged to the first policy.
    NotAllOrNothing,
    /// A clock that steps back moves the state back.
    TimeBackwards,
    /// A refused request writes its time.
    RefusalWritesTime,
    /// States of other policies are forgotten.
    ShapeForgotten,
    /// States of other policies are used unconverted.
    ShapeIgnored,
    /// Keys are dropped a nanosecond too early.
    DroppedEarly,
    /// Nothing is locked between reading and writing.
    Race,
    /// Requests of one key take effect in the wrong order.
    Reversed,
    /// Answers come in the wrong order.
    Swapped,
    /// Numbers have 53 bits.
    Float,
    /// Times have 63 bits.
    SignedTime,
    /// Settlements do nothing.
    Unsettled,
    /// Refunds do nothing.
    Unrefunded,
    /// Charges stop at zero.
    NoDebt,
    /// Every policy binds every key.
    LotIgnored,
    /// Peeks take one.
    PeekTakes,
    /// `Show` returns nothing.
    ShowsNothing,
    /// Refused requests are never counted.
    RefusalsUncounted,
    /// A reset does nothing.
    NoReset,
    /// Waits are not reported.
    NoWait,
    /// The second charge at the same instant overwrites the first.
    EqualTimesLost,
}

impl Mistake {
    const ALL: [Self; 23] = [
        Self::OffByOne,
        Self::RefillLost,
        Self::NotAllOrNothing,
        Self::TimeBackwards,
        Self::RefusalWritesTime,
        Self::ShapeForgotten,
        Self::ShapeIgnored,
        Self::DroppedEarly,
        Self::Race,
        Self::Reversed,
        Self::Swapped,
        Self::Float,
        Self::SignedTime,
        Self::Unsettled,
        Self::Unrefunded,
        Self::NoDebt,
        Self::LotIgnored,
        Self::PeekTakes,
        Self::ShowsNothing,
        Self::RefusalsUncounted,
        Self::NoReset,
        Self::NoWait,
        Self::EqualTimesLost,
    ];
}

#[derive(Clone)]
struct Row {
    shape: String,
    found: StoredKey,
    fresh_at: Instant,
}

/// `None` is no change; `Some(None)` deletes the row.
type Change = Option<Option<Row>>;

/// Keeps everything in a map under one lock.
struct Memory {
    mistake: Mistake,
    rows: Mutex<BTreeMap<(u64, Name), Row>>,
}

impl Memory {
    fn new(mistake: Mistake) -> Arc<Self> {
        let rows = Mutex::default();
        Arc::new(Self { mistake, rows })
    }

    fn is(&self, mistake: Mistake) -> bool {
        self.mistake == mistake
    }

    /// The state of a key, converted to the policies of the request.
    fn find(&self, row: Option<&Row>, ask: &StoreRequest) -> Option<StoredKey> {
        let row = row?;
        let early = u64::from(self.is(Mistake::DroppedEarly));
        if row.fresh_at.as_nanos() <= ask.now.as_nanos() + early {
            return None;
        }
        let mut found = row.found.clone();
        if row.shape != ask.book.shape() && !self.is(Mistake::ShapeIgnored) {
            let forgotten = self.is(Mistake::ShapeForgotten);
            found = ask
                .book
                .inherit(&row.shape, &found, ask.now)
                .filter(|_| !forgotten)?;
        }
        if self.is(Mistake::RefillLost) || self.is(Mistake::TimeBackwards) && ask.now < found.at {
            found.at = ask.now;
        }
        Some(found)
    }

    fn verb(&self, ask: &StoreRequest) -> Verb {
        match ask.verb {
            Verb::Check { cost, .. } if self.is(Mistake::LotIgnored) => Verb::Check {
                cost,
                lot: Lot::ALWAYS,
            },
            Verb::Check {
                cost: Cost::PEEK,
                lot,
            } if self.is(Mistake::PeekTakes) => Verb::Check {
                cost: Cost::ONE,
                lot,
            },
            Verb::Charge(cost) if self.is(Mistake::NoDebt) => Verb::Check {
                cost,
                lot: Lot::ALWAYS,
            },
            Verb::Settle { charge, .. } if self.is(Mistake::Unsettled) => {
                let actual = Cost::new(charge.cost).unwrap();
                Verb::Settle { charge, actual }
            }
            Verb::Refund(_) if self.is(Mistake::Unrefunded) => Verb::Refund(Cost::PEEK),
            Verb::Reset if self.is(Mistake::NoReset) => Verb::Refund(Cost::PEEK),
            verb => verb,
        }
    }

    /// Plants the mistake in the state to write.
    fn tamper(&self, ask: &StoreRequest, before: Option<&StoredKey>, next: &mut KeyWrite) {
        let refused = matches!(&next.said, EngineAnswer::Outcome { outcome, .. } if !outcome.decision.verdict.is_allowed());
        if refused && next.write.is_none() {
            next.write = self.written_by_refusal(ask, before);
        }
        if refused && self.is(Mistake::RefusalsUncounted) {
            next.write = None;
        }
        if let Some(Write::Keep { found, .. }) = &mut next.write {
            if self.is(Mistake::SignedTime) {
                found.at = Instant::from_nanos(found.at.as_nanos().min(i64::MAX as u64));
            }
            for kept in &mut found.kept {
                self.tamper_kept(kept);
            }
            if self.is(Mistake::EqualTimesLost) {
                lose_equal(before, found);
            }
        }
        match &mut next.said {
            EngineAnswer::Outcome { outcome, .. }
                if self.is(Mistake::NoWait) && outcome.decision.verdict.is_allowed() =>
            {
                outcome.decision.verdict = Verdict::Allow;
            }
            EngineAnswer::Found(found) if self.is(Mistake::ShowsNothing) => {
                *found = None;
            }
            said @ EngineAnswer::Outcome { .. } if matches!(ask.verb, Verb::Charge(_)) => {
                *said = EngineAnswer::Done;
            }
            EngineAnswer::Outcome { .. } | EngineAnswer::Done | EngineAnswer::Found(_) => {}
        }
    }

    fn written_by_refusal(&self, ask: &StoreRequest, before: Option<&StoredKey>) -> Option<Write> {
        let Verb::Check { cost, .. } = ask.verb else {
            return None;
        };
        let charged = ask
            .book
            .apply(before, Verb::Charge(cost), ask.now)
            .unwrap()
            .write;
        let Some(Write::Keep {
            mut found,
            fresh_at,
        }) = charged
        else {
            return None;
        };
        if self.is(Mistake::NotAllOrNothing) && found.kept.len() > 1 {
            let before = before?;
            found.kept[1..].clone_from_slice(&before.kept[1..]);
            return Some(Write::Keep { found, fresh_at });
        }
        if self.is(Mistake::RefusalWritesTime) {
            let mut found = before?.clone();
            found.at = found.at.max(ask.now);
            return Some(Write::Keep { found, fresh_at });
        }
        None
    }

    fn tamper_kept(&self, kept: &mut KeptState) {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss
        )]
        if self.is(Mistake::Float)
            && let KeptState::Spent(grains) = kept
        {
            *grains = *grains as f64 as u128;
        }
        if self.is(Mistake::OffByOne) {
            match kept {
                KeptState::Spent(grains) => *grains = grains.saturating_sub(1),
                KeptState::Count(count) | KeptState::Pair { current: count, .. } => {
                    *count = count.saturating_sub(1);
                }
                KeptState::Entries(entries) => entries.retain_mut(|(_, count)| {
                    *count -= 1;
                    *count > 0
                }),
            }
        }
    }

    fn apply(
        &self,
        ask: &StoreRequest,
        row: Option<&Row>,
    ) -> Result<(EngineAnswer, Change), CellError> {
        let before = self.find(row, ask);
        let mut next = ask.book.apply(before.as_ref(), self.verb(ask), ask.now)?;
        self.tamper(ask, before.as_ref(), &mut next);
        let change = next.write.map(|write| match write {
            Write::Forget => None,
            Write::Keep { found, fresh_at } => Some(row_of(&ask.book, found, fresh_at)),
        });
        Ok((next.said, change))
    }

    async fn ask_one(&self, ask: &StoreRequest) -> Result<EngineAnswer, CellError> {
        let id = (ask.book.tag(), ask.name);
        if self.is(Mistake::Race) {
            let row = self.rows.lock().unwrap().get(&id).cloned();
            let (said, change) = self.apply(ask, row.as_ref())?;
            tokio::task::yield_now().await;
            write_row(&mut self.rows.lock().unwrap(), id, change);
            return Ok(said);
        }
        let mut rows = self.rows.lock().unwrap();
        let (said, change) = self.apply(ask, rows.get(&id))?;
        write_row(&mut rows, id, change);
        Ok(said)
    }
}

/// Drops an earlier entry of the same time.
fn lose_equal(before: Option<&StoredKey>, found: &mut StoredKey) {
    let Some(before) = before else { return };
    for (was, is) in before.kept.iter().zip(&mut found.kept) {
        if let (KeptState::Entries(was), KeptState::Entries(is)) = (was, is)
            && let (Some(was), Some(is)) = (was.last(), is.last_mut())
            && was.0 == is.0
            && was.1 < is.1
        {
            is.1 -= was.1;
        }
    }
}

fn row_of(book: &Book, found: StoredKey, fresh_at: Instant) -> Row {
    Row {
        shape: book.shape().to_owned(),
        found,
        fresh_at,
    }
}

fn write_row(rows: &mut BTreeMap<(u64, Name), Row>, id: (u64, Name), change: Change) {
    match change {
        None => {}
        Some(None) => drop(rows.remove(&id)),
        Some(Some(row)) => drop(rows.insert(id, row)),
    }
}

impl Engine for Memory {
    async fn ask(
        &self,
        mut batch: Vec<StoreRequest>,
        _time: Duration,
    ) -> Vec<Result<EngineAnswer, Failure>> {
        if self.is(Mistake::Reversed) {
            batch.reverse();
        }
        let mut said = Vec::new();
        for ask in &batch {
            let broken = |error: CellError| Failure::Broken(error.to_string());
            said.push(self.ask_one(ask).await.map_err(broken));
        }
        if self.is(Mistake::Reversed) || self.is(Mistake::Swapped) {
            said.reverse();
        }
        said
    }

    fn name(&self) -> &'static str {
        "memory"
    }
}

async fn run(mistake: Mistake) -> Result<(), EngineFault> {
    all(&Memory::new(mistake), &SuitePlan::default()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_without_a_mistake_passes_from_any_seed() {
    for seed in 0..4 {
        let plan = SuitePlan::of(seed, 30);
        let engine = Memory::new(Mistake::None);
        all(&engine, &plan)
            .await
            .unwrap_or_else(|fault| panic!("{fault}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_mistake_is_seen() {
    let mut missed = Vec::new();
    for mistake in Mistake::ALL {
        match run(mistake).await {
            Ok(()) => missed.push(mistake),
            Err(fault) => println!("{mistake:?}: {fault}"),
        }
    }
    assert!(missed.is_empty(), "not seen: {missed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_comes_again_from_its_seed() {
    let first = run(Mistake::Float).await.unwrap_err();
    let again = run(Mistake::Float).await.unwrap_err();
    assert_eq!(first, again);
}
