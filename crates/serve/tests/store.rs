//! Contracts that a store decides about: an engine in memory that can be told to fail.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use tollgate_cluster::OwnerKey;
use tollgate_contract::{Contracts, OnFailure, Terms};
use tollgate_limit::{Cost, Instant, Span};
use tollgate_node::{Key, Knowledge, Node, NodeConfig, Receipt, Spot, Stranger};
use tollgate_serve::engine::{
    Ask, Elsewhere, Engine, Heard, Question, Said as SaidBack, Scope, Secrets, Verb,
};
use tollgate_serve::meter::Door;
use tollgate_serve::owner::{Nobody, Owner, OwnerSettings};
use tollgate_serve::settings::StoreSettings;
use tollgate_serve::store::{Decides, Store};
use tollgate_store::{Ask as Asked, Failure, Found, Name, Said, Write};
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
    states: Mutex<BTreeMap<(u64, Name), (String, Found)>>,
    mood: AtomicU8,
    batches: AtomicU64,
    asks: AtomicU64,
}

#[derive(Clone, Default)]
struct Fake(Arc<InMemory>);

impl tollgate_store::Engine for Fake {
    async fn ask(&self, batch: Vec<Asked>, time: Duration) -> Vec<Result<Said, Failure>> {
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

fn ask(cost: u32) -> Ask<'static> {
    Ask {
        key: Key::Text(b"anna"),
        scope: Scope::All,
        cost: Cost::from_u32(cost),
        id: None,
    }
}

/// Whether it passed, and what policies said to do instead.
async fn check(node: &Engine) -> (bool, Option<OnFailure>) {
    let run = |turn: &tollgate_serve::engine::Turn<'_>| {
        let passed = turn.check(&ask(1)).unwrap().is_allowed();
        (passed, turn.fell_back())
    };
    node.answer_later(Door::Resp, run).await
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
    let sealed = one
        .answer_later(Door::Resp, |turn| {
            let answer = turn.check(&ask(4)).unwrap();
            turn.receipt(&answer)
        })
        .await;
    let left = async |node: &Engine| {
        node.answer_later(Door::Resp, |turn| {
            let standings = turn.standings_of(&ask(0)).unwrap();
            standings.first().map(|standing| standing.status.remaining)
        })
        .await
    };
    assert_eq!(left(&other).await, Some(6));
    let receipt = sealed.unwrap();
    one.answer_later(Door::Resp, |turn| turn.settle(&receipt, Cost::ONE, None))
        .await
        .unwrap();
    assert_eq!(left(&other).await, Some(9));
    other
        .answer_later(Door::Resp, |turn| turn.charge(&ask(5)))
        .await
        .unwrap();
    assert_eq!(left(&one).await, Some(4));
    other
        .answer_later(Door::Resp, |turn| turn.refund(&ask(2)))
        .await
        .unwrap();
    assert_eq!(left(&one).await, Some(6));
    one.answer_later(Door::Resp, |turn| turn.reset(&ask(0)))
        .await
        .unwrap();
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
    // One asks every millisecond: the first five are late after 18 ms, and with them everybody is.
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

/// Policies that a key may come under.
const PLANS: [&str; 5] = [
    "{ name: a, limit: 10, per: 1h }",
    "{ name: a, limit: 25, per: 1h, inherit: proportional }",
    "{ name: b, limit: 7, per: 10m, algorithm: fixed-window }, { name: a, limit: 12, per: 30m }",
    "{ name: a, limit: 12, per: 30m, algorithm: sliding-counters, slices: 6 }, { name: b, limit: 9, per: 1h, inherit: reset }",
    "{ name: c, limit: 3, per: 1m }",
];
const LATER: Instant = Instant::from_nanos(u64::MAX);

/// A contract of these policies, that a store counts.
fn following(policies: &str) -> Contracts {
    let text = format!(
        "plans: [{{ id: free, policies: [{policies}] }}]
contracts: [{{ id: users, key: [user], coordination: store, plan: free }}]"
    );
    Contracts::parse(&text).unwrap()
}

fn terms(plan: usize) -> Option<Arc<Terms>> {
    let policies = following(PLANS[plan]).as_slice()[0].policies.clone();
    let version = u64::try_from(plan).unwrap();
    (plan != 0).then(|| Arc::new(Terms::new(policies, version).unwrap()))
}

/// The same numbers on every run.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(self.0 >> 33).unwrap() % sides
    }
}

/// A key whose terms change, in a store; and a node whose whole contract changes instead, the slow and obvious way.
struct Both {
    owner: Owner,
    own: Arc<Node>,
    spot: Spot,
    whole: Arc<Node>,
    now: Instant,
}

impl Both {
    fn new(engine: Arc<dyn Decides>, start: Instant) -> Self {
        let mut settings = StoreSettings::new("redis://nowhere".parse().unwrap());
        settings.deadline = Duration::from_secs(20);
        let store = Store::new(engine, tokio::runtime::Handle::current(), &settings);
        let config = NodeConfig {
            is_assigned: true,
            ..NodeConfig::default()
        };
        let node = || Arc::new(Node::new(following(PLANS[0]), config, Seed::new([5, 6])));
        let own = node();
        let within = own.within(Scope::All).unwrap();
        let spot = within.spots(Key::from(&[("user", "ann")]))[0];
        Self {
            owner: Owner::of_store(Arc::new(store)),
            own,
            spot,
            whole: node(),
            now: start,
        }
    }

    async fn ask(&self, verb: Verb, cost: Cost) -> Heard {
        let question = Question {
            verb,
            spots: [self.spot].into_iter().collect(),
            cost,
            names: Vec::new(),
        };
        let heard = self.owner.ask(&self.own, vec![question], self.now).await;
        let heard = heard.into_iter().next().unwrap();
        assert_eq!(heard.fell_back, None);
        heard
    }

    fn change(&mut self, plan: usize, revision: u64) {
        let Spot {
            contract, print, ..
        } = self.spot;
        let knowledge = Knowledge {
            terms: terms(plan),
            is_shared: true,
            revision,
            until: LATER,
        };
        self.own
            .learn(Stranger { contract, print }, knowledge, self.now);
        self.whole = self.whole.succeed(following(PLANS[plan]), self.now);
        while self.whole.carry_over(self.now, 8) {}
    }

    /// Both are asked the same, and say the same.
    async fn check(&self, cost: Cost) -> (Receipt, Receipt) {
        let Some(SaidBack::Answer(a)) = self.ask(Verb::Check, cost).await.said else {
            panic!("no answer");
        };
        let b = self
            .whole
            .check(Key::from(&[("user", "ann")]), cost, self.now);
        assert_eq!(a.verdict, b.verdict);
        assert_eq!(
            (a.policy, a.limit, a.remaining),
            (b.policy, b.limit, b.remaining)
        );
        assert_eq!(a.reset_after, b.reset_after);
        let [of, whole] = [&self.own, &self.whole].map(|node| node.contracts().get(0).unwrap());
        assert_eq!(
            a.policies_of(0, of)[a.policy].name,
            whole.policies[b.policy].name
        );
        (a.receipt, b.receipt)
    }

    async fn status(&self) {
        let Some(SaidBack::Statuses(a)) = self.ask(Verb::Status, Cost::PEEK).await.said else {
            panic!("no answer");
        };
        let b = self.whole.status(Key::from(&[("user", "ann")]), self.now);
        assert_eq!(a[0], b[0].1);
    }

    async fn settle(&self, (a, b): &(Receipt, Receipt), cost: Cost) {
        let dues = a.bookings().iter();
        let dues = dues.filter_map(|booking| Some(self.own.spot_of(booking)?.1));
        let _ = self.ask(Verb::Settle(dues.collect()), cost).await;
        self.whole.settle(b, cost, self.now);
    }
}

/// Terms that change in a store do what a changed contract does to a node.
async fn follow_terms(engine: impl tollgate_store::Engine, (seed, steps): (u64, u32)) {
    let mut dice = Dice(seed);
    let start = Instant::from_nanos(4_000_000_000_000_000_000 + (seed << 50));
    let mut both = Both::new(Arc::new(engine), start);
    let key = [("user", "ann")];
    let mut receipts: Option<((Receipt, Receipt), u32)> = None;
    for step in 0..steps {
        let cost = Cost::from_u32(dice.throw(6));
        match dice.throw(12) {
            0..=4 => receipts = Some((both.check(cost).await, 0)),
            5 => {
                let _ = both.ask(Verb::Charge, cost).await;
                both.whole.charge(Key::from(&key), cost, both.now);
            }
            6 => {
                let _ = both.ask(Verb::Refund, cost).await;
                both.whole.refund(Key::from(&key), cost, both.now);
            }
            7 => both.status().await,
            8 => {
                // Receipts are followed through one change, and settled once.
                if let Some((receipt, 0..=1)) = &receipts {
                    both.settle(receipt, cost).await;
                }
                receipts = None;
            }
            9 => {
                let nanos = u128::from(dice.throw(400)) * 1_000_000_000;
                both.now = both.now.saturating_add(Span::from_nanos(nanos));
            }
            _ => {
                let plan = usize::try_from(dice.throw(5)).unwrap();
                both.change(plan, u64::from(step) + 1);
                receipts = receipts.map(|(receipt, changes)| (receipt, changes + 1));
                // A contract's cells change when it does; a key in a store when something is taken.
                let _ = both.ask(Verb::Charge, Cost::ONE).await;
                both.whole.charge(Key::from(&key), Cost::ONE, both.now);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn other_terms_in_a_store_are_like_another_contract() {
    for seed in 0..40 {
        follow_terms(Fake::default(), (seed, 120)).await;
    }
}

#[tokio::test]
async fn other_terms_in_postgres_are_like_another_contract() {
    let server = tollgate_parts::Postgres::start();
    let config = tollgate_store_sql::PostgresConfig::new(&server.url());
    let engine = tollgate_store_sql::Postgres::new(&config).unwrap();
    follow_terms(engine, (9, 150)).await;
}

#[tokio::test(start_paused = true)]
async fn a_denial_is_not_given_again_under_other_terms() {
    let engine = Fake::default();
    let (node, _) = node(&engine, &contract("deny"));
    assert_eq!(check(&node).await, (true, None));
    drop(node);
    let text =
        "plans: [{ id: free, policies: [{ name: p, limit: 2, per: 1h, algorithm: sliding-log }] }]
contracts: [{ id: a, key: [user], coordination: store, plan: free }]";
    let settings = StoreSettings::new("redis://nowhere".parse().unwrap());
    let handle = tokio::runtime::Handle::current();
    let store = Arc::new(Store::new(Arc::new(engine.clone()), handle, &settings));
    let config = NodeConfig {
        is_assigned: true,
        ..NodeConfig::default()
    };
    let secrets = Secrets {
        table: Seed::new([5, 6]),
        receipts: [7; 32],
    };
    let node = Engine::new(Contracts::parse(text).unwrap(), config, &secrets);
    let owner = Owner::new(
        OwnerKey([0; 16]),
        OwnerSettings::default(),
        Arc::new(Nobody),
    );
    node.set_elsewhere(Arc::new(owner.with_store(Some(store))));
    assert!(check(&node).await.0, "one of two was taken before");
    for _ in 0..3 {
        assert!(!check(&node).await.0);
    }
    let asked = engine.0.asks.load(Relaxed);
    let own = node.node();
    let spot = own.within(Scope::All).unwrap().spots(ask(1).key)[0];
    let pro = text.replace("limit: 2", "limit: 4");
    let policies = Contracts::parse(&pro).unwrap().as_slice()[0]
        .policies
        .clone();
    let knowledge = Knowledge {
        terms: Some(Arc::new(Terms::new(policies, 7).unwrap())),
        is_shared: true,
        revision: 1,
        until: LATER,
    };
    let Spot {
        contract, print, ..
    } = spot;
    own.learn(Stranger { contract, print }, knowledge, node.now());
    assert!(check(&node).await.0);
    assert_eq!(engine.0.asks.load(Relaxed), asked + 1);
}
