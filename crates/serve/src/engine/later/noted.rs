//! What a turn with notes says.

use std::borrow::Cow;

use tollgate_contract::OnFailure;
use tollgate_limit::{Cost, Decision, Span};
use tollgate_node::{
    AdhocError, Answer, GubernatorAnswer, GubernatorError, Receipt, Spots, Within,
};

use super::super::turn::Receivable;
use super::super::{Ask, EngineError, Standing, Turn};
use super::notes::{Known, Notes, Once, settling};
use super::{Question, Said, Verb};

/// Takes a question without spots of its own: what is done here, and what has to be asked.
type Split = Option<Question>;

impl Turn<'_> {
    /// What policies told this node to do instead of whoever decides, where nobody was there.
    #[inline]
    pub fn fell_back(&self) -> Option<OnFailure> {
        self.notes.and_then(Notes::fell_back)
    }

    /// Decides one request, or writes it down.
    pub(in super::super) fn check_noted(
        &self,
        notes: &Notes,
        ask: &Ask<'_>,
        ttl: Option<Span>,
    ) -> Result<Answer, EngineError> {
        if ttl.is_none()
            && let Some(answer) = self.check_at_once(notes, ask)
        {
            // Something else that is asked may have to wait; then this is asked again.
            let known = Known::Said(Ok(Said::Answer(answer.clone())));
            notes.pad().know(known);
            return Ok(answer);
        }
        self.check_or_wait(notes, ask, ttl)
    }

    /// Decides the only thing that is asked, or writes it down. What is decided at once nobody asks for again.
    #[inline]
    pub(in super::super) fn check_only_noted(
        &self,
        notes: &Notes,
        ask: &Ask<'_>,
    ) -> Result<Answer, EngineError> {
        match self.check_at_once(notes, ask) {
            Some(answer) => Ok(answer),
            None => self.check_or_wait(notes, ask, None),
        }
    }

    /// Decides a request that nobody else has a part in, by terms that are known: nearly all do not wait.
    #[inline]
    fn check_at_once(&self, notes: &Notes, ask: &Ask<'_>) -> Option<Answer> {
        let is_plain = ask.id.is_none() && !self.engine.asks_elsewhere();
        if !is_plain || !notes.pad().is_new() || self.banned(ask).is_some() {
            return None;
        }
        let within = self.within(ask.scope).ok()?;
        let answer = within.check_known(ask.key, ask.cost, self.now)?;
        self.note(ask, Ok(answer), false).ok()
    }

    #[cold]
    fn check_or_wait(
        &self,
        notes: &Notes,
        ask: &Ask<'_>,
        ttl: Option<Span>,
    ) -> Result<Answer, EngineError> {
        if self.waits_to_learn(notes, ask) {
            return Ok(blank());
        }
        if let Some((known, is_told)) = notes.pad().read() {
            let answer = match known {
                None => return Ok(blank()),
                Some(Known::Said(Ok(Said::Answer(answer)))) => Ok(answer),
                Some(Known::Said(Err(error))) => Err(error),
                Some(_) => Err(EngineError::Unreachable),
            };
            return if is_told {
                answer
            } else {
                self.note(ask, answer, false)
            };
        }
        if let Some(answer) = self.banned(ask) {
            let known = Known::Said(Ok(Said::Answer(answer.clone())));
            notes.pad().know(known);
            return self.note(ask, Ok(answer), false);
        }
        match self.asked_elsewhere(ask, ttl) {
            Ok(None) => {
                let answer = match ttl {
                    None => self.check_here(ask),
                    Some(ttl) => self.reserve_here(ask, ttl),
                };
                let known = answer.clone().map(Said::Answer);
                notes.pad().know(Known::Said(known));
                answer
            }
            Ok(Some(Asked::Known(answer))) => {
                let known = answer.clone().map(Said::Answer);
                notes.pad().know(Known::Said(known));
                self.note(ask, answer, true)
            }
            Ok(Some(Asked::Open(question, once))) => {
                notes.pad().open(question, once);
                Ok(blank())
            }
            Err(error) => {
                notes.pad().know(Known::Said(Err(error.clone())));
                self.note(ask, Err(error), false)
            }
        }
    }

    /// What is to be asked elsewhere; `None` where this node decides.
    fn asked_elsewhere(
        &self,
        ask: &Ask<'_>,
        ttl: Option<Span>,
    ) -> Result<Option<Asked>, EngineError> {
        let Some(spots) = self.spots_elsewhere(self.within(ask.scope)?, ask) else {
            return Ok(None);
        };
        let id = match ttl {
            None => ask.id,
            Some(_) => Some(ask.id.unwrap_or_default()),
        };
        let id = id.map(|id| self.operation(id)).transpose()?;
        if let Some(id) = &id
            && let Some(known) = self.node.recall(id, self.now)
        {
            return Ok(Some(Asked::Known(known.map_err(EngineError::Id))));
        }
        let question = self.question(Verb::Check, spots, ask);
        let once = id.map(|id| Once { id, ttl });
        Ok(Some(Asked::Open(question, once)))
    }

    /// The spots of a request, where somebody else decides at some of them.
    fn spots_elsewhere(&self, within: Within<'_>, ask: &Ask<'_>) -> Option<Spots> {
        let elsewhere = self.engine.elsewhere()?;
        let spots = within.spots(ask.key);
        (!elsewhere.is_here(&self.node, &spots)).then_some(spots)
    }

    /// Changes a key without asking, or writes that down. `here` does it where this node decides.
    #[cold]
    pub(in super::super) fn write_noted(
        &self,
        notes: &Notes,
        (verb, ask): (Verb, &Ask<'_>),
        here: impl FnOnce() -> Result<bool, EngineError>,
    ) -> Result<bool, EngineError> {
        if self.waits_to_learn(notes, ask) {
            return Ok(true);
        }
        Self::done_noted(notes, || {
            let Some(spots) = self.spots_elsewhere(self.within(ask.scope)?, ask) else {
                return here().map(Err);
            };
            let mut is_first = true;
            if let Some(id) = ask.id {
                is_first = false;
                let once = self
                    .node
                    .do_once(&self.operation(id)?, self.now, || is_first = true);
                once.map_err(EngineError::Id)?;
            }
            if !is_first {
                return Ok(Err(true));
            }
            self.count_noted(&verb, ask);
            Ok(Ok(self.question(verb, spots, ask)))
        })
    }

    /// Settles a reservation at its actual cost.
    #[cold]
    pub(in super::super) fn commit_noted(
        &self,
        notes: &Notes,
        id: &str,
        actual: Cost,
    ) -> Result<(), EngineError> {
        if self.engine.has_away()
            && let Some(Ok(answer)) = self.node.recall(&self.reservation(id)?, self.now)
            && self.waits_to_settle(notes, &answer.receipt)
        {
            return Ok(());
        }
        let done = Self::done_noted(notes, || {
            let mut left = None;
            let settle = |receipt: &Receipt| {
                self.count_settled(receipt, actual);
                left = self.settle_or_ask(receipt, actual);
            };
            let done = self
                .node
                .commit_by(&self.reservation(id)?, actual, self.now, settle);
            done.map_err(EngineError::Id)?;
            Ok(left.ok_or(true))
        });
        done.map(drop)
    }

    /// Settles a receipt at its actual cost.
    #[cold]
    pub(in super::super) fn settle_noted(
        &self,
        notes: &Notes,
        receivable: &Receivable,
        (actual, id): (Cost, Option<&str>),
    ) -> Result<(), EngineError> {
        if self.waits_to_settle(notes, &receivable.receipt) {
            return Ok(());
        }
        let done = Self::done_noted(notes, || {
            let id = id.map(|id| self.operation(id)).transpose()?;
            let mut left = None;
            let mut settle = || {
                let times = (receivable.expires, self.now);
                let settle = || {
                    self.count_settled(&receivable.receipt, actual);
                    left = self.settle_or_ask(&receivable.receipt, actual);
                };
                self.node
                    .settle_numbered_by(receivable.number, actual, times, settle)
            };
            let done = match id {
                None => settle(),
                Some(id) => {
                    let mut done = Ok(());
                    let once = self.node.do_once(&id, self.now, || done = settle());
                    once.and(done)
                }
            };
            done.map_err(EngineError::Id)?;
            Ok(left.ok_or(true))
        });
        done.map(drop)
    }

    /// Gives what a receipt says back in full.
    #[cold]
    pub(in super::super) fn give_back_noted(&self, notes: &Notes, receipt: &Receipt) {
        if self.waits_to_settle(notes, receipt) {
            return;
        }
        let done = Self::done_noted(notes, || {
            self.count_settled(receipt, Cost::PEEK);
            Ok(self.settle_or_ask(receipt, Cost::PEEK).ok_or(true))
        });
        drop(done);
    }

    /// Settles a receipt where this node can, and returns what has to be asked otherwise.
    fn settle_or_ask(&self, receipt: &Receipt, actual: Cost) -> Split {
        let question = settling(&self.node, receipt, actual)?;
        let elsewhere = self.engine.elsewhere();
        if elsewhere.is_some_and(|elsewhere| !elsewhere.is_here(&self.node, &question.spots)) {
            return Some(question);
        }
        for booking in receipt.bookings() {
            self.node.settle_booking(booking, actual, self.now);
        }
        None
    }

    /// Does something once, or reads what became of it. `run` returns a question, or else what was done.
    fn done_noted(
        notes: &Notes,
        run: impl FnOnce() -> Result<Result<Question, bool>, EngineError>,
    ) -> Result<bool, EngineError> {
        if let Some((known, _)) = notes.pad().read() {
            return match known {
                None => Ok(true),
                Some(Known::Said(Ok(Said::Done(done)))) => Ok(done),
                Some(Known::Said(Err(error))) => Err(error),
                Some(_) => Err(EngineError::Unreachable),
            };
        }
        let said = match run() {
            Ok(Ok(question)) => {
                notes.pad().open(question, None);
                return Ok(true);
            }
            Ok(Err(done)) => Ok(done),
            Err(error) => Err(error),
        };
        let known = said.clone().map(Said::Done);
        notes.pad().know(Known::Said(known));
        said
    }

    /// How policies stand, where somebody else may know: `None` where this node does.
    #[cold]
    pub(in super::super) fn standings_noted<'a>(
        &'a self,
        notes: &Notes,
        within: Within<'a>,
        ask: &Ask<'_>,
    ) -> Option<Vec<Standing<'a>>> {
        let reading = self.read_elsewhere(notes, Verb::Status, (within, ask));
        if let Reading::Here = reading {
            return None;
        }
        let mut standings = Vec::new();
        if let Reading::Said(Said::Statuses(each)) = reading {
            for (spot, statuses) in within.spots(ask.key).iter().zip(each) {
                let Some(contract) = self.node.contracts().get(spot.contract) else {
                    continue;
                };
                let own = self.node.terms_at(spot, self.now);
                let policies = own.as_ref().map_or(&contract.policies, |own| &own.policies);
                let policies = policies.iter().zip(statuses).enumerate();
                standings.extend(policies.map(|(place, (policy, status))| Standing {
                    contract,
                    policy: match (&own, contract.policies.get(place)) {
                        (None, Some(policy)) => Cow::Borrowed(policy),
                        _ => Cow::Owned(policy.clone()),
                    },
                    status,
                }));
            }
        }
        Some(standings)
    }

    /// What policies would say, by places of contracts, where somebody else may know: `None` where this node does.
    #[cold]
    pub(in super::super) fn forecasts_noted(
        &self,
        notes: &Notes,
        within: Within<'_>,
        ask: &Ask<'_>,
    ) -> Option<Vec<(usize, Vec<tollgate_limit::Forecast>)>> {
        match self.read_elsewhere(notes, Verb::Foresee, (within, ask)) {
            Reading::Here => None,
            Reading::Said(Said::Forecasts(each)) => {
                let spots = within.spots(ask.key);
                let places = spots.iter().map(|spot| spot.contract);
                Some(places.zip(each).collect())
            }
            Reading::Said(_) | Reading::Later => Some(Vec::new()),
        }
    }

    /// Reads something elsewhere.
    fn read_elsewhere(
        &self,
        notes: &Notes,
        verb: Verb,
        (within, ask): (Within<'_>, &Ask<'_>),
    ) -> Reading {
        if self.waits_to_learn(notes, ask) {
            return Reading::Later;
        }
        let mut pad = notes.pad();
        if let Some((known, _)) = pad.read() {
            return match known {
                Some(Known::Here | Known::Said(Err(_))) => Reading::Here,
                Some(Known::Said(Ok(said))) => Reading::Said(said),
                None | Some(_) => Reading::Later,
            };
        }
        let Some(spots) = self.spots_elsewhere(within, ask) else {
            pad.know(Known::Here);
            return Reading::Here;
        };
        pad.open(self.question(verb, spots, ask), None);
        Reading::Later
    }

    /// What somebody else says to a question; `None` where this node is the one to ask. Nothing was said yet where the answer is
    /// that nothing was done.
    #[cold]
    pub(in super::super) fn said_elsewhere(
        &self,
        notes: &Notes,
        verb: Verb,
        (within, ask): (Within<'_>, &Ask<'_>),
    ) -> Option<Result<Said, EngineError>> {
        let later = Some(Ok(Said::Done(false)));
        let mut pad = notes.pad();
        if let Some((known, _)) = pad.read() {
            return match known {
                Some(Known::Here) => None,
                Some(Known::Said(said)) => Some(said),
                None | Some(_) => later,
            };
        }
        let Some(spots) = self.spots_elsewhere(within, ask) else {
            pad.know(Known::Here);
            return None;
        };
        pad.open(self.question(verb, spots, ask), None);
        later
    }

    /// Decides by a policy that a request describes, once however often it is asked.
    #[cold]
    pub(in super::super) fn described_noted(
        notes: &Notes,
        decide: impl FnOnce() -> Result<Decision, AdhocError>,
    ) -> Result<Decision, AdhocError> {
        if let Some((Some(Known::Described(decision)), _)) = notes.pad().read() {
            return decision;
        }
        let decision = decide();
        notes.pad().know(Known::Described(decision));
        decision
    }

    /// Decides as gubernator does, once however often it is asked.
    #[cold]
    pub(in super::super) fn gubernated_noted(
        notes: &Notes,
        decide: impl FnOnce() -> Result<GubernatorAnswer, GubernatorError>,
    ) -> Result<GubernatorAnswer, GubernatorError> {
        if let Some((Some(Known::Gubernated(answer)), _)) = notes.pad().read() {
            return answer;
        }
        let answer = decide();
        notes.pad().know(Known::Gubernated(answer));
        answer
    }
}

/// What was read.
#[allow(clippy::large_enum_variant, reason = "nearly all hold an answer")]
enum Reading {
    /// Nothing: this node knows best.
    Here,
    Said(Said),
    /// Nothing yet.
    Later,
}

enum Asked {
    Known(Result<Answer, EngineError>),
    Open(Question, Option<Once>),
}

/// What is said as long as nothing is known. Nobody hears it.
const fn blank() -> Answer {
    Answer::unbound()
}
