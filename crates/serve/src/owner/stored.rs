//! Steps that a store decides: asked together, beside those that other nodes decide.

use std::sync::Arc;

use tokio::time::Instant as Time;
use tollgate_contract::{OnFailure, Terms};
use tollgate_store::{EngineAnswer, StoreRequest};

use super::here::{self, Instead};
use super::work::Work;
use super::{At, Owner};
use crate::engine::{Question, RemoteAnswer};
use crate::store::{NoAnswer, ask_of, said};

/// Steps for the store, and what it is asked.
#[derive(Default)]
pub(super) struct StoreAsks {
    /// The work and the step of each.
    steps: Vec<(usize, usize)>,
    each: Vec<StoreRequest>,
    /// The terms by which each is asked, where they are the key's own.
    terms: Vec<Option<Arc<Terms>>>,
}

/// The same with answers.
pub(super) struct AnsweredAsks {
    asks: StoreAsks,
    answers: Vec<Result<EngineAnswer, NoAnswer>>,
}

impl StoreAsks {
    pub(super) const fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Adds a step. A question for the store has one spot.
    pub(super) fn put(&mut self, step: (usize, usize), at: &At<'_>, question: &Question) {
        let Some(spot) = question.spots.first() else {
            return;
        };
        let Some((basis, question)) = at.book(question, spot) else {
            return;
        };
        self.steps.push(step);
        self.each.push(ask_of(&question, spot, &basis.book, at.now));
        self.terms.push(basis.terms);
    }

    /// Asks them all, in what is left of the time since `began`.
    pub(super) async fn ask(self, owner: &Owner, began: Time) -> AnsweredAsks {
        let answers = match &owner.store {
            Some(store) if !self.is_empty() => {
                let left = store.deadline().saturating_sub(began.elapsed());
                store.ask(self.each.clone(), left).await
            }
            _ => Vec::new(),
        };
        AnsweredAsks {
            asks: self,
            answers,
        }
    }
}

impl AnsweredAsks {
    /// Takes in what the store said, or does what policies say where it said nothing.
    pub(super) fn hear(self, at: &At<'_>, works: &mut [Work]) {
        let StoreAsks { steps, each, terms } = self.asks;
        let steps = steps.iter().zip(&each).zip(terms);
        for ((((number, step), ask), terms), answer) in steps.zip(self.answers) {
            let Some(work) = works.get_mut(*number) else {
                continue;
            };
            let Some(question) = work.step(*step).map(|step| step.question.clone()) else {
                continue;
            };
            let (heard, wish) = match answer {
                Ok(heard) => (Some(heard), None),
                Err(_) => at.without_store(ask, terms.as_deref(), &question),
            };
            let said = heard.and_then(|heard| said(at.node, terms, &question, ask, &heard));
            if let (Some(RemoteAnswer::Answer(answer)), None) = (&said, wish) {
                at.owner.denied.note(at, &question, answer);
            }
            match wish {
                None if said.is_some() => work.hear(*step, said, at.node, at.now),
                _ => {
                    let instead = at.by_wish(&question, Instead { said, wish });
                    work.fall_back(*step, instead, at.node, at.now);
                }
            }
        }
    }
}

impl At<'_> {
    /// What is done without the store.
    fn without_store(
        &self,
        ask: &StoreRequest,
        terms: Option<&Terms>,
        question: &Question,
    ) -> (Option<EngineAnswer>, Option<OnFailure>) {
        let Some(store) = &self.owner.store else {
            return (None, None);
        };
        if question.verb.is_write() {
            store.counts().writes_failed.add(1);
        }
        let place = question.spots.first().map_or(0, |spot| spot.contract);
        let (wish, _, _) = self.map.on_failure(place, terms);
        store.instead(ask, wish)
    }

    /// What policies wish, where the store did not answer and nothing is known of the key either.
    fn by_wish(&self, question: &Question, mut instead: Instead) -> Instead {
        if instead.said.is_none() {
            instead = here::by_wish(self.node, self.map, question, self.now);
        }
        if let (Some(store), Some(wish)) = (&self.owner.store, instead.wish) {
            store.counts().fell_back(wish);
        }
        instead
    }
}
