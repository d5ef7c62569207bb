//! How divided rates stand, for Prometheus. Labels are contract and policy, never keys.

#![allow(clippy::cast_precision_loss)] // Seconds and rates as Prometheus wants them.

use super::text::{Kind, LABELS_MAX, OfPolicy, Text};
use crate::shared::Shared;
use crate::supply::view::SupplyPolicyView;
use crate::supply::{FIGURES, Metric};

/// The families of divided rates; none where nothing is divided.
pub(crate) fn supply(shared: &Shared) -> String {
    let view = crate::supply::view(shared);
    if !view.on {
        return String::new();
    }
    let mut text = Text::new();
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
    text.of_policies(&POLICIES, &view.policies, |policy| {
        (&policy.contract, &policy.policy)
    });
    counted(&mut text, &view.policies);
    text.finish()
}

/// Figures with families of their own, and those that share one and differ by a label.
fn counted(text: &mut Text, policies: &[SupplyPolicyView]) {
    let mut label = "";
    for figure in &FIGURES {
        let (next, value) = match figure.metric {
            Metric::Counter(name, help) => {
                text.family(name, Kind::Counter, help);
                ("", "")
            }
            Metric::Gauge(name, help) => {
                text.family(name, Kind::Gauge, help);
                ("", "")
            }
            Metric::Result(value) => ("result", value),
            Metric::Reason(value) => ("reason", value),
            Metric::Side(value) => ("side", value),
        };
        if next != label {
            shared_family(text, next);
            label = next;
        }
        for policy in policies.iter().take(LABELS_MAX) {
            let labels = [
                ("contract", &*policy.contract),
                ("policy", &*policy.policy),
                (label, value),
            ];
            let shown = if label.is_empty() {
                &labels[..2]
            } else {
                &labels
            };
            text.sample(shown, policy.count(figure.name));
        }
    }
}

fn shared_family(text: &mut Text, label: &str) {
    let (name, help) = match label {
        "result" => (
            "tollgate_supply_requests_total",
            "Requests asked of a divided rate, by what they met: each once, here or by another policy of the request.",
        ),
        "reason" => (
            "tollgate_supply_ignored_total",
            "Messages about a divided rate that were not heeded, by reason.",
        ),
        "side" => (
            "tollgate_supply_expired_total",
            "Loans, given or taken, that ended by their term.",
        ),
        _ => return,
    };
    text.family(name, Kind::Counter, help);
}

const POLICIES: [OfPolicy<SupplyPolicyView, f64>; 15] = [
    (
        "tollgate_supply_rate",
        Kind::Gauge,
        "The rate that is divided, requests per second.",
        |p| p.rate,
    ),
    (
        "tollgate_supply_usable",
        Kind::Gauge,
        "What this node may use, requests per second; over all nodes at most the rate. Of known keys together, as all that follow.",
        |p| p.stands.usable,
    ),
    (
        "tollgate_supply_home",
        Kind::Gauge,
        "What this node has by right.",
        |p| p.stands.home,
    ),
    (
        "tollgate_supply_lent",
        Kind::Gauge,
        "What of it is lent.",
        |p| p.stands.lent,
    ),
    (
        "tollgate_supply_borrowed",
        Kind::Gauge,
        "What it has from others.",
        |p| p.stands.borrowed,
    ),
    (
        "tollgate_supply_asked",
        Kind::Gauge,
        "What it has asked for and is not answered.",
        |p| p.stands.asked,
    ),
    (
        "tollgate_supply_demand",
        Kind::Gauge,
        "What is asked of it, requests per second, smoothed.",
        |p| p.stands.demand,
    ),
    (
        "tollgate_supply_fill_ratio",
        Kind::Gauge,
        "What it may use over what is asked of it, at most 1000.",
        |p| p.stands.fill_ratio,
    ),
    (
        "tollgate_supply_tokens",
        Kind::Gauge,
        "Tokens there are; below zero they are promised.",
        |p| p.stands.tokens,
    ),
    (
        "tollgate_supply_depth",
        Kind::Gauge,
        "Tokens there can be.",
        |p| p.stands.depth,
    ),
    (
        "tollgate_supply_loans",
        Kind::Gauge,
        "Loans given and taken that have not ended.",
        |p| f64::from(p.stands.loans),
    ),
    (
        "tollgate_supply_keys",
        Kind::Gauge,
        "Keys that are known.",
        |p| p.keys as f64,
    ),
    (
        "tollgate_supply_settled",
        Kind::Gauge,
        "1 when every node stands on the same limits and shares.",
        |p| f64::from(u8::from(p.stands.settled)),
    ),
    (
        "tollgate_supply_quarantine_seconds",
        Kind::Gauge,
        "How long nothing of the home is used after a restart.",
        |p| p.stands.quarantine_ms as f64 / 1e3,
    ),
    (
        "tollgate_supply_boot",
        Kind::Gauge,
        "The number of this start.",
        |p| p.stands.boot as f64,
    ),
];
