//! One seed, one history: on every run, with any number of threads, on every machine.

#![allow(
    clippy::unwrap_used,
    reason = "a test fails that way, and rounds what it shows"
)]

use std::sync::Arc;

use tollgate_lab::{
    Cluster, Contender, Job, Request, RunBatch, WorldFault, run_batch, set, simulate,
};
use tollgate_limit::Span;

fn millis(count: u64) -> Span {
    Span::from_nanos(u128::from(count) * 1_000_000)
}

/// A world in which much happens.
fn busy(kind: Contender, seed: u64) -> u64 {
    let set = set("b-substantial").unwrap();
    let cluster = Cluster {
        nodes: 5,
        faults: vec![
            WorldFault::Delay {
                base: millis(5),
                jitter: millis(40),
            },
            WorldFault::Loss(50_000),
            WorldFault::Duplication(200_000),
            WorldFault::Skew(millis(50)),
            WorldFault::Crash {
                node: 3,
                at: millis(20_000),
                outage: millis(10_000),
                keeps_state: false,
            },
        ],
        ..Cluster::new(set.bucket())
    };
    let trace = set.trace(cluster.bucket, cluster.nodes, seed);
    simulate(&cluster, kind, &trace, seed).unwrap().hash
}

#[test]
fn a_seed_is_a_history() {
    for kind in Contender::DESIGNS {
        assert_eq!(busy(kind, 1), busy(kind, 1), "{kind}");
        assert_ne!(busy(kind, 1), busy(kind, 2), "{kind}");
    }
}

#[test]
fn threads_change_nothing() {
    let set = set("b-barely").unwrap();
    let trace = |seed| -> Arc<[Request]> { set.trace(set.bucket(), 30, seed).into() };
    let hashes = |threads| {
        let job = |kind| Job {
            set: set.name.to_owned(),
            contender: kind,
            cluster: Cluster::new(set.bucket()),
            trace: &trace,
        };
        let batch = RunBatch {
            jobs: [Contender::Links, Contender::Local].map(job).into(),
            first: 7,
            seeds: 5,
            threads,
        };
        let rows = run_batch(&batch, &|_| {}).unwrap();
        rows.iter()
            .flat_map(|row| row.runs.iter().map(|run| (run.seed, run.hash)))
            .collect::<Vec<_>>()
    };
    let one = hashes(1);
    assert_eq!(one.len(), 10);
    assert_eq!(one, hashes(4));
}

/// These numbers come from one machine; any other must find the same. Whoever changes the world, a set, what a node
/// does or what the counter sends changes them too, and says so.
#[test]
fn a_history_is_the_same_on_every_machine() {
    let found =
        [Contender::Local, Contender::Counter].map(|kind| format!("{:016x}", busy(kind, 1)));
    assert_eq!(found, ["29fd7004e976f72c", "6018976db677bb9e"]);
}
