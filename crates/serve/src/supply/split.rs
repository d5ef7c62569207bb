//! How cut buckets stand on one node, as `/v1/cluster/split` shows it.

#![allow(clippy::cast_precision_loss)] // Shown, not decided by.

use serde::{Deserialize, Serialize};
use tollgate_node::{Adapt, PolicySplit};

use super::asked_spot;
use super::show::common;
use super::view::{ByOwnerView, RosterView, SupplyView};
use crate::shared::Shared;

/// How cut buckets stand on this node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SplitView {
    /// Whether this server cuts buckets: it is in a cluster that has a roster.
    pub on: bool,
    /// This node's name.
    pub name: String,
    /// Who has a part, and how much.
    pub roster: Vec<RosterView>,
    /// Whether nodes lend each other tokens.
    pub lends: bool,
    /// Whether parts follow traffic.
    pub adapts: bool,
    /// The policies.
    pub policies: Vec<SplitPolicyView>,
    /// Policies that are too small to be cut, so that owners decide.
    pub by_owner: Vec<ByOwnerView>,
}

/// A policy whose buckets are cut. Rates are messages per second, amounts are messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SplitPolicyView {
    /// The contract.
    pub contract: String,
    /// The policy.
    pub policy: String,
    /// The rate of the bucket that is cut.
    pub rate: f64,
    /// Its depth.
    pub burst: f64,
    /// This node's part of the rate.
    pub own_rate: f64,
    /// This node's part of the depth.
    pub own_burst: f64,
    /// Of its part of the rate, what is hired of other nodes.
    pub hired_rate: f64,
    /// What other nodes have hired of its part by right.
    pub let_rate: f64,
    /// Tokens it has.
    pub tokens: f64,
    /// What messages were told to wait for and has not come back yet.
    pub owed: f64,
    /// Room kept for tokens that were given away.
    pub held: f64,
    /// One way to the nearest node that answered, in milliseconds.
    pub one_way_ms: Option<f64>,
    /// The most that one message may cost.
    pub cost_max: u32,
    /// Keys that are known; tokens and the like are those of the key that was asked for, or of the first.
    pub keys: u64,
    /// What happened since the start, of all keys.
    pub counts: SplitCountsView,
}

/// What happened since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SplitCountsView {
    /// Messages that were admitted.
    pub admitted: u64,
    /// Of these, those that were told to wait.
    pub delayed: u64,
    /// Asks for tokens.
    pub asks: u64,
    /// Of these, those that got some.
    pub hits: u64,
    /// Questions for a part of the bucket.
    pub hires: u64,
    /// Tokens that came from others.
    pub borrowed: f64,
    /// Tokens that went to others.
    pub given: f64,
    /// Gifts that were not confirmed in time.
    pub expired: u64,
    /// Frames that were sent.
    pub frames: u64,
    /// Frames that made no sense.
    pub malformed: u64,
}

/// How all cut buckets stand.
pub fn view(shared: &Shared) -> SplitView {
    let now = shared.engine.now();
    let policies = shared.engine.node().split_status(None, now);
    whole(shared, policies.iter())
}

/// How a contract's cut buckets stand, for a key or any; what is wrong with the question otherwise.
pub(crate) fn asked(
    shared: &Shared,
    contract: &str,
    entries: &[(&str, &str)],
) -> Result<SplitView, String> {
    let of = asked_spot(shared, contract, entries)?;
    let now = shared.engine.now();
    let policies = shared.engine.node().split_status(of, now);
    let policies = policies.iter().filter(|policy| policy.contract == contract);
    let mut view = whole(shared, policies);
    view.by_owner.retain(|small| small.contract == contract);
    Ok(view)
}

fn whole<'a>(shared: &Shared, policies: impl Iterator<Item = &'a PolicySplit>) -> SplitView {
    let SupplyView {
        on,
        name,
        roster,
        by_owner,
        ..
    } = common(shared);
    let cluster = shared.settings.cluster.as_ref();
    SplitView {
        on,
        name,
        roster,
        lends: cluster.is_some_and(|cluster| cluster.split.borrow),
        adapts: cluster.is_some_and(|cluster| cluster.split.adapt != Adapt::Off),
        policies: policies.map(policy).collect(),
        by_owner,
    }
}

fn policy(of: &PolicySplit) -> SplitPolicyView {
    let message = of.limits.message().max(1) as f64;
    let messages = |grains: u128| grains as f64 / message;
    let rate = |grains: u128| messages(grains) * 1e9;
    let whole = of.limits.whole();
    let mut view = SplitPolicyView {
        contract: of.contract.clone(),
        policy: of.policy.clone(),
        rate: rate(whole.rate),
        burst: messages(whole.depth),
        cost_max: of.cost_max,
        keys: of.keys,
        counts: SplitCountsView {
            admitted: of.counts.arrived,
            delayed: of.counts.waited,
            asks: of.counts.asks,
            hits: of.counts.hits,
            hires: of.counts.hires,
            borrowed: messages(of.counts.borrowed),
            given: messages(of.counts.given),
            expired: of.counts.expired,
            frames: of.counts.frames,
            malformed: of.counts.malformed,
        },
        ..SplitPolicyView::default()
    };
    if let Some(stands) = &of.stands {
        view.own_rate = rate(stands.share.rate);
        view.own_burst = messages(stands.share.depth);
        view.hired_rate = rate(stands.hired.rate);
        view.let_rate = rate(stands.lets.rate);
        view.tokens = messages(stands.tokens);
        view.owed = messages(stands.queued);
        view.held = messages(stands.held);
        view.one_way_ms = stands.one_way_ns.map(|nanos| nanos as f64 / 1e6);
    }
    view
}
