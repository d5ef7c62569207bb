//! What was asked so far, and what was answered.

use std::cell::{RefCell, RefMut};
use std::sync::Arc;

use smallvec::SmallVec;
use tollgate_contract::OnFailure;
use tollgate_limit::{Cost, Decision, Instant, OperationId, Span};
use tollgate_node::{
    AdhocError, Answer, GubernatorAnswer, GubernatorError, Node, Receipt, Remembered,
};

use super::super::{Engine, EngineError, Turn};
use super::unknown::Unknown;
use super::{Heard, Question, Said, Verb};

/// What was asked for one request, or for those that came in together.
pub struct Notes {
    pub(super) node: Arc<Node>,
    pub(super) now: Instant,
    /// Turns have them by reference while they are written.
    pad: RefCell<Pad>,
}

#[derive(Default)]
pub(super) struct Pad {
    /// One for most requests.
    items: SmallVec<[Item; 1]>,
    /// The item that is asked for next.
    next: usize,
    /// Items without an answer.
    open: usize,
    /// Times that answers were waited for.
    waits: usize,
    fell_back: Option<OnFailure>,
}

/// One thing that was asked.
struct Item {
    state: State,
    /// The id under which the answer is to be remembered.
    once: Option<Once>,
    /// Whether the meter was told.
    is_told: bool,
}

enum State {
    Open(Question),
    /// Terms to be learnt; none once they are.
    Learn(Vec<Unknown>),
    Known(Known),
}

/// An answer that is there.
#[derive(Clone)]
pub(super) enum Known {
    Said(Result<Said, EngineError>),
    /// It was read here, and can be read again.
    Here,
    Described(Result<Decision, AdhocError>),
    Gubernated(Result<GubernatorAnswer, GubernatorError>),
}

/// An operation that has an id.
#[derive(Clone)]
pub(super) struct Once {
    pub(super) id: OperationId,
    /// For how long it stays open, where it is a reservation.
    pub(super) ttl: Option<Span>,
}

impl Notes {
    pub(super) fn new(node: Arc<Node>, now: Instant) -> Self {
        Self {
            node,
            now,
            pad: RefCell::default(),
        }
    }

    /// The contracts by which everything is decided, and the time.
    pub(in super::super) fn began(&self) -> (Arc<Node>, Instant) {
        (Arc::clone(&self.node), self.now)
    }

    pub(super) fn pad(&self) -> RefMut<'_, Pad> {
        self.pad.borrow_mut()
    }

    /// Whether answers must be waited for: then [`Self::decide`] does, and the same is to be asked again.
    pub fn wait(&mut self) -> bool {
        self.pad.get_mut().open > 0
    }

    /// Questions without an answer.
    pub fn open(&self) -> usize {
        self.pad().open
    }

    /// How many things were asked.
    pub fn len(&self) -> usize {
        self.pad().items.len()
    }

    /// Whether nothing was asked.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets what was asked from this number on, as it was answered: the next thing that is asked is new.
    pub fn forget_from(&self, number: usize) {
        let mut pad = self.pad();
        pad.items.truncate(number);
        pad.next = number;
    }

    /// The next thing that is asked is that of this number.
    pub fn read_from(&self, number: usize) {
        self.pad().next = number;
    }

    /// What policies told this node to do, where nobody else was there to decide.
    pub fn fell_back(&self) -> Option<OnFailure> {
        self.pad().fell_back
    }

    /// Asks all that is open, waits for the answers, and begins to read from the first.
    pub async fn decide(&mut self, engine: &Engine) {
        let Self { node, now, pad } = self;
        let pad = pad.get_mut();
        pad.next = 0;
        pad.waits += 1;
        engine.learn(node, pad.take_unknown(), *now).await;
        let Some(elsewhere) = engine.elsewhere().filter(|_| pad.waits <= WAITS_MAX) else {
            return pad.close();
        };
        let (places, questions) = pad.take_open();
        let heard = elsewhere.ask(node, questions, *now).await;
        let mut back = Vec::new();
        for (place, heard) in places.into_iter().zip(heard) {
            back.extend(pad.hear(place, heard, (node, *now)));
        }
        if !back.is_empty() {
            // Nobody hears what becomes of what was asked for twice.
            drop(elsewhere.ask(node, back, *now).await);
        }
        pad.close();
    }
}

impl Pad {
    /// What was answered before to what is asked now; whether the meter was told of it already.
    pub(super) fn read(&mut self) -> Option<(Option<Known>, bool)> {
        let item = self.items.get_mut(self.next)?;
        if let State::Learn(unknown) = &item.state
            && unknown.is_empty()
        {
            return None;
        }
        self.next += 1;
        Some(match &item.state {
            State::Open(_) | State::Learn(_) => (None, true),
            State::Known(known) => (
                Some(known.clone()),
                std::mem::replace(&mut item.is_told, true),
            ),
        })
    }

    /// Whether what is asked now was not asked before.
    pub(super) fn is_new(&self) -> bool {
        self.next == self.items.len()
    }

    /// Whether terms may be learnt for what is asked now: it is new, or what was learnt was forgotten since.
    pub(super) fn may_learn(&self) -> bool {
        match self.items.get(self.next).map(|item| &item.state) {
            None => true,
            Some(State::Learn(unknown)) => unknown.is_empty() && self.waits < WAITS_MAX,
            Some(State::Open(_) | State::Known(_)) => false,
        }
    }

    /// Whether counts may be read for what is asked now: they are at most twice, so that nobody waits for ever.
    pub(super) const fn may_read(&self) -> bool {
        self.waits < READS_MAX
    }

    /// Writes down what is to be learnt before an answer can be.
    pub(super) fn learn(&mut self, unknown: Vec<Unknown>) {
        self.open += 1;
        self.write(State::Learn(unknown), None);
    }

    /// All terms that are to be learnt; from here on they are taken to be.
    fn take_unknown(&mut self) -> Vec<Unknown> {
        let mut all = Vec::new();
        self.open = 0;
        for item in &mut self.items {
            self.open += usize::from(matches!(item.state, State::Open(_)));
            if let State::Learn(unknown) = &mut item.state {
                all.append(unknown);
            }
        }
        all
    }

    /// Writes down what is known.
    pub(super) fn know(&mut self, known: Known) {
        self.write(State::Known(known), None);
    }

    /// Writes down what is to be asked.
    pub(super) fn open(&mut self, question: Question, once: Option<Once>) {
        self.open += 1;
        self.write(State::Open(question), once);
    }

    fn write(&mut self, state: State, once: Option<Once>) {
        let is_told = matches!(state, State::Known(_));
        let item = Item {
            state,
            once,
            is_told,
        };
        match self.items.get_mut(self.next) {
            Some(learnt) => *learnt = item,
            None => self.items.push(item),
        }
        self.next += 1;
    }

    fn take_open(&mut self) -> (Vec<usize>, Vec<Question>) {
        let items = self.items.iter_mut().enumerate();
        let open = items.filter_map(|(place, item)| match &mut item.state {
            State::Open(question) => {
                // It is put in again as an answer, whatever happens.
                let spots = std::mem::take(&mut question.spots);
                let verb = std::mem::replace(&mut question.verb, Verb::Reset);
                let cost = question.cost;
                let names = std::mem::take(&mut question.names);
                let question = Question {
                    verb,
                    spots,
                    cost,
                    names,
                };
                Some((place, question))
            }
            State::Known(_) | State::Learn(_) => None,
        });
        open.unzip()
    }

    /// Takes an answer in; returns what must be given back.
    fn hear(
        &mut self,
        place: usize,
        heard: Heard,
        (node, now): (&Node, Instant),
    ) -> Option<Question> {
        let item = self.items.get_mut(place)?;
        self.open = self.open.saturating_sub(1);
        self.fell_back = heard.fell_back.or(self.fell_back);
        let mut back = None;
        let said = match (heard.said, &item.once) {
            (None, _) => Err(EngineError::Unreachable),
            (Some(Said::Answer(answer)), Some(once)) => {
                remember(once, answer, (node, now), &mut back).map(Said::Answer)
            }
            (Some(said), _) => Ok(said),
        };
        item.state = State::Known(Known::Said(said));
        back
    }

    /// Whatever has no answer by now gets none.
    fn close(&mut self) {
        for item in &mut self.items {
            if let State::Open(_) = item.state {
                item.state = State::Known(Known::Said(Err(EngineError::Unreachable)));
            }
        }
        self.open = 0;
    }
}

/// Remembers an answer under its id. Where another came first, that one counts and this one is given back.
fn remember(
    once: &Once,
    answer: Answer,
    (node, now): (&Node, Instant),
    back: &mut Option<Question>,
) -> Result<Answer, EngineError> {
    let receipt = answer.receipt.clone();
    let error = match node.remember(&once.id, answer, once.ttl, now) {
        Ok(answer) => return Ok(answer),
        Err(Remembered::Before(answer)) => Ok(*answer),
        Err(Remembered::Id(error)) => Err(EngineError::Id(error)),
    };
    *back = settling(node, &receipt, Cost::PEEK);
    error
}

/// The question that settles a receipt, whoever charged it; `None` where there is nothing to settle.
pub(super) fn settling(node: &Node, receipt: &Receipt, actual: Cost) -> Option<Question> {
    let bookings = receipt.bookings().iter();
    let taken = bookings.filter(|booking| booking.receipt.charged != 0);
    let (spots, dues): (_, SmallVec<[_; 2]>) =
        taken.filter_map(|booking| node.spot_of(booking)).unzip();
    let question = Question {
        verb: Verb::Settle(dues),
        spots,
        cost: actual,
        names: Vec::new(),
    };
    Some(question).filter(|question| !question.spots.is_empty())
}

impl Turn<'_> {
    /// Notes for what is asked by the contracts and at the time of this turn.
    pub fn notes(&self) -> Notes {
        Notes::new(Arc::clone(&self.node), self.now)
    }
}

impl Engine {
    /// A turn that writes down what it cannot answer, and reads out what was answered.
    pub fn turn_with<'e>(&'e self, notes: &'e Notes) -> Turn<'e> {
        Turn::noting(self, notes)
    }
}

/// Times that one request may wait: each time is a question that the answer to another led to.
const WAITS_MAX: usize = 4;
/// How often one request waits for counts to be read.
const READS_MAX: usize = 2;
