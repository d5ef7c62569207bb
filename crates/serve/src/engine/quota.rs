//! Quotas of data planes: whoever owns a key assigns them.
//!
//! An answer that is not heard must not be asked for again under the same name: the owner takes it for heard. So nobody
//! else is asked in its place. Not here: streams (`grpc`), and who owns what (`owner`).

use std::slice;
use std::sync::Arc;

use tollgate_limit::Cost;
use tollgate_node::{Node, PlaneId, QuotaTold, Spot};

use super::{Engine, Question, QuestionReply, QuotaAsk, RemoteAnswer, Verb};

/// What is asked about a data plane, and where.
pub(crate) type QuotaQuestion = (Spot, PlaneId, QuotaAsk);

/// What the owner of a key says about a data plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuotaHeard {
    Told(QuotaTold),
    /// Nothing is assigned, or there is no room for the key.
    NoRoom,
    /// It did not answer in time.
    Silence,
}

impl Engine {
    /// Whether somebody else decides about every contract: then there is nothing here to assign from.
    pub(crate) fn assigns_nothing(&self) -> bool {
        self.elsewhere().is_some_and(|other| other.decides_all())
    }

    /// Whether this node assigns at a spot.
    pub(crate) fn assigns(&self, node: &Node, spot: &Spot) -> bool {
        let elsewhere = self.elsewhere();
        elsewhere.is_none_or(|owner| owner.is_here(node, slice::from_ref(spot)))
    }

    /// Asks the owners of keys, all at once, and says what each said, in order.
    pub(crate) async fn ask_quota(
        &self,
        node: Arc<Node>,
        questions: Vec<QuotaQuestion>,
    ) -> Vec<QuotaHeard> {
        let count = questions.len();
        let question = |(spot, plane, ask)| Question {
            verb: Verb::Quota(plane, ask),
            spots: [spot].into_iter().collect(),
            cost: Cost::PEEK,
            names: Vec::new(),
        };
        let questions = questions.into_iter().map(question).collect();
        let mut heard = self.ask(&node, questions, self.now()).await;
        heard.resize_with(count, QuestionReply::default);
        let told = heard.into_iter().map(|heard| match heard.said {
            Some(RemoteAnswer::Quota(Some(told))) => QuotaHeard::Told(told),
            Some(RemoteAnswer::Quota(None)) => QuotaHeard::NoRoom,
            _ => QuotaHeard::Silence,
        });
        told.collect()
    }
}
