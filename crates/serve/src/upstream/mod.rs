//! A sidecar: a server whose contracts are decided by nodes elsewhere, from leases while it has them.
//!
//! It has the contracts of those nodes, to name policies in answers; what is counted is counted there. Checks of all
//! contracts that bind a key are decided by leases, and settled where they were paid; everything else is passed on to a
//! node. Not here: leases (`tollgate-client`), doors.

mod stand;
mod tickets;

use std::sync::Arc;
use std::time::Duration;

use tollgate_catalogue::BAN;
use tollgate_client::{
    Client, ClientConfig, ClientError, ClientTls, DecisionPath, NodeAsk, NodeWrite, Outcome,
};
use tollgate_contract::{OnFailure, Terms};
use tollgate_limit::{Charge, Cost, Instant, Span, Verdict};
use tollgate_node::{Answer, Due, Key, KeyTerms, Node, Receipt, RefusedBy, Scope, Spot};

use crate::engine::{Elsewhere, Hearing, Question, QuestionReply, RemoteAnswer, Verb, ban_terms};
use crate::owner::join_all;
use tickets::Tickets;

/// Nodes that a sidecar asks.
#[derive(Clone, PartialEq, Eq)]
pub struct UpstreamSettings {
    /// Their RESP doors, each with `zone=` before it where it is in one.
    pub nodes: Vec<String>,
    /// A token that they want.
    pub token: Option<String>,
    /// The zone of the sidecar.
    pub zone: Option<String>,
    /// Whom to believe, where nodes are spoken to over TLS.
    pub tls: Option<ClientTls>,
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
    client: Client,
    tickets: Tickets,
    /// What answers call a ban.
    ban: Option<Arc<Terms>>,
}

/// What the client said of a request.
struct Decided {
    outcome: Outcome,
    /// Of leases that decided, the tightest: the tag of its policy, and the tokens in it.
    least: Option<(u64, u64)>,
}

impl Upstream {
    /// A client of these nodes, which need not be there yet.
    pub fn connect(settings: &UpstreamSettings) -> Result<Self, ClientError> {
        let client = Client::connect(ClientConfig {
            token: settings.token.clone(),
            zone: settings.zone.clone(),
            timeout: TIMEOUT,
            tls: settings.tls.clone(),
            ..ClientConfig::new(settings.nodes.iter().cloned())
        })?;
        Ok(Self {
            client,
            tickets: Tickets::default(),
            ban: ban_terms(),
        })
    }

    /// The client, for whoever shows what it counted.
    pub fn client(&self) -> &Client {
        &self.client
    }

    async fn one(&self, node: &Node, question: Question, now: Instant) -> QuestionReply {
        let mut fell_back = None;
        let said = match &question.verb {
            Verb::Settle(dues) => self
                .settle(dues, question.cost)
                .await
                .map(RemoteAnswer::Done),
            Verb::Lend(_) | Verb::Quota(..) => None,
            _ => self.about(node, &question, now, &mut fell_back).await,
        };
        QuestionReply { said, fell_back }
    }

    /// Asks something about a key.
    async fn about(
        &self,
        node: &Node,
        question: &Question,
        now: Instant,
        fell_back: &mut Option<OnFailure>,
    ) -> Option<RemoteAnswer> {
        let [words] = &*question.names else {
            return None;
        };
        let pairs = words.chunks_exact(2);
        let entries: Vec<(&str, &str)> = pairs
            .filter_map(|pair| Some((&**pair.first()?, &**pair.get(1)?)))
            .collect();
        let key = match &**words {
            [bare] => Key::Text(bare.as_bytes()),
            _ => Key::Entries(&entries),
        };
        let ask = NodeAsk {
            key,
            cost: question.cost.tokens(),
            contract: only_contract(node, key, &question.spots)?,
        };
        match question.verb {
            Verb::Check => {
                let outcome = self.check(&ask).await;
                if outcome.path == DecisionPath::Failed {
                    *fell_back = Some(if outcome.is_allowed {
                        OnFailure::Allow
                    } else {
                        OnFailure::Deny
                    });
                }
                // What was taken is gone from the lease already.
                let cost = if outcome.is_allowed { 0 } else { ask.cost };
                let is_here = outcome.node.is_none();
                let least = is_here.then(|| self.client.tightest(key, cost)).flatten();
                let decided = Decided { outcome, least };
                Some(RemoteAnswer::Answer(
                    self.answer(node, question, decided, now),
                ))
            }
            Verb::Charge => self.write(NodeWrite::Charge, &ask).await,
            Verb::Refund => self.write(NodeWrite::Refund, &ask).await,
            Verb::Reset => self.write(NodeWrite::Reset, &ask).await,
            Verb::Status | Verb::Foresee => {
                let stands = self.client.peek_in_task(&ask).await?;
                Some(stand::said(node, question, &stands))
            }
            Verb::Settle(_) | Verb::Lend(_) | Verb::Quota(..) => None,
        }
    }

    /// Decides by leases, unless one contract alone is asked, or only what would be said.
    async fn check(&self, ask: &NodeAsk<'_>) -> Outcome {
        if ask.cost == 0 || ask.contract.is_some() {
            return self.client.check_at_node_in_task(ask).await;
        }
        self.client.check_in_task(ask.key, ask.cost).await
    }

    async fn write(&self, write: NodeWrite, ask: &NodeAsk<'_>) -> Option<RemoteAnswer> {
        let done = self.client.write_in_task(write, ask).await?;
        Some(RemoteAnswer::Done(done))
    }

    /// Settles where a request was paid. All of its bookings have one number.
    async fn settle(&self, dues: &[Due], actual: Cost) -> Option<bool> {
        let receipt = self.tickets.take(dues.first()?.terms)?;
        let is_done = self.client.settle_in_task(&receipt, actual.tokens()).await;
        is_done.then_some(true)
    }

    /// What nodes said, as this server's contracts name it; else what the tightest lease has.
    fn answer(
        &self,
        node: &Node,
        question: &Question,
        Decided { outcome, least }: Decided,
        now: Instant,
    ) -> Answer {
        let is_paid = outcome.is_allowed && outcome.receipt.is_some();
        let charge = Charge {
            at: now,
            cost: question.cost.tokens(),
            charged: u64::from(is_paid),
        };
        let ticket = outcome.receipt.map(|receipt| self.tickets.keep(receipt));
        let terms = ticket.unwrap_or(0);
        let spots = question.spots.iter();
        let bookings = spots.map(|spot: &Spot| node.booking_elsewhere(spot, Due { charge, terms }));
        let receipt = Receipt::Several(bookings.collect());
        let said = outcome.node.as_deref();
        let (contract, policy, remaining) = match said {
            Some(said) => stand::place(node, &question.spots, said),
            None => stand::leased(node, &question.spots, least),
        };
        let named = contract.and_then(|place| node.contracts().get(place));
        let limit = named.and_then(|of| of.policies.get(policy));
        let limit = limit.map_or(0, |named| named.policy.config().limit);
        if let (Some(contract), Some(terms)) = (contract, &self.ban)
            && said.is_some_and(|said| said.policy.as_deref() == Some(BAN))
            && !outcome.is_allowed
        {
            let version = node.version();
            let answer = Answer::barred(contract, terms, outcome.retry_after);
            return Answer { version, ..answer };
        }
        let (verdict, refused_by) = if outcome.is_allowed {
            (stand::passing(outcome.wait), None)
        } else {
            let by = contract.map(|contract| RefusedBy::Policy { contract, policy });
            // A node that says no time says that no wait will help.
            let verdict = match (outcome.retry_after, said) {
                (None, Some(_)) => Verdict::Never,
                (after, _) => Verdict::Deny {
                    retry_after: after.unwrap_or(RETRY),
                },
            };
            (verdict, by)
        };
        let answer = Answer {
            verdict,
            refused_by,
            violated: said.and_then(|said| stand::violated(node, &question.spots, said)),
            contract,
            policy,
            limit: said.map_or(limit, |said| said.limit),
            remaining,
            debt: said.map_or(0, |said| said.debt),
            reset_after: said.map_or(Span::ZERO, |said| said.reset_after),
            shadowed: false,
            is_part: said.is_none(),
            terms: KeyTerms::None,
            receipt,
            version: node.version(),
        };
        answer.under_all(smallvec::SmallVec::new())
    }
}

/// The contract to name where not all that bind a key are asked; `None` where that cannot be said to a node.
#[allow(
    clippy::option_option,
    reason = "the outer says whether it can be said"
)]
fn only_contract<'n>(node: &'n Node, key: Key<'_>, spots: &[Spot]) -> Option<Option<&'n str>> {
    let all = node.within(Scope::All).ok()?.spots(key);
    if *all == *spots {
        return Some(None);
    }
    let [spot] = spots else {
        return None;
    };
    let contract = node.contracts().get(spot.contract)?;
    Some(Some(&contract.id))
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
            let each = questions.into_iter().enumerate();
            let asked =
                each.map(async |(place, question)| (place, self.one(node, question, now).await));
            let mut heard = join_all(asked).await;
            heard.sort_unstable_by_key(|(place, _)| *place);
            heard.into_iter().map(|(_, heard)| heard).collect()
        })
    }
}

/// How long a node may take before another is tried.
const TIMEOUT: Duration = Duration::from_millis(200);
/// What is told to whoever is refused where nobody knows better.
const RETRY: Span = Span::from_nanos(1_000_000_000);
