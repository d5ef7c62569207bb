//! A sidecar: a server whose contracts are decided by nodes elsewhere, from leases while it has them.
//!
//! It has the contracts of those nodes, to name policies in answers; what is counted is counted there. Only checks of all contracts that bind a key are
//! passed on: everything else is for a node. Not here: leases (`tollgate-client`), doors.

use std::sync::Arc;
use std::time::Duration;

use tollgate_client::{Client, ClientConfig, ClientError, DecisionPath, Outcome};
use tollgate_contract::OnFailure;
use tollgate_limit::{Instant, Receipt as Charge, Span, Verdict};
use tollgate_node::{Answer, Due, Key, KeyTerms, Node, Receipt, RefusedBy, Spot};

use crate::engine::{Elsewhere, Heard, Hearing, Question, Said, Verb};

/// Nodes that a sidecar asks.
#[derive(Clone, PartialEq, Eq)]
pub struct UpstreamSettings {
    /// Their RESP doors, each with `zone=` before it where it is in one.
    pub nodes: Vec<String>,
    /// A token that they want.
    pub token: Option<String>,
    /// The zone of the sidecar.
    pub zone: Option<String>,
}

impl std::fmt::Debug for UpstreamSettings {
    /// Keeps the token out of logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UpstreamSettings")
            .field("nodes", &self.nodes)
            .field("zone", &self.zone)
            .finish_non_exhaustive()
    }
}

/// Decides by leases of nodes elsewhere.
#[derive(Debug)]
pub struct Upstream {
    client: Arc<Client>,
}

impl Upstream {
    /// A client of these nodes, which need not be there yet.
    pub fn connect(settings: &UpstreamSettings) -> Result<Self, ClientError> {
        let client = Client::connect(ClientConfig {
            token: settings.token.clone(),
            zone: settings.zone.clone(),
            timeout: TIMEOUT,
            ..ClientConfig::new(settings.nodes.iter().cloned())
        })?;
        Ok(Self {
            client: Arc::new(client),
        })
    }

    /// The client, for whoever shows what it counted.
    pub fn client(&self) -> &Client {
        &self.client
    }

    async fn one(&self, node: &Node, question: Question, now: Instant) -> Heard {
        let nothing = Heard {
            said: None,
            fell_back: None,
        };
        let [key] = &*question.names else {
            return nothing;
        };
        if question.verb != Verb::Check {
            return nothing;
        }
        let pairs = key.chunks_exact(2);
        let entries: Vec<(&str, &str)> = pairs
            .filter_map(|pair| Some((&**pair.first()?, &**pair.get(1)?)))
            .collect();
        let key = match &**key {
            [bare] => Key::Text(bare.as_bytes()),
            _ => Key::Entries(&entries),
        };
        let outcome = self.client.check_in_task(key, question.cost.tokens()).await;
        let held = self.client.inspect(key).unwrap_or_default();
        let fell_back = (outcome.path == DecisionPath::Failed).then_some(if outcome.is_allowed {
            OnFailure::Allow
        } else {
            OnFailure::Deny
        });
        Heard {
            said: Some(Said::Answer(Self::answer(
                node,
                &question,
                (&outcome, held.tokens),
                now,
            ))),
            fell_back,
        }
    }

    /// What nodes said, as this server's contracts name it.
    fn answer(
        node: &Node,
        question: &Question,
        (outcome, remaining): (&Outcome, u64),
        now: Instant,
    ) -> Answer {
        let charge = Charge {
            at: now,
            cost: question.cost.tokens(),
            charged: 0,
        };
        let nothing = Due { charge, terms: 0 };
        let spots = question.spots.iter();
        let bookings = spots.map(|spot: &Spot| node.booking_elsewhere(spot, nothing));
        let contract = question.spots.first().map(|spot| spot.contract);
        let of = contract.and_then(|place| node.contracts().get(place));
        let limit = of.and_then(|of| of.policies.first());
        let (verdict, refused_by) = if outcome.is_allowed {
            (Verdict::Allow, None)
        } else {
            let retry_after = outcome.retry_after.unwrap_or(RETRY);
            let by = contract.map(|contract| RefusedBy::Policy {
                contract,
                policy: 0,
            });
            (Verdict::Deny { retry_after }, by)
        };
        let answer = Answer {
            verdict,
            refused_by,
            contract,
            policy: 0,
            limit: limit.map_or(0, |named| named.policy.config().limit),
            remaining,
            reset_after: Span::ZERO,
            shadowed: false,
            terms: KeyTerms::None,
            receipt: Receipt::Several(bookings.collect()),
            version: node.version(),
        };
        answer.under_all(smallvec::SmallVec::new())
    }
}

impl Elsewhere for Upstream {
    fn is_here(&self, _: &Node, spots: &[Spot]) -> bool {
        spots.is_empty()
    }

    fn decides_all(&self) -> bool {
        true
    }

    fn ask<'a>(
        &'a self,
        node: &'a Arc<Node>,
        questions: Vec<Question>,
        now: Instant,
    ) -> Hearing<'a> {
        Box::pin(async move {
            let mut heard = Vec::with_capacity(questions.len());
            for question in questions {
                heard.push(self.one(node, question, now).await);
            }
            heard
        })
    }
}

/// How long a node may take before another is tried.
const TIMEOUT: Duration = Duration::from_millis(200);
/// What is told to whoever is refused where nobody knows better.
const RETRY: Span = Span::from_nanos(1_000_000_000);
