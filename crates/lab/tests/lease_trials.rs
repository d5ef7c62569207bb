//! Random schedules of faults for leases, of buckets and of windows: whatever happens, nothing is admitted too much and
//! no book is wrong. `cargo xtask mutants` runs this with each bug that is planted in `crates/lease`.

use tollgate_lab::{LeaseTrial, LeaseTried};

/// Runs these, and sees that nothing is broken.
fn all(trial: impl Fn(u64) -> LeaseTrial, seeds: u64) -> LeaseTried {
    let mut sum = LeaseTried::default();
    for seed in 0..seeds {
        let trial = trial(seed);
        let tried = trial.run(seed);
        assert_eq!(tried.broken, 0, "{trial:?}, seed {seed}");
        sum.checks += tried.checks;
        sum.admitted += tried.admitted;
        sum.promised += tried.promised;
        sum.granted += tried.granted;
    }
    println!("{sum:?}");
    sum
}

#[test]
fn no_schedule_of_faults_breaks_anything() {
    let is_stepping = |seed| seed % 4 == 3;
    let of = |seed| {
        if is_stepping(seed) {
            LeaseTrial::BucketAndSteps
        } else {
            LeaseTrial::Bucket
        }
    };
    let sum = all(of, 300);
    assert!(sum.checks > 500_000, "{} checks", sum.checks);
    assert!(sum.admitted > 100_000, "{} admitted", sum.admitted);
    assert!(sum.promised > 5_000, "{} promised", sum.promised);
    assert!(sum.granted > 5_000, "{} granted", sum.granted);
}

#[test]
fn no_schedule_of_faults_breaks_anything_where_nodes_hold_leases() {
    let sum = all(|_| LeaseTrial::BucketToNodes, 200);
    assert!(sum.checks > 300_000, "{} checks", sum.checks);
    assert!(sum.admitted > 50_000, "{} admitted", sum.admitted);
    assert!(sum.promised > 2_000, "{} promised", sum.promised);
}

#[test]
fn no_schedule_of_faults_admits_more_than_one_window_would() {
    for window in LeaseTrial::WINDOWS {
        let sum = all(|_| window, 100);
        assert!(sum.checks > 50_000, "{} checks", sum.checks);
        assert!(sum.admitted > 5_000, "{} admitted", sum.admitted);
    }
}
