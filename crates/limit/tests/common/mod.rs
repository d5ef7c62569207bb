//! The same policy for the product and for the model.

#![allow(clippy::expect_used, reason = "a broken set-up must stop the test")]

use tollgate_limit::{Algorithm, Calendar, OnLimit, Period, Policy, PolicyConfig, PolicySet};
use tollgate_oracle as oracle;

/// The product's set of the model's policies.
pub(crate) fn set_of(policies: &[oracle::Policy]) -> PolicySet {
    let policies = policies
        .iter()
        .map(|policy| Policy::new(config_of(policy)).expect("a valid policy"));
    PolicySet::new(policies.collect()).expect("a valid set")
}

fn config_of(policy: &oracle::Policy) -> PolicyConfig {
    let mut config = PolicyConfig::new(algorithm_of(policy), policy.limit, period_of(policy));
    if let oracle::ModelAlgorithm::SlidingCounters { slices } = policy.algorithm {
        config.slices = u32::try_from(slices).expect("few slices");
    }
    if config.algorithm.is_bucket() {
        config.burst = policy.burst;
    }
    if let Some(max_wait_ns) = policy.delay {
        config.on_limit = OnLimit::Delay { max_wait_ns };
    }
    config.offset_ns = policy.offset_ns;
    config.max_debt = policy.max_debt;
    config.count_refused = policy.count_refused;
    config
}

fn algorithm_of(policy: &oracle::Policy) -> Algorithm {
    match policy.algorithm {
        oracle::ModelAlgorithm::TokenBucket => Algorithm::TokenBucket,
        oracle::ModelAlgorithm::LeakyBucket => Algorithm::LeakyBucket,
        oracle::ModelAlgorithm::FixedWindow => Algorithm::FixedWindow,
        oracle::ModelAlgorithm::SlidingLog => Algorithm::SlidingLog,
        oracle::ModelAlgorithm::SlidingCounters { .. } => Algorithm::SlidingCounters,
        oracle::ModelAlgorithm::SlidingWeighted => Algorithm::SlidingWeighted,
    }
}

fn period_of(policy: &oracle::Policy) -> Period {
    let unit = match policy.period {
        oracle::Period::Nanos(nanos) => return Period::from_nanos(nanos),
        oracle::Period::Day => Calendar::DAY,
        oracle::Period::Week => Calendar::WEEK,
        oracle::Period::Month => Calendar::MONTH,
        oracle::Period::Year => Calendar::YEAR,
    };
    Period::Calendar(match &policy.time_zone {
        None => unit,
        Some(name) => unit.in_zone(name).expect("a zone"),
    })
}
