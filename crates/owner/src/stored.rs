//! What a store is asked about a key, and what is made of its answers.
//!
//! Not here: asking, and what is done where it does not answer (`here`).

use std::sync::Arc;

use tollgate_contract::Terms;
use tollgate_limit::{Cell, Instant};
use tollgate_node::{Node, Spot};
use tollgate_store::{Book, EngineAnswer, Name, StoreRequest, StoredKey, Verb as Asked};

use crate::question::{Question, RemoteAnswer, Verb};

/// The ask that a question is, about its one spot.
pub(crate) fn ask_of(
    question: &Question,
    spot: &Spot,
    book: &Arc<Book>,
    now: Instant,
) -> StoreRequest {
    let verb = match &question.verb {
        Verb::Check => Asked::Check {
            cost: question.cost,
            lot: spot.lot,
        },
        Verb::Charge => Asked::Charge(question.cost),
        Verb::Refund => Asked::Refund(question.cost),
        Verb::Reset => Asked::Reset,
        Verb::Settle(dues) => dues.first().map_or(Asked::Show, |due| Asked::Settle {
            charge: due.charge,
            actual: question.cost,
        }),
        Verb::Status | Verb::Foresee | Verb::Lend(_) | Verb::Quota(..) => Asked::Show,
    };
    StoreRequest {
        book: Arc::clone(book),
        name: Name(u128::from(spot.print.0)),
        verb,
        now,
    }
}

/// What was asked about a spot, answered as this node would have, by terms of the key's own where it has some.
pub(crate) fn said(
    node: &Node,
    terms: Option<Arc<Terms>>,
    question: &Question,
    ask: &StoreRequest,
    heard: &EngineAnswer,
) -> Option<RemoteAnswer> {
    let spot = question.spots.first()?;
    let cell = |found: &Option<StoredKey>| -> Cell<0> {
        let set = ask.book.set();
        let found = found.as_ref();
        let known = found.and_then(|found| set.recall(found.at, &found.kept).ok());
        known.unwrap_or_else(|| Cell::fresh(set))
    };
    Some(match (heard, &question.verb) {
        (EngineAnswer::Outcome { outcome, .. }, _) => {
            RemoteAnswer::Answer(node.answer_elsewhere(spot, outcome, terms))
        }
        (EngineAnswer::Found(found), Verb::Status) => {
            RemoteAnswer::Statuses(vec![ask.book.set().status(&cell(found), ask.now)])
        }
        (EngineAnswer::Found(found), Verb::Foresee) => {
            let set = ask.book.set();
            let forecasts = set.foresee(&cell(found), question.cost, ask.now, spot.lot);
            RemoteAnswer::Forecasts(vec![forecasts])
        }
        (EngineAnswer::Found(_) | EngineAnswer::Done, _) => RemoteAnswer::Done(true),
    })
}
