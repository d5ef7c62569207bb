//! Laws of nodes that count together: against one central bucket, and against a node alone.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    dead_code,
    reason = "a test says what it expects"
)]

#[path = "company_world/mod.rs"]
mod world;

use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Check { node: usize, key: u8, cost: u32 },
    Charge { node: usize, key: u8, cost: u32 },
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let check = (0..4_usize, 0..3_u8, 0..4_u32).prop_map(|(node, key, cost)| Step::Check {
        node,
        key,
        cost,
    });
    let charge = (0..4_usize, 0..3_u8, 0..3_u32).prop_map(|(node, key, cost)| Step::Charge {
        node,
        key,
        cost,
    });
    let wait = (1..3_000_u64).prop_map(|millis| Step::Wait(millis * 1_000_000));
    prop::collection::vec(prop_oneof![8 => check, 1 => charge, 2 => wait], 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// With instant news a cluster admits what one bucket would, for requests of any cost and in any order, but for
    /// what a large request is allowed on silent shares; and it never refuses what one bucket would admit.
    #[test]
    fn a_cluster_is_never_stricter_than_one_bucket(steps in steps()) {
        let text =
            "contracts: [{ id: a, key: [user], coordination: gossip, policies: [{ name: p, limit: 12, per: 60s }] }]";
        let mut world = world::of(4, text);
        world::against_one_bucket(&mut world, text, &steps, |step| match step {
            Step::Check { node, key, cost } => world::WorldAction::Check(*node, *key, *cost),
            Step::Charge { node, key, cost } => world::WorldAction::Charge(*node, *key, *cost),
            Step::Wait(nanos) => world::WorldAction::Wait(*nanos),
        })?;
    }

    /// A cluster of one decides as a node that counts alone, whatever the policy.
    #[test]
    fn a_cluster_of_one_counts_as_a_node_alone(
        steps in steps(),
        policy in prop::sample::select(vec![
            "{ name: p, limit: 12, per: 60s }",
            "{ name: p, limit: 12, per: 60s, burst: 5 }",
            "{ name: p, limit: 12, per: 60s, on_limit: delay, max_wait: 8s }",
            "{ name: p, limit: 12, per: 60s, algorithm: leaky-bucket, burst: 4 }",
            "{ name: p, limit: 12, per: 60s, algorithm: fixed-window }",
            "{ name: p, limit: 12, per: 60s, algorithm: sliding-counters, slices: 6 }",
            "{ name: p, limit: 12, per: 60s, count_refused: true }",
        ]),
    ) {
        let acts = steps.iter().map(|step| match step {
            Step::Check { key, cost, .. } => world::WorldAction::Check(0, *key, *cost),
            Step::Charge { key, cost, .. } => world::WorldAction::Charge(0, *key, *cost),
            Step::Wait(nanos) => world::WorldAction::Wait(*nanos),
        });
        world::alone_or_in_company(policy, &acts.collect::<Vec<_>>())?;
    }
}
