//! Contracts that a store decides about: an engine in memory that can be told to fail.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

mod terms;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use tollgate_cluster::OwnerKey;
use tollgate_contract::{Contracts, OnFailure};
use tollgate_limit::Cost;
use tollgate_node::{Key, NodeConfig};
use tollgate_serve::engine::{Act, Engine, EngineRequest, Op, Scope, Secrets, Settle};
use tollgate_serve::owner::{Nobody, Owner, OwnerSettings};
use tollgate_serve::settings::StoreSettings;
use tollgate_serve::store::Store;
use tollgate_store::{EngineAnswer, Failure, Name, StoreRequest, StoredKey, Write};
use tollgate_table::Seed;

/// What the engine does.
const WORKS: u8 = 0;
const HANGS: u8 = 1;
const REFUSES: u8 = 2;
/// Every second ask of a batch is answered.
const HALF: u8 = 3;

#[derive(Default)]
struct InMemory {
    /// What is known of keys, and by policies of which shape.
    states: Mutex<BTreeMap<(u64, Name), (String, StoredKey)>>,
    mood: AtomicU8,
    batches: AtomicU64,
    asks: AtomicU64,
}

#[derive(Clone, Default)]
struct Fake(Arc<InMemory>);

impl tollgate_store::Engine for Fake {
    async fn ask(
        &self,
        batch: Vec<StoreRequest>,
        time: Duration,
    ) -> Vec<Result<EngineAnswer, Failure>> {
        self.0.batches.fetch_add(1, Relaxed);
        self.0.asks.fetch_add(batch.len() as u64, Relaxed);
        match self.0.mood.load(Relaxed) {
            HANGS => {
                tokio::time::sleep(time).await;
                return vec![Err(Failure::Late); batch.len()];
            }
            REFUSES => return vec![Err(Failure::ReadOnly); batch.len()],
            _ => {}
        }
        tokio::task::yield_now().await;
        let mut states = self.0.states.lock();
        let is_half = self.0.mood.load(Relaxed) == HALF;
        let each = batch.into_iter().enumerate().map(|(place, ask)| {
            if is_half && place % 2 == 1 {
                return Err(Failure::Starting);
            }
            let key = (ask.book.tag(), ask.name);
            let known = states.get(&key).and_then(|(shape, found)| {
                if shape == ask.book.shape() {
                    return Some(found.clone());
                }
                ask.book.inherit(shape, found, ask.now)
            });
            let next = ask.book.apply(known.as_ref(), ask.verb, ask.now).unwrap();
            match next.write {
                Some(Write::Forget) => drop(states.remove(&key)),
                Some(Write::Keep { found, .. }) => {
                    drop(states.insert(key, (ask.book.shape().to_owned(), found)));
                }
                None => {}
            }
            Ok(next.said)
        });
        each.collect()
    }

    fn name(&self) -> &'static str {
        "memory"
    }
}

/// A node on the engine.
fn node(engine: &Fake, contracts: &str) -> (Engine, Arc<Store>) {
    let settings = StoreSettings::new("redis://nowhere".parse().unwrap());
    let handle = tokio::runtime::Handle::current();
    let store = Arc::new(Store::new(Arc::new(engine.clone()), handle, &settings));
    let secrets = Secrets {
        table: Seed::new([5, 6]),
        receipts: [7; 32],
    };
    let contracts = Contracts::parse(contracts).unwrap();
    let node = Engine::new(contracts, NodeConfig::default(), &secrets);
    let owner = Owner::new(
        OwnerKey([0; 16]),
        OwnerSettings::default(),
        Arc::new(Nobody),
    );
    node.set_elsewhere(Arc::new(owner.with_store(Some(Arc::clone(&store)))));
    (node, store)
}

fn contract(on_failure: &str) -> String {
    format!(
        "contracts:
  - {{id: a, key: [user], coordination: store, policies: [{{name: p, limit: 10, per: 1h, algorithm: sliding-log, on_failure: {on_failure}}}]}}
"
    )
}

fn ask(cost: u32) -> EngineRequest<'static> {
    EngineRequest {
        key: Key::Text(b"anna"),
        scope: Scope::All,
        cost: Cost::from_u32(cost),
        id: None,
    }
}

/// Whether it passed, and what policies said to do instead.
async fn check(node: &Engine) -> (bool, Option<OnFailure>) {
    let (turn, outcome) = node.turn().decide(&Op::check(ask(1))).await;
    let passed = outcome.unwrap().answer().unwrap().is_allowed();
    (passed, turn.fell_back())
}

#[tokio::test(start_paused = true)]
async fn nodes_that_share_a_store_share_the_limit() {
    let engine = Fake::default();
    let nodes = [
        node(&engine, &contract("deny")),
        node(&engine, &contract("deny")),
    ];
    let mut passed = 0;
    for turn in 0..30 {
        let (is_allowed, instead) = check(&nodes[turn % 2].0).await;
        passed += usize::from(is_allowed);
        assert_eq!(instead, None);
    }
    assert_eq!(passed, 10);
    let asked = engine.0.asks.load(Relaxed);
    assert_eq!(
        asked, 12,
        "a denial is given again by the node that heard it"
    );
}

#[tokio::test(start_paused = true)]
async fn everything_else_is_done_there_too() {
    let engine = Fake::default();
    let (one, _) = node(&engine, &contract("deny"));
    let (other, _) = node(&engine, &contract("deny"));
    let (turn, outcome) = one.turn().decide(&Op::check(ask(4))).await;
    let receipt = turn.receipt(&outcome.unwrap().answer().unwrap()).unwrap();
    let left = async |node: &Engine| {
        let status = Op::Key(Act::Status, ask(0));
        let (turn, outcome) = node.turn().decide(&status).await;
        let standings = turn.standings(&ask(0), outcome.unwrap().read()).unwrap();
        standings.first().map(|standing| standing.status.remaining)
    };
    assert_eq!(left(&other).await, Some(6));
    let settle = Op::Settle(Settle {
        receipt: &receipt,
        actual: Cost::ONE,
        id: None,
    });
    one.turn().decide(&settle).await.1.unwrap();
    assert_eq!(left(&other).await, Some(9));
    let charge = Op::Key(Act::Charge, ask(5));
    other.turn().decide(&charge).await.1.unwrap();
    assert_eq!(left(&one).await, Some(4));
    let refund = Op::Key(Act::Refund, ask(2));
    other.turn().decide(&refund).await.1.unwrap();
    assert_eq!(left(&one).await, Some(6));
    let reset = Op::Key(Act::Reset, ask(0));
    one.turn().decide(&reset).await.1.unwrap();
    assert_eq!(left(&other).await, Some(10));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_costs_the_deadline_a_few_times_and_then_nothing() {
    for (wish, on_failure, allowed) in [
        (OnFailure::Allow, "allow", 100),
        (OnFailure::Deny, "deny", 0),
        (OnFailure::Local, "local", 6),
    ] {
        let engine = Fake::default();
        let (node, store) = node(&engine, &contract(on_failure));
        for _ in 0..4 {
            assert_eq!(check(&node).await, (true, None));
        }
        engine.0.mood.store(HANGS, Relaxed);
        let (mut passed, mut slow) = (0, 0);
        for _ in 0..100 {
            let began = tokio::time::Instant::now();
            let (is_allowed, instead) = check(&node).await;
            let took = began.elapsed();
            assert!(took <= Duration::from_millis(20), "{took:?}");
            slow += usize::from(took > Duration::ZERO);
            passed += usize::from(is_allowed);
            assert_eq!(instead, Some(wish));
        }
        assert_eq!(passed, allowed, "{on_failure}");
        assert_eq!(slow, 5, "so many wait for the deadline");
        assert_eq!(store.counts().fell_back[wish as usize].get(), 100);
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_admitted_alone_is_charged_when_the_store_is_back() {
    let engine = Fake::default();
    let (one, store) = node(&engine, &contract("local"));
    let (other, _) = node(&engine, &contract("local"));
    engine.0.mood.store(REFUSES, Relaxed);
    for _ in 0..3 {
        assert_eq!(check(&one).await, (true, Some(OnFailure::Local)));
    }
    engine.0.mood.store(WORKS, Relaxed);
    // Answers come from the store again once a probe of the breaker was answered.
    let mut rounds = 0;
    while store.counts().paid.get() == 0 {
        rounds += 1;
        assert!(rounds < 1000, "it never paid");
        let _ = check(&one).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    engine.0.mood.store(WORKS, Relaxed);
    let mut passed = 0;
    for _ in 0..20 {
        passed += usize::from(check(&other).await.0);
    }
    let by_one = 10 - passed;
    assert!(
        (3..10).contains(&by_one),
        "{by_one} were charged for the one that was alone"
    );
}

#[tokio::test(start_paused = true)]
async fn asks_that_meet_go_in_one_batch() {
    let engine = Fake::default();
    let (node, _) = node(
        &engine,
        &contract("deny").replace("limit: 10", "limit: 1000"),
    );
    let node = Arc::new(node);
    let checks = (0..200).map(|_| {
        let node = Arc::clone(&node);
        tokio::spawn(async move { check(&node).await })
    });
    for check in checks.collect::<Vec<_>>() {
        assert_eq!(check.await.unwrap(), (true, None));
    }
    let (batches, asks) = (engine.0.batches.load(Relaxed), engine.0.asks.load(Relaxed));
    assert_eq!(asks, 200);
    assert!(batches <= 40, "{batches} batches");
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_when_a_store_is_given_up_is_told_at_once() {
    let engine = Fake::default();
    let (node, store) = node(&engine, &contract("deny"));
    engine.0.mood.store(HANGS, Relaxed);
    let node = Arc::new(node);
    let began = tokio::time::Instant::now();
    // One request per millisecond: the first five are late after 18 ms, and with them all others.
    let checks = (0..18).map(|ms| {
        let node = Arc::clone(&node);
        tokio::spawn(async move {
            tokio::time::sleep_until(began + Duration::from_millis(ms)).await;
            let heard = check(&node).await;
            (heard, began.elapsed())
        })
    });
    for check in checks.collect::<Vec<_>>() {
        let (heard, at) = check.await.unwrap();
        assert_eq!(heard, (false, Some(OnFailure::Deny)));
        assert!(at <= Duration::from_millis(24), "{at:?}");
    }
    assert_eq!(store.counts().failures[0].get(), 18, "each was late once");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_answers_a_part_of_a_batch_is_there() {
    let engine = Fake::default();
    let (node, _) = node(&engine, &contract("deny"));
    engine.0.mood.store(HALF, Relaxed);
    let node = Arc::new(node);
    for _ in 0..5 {
        let checks = (0..100).map(|_| {
            let node = Arc::clone(&node);
            tokio::spawn(async move { check(&node).await })
        });
        let mut decided = 0;
        for check in checks.collect::<Vec<_>>() {
            decided += usize::from(check.await.unwrap().1.is_none());
        }
        assert!(decided >= 40, "{decided} of 100 were decided");
    }
}
