//! Invariants of the model for any policies and operations.

use proptest::prelude::*;
use tollgate_oracle::strategy::{Grain, contract_and_operations, policy, trace};
use tollgate_oracle::{Model, ModelAlgorithm, Policy};

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_retry_passes_when_told_and_not_a_nanosecond_earlier(
        (policies, operations) in contract_and_operations(Grain::Nanos, 1..=40),
    ) {
        let mut model = Model::new(policies);
        let mut outstanding = Vec::new();
        for operation in &operations {
            let answer = model.apply(operation, &mut outstanding);
            let (Some(answer), tollgate_oracle::Operation::Check { key, cost, now_ns }) = (answer, operation) else {
                continue;
            };
            prop_assert_eq!(answer.allowed, answer.policy.is_none());
            let Some(Ok(retry_after)) = answer.retry_after.map(u64::try_from) else {
                continue;
            };
            let newest = model.keys.get(key).and_then(|state| state.newest_ns);
            let now_ns = newest.map_or(*now_ns, |newest| newest.max(*now_ns));
            let Some(then) = now_ns.checked_add(retry_after) else {
                continue;
            };
            prop_assert!(model.clone().check(key, *cost, then).allowed);
            prop_assert!(!model.clone().check(key, *cost, then - 1).allowed);
        }
    }

    #[test]
    fn slices_always_divide_the_period(policy in policy()) {
        if let ModelAlgorithm::SlidingCounters { slices } = policy.algorithm {
            prop_assert!(policy.period.nominal_ns().is_multiple_of(slices));
        }
        prop_assert!(policy.limit >= 1 && policy.capacity() >= 1 && policy.period.nominal_ns() >= 1);
    }

    #[test]
    fn admitted_cost_stays_within_burst_plus_rate(
        (policy, requests) in policy().prop_flat_map(|policy| {
            let plain = Policy { algorithm: ModelAlgorithm::TokenBucket, delay: None, ..policy };
            (Just(plain.clone()), trace(vec![plain], Grain::Nanos, 1..=40))
        }),
    ) {
        let mut model = Model::new(vec![policy.clone()]);
        let mut admitted: Vec<(u128, u128)> = Vec::new();
        for request in requests {
            let answer = model.check("k", request.cost, request.now_ns);
            if let Some(receipt) = answer.receipt {
                admitted.push((receipt.time_ns.into(), receipt.cost.into()));
            }
        }
        let period = u128::from(policy.period.nominal_ns());
        for from in 0..admitted.len() {
            let mut sum = 0;
            for (time, cost) in &admitted[from..] {
                sum += cost;
                let earned = (time - admitted[from].0) * u128::from(policy.limit);
                prop_assert!(sum * period <= u128::from(policy.capacity()) * period + earned);
            }
        }
    }
}
