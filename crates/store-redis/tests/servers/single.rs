//! One server: the common suite, and the stored state of a key.

use tollgate_conformance::{SuitePlan, all, ledgers};
use tollgate_limit::Cost;
use tollgate_parts::Redis as Server;
use tollgate_store::{Engine, EngineAnswer, Verb};

use crate::kit::{FIVE, PATIENCE, asks, book, check, config, one, open};

#[tokio::test(flavor = "multi_thread")]
async fn a_single_server_passes_whole() {
    let server = Server::start();
    let engine = open(&config(&server)).await;
    for seed in 0..3 {
        let result = all(&engine, &SuitePlan::of(seed, 12)).await;
        result.unwrap_or_else(|fault| panic!("{fault}"));
    }
    assert_eq!(engine.figures().disagreements(), 0);
    let figures = engine.figures();
    println!(
        "{} asks in {} calls, {} written by hand, {} of those again",
        figures.asks(),
        figures.calls(),
        figures.writes_by_hand(),
        figures.swaps_lost()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn five_policies_are_one_call() {
    let server = Server::start();
    let engine = open(&config(&server)).await;
    let book = book(&FIVE);
    assert_eq!(one(&engine, check(&book, 1, 1), PATIENCE).await, Ok(true));
    server.cli(&["CONFIG", "RESETSTAT"]);
    for _ in 0..10 {
        assert_eq!(one(&engine, check(&book, 1, 1), PATIENCE).await, Ok(true));
    }
    assert_eq!((server.calls("evalsha"), server.calls("eval")), (10, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn ledgers_of_two_ways_to_one_server_are_swapped_in_one_order() {
    let server = Server::start();
    let engines = [open(&config(&server)).await, open(&config(&server)).await];
    let lost = ledgers(&engines, &SuitePlan::default()).await;
    let lost = lost.unwrap_or_else(|fault| panic!("{fault}"));
    println!("512 counts, {lost} swaps lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_no_decision_is_one_call() {
    let server = Server::start();
    let engine = open(&config(&server)).await;
    let every = [
        &FIVE[..],
        &["name: log, limit: 9, per: 1h, algorithm: sliding-log, max_debt: 9"],
        &["name: slices, limit: 9, per: 1h, algorithm: sliding-counters, count_refused: true"],
    ]
    .concat();
    let book = book(&every);
    // Loads the script.
    let charge = asks(&book, 3, Verb::Charge(Cost::from_u32(1)));
    assert_eq!(
        engine.ask(vec![charge], PATIENCE).await,
        [Ok(EngineAnswer::Done)]
    );
    for name in [1, 2] {
        let said = engine
            .ask(vec![check(&book, name, 3)], PATIENCE)
            .await
            .remove(0);
        let Ok(EngineAnswer::Outcome { outcome, .. }) = said else {
            panic!("{said:?}");
        };
        let charge = outcome.receipt;
        let settle = |actual| Verb::Settle {
            charge,
            actual: Cost::from_u32(actual),
        };
        let two = Cost::from_u32(2);
        for verb in [settle(5), settle(1), Verb::Charge(two), Verb::Refund(two)] {
            server.cli(&["CONFIG", "RESETSTAT"]);
            let said = engine.ask(vec![asks(&book, name, verb)], PATIENCE).await;
            assert_eq!(said, [Ok(EngineAnswer::Done)], "{verb:?}");
            assert_eq!(
                (server.calls("evalsha"), server.calls("eval")),
                (1, 0),
                "{verb:?}"
            );
        }
    }
    assert_eq!(engine.figures().writes_by_hand(), 2, "the checks alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_no_policy_counts_writes_nothing() {
    let server = Server::start();
    let engine = open(&config(&server)).await;
    let book = book(&["name: quiet, limit: 1, per: 1h, mode: shadow"]);
    let shown = async || {
        let said = engine.ask(vec![asks(&book, 1, Verb::Show)], PATIENCE).await;
        said.into_iter().next()
    };
    assert_eq!(one(&engine, check(&book, 1, 1), PATIENCE).await, Ok(true));
    let before = shown().await;
    assert_eq!(one(&engine, check(&book, 1, 1), PATIENCE).await, Ok(true));
    assert_eq!(shown().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_one_batch_are_one_call() {
    let server = Server::start();
    let engine = open(&config(&server)).await;
    let book = book(&FIVE);
    // Key `n` gets n requests for sixty tokens, of which one fits; the script is loaded first.
    let batch = |names: core::ops::Range<u128>| -> Vec<_> {
        let each = names.flat_map(|name| (0..name).map(move |_| name));
        each.map(|name| check(&book, name, 60)).collect()
    };
    assert!(engine.ask(batch(1..3), PATIENCE).await[0].is_ok());
    server.cli(&["CONFIG", "RESETSTAT"]);
    let said = engine.ask(batch(3..12), PATIENCE).await;
    assert_eq!((server.calls("evalsha"), server.calls("eval")), (1, 0));
    let admitted = said.iter().map(|said| match said {
        Ok(EngineAnswer::Outcome { outcome, .. }) => outcome.decision.verdict.is_allowed(),
        said => panic!("a check is answered by {said:?}"),
    });
    let expected = (3..12).flat_map(|name| (0..name).map(|number| number == 0));
    assert_eq!(admitted.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    assert_eq!(engine.figures().disagreements(), 0);
}
