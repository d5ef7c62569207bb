//! How policies stand at a node, as this server's own contracts name them.

use tollgate_client::{NodeAnswer, NodeStand};
use tollgate_limit::{Forecast, KeyStatus, Refusing, Span, Verdict};
use tollgate_node::{Node, Spot, Violation};

use crate::engine::{Question, RemoteAnswer, Verb};

/// What a node said of each policy of each spot. A policy of which it said nothing is as if nobody had asked for the
/// key.
pub(super) fn said(node: &Node, question: &Question, stands: &[NodeStand]) -> RemoteAnswer {
    let each = question
        .spots
        .iter()
        .map(|spot| forecasts(node, spot, stands));
    if question.verb == Verb::Foresee {
        return RemoteAnswer::Forecasts(each.collect());
    }
    let status = |forecast: Forecast| KeyStatus {
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
    RemoteAnswer::Statuses(each.collect())
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

/// The place of the contract and of the policy that a node named, and what it has left. A name that no contract here
/// has is no policy's: the place is behind the last one of the first contract.
pub(super) fn place(node: &Node, spots: &[Spot], said: &NodeAnswer) -> (Option<usize>, usize, u64) {
    let contracts = spots.iter();
    let contracts =
        contracts.filter_map(|spot| Some((spot.contract, node.contracts().get(spot.contract)?)));
    let named = contracts.clone().filter_map(|(place, contract)| {
        let mut policies = contract.policies.iter();
        let policy = policies.position(|one| Some(&*one.name) == said.policy.as_deref())?;
        let limit = contract.policies.get(policy)?.policy.config().limit;
        let mut others = said.violated.iter();
        let is_named = said.violated.is_empty() || others.any(|one| one.contract == contract.id);
        // Two contracts may call a policy the same; a node says the numbers of one.
        Some((!is_named, limit != said.limit, place, policy))
    });
    let found = named.min().map(|(_, _, place, policy)| (place, policy));
    let found = found.or_else(|| {
        contracts
            .map(|(place, of)| (place, of.policies.len()))
            .next()
    });
    (
        found.map(|(place, _)| place),
        found.map_or(0, |(_, policy)| policy),
        said.remaining,
    )
}

/// The same of the tightest lease, by the tag of its policy; else the first policy, of which nothing is here.
pub(super) fn leased(
    node: &Node,
    spots: &[Spot],
    least: Option<(u64, u64)>,
) -> (Option<usize>, usize, u64) {
    let of = |(tag, tokens): (u64, u64)| {
        spots.iter().find_map(|spot| {
            let policy = node.leased_policy(spot.contract, tag)?;
            Some((Some(spot.contract), policy, tokens))
        })
    };
    let first = spots.first().map(|spot| spot.contract);
    least.and_then(of).unwrap_or((first, 0, 0))
}

/// All policies that refuse, where a node named several.
pub(super) fn violated(node: &Node, spots: &[Spot], said: &NodeAnswer) -> Option<Box<[Violation]>> {
    let each = said.violated.iter().filter_map(|one| {
        let contract = node.contracts().position(&one.contract)?;
        spots.iter().find(|spot| spot.contract == contract)?;
        let mut policies = node.contracts().get(contract)?.policies.iter();
        let said = Refusing {
            policy: policies.position(|named| named.name == one.policy)?,
            remaining: one.remaining,
            debt: one.debt,
            retry_after: one.retry_after,
        };
        Some(Violation { contract, said })
    });
    Violation::several(each)
}
