//! Random policies and traces for property tests, with shrinking.
//!
//! A trace is drawn as steps relative to its policies ("one nanosecond before the window ends", "one more
//! than the capacity") and only then turned into numbers, so that it keeps hitting the edges while either
//! the policies or the steps shrink.

mod policies;
mod steps;

use std::ops::RangeInclusive;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::operation::Operation;
use crate::policy::Policy;

pub use policies::{policies, policy, policy_of};
use steps::{ModelAction, resolve, step};

/// How fine the times of a trace are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// Any nanosecond.
    Nanos,
    /// Whole milliseconds, as in trace files.
    Millis,
}

/// One request of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelRequest {
    pub key: String,
    /// Zero is a peek.
    pub cost: u64,
    /// Not always later than the request before.
    pub now_ns: u64,
}

/// Requests alone, for policies that are already fixed.
pub fn trace(
    policies: Vec<Policy>,
    grain: Grain,
    length: RangeInclusive<usize>,
) -> impl Strategy<Value = Vec<ModelRequest>> {
    operations_where(policies, grain, vec(step(Just(ModelAction::Check)), length))
        .prop_map(requests)
}

/// Every kind of operation, for policies that are already fixed.
pub fn operations(
    policies: Vec<Policy>,
    grain: Grain,
    length: RangeInclusive<usize>,
) -> impl Strategy<Value = Vec<Operation>> {
    operations_where(policies, grain, vec(step(steps::act()), length))
}

/// A contract of up to three policies and requests against it.
pub fn contract_and_trace(
    grain: Grain,
    length: RangeInclusive<usize>,
) -> impl Strategy<Value = (Vec<Policy>, Vec<ModelRequest>)> {
    let steps = vec(step(Just(ModelAction::Check)), length);
    (policies(1..=3), steps::origin(), steps).prop_map(move |(policies, origin, steps)| {
        let operations = resolve(&policies, grain, origin, &steps);
        (policies, requests(operations))
    })
}

/// A contract of up to three policies and every kind of operation against it.
pub fn contract_and_operations(
    grain: Grain,
    length: RangeInclusive<usize>,
) -> impl Strategy<Value = (Vec<Policy>, Vec<Operation>)> {
    let steps = vec(step(steps::act()), length);
    (policies(1..=3), steps::origin(), steps).prop_map(move |(policies, origin, steps)| {
        let operations = resolve(&policies, grain, origin, &steps);
        (policies, operations)
    })
}

fn operations_where(
    policies: Vec<Policy>,
    grain: Grain,
    steps: impl Strategy<Value = Vec<steps::ModelStep>>,
) -> impl Strategy<Value = Vec<Operation>> {
    (steps::origin(), steps)
        .prop_map(move |(origin, steps)| resolve(&policies, grain, origin, &steps))
}

fn requests(operations: Vec<Operation>) -> Vec<ModelRequest> {
    let request = |operation| match operation {
        Operation::Check { key, cost, now_ns } => Some(ModelRequest { key, cost, now_ns }),
        Operation::Charge { .. }
        | Operation::Refund { .. }
        | Operation::Settle { .. }
        | Operation::Reset { .. } => None,
    };
    operations.into_iter().filter_map(request).collect()
}
