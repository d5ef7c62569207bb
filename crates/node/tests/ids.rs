//! Reservations and operations that happen once.

#![allow(clippy::expect_used, reason = "a broken set-up must stop the test")]

use tollgate_contract::Contracts;
use tollgate_limit::{Cost, Instant, OperationId, Span};
use tollgate_node::{IdError, Key, Node, NodeConfig};
use tollgate_table::Seed;

const TEN: &str =
    "contracts: [{ id: a, key: [user], policies: [{ name: p, limit: 10, per: 1h }] }]";
const TTL: Span = Span::from_nanos(1_000);

fn node() -> Node {
    node_with(NodeConfig::default())
}

fn node_with(config: NodeConfig) -> Node {
    Node::new(
        Contracts::parse(TEN).expect("a good file"),
        config,
        Seed::new([1, 2]),
    )
}

fn id(text: &str) -> OperationId {
    OperationId::new(text.as_bytes()).expect("a short id")
}

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn left(node: &Node) -> u64 {
    node.status(Key::from("ann"), at(0))[0].1[0].remaining
}

fn ann(cost: u32) -> (Key<'static>, Cost) {
    (Key::from("ann"), Cost::from_u32(cost))
}

#[test]
fn a_reservation_is_charged_at_once_and_settled_at_its_actual_cost() {
    let node = node();
    assert!(
        node.reserve(&id("r"), ann(6), TTL, at(0))
            .expect("room")
            .is_allowed()
    );
    assert_eq!(left(&node), 4);
    assert_eq!(node.commit(&id("r"), Cost::from_u32(2), at(1)), Ok(()));
    assert_eq!(left(&node), 8);
}

#[test]
fn a_reservation_is_made_and_settled_once() {
    let node = node();
    for _ in 0..3 {
        assert!(
            node.reserve(&id("r"), ann(6), TTL, at(0))
                .expect("room")
                .is_allowed()
        );
    }
    assert_eq!(left(&node), 4);
    for _ in 0..3 {
        assert_eq!(node.cancel(&id("r"), at(1)), Ok(()));
    }
    assert_eq!(left(&node), 10);
    let otherwise = node.commit(&id("r"), Cost::ONE, at(1));
    assert_eq!(otherwise, Err(IdError::SettledOtherwise { actual: 0 }));
}

#[test]
fn a_reservation_that_expires_stays_charged_in_full() {
    let node = node();
    assert!(
        node.reserve(&id("r"), ann(6), TTL, at(0))
            .expect("room")
            .is_allowed()
    );
    assert_eq!(
        node.commit(&id("r"), Cost::ONE, at(1_000)),
        Err(IdError::Unknown)
    );
    assert_eq!(left(&node), 4);
    assert_eq!(node.ids_count(), 0);
}

#[test]
fn a_refused_reservation_cannot_be_committed() {
    let node = node();
    assert!(
        !node
            .reserve(&id("r"), ann(11), TTL, at(0))
            .expect("room")
            .is_allowed()
    );
    assert_eq!(
        node.commit(&id("r"), Cost::ONE, at(1)),
        Err(IdError::Unknown)
    );
    assert_eq!(left(&node), 10);
}

#[test]
fn writes_with_one_id_happen_once() {
    let node = node();
    for _ in 0..3 {
        assert_eq!(node.charge_once(&id("c"), ann(4), at(0)), Ok(()));
    }
    assert_eq!(left(&node), 6);
    for _ in 0..3 {
        assert_eq!(node.refund_once(&id("f"), ann(1), at(0)), Ok(()));
    }
    assert_eq!(left(&node), 7);
    let first = node.check_once(&id("k"), ann(2), at(0)).expect("room");
    assert_eq!(node.check_once(&id("k"), ann(2), at(0)), Ok(first.clone()));
    assert_eq!(left(&node), 5);
    for _ in 0..3 {
        assert_eq!(
            node.settle_once(&id("s"), (&first.receipt, Cost::ONE), at(0)),
            Ok(())
        );
    }
    assert_eq!(left(&node), 6);
    assert_eq!(node.reset_once(&id("z"), Key::from("ann"), at(0)), Ok(()));
    assert_eq!(node.charge_once(&id("d"), ann(1), at(0)), Ok(()));
    assert_eq!(node.reset_once(&id("z"), Key::from("ann"), at(0)), Ok(()));
    assert_eq!(left(&node), 9);
}

#[test]
fn an_id_of_one_kind_is_refused_for_another() {
    let node = node();
    assert_eq!(node.charge_once(&id("c"), ann(4), at(0)), Ok(()));
    assert_eq!(
        node.reserve(&id("c"), ann(1), TTL, at(0)),
        Err(IdError::OtherKind)
    );
    assert_eq!(
        node.commit(&id("c"), Cost::ONE, at(0)),
        Err(IdError::OtherKind)
    );
    assert_eq!(left(&node), 6);
}

#[test]
fn more_ids_than_fit_are_refused_and_nothing_is_done() {
    let node = node_with(NodeConfig {
        ids_max: 1,
        ..NodeConfig::default()
    });
    assert_eq!(node.charge_once(&id("c"), ann(1), at(0)), Ok(()));
    assert_eq!(
        node.charge_once(&id("d"), ann(1), at(0)),
        Err(IdError::TooManyIds)
    );
    assert_eq!(left(&node), 9);
}
