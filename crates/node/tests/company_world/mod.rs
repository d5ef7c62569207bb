//! Nodes that count together: frames arrive at once and in order, time passes when told.

use proptest::test_runner::TestCaseError;
use proptest::{prop_assert, prop_assert_eq};
use tollgate_gossip::{NodeId, Writer};
use tollgate_lab::nodes::START;
pub(crate) use tollgate_lab::nodes::{NodeWorld, contracts};
use tollgate_limit::{Cost, Instant};
use tollgate_node::{Answer, Key, Membership, Node, NodeConfig};
use tollgate_sim::Conditions;
use tollgate_table::Seed;

pub(crate) const SECOND: u64 = 1_000_000_000;

pub(crate) fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn seed() -> Seed {
    Seed::new([7, 9])
}

/// So many nodes.
pub(crate) fn of(count: usize, text: &str) -> NodeWorld {
    small(count, text, 1 << 26)
}

/// A world of nodes with so many bytes each.
pub(crate) fn small(count: usize, text: &str, bytes_max: u64) -> NodeWorld {
    let mut world = NodeWorld::empty(Conditions::default(), 1, bytes_max);
    world.contracts = contracts(text);
    world.start(count, 5 * SECOND);
    world
}

/// A node is gone and comes back without its memory.
pub(crate) fn bounce(world: &mut NodeWorld, node: usize) {
    world.crash(node);
    world.restart(node);
    world.tell();
}

/// What is left in each policy of each contract.
pub(crate) fn standing(world: &NodeWorld, node: usize, key: &str) -> Vec<(usize, Vec<u64>)> {
    let entries = [("user", key)];
    let all = world.nodes[node].status(Key::Entries(&entries), world.now());
    let left = |(contract, each): (usize, Vec<tollgate_limit::KeyStatus>)| {
        (
            contract,
            each.iter().map(|status| status.remaining).collect(),
        )
    };
    all.into_iter().map(left).collect()
}

/// What happens next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WorldAction {
    Check(usize, u8, u32),
    Charge(usize, u8, u32),
    Wait(u64),
}

/// One node that counts alone is the bucket that sees everything: whatever it would admit, given what the cluster
/// admitted so far, the cluster admits.
pub(crate) fn against_one_bucket<S>(
    world: &mut NodeWorld,
    text: &str,
    steps: &[S],
    act: impl Fn(&S) -> WorldAction,
) -> Result<(), TestCaseError> {
    let central = Node::new(contracts(text), NodeConfig::default(), seed());
    let mut admitted = [0_u64; 3];
    for step in steps {
        match act(step) {
            WorldAction::Wait(nanos) => world.run(nanos),
            WorldAction::Check(node, key, cost) => {
                let name = format!("k{key}");
                let entries = [("user", name.as_str())];
                let asked = Cost::from_u32(cost);
                let peek = Cost::from_u32(cost.max(1));
                let within = central.within(tollgate_node::Scope::All).unwrap();
                let told = within
                    .foresee(Key::Entries(&entries), peek, world.now())
                    .each;
                let passes = told[0].1[0].verdict.is_allowed();
                let is = world.check(node, &name, cost);
                prop_assert!(
                    is.is_allowed() || !passes,
                    "refused what one bucket admits: {is:?}"
                );
                if is.is_allowed() {
                    central.charge(Key::Entries(&entries), asked, world.now());
                    admitted[usize::from(key)] += u64::from(cost);
                }
            }
            WorldAction::Charge(node, key, cost) => {
                let name = format!("k{key}");
                let entries = [("user", name.as_str())];
                let (asked, now) = (Cost::from_u32(cost), world.now());
                world.nodes[node].charge(Key::Entries(&entries), asked, now);
                world.pump();
                central.charge(Key::Entries(&entries), asked, now);
            }
        }
    }
    // More than the bucket had can pass on silent shares, but by less than the bucket once more.
    let seconds = (world.sim.now() - START) / SECOND + 1;
    for tokens in admitted {
        prop_assert!(
            tokens <= 12 + seconds * 12 / 60 + 12,
            "{tokens} in {seconds} s"
        );
    }
    Ok(())
}

/// The same requests to a cluster of one and to a node that counts alone.
pub(crate) fn alone_or_in_company(policy: &str, acts: &[WorldAction]) -> Result<(), TestCaseError> {
    let text = |coordination: &str| {
        format!(
            "contracts: [{{ id: a, key: [user], coordination: {coordination}, policies: [{policy}] }}]"
        )
    };
    let alone = Node::new(contracts(&text("local")), NodeConfig::default(), seed());
    let membership = Membership::alone(NodeId(1), Writer(1), at(START));
    let company = contracts(&text("gossip"));
    let company = Node::with_company(company, NodeConfig::default(), seed(), membership);
    let mut clock = START;
    for act in acts {
        match act {
            WorldAction::Wait(nanos) => {
                clock += nanos;
                company.handle_timeout(at(clock));
            }
            WorldAction::Check(_, key, cost) => {
                let name = format!("k{key}");
                let entries = [("user", name.as_str())];
                let cost = Cost::from_u32(*cost);
                let was = alone.check(Key::Entries(&entries), cost, at(clock));
                let is = company.check(Key::Entries(&entries), cost, at(clock));
                prop_assert_eq!(is.verdict, was.verdict, "{} at {}", policy, clock - START);
                prop_assert_eq!((is.remaining, is.limit), (was.remaining, was.limit));
                prop_assert_eq!(is.refused_by, was.refused_by);
                prop_assert_eq!(is.reset_after, was.reset_after);
                let charged = |answer: &Answer| answer.receipt.bookings()[0].receipt;
                prop_assert_eq!(charged(&is), charged(&was));
            }
            WorldAction::Charge(_, key, cost) => {
                let name = format!("k{key}");
                let entries = [("user", name.as_str())];
                let cost = Cost::from_u32(*cost);
                alone.charge(Key::Entries(&entries), cost, at(clock));
                company.charge(Key::Entries(&entries), cost, at(clock));
            }
        }
    }
    Ok(())
}
