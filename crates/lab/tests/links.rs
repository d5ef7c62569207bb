//! The design `links` in whole nodes: exact where messages take no time, and as cheap as its reference.

#![allow(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "a test fails that way, and rounds what it shows"
)]

use tollgate_lab::{Cluster, Contender, set, simulate};

#[test]
fn limited_users_are_decided_as_by_one_bucket_at_the_cost_of_the_reference() {
    for (name, most) in [
        ("b-extreme", 345.0),
        ("b-substantial", 375.0),
        ("b-barely", 345.0),
        ("b-calm", 5.0),
        ("d", 355.0),
    ] {
        let set = set(name).unwrap();
        let cluster = Cluster::new(set.bucket());
        for seed in 3_001..3_003 {
            let trace = set.trace(cluster.bucket, cluster.nodes, seed);
            let outcome = simulate(&cluster, Contender::Links, &trace, seed).unwrap();
            let judged = outcome.judged;
            let wrong = (judged.over, judged.under, judged.false_rejections);
            assert_eq!(wrong, (0, 0, 0), "{name} {seed}");
            let kilobytes = outcome.traffic.bytes as f64 / 1_000.0;
            assert!(kilobytes <= most, "{name} {seed}: {kilobytes} KB");
        }
    }
}
