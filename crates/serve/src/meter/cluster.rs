//! The cluster's costs and state, for Prometheus.
//!
//! Peers are labels by name, policies by contract and name; keys never are.

#![allow(clippy::cast_precision_loss)] // Seconds as Prometheus wants them.

use super::text::{Exposition, LABELS_MAX};
use crate::cluster::view::{ClusterView, PeerView, PolicyView};

type OfPeer = (&'static str, fn(&PeerView) -> f64);
type OfPolicy = (&'static str, fn(&PolicyView) -> u64);

pub(crate) fn cluster(text: &mut Exposition, view: &ClusterView) {
    members(text, view);
    text.one("tollgate_cluster_running", u8::from(view.part.running));
    text.one("tollgate_cluster_joining", u8::from(view.part.joining));
    text.one("tollgate_gossip_dropped_total", view.gossip_dropped);
    text.one("tollgate_gossip_unknown_total", view.gossip_unknown);
    text.one("tollgate_cluster_unknown_frames_total", view.unknown_frames);
    refusals(text, view);
    streams(text, view);
    for (name, value) in PEERS {
        let peers = view.peers.iter().take(LABELS_MAX);
        text.each(name, "peer", peers.map(|peer| (&*peer.name, value(peer))));
    }
    for (name, value) in POLICIES {
        text.family(name);
        for policy in view.policies.iter().take(LABELS_MAX) {
            let labels = [
                ("contract", &*policy.contract),
                ("policy", &*policy.policy),
                ("design", &*policy.design),
            ];
            text.sample(&labels, value(policy));
        }
    }
}

fn members(text: &mut Exposition, view: &ClusterView) {
    let suspects = view.peers.iter().filter(|peer| peer.state == "suspect");
    let suspects = suspects.count() as u64;
    let missing = |state: &str| {
        let missing = view.roll.missing.iter();
        missing.filter(|one| one.state == state).count() as u64
    };
    let members = [
        ("alive", view.roll.present.saturating_sub(suspects)),
        ("suspect", suspects),
        ("dead", missing("dead")),
        ("unseen", missing("unseen")),
    ];
    text.each("tollgate_cluster_members", "state", members);
}

fn refusals(text: &mut Exposition, view: &ClusterView) {
    let refused = view
        .refused
        .iter()
        .map(|(reason, count)| (&**reason, count));
    text.each("tollgate_cluster_refused_total", "reason", refused);
    text.one("tollgate_cluster_unsent_total", view.unsent);
    if let Some(me) = &view.me {
        text.one("tollgate_cluster_rejoins_total", me.rejoins);
    }
}

fn streams(text: &mut Exposition, view: &ClusterView) {
    text.one("tollgate_cluster_streams_open", view.streams.open);
    let streams = &view.streams;
    let results = [
        ("opened", streams.opened),
        ("failed", streams.failed),
        ("refused", streams.refused),
    ];
    text.each("tollgate_cluster_streams_total", "result", results);
}

const PEERS: [OfPeer; 6] = [
    ("tollgate_cluster_peer_phi", |peer| peer.phi),
    ("tollgate_cluster_peer_delay_seconds", |peer| {
        peer.delay_us.unwrap_or(0) as f64 / 1e6
    }),
    ("tollgate_cluster_peer_sent_bytes_total", |peer| {
        peer.traffic.bytes_out as f64
    }),
    ("tollgate_cluster_peer_received_bytes_total", |peer| {
        peer.traffic.bytes_in as f64
    }),
    ("tollgate_cluster_peer_dropped_total", |peer| {
        peer.traffic.dropped as f64
    }),
    ("tollgate_cluster_peer_queued_bytes", |peer| {
        peer.queued_bytes as f64
    }),
];

const POLICIES: [OfPolicy; 9] = [
    ("tollgate_gossip_keys", |policy| policy.keys),
    ("tollgate_gossip_frames_total", |policy| policy.frames),
    ("tollgate_gossip_bytes_total", |policy| policy.bytes),
    ("tollgate_gossip_publications_total", |policy| {
        policy.publications
    }),
    ("tollgate_gossip_malformed_total", |policy| policy.malformed),
    ("tollgate_gossip_crowded_out_total", |policy| {
        policy.room.crowded_out
    }),
    ("tollgate_gossip_copies_dropped_total", |policy| {
        policy.room.copies_dropped
    }),
    ("tollgate_gossip_held_bytes", |policy| {
        policy.room.held_bytes
    }),
    ("tollgate_gossip_over_max", |policy| policy.over_max),
];
