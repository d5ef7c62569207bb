//! The largest limits, costs and periods, the first instant and the last centuries: still the model's answers.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use tollgate_oracle::strategy::{self, Grain};
use tollgate_oracle::{ModelAlgorithm, Operation, Period, Policy};
use tollgate_store::Engine;

use crate::fault::EngineFault;
use crate::kit::{Case, DECADE_NS, SECOND_NS};
use crate::plan::SuitePlan;
use crate::trace::play;

/// L, B and n about 2^40, P about ten years, from the epoch on and about the year 2500.
pub async fn extremes(engine: &Arc<impl Engine>, plan: &SuitePlan) -> Result<(), EngineFault> {
    for case in 0..plan.cases * 2 {
        let seed = plan.seed_of(12, case);
        let (policies, mut operations) = SuitePlan::draw(seed, &lives(plan.steps));
        let begin = if case % 2 == 0 { 0 } else { YEAR_2500_NS };
        move_to(begin, &mut operations);
        let case = Case::new(&**engine, plan, "extremes", seed);
        play(case, policies, &operations).await?;
    }
    Ok(())
}

const YEAR_2500_NS: u64 = 16_725_225_600 * SECOND_NS;
/// The latest start of a history that ends before the last instant.
const LATEST_NS: u64 = u64::MAX - 1 - DECADE_NS * 2;

fn lives(steps: usize) -> impl Strategy<Value = (Vec<Policy>, Vec<Operation>)> {
    let amounts = || select(vec![1_u64, 2, (1 << 40) - 1, 1 << 40]);
    let periods = select(vec![1_u64, 7, DECADE_NS - 7, DECADE_NS]);
    let algorithms = select(vec![
        ModelAlgorithm::TokenBucket,
        ModelAlgorithm::LeakyBucket,
        ModelAlgorithm::FixedWindow,
        ModelAlgorithm::SlidingLog,
        ModelAlgorithm::SlidingCounters { slices: 1 },
        ModelAlgorithm::SlidingWeighted,
    ]);
    let delays = prop_oneof![Just(None), Just(Some(None)), Just(Some(Some(DECADE_NS)))];
    let policy = (algorithms, amounts(), periods, amounts(), delays);
    let policy = policy.prop_map(|(algorithm, limit, period_ns, burst, delay)| {
        let mut policy = Policy::new(algorithm, limit, Period::Nanos(period_ns));
        let is_bucket = matches!(
            algorithm,
            ModelAlgorithm::TokenBucket | ModelAlgorithm::LeakyBucket
        );
        policy.burst = is_bucket.then_some(burst);
        policy.delay = delay.filter(|_| algorithm == ModelAlgorithm::TokenBucket);
        policy
    });
    proptest::collection::vec(policy, 1..=2).prop_flat_map(move |policies| {
        let operations = strategy::operations(policies.clone(), Grain::Nanos, 1..=steps);
        (Just(policies), operations)
    })
}

/// Moves a history to another start.
fn move_to(begin: u64, operations: &mut [Operation]) {
    let first = operations.iter().find_map(|operation| match operation {
        Operation::Check { now_ns, .. }
        | Operation::Charge { now_ns, .. }
        | Operation::Refund { now_ns, .. }
        | Operation::Settle { now_ns, .. } => Some(*now_ns),
        Operation::Reset { .. } => None,
    });
    let first = first.unwrap_or(0);
    for operation in operations {
        match operation {
            Operation::Check { now_ns, .. }
            | Operation::Charge { now_ns, .. }
            | Operation::Refund { now_ns, .. }
            | Operation::Settle { now_ns, .. } => {
                let since = now_ns.saturating_sub(first);
                *now_ns = begin.saturating_add(since).min(LATEST_NS);
            }
            Operation::Reset { .. } => {}
        }
    }
}
