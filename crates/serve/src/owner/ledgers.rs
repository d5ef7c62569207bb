//! Steps over ledgers: asked of the store, beside those that others decide, whoever owns the key.

use tokio::time::Instant as Time;
use tollgate_store::{LedgerId, Name};

use super::work::{OwnerStep, Work};
use super::{At, Owner, here};
use crate::engine::RemoteAnswer;
use crate::store::{LedgerAsk, NoAnswer};

/// Steps over ledgers, and what is asked.
#[derive(Default)]
pub(super) struct LedgerAsks {
    /// The work and the step of each.
    steps: Vec<(usize, usize)>,
    each: Vec<LedgerAsk>,
}

/// The same with answers.
pub(super) struct AnsweredLedgers {
    steps: Vec<(usize, usize)>,
    answers: Vec<Result<RemoteAnswer, NoAnswer>>,
}

impl LedgerAsks {
    pub(super) const fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Adds a step, which has one spot.
    pub(super) fn put(&mut self, step: (usize, usize), at: &At<'_>, asked: &OwnerStep) {
        let Some(spot) = asked.question.spots.first() else {
            return;
        };
        self.steps.push(step);
        self.each.push(LedgerAsk {
            id: LedgerId {
                tag: at.map.tag(spot.contract),
                name: Name(u128::from(spot.print.0)),
            },
            node: std::sync::Arc::clone(at.node),
            spot: *spot,
            question: asked.question.clone(),
        });
    }

    /// Asks them all, in what is left of the time since `began`.
    pub(super) async fn ask(self, owner: &Owner, began: Time) -> AnsweredLedgers {
        let answers = match &owner.store {
            Some(store) if !self.steps.is_empty() => {
                let left = store.deadline().saturating_sub(began.elapsed());
                store.ask_ledgers(self.each, left).await
            }
            _ => Vec::new(),
        };
        AnsweredLedgers {
            steps: self.steps,
            answers,
        }
    }
}

impl AnsweredLedgers {
    /// Takes in what was decided, or does what policies say where nothing was.
    pub(super) fn hear(self, at: &At<'_>, works: &mut [Work]) {
        for ((number, step), answer) in self.steps.into_iter().zip(self.answers) {
            let Some(work) = works.get_mut(number) else {
                continue;
            };
            let Some(question) = work.step(step).map(|step| &step.question) else {
                continue;
            };
            let Ok(said) = answer else {
                let instead = here::by_wish(at.node, at.map, question, at.now);
                if let Some(store) = &at.owner.store {
                    let writes = u64::from(question.verb.is_write());
                    store.counts().writes_failed.add(writes);
                    instead.wish.inspect(|wish| store.counts().fell_back(*wish));
                }
                work.fall_back(step, instead, at.node, at.now);
                continue;
            };
            if let RemoteAnswer::Answer(answer) = &said {
                at.owner.denied.note(at, question, answer);
            }
            work.hear(step, Some(said), at.node, at.now);
        }
    }
}
