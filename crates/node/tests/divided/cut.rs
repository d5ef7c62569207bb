//! Buckets that are cut.

use std::collections::BTreeMap;

use tollgate_contract::{Contracts, Coordination};
use tollgate_gossip::{NodeId, Writer};
use tollgate_limit::{Cost, Instant, Verdict};
use tollgate_node::{FigureValue, Key, Membership, Node, NodeConfig, RateDivision, Roster};
use tollgate_table::Seed;

use crate::world::{Divided, MS, NodeWorld, SECOND, contracts, of};

fn cut(rest: &str) -> String {
    format!(
        "contracts: [{{ id: api, policies: [{{ name: all, limit: 1000, per: 1s, burst: 50, coordination: split, {rest} }}] }}]"
    )
}

/// A figure that a node shows.
fn shown(world: &NodeWorld, node: usize, name: &str) -> f64 {
    let node = &world.nodes[node].node;
    let status = node.mode_status(Coordination::Split, None, world.now());
    status[0]
        .figure(name)
        .and_then(FigureValue::number)
        .unwrap()
}

#[test]
fn a_cut_bucket_is_one_bucket_and_nobody_waits_long() {
    let text = cut("on_limit: delay, max_wait: 500ms");
    let mut world = of(4, &text);
    // All that there is, and a little more, at one of four nodes: the others lend.
    let before = world.log().len();
    let passed = world.load(2 * SECOND, &[1], 1);
    assert!(passed >= 1990, "{passed}");
    let log = world.log().clone();
    let longest = log[before..]
        .iter()
        .map(|(_, admitted)| admitted.wait.as_nanos())
        .max();
    assert!(longest < Some(u128::from(100 * MS)), "{longest:?}");
    world.load(SECOND, &[0, 1, 2, 3], 3);
    world.replay(1000, 50);
    let (hits, borrowed) = (
        shown(&world, 1, "counts.hits"),
        shown(&world, 1, "counts.borrowed"),
    );
    assert!(hits > 0.0 && borrowed > 0.0, "{hits} {borrowed}");
    assert!(shown(&world, 0, "counts.given") > 0.0);
}

#[test]
fn keys_are_cut_for_themselves_and_queues_leak_at_the_rate() {
    let text = "contracts: [{ id: api, key: [user], policies: [\
        { name: all, limit: 1000, per: 1s, burst: 40, algorithm: leaky-bucket, coordination: split }] }]";
    let mut world = of(2, text);
    let ask = |world: &NodeWorld, user: &str| {
        let entries = [("user", user)];
        let node = world.nodes[0].node.newest();
        node.check(Key::Entries(&entries), Cost::new(1).unwrap(), world.now())
            .verdict
    };
    for step in 0..10 {
        let wait = match ask(&world, "a") {
            Verdict::Allow => 0,
            Verdict::Delay { wait } => wait.as_nanos(),
            refused => panic!("{refused:?}"),
        };
        // Half of the rate is this node's, and clocks may be wrong by a thousandth.
        assert!(
            (2 * step * 1_000_000..=2 * step * 1_001_000).contains(&wait),
            "{wait}"
        );
    }
    assert_eq!(ask(&world, "b"), Verdict::Allow);
    world.run(SECOND);
    assert_eq!(ask(&world, "a"), Verdict::Allow);
}

#[test]
fn a_restarted_node_waits_for_what_it_may_have_promised() {
    let text = cut("on_limit: delay, max_wait: 300ms");
    let mut world = of(3, &text);
    world.load(SECOND / 2, &[0, 1, 2], 2);
    world.crash(1);
    world.run(20 * MS);
    let again = world.add("n1", BTreeMap::new());
    world.tell();
    world.load(SECOND, &[0, 2, again], 2);
    world.replay(1000, 50);
}

#[test]
fn a_message_that_no_part_is_sure_to_hold_is_refused() {
    let text = cut("on_limit: delay, max_wait: 1s");
    let mut world = of(4, &text);
    assert!(world.pass(0, 3));
    assert!(!world.pass(0, 4));
    assert!((shown(&world, 0, "cost_max") - 3.0).abs() < f64::EPSILON);
}

#[test]
fn a_policy_whose_machine_cannot_be_built_is_named_before_it_is_loaded() {
    let refused = |low_milli| {
        let mut share = RateDivision::new(Roster::new([("n0".to_owned(), 1)]).unwrap(), 1);
        share.split.low_milli = low_milli;
        let membership = Membership {
            share: Some(share),
            ..Membership::alone(NodeId(1), Writer(1), Instant::default())
        };
        let (seed, now) = (Seed::new([1, 2]), membership.start);
        let empty = Contracts::default();
        let node = Node::with_company(empty, NodeConfig::default(), seed, membership);
        node.countable(&contracts(&cut("on_limit: deny")), None, now)
    };
    assert_eq!(refused(1_000), Ok(()));
    let error = refused(u32::MAX).unwrap_err();
    assert_eq!((&*error.contract, &*error.policy), ("api", "all"));
    assert!(
        error.to_string().contains("`coordination: split`"),
        "{error}"
    );
}
