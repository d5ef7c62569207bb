//! Cells out of one node and into the next.

#![allow(clippy::expect_used, reason = "a broken set-up must stop the test")]

use tollgate_contract::Contracts;
use tollgate_limit::{Cost, Instant};
use tollgate_node::{Key, Node, NodeConfig, WrittenBy};
use tollgate_table::{Print, Seed};

fn node(text: &str) -> Node {
    let contracts = Contracts::parse(text).expect("a good file");
    Node::new(contracts, NodeConfig::default(), Seed::new([1, 2]))
}

const KEPT: &str = "
contracts:
  - id: passing
    match: { plan: none }
    key: [user]
    policies: [{ name: p, limit: 9, per: 1h }]
  - id: kept
    key: [user]
    policies:
      - { name: hourly, limit: 10, per: 1h, durable: true }
      - { name: burst, limit: 5, per: 1m }
";

fn dirty(node: &Node, contract: usize) -> Vec<Print> {
    let mut prints = Vec::new();
    assert!(!node.take_dirty(contract, &mut prints));
    prints
}

fn left(node: &Node, user: &str, now: Instant) -> Vec<u64> {
    let status = node.status(Key::from(user), now);
    status
        .iter()
        .flat_map(|(_, each)| each)
        .map(|one| one.remaining)
        .collect()
}

#[test]
fn only_what_changed_in_a_durable_contract_is_told() {
    let (node, now) = (node(KEPT), Instant::from_nanos(5));
    assert_eq!(node.durable_contracts().collect::<Vec<_>>(), [1]);
    assert_eq!(node.durable_policies(1), 1);
    assert!(node.check(Key::from("ann"), Cost::ONE, now).is_allowed());
    assert!(node.check(Key::from("ann"), Cost::ONE, now).is_allowed());
    assert!(node.check(Key::from("bob"), Cost::PEEK, now).is_allowed());
    assert_eq!(dirty(&node, 1).len(), 1);
    assert_eq!(dirty(&node, 1), []);
    node.charge(Key::from("ann"), Cost::ONE, now);
    assert_eq!(dirty(&node, 1).len(), 1);
    node.reset(Key::from("ann"));
    let print = dirty(&node, 1)[0];
    assert_eq!(node.read_cell(1, print), None, "a key that is gone");
    node.check_many(&[(Key::from("bob"), Cost::ONE)], now, |_| {});
    assert_eq!(dirty(&node, 1).len(), 1);
    let (mut prints, shards) = (Vec::new(), node.shards_count(1));
    (0..shards).for_each(|shard| node.prints_in(1, shard, &mut prints));
    assert_eq!(prints.len(), 1);
}

#[test]
fn a_cell_put_back_remembers_what_was_durable_and_nothing_else() {
    let (first, now) = (node(KEPT), Instant::from_nanos(5));
    assert!(
        first
            .check(Key::from("ann"), Cost::from_u32(4), now)
            .is_allowed()
    );
    assert_eq!(left(&first, "ann", now), [6, 1]);
    let print = dirty(&first, 1)[0];
    let (stored, _) = first.read_cell(1, print).expect("it was charged");
    let second = node(KEPT);
    let place = (1, print);
    assert_eq!(second.write_cell(place, &stored.bytes, None, now), Ok(()));
    assert_eq!(left(&second, "ann", now), [6, 5]);
    assert!(second.check(Key::from("ann"), Cost::ONE, now).is_allowed());
    assert_eq!(second.write_cell(place, &stored.bytes, None, now), Ok(()));
    assert_eq!(left(&second, "ann", now), [5, 4], "what is there stays");
}

#[test]
fn a_cell_of_other_policies_is_put_back_as_they_inherit() {
    let (first, now) = (node(KEPT), Instant::from_nanos(5));
    assert!(
        first
            .check(Key::from("ann"), Cost::from_u32(4), now)
            .is_allowed()
    );
    let print = dirty(&first, 1)[0];
    let (stored, _) = first.read_cell(1, print).expect("it was charged");
    let after = node(
        "contracts: [{ id: kept, key: [user], policies: [{ name: hourly, limit: 7, per: 1h, durable: true }] }]",
    );
    let set = first.contracts().get(1).expect("it is there").policy_set();
    let written_by = WrittenBy {
        set,
        origins: &[Some(0)],
        terms: None,
    };
    let done = after.write_cell((0, print), &stored.bytes, Some(written_by), now);
    assert_eq!((done, left(&after, "ann", now)), (Ok(()), vec![3]));
    assert!(after.write_cell((0, print), &[9, 9], None, now).is_err());
    assert!(
        after
            .write_cell((5, print), &stored.bytes, None, now)
            .is_err()
    );
}
