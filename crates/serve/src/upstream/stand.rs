//! How policies stand at a node, as this server's own contracts name them.

use tollgate_client::{NodeAnswer, NodeStand};
use tollgate_limit::{Forecast, Span, Status, Verdict};
use tollgate_node::{Node, Spot};

use crate::engine::{Question, Said, Verb};

/// What a node said of each policy of each spot. A policy of which it said nothing is as if nobody had asked for the key.
pub(super) fn said(node: &Node, question: &Question, stands: &[NodeStand]) -> Said {
    let each = question
        .spots
        .iter()
        .map(|spot| forecasts(node, spot, stands));
    if question.verb == Verb::Foresee {
        return Said::Forecasts(each.collect());
    }
    let status = |forecast: Forecast| Status {
        limit: forecast.limit,
        remaining: forecast.remaining,
        debt: forecast.debt,
        reset_after: forecast.reset_after,
        next_token_after: match forecast.verdict {
            Verdict::Allow | Verdict::Never => Span::ZERO,
            Verdict::Delay { wait } => wait,
            Verdict::Deny { retry_after } => retry_after,
        },
    };
    let each = each.map(|forecasts| forecasts.into_iter().map(status).collect());
    Said::Statuses(each.collect())
}

fn forecasts(node: &Node, spot: &Spot, stands: &[NodeStand]) -> Vec<Forecast> {
    let Some(contract) = node.contracts().get(spot.contract) else {
        return Vec::new();
    };
    let policies = contract.policies.iter().map(|named| {
        let config = named.policy.config();
        let is_it = |one: &&NodeStand| one.contract == contract.id && one.policy == named.name;
        let stand = stands.iter().find(is_it);
        let capacity = named.policy.capacity();
        Forecast {
            limit: stand.map_or(config.limit, |stand| stand.limit),
            capacity,
            remaining: stand.map_or(capacity, |stand| stand.remaining),
            debt: stand.map_or(0, |stand| stand.debt),
            is_enforced: spot.lot.is_within(config.enforce_percent),
            verdict: stand.map_or(Verdict::Allow, verdict),
            reset_after: stand.map_or(Span::ZERO, |stand| stand.reset_after),
        }
    });
    policies.collect()
}

fn verdict(stand: &NodeStand) -> Verdict {
    match stand.retry_after {
        _ if stand.is_allowed => passing(stand.wait),
        Some(retry_after) => Verdict::Deny { retry_after },
        None => Verdict::Never,
    }
}

/// What passes, at once or after a wait.
pub(super) fn passing(wait: Span) -> Verdict {
    if wait == Span::ZERO {
        Verdict::Allow
    } else {
        Verdict::Delay { wait }
    }
}

/// The place of the contract and of the policy that a node named, or of the first.
pub(super) fn place(
    node: &Node,
    spots: &[Spot],
    said: Option<&NodeAnswer>,
) -> (Option<usize>, usize) {
    let named = said.and_then(|said| said.policy.as_deref());
    let found = spots.iter().find_map(|spot| {
        let policies = &node.contracts().get(spot.contract)?.policies;
        let policy = policies.iter().position(|one| Some(&*one.name) == named)?;
        Some((Some(spot.contract), policy))
    });
    found.unwrap_or((spots.first().map(|spot| spot.contract), 0))
}
