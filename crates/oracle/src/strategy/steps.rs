//! Steps of a trace, relative to the policies they are taken against.

use proptest::prelude::*;
use proptest::sample::select;

use super::Grain;
use crate::operation::Operation;
use crate::policy::{ModelAlgorithm, Policy};
use crate::search;

#[derive(Clone, Copy, Debug)]
pub(super) enum ModelAction {
    Check,
    Charge,
    Refund,
    Settle(usize),
    Reset,
}

#[derive(Clone, Copy, Debug)]
enum Amount {
    Exactly(u64),
    /// So many sixteenths of the capacity.
    Sixteenths(u64),
    /// The capacity, one less or one more.
    NearCapacity(i64),
    Huge,
}

/// How a step moves the clock.
#[derive(Clone, Copy, Debug)]
enum Move {
    Stay,
    Nanos(u64),
    Millis(u64),
    /// About the time one unit takes.
    PerUnit(i64),
    /// So many sixteenths of the period.
    Sixteenths(u64),
    /// About the end of the current window or slice.
    Edge(i64),
    /// About one period.
    Period(i64),
    /// Several periods.
    Ages(u64),
    BackNanos(u64),
    BackSixteenths(u64),
}

/// One step: key, reference policy of the clock, time, action, amount.
#[derive(Clone, Debug)]
pub(super) struct ModelStep {
    key: usize,
    policy: usize,
    clock: Move,
    act: ModelAction,
    amount: Amount,
}

/// Where a trace begins: the epoch, or shortly before a transition of some zone.
pub(super) fn origin() -> impl Strategy<Value = u64> {
    let seconds = vec![
        0,
        1,
        1_035_685_790, // 2002-10-27 02:29:50 UTC: St. Johns was about to step back over midnight
        1_325_239_000, // 2011-12-30 09:56 UTC: Samoa was about to skip a day
        1_541_300_000, // 2018-11-04 02:53 UTC: Sao Paulo was about to skip midnight
        1_709_164_800, // 2024-02-29 00:00 UTC
        1_711_846_000, // 2024-03-31 00:46 UTC: Ljubljana was about to lose an hour
        1_729_990_000, // 2024-10-27 00:46 UTC: Ljubljana was about to gain it back
        1_735_689_599, // 2024-12-31 23:59:59 UTC
    ];
    (select(seconds), 0_u64..2_000_000_000)
        .prop_map(|(seconds, nanos)| seconds * 1_000_000_000 + nanos)
}

pub(super) fn act() -> impl Strategy<Value = ModelAction> {
    prop_oneof![
        10 => Just(ModelAction::Check),
        2 => Just(ModelAction::Charge),
        2 => Just(ModelAction::Refund),
        4 => (0_usize..8).prop_map(ModelAction::Settle),
        1 => Just(ModelAction::Reset),
    ]
}

pub(super) fn step(act: impl Strategy<Value = ModelAction>) -> impl Strategy<Value = ModelStep> {
    let key = prop_oneof![8 => Just(0_usize), 1 => Just(1), 1 => Just(2)];
    (key, 0_usize..3, clock(), act, amount()).prop_map(|(key, policy, clock, act, amount)| {
        ModelStep {
            key,
            policy,
            clock,
            act,
            amount,
        }
    })
}

fn clock() -> impl Strategy<Value = Move> {
    let near = -2_i64..=2;
    prop_oneof![
        6 => Just(Move::Stay),
        2 => (1_u64..=10).prop_map(Move::Nanos),
        2 => (1_u64..=2_000).prop_map(Move::Millis),
        3 => near.clone().prop_map(Move::PerUnit),
        3 => (1_u64..=16).prop_map(Move::Sixteenths),
        3 => near.clone().prop_map(Move::Edge),
        2 => near.prop_map(Move::Period),
        1 => (2_u64..=4).prop_map(Move::Ages),
        1 => (1_u64..=10).prop_map(Move::BackNanos),
        1 => (1_u64..=40).prop_map(Move::BackSixteenths),
    ]
}

fn amount() -> impl Strategy<Value = Amount> {
    prop_oneof![
        6 => Just(Amount::Exactly(1)),
        2 => Just(Amount::Exactly(0)),
        4 => (2_u64..=5).prop_map(Amount::Exactly),
        4 => (1_u64..=15).prop_map(Amount::Sixteenths),
        3 => (-1_i64..=1).prop_map(Amount::NearCapacity),
        1 => Just(Amount::Huge),
    ]
}

pub(super) fn resolve(
    policies: &[Policy],
    grain: Grain,
    origin: u64,
    steps: &[ModelStep],
) -> Vec<Operation> {
    let mut now_ns = origin;
    let mut operations = Vec::new();
    for step in steps {
        let policy = &policies[step.policy % policies.len()];
        now_ns = moved(policy, now_ns, step.clock).min(LATEST_NS);
        if grain == Grain::Millis {
            now_ns -= now_ns % 1_000_000;
        }
        let key = ["ann", "bob", "čuk"][step.key].to_owned();
        let huge = match step.act {
            // A refused request that counts is a charge, and charges stay within the documented bounds.
            ModelAction::Check if !policies.iter().any(|policy| policy.count_refused) => u64::MAX,
            ModelAction::Check
            | ModelAction::Charge
            | ModelAction::Refund
            | ModelAction::Settle(_)
            | ModelAction::Reset => 1 << 40,
        };
        let amount = amount_of(tightest(policies), step.amount, huge);
        operations.push(match step.act {
            ModelAction::Check => Operation::Check {
                key,
                cost: amount,
                now_ns,
            },
            ModelAction::Charge => Operation::Charge {
                key,
                amount,
                now_ns,
            },
            ModelAction::Refund => Operation::Refund {
                key,
                amount,
                now_ns,
            },
            ModelAction::Settle(receipt) => Operation::Settle {
                receipt,
                actual: amount,
                now_ns,
            },
            ModelAction::Reset => Operation::Reset { key },
        });
    }
    operations
}

/// The policy that large requests fail first, so that most of them can pass.
fn tightest(policies: &[Policy]) -> &Policy {
    policies
        .iter()
        .min_by_key(|policy| policy.capacity())
        .expect("a contract has policies")
}

fn amount_of(policy: &Policy, amount: Amount, huge: u64) -> u64 {
    match amount {
        Amount::Exactly(amount) => amount,
        Amount::Sixteenths(count) => {
            let (whole, rest) = (policy.capacity() / 16, policy.capacity() % 16);
            (whole * count + rest * count / 16).max(1)
        }
        Amount::NearCapacity(by) => policy.capacity().saturating_add_signed(by),
        Amount::Huge => huge,
    }
}

fn moved(policy: &Policy, now_ns: u64, clock: Move) -> u64 {
    let period = policy.period.nominal_ns();
    let later = |nanos: u64| now_ns.saturating_add(nanos);
    match clock {
        Move::Stay => now_ns,
        Move::Nanos(nanos) => later(nanos),
        Move::Millis(millis) => later(millis * 1_000_000),
        Move::PerUnit(by) => later((period / policy.limit).saturating_add_signed(by)),
        Move::Sixteenths(count) => later(period / 16 * count),
        Move::Edge(by) => edge(policy, now_ns).saturating_add_signed(by).max(now_ns),
        Move::Period(by) => later(period.saturating_add_signed(by)),
        Move::Ages(count) => later(period.saturating_mul(count)),
        Move::BackNanos(nanos) => now_ns.saturating_sub(nanos),
        Move::BackSixteenths(count) => now_ns.saturating_sub(period / 16 * count),
    }
}

/// The end of the window or slice that holds `now_ns`.
fn edge(policy: &Policy, now_ns: u64) -> u64 {
    let now = i128::from(now_ns);
    let start_of = |time: i128| match policy.algorithm {
        ModelAlgorithm::FixedWindow => policy.window_start(time),
        ModelAlgorithm::SlidingCounters { slices } => {
            time / (policy.period_ns() / i128::from(slices))
        }
        ModelAlgorithm::TokenBucket
        | ModelAlgorithm::LeakyBucket
        | ModelAlgorithm::SlidingLog
        | ModelAlgorithm::SlidingWeighted => time / policy.period_ns(),
    };
    let ahead = search::smallest(|d| start_of(now + d) != start_of(now));
    u64::try_from(now + ahead).unwrap_or(u64::MAX)
}

/// The end of the time traces play in, in the year 2116.
const LATEST_NS: u64 = 1 << 62;
