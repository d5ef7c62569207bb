//! Puts together how the cluster is seen from this node.

use std::sync::atomic::Ordering::Relaxed;

use tollgate_cluster::{LinkTraffic, MemberState, PeerStatus};
use tollgate_limit::{Instant, Span};

use super::absent;
use super::handle::Handle;
use super::rates::{bytes_in, bytes_out};
use super::view::{ClusterView, MeView, PartView, PeerView, StreamsView, TrafficView};
use crate::shared::Shared;

/// How the cluster is seen from this node.
pub fn view(shared: &Shared) -> ClusterView {
    let now = shared.engine.now();
    let at_ms = now.as_nanos() / 1_000_000;
    let policies = super::replicas::policies(shared);
    let company = shared.engine.node().company_status();
    let Some(handle) = shared.cluster.get() else {
        return ClusterView {
            at_ms,
            policies,
            ..ClusterView::default()
        };
    };
    let mut seen = seen(shared, handle, crate::supply::steady_now());
    seen.troubles.extend(crate::modes::troubles(shared));
    seen.troubles.extend(shared.state.clock_error());
    ClusterView {
        on: true,
        at_ms,
        part: PartView {
            running: !shared.state.is_cut_off(),
            joining: shared.state.is_joining(),
        },
        policies,
        gossip_dropped: company.dropped,
        gossip_unknown: company.unknown,
        ..seen
    }
}

fn seen(shared: &Shared, handle: &Handle, now: Instant) -> ClusterView {
    let hub = handle.hub();
    let cluster = hub.cluster.lock();
    let status = cluster.status(now);
    let me = cluster
        .members()
        .iter()
        .find(|member| member.node == status.node)
        .cloned();
    drop(cluster);
    let rates = hub.rates.lock();
    let company = handle.members();
    let peers = status.peers.iter().map(|peer| {
        let (out, into) = rates.of(peer.member.node);
        let mut view = show(peer, out, into, now);
        if let Some(outlet) = company.outlets.get(&peer.member.node) {
            // Questions go by stream as well, and past the machine.
            let asked = outlet
                .written()
                .saturating_sub(view.traffic.stream_bytes_out);
            view.traffic.stream_bytes_out += asked;
            view.traffic.bytes_out += asked;
            view.traffic.dropped += outlet.dropped();
        }
        view
    });
    let peers: Vec<PeerView> = peers.collect();
    drop(rates);
    let mut traffic = traffic(&status.traffic);
    traffic.bytes_out_per_s = peers.iter().map(|peer| peer.traffic.bytes_out_per_s).sum();
    traffic.bytes_in_per_s = peers.iter().map(|peer| peer.traffic.bytes_in_per_s).sum();
    let refused = status.refusals.iter();
    let refused = refused.map(|(reason, count)| (reason.name().to_owned(), count));
    let roll = absent::roll(shared, &status, me.as_ref().map(|me| &*me.about.name));
    let mut troubles = hub.clocks.troubles();
    troubles.extend(roll.sentence());
    troubles.extend(hub.fatal.borrow().as_ref().map(ToString::to_string));
    ClusterView {
        me: me.map(|me| MeView {
            name: me.about.name.clone(),
            id: format!("{:032x}", me.id),
            node: status.node.0,
            writer: status.writer.0,
            generation: status.generation,
            address: status.advertise.to_string(),
            zone: me.about.zone.clone(),
            capacity: me.about.capacity,
            version: me.about.version.clone(),
            rejoins: status.rejoins,
        }),
        peers,
        roll,
        traffic,
        refused: refused.collect(),
        unsent: hub.unsent.load(Relaxed),
        unknown_frames: status.unknown_frames + hub.streams.unknown.load(Relaxed),
        streams: streams(handle),
        troubles,
        ..ClusterView::default()
    }
}

fn streams(handle: &Handle) -> StreamsView {
    let counts = &handle.hub().streams;
    StreamsView {
        open: counts.open.load(Relaxed) as u64,
        opened: counts.opened.load(Relaxed),
        failed: counts.failed.load(Relaxed),
        refused: counts.refused.load(Relaxed),
    }
}

fn show(peer: &PeerStatus, out: f64, into: f64, now: Instant) -> PeerView {
    let PeerStatus {
        member, freshness, ..
    } = peer;
    let mut sums = traffic(&peer.traffic);
    sums.bytes_out_per_s = out;
    sums.bytes_in_per_s = into;
    PeerView {
        name: member.about.name.clone(),
        id: format!("{:032x}", member.id),
        node: member.node.0,
        writer: member.writer.0,
        address: member.address.to_string(),
        zone: member.about.zone.clone(),
        capacity: member.about.capacity,
        version: member.about.version.clone(),
        state: match member.state {
            MemberState::Alive => "alive".into(),
            MemberState::Suspect => "suspect".into(),
        },
        freshness: freshness.grade.name().to_owned(),
        phi: f64::from(freshness.phi_milli) / 1000.0,
        heard_ms_ago: freshness
            .heard
            .map(|heard| now.nanos_since(heard) / 1_000_000),
        delay_us: peer.delay.map(micros),
        traffic: sums,
        queued_bytes: peer.queued_bytes as u64,
    }
}

fn traffic(sums: &LinkTraffic) -> TrafficView {
    TrafficView {
        bytes_out: bytes_out(sums),
        bytes_in: bytes_in(sums),
        bytes_out_per_s: 0.0,
        bytes_in_per_s: 0.0,
        datagrams_out: sums.datagrams_out,
        datagrams_in: sums.datagrams_in,
        frames_out: sums.frames_out,
        frames_in: sums.frames_in,
        stream_bytes_out: sums.stream_bytes_out,
        stream_bytes_in: sums.stream_bytes_in,
        dropped: sums.dropped,
    }
}

fn micros(span: Span) -> u64 {
    u64::try_from(span.as_nanos() / 1000).unwrap_or(u64::MAX)
}
