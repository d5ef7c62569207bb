//! Messages of leases: what is read is written and read again as the same, and a node answers whatever a client says.

#![no_main]

#[path = "../small.rs"]
mod small;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tollgate_contract::Contracts;
use tollgate_gossip::{NodeId, Writer};
use tollgate_lease::{
    client_of, decode, decode_inquiry, decode_ledger, decode_reply, encode, encode_inquiry,
    encode_ledger, encode_reply,
};
use tollgate_limit::Instant;
use tollgate_node::{Key, Lend, Membership, Node, Scope};
use tollgate_table::Seed;

const CONTRACTS: &str = "contracts:
  - {id: a, key: [user], coordination: lease, policies: [{name: p, limit: 50, per: 1s, burst: 20}]}
  - {id: b, match: {kind: w}, key: [who], coordination: lease, policies: [{name: w, limit: 9, per: 1s, algorithm: sliding-log}]}
";

static CONTRACT: LazyLock<Contracts> =
    LazyLock::new(|| Contracts::parse(CONTRACTS).expect("contracts"));

fn lends() -> Node {
    let start = Instant::from_nanos(1 << 60);
    let lend = Lend {
        generation: 1,
        has_successors: false,
        steady: None,
        day: None,
        journal: None,
        quota: None,
        holder: None,
        is_first: std::sync::Arc::default(),
    };
    let membership = Membership {
        lend: Some(lend),
        ..Membership::alone(NodeId(1), Writer(1), start)
    };
    Node::with_company(
        CONTRACT.clone(),
        small::CONFIG,
        Seed::new([1, 2]),
        membership,
    )
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok(message) = decode(bytes) {
        assert_eq!(decode(&encode(&message)), Ok(message));
    }
    if let Ok(reply) = decode_reply(bytes) {
        assert_eq!(decode_reply(&encode_reply(&reply)), Ok(reply));
    }
    if let Ok(pools) = decode_ledger(bytes) {
        let again = encode_ledger(&pools);
        assert_eq!(
            decode_ledger(&again).map(|pools| encode_ledger(&pools)),
            Ok(again)
        );
    }
    let _ = client_of(bytes);
    let Ok(inquiry) = decode_inquiry(bytes) else {
        return;
    };
    assert_eq!(decode_inquiry(&encode_inquiry(&inquiry)), Ok(inquiry));
    let node = lends();
    let within = node.within(Scope::All).expect("all contracts");
    let keys = [&[("user", "u")][..], &[("kind", "w"), ("who", "u")]];
    for (step, key) in keys.into_iter().cycle().take(6).enumerate() {
        let now = Instant::from_nanos((1 << 60) + ((step as u64) << 30));
        for spot in &within.spots(Key::Entries(key)) {
            let lent = node.lend(spot, bytes, now).expect("it was read before");
            decode_reply(&lent.reply).expect("an answer is one");
        }
    }
});
