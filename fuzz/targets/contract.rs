//! Contract files and descriptor files: any text is contracts that decide, or errors that say where.

#![no_main]

#[path = "../small.rs"]
mod small;

use libfuzzer_sys::fuzz_target;
use tollgate_contract::Contracts;
use tollgate_limit::{Cost, Instant};
use tollgate_node::{Key, Node};
use tollgate_table::Seed;

fuzz_target!(|bytes: &[u8]| {
    let contracts = match Contracts::parse_any_bytes(bytes) {
        Ok(contracts) => contracts,
        Err(errors) => {
            assert!(!errors.to_string().is_empty());
            return;
        }
    };
    let node = Node::new(contracts, small::CONFIG, Seed::new([1, 2]));
    for step in 0..4_u64 {
        let now = Instant::from_nanos((1 << 60) + (step << 32));
        for key in [&[("user", "u")][..], &[("user", "u"), ("route", "/")]] {
            let answer = node.check(Key::Entries(key), Cost::ONE, now);
            node.settle(&answer.receipt, Cost::PEEK, now);
            let _ = node.status(Key::Entries(key), now);
        }
    }
});
