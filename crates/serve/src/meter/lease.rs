//! How leases stand, for Prometheus. Labels are contract and policy, never keys.

#![allow(clippy::cast_precision_loss)] // As Prometheus wants them.

use super::text::{Kind, OfPolicy, Text};
use crate::lend::LeasePolicyView;
use crate::shared::Shared;

/// The families of leases; none where no policy is lent.
pub(crate) fn lease(shared: &Shared) -> String {
    let view = crate::lend::view(shared);
    let mut text = Text::new();
    if view.policies.is_empty() {
        return String::new();
    }
    let clients = "Clients that are connected and have spoken of leases.";
    text.family("tollgate_lease_clients", Kind::Gauge, clients);
    text.sample(&[], view.clients as f64);
    let lost = "Hints that found nobody.";
    text.family("tollgate_lease_nudges_lost_total", Kind::Counter, lost);
    text.sample(&[], view.nudges_lost as f64);
    text.of_policies(&POLICIES, &view.policies, |policy| {
        (&policy.contract, &policy.policy)
    });
    text.finish()
}

const POLICIES: [OfPolicy<LeasePolicyView, f64>; 19] = [
    (
        "tollgate_lease_pool",
        Kind::Gauge,
        "Tokens in the pools of grantors.",
        |p| p.pool as f64,
    ),
    (
        "tollgate_lease_reserved_depth",
        Kind::Gauge,
        "Depth that is reserved for clients: at most so many tokens are idle with them.",
        |p| p.reserved_depth as f64,
    ),
    (
        "tollgate_lease_reserved_rate",
        Kind::Gauge,
        "Rate that is reserved for clients, tokens per second.",
        |p| p.reserved_rate,
    ),
    (
        "tollgate_lease_idle_after_crash",
        Kind::Gauge,
        "Tokens that are lost at most where every client dies: what is reserved, and its refill in a term.",
        |p| {
            p.reserved_rate
                .mul_add(p.term_ms as f64 / 1e3, p.reserved_depth as f64)
        },
    ),
    (
        "tollgate_lease_lessees",
        Kind::Gauge,
        "Leases that are out.",
        |p| p.lessees as f64,
    ),
    (
        "tollgate_lease_keys",
        Kind::Gauge,
        "Keys that are kept.",
        |p| p.keys as f64,
    ),
    (
        "tollgate_lease_learning_keys",
        Kind::Gauge,
        "Keys of which a predecessor's leases may be out.",
        |p| p.learning as f64,
    ),
    (
        "tollgate_lease_demand",
        Kind::Gauge,
        "What clients with a lease say they use, tokens per second.",
        |p| p.demand,
    ),
    (
        "tollgate_lease_asked",
        Kind::Gauge,
        "What those without a lease use, tokens per second.",
        |p| p.asked,
    ),
    (
        "tollgate_lease_over_admission_bound",
        Kind::Gauge,
        "Tokens that are admitted too much at most, each time that a node begins to grant.",
        |p| p.over_admission_bound as f64,
    ),
    (
        "tollgate_lease_questions_total",
        Kind::Counter,
        "Messages of clients.",
        |p| p.counts.questions as f64,
    ),
    (
        "tollgate_lease_served_total",
        Kind::Counter,
        "Requests that grantors decided.",
        |p| p.counts.served as f64,
    ),
    (
        "tollgate_lease_promised_total",
        Kind::Counter,
        "Requests that grantors let pass after a wait.",
        |p| p.counts.promised as f64,
    ),
    (
        "tollgate_lease_ended_total",
        Kind::Counter,
        "Leases whose term ended with nothing said.",
        |p| p.counts.ended as f64,
    ),
    (
        "tollgate_lease_stale_total",
        Kind::Counter,
        "Messages that came too late.",
        |p| p.counts.stale as f64,
    ),
    (
        "tollgate_lease_repeated_total",
        Kind::Counter,
        "Messages that came again.",
        |p| p.counts.repeated as f64,
    ),
    (
        "tollgate_lease_clamped_total",
        Kind::Counter,
        "Returns that were cut to what was lent.",
        |p| p.counts.clamped as f64,
    ),
    (
        "tollgate_lease_nudges_total",
        Kind::Counter,
        "Clients that were asked to speak.",
        |p| p.counts.nudges as f64,
    ),
    (
        "tollgate_lease_pauses_total",
        Kind::Counter,
        "Times that this node began anew after a pause.",
        |p| p.counts.pauses as f64,
    ),
];
