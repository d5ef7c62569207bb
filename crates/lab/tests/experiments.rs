//! Experiments about supply and leases as they are run: the same on any number of threads, sound designs never over,
//! unsound ones seen.

#![allow(
    clippy::unwrap_used,
    reason = "a test fails that way, and rounds what it shows"
)]

use tollgate_lab::{LeaseRow, Report, RunRequest, SupplyRow, experiments};

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

fn row<'a>(report: &'a Report, design: &str) -> &'a SupplyRow {
    let found = report.supply.iter().find(|row| row.design == design);
    found.unwrap_or_else(|| panic!("no row of {design}"))
}

#[test]
fn faults_of_supply_are_the_same_on_one_thread_and_on_two() {
    let (one, two) = (run("supply-faults", 2, 1), run("supply-faults", 2, 2));
    assert_eq!(one.supply, two.supply);
    assert!(one.supply.iter().all(|row| row.more.hash != 0));
    assert_eq!(one.closing, two.closing);
}

#[test]
fn no_fault_lets_more_pass_than_the_limit_and_what_is_unsound_is_seen() {
    let report = run("supply-faults", 6, 2);
    assert_eq!(report.failure, None);
    for row in &report.supply {
        let (over, violations) = (row.over.unwrap(), row.violations.unwrap());
        if !row.may_break {
            assert_eq!((over, violations), (0, 0), "{}", row.design);
            assert_eq!(row.recovered, Some(row.seeds), "{}", row.design);
            assert!(row.checks.unwrap() > 30_000, "{}", row.design);
        }
    }
    for design in [
        "document",
        "document as printed",
        "mutant: inherit before the lease ends",
        "mutant: grant before journal",
        "mutant: duplicate credited",
        "mutant: no quarantine after boot",
    ] {
        let row = row(&report, design);
        assert!(row.violations.unwrap() > 0, "{design}");
        assert!(row.may_break, "{design}");
    }
    assert!(
        report
            .closing
            .starts_with("0 over-admitted, 0 invariant violations, ")
    );
    assert!(!report.figures.is_empty());
}

#[test]
fn faults_of_leases_are_the_same_on_one_thread_and_on_two_and_nothing_is_over() {
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
