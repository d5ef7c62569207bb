//! Nodes that count together: frames arrive at once and in order, time passes when told.

use proptest::test_runner::TestCaseError;
use proptest::{prop_assert, prop_assert_eq};
use tollgate_gossip::{Bucket, Key as GossipKey, Kind, Machine, NodeId, Replica, Setup, Writer};
use tollgate_lab::nodes::START;
pub(crate) use tollgate_lab::nodes::{World, contracts};
use tollgate_limit::{Cost, Instant, Span, Verdict};
use tollgate_node::{Answer, Key, Membership, Node, NodeConfig};
use tollgate_sim::Weather;
use tollgate_table::Seed;

pub(crate) const SECOND: u64 = 1_000_000_000;

pub(crate) fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn seed() -> Seed {
    Seed::new([7, 9])
}

/// So many nodes.
pub(crate) fn of(count: usize, text: &str) -> World {
    small(count, text, 1 << 26)
}

/// A world of nodes with so many bytes each.
pub(crate) fn small(count: usize, text: &str, bytes_max: u64) -> World {
    let mut world = World::empty(Weather::default(), 1, bytes_max);
    world.contracts = contracts(text);
    world.start(count, 5 * SECOND);
    world
}

/// A node is gone and comes back without its memory.
pub(crate) fn bounce(world: &mut World, node: usize) {
    world.crash(node);
    world.restart(node);
    world.tell();
}

/// What is left in each policy of each contract.
pub(crate) fn standing(world: &World, node: usize, key: &str) -> Vec<(usize, Vec<u64>)> {
    let entries = [("user", key)];
    let all = world.nodes[node].status(Key::Entries(&entries), world.now());
    let left = |(contract, each): (usize, Vec<tollgate_limit::Status>)| {
        (
            contract,
            each.iter().map(|status| status.remaining).collect(),
        )
    };
    all.into_iter().map(left).collect()
}

/// What happens next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    Check(usize, u8, u32),
    Charge(usize, u8, u32),
    Wait(u64),
}

/// One node that counts alone is the bucket that sees everything: whatever it would admit, given what the cluster
/// admitted so far, the cluster admits.
pub(crate) fn against_one_bucket<S>(
    world: &mut World,
    text: &str,
    steps: &[S],
    act: impl Fn(&S) -> Act,
) -> Result<(), TestCaseError> {
    let central = Node::new(contracts(text), NodeConfig::default(), seed());
    let mut admitted = [0_u64; 3];
    for step in steps {
        match act(step) {
            Act::Wait(nanos) => world.run(nanos),
            Act::Check(node, key, cost) => {
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
            Act::Charge(node, key, cost) => {
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

/// The same requests to nodes, and to machines that are driven by hand.
pub(crate) fn against_machines<S>(
    steps: &[S],
    home: bool,
    act: impl Fn(&S) -> Act,
) -> Result<(), TestCaseError> {
    let (design, kind) = if home {
        ("home", Kind::Home)
    } else {
        ("segments", Kind::Segments)
    };
    let text = format!(
        "contracts: [{{ id: a, key: [user], coordination: gossip, design: {design}, policies: [{{ name: p, limit: 12, per: 60s }}] }}]"
    );
    let node = Node::with_company(
        contracts(&text),
        NodeConfig::default(),
        seed(),
        Membership::alone(NodeId(1), Writer(1), at(START)),
    );
    let mut machine = Replica::new(
        kind,
        &Setup {
            bucket: Bucket::new(12, 12, 60 * SECOND).unwrap(),
            me: NodeId(1),
            writer: Writer(1),
            was: None,
            members: vec![NodeId(1)],
            seed: 0,
            start: at(START),
            wait_max: Span::ZERO,
            knobs: tollgate_gossip::Knobs::default(),
        },
    );
    let mut clock = START;
    for step in steps {
        match act(step) {
            Act::Wait(nanos) => {
                clock += nanos;
                node.handle_timeout(at(clock));
                machine.handle_timeout(at(clock));
            }
            Act::Check(_, key, cost) => {
                same_answer(&node, &mut machine, key, cost, at(clock))?;
            }
            Act::Charge(_, key, cost) => {
                node.charge(
                    Key::Entries(&[("user", &format!("k{key}"))]),
                    Cost::from_u32(cost),
                    at(clock),
                );
                machine.charge(GossipKey(u128::from(key)), u64::from(cost), None, at(clock));
            }
        }
    }
    Ok(())
}

/// One request to a node and to a machine that is driven by hand.
fn same_answer(
    node: &Node,
    machine: &mut Replica,
    key: u8,
    cost: u32,
    now: Instant,
) -> Result<(), TestCaseError> {
    let name = format!("k{key}");
    let entries = [("user", name.as_str())];
    let is = node.check(Key::Entries(&entries), Cost::from_u32(cost), now);
    let (key, cost) = (GossipKey(u128::from(key)), u64::from(cost));
    let before = machine.probe(key, cost, now).remaining;
    match machine.handle_request(key, cost, now) {
        tollgate_gossip::Verdict::Allow { remaining, .. } => {
            prop_assert!(is.is_allowed());
            prop_assert_eq!(is.remaining, remaining);
        }
        tollgate_gossip::Verdict::Deny { retry_after } => {
            prop_assert_eq!(is.verdict, Verdict::Deny { retry_after });
            prop_assert_eq!(is.remaining, before);
        }
        tollgate_gossip::Verdict::Never => prop_assert_eq!(is.verdict, Verdict::Never),
    }
    Ok(())
}

/// The same requests to a cluster of one and to a node that counts alone.
pub(crate) fn alone_or_in_company(policy: &str, acts: &[Act]) -> Result<(), TestCaseError> {
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
            Act::Wait(nanos) => {
                clock += nanos;
                company.handle_timeout(at(clock));
            }
            Act::Check(_, key, cost) => {
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
            Act::Charge(_, key, cost) => {
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
