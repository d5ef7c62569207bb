//! What nodes say to each other about rates that are divided and buckets that are cut: frames of another node, with
//! bytes of the input laid over them, and bytes of the input alone.

#![no_main]

#[path = "../small.rs"]
mod small;

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use tollgate_contract::{Contracts, Coordination};
use tollgate_gossip::{NodeId, Writer};
use tollgate_limit::{Cost, Instant};
use tollgate_node::{Key, Membership, Node, Outgoing, RateDivision, Roster, RosterPeer};
use tollgate_table::Seed;

const START: u64 = 1_800_000_000_000_000_000;
const IDS: [NodeId; 2] = [NodeId(10), NodeId(20)];

const CONTRACTS: &str = "contracts:
  - {id: a, key: [user], coordination: supply, policies: [{name: p, limit: 50, per: 1s, burst: 20}]}
  - {id: b, key: [user], coordination: split, policies: [{name: p, limit: 50, per: 1s, burst: 20}]}
  - {id: c, coordination: split, policies: [{name: p, limit: 90, per: 1s, algorithm: leaky-bucket}]}
";

static CONTRACT: LazyLock<Contracts> =
    LazyLock::new(|| Contracts::parse(CONTRACTS).expect("contracts"));

fn name(place: usize) -> String {
    format!("n{place}")
}

/// One of two nodes, each with a home and told of the other.
fn node(place: usize, now: Instant) -> Arc<Node> {
    let roster = Roster::new((0..IDS.len()).map(|place| (name(place), 1)));
    let membership = Membership {
        share: Some(RateDivision::new(roster.expect("two names"), START)),
        ..Membership::alone(IDS[place], Writer(IDS[place].0), now)
    };
    let seed = Seed::new([1, 2]);
    let node = Node::with_company(CONTRACT.clone(), small::CONFIG, seed, membership);
    let node = Arc::new(node);
    let peers = IDS.iter().enumerate().map(|(place, id)| RosterPeer {
        node: *id,
        name: name(place),
        age: (START, 0),
    });
    node.handle_peers(IDS[place], peers.collect(), now);
    node
}

/// The tags by which nodes name what is divided and cut.
fn tags(node: &Node, now: Instant) -> Vec<u64> {
    let divided = [Coordination::Supply, Coordination::Split].into_iter();
    let each = divided.flat_map(|by| node.mode_status(by, None, now));
    each.map(|policy| policy.tag).collect()
}

fuzz_target!(|bytes: &[u8]| {
    let mut now = Instant::from_nanos(START);
    let nodes = [node(0, now), node(1, now)];
    let tags = tags(&nodes[0], now);
    assert_eq!(tags.len(), 3);
    let mut said: VecDeque<Outgoing> = VecDeque::new();
    let mut rest = bytes;
    while let [pick, length, more @ ..] = rest {
        let (part, more) = more.split_at(more.len().min(usize::from(*length)));
        rest = more;
        now = Instant::from_nanos(now.as_nanos() + 50_000_000);
        for node in &nodes {
            for _ in 0..=pick % 4 {
                let _ = node.check(Key::Entries(&[("user", "u")]), Cost::ONE, now);
            }
            node.handle_timeout(now);
        }
        // The second hears all that the first says, so that it has something to say.
        while let Some(sent) = nodes[0].poll_send() {
            let _ = nodes[1].handle_gossip(sent.tag, IDS[0], &sent.frame, now);
        }
        said.extend(std::iter::from_fn(|| nodes[1].poll_send()));
        let alone = (tags[usize::from(*pick) % tags.len()], part.to_vec());
        let (tag, frame) = match said.pop_front() {
            Some(sent) if pick & 128 == 0 => {
                let mut frame = sent.frame.to_vec();
                let at = usize::from(pick >> 2) % frame.len().max(1);
                for (byte, with) in frame.iter_mut().skip(at).zip(part) {
                    *byte ^= with;
                }
                (sent.tag, frame)
            }
            _ => alone,
        };
        let _ = nodes[0].handle_gossip(tag, IDS[1], &frame, now);
    }
});
