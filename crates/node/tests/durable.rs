//! Cells out of one node and into the next.

#![allow(clippy::expect_used, reason = "a broken set-up must stop the test")]

use tollgate_contract::Contracts;
use tollgate_limit::{Cost, Instant};
use tollgate_node::{Key, Node, NodeConfig, RefusedBy, WrittenBy, WrittenCell};
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
    let cell = WrittenCell::new(&stored.bytes, None);
    assert_eq!(second.write_cell(1, print, cell, now), Ok(()));
    assert_eq!(left(&second, "ann", now), [6, 5]);
    assert!(second.check(Key::from("ann"), Cost::ONE, now).is_allowed());
    assert_eq!(second.write_cell(1, print, cell, now), Ok(()));
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
    let cell = WrittenCell::new(&stored.bytes, Some(written_by));
    let done = after.write_cell(0, print, cell, now);
    assert_eq!((done, left(&after, "ann", now)), (Ok(()), vec![3]));
    let broken = WrittenCell::new(&[9, 9], None);
    assert!(after.write_cell(0, print, broken, now).is_err());
    let cell = WrittenCell::new(&stored.bytes, None);
    assert!(after.write_cell(5, print, cell, now).is_err());
}

/// A node with little memory whose durable cells somebody writes.
fn kept(bytes_max: u64) -> Node {
    const QUOTA: &str = "contracts: [{ id: kept, key: [user], policies: \
        [{ name: q, limit: 1, per: 1000d, algorithm: fixed-window, durable: true }] }]";
    let config = NodeConfig {
        bytes_max,
        ..NodeConfig::default()
    };
    let contracts = Contracts::parse(QUOTA).expect("a good file");
    let node = Node::new(contracts, config, Seed::new([1, 2]));
    node.keep_cells();
    node.all_read(0);
    node
}

#[test]
fn a_cell_that_was_not_written_is_not_evicted_and_its_key_is_not_begun_anew() {
    let (node, now) = (kept(64 << 10), Instant::from_nanos(5));
    let check = |key| node.check(Key::Word(key), Cost::ONE, now);
    let held = (0..10_000).filter(|key| check(*key).is_allowed()).count();
    assert!((500..4_000).contains(&held), "{held}");
    assert_eq!(check(9_999).refused_by, Some(RefusedBy::Unread));
    assert_eq!(node.counters().evicted_live, 0);
    let prints = dirty(&node, 0);
    assert_eq!(prints.len(), held);
    assert!(!check(9_999).is_allowed(), "they are being written");
    node.cells_written(0);
    let seed = Seed::new([1, 2]);
    for key in 10_000..10_100 {
        assert_eq!(
            check(key).refused_by,
            Some(RefusedBy::Unread),
            "it may have a row"
        );
        node.has_no_row(0, seed.word(key));
        assert!(check(key).is_allowed());
    }
    assert!(node.counters().evicted_live > 0);
    assert_eq!(
        dirty(&node, 0).len(),
        100,
        "what went is not written again, nor removed"
    );
}

#[test]
fn a_refund_of_a_key_that_left_memory_does_not_remove_its_row() {
    let (node, now) = (kept(64 << 10), Instant::from_nanos(5));
    let check = |key| node.check(Key::Word(key), Cost::ONE, now);
    (0..1_000).for_each(|key| drop(check(key)));
    dirty(&node, 0);
    node.cells_written(0);
    // From here on keys may have rows.
    while !node.is_away(0, Seed::new([1, 2]).word(5_000)) {
        (10_000..20_000).for_each(|key| drop(check(key)));
    }
    dirty(&node, 0);
    node.cells_written(0);
    node.refund(Key::Word(5_000), Cost::ONE, now);
    assert!(!node.charge(Key::Word(5_000), Cost::ONE, now));
    assert_eq!(dirty(&node, 0), []);
    node.reset(Key::Word(5_000));
    assert_eq!(dirty(&node, 0).len(), 1, "its row goes");
    assert!(check(5_000).is_allowed());
}
