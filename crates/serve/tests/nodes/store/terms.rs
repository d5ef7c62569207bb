//! Keys with terms of their own, that a store counts.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tollgate_cluster::OwnerKey;
use tollgate_contract::{Contracts, Terms};
use tollgate_kit::Dice;
use tollgate_limit::{Cost, Instant, Span};
use tollgate_node::{Key, Knowledge, Node, NodeConfig, Receipt, Spot, Stranger};
use tollgate_serve::engine::{
    Elsewhere, Engine, Question, QuestionReply, RemoteAnswer, Scope, Secrets, Verb,
};
use tollgate_serve::owner::{Nobody, Owner, OwnerSettings};
use tollgate_serve::settings::StoreSettings;
use tollgate_serve::store::{Decides, Store};
use tollgate_table::Seed;

use super::{Fake, ask, check, contract, node};

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

    async fn ask(&self, verb: Verb, cost: Cost) -> QuestionReply {
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

    /// Sends the same request to both, and compares the answers.
    async fn check(&self, cost: Cost) -> (Receipt, Receipt) {
        let Some(RemoteAnswer::Answer(a)) = self.ask(Verb::Check, cost).await.said else {
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
        let Some(RemoteAnswer::Statuses(a)) = self.ask(Verb::Status, Cost::PEEK).await.said else {
            panic!("no answer");
        };
        let b = self.whole.status(Key::from(&[("user", "ann")]), self.now);
        assert_eq!(a[0], b[0].1);
    }

    async fn settle(&self, own: &Receipt, whole: &Receipt, cost: Cost) {
        let dues = own.bookings().iter();
        let dues = dues.filter_map(|booking| Some(self.own.spot_of(booking)?.1));
        let _ = self.ask(Verb::Settle(dues.collect()), cost).await;
        self.whole.settle(whole, cost, self.now);
    }
}

/// Terms that change in a store do what a changed contract does to a node.
async fn follow_terms(engine: impl tollgate_store::Engine, seed: u64, steps: u32) {
    let mut dice = Dice::new(seed);
    let start = Instant::from_nanos(4_000_000_000_000_000_000 + (seed << 50));
    let mut both = Both::new(Arc::new(engine), start);
    let key = [("user", "ann")];
    let mut receipts: Option<((Receipt, Receipt), u32)> = None;
    for step in 0..steps {
        let cost = Cost::from_u32(u32::try_from(dice.below(6)).unwrap());
        match dice.below(12) {
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
                if let Some(((own, whole), 0..=1)) = &receipts {
                    both.settle(own, whole, cost).await;
                }
                receipts = None;
            }
            9 => {
                let nanos = u128::from(dice.below(400)) * 1_000_000_000;
                both.now = both.now.saturating_add(Span::from_nanos(nanos));
            }
            _ => {
                let plan = dice.place(5);
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
        follow_terms(Fake::default(), seed, 120).await;
    }
}

#[tokio::test]
async fn other_terms_in_redis_are_like_another_contract() {
    let server = tollgate_parts::Redis::start();
    let config = tollgate_store_redis::Config::from_url(&server.url()).unwrap();
    let engine = tollgate_store_redis::Redis::open(&config).unwrap();
    // What is asked before it is connected falls back.
    assert!(engine.tried(Duration::from_secs(20)).await);
    follow_terms(engine, 9, 150).await;
}

#[tokio::test]
async fn other_terms_in_postgres_are_like_another_contract() {
    let server = tollgate_parts::Postgres::start();
    let config = tollgate_store_sql::PostgresConfig::new(server.url());
    let engine = tollgate_store_sql::Postgres::new(&config).unwrap();
    follow_terms(engine, 9, 150).await;
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
