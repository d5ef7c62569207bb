//! One question on its way: whom it is asked of, in which order, and what becomes of the answers.
//!
//! Contracts of one owner are asked together, all or nothing. A check that binds contracts of several owners is asked
//! of one after the other: first of this node, which costs nothing, then of the others in the order of the contracts.
//! Where a later one refuses, what was charged before is given back; in between others may be refused for it. Those
//! behind the first that refuses are asked at once what they would say, so that the answer names all policies that
//! refuse, and tells of the one that does so longest. Everything else is asked of all at once. Not here: sending.

use std::cmp::Reverse;

use smallvec::SmallVec;
use tollgate_contract::OnFailure;
use tollgate_gossip::NodeId;
use tollgate_limit::{Cost, Forecast, KeyStatus, Refusing, Span, Verdict};
use tollgate_node::{Answer, Booking, Node, Receipt, RefusedBy, Spot, Violation};

use crate::here::{self, Instead};
use crate::question::{Question, QuestionReply, RemoteAnswer, Verb};

/// One question on its way.
pub(crate) struct Work {
    steps: SmallVec<[OwnerStep; 1]>,
    /// How many spots the question has.
    spots: usize,
    fell_back: Option<OnFailure>,
}

/// Who else decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    /// The node that owns the key.
    Node(NodeId),
    /// The store, about the contract at this place: a store answers for one key at a time.
    Store(usize),
    /// This node, over the ledger of a key of the contract at this place, which the store keeps.
    Ledger(usize),
}

/// A part of a question, for one node or for the store.
pub(crate) struct OwnerStep {
    /// Who decides; `None` is this node.
    pub(crate) to: Option<To>,
    pub(crate) question: Question,
    /// Whether this is the second attempt.
    pub(crate) is_retry: bool,
    /// Whether the node was told who the keys are, as far as that is known.
    pub(crate) is_told: bool,
    /// Whether whoever is asked decides even if others may have counts.
    pub(crate) is_last: bool,
    /// Which spots of the whole question these are.
    places: SmallVec<[usize; 2]>,
    state: State,
    aim: Aim,
}

/// What a step is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aim {
    /// The question itself.
    Answer,
    /// What would be said, as another step was refused.
    Foresight,
    /// Giving back what another step took.
    Undo,
}

#[allow(clippy::large_enum_variant, reason = "nearly all hold an answer")]
enum State {
    Todo,
    Sent,
    Done(Option<RemoteAnswer>),
}

impl Work {
    /// Splits a question by who decides at each spot; `None` is this node.
    pub(crate) fn new(question: Question, to: impl FnMut(&Spot) -> Option<To>) -> Self {
        let spots = question.spots.len();
        let places: SmallVec<[usize; 2]> = (0..spots).collect();
        let mut steps = split(question, &places, to);
        // This node is asked first; the rest stay in the order of the contracts.
        steps.sort_by_key(|step| step.to.is_some());
        Self {
            steps,
            spots,
            fell_back: None,
        }
    }

    /// Does what can be done here, and hands over the steps that must be sent, by their numbers.
    pub(crate) fn advance(
        &mut self,
        node: &Node,
        now: tollgate_limit::Instant,
        mut send: impl FnMut(usize, To, &OwnerStep),
    ) {
        let mut at = 0;
        while let Some(step) = self.steps.get_mut(at) {
            match (&step.state, step.to) {
                (State::Done(_), _) => {}
                (State::Sent, _) => return,
                (State::Todo, None) => {
                    let said = here::answer(node, &step.question, now);
                    step.state = State::Done(Some(said));
                    self.look_back(at, node, now);
                }
                (State::Todo, Some(to)) => {
                    send(at, to, step);
                    step.state = State::Sent;
                    if step.question.verb == Verb::Check && step.aim != Aim::Undo {
                        return;
                    }
                }
            }
            at += 1;
        }
    }

    /// A step that was sent.
    pub(crate) fn step(&self, at: usize) -> Option<&OwnerStep> {
        self.steps.get(at)
    }

    /// Asks a step again, of the same node, which was told who the keys are.
    pub(crate) fn told(&mut self, at: usize) {
        if let Some(step) = self.steps.get_mut(at) {
            (step.state, step.is_told) = (State::Todo, true);
        }
    }

    /// Takes in what was said to a step.
    pub(crate) fn hear(
        &mut self,
        at: usize,
        said: Option<RemoteAnswer>,
        node: &Node,
        now: tollgate_limit::Instant,
    ) {
        if let Some(step) = self.steps.get_mut(at) {
            let said = match said {
                Some(RemoteAnswer::Forecasts(each)) if step.aim == Aim::Foresight => {
                    foreseen(node, &step.question.spots, &each, now).map(RemoteAnswer::Answer)
                }
                said => said,
            };
            step.state = State::Done(said);
            self.look_back(at, node, now);
        }
    }

    /// Does a step by what policies say where nobody is there.
    pub(crate) fn fall_back(
        &mut self,
        at: usize,
        instead: Instead,
        node: &Node,
        now: tollgate_limit::Instant,
    ) {
        if self.steps.get(at).is_none_or(|step| step.aim == Aim::Undo) {
            return self.hear(at, None, node, now);
        }
        self.fell_back = instead.wish.or(self.fell_back);
        self.hear(at, instead.said, node, now);
    }

    /// Asks a step once more, of others, for the last time where that is so.
    pub(crate) fn retry(&mut self, at: usize, is_last: bool, to: impl FnMut(&Spot) -> Option<To>) {
        let Some(step) = self.steps.get_mut(at) else {
            return;
        };
        let spots = std::mem::take(&mut step.question.spots);
        let verb = std::mem::replace(&mut step.question.verb, Verb::Reset);
        let cost = step.question.cost;
        let aim = step.aim;
        let places = std::mem::take(&mut step.places);
        let question = Question {
            verb,
            spots,
            cost,
            names: std::mem::take(&mut step.question.names),
        };
        let mut again = split(question, &places, to);
        for again in &mut again {
            (again.is_retry, again.is_last, again.aim) = (true, is_last, aim);
        }
        // The numbers of other steps stay as they are.
        let mut again = again.into_iter();
        if let Some(first) = again.next() {
            *step = first;
        }
        self.steps.extend(again);
    }

    /// Gives back what was taken before, where a check was refused; of the steps behind it nothing is taken, and what
    /// they would say is asked.
    fn look_back(&mut self, at: usize, node: &Node, now: tollgate_limit::Instant) {
        let refused = self.steps.get(at).is_some_and(|step| {
            let refused =
                |said: &RemoteAnswer| matches!(said, RemoteAnswer::Answer(answer) if !answer.is_allowed());
            step.aim == Aim::Answer && step.said().is_some_and(refused)
        });
        if !refused {
            return;
        }
        for step in self.steps.iter_mut().skip(at + 1) {
            (step.question.verb, step.aim) = (Verb::Foresee, Aim::Foresight);
        }
        let mut undo: SmallVec<[OwnerStep; 1]> = SmallVec::new();
        for step in self.steps.iter_mut().take(at) {
            let State::Done(Some(RemoteAnswer::Answer(answer))) = &mut step.state else {
                continue;
            };
            match step.to {
                None => node.settle(&answer.receipt, Cost::PEEK, now),
                Some(to) => undo.extend(giving_back(node, to, &answer.receipt)),
            }
            for booking in answer.receipt.bookings_mut() {
                booking.receipt.charged = 0;
            }
        }
        self.steps.extend(undo);
    }

    /// What the whole question is answered, once every step is done.
    pub(crate) fn finish(self) -> QuestionReply {
        let fell_back = self.fell_back;
        let said = self.said();
        QuestionReply { said, fell_back }
    }

    fn said(mut self) -> Option<RemoteAnswer> {
        self.steps.retain(|step| step.aim != Aim::Undo);
        if let [step] = &mut *self.steps
            && step.places.len() == self.spots
        {
            return match std::mem::replace(&mut step.state, State::Todo) {
                State::Done(said) => said,
                State::Todo | State::Sent => None,
            };
        }
        let mut whole: Option<RemoteAnswer> = None;
        for step in self.steps {
            let said = match step.state {
                State::Done(Some(said)) => said,
                // It refuses nothing, or does not answer.
                State::Done(None) if step.aim == Aim::Foresight => continue,
                State::Done(None) | State::Todo | State::Sent => return None,
            };
            whole = Some(match (whole, said) {
                (None, RemoteAnswer::Statuses(each)) => {
                    RemoteAnswer::Statuses(spread(self.spots, &step.places, each))
                }
                (None, RemoteAnswer::Forecasts(each)) => {
                    RemoteAnswer::Forecasts(spread(self.spots, &step.places, each))
                }
                (None, said) => said,
                (Some(whole), said) => join(whole, said, &step.places),
            });
        }
        whole
    }
}

impl OwnerStep {
    fn said(&self) -> Option<&RemoteAnswer> {
        match &self.state {
            State::Done(said) => said.as_ref(),
            State::Todo | State::Sent => None,
        }
    }
}

/// A step for each node that decides at some of the spots.
fn split(
    question: Question,
    places: &[usize],
    mut to: impl FnMut(&Spot) -> Option<To>,
) -> SmallVec<[OwnerStep; 1]> {
    let mut steps: SmallVec<[OwnerStep; 1]> = SmallVec::new();
    let owners: SmallVec<[Option<To>; 2]> = question.spots.iter().map(&mut to).collect();
    let step = |to, question, places| OwnerStep {
        to,
        question,
        is_retry: false,
        is_told: false,
        is_last: false,
        places,
        state: State::Todo,
        aim: Aim::Answer,
    };
    if let Some((first, rest)) = owners.split_first()
        && rest.iter().all(|other| other == first)
    {
        steps.push(step(*first, question, places.into()));
        return steps;
    }
    for (at, (spot, owner)) in question.spots.iter().zip(&owners).enumerate() {
        let known = steps.iter().position(|step| step.to == *owner);
        let known = known.unwrap_or_else(|| {
            let verb = match &question.verb {
                Verb::Settle(_) => Verb::Settle(Vec::new()),
                verb => verb.clone(),
            };
            let part = Question {
                verb,
                spots: SmallVec::new(),
                cost: question.cost,
                names: Vec::new(),
            };
            steps.push(step(*owner, part, SmallVec::new()));
            steps.len() - 1
        });
        let Some(step) = steps.get_mut(known) else {
            continue;
        };
        step.question.spots.push(*spot);
        let names = question.names.get(at).cloned();
        step.question.names.extend(names);
        step.places.extend(places.get(at).copied());
        if let (Verb::Settle(all), Verb::Settle(part)) = (&question.verb, &mut step.question.verb) {
            part.extend(all.get(at).copied());
        }
    }
    steps
}

/// The step that gives back what another node took.
fn giving_back(node: &Node, to: To, receipt: &Receipt) -> Option<OwnerStep> {
    let taken = receipt.bookings().iter();
    let taken = taken.filter(|booking| booking.receipt.charged != 0);
    let (spots, dues): (_, Vec<_>) = taken.filter_map(|booking| node.spot_of(booking)).unzip();
    let question = Question {
        verb: Verb::Settle(dues),
        spots,
        cost: Cost::PEEK,
        names: Vec::new(),
    };
    (!question.spots.is_empty()).then(|| OwnerStep {
        to: Some(to),
        question,
        is_retry: false,
        is_told: false,
        is_last: false,
        places: SmallVec::new(),
        state: State::Todo,
        aim: Aim::Undo,
    })
}

/// Puts lists of some spots at their places among those of all.
fn spread<T>(spots: usize, places: &[usize], each: Vec<Vec<T>>) -> Vec<Vec<T>> {
    let mut all: Vec<Vec<T>> = (0..spots).map(|_| Vec::new()).collect();
    fill(&mut all, places, each);
    all
}

fn fill<T>(all: &mut [Vec<T>], places: &[usize], each: Vec<Vec<T>>) {
    for (place, list) in places.iter().zip(each) {
        if let Some(slot) = all.get_mut(*place) {
            *slot = list;
        }
    }
}

/// Adds what one node said to what others said before.
fn join(whole: RemoteAnswer, said: RemoteAnswer, places: &[usize]) -> RemoteAnswer {
    match (whole, said) {
        (RemoteAnswer::Answer(whole), RemoteAnswer::Answer(said)) => {
            RemoteAnswer::Answer(join_answers(whole, said))
        }
        (RemoteAnswer::Done(whole), RemoteAnswer::Done(said)) => RemoteAnswer::Done(whole && said),
        (RemoteAnswer::Statuses(mut all), RemoteAnswer::Statuses(each)) => {
            fill::<KeyStatus>(&mut all, places, each);
            RemoteAnswer::Statuses(all)
        }
        (RemoteAnswer::Forecasts(mut all), RemoteAnswer::Forecasts(each)) => {
            fill::<Forecast>(&mut all, places, each);
            RemoteAnswer::Forecasts(all)
        }
        // Nodes answer what they are asked; the decoder sees to that.
        (whole, _) => whole,
    }
}

/// The refusal that some spots would answer with; `None` where they refuse nothing.
fn foreseen(
    node: &Node,
    spots: &[Spot],
    each: &[Vec<Forecast>],
    now: tollgate_limit::Instant,
) -> Option<Answer> {
    let all = spots.iter().zip(each).flat_map(|(spot, each)| {
        let placed = each.iter().enumerate();
        placed.map(|(policy, forecast)| (spot.contract, policy, forecast))
    });
    let refusing = all.filter(|(.., one)| one.is_enforced && !one.verdict.is_allowed());
    let longest = refusing
        .clone()
        .min_by_key(|(.., one)| Reverse(weight(one.verdict)));
    let (contract, policy, told) = longest?;
    let violated = refusing.map(|(contract, policy, one)| Violation {
        contract,
        said: Refusing {
            policy,
            remaining: one.remaining,
            debt: one.debt,
            retry_after: one.verdict.retry_after(),
        },
    });
    let answer = Answer {
        verdict: told.verdict,
        refused_by: Some(RefusedBy::Policy { contract, policy }),
        violated: Violation::several(violated),
        contract: Some(contract),
        policy,
        limit: told.limit,
        remaining: told.remaining,
        debt: told.debt,
        reset_after: told.reset_after,
        version: node.version(),
        ..Answer::unbound()
    };
    let own = spots.iter();
    let own = own.filter_map(|spot| Some((spot.contract, node.terms_at(spot, now)?)));
    Some(answer.under_all(own.collect()))
}

/// The answer that covers both: of refusals the longer, else the least left; everything that was charged.
fn join_answers(a: Answer, b: Answer) -> Answer {
    let bookings = a.receipt.bookings().iter().chain(b.receipt.bookings());
    let mut bookings: Vec<Booking> = bookings.copied().collect();
    bookings.sort_unstable_by_key(|booking| booking.contract);
    let mut violations: Vec<_> = a.violations().into_iter().chain(b.violations()).collect();
    violations.sort_unstable_by_key(|one| (one.contract, one.said.policy));
    let shadowed = a.shadowed || b.shadowed;
    let verdict = graver(a.verdict, b.verdict);
    let rank = |answer: &Answer| {
        let refuses = Reverse(weight(answer.verdict).filter(|_| !answer.is_allowed()));
        (
            refuses,
            answer.contract.is_none(),
            answer.remaining,
            answer.contract,
        )
    };
    let own = a.terms.each().iter().chain(b.terms.each()).cloned();
    let own = own.collect();
    let told = if rank(&a) <= rank(&b) { a } else { b };
    let answer = Answer {
        verdict,
        violated: Violation::several(violations),
        shadowed,
        receipt: Receipt::Several(bookings.into()),
        ..told
    };
    answer.under_all(own)
}

/// Never over deny over delay over allow, and the longer wait of two alike.
fn graver(a: Verdict, b: Verdict) -> Verdict {
    if weight(a) >= weight(b) { a } else { b }
}

const fn weight(verdict: Verdict) -> Option<(u8, Span)> {
    match verdict {
        Verdict::Allow => None,
        Verdict::Delay { wait } => Some((1, wait)),
        Verdict::Deny { retry_after } => Some((2, retry_after)),
        Verdict::Never => Some((3, Span::ZERO)),
    }
}
