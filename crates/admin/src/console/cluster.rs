//! The cluster as this node sees it, the local state of shared policies, and the gateway if this server is one.

use serde_json::{Map, Value};
use tollgate_console::number;
use tollgate_console::page::{self, ClusterPage, CountedPolicy, Freshness, GatewayRow, NodeRow};
use tollgate_contract::Coordination;
use tollgate_serve::annex::DelaysView;
use tollgate_serve::cluster::{MissingView, RollView};
use tollgate_serve::modes::{self, view::ModePolicyView};

use super::desk::PageRequest;
use super::fit::{Fit, fitted};
use super::told::{list, text};
use crate::answer::Reply;
use crate::fault::Fault;

pub(super) async fn cluster(page: &PageRequest) -> Result<Reply, Fault> {
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
    let view = ClusterPage {
        missing: roll.sentence(),
        partition: partition(&nodes),
        nodes,
        counted: Coordination::ALL
            .into_iter()
            .flat_map(|mode| counted(page, mode))
            .collect(),
        gateways: gateway(page).into_iter().collect(),
    };
    Ok(fitted(&page.frame, &view, cut, page::cluster))
}

/// Leaves out rows that do not fit.
fn cut(view: &mut ClusterPage, fit: &mut Fit) {
    fit.cut(&mut view.nodes);
    fit.cut(&mut view.counted);
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

/// A node that left without a goodbye.
fn missing(one: &MissingView) -> NodeRow {
    NodeRow {
        name: one.name.clone(),
        address: one.address.clone().unwrap_or_default(),
        freshness: Freshness::Missing(one.to_string()),
        ..NodeRow::default()
    }
}

/// Decisions per second of another node in the last whole minute. Several contracts may bind one request, so
/// the busiest one is used.
fn rate(load: &Value, name: &Value) -> f64 {
    let of = list(&load["contracts"]).filter(|of| of["node"] == *name);
    of.filter_map(|of| of["rate"].as_f64()).fold(0.0, f64::max)
}

/// Silent nodes, and the consequence.
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

/// The local state of policies that a mode shares between nodes.
fn counted(page: &PageRequest, mode: Coordination) -> Vec<CountedPolicy> {
    let view = modes::view(&page.inner.shared, mode);
    let policy = |policy: &ModePolicyView| CountedPolicy {
        contract: policy.contract.clone(),
        policy: policy.policy.clone(),
        mode: mode.row().label.to_owned(),
        figures: figures("", &policy.figures),
    };
    let shown = view.policies.iter().map(policy);
    shown.filter(|policy| !policy.figures.is_empty()).collect()
}

/// Names and values, fields of nested objects after the object's name.
fn figures(of: &str, all: &Map<String, Value>) -> Vec<(String, String)> {
    let each = all.iter().flat_map(|(name, value)| {
        let name = format!("{of}{}", name.replace('_', " "));
        let shown = match value {
            Value::Object(within) => return figures(&format!("{name}: "), within),
            Value::Number(number) => number::short(number.as_f64().unwrap_or(0.0)),
            Value::String(text) => text.clone(),
            Value::Bool(is) => if *is { "yes" } else { "no" }.to_owned(),
            Value::Null | Value::Array(_) => "–".to_owned(),
        };
        vec![(name, shown)]
    });
    each.collect()
}

/// `None` if this server is not a gateway.
fn gateway(page: &PageRequest) -> Option<GatewayRow> {
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
