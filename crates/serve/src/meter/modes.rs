//! How policies that nodes count together stand, for Prometheus: the figures that their modes call metrics.
//!
//! Labels are contract and policy, never keys.

use tollgate_contract::Coordination;
use tollgate_node::{MetricKind, PolicyStatus};

use super::text::{Kind, LABELS_MAX, Text};
use crate::shared::Shared;

/// The families of all modes; of none that no policy is under.
pub(crate) fn modes(shared: &Shared) -> String {
    let mut text = Text::new();
    divided(&mut text, shared);
    let (node, now) = (shared.engine.node(), shared.engine.now());
    for by in Coordination::ALL {
        let policies = node.mode_status(by, None, now);
        if by == Coordination::Lease && !policies.is_empty() {
            lending(&mut text, shared);
        }
        families(&mut text, &policies);
    }
    text.finish()
}

/// Each family once, with the samples of all policies.
fn families(text: &mut Text, policies: &[PolicyStatus]) {
    let Some(first) = policies.first() else {
        return;
    };
    let mut written = "";
    for metric in first.figures.iter().filter_map(|figure| figure.metric) {
        if metric.family == written {
            continue;
        }
        written = metric.family;
        let kind = match metric.kind {
            MetricKind::Counter => Kind::Counter,
            MetricKind::Gauge => Kind::Gauge,
        };
        text.family(metric.family, kind, metric.help);
        for policy in policies.iter().take(LABELS_MAX) {
            let figures = policy.figures.iter();
            let of_family = |of: &tollgate_node::Metric| of.family == metric.family;
            for figure in figures.filter(|figure| figure.metric.as_ref().is_some_and(of_family)) {
                let mut labels = vec![("contract", &*policy.contract), ("policy", &*policy.policy)];
                labels.extend(figure.metric.and_then(|metric| metric.label));
                if let Some(number) = figure.value.number() {
                    text.sample(&labels, number);
                }
            }
        }
    }
}

fn divided(text: &mut Text, shared: &Shared) {
    let view = crate::modes::divided(shared);
    if !view.on {
        return;
    }
    text.one(
        "tollgate_supply_doubled_names",
        Kind::Gauge,
        "Names that more than one live node of the cluster bears.",
        view.doubled.len(),
    );
    text.one(
        "tollgate_supply_yielded_total",
        Kind::Counter,
        "How often this node made way for an older one of its name.",
        shared.engine.node().doubled_names().1,
    );
    text.one(
        "tollgate_supply_unkept_total",
        Kind::Counter,
        "How often what must be kept for the next start could not be written.",
        shared.supply.unkept(),
    );
    text.one(
        "tollgate_supply_by_owner",
        Kind::Gauge,
        "Policies under supply that are too small to be divided, so that owners decide.",
        view.by_owner.len(),
    );
}

fn lending(text: &mut Text, shared: &Shared) {
    text.one(
        "tollgate_lease_clients",
        Kind::Gauge,
        "Clients that are connected and have spoken of leases.",
        shared.lend.clients(),
    );
    text.one(
        "tollgate_lease_nudges_lost_total",
        Kind::Counter,
        "Hints that found no client.",
        shared.lend.lost(),
    );
}
