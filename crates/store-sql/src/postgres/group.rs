//! The asks of a batch, key by key, in the one order in which all nodes lock keys.

use std::collections::BTreeMap;

use tollgate_store::{EngineAnswer, Failure, Name, StoreRequest, Verb};

/// Which way a group goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The database decides.
    Decide,
    /// Read, decide here, write if unchanged.
    Swap,
    /// It has its answers.
    Done,
}

/// All asks of one key.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) asks: Vec<StoreRequest>,
    pub(super) way: Way,
    places: Vec<usize>,
    answers: Vec<Result<EngineAnswer, Failure>>,
}

/// The groups of a batch, in the order of their keys.
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

/// Whether the database can do it: a check that writes nothing when it is refused, or what needs no decision.
fn is_plain(ask: &StoreRequest) -> bool {
    let policies = ask.book.set().policies();
    let counts = policies.iter().any(|policy| policy.config().count_refused);
    let is_check = matches!(ask.verb, Verb::Check { .. });
    ask.verb.change(ask.now).is_some() || (is_check && !counts)
}

impl Group {
    /// By what the database knows the key.
    pub(super) fn id(&self) -> Option<(i64, String)> {
        let ask = self.asks.first()?;
        let name = format!("{:032x}", ask.name.0);
        Some((ask.book.tag().cast_signed(), name))
    }

    pub(super) const fn is_open(&self) -> bool {
        !matches!(self.way, Way::Done)
    }

    /// Takes the answers to its asks.
    pub(super) fn finish(&mut self, answers: Vec<Result<EngineAnswer, Failure>>) {
        self.answers = answers;
        self.way = Way::Done;
    }

    /// Answers all its asks with a failure of its own.
    pub(super) fn fail(&mut self, failure: &Failure) {
        self.finish(vec![Err(failure.clone()); self.asks.len()]);
    }

    /// The answers it has, and their places in the batch.
    pub(super) fn into_answers(
        self,
    ) -> impl Iterator<Item = (usize, Result<EngineAnswer, Failure>)> {
        self.places.into_iter().zip(self.answers)
    }
}
