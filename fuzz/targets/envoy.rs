//! What Envoy sends (rate limit service, quota service, external authorization), gubernator's and throttlecrab's calls:
//! any bytes are a message that contracts can be asked about, or none.

#![no_main]

#[path = "../small.rs"]
mod small;

use std::sync::LazyLock;

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

use libfuzzer_sys::fuzz_target;
use prost::Message;
use tollgate_contract::Contracts;
use tollgate_limit::{Cost, Instant};
use tollgate_node::{Key, Node, Scope};
use tollgate_table::Seed;
use tollgate_wire::{authz, native, rlqs, rls};

const CONTRACTS: &str = "contracts:
  - {id: a, key: [user], policies: [{name: p, limit: 50, per: 1s}]}
  - {id: b, match: {kind: w}, key: [who], policies: [{name: w, limit: 9, per: 1m, algorithm: sliding-log}]}
";

static CONTRACT: LazyLock<Contracts> =
    LazyLock::new(|| Contracts::parse(CONTRACTS).expect("contracts"));

fn ask<'a>(node: &Node, domain: &str, entries: impl Iterator<Item = (&'a str, &'a str)>) {
    let entries: Vec<(&str, &str)> = entries.collect();
    let now = Instant::from_nanos(1 << 60);
    if let Ok(within) = node.within(Scope::Domain(domain)) {
        let answer = within.check(Key::Entries(&entries), Cost::ONE, now);
        node.settle(&answer.receipt, Cost::PEEK, now);
    }
}

fuzz_target!(|bytes: &[u8]| {
    let node = Node::new(CONTRACT.clone(), small::CONFIG, Seed::new([1, 2]));
    if let Ok(request) = rls::RateLimitRequest::decode(bytes) {
        for descriptor in &request.descriptors {
            let entries = descriptor.entries.iter();
            let entries = entries.map(|entry| (text(&entry.key), text(&entry.value)));
            ask(&node, &request.domain, entries);
        }
        let again = rls::RateLimitRequest::decode(&*request.encode_to_vec());
        assert_eq!(again.as_ref(), Ok(&request));
    }
    if let Ok(reports) = rlqs::RateLimitQuotaUsageReports::decode(bytes) {
        for usage in &reports.bucket_quota_usages {
            let bucket = usage.bucket_id.iter().flat_map(|id| &id.bucket);
            let entries = bucket.map(|(name, value)| (&**name, text(value)));
            ask(&node, &reports.domain, entries);
        }
    }
    let _ = authz::CheckRequest::decode(bytes);
    let _ = native::CheckManyRequest::decode(bytes);
    let _ = tollgate_wire::gubernator::GetRateLimitsReq::decode(bytes);
    let _ = tollgate_wire::throttlecrab::ThrottleRequest::decode(bytes);
    let _ = tollgate_wire::xds::DiscoveryResponse::decode(bytes);
});
