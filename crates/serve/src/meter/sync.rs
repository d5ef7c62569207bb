//! How policies that are synchronised now and then stand, for Prometheus. Labels are contract and policy, never keys.

use super::text::{Kind, OfPolicy, Text};
use crate::shared::Shared;
use crate::synced::SyncPolicyView;

/// The families of these policies; none where no policy is under `sync`.
pub(crate) fn sync(shared: &Shared) -> String {
    let view = crate::synced::view(shared);
    if view.policies.is_empty() {
        return String::new();
    }
    let mut text = Text::new();
    text.of_policies(&POLICIES, &view.policies, |policy| {
        (&policy.contract, &policy.policy)
    });
    text.finish()
}

const POLICIES: [OfPolicy<SyncPolicyView, u64>; 10] = [
    (
        "tollgate_sync_over_admission_bound",
        Kind::Gauge,
        "Tokens that all live nodes together may admit too much of a key at once.",
        |p| p.over_admission_bound,
    ),
    (
        "tollgate_sync_debt_max",
        Kind::Gauge,
        "The most tokens that a key whose centre this is was below zero.",
        |p| p.debt_max,
    ),
    (
        "tollgate_sync_debt",
        Kind::Gauge,
        "Tokens that keys whose centre this is owe now.",
        |p| p.debt,
    ),
    (
        "tollgate_sync_over_total",
        Kind::Counter,
        "Tokens that were spent while the bucket of the centre had none.",
        |p| p.over,
    ),
    (
        "tollgate_sync_keys",
        Kind::Gauge,
        "Keys that are known.",
        |p| p.keys,
    ),
    (
        "tollgate_sync_untold",
        Kind::Gauge,
        "Keys of which the centre has not confirmed everything.",
        |p| p.untold,
    ),
    (
        "tollgate_sync_told_total",
        Kind::Counter,
        "Times that a key was told to its centre.",
        |p| p.counts.told,
    ),
    (
        "tollgate_sync_answered_total",
        Kind::Counter,
        "Times that a centre answered.",
        |p| p.counts.answered,
    ),
    (
        "tollgate_sync_heard_total",
        Kind::Counter,
        "Times that this centre was told of a key.",
        |p| p.counts.heard,
    ),
    (
        "tollgate_sync_ignored_total",
        Kind::Counter,
        "Of these, what came too late, or for another centre, or from nobody that lives, or found no room.",
        |p| p.counts.ignored,
    ),
];
