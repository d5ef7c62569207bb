//! How long keys live: until they equal an unknown key, and a little longer. Only shapes stay for ever.

use std::time::{Duration, Instant};

use tollgate_limit::{Cost, Span};
use tollgate_parts::Redis as Server;
use tollgate_store::{Engine, LedgerId, Name, Verb};

use crate::kit::{PATIENCE, asks, book, check, config, now, open, until};

type Fresh = fn(u64) -> u64;

/// Every algorithm, and when one token of two, spent at a millisecond, is fully restored.
const ALGORITHMS: [(&str, Fresh); 6] = [
    ("token-bucket", |at| at + 500),
    ("leaky-bucket", |at| at + 500),
    ("fixed-window", |at| at / 1_000 * 1_000 + 1_000),
    ("sliding-weighted", |at| at / 1_000 * 1_000 + 2_000),
    ("sliding-log", |at| at + 1_000),
    ("sliding-counters, slices: 10", |at| at / 100 * 100 + 1_000),
];
const LINGER: Duration = Duration::from_secs(1);
/// The most that lifetimes are rounded up by.
const ROUNDED_MS: i64 = 2;

#[tokio::test(flavor = "multi_thread")]
async fn every_key_goes_when_it_is_fresh_and_has_lingered() {
    let server = Server::start();
    let mut config = config(&server);
    config.linger = LINGER;
    let engine = open(&config).await;
    let mut last = 0;
    for (place, (algorithm, fresh)) in (0_u128..).zip(ALGORITHMS) {
        let book = book(&[&format!(
            "name: only, limit: 2, per: 1s, algorithm: {algorithm}"
        )]);
        // The script decides one of them, the node the other.
        let (checked, charged) = (
            check(&book, 2 * place, 1),
            asks(&book, 2 * place + 1, Verb::Charge(Cost::ONE)),
        );
        for ask in [checked, charged] {
            let begin = Instant::now();
            let key = format!("tg:{{{:016x}{:032x}}}", book.tag(), ask.name.0);
            let asked = ask.now.as_nanos() / 1_000_000;
            let end = fresh(asked) + 1_000;
            last = last.max(end);
            let said = engine.ask(vec![ask], PATIENCE).await.remove(0);
            assert!(said.is_ok(), "{algorithm}: {said:?}");
            let lists =
                if algorithm.starts_with("sliding-weighted") || !algorithm.starts_with("sliding") {
                    vec![]
                } else {
                    vec![format!("{key}:0")]
                };
            for key in lists.into_iter().chain([key]) {
                let left: i64 = server.cli(&["PTTL", &key]).parse().expect(&key);
                let since = i64::try_from(begin.elapsed().as_millis()).unwrap() + 1;
                let most = i64::try_from(end - asked).unwrap() + ROUNDED_MS;
                assert!(
                    (most - since - ROUNDED_MS..=most).contains(&left),
                    "{algorithm} {key}: {left} ms, of {most}, {since} ms after"
                );
            }
        }
    }
    let states = || {
        let keys = server.cli(&["KEYS", "*"]);
        let is_state = |key: &&str| !key.starts_with("tg:shape:");
        keys.lines().filter(is_state).count()
    };
    until("every key has gone", async || states() == 0).await;
    let gone = now().as_nanos() / 1_000_000;
    assert!(gone >= last, "the last went {} ms early", last - gone);
    // One for each set of policies, for any number of keys.
    let shapes = server.cli(&["KEYS", "*"]);
    assert_eq!(shapes.lines().count(), ALGORITHMS.len(), "{shapes}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_goes_when_it_says_nothing_any_more_and_has_lingered() {
    let server = Server::start();
    let mut config = config(&server);
    config.linger = LINGER;
    let engine = open(&config).await;
    let id = LedgerId {
        tag: 1,
        name: Name(2),
    };
    let nothing = engine.load(id, PATIENCE).await.unwrap();
    let keep = Span::from_nanos(500_000_000);
    let swap = nothing.replaced_by(std::sync::Arc::from([3]), keep);
    let begin = Instant::now();
    engine.swap(id, swap, PATIENCE).await.unwrap();
    until("it has gone", async || {
        engine.load(id, PATIENCE).await.unwrap().bytes.is_none()
    })
    .await;
    let lived = begin.elapsed();
    assert!(lived >= Duration::from_millis(1_490), "{lived:?}");
}
