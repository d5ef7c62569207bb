//! What this node does itself: for its own requests, and for those that other nodes send.

use tollgate_contract::OnFailure;
use tollgate_limit::{Charge, Instant, Span, Verdict};
use tollgate_node::{Answer, Due, KeyTerms, Node, Receipt, RefusedBy, Spot, Stranger};
use tollgate_store::{EngineAnswer, StoreRequest, Verb as Asked};

use crate::ask::{self, AskedQuestion};
use crate::map::{FallbackRule, Map, strictness};
use crate::question::{Question, RemoteAnswer, Unknown, UnknownPart, Verb};
use crate::{quota, said};

/// Does what a question asks, here and now.
pub(crate) fn answer(node: &Node, question: &Question, now: Instant) -> RemoteAnswer {
    let Question {
        verb, spots, cost, ..
    } = question;
    match verb {
        Verb::Check => RemoteAnswer::Answer(node.check_spots(spots, *cost, now)),
        Verb::Charge => RemoteAnswer::Done(node.charge_spots(spots, *cost, now)),
        Verb::Refund => {
            node.refund_spots(spots, *cost, now);
            RemoteAnswer::Done(true)
        }
        Verb::Reset => {
            node.reset_spots(spots);
            RemoteAnswer::Done(true)
        }
        Verb::Settle(dues) => {
            for (spot, due) in spots.iter().zip(dues) {
                node.settle_spot(spot, due, *cost, now);
            }
            RemoteAnswer::Done(true)
        }
        Verb::Status => {
            RemoteAnswer::Statuses(spots.iter().map(|s| node.status_at(s, now)).collect())
        }
        Verb::Lend(inquiry) => {
            let lent = spots.first().map(|spot| node.lend(spot, inquiry, now));
            RemoteAnswer::Lent(lent.and_then(Result::ok).unwrap_or_default())
        }
        Verb::Quota(plane, ask) => {
            let told = spots.first();
            RemoteAnswer::Quota(told.and_then(|spot| quota::answer(node, spot, *plane, *ask, now)))
        }
        Verb::Foresee => {
            let each = spots.iter().map(|s| node.foresee_at(s, *cost, now));
            RemoteAnswer::Forecasts(each.collect())
        }
    }
}

/// Answers a batch of another node, and says how many questions that were; `None` where it makes no sense.
///
/// A question without an answer has to be asked elsewhere first. What comes before something senseless in a parcel is done. Nobody sends such a thing but by mistake.
pub(crate) fn answer_batch(
    node: &Node,
    map: &Map,
    batch: &[u8],
    now: Instant,
    mut answer: impl FnMut(&AskedQuestion) -> Option<RemoteAnswer>,
) -> Option<(Vec<u8>, u64)> {
    let mut out = said::batch();
    let mut count = 0;
    let mut answers = Vec::new();
    for parcel in ask::parcels(batch)? {
        answers.clear();
        ask::read(parcel, map, |asked| {
            count += 1;
            match asked {
                Ok(asked) if !asked.is_told && is_strange(node, &asked.question, now) => {
                    said::put_stranger(&mut answers);
                }
                Ok(asked) => match answer(&asked) {
                    Some(said) => said::put_said(&mut answers, &asked.question.spots, &said),
                    None => said::put_elsewhere(&mut answers),
                },
                Err(ask::UnknownContract) => said::put_unknown(&mut answers),
            }
        })?;
        said::put_parcel(&mut out, &answers);
    }
    Some((out, count))
}

/// The keys in a batch whose counts left memory.
pub(crate) fn away(node: &Node, map: &Map, batch: &[u8]) -> Vec<Unknown> {
    let mut away = Vec::new();
    for parcel in ask::parcels(batch).unwrap_or_default() {
        // What makes no sense is found out when it is answered.
        let _ = ask::read(parcel, map, |asked| {
            let questions = asked.into_iter();
            for spot in questions.flat_map(|asked| asked.question.spots) {
                if node.is_away(spot.contract, spot.print)
                    && let Some(contract) = node.contracts().get(spot.contract)
                {
                    away.push(Unknown {
                        what: UnknownPart::Counts,
                        stranger: Stranger {
                            contract: spot.contract,
                            print: spot.print,
                        },
                        contract: contract.id.clone(),
                        values: Vec::new(),
                    });
                }
            }
        });
    }
    away
}

/// Whether terms have to be looked up before a question is answered. What is settled says by which it was charged.
fn is_strange(node: &Node, question: &Question, now: Instant) -> bool {
    let needs_terms = !matches!(
        question.verb,
        Verb::Settle(_) | Verb::Reset | Verb::Quota(..)
    );
    let mut spots = question.spots.iter();
    needs_terms && spots.any(|spot| node.is_stranger(spot, now))
}

/// What is done where those who decide are not there.
#[derive(Default)]
pub(crate) struct Instead {
    /// The answer by that; `None` where there is no other way to do it.
    pub(crate) said: Option<RemoteAnswer>,
    /// What policies say to do.
    pub(crate) wish: Option<OnFailure>,
}

/// What policies say to do where their owner is not there.
pub(crate) fn instead(node: &Node, map: &Map, question: &Question, now: Instant) -> Instead {
    match &question.verb {
        Verb::Check if wish(node, map, question, now).0.0 != OnFailure::Local => {}
        // What is read here is better than nothing.
        Verb::Check | Verb::Status | Verb::Foresee => {
            return Instead {
                said: Some(answer(node, question, now)),
                wish: Some(OnFailure::Local),
            };
        }
        _ => {}
    }
    by_wish(node, map, question, now)
}

/// What is done without the store, where policies wish so: by what is remembered, and the answer by that; nothing where
/// there is no other way.
pub(crate) fn without_store(
    ask: &StoreRequest,
    wish: OnFailure,
    remembered: &mut dyn FnMut(&StoreRequest) -> Option<EngineAnswer>,
) -> (Option<EngineAnswer>, Option<OnFailure>) {
    match (ask.verb, wish) {
        (Asked::Check { .. }, OnFailure::Local) => (remembered(ask), Some(OnFailure::Local)),
        // What is read from memory is better than nothing.
        (Asked::Show, _) => (Some(EngineAnswer::Found(None)), Some(OnFailure::Local)),
        _ => (None, None),
    }
}

/// The strictest wish of the contracts of a question, and the spot of its contract.
fn wish<'q>(
    node: &Node,
    map: &Map,
    question: &'q Question,
    now: Instant,
) -> (FallbackRule, Option<&'q Spot>) {
    let wish = |spot: &Spot| {
        let terms = node.terms_at(spot, now);
        map.on_failure(spot.contract, terms.as_deref())
    };
    let each = question.spots.iter().map(|spot| (wish(spot), Some(spot)));
    let strictest = each.max_by_key(|((wish, ..), _)| strictness(*wish));
    strictest.unwrap_or((map.on_failure(0, None), None))
}

/// The answer to a check that nothing is counted for: it passes, or it does not.
pub(crate) fn by_wish(node: &Node, map: &Map, question: &Question, now: Instant) -> Instead {
    if question.verb != Verb::Check {
        return Instead::default();
    }
    let ((wish, policy, limit), spot) = wish(node, map, question, now);
    let place = spot.map_or(0, |spot| spot.contract);
    let charge = Charge {
        at: now,
        cost: question.cost.tokens(),
        charged: 0,
    };
    let nothing = Due { charge, terms: 0 };
    let bookings = question.spots.iter();
    let bookings = bookings.map(|spot| node.booking_elsewhere(spot, nothing));
    let (verdict, refused_by) = if wish == OnFailure::Allow {
        (Verdict::Allow, None)
    } else {
        let by = RefusedBy::Policy {
            contract: place,
            policy,
        };
        let retry_after = RETRY_WHEN_GONE;
        (Verdict::Deny { retry_after }, Some(by))
    };
    let answer = Answer {
        verdict,
        refused_by,
        violated: None,
        contract: Some(place),
        policy,
        limit,
        remaining: 0,
        debt: 0,
        reset_after: Span::ZERO,
        shadowed: false,
        is_part: false,
        terms: KeyTerms::None,
        receipt: Receipt::Several(bookings.collect()),
        version: node.version(),
    };
    let own = spot.and_then(|spot| Some((place, node.terms_at(spot, now)?)));
    let answer = answer.under_all(own.into_iter().collect());
    Instead {
        said: Some(RemoteAnswer::Answer(answer)),
        wish: Some(wish),
    }
}

/// What a request hears that is refused because nobody is there to decide: by then somebody may be.
const RETRY_WHEN_GONE: Span = Span::from_nanos(1_000_000_000);
