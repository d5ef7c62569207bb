//! What the cluster costs and how it is doing, for Prometheus.
//!
//! Peers are labels by name, policies by contract and name; keys never are.

#![allow(clippy::cast_precision_loss)] // Seconds as Prometheus wants them.

use super::text::{Kind, Text};
use crate::cluster::view::{ClusterView, PeerView, PolicyView};

type OfPeer = (&'static str, Kind, &'static str, fn(&PeerView) -> f64);
type OfPolicy = (&'static str, Kind, &'static str, fn(&PolicyView) -> u64);

/// The families of the cluster.
pub(crate) fn cluster(view: &ClusterView) -> String {
    let mut text = Text::new();
    members(&mut text, view);
    text.one(
        "tollgate_cluster_running",
        Kind::Gauge,
        "0 where the thread of the cluster broke: this node counts alone and is not ready.",
        u8::from(view.part.running),
    );
    text.one(
        "tollgate_cluster_joining",
        Kind::Gauge,
        "1 while this node learns from the others and is not ready.",
        u8::from(view.part.joining),
    );
    text.one(
        "tollgate_gossip_dropped_total",
        Kind::Counter,
        "Frames of policies that were dropped because too many waited to be sent.",
        view.gossip_dropped,
    );
    text.one(
        "tollgate_gossip_unknown_total",
        Kind::Counter,
        "Frames that came for policies that are not here: contracts differ.",
        view.gossip_unknown,
    );
    text.one(
        "tollgate_cluster_unknown_frames_total",
        Kind::Counter,
        "Frames of kinds that this version does not know, skipped.",
        view.unknown_frames,
    );
    refusals(&mut text, view);
    streams(&mut text, view);
    for (name, kind, help, value) in PEERS {
        text.family(name, kind, help);
        for peer in view.peers.iter().take(LABELS_MAX) {
            text.sample(&[("peer", &peer.name)], value(peer));
        }
    }
    for (name, kind, help, value) in POLICIES {
        text.family(name, kind, help);
        for policy in view.policies.iter().take(LABELS_MAX) {
            let labels = [
                ("contract", &*policy.contract),
                ("policy", &*policy.policy),
                ("design", &*policy.design),
            ];
            text.sample(&labels, value(policy));
        }
    }
    text.finish()
}

fn members(text: &mut Text, view: &ClusterView) {
    text.family(
        "tollgate_cluster_members",
        Kind::Gauge,
        "Nodes that are expected, by how this one sees them: itself is alive, dead ones did not say that they go, unseen ones are in the roster.",
    );
    let suspects = view.peers.iter().filter(|peer| peer.state == "suspect");
    let suspects = suspects.count() as u64;
    let missing = |state: &str| {
        let missing = view.roll.missing.iter();
        missing.filter(|one| one.state == state).count() as u64
    };
    for (state, count) in [
        ("alive", view.roll.present.saturating_sub(suspects)),
        ("suspect", suspects),
        ("dead", missing("dead")),
        ("unseen", missing("unseen")),
    ] {
        text.sample(&[("state", state)], count);
    }
}

fn refusals(text: &mut Text, view: &ClusterView) {
    text.family(
        "tollgate_cluster_refused_total",
        Kind::Counter,
        "Datagrams and messages that were not taken, by reason.",
    );
    for (reason, count) in &view.refused {
        text.sample(&[("reason", reason)], count);
    }
    text.one(
        "tollgate_cluster_unsent_total",
        Kind::Counter,
        "Datagrams that the system did not take, as lost as those the network drops.",
        view.unsent,
    );
    if let Some(me) = &view.me {
        text.one(
            "tollgate_cluster_rejoins_total",
            Kind::Counter,
            "How often the others took this node for gone while it was not.",
            me.rejoins,
        );
    }
}

fn streams(text: &mut Text, view: &ClusterView) {
    text.one(
        "tollgate_cluster_streams_open",
        Kind::Gauge,
        "Streams to and from other nodes that are open.",
        view.streams.open,
    );
    text.family(
        "tollgate_cluster_streams_total",
        Kind::Counter,
        "Streams that were opened, could not be opened, and were refused as no member's.",
    );
    let streams = &view.streams;
    for (result, count) in [
        ("opened", streams.opened),
        ("failed", streams.failed),
        ("refused", streams.refused),
    ] {
        text.sample(&[("result", result)], count);
    }
}

/// Peers and policies that have series of their own.
const LABELS_MAX: usize = 64;

const PEERS: [OfPeer; 6] = [
    (
        "tollgate_cluster_peer_phi",
        Kind::Gauge,
        "How unlikely a peer's silence is: at 1 one in ten lasts as long, at 2 one in a hundred.",
        |peer| peer.phi,
    ),
    (
        "tollgate_cluster_peer_delay_seconds",
        Kind::Gauge,
        "How long a datagram takes to a peer: half the way there and back, smoothed; 0 before it was measured.",
        |peer| peer.delay_us.unwrap_or(0) as f64 / 1e6,
    ),
    (
        "tollgate_cluster_peer_sent_bytes_total",
        Kind::Counter,
        "Bytes sent to a peer, with the headers of datagrams.",
        |peer| peer.traffic.bytes_out as f64,
    ),
    (
        "tollgate_cluster_peer_received_bytes_total",
        Kind::Counter,
        "Bytes received from a peer, with the headers of datagrams.",
        |peer| peer.traffic.bytes_in as f64,
    ),
    (
        "tollgate_cluster_peer_dropped_total",
        Kind::Counter,
        "Frames for a peer that were dropped because too much waited.",
        |peer| peer.traffic.dropped as f64,
    ),
    (
        "tollgate_cluster_peer_queued_bytes",
        Kind::Gauge,
        "Bytes that wait to be sent to a peer.",
        |peer| peer.queued_bytes as f64,
    ),
];

const POLICIES: [OfPolicy; 11] = [
    (
        "tollgate_gossip_keys",
        Kind::Gauge,
        "Keys of a policy that nodes count together.",
        |policy| policy.keys,
    ),
    (
        "tollgate_gossip_frames_total",
        Kind::Counter,
        "Frames that a policy published.",
        |policy| policy.frames,
    ),
    (
        "tollgate_gossip_bytes_total",
        Kind::Counter,
        "Their bytes, with 28 for the headers of each.",
        |policy| policy.bytes,
    ),
    (
        "tollgate_gossip_publications_total",
        Kind::Counter,
        "Frames among them that told what was admitted.",
        |policy| policy.publications,
    ),
    (
        "tollgate_gossip_pulls_total",
        Kind::Counter,
        "How often a policy asked others for what it missed.",
        |policy| policy.pulls,
    ),
    (
        "tollgate_gossip_digests_total",
        Kind::Counter,
        "Digests that a policy sent.",
        |policy| policy.digests,
    ),
    (
        "tollgate_gossip_malformed_total",
        Kind::Counter,
        "Frames for a policy that could not be read.",
        |policy| policy.malformed,
    ),
    (
        "tollgate_gossip_crowded_out_total",
        Kind::Counter,
        "Keys of a policy that made room for others, and requests for keys that found none.",
        |policy| policy.room.crowded_out,
    ),
    (
        "tollgate_gossip_copies_dropped_total",
        Kind::Counter,
        "Copies for other nodes that made room: what those had not told is lost if they are killed.",
        |policy| policy.room.copies_dropped,
    ),
    (
        "tollgate_gossip_held_bytes",
        Kind::Gauge,
        "Memory that a policy takes, about, with what is kept for other nodes.",
        |policy| policy.room.held_bytes,
    ),
    (
        "tollgate_gossip_over_max",
        Kind::Gauge,
        "The most tokens that a key of a policy was seen above its limit: an estimate of over-admission.",
        |policy| policy.over_max,
    ),
];
