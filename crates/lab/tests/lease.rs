//! Experiments about leases as they are run: the same on any number of threads, sound designs never over, unsound ones
//! seen.

#![allow(
    clippy::unwrap_used,
    reason = "a test fails that way, and rounds what it shows"
)]

use tollgate_lab::{LeaseRow, Report, RunRequest, experiments};

fn run(name: &str, seeds: u64, threads: usize) -> Report {
    let experiment = experiments().find(|own| own.name == name).unwrap();
    let ask = RunRequest {
        first: 1,
        seeds: Some(seeds),
        threads,
        designs: None,
        curves: true,
        progress: &|_, _| {},
    };
    experiment.run(&ask).unwrap()
}

#[test]
fn faults_are_the_same_on_one_thread_and_on_two_and_nothing_is_over() {
    let (one, two) = (run("lease-faults", 10, 1), run("lease-faults", 10, 2));
    assert_eq!(one.lease, two.lease);
    assert_eq!(one.closing, two.closing);
    assert_eq!(one.failure, None);
    for row in &one.lease {
        let (over, violations) = (row.over.unwrap(), row.violations.unwrap());
        if row.may_break {
            continue;
        }
        assert_eq!((over, violations), (0, 0), "{}", row.design);
        assert!(row.checks.unwrap() > 2_000, "{}", row.design);
    }
    assert!(
        one.closing
            .starts_with("0 over-admitted, 0 invariant violations, ")
    );
    let is_sync = |row: &&LeaseRow| row.design.starts_with("sync");
    let over = one.lease.iter().filter(is_sync).filter_map(|row| row.over);
    assert!(over.sum::<u64>() > 100);
    // Ten schedules prove nothing about bars that ask for more.
    assert_eq!(one.bars.first().unwrap().met, None);
}
