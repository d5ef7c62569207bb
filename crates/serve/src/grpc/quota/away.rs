//! Batches questions of one stream about keys of other nodes.
//!
//! An answer counts only if it arrives in time, as an assignment must not be in transit for longer than its owner
//! assumes. Not here: key ownership, and handling of missing answers.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::Instant as Timer;
use tollgate_node::{PlaneId, QuotaTold};
use tollgate_wire::rlqs::BucketId;

use crate::engine::{QuotaHeard, QuotaQuestion};
use crate::settings::QUOTA_HOP;
use crate::shared::Shared;

/// Questions to send.
#[derive(Default)]
pub(super) struct QuotaQueue {
    about: Vec<(Arc<BucketId>, PlaneId)>,
    questions: Vec<QuotaQuestion>,
}

/// Questions in flight.
pub(super) struct PendingQuotas {
    about: Vec<(Arc<BucketId>, PlaneId)>,
    answers: Pin<Box<dyn Future<Output = Vec<QuotaHeard>> + Send>>,
    heard: Vec<QuotaHeard>,
    began: Timer,
}

impl QuotaQueue {
    pub(super) fn add(&mut self, bucket: &Arc<BucketId>, question: QuotaQuestion) {
        self.about.push((Arc::clone(bucket), question.1));
        self.questions.push(question);
    }

    /// Sends the questions, if any.
    pub(super) fn ask(self, shared: &Arc<Shared>) -> Option<PendingQuotas> {
        let Self { about, questions } = self;
        let shared = Arc::clone(shared);
        let answers = async move {
            let node = shared.engine.node();
            shared.engine.ask_quota(node, questions).await
        };
        (!about.is_empty()).then(|| PendingQuotas {
            about,
            answers: Box::pin(answers),
            heard: Vec::new(),
            began: Timer::now(),
        })
    }
}

impl PendingQuotas {
    /// Whether all answers have arrived; do not poll after `Ready`.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let heard = self.answers.as_mut().poll(context);
        heard.map(|heard| self.heard = heard)
    }

    /// The answers, by subscription.
    pub(super) fn heard(self) -> impl Iterator<Item = (Arc<BucketId>, PlaneId, QuotaHeard)> {
        let is_late = self.began.elapsed() > QUOTA_HOP;
        let about = self.about.into_iter().zip(self.heard);
        about.map(move |((bucket, number), heard)| {
            let heard = match heard {
                _ if is_late => QuotaHeard::Silence,
                QuotaHeard::Told(told) => QuotaHeard::Told(paced(told)),
                heard => heard,
            };
            (bucket, number, heard)
        })
    }
}

/// Limits how often another node is asked.
fn paced(told: QuotaTold) -> QuotaTold {
    let least = u64::try_from(ASK_AGAIN.as_nanos()).unwrap_or(u64::MAX);
    QuotaTold {
        due_ns: told.due_ns.map(|due| due.max(least)),
        ..told
    }
}

/// Sends questions to other nodes without waiting for delivery.
pub(super) fn tell(shared: &Arc<Shared>, questions: Vec<QuotaQuestion>) {
    let Ok(runtime) = Handle::try_current() else {
        return;
    };
    if !questions.is_empty() {
        let shared = Arc::clone(shared);
        runtime.spawn(async move {
            let node = shared.engine.node();
            drop(shared.engine.ask_quota(node, questions).await);
        });
    }
}

/// The shortest time before the owner of a key is asked again about what is due.
const ASK_AGAIN: Duration = Duration::from_millis(250);
