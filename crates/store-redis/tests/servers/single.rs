//! One server: everything an engine must pass, and what is kept of a key.

use tollgate_conformance::{Plan, all, ledgers};
use tollgate_parts::Redis as Server;

use crate::kit::{FIVE, PATIENCE, book, check, config, one, open};

#[tokio::test(flavor = "multi_thread")]
async fn a_single_server_passes_whole() {
    let server = Server::start();
    let engine = open(&config(&server)).await;
    for seed in 0..3 {
        let result = all(&engine, &Plan::of(seed, 12)).await;
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
    let lost = ledgers(&engines, &Plan::default()).await;
    let lost = lost.unwrap_or_else(|fault| panic!("{fault}"));
    println!("512 counts, {lost} swaps lost");
}
