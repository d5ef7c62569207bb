//! Control machines under faults: what they are sure of, and what is well again afterwards.
//!
//! Not here: the schedules and the judge.

use tollgate_lab::nodes::control::campaign::trial;

#[test]
fn no_two_nodes_are_ever_sure_of_the_same_slot() {
    for seed in seeds(12) {
        let trial = trial(seed);
        assert!(
            trial.findings.is_empty(),
            "seed {seed}: {:?}",
            trial.findings
        );
        assert!(trial.checks > 100 && trial.commits > 5);
    }
}

/// The usual number of seeds, unless asked otherwise.
#[allow(
    clippy::disallowed_methods,
    reason = "a replay is asked for from outside"
)]
fn seeds(usual: u64) -> std::ops::Range<u64> {
    let setting = |name| std::env::var(name).ok()?.parse().ok();
    match setting("SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..setting("SCHEDULES").unwrap_or(usual),
    }
}
