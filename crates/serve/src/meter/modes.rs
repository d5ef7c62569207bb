//! The state of policies that nodes count together, for Prometheus: the figures that their modes export.
//!
//! Labels are contract and policy, never keys.

use tollgate_contract::Coordination;
use tollgate_node::{MetricKind, PolicyStatus};

use super::text::{Exposition, LABELS_MAX};
use crate::shared::Shared;

/// The metrics of all modes that have policies.
pub(crate) fn modes(text: &mut Exposition, shared: &Shared) {
    divided(text, shared);
    let (node, now) = (shared.engine.node(), shared.engine.now());
    for by in Coordination::ALL {
        let policies = node.mode_status(by, None, now);
        if by == Coordination::Lease && !policies.is_empty() {
            lending(text, shared);
        }
        families(text, by.name(), &policies);
    }
}

/// Writes each family once, with the samples of all policies.
fn families(text: &mut Exposition, mode: &str, policies: &[PolicyStatus]) {
    let figures = policies.first().map(|first| &first.figures);
    let mut written = String::new();
    for figure in figures.into_iter().flatten() {
        let (Some(family), Some(metric)) = (figure.family(mode), figure.metric) else {
            continue;
        };
        if family == written {
            continue;
        }
        let kind = match metric.kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
        };
        text.family_as(&family, kind, metric.help);
        for policy in policies.iter().take(LABELS_MAX) {
            let figures = policy.figures.iter();
            for figure in figures.filter(|other| other.family(mode).as_ref() == Some(&family)) {
                let mut labels = vec![("contract", &*policy.contract), ("policy", &*policy.policy)];
                labels.extend(figure.metric.and_then(|metric| metric.label));
                if let Some(number) = figure.value.number() {
                    text.sample(&labels, number);
                }
            }
        }
        written = family;
    }
}

fn divided(text: &mut Exposition, shared: &Shared) {
    let view = crate::modes::divided(shared);
    if !view.on {
        return;
    }
    text.one("tollgate_supply_doubled_names", view.doubled.len());
    text.one(
        "tollgate_supply_yielded_total",
        shared.engine.node().doubled_names().1,
    );
    text.one("tollgate_supply_unkept_total", shared.supply.unkept());
    text.one("tollgate_supply_by_owner", view.by_owner.len());
}

fn lending(text: &mut Exposition, shared: &Shared) {
    text.one("tollgate_lease_clients", shared.lend.clients());
    text.one("tollgate_lease_nudges_lost_total", shared.lend.lost());
    if let Some((keys, held)) = shared.engine.node().held_figures() {
        text.one("tollgate_lease_held_keys", keys);
        text.one("tollgate_lease_held_local_total", held.local);
        text.one("tollgate_lease_held_sent_total", held.sent);
    }
}
