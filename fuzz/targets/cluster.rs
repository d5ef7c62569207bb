//! What nodes say to each other: datagrams once they are opened, messages and frames of streams, and what machines that
//! count together send. The first byte says which.

#![no_main]
#![allow(
    dead_code,
    reason = "the sources are the server's, and not all of them are used here"
)]

#[path = "../small.rs"]
mod small;

#[path = "../../crates/serve/src/cluster/wire.rs"]
mod wire;

use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Waker};

use libfuzzer_sys::fuzz_target;
use tollgate_cluster::{Cluster, ClusterConfig, FailureTiming};
use tollgate_contract::Contracts;
use tollgate_gossip::{NodeId, Writer};
use tollgate_limit::{Cost, Instant};
use tollgate_node::{Key, Membership, Node};
use tollgate_table::Seed;

const START: u64 = 1_800_000_000_000_000_000;

/// A policy for everything that counts with others.
const CONTRACTS: &str = "contracts:
  - {id: a, key: [user], coordination: gossip, policies: [{name: p, limit: 50, per: 1s}]}
  - {id: c, key: [user], coordination: gossip, policies: [{name: p, limit: 9, per: 1m, algorithm: fixed-window}]}
  - {id: d, key: [user], coordination: gossip, policies: [{name: p, limit: 9, per: 1m, algorithm: sliding-weighted}]}
  - {id: e, key: [user], coordination: sync, policies: [{name: p, limit: 50, per: 1s}]}
";

static CONTRACT: LazyLock<Contracts> =
    LazyLock::new(|| Contracts::parse(CONTRACTS).expect("contracts"));

/// A first byte that picks, and the rest behind its length, over and over.
fn parts(mut bytes: &[u8]) -> Vec<(u8, &[u8])> {
    let mut parts = Vec::new();
    while let [pick, length, rest @ ..] = bytes {
        let (part, rest) = rest.split_at(rest.len().min(usize::from(*length)));
        parts.push((*pick, part));
        bytes = rest;
    }
    parts
}

fn config(id: u128) -> ClusterConfig {
    ClusterConfig {
        name: format!("n{id}"),
        zone: None,
        capacity: 100,
        version: "0".into(),
        id,
        generation: 1,
        boot: 1_000 + id as u64,
        advertise: ([127, 0, 0, 1], id as u16).into(),
        seeds: vec![([127, 0, 0, 1], 1).into()],
        mtu: ClusterConfig::MTU,
        bytes_per_second_max: None,
        seed: 3,
        pace: FailureTiming::LAN,
        missing: Vec::new(),
    }
}

/// A member that hears datagrams of a node it knows, and of others.
fn datagrams(bytes: &[u8]) {
    let (mut now, mut counter) = (Instant::from_nanos(START), 1_000);
    let mut cluster = Cluster::new(config(1), now);
    let mut friend = Cluster::new(config(2), now);
    while cluster.members().len() < 2 {
        now = Instant::from_nanos(now.as_nanos() + 250_000_000);
        cluster.handle_timeout(now);
        friend.handle_timeout(now);
        for is_to_friend in [true, false] {
            let (from, to, boot) = if is_to_friend {
                (&mut cluster, &mut friend, 1_001)
            } else {
                (&mut friend, &mut cluster, 1_002)
            };
            while let Some(sent) = from.poll_transmit(now) {
                counter += 1;
                let _ = to.handle_payload(boot, counter, &sent.bytes, now);
            }
        }
    }
    for (pick, part) in parts(bytes) {
        now = Instant::from_nanos(now.as_nanos() + 1_000_000);
        counter += 1;
        let boot = 1_002 + u64::from(pick >> 6);
        if pick & 1 == 0 {
            let mut payload = (now.as_nanos() / 1_000_000).to_le_bytes()[..6].to_vec();
            let to = if pick & 2 == 0 { 1_001_u32 } else { 0 };
            payload.extend(to.to_le_bytes());
            payload.extend_from_slice(part);
            let _ = cluster.handle_payload(boot, counter, &payload, now);
        } else {
            let from = friend.me().0;
            let _ = cluster.handle_message(from, part, now);
        }
        cluster.handle_timeout(now);
        while cluster.poll_transmit(now).is_some() {}
        while cluster.poll_event().is_some() {}
    }
    drop(cluster.status(now));
}

/// A node that counts with two others hears their frames.
fn machines(bytes: &[u8]) {
    let start = Instant::from_nanos(START);
    let others = [NodeId(1), NodeId(2), NodeId(3)];
    let membership = Membership {
        members: others.to_vec(),
        ..Membership::alone(NodeId(1), Writer(1), start)
    };
    let node = Arc::new(Node::with_company(
        CONTRACT.clone(),
        small::CONFIG,
        Seed::new([1, 2]),
        membership,
    ));
    // Those of every policy that is counted together, whatever its mode.
    let status = node.gossip_status();
    let tags: Vec<u64> = status.iter().map(|policy| policy.tag).collect();
    let key = Key::Entries(&[("user", "u")]);
    let mut now = start;
    for (pick, part) in parts(bytes) {
        now = Instant::from_nanos(now.as_nanos() + 50_000_000);
        let _ = node.check(key, Cost::ONE, now);
        let tag = tags[usize::from(pick) % tags.len()];
        let from = others[1 + usize::from(pick >> 7)];
        let _ = node.handle_gossip(tag, from, part, now);
        node.handle_timeout(now);
        while node.poll_send().is_some() {}
    }
}

/// Reads the frames of a stream to its end; one that was written is read as it was.
fn stream(bytes: &[u8]) {
    let mut reader = wire::FrameReader::new(bytes);
    loop {
        let mut cx = Context::from_waker(Waker::noop());
        // Bytes at hand are never waited for.
        let Poll::Ready(Ok(Some(frame))) = pin!(reader.next()).poll(&mut cx) else {
            return;
        };
        let written = match &frame {
            wire::Frame::Hello(hello) => wire::hello(*hello),
            wire::Frame::Message(bytes) => wire::message(bytes).expect("it came"),
            wire::Frame::Request { number, kind, body } => {
                wire::request(*number, *kind, body).expect("it came")
            }
            wire::Frame::Answer {
                number,
                outcome,
                body,
            } => wire::answer(*number, *outcome, body),
            wire::Frame::Unknown => continue,
        };
        let mut again = wire::FrameReader::new(&written[..]);
        let again = pin!(again.next()).poll(&mut cx);
        assert!(matches!(again, Poll::Ready(Ok(Some(it))) if it == frame));
    }
}

fuzz_target!(|bytes: &[u8]| {
    match bytes.split_first() {
        Some((0..80, rest)) => datagrams(rest),
        Some((80..160, rest)) => machines(rest),
        Some((_, rest)) => stream(rest),
        None => {}
    }
});
