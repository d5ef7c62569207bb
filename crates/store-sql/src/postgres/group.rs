//! The requests of a batch by key, in the order in which all nodes lock keys.

use std::collections::BTreeMap;

use tollgate_store::{EngineAnswer, Failure, Name, StoreRequest, Verb};

/// How a group is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The database decides.
    Decide,
    /// Read, decide here, write if unchanged.
    Swap,
    /// Answered.
    Done,
}

#[derive(Debug)]
pub(super) struct Group {
    pub(super) asks: Vec<StoreRequest>,
    pub(super) way: Way,
    places: Vec<usize>,
    answers: Vec<Result<EngineAnswer, Failure>>,
}

/// Ordered by key.
pub(super) fn grouped(batch: Vec<StoreRequest>) -> Vec<Group> {
    let mut groups: BTreeMap<(u64, Name), Group> = BTreeMap::new();
    for (place, ask) in batch.into_iter().enumerate() {
        let group = groups.entry((ask.book.tag(), ask.name)).or_insert(Group {
            asks: Vec::new(),
            way: Way::Decide,
            places: Vec::new(),
            answers: Vec::new(),
        });
        let shape = group.asks.first().map(|first| first.book.shape_id());
        if !is_plain(&ask) || shape.is_some_and(|shape| shape != ask.book.shape_id()) {
            group.way = Way::Swap;
        }
        group.asks.push(ask);
        group.places.push(place);
    }
    groups.into_values().collect()
}

/// Whether the database can execute it: a check that writes nothing on refusal, or an unconditional change.
fn is_plain(ask: &StoreRequest) -> bool {
    let policies = ask.book.set().policies();
    let counts = policies.iter().any(|policy| policy.config().count_refused);
    let is_check = matches!(ask.verb, Verb::Check { .. });
    ask.verb.change(ask.now).is_some() || (is_check && !counts)
}

impl Group {
    /// The primary key of the key's row.
    pub(super) fn id(&self) -> Option<(i64, String)> {
        let ask = self.asks.first()?;
        let name = format!("{:032x}", ask.name.0);
        Some((ask.book.tag().cast_signed(), name))
    }

    pub(super) const fn is_open(&self) -> bool {
        !matches!(self.way, Way::Done)
    }

    pub(super) fn finish(&mut self, answers: Vec<Result<EngineAnswer, Failure>>) {
        self.answers = answers;
        self.way = Way::Done;
    }

    pub(super) fn fail(&mut self, failure: &Failure) {
        self.finish(vec![Err(failure.clone()); self.asks.len()]);
    }

    /// The answers it has, and their indexes in the batch.
    pub(super) fn into_answers(
        self,
    ) -> impl Iterator<Item = (usize, Result<EngineAnswer, Failure>)> {
        self.places.into_iter().zip(self.answers)
    }
}
