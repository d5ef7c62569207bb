//! Keys whose terms another component knows: they are looked up once, before the first decision, and never again while
//! known.

#![allow(clippy::expect_used, reason = "a broken set-up must stop the test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use parking_lot::Mutex;
use tollgate_contract::{Contracts, Terms};
use tollgate_limit::{Cost, Instant};
use tollgate_node::{Key, Knowledge, Node, NodeConfig};
use tollgate_serve::engine::{
    Act, Engine, EngineRequest, Learning, Op, OpOutcome, Registrar, Secrets, Started, Unknown,
};

const CONTRACTS: &str = "
plans: [{ id: free, policies: [{ name: hour, limit: 3, per: 1h }] }]
contracts:
  - { id: users, key: [tenant, user], plan: free }
  - { id: all, policies: [{ name: ceiling, limit: 1000, per: 1h }] }";

/// Knows that those of `acme` have ten; of others it knows nothing.
#[derive(Default)]
struct Knows {
    asked: Mutex<Vec<Vec<String>>>,
    times: AtomicUsize,
    is_away: bool,
}

impl Registrar for Knows {
    fn learn<'a>(
        &'a self,
        node: &'a Arc<Node>,
        unknown: Vec<Unknown>,
        now: Instant,
    ) -> Learning<'a> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            self.times.fetch_add(1, Relaxed);
            for Unknown {
                stranger, values, ..
            } in unknown
            {
                let contract = node.contracts().get(stranger.contract).expect("a contract");
                let limit = if values[0] == "acme" { 10 } else { 3 };
                self.asked.lock().push(values);
                if self.is_away {
                    continue;
                }
                let text = format!(
                    "contracts: [{{ id: x, key: [k], policies: [{{ name: hour, limit: {limit}, per: 1h }}] }}]"
                );
                let policies = Contracts::parse(&text).expect("good").as_slice()[0]
                    .policies
                    .clone();
                assert_eq!(contract.id, "users");
                let knowledge = Knowledge {
                    terms: Some(Arc::new(Terms::new(policies, limit).expect("good"))),
                    is_shared: false,
                    revision: 1,
                    until: Instant::from_nanos(u64::MAX),
                };
                node.learn(stranger, knowledge, now);
            }
        })
    }
}

fn engine(knows: &Arc<Knows>) -> Engine {
    let config = NodeConfig {
        is_assigned: true,
        ..NodeConfig::default()
    };
    let contracts = Contracts::parse(CONTRACTS).expect("a good file");
    let engine = Engine::new(contracts, config, &Secrets::draw().expect("randomness"));
    engine.set_registrar(Arc::clone(knows) as Arc<dyn Registrar>);
    engine
}

/// How many of these requests pass.
async fn admitted(engine: &Engine, tenant: &str, requests: usize) -> usize {
    let mut admitted = 0;
    for _ in 0..requests {
        let entries = [("tenant", tenant), ("user", "ann")];
        let check = Op::check(EngineRequest::new(Key::from(&entries), Cost::from_u32(1)));
        let (_, outcome) = engine.turn().decide(&check).await;
        let answer = outcome.and_then(OpOutcome::answer).expect("an answer");
        admitted += usize::from(answer.is_allowed());
    }
    admitted
}

#[tokio::test]
async fn terms_are_asked_for_once_and_before_the_first_decision() {
    let knows = Arc::new(Knows::default());
    let engine = engine(&knows);
    assert!(engine.is_apart(), "answers may have to be waited for");
    assert_eq!(admitted(&engine, "acme", 12).await, 10);
    assert_eq!(admitted(&engine, "other", 12).await, 3);
    let asked = knows.asked.lock().clone();
    assert_eq!(asked, [["acme", "ann"], ["other", "ann"]]);
}

#[tokio::test]
async fn requests_that_come_together_ask_together() {
    let knows = Arc::new(Knows::default());
    let engine = engine(&knows);
    let keys = [["acme", "a"], ["acme", "b"], ["acme", "a"]];
    let turn = engine.turn();
    let steps = keys.map(|[tenant, user]| {
        let entries = [("tenant", tenant), ("user", user)];
        turn.start(&Op::check(EngineRequest::new(
            Key::from(&entries),
            Cost::from_u32(6),
        )))
    });
    let started = Started::several(&turn, steps.into(), |_, steps| {
        let answers = steps.map(|step| step.outcome().and_then(OpOutcome::answer));
        let allowed = answers.map(|answer| answer.expect("an answer").is_allowed());
        allowed.collect::<Vec<_>>()
    });
    let Started::Later(later) = started else {
        panic!("terms are not known");
    };
    assert_eq!(later.wait(&engine).await, [true, true, false]);
    assert_eq!(knows.times.load(Relaxed), 1);
}

#[tokio::test]
async fn who_cannot_be_asked_leaves_the_policies_of_the_contract() {
    let knows = Arc::new(Knows {
        is_away: true,
        ..Knows::default()
    });
    let engine = engine(&knows);
    assert_eq!(admitted(&engine, "acme", 5).await, 3);
}

#[tokio::test]
async fn charges_refunds_and_standings_are_by_the_terms_too() {
    let knows = Arc::new(Knows::default());
    let engine = engine(&knows);
    let entries = [("tenant", "acme"), ("user", "ann")];
    let ask = EngineRequest::new(Key::from(&entries), Cost::from_u32(4));
    let charge = Op::Key(Act::Charge, ask);
    let (_, charged) = engine.turn().decide(&charge).await;
    assert!(charged.expect("done").is_done());
    let status = Op::Key(Act::Status, ask);
    let (turn, outcome) = engine.turn().decide(&status).await;
    let standings = turn.standings(&ask, outcome.expect("read").read());
    let of = |s: &tollgate_serve::engine::PolicyStanding<'_>| {
        (s.policy.name.clone(), s.status.remaining)
    };
    let left: Vec<_> = standings.expect("known").iter().map(of).collect();
    let expected = [("hour".to_owned(), 6), ("ceiling".to_owned(), 996)];
    assert_eq!(left, expected);
}
