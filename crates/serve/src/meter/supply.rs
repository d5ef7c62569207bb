//! How divided rates stand, for Prometheus. Labels are contract and policy, never keys.

#![allow(clippy::cast_precision_loss)] // Seconds and rates as Prometheus wants them.

use super::text::{Kind, Text};
use crate::shared::Shared;
use crate::supply::view::SupplyPolicyView;

type OfPolicy = (
    &'static str,
    Kind,
    &'static str,
    fn(&SupplyPolicyView) -> f64,
);

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
    for (name, kind, help, value) in POLICIES {
        text.family(name, kind, help);
        for policy in view.policies.iter().take(LABELS_MAX) {
            let labels = [("contract", &*policy.contract), ("policy", &*policy.policy)];
            text.sample(&labels, value(policy));
        }
    }
    requests(&mut text, &view.policies);
    ignored(&mut text, &view.policies);
    text.finish()
}

fn requests(text: &mut Text, policies: &[SupplyPolicyView]) {
    text.family(
        "tollgate_supply_requests_total",
        Kind::Counter,
        "Requests asked of a divided rate, by what they met; refused_while_rich is a part of refused.",
    );
    for policy in policies.iter().take(LABELS_MAX) {
        let counts = &policy.counts.requests;
        for (result, count) in [
            ("offered", counts.offered),
            ("admitted", counts.admitted),
            ("refused", counts.refused),
            ("refused_while_rich", counts.refused_while_rich),
        ] {
            let labels = [
                ("contract", &*policy.contract),
                ("policy", &*policy.policy),
                ("result", result),
            ];
            text.sample(&labels, count);
        }
    }
}

fn ignored(text: &mut Text, policies: &[SupplyPolicyView]) {
    text.family(
        "tollgate_supply_ignored_total",
        Kind::Counter,
        "Messages about a divided rate that were not heeded, by reason.",
    );
    for policy in policies.iter().take(LABELS_MAX) {
        let counts = &policy.counts.ignored;
        for (reason, count) in [
            ("late", counts.late),
            ("duplicate", counts.duplicates),
            ("lie", counts.lies),
            ("old_boot", counts.old_boots),
            ("drift", counts.drift),
            ("elsewhere", counts.elsewhere),
            ("duplicate_identity", counts.duplicate_identities),
            ("full", counts.full),
            ("stranger", counts.strangers),
            ("malformed", counts.malformed),
        ] {
            let labels = [
                ("contract", &*policy.contract),
                ("policy", &*policy.policy),
                ("reason", reason),
            ];
            text.sample(&labels, count);
        }
    }
}

/// Policies that have series of their own.
const LABELS_MAX: usize = 64;

const POLICIES: [OfPolicy; 26] = [
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
        "tollgate_supply_peers_fill_min",
        Kind::Gauge,
        "The least fill ratio of the peers that were looked at last.",
        |p| p.counts.peers_fill_min,
    ),
    (
        "tollgate_supply_peers_fill_max",
        Kind::Gauge,
        "And the greatest.",
        |p| p.counts.peers_fill_max,
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
        |p| p.counts.boot as f64,
    ),
    (
        "tollgate_supply_asks_total",
        Kind::Counter,
        "Asks sent.",
        |p| p.counts.loans.asks as f64,
    ),
    (
        "tollgate_supply_loans_taken_total",
        Kind::Counter,
        "Loans taken, or added to.",
        |p| p.counts.loans.taken as f64,
    ),
    (
        "tollgate_supply_loans_given_total",
        Kind::Counter,
        "Loans given, or added to.",
        |p| p.counts.loans.given as f64,
    ),
    (
        "tollgate_supply_renewals_total",
        Kind::Counter,
        "Loans renewed.",
        |p| p.counts.loans.renewals as f64,
    ),
    (
        "tollgate_supply_recalls_total",
        Kind::Counter,
        "Recalls sent.",
        |p| p.counts.loans.recalls as f64,
    ),
    (
        "tollgate_supply_expired_total",
        Kind::Counter,
        "Loans, given or taken, that ended by their term.",
        |p| (p.counts.loans.expired + p.counts.loans.lapsed) as f64,
    ),
    (
        "tollgate_supply_answer_seconds_total",
        Kind::Counter,
        "How long asks waited for their answers, together; over tollgate_supply_answers_total.",
        |p| p.counts.loans.answer_seconds,
    ),
    (
        "tollgate_supply_answers_total",
        Kind::Counter,
        "Answers to asks.",
        |p| p.counts.loans.answers as f64,
    ),
    (
        "tollgate_supply_loan_seconds_total",
        Kind::Counter,
        "How old loans were when they ended, together.",
        |p| p.counts.loans.loan_seconds,
    ),
];
