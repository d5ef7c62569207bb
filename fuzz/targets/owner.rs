//! What nodes say about keys that one of them owns: questions, answers and pages of cells, read and acted on by a real
//! node.

#![no_main]
#![allow(
    dead_code,
    reason = "the sources are those of `tollgate-owner`, and not all of them are used here"
)]

#[path = "../small.rs"]
mod small;

#[path = "../../crates/owner/src/ask.rs"]
mod ask;
#[path = "../../crates/owner/src/here.rs"]
mod here;
#[path = "../../crates/owner/src/introduce.rs"]
mod introduce;
#[path = "../../crates/owner/src/map.rs"]
mod map;
#[path = "../../crates/owner/src/page.rs"]
mod page;
#[path = "../../crates/owner/src/question.rs"]
mod question;
#[path = "../../crates/owner/src/quota.rs"]
mod quota;
#[path = "../../crates/owner/src/said.rs"]
mod said;
#[path = "../../crates/owner/src/work.rs"]
mod work;

use std::sync::LazyLock;

use tollgate_contract::Contracts;
use tollgate_gossip::{NodeId, Writer};
use tollgate_kit::put_varint;
use tollgate_limit::Instant;
use tollgate_node::{Key, Lend, Membership, Node, Scope};
use tollgate_table::Seed;

use map::Map;

const CONTRACTS: &str = "contracts:
  - {id: a, key: [user], coordination: owner, policies: [{name: p, limit: 5, per: 1s}]}
  - {id: b, key: [user], coordination: owner, policies: [{name: x, limit: 5, per: 1s}, {name: y, limit: 50, per: 1m, algorithm: sliding-log}]}
  - {id: c, key: [user], coordination: lease, policies: [{name: p, limit: 50, per: 1s}]}
";
static CONTRACT: LazyLock<Contracts> =
    LazyLock::new(|| Contracts::parse(CONTRACTS).expect("contracts"));

fn owner(now: Instant) -> (Node, Map) {
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
        ..Membership::alone(NodeId(1), Writer(1), now)
    };
    let seed = Seed::new([1, 2]);
    let node = Node::with_company(CONTRACT.clone(), small::CONFIG, seed, membership);
    let map = Map::of(&node, false, |bytes| {
        tollgate_kit::fnv(tollgate_kit::FNV, bytes)
    });
    (node, map)
}

/// A key that is told of as it is has the print of its value, whatever that is.
fn introduce(node: &Node, map: &Map, value: &[u8]) {
    let value = String::from_utf8_lossy(value);
    let within = node.within(Scope::All).expect("all contracts");
    for spot in &within.spots(Key::Entries(&[("user", &value)])) {
        let mut told = vec![introduce::VERSION];
        told.extend(map.tag(spot.contract).to_le_bytes());
        told.extend(spot.print.0.to_le_bytes());
        put_varint(&mut told, 1_u64);
        put_varint(&mut told, value.len() as u64);
        told.extend(value.as_bytes());
        let told = introduce::read(&told, map).expect("it was written");
        for key in told {
            let unknown = introduce::checked(node, key, Instant::from_nanos(1 << 60));
            assert_eq!(unknown.expect("its print").values, [&*value]);
        }
    }
}

/// The first byte says whether these are questions, answers, a page or names of keys. What was answered is read as it
/// was said.
fn check(bytes: &[u8]) {
    let now = Instant::from_nanos(1 << 60);
    let Some((kind, rest)) = bytes.split_first() else {
        return;
    };
    let (node, map) = owner(now);
    match kind % 4 {
        0 => {
            let mut asked = Vec::new();
            let answer = |one: &ask::AskedQuestion| {
                asked.push(one.clone());
                Some(here::answer(&node, &one.question, now))
            };
            let answered = here::answer_batch(&node, &map, rest, now, answer);
            if let Some((answers, _)) = answered {
                let parcels = said::parcels(&answers).expect("an answer is one");
                assert_eq!(parcels.len(), ask::parcels(rest).expect("it was one").len());
            }
        }
        1 => {
            // Questions to which the answers are read: those behind the parcels of a batch of their own.
            let (length, rest) = rest.split_first().unwrap_or((&0, &[]));
            let (questions, answers) = rest.split_at(rest.len().min((*length).into()));
            let mut asked = Vec::new();
            let _ = ask::read(questions, &map, |one| asked.extend(one.ok()));
            let mut answers = said::Answers::new(answers);
            for asked in &asked {
                if answers.next(&asked.question, (&node, now)).is_none() {
                    break;
                }
            }
        }
        2 => {
            let _ = page::page_of(&map, rest);
            let _ = page::take_page(&node, &map, rest, now);
            let _ = node.drop_fresh(now, 64);
        }
        _ => {
            introduce(&node, &map, rest);
            let told = introduce::read(rest, &map).into_iter().flatten();
            for unknown in told.filter_map(|key| introduce::checked(&node, key, now)) {
                let contract = node
                    .contracts()
                    .get(unknown.stranger.contract)
                    .expect("it is known");
                assert_eq!(
                    (contract.key.len(), &contract.id),
                    (unknown.values.len(), &unknown.contract)
                );
                assert!(node.is_print_of(
                    unknown.stranger.print,
                    &unknown.values.iter().map(|it| &**it).collect::<Vec<_>>()
                ));
            }
        }
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check(bytes));
