//! Operations in which another node or a store has a part, or of whose key something must be learnt first.
//!
//! [`Turn::start`] carries out what can be done here, and gives a [`Ticket`] for the rest: it owns what the operation
//! needs, and keeps its place among others. All that wait together are asked together ([`WaitingOps`]); nothing is read
//! or begun twice.
//!
//! Contracts that are decided here pay one look at a flag for all this. Not here: who decides instead (`owner`).

mod begin;
mod learn;
mod ticket;
mod waiting;

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use tollgate_contract::{Contracts, Coordination};
use tollgate_limit::{Cost, Instant};
use tollgate_node::{Node, Receipt, Spot};

use super::Engine;

pub(super) use begin::Begun;
pub use learn::{Learning, Registrar};
pub use ticket::Ticket;
pub(super) use ticket::TicketState;
pub use tollgate_owner::{
    Question, QuestionReply, QuotaAsk, RemoteAnswer, Unknown, UnknownPart, Verb,
};
pub use waiting::{Started, Steps, WaitingOps, WaitingSteps};

/// Answers, in the order of their questions, once they are there.
pub type Hearing<'a> = Pin<Box<dyn Future<Output = Vec<QuestionReply>> + Send + 'a>>;

/// Somebody who decides what this node does not decide itself.
pub trait Elsewhere: Send + Sync {
    /// Whether this node decides at these spots. Asked for every request, so it must be quick.
    fn is_here(&self, node: &Node, spots: &[Spot]) -> bool;

    /// Asks questions, of which each has at least one spot that is not here.
    fn ask<'a>(
        &'a self,
        node: &'a Arc<Node>,
        questions: Vec<Question>,
        now: Instant,
    ) -> Hearing<'a>;

    /// Whether it decides about every contract, and needs the keys that requests bring.
    fn decides_all(&self) -> bool {
        false
    }

    /// Contracts changed: whatever is remembered of answers may be wrong.
    fn reloaded(&self) {}
}

/// Whether something is decided elsewhere, and by whom.
#[derive(Default)]
pub(super) struct Apart {
    waits: AtomicBool,
    /// Whether contracts in use are decided elsewhere, besides terms that are waited for.
    asks: AtomicBool,
    elsewhere: OnceLock<Arc<dyn Elsewhere>>,
    registrar: OnceLock<Arc<dyn Registrar>>,
    /// Who reads counts that left memory.
    reader: OnceLock<Arc<dyn Registrar>>,
    /// How many contracts have such counts.
    away: Arc<AtomicUsize>,
}

impl Apart {
    /// Nobody yet, where so many contracts have counts on disk only.
    pub(super) fn new(away: &Arc<AtomicUsize>) -> Self {
        Self {
            away: Arc::clone(away),
            ..Self::default()
        }
    }

    /// Looks at the contracts in use, which are these.
    pub(super) fn look_at(&self, contracts: &Contracts) {
        let elsewhere = self.elsewhere.get();
        let mut policies = contracts.as_slice().iter().flat_map(|c| &c.policies);
        let is_elsewhere = policies.any(|policy| {
            matches!(
                policy.coordination,
                Coordination::Owner | Coordination::Lease | Coordination::Store
            )
        });
        let asks = elsewhere.is_some_and(|elsewhere| is_elsewhere || elsewhere.decides_all());
        let mut plans = contracts.as_slice().iter().map(|contract| &contract.plan);
        let learns = self.registrar.get().is_some() && plans.any(Option::is_some);
        self.asks.store(asks, Relaxed);
        self.waits.store(asks || learns, Relaxed);
        if let Some(elsewhere) = elsewhere {
            elsewhere.reloaded();
        }
    }
}

impl Engine {
    /// From here on somebody else decides about what is not decided here; for once, before anything is asked.
    pub fn set_elsewhere(&self, elsewhere: Arc<dyn Elsewhere>) {
        // A second one would have to know what the first has promised.
        let _ = self.apart.elsewhere.set(elsewhere);
        self.apart.look_at(self.node.load().contracts());
    }

    /// From here on somebody knows the terms of keys; for once, before anything is asked.
    pub fn set_registrar(&self, registrar: Arc<dyn Registrar>) {
        let _ = self.apart.registrar.set(registrar);
        self.apart.look_at(self.node.load().contracts());
    }

    /// Whether answers may have to be waited for, by the contracts in use.
    #[inline]
    pub fn is_apart(&self) -> bool {
        self.apart.waits.load(Relaxed) || self.has_away()
    }

    /// Whether counts of some keys may be on disk only.
    #[inline]
    pub(crate) fn has_away(&self) -> bool {
        self.apart.away.load(Relaxed) != 0
    }

    /// From here on somebody reads counts that left memory; for once, before anything is asked.
    pub(crate) fn set_reader(&self, reader: Arc<dyn Registrar>) {
        let _ = self.apart.reader.set(reader);
    }

    /// Learns what is missed of keys, as far as somebody knows it.
    pub(crate) async fn learn(&self, node: &Arc<Node>, unknown: Vec<Unknown>, now: Instant) {
        let is_terms = |unknown: &Unknown| unknown.what == UnknownPart::Terms;
        let (terms, counts): (Vec<_>, Vec<_>) = unknown.into_iter().partition(is_terms);
        let learn = async |from: Option<&Arc<dyn Registrar>>, unknown: Vec<Unknown>| {
            if let (Some(from), [_, ..]) = (from, &*unknown) {
                from.learn(node, unknown, now).await;
            }
        };
        tokio::join!(
            learn(self.apart.registrar.get(), terms),
            learn(self.apart.reader.get(), counts)
        );
    }

    /// Whether contracts in use are decided elsewhere.
    #[inline]
    pub(super) fn asks_elsewhere(&self) -> bool {
        self.apart.asks.load(Relaxed)
    }

    /// Asks questions of those who decide; nobody answers where there is none.
    pub(super) async fn ask(
        &self,
        node: &Arc<Node>,
        questions: Vec<Question>,
        now: Instant,
    ) -> Vec<QuestionReply> {
        match self.elsewhere() {
            Some(elsewhere) => elsewhere.ask(node, questions, now).await,
            None => Vec::new(),
        }
    }

    pub(crate) fn registrar(&self) -> Option<&Arc<dyn Registrar>> {
        self.apart.registrar.get()
    }

    /// Who decides what is not decided here.
    pub(crate) fn remote(&self) -> Option<&Arc<dyn Elsewhere>> {
        self.elsewhere()
    }

    pub(super) fn elsewhere(&self) -> Option<&Arc<dyn Elsewhere>> {
        self.apart.elsewhere.get()
    }
}

/// The question that settles a receipt, whoever charged it; `None` where there is nothing to settle.
pub(super) fn settling(node: &Node, receipt: &Receipt, actual: Cost) -> Option<Question> {
    let bookings = receipt.bookings().iter();
    let taken = bookings.filter(|booking| booking.receipt.charged != 0);
    let (spots, dues): (_, Vec<_>) = taken.filter_map(|booking| node.spot_of(booking)).unzip();
    let question = Question {
        verb: Verb::Settle(dues),
        spots,
        cost: actual,
        names: Vec::new(),
    };
    Some(question).filter(|question| !question.spots.is_empty())
}
