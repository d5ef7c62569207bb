//! Questions of this node on their way: whom they are asked of, and what becomes of the answers.
//!
//! [`Asking::poll`] says what is to be sent where; whoever carries it feeds what comes back, or that nothing did, to
//! [`Asking::handle_letter`], [`Asking::handle_stored`] and [`Asking::handle_ledgers`], tells owners who keys are where
//! [`Asking::take_introductions`] has some, and polls again, until nothing is to be sent. Not here: batches, deadlines,
//! streams, engines.

use std::sync::Arc;

use tollgate_contract::{OnFailure, Terms};
use tollgate_gossip::NodeId;
use tollgate_limit::Instant;
use tollgate_node::{Node, Spot};
use tollgate_store::{EngineAnswer, LedgerId, Name, StoreRequest};

use crate::ask::Parcel;
use crate::here::{self, Instead};
use crate::introduce::Introductions;
use crate::map::Map;
use crate::owners::Owners;
use crate::question::{Question, QuestionReply, RemoteAnswer, Verb};
use crate::said::{Answers, OwnerReply};
use crate::stored::{ask_of, said};
use crate::work::{OwnerStep, To, Work};

/// Questions that are asked together.
pub struct Asking {
    works: Vec<Work>,
    node: Arc<Node>,
    map: Arc<Map>,
    now: Instant,
    strangers: Introductions,
    tally: AskTally,
}

/// The work and the step that something belongs to.
pub type StepPlace = (usize, usize);

/// What is to be sent.
#[derive(Default)]
pub struct Wanted {
    /// To nodes.
    pub letters: Vec<Letter>,
    /// To the store, to be handed back with the answers.
    pub stored: StoreAsks,
    /// Of ledgers, each with its place.
    pub ledgers: Vec<(StepPlace, LedgerAsk)>,
}

/// What goes to one node.
pub struct Letter {
    /// The node.
    pub to: NodeId,
    /// The questions.
    pub parcel: Parcel,
    /// The place of each question.
    pub steps: Vec<StepPlace>,
}

/// What a store is asked.
#[derive(Default)]
pub struct StoreAsks {
    steps: Vec<StepPlace>,
    /// In order.
    pub each: Vec<StoreRequest>,
    /// The terms by which each is asked, where they are the key's own.
    terms: Vec<Option<Arc<Terms>>>,
}

/// Something that is asked of the books of one key.
#[derive(Clone)]
pub struct LedgerAsk {
    /// The key.
    pub id: LedgerId,
    /// Whose contracts decide.
    pub node: Arc<Node>,
    /// Where.
    pub spot: Spot,
    /// What.
    pub question: Question,
}

/// Why a node gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoReply {
    /// It did not in time, and may have charged.
    Late,
    /// It cannot be reached, is no member, or refuses.
    Gone,
    /// Too much waits.
    Busy,
}

/// What is counted of questions.
#[derive(Clone, Copy, Debug, Default)]
pub struct AskTally {
    /// Denials given again here, without asking.
    pub denied_here: u64,
    /// Questions asked once more, of another owner.
    pub retried: u64,
    /// Questions without an answer in time.
    pub late: u64,
    /// Questions whose owner could not be reached.
    pub unreachable: u64,
    /// Answers that made no sense.
    pub malformed: u64,
    /// What was done without owners.
    pub owners: Without,
    /// What was done without the store.
    pub store: Without,
    /// Requests that could not be decided without the store for want of room.
    pub no_room: u64,
}

/// What was done without those who decide.
#[derive(Clone, Copy, Debug, Default)]
pub struct Without {
    /// Writes that were answered with an error.
    pub writes_failed: u64,
    /// Requests that `on_failure` decided, in the order of [`OnFailure::ALL`].
    pub fell_back: [u64; 3],
}

impl Without {
    fn note(&mut self, verb: &Verb, wish: Option<OnFailure>) {
        self.writes_failed += u64::from(verb.is_write());
        if let Some(wish) = wish {
            self.fell_back[wish as usize] += 1;
        }
    }
}

impl Wanted {
    fn is_empty(&self) -> bool {
        self.letters.is_empty() && self.stored.each.is_empty() && self.ledgers.is_empty()
    }

    fn put(&mut self, at: StepPlace, asked: &At<'_>, to: To, step: &OwnerStep) {
        match (to, step.question.spots.first()) {
            (To::Node(to), _) => self.put_letter(to, at, asked.map, step),
            // A question for a store has one spot.
            (To::Store(_), Some(spot)) => {
                if let Some((basis, question)) = asked.book(&step.question, spot) {
                    let Self { stored, .. } = self;
                    stored.steps.push(at);
                    let ask = ask_of(&question, spot, &basis.book, asked.now);
                    stored.each.push(ask);
                    stored.terms.push(basis.terms);
                }
            }
            (To::Ledger(_), Some(spot)) => self.ledgers.push((
                at,
                LedgerAsk {
                    id: LedgerId {
                        tag: asked.map.tag(spot.contract),
                        name: Name(u128::from(spot.print.0)),
                    },
                    node: Arc::clone(asked.node),
                    spot: *spot,
                    question: step.question.clone(),
                },
            )),
            (To::Store(_) | To::Ledger(_), None) => {}
        }
    }

    fn put_letter(&mut self, to: NodeId, at: StepPlace, map: &Map, step: &OwnerStep) {
        let known = self.letters.iter().position(|letter| letter.to == to);
        let known = known.unwrap_or_else(|| {
            self.letters.push(Letter {
                to,
                parcel: Parcel::default(),
                steps: Vec::new(),
            });
            self.letters.len() - 1
        });
        if let Some(letter) = self.letters.get_mut(known) {
            letter.parcel.put(map, step);
            letter.steps.push(at);
        }
    }
}

impl Asking {
    pub(crate) fn new(
        owners: &Owners,
        node: &Arc<Node>,
        questions: Vec<Question>,
        now: Instant,
    ) -> Self {
        let map = Arc::clone(&owners.map(node));
        let mut tally = AskTally::default();
        let at = At {
            owners,
            node,
            map: &map,
            now,
        };
        let works = questions.into_iter().map(|q| at.plan(q, &mut tally));
        Self {
            works: works.collect(),
            node: Arc::clone(node),
            map,
            now,
            strangers: Introductions::default(),
            tally,
        }
    }

    /// What is to be sent now; `None` once every question is answered.
    pub fn poll(&mut self, owners: &Owners) -> Option<Wanted> {
        let mut wanted = Wanted::default();
        let at = At {
            owners,
            node: &self.node,
            map: &self.map,
            now: self.now,
        };
        for (number, work) in self.works.iter_mut().enumerate() {
            work.advance(at.node, at.now, |place, to, step| {
                wanted.put((number, place), &at, to, step);
            });
        }
        (!wanted.is_empty()).then_some(wanted)
    }

    /// Takes in what a node said to a letter, or that it said nothing.
    pub fn handle_letter(
        &mut self,
        owners: &Owners,
        steps: &[StepPlace],
        answer: Result<&[u8], NoReply>,
    ) {
        let (at, rest) = self.parts(owners);
        let mut answers = answer.map(Answers::new);
        for place in steps {
            let Some(work) = rest.works.get_mut(place.0) else {
                continue;
            };
            let Some(asked) = work.step(place.1) else {
                continue;
            };
            let reply = match &mut answers {
                Ok(answers) => {
                    let reply = answers.next(&asked.question, (at.node, at.now));
                    rest.tally.malformed += u64::from(reply.is_none());
                    reply.ok_or(NoReply::Gone)
                }
                Err(why) => Err(*why),
            };
            match reply {
                Ok(OwnerReply::Said(said)) => {
                    if let RemoteAnswer::Answer(answer) = &said {
                        owners.denied.note(&at, &asked.question, answer);
                    }
                    work.hear(place.1, Some(said), at.node, at.now);
                }
                Ok(OwnerReply::Stranger) if !asked.is_told => {
                    rest.strangers.add(at.map, asked);
                    work.told(place.1);
                }
                Ok(OwnerReply::Elsewhere) if !asked.is_last => {
                    rest.tally.retried += 1;
                    at.ask_next(work, place.1);
                }
                Ok(_) => at.fall_back(work, place.1, rest.tally),
                Err(why) => at.fail(work, place.1, why, rest.tally),
            }
        }
    }

    /// Owners to be told who keys are before the next poll.
    pub fn take_introductions(&mut self) -> Introductions {
        std::mem::take(&mut self.strangers)
    }

    /// Takes in what the store said, or does what policies say where it said nothing: by `remembered` where they say so.
    pub fn handle_stored(
        &mut self,
        owners: &Owners,
        asks: StoreAsks,
        answers: impl IntoIterator<Item = Option<EngineAnswer>>,
        mut remembered: impl FnMut(&StoreRequest) -> Option<EngineAnswer>,
    ) {
        let (at, rest) = self.parts(owners);
        let StoreAsks { steps, each, terms } = asks;
        let steps = steps.into_iter().zip(&each).zip(terms);
        for (((place, ask), terms), answer) in steps.zip(answers) {
            let Some(work) = rest.works.get_mut(place.0) else {
                continue;
            };
            let Some(asked) = work.step(place.1) else {
                continue;
            };
            let question = asked.question.clone();
            let (heard, wish) = if let Some(heard) = answer {
                (Some(heard), None)
            } else {
                let spot = question.spots.first().map_or(0, |spot| spot.contract);
                let (wish, ..) = at.map.on_failure(spot, terms.as_deref());
                let heard = here::without_store(ask, wish, &mut remembered);
                let has_no_room = matches!(heard, (None, Some(OnFailure::Local)));
                rest.tally.no_room += u64::from(has_no_room);
                rest.tally.store.note(&question.verb, None);
                heard
            };
            let said = heard.and_then(|heard| said(at.node, terms, &question, ask, &heard));
            match (said, wish) {
                (Some(said), None) => {
                    if let RemoteAnswer::Answer(answer) = &said {
                        owners.denied.note(&at, &question, answer);
                    }
                    work.hear(place.1, Some(said), at.node, at.now);
                }
                (said, wish) => {
                    let mut instead = Instead { said, wish };
                    if instead.said.is_none() {
                        instead = here::by_wish(at.node, at.map, &question, at.now);
                    }
                    let fell_back = &mut rest.tally.store.fell_back;
                    instead.wish.inspect(|wish| fell_back[*wish as usize] += 1);
                    work.fall_back(place.1, instead, at.node, at.now);
                }
            }
        }
    }

    /// Takes in what was decided over ledgers, or does what policies say where nothing was.
    pub fn handle_ledgers(
        &mut self,
        owners: &Owners,
        answers: impl IntoIterator<Item = (StepPlace, Option<RemoteAnswer>)>,
    ) {
        let (at, rest) = self.parts(owners);
        for (place, said) in answers {
            let Some(work) = rest.works.get_mut(place.0) else {
                continue;
            };
            let Some(asked) = work.step(place.1) else {
                continue;
            };
            let question = &asked.question;
            let Some(said) = said else {
                let instead = here::by_wish(at.node, at.map, question, at.now);
                rest.tally.store.note(&question.verb, instead.wish);
                work.fall_back(place.1, instead, at.node, at.now);
                continue;
            };
            if let RemoteAnswer::Answer(answer) = &said {
                owners.denied.note(&at, question, answer);
            }
            work.hear(place.1, Some(said), at.node, at.now);
        }
    }

    /// The answers, in the order of their questions, and what was counted.
    pub fn finish(self) -> (Vec<QuestionReply>, AskTally) {
        let replies = self.works.into_iter().map(Work::finish);
        (replies.collect(), self.tally)
    }

    fn parts<'a>(&'a mut self, owners: &'a Owners) -> (At<'a>, Rest<'a>) {
        let Self {
            works,
            node,
            map,
            now,
            strangers,
            tally,
        } = self;
        let at = At {
            owners,
            node,
            map,
            now: *now,
        };
        let rest = Rest {
            works,
            strangers,
            tally,
        };
        (at, rest)
    }
}

/// What changes as answers come.
struct Rest<'a> {
    works: &'a mut Vec<Work>,
    strangers: &'a mut Introductions,
    tally: &'a mut AskTally,
}

/// Where and when questions are asked.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) owners: &'a Owners,
    pub(crate) node: &'a Arc<Node>,
    pub(crate) map: &'a Map,
    pub(crate) now: Instant,
}

impl At<'_> {
    fn plan(&self, question: Question, tally: &mut AskTally) -> Work {
        let Self { owners, map, .. } = *self;
        match question.verb {
            Verb::Check if owners.is_all_stored() => {}
            Verb::Check => {
                if let Some(answer) = owners.denied.get(self, &question) {
                    tally.denied_here += 1;
                    let mut work = Work::new(question, |_| None);
                    work.hear(0, Some(RemoteAnswer::Answer(answer)), self.node, self.now);
                    return work;
                }
            }
            Verb::Refund | Verb::Reset | Verb::Settle(_) => owners.denied.forget(&question.spots),
            Verb::Charge | Verb::Status | Verb::Foresee | Verb::Lend(_) | Verb::Quota(..) => {}
        }
        let known = owners.known();
        Work::new(question, |spot| {
            owners.decides(&known, map, self.node, spot)
        })
    }

    /// A node has no counts of a key, which come to it just now: the node that follows is asked, which had the key
    /// before. Where that one has none either, the owner decides all the same.
    fn ask_next(&self, work: &mut Work, at: usize) {
        let Self {
            owners, map, node, ..
        } = *self;
        let known = owners.known();
        let Some((asked, step)) = asked_of(work, at) else {
            return;
        };
        let next = |spot: &Spot| owners.next_owner(&known.crew, map, spot, asked);
        // Its cell left this node, and is about to be there.
        let is_mine = |spot: &Spot| next(spot).is_none() && owners.awaits(&known, map, node, spot);
        let is_last = step.is_retry || step.question.spots.iter().any(is_mine);
        work.retry(at, is_last, |spot| {
            let first = owners.owner_of(&known, map, node, spot)?;
            let to = if is_last { Some(first) } else { next(spot) };
            to.map(To::Node)
        });
    }

    /// A node gave no answer: whoever owns the keys instead is asked, once.
    fn fail(&self, work: &mut Work, at: usize, why: NoReply, tally: &mut AskTally) {
        let Self {
            owners, map, node, ..
        } = *self;
        match why {
            NoReply::Late => tally.late += 1,
            NoReply::Gone | NoReply::Busy => tally.unreachable += 1,
        }
        let known = owners.known();
        let Some((gone, step)) = asked_of(work, at) else {
            return;
        };
        let is_gone = why == NoReply::Gone || !owners.has_member(gone);
        let is_once = step.question.verb.is_once();
        let was_sent_on = step.is_retry && !step.is_last;
        if !is_gone || is_once || step.is_retry && !was_sent_on {
            return self.fall_back(work, at, tally);
        }
        tally.retried += 1;
        // Whoever follows a node that is gone decides all the same: its counts are gone as well.
        work.retry(at, true, |spot| {
            if was_sent_on {
                return owners.owner_of(&known, map, node, spot).map(To::Node);
            }
            let next = owners.next_owner(&known.crew, map, spot, gone);
            if next.is_none() && map.is_lent(spot.contract) {
                node.act_for(spot, self.now);
            }
            next.map(To::Node)
        });
    }

    fn fall_back(&self, work: &mut Work, at: usize, tally: &mut AskTally) {
        let Self {
            owners,
            node,
            map,
            now,
        } = *self;
        let Some(step) = work.step(at) else {
            return;
        };
        let instead = here::instead(node, map, &step.question, now);
        tally.owners.note(&step.question.verb, instead.wish);
        if instead.wish.is_some() {
            owners.note_strays();
        }
        work.fall_back(at, instead, node, now);
    }
}

/// A step that was asked of a node.
fn asked_of(work: &Work, at: usize) -> Option<(NodeId, &OwnerStep)> {
    let step = work.step(at)?;
    match step.to? {
        To::Node(asked) => Some((asked, step)),
        To::Store(_) | To::Ledger(_) => None,
    }
}
