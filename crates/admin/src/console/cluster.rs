//! The nodes, as this one sees them, its part of divided limits and of buckets that are cut, and the gateway that it
//! may be.

use serde_json::Value;
use tollgate_console::page::{
    self, Cluster, Cut, CutPart, Freshness, GatewayRow, NodeRow, Share, Supply,
};
use tollgate_contract::Coordination;
use tollgate_serve::annex::DelaysView;
use tollgate_serve::cluster::{MissingView, RollView};
use tollgate_serve::modes::{self, view::ModePolicyView};

use super::desk::Page;
use super::fit::{Fit, fitted};
use super::told::{list, text};
use crate::answer::Answer;
use crate::fault::Fault;

/// The nodes.
pub(super) async fn cluster(page: &Page) -> Result<Answer, Fault> {
    let told = page.inner.get("/cluster").await?;
    let load = page.inner.get("/load").await.unwrap_or_default();
    let now = page.inner.get("/now").await?;
    let me = &told["me"];
    let mut nodes = vec![NodeRow {
        name: me["name"].as_str().unwrap_or(&page.frame.node).to_owned(),
        address: text(&me["address"]),
        freshness: Freshness::Itself,
        rate: now["last_10s"]["all"].as_f64().unwrap_or(0.0),
        sent: 0.0,
        received: 0.0,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }];
    nodes.extend(list(&told["peers"]).map(|peer| node(peer, &load)));
    let roll: RollView = serde_json::from_value(told.clone()).unwrap_or_default();
    nodes.extend(roll.missing.iter().map(missing));
    let view = Cluster {
        missing: roll.sentence(),
        partition: partition(&nodes),
        nodes,
        supplies: supplies(page),
        cuts: cuts(page),
        gateways: gateway(page).into_iter().collect(),
    };
    Ok(fitted(&page.frame, &view, cut, page::cluster))
}

/// Leaves out what has no room.
fn cut(view: &mut Cluster, fit: &mut Fit) {
    fit.cut(&mut view.nodes);
    fit.cut(&mut view.supplies);
    fit.cut(&mut view.cuts);
}

fn node(peer: &Value, load: &Value) -> NodeRow {
    let heard = peer["heard_ms_ago"].as_u64();
    let traffic = |name: &str| peer["traffic"][name].as_f64().unwrap_or(0.0);
    NodeRow {
        name: text(&peer["name"]),
        address: text(&peer["address"]),
        freshness: match (peer["freshness"].as_str(), heard) {
            (Some("fresh"), Some(heard)) => Freshness::Fresh(heard),
            (_, heard) => Freshness::Late(heard.unwrap_or(0)),
        },
        rate: rate(load, &peer["name"]),
        sent: traffic("bytes_out_per_s"),
        received: traffic("bytes_in_per_s"),
        version: text(&peer["version"]),
    }
}

/// A node that should be there and is not.
fn missing(one: &MissingView) -> NodeRow {
    NodeRow {
        name: one.name.clone(),
        address: one.address.clone().unwrap_or_default(),
        freshness: Freshness::Missing(one.to_string()),
        ..NodeRow::default()
    }
}

/// What another node decided each second of the last whole minute. A request may be bound by several contracts, so that
/// the busiest one says it.
fn rate(load: &Value, name: &Value) -> f64 {
    let of = list(&load["contracts"]).filter(|of| of["node"] == *name);
    of.filter_map(|of| of["rate"].as_f64()).fold(0.0, f64::max)
}

/// Who is not heard of, and what that means.
fn partition(nodes: &[NodeRow]) -> Option<String> {
    let silent = nodes
        .iter()
        .filter(|node| matches!(node.freshness, Freshness::Late(_)));
    let silent: Vec<&str> = silent.map(|node| &*node.name).collect();
    let named = silent.get(..NAMED_MAX).unwrap_or(&silent).join(", ");
    let rest = match silent.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    (!silent.is_empty()).then(|| {
        format!(
            "This node does not hear {named}{rest}. Each side decides by what it knows; limits under supply are never passed."
        )
    })
}

/// What this node has of limits that are divided.
fn supplies(page: &Page) -> Vec<Supply> {
    let view = modes::view(&page.inner.shared, Coordination::Supply);
    let policy = |policy: &ModePolicyView| Supply {
        contract: policy.contract.clone(),
        policy: policy.policy.clone(),
        limit: whole(policy.number("rate")),
        shares: vec![Share {
            node: view.name().to_owned(),
            own: whole(policy.number("home") - policy.number("lent")),
            borrowed: whole(policy.number("borrowed")),
            lent: whole(policy.number("lent")),
        }],
    };
    view.policies.iter().map(policy).collect()
}

/// What this node has of buckets that are cut.
fn cuts(page: &Page) -> Vec<Cut> {
    let view = modes::view(&page.inner.shared, Coordination::Split);
    let policy = |policy: &ModePolicyView| Cut {
        contract: policy.contract.clone(),
        policy: policy.policy.clone(),
        rate: policy.number("rate"),
        burst: policy.number("burst"),
        parts: vec![CutPart {
            node: view.name().to_owned(),
            rate: policy.number("own_rate"),
            burst: policy.number("own_burst"),
            tokens: policy.number("tokens"),
            queue: policy.number("owed"),
            admitted: policy.count("counts.admitted"),
            delayed: policy.count("counts.delayed"),
            borrowed: policy.number("counts.borrowed"),
            given: policy.number("counts.given"),
        }],
    };
    view.policies.iter().map(policy).collect()
}

/// The gateway that this server is.
fn gateway(page: &Page) -> Option<GatewayRow> {
    let view = page.inner.shared.annex.get()?.view();
    let delays = |of: &DelaysView| {
        let found = [of.p50_ms, of.p95_ms, of.p99_ms, of.p999_ms];
        (of.count > 0).then_some(found)
    };
    Some(GatewayRow {
        name: view.name.unwrap_or_else(|| page.frame.node.clone()),
        listen: view.listen,
        upstream: view.upstream,
        clients: view.clients,
        elsewhere: view.elsewhere,
        access: delays(&view.access),
        service: delays(&view.service),
    })
}

/// The most silent nodes that are named.
const NAMED_MAX: usize = 8;

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rates for people, and the cast saturates"
)]
fn whole(rate: f64) -> u64 {
    rate.round() as u64
}
