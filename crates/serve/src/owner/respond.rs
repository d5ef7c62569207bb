//! Answers to other nodes, at once or once something was looked up. Not here: what they are
//! (`tollgate_owner`).

use std::pin::Pin;
use std::sync::{Arc, Weak};

use bytes::Bytes;

use super::{INTRODUCE, Owner, PROVE, lane, moving};
use crate::cluster::{NodeQuestion, Respond};
use crate::shared::Shared;

/// Answers what other nodes ask about owned keys.
pub struct Responder {
    owner: Weak<Owner>,
    shared: Weak<Shared>,
}

impl Responder {
    /// Answers with what these know.
    pub fn new(owner: &Arc<Owner>, shared: &Arc<Shared>) -> Self {
        Self {
            owner: Arc::downgrade(owner),
            shared: Arc::downgrade(shared),
        }
    }

    /// The answer to a question of this kind; `None` refuses it.
    pub fn answer(&self, kind: u8, body: &[u8]) -> Option<Vec<u8>> {
        let (owner, shared) = self.both()?;
        Self::answer_of(&owner, &shared, kind, body)
    }

    fn both(&self) -> Option<(Arc<Owner>, Arc<Shared>)> {
        Some((self.owner.upgrade()?, self.shared.upgrade()?))
    }

    fn answer_of(owner: &Owner, shared: &Shared, kind: u8, body: &[u8]) -> Option<Vec<u8>> {
        if owner.owners.is_leaving() {
            return None;
        }
        match kind {
            lane::FORWARD => owner.answer_batch(shared, body),
            PROVE => owner.prove(shared, body),
            moving::HAND_OVER if owner.owners.takes_keys() => owner.take_over(shared, body),
            _ => None,
        }
    }

    /// The same, once it is there: for questions that have to be waited for too.
    pub fn answer_later(&self, kind: u8, body: Bytes) -> Answering {
        let now = (!self.is_later(kind)).then(|| self.answer(kind, &body));
        let both = self.both();
        Box::pin(async move {
            if let Some(answer) = now {
                return answer;
            }
            let (owner, shared) = both?;
            if kind == INTRODUCE {
                return owner.meet(&shared, &body).await;
            }
            owner.fetch(&shared, &body).await;
            Self::answer_of(&owner, &shared, kind, &body)
        })
    }

    /// Whether something may have to be looked up before.
    fn is_later(&self, kind: u8) -> bool {
        let has_away = || self.shared.upgrade().is_some_and(|is| is.engine.has_away());
        kind == INTRODUCE || kind == lane::FORWARD && has_away()
    }
}

/// An answer for another node, once it is there; `None` refuses the question.
pub type Answering = Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send>>;

impl Respond for Responder {
    fn respond(&self, asked: NodeQuestion) {
        let reply = |asked: NodeQuestion, answer: Option<Vec<u8>>| match answer {
            Some(answer) => asked.answer(&answer),
            None => asked.refuse(),
        };
        if !self.is_later(asked.kind) {
            let answer = self.answer(asked.kind, &asked.body);
            return reply(asked, answer);
        }
        let answer = self.answer_later(asked.kind, asked.body.clone());
        tokio::spawn(async move { reply(asked, answer.await) });
    }
}
