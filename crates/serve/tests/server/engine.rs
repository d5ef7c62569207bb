//! The engine: scopes, sealed receipts, and contracts that change while turns are taken.

#![allow(clippy::expect_used, reason = "a broken set-up must stop the test")]

use tollgate_contract::Contracts;
use tollgate_limit::Cost;
use tollgate_node::{IdError, Key, NodeConfig};
use tollgate_serve::engine::{
    Act, Engine, EngineError, EngineRequest, Op, Scope, SealError, Secrets, Settle, StartedOp,
};

fn contracts(text: &str) -> Contracts {
    Contracts::parse(text).expect("a good file")
}

fn engine(text: &str) -> Engine {
    let secrets = Secrets::draw().expect("randomness");
    Engine::new(contracts(text), NodeConfig::default(), &secrets)
}

const TEN: &str = "
contracts:
  - id: users
    key: [user]
    policies: [{ name: daily, limit: 10, per: 24h, algorithm: fixed-window }]
";

fn ask(cost: u32) -> EngineRequest<'static> {
    EngineRequest::new(Key::Text(b"ann"), Cost::from_u32(cost))
}

fn left(engine: &Engine) -> u64 {
    let turn = engine.turn();
    let standings = turn.standings(&ask(0), None).expect("known");
    standings[0].status.remaining
}

/// Whether an operation is done, where nothing has to be waited for.
fn run(engine: &Engine, op: &Op<'_>) -> Done {
    match engine.turn().start(op) {
        StartedOp::Done(outcome) => outcome.map(|outcome| outcome.is_done()),
        StartedOp::Later(ticket) => panic!("it waits: {ticket:?}"),
    }
}

fn settle(engine: &Engine, receipt: &str, tokens: u32, id: Option<&str>) -> Done {
    let actual = Cost::from_u32(tokens);
    let settle = Settle {
        receipt,
        actual,
        id,
    };
    run(engine, &Op::Settle(settle))
}

type Done = Result<bool, EngineError>;

#[test]
fn a_scope_without_its_contract_is_refused() {
    let engine = engine(TEN);
    let asked = EngineRequest {
        scope: Scope::Contract("nobody"),
        ..ask(1)
    };
    let unknown = EngineError::UnknownContract("nobody".to_owned());
    let turn = engine.turn();
    assert_eq!(turn.check(&asked), Err(unknown.clone()));
    for act in [Act::Charge, Act::Refund, Act::Reset] {
        assert_eq!(run(&engine, &Op::Key(act, asked)), Err(unknown.clone()));
    }
    let answer = turn.check(&ask(3)).expect("all");
    let (contract, policy) = turn.named(&answer).expect("bound");
    assert_eq!((&*contract.id, &*policy.name), ("users", "daily"));
    assert_eq!(run(&engine, &Op::Key(Act::Reset, ask(0))), Ok(true));
    assert_eq!(left(&engine), 10);
}

#[test]
fn a_sealed_receipt_is_settled_once_and_through_a_reload() {
    let engine = engine(TEN);
    let turn = engine.turn();
    let answer = turn.check(&ask(6)).expect("asked");
    let receipt = turn.receipt(&answer).expect("charged");
    drop(turn);
    engine.load(contracts(&TEN.replace("10", "20")));
    assert_eq!(left(&engine), 14);
    for _ in 0..2 {
        assert_eq!(settle(&engine, &receipt, 1, None), Ok(true));
        assert_eq!(left(&engine), 19);
    }
    let otherwise = Err(EngineError::Id(IdError::SettledOtherwise { actual: 1 }));
    let again = settle(&engine, &receipt, 0, None);
    assert_eq!(again, otherwise);
    let broken = Err(EngineError::Receipt(SealError::Broken));
    assert_eq!(settle(&engine, "AAAA", 1, None), broken);
    engine.load(contracts(&TEN.replace("users", "others")));
    let gone = Err(EngineError::Receipt(SealError::Gone));
    assert_eq!(settle(&engine, &receipt, 1, None), gone);
}

#[test]
fn copies_of_one_answer_are_one_receipt() {
    let engine = engine(TEN);
    let asked = EngineRequest {
        id: Some("r1"),
        ..ask(6)
    };
    let receipts: Vec<_> = (0..2)
        .map(|_| {
            let turn = engine.turn();
            let answer = turn.check(&asked).expect("asked");
            turn.receipt(&answer).expect("charged")
        })
        .collect();
    assert_eq!(left(&engine), 4);
    for receipt in &receipts {
        let settled = settle(&engine, receipt, 1, Some("s1"));
        assert_eq!(settled, Ok(true));
        assert_eq!(left(&engine), 9);
        assert_eq!(settle(&engine, receipt, 1, None), Ok(true));
        assert_eq!(left(&engine), 9);
    }
}

#[test]
fn a_turn_names_an_answer_by_the_contracts_that_gave_it() {
    let engine = engine(TEN);
    let turn = engine.turn();
    engine.load(contracts(&TEN.replace("daily", "hourly")));
    let answer = turn.check(&ask(1)).expect("asked");
    assert_eq!(
        turn.node().contracts().as_slice()[0].policies[0].name,
        "daily"
    );
    let (_, policy) = turn.named(&answer).expect("bound");
    assert_eq!(policy.name, "hourly");
}

#[test]
fn a_batch_answers_like_its_requests_one_by_one() {
    let text = "
contracts:
  - { id: users, key: [user], policies: [{ name: p, limit: 3, per: 24h, algorithm: fixed-window }] }
  - { id: free, match: { plan: free }, key: [user], policies: [{ name: q, limit: 2, per: 24h, algorithm: fixed-window }] }
";
    let (single, batch) = (engine(text), engine(text));
    let names: Vec<_> = (0..200).map(|n| format!("user-{}", n % 7)).collect();
    let entries: Vec<_> = names
        .iter()
        .map(|name| [("plan", "free"), ("user", &**name)])
        .collect();
    let asks: Vec<_> = (0..200)
        .map(|n| {
            let key = if n % 3 == 0 {
                Key::from(&entries[n])
            } else {
                Key::from(&names[n])
            };
            let scope = [
                Scope::All,
                Scope::All,
                Scope::All,
                Scope::Contract("free"),
                Scope::Contract("none"),
            ][n % 5];
            let id = (n % 11 == 0).then_some(&*names[n]);
            EngineRequest {
                scope,
                id,
                ..EngineRequest::new(key, Cost::ONE)
            }
        })
        .collect();
    let turn = single.turn();
    let mut at = 0;
    batch.turn().check_many(&asks, |place, answer| {
        assert_eq!(place, at);
        let expected = turn.check(&asks[at]);
        let of = |answer: Result<tollgate_node::Answer, EngineError>| {
            answer.map(|answer| {
                (
                    answer.verdict.is_allowed(),
                    answer.contract,
                    answer.policy,
                    answer.remaining,
                )
            })
        };
        assert_eq!(of(answer), of(expected), "{at}");
        at += 1;
    });
    assert_eq!(at, asks.len());
}

#[test]
fn explains_who_denies_and_when_it_passes() {
    let engine = engine("
contracts:
  - id: free-users
    match: { plan: free }
    key: [user]
    policies:
      - { name: hourly, limit: 6, per: 1h }
      - { name: watched, limit: 2, per: 1h, mode: shadow }
  - { id: pro, match: { plan: pro }, key: [user, region], policies: [{ name: p, limit: 1, per: 1h }] }
");
    let turn = engine.turn();
    let entries = [("plan", "free"), ("user", "ann")];
    let ask = EngineRequest::new(Key::from(&entries), Cost::ONE);
    let passes = turn.explain(&ask, None).expect("known");
    assert_eq!(
        passes.sentence,
        "passes `hourly` of `free-users`: 0 of 6 used"
    );
    for _ in 0..6 {
        assert!(turn.check(&ask).expect("known").is_allowed());
    }
    let denied = turn.explain(&ask, None).expect("known");
    assert_eq!(
        denied.sentence,
        "denied by `hourly` of `free-users`: 6 of 6 used; passes in 10 min"
    );
    assert!(!denied.verdict.is_allowed());
    let watched = &denied.policies[1];
    assert!(!watched.forecast.is_enforced);
    assert!(
        watched
            .sentence
            .starts_with("passes, as it only watches, but would be denied by `watched`")
    );
    assert_eq!(
        denied.misses[0].lacks,
        ["`plan: pro` (it is `free`)", "an entry named `region`"]
    );
    let ask = EngineRequest {
        cost: Cost::from_u32(7),
        ..ask
    };
    let never = turn.explain(&ask, None).expect("known").sentence;
    assert_eq!(
        never,
        "denied by `hourly` of `free-users` for ever: it holds 6 at most, and the cost is 7"
    );
    let nobody = turn
        .explain(&EngineRequest::new(Key::from("ann"), Cost::ONE), None)
        .expect("known")
        .sentence;
    assert!(
        nobody.starts_with("passes: no contract binds this key; the nearest is `free-users`"),
        "{nobody}"
    );
}
