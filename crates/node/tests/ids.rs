//! Reservations and operations that happen once.

#![allow(clippy::expect_used, reason = "a broken set-up must stop the test")]

use tollgate_contract::Contracts;
use tollgate_limit::{Cost, Instant, OperationId, Span};
use tollgate_node::{Debit, IdError, Key, Node, NodeConfig, ReceiptNumber};
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

fn ann(cost: u32) -> Debit<'static> {
    Debit {
        key: Key::from("ann"),
        cost: Cost::from_u32(cost),
    }
}

#[test]
fn a_reservation_is_charged_at_once_and_settled_at_its_actual_cost() {
    let node = node();
    assert!(
        node.whole()
            .reserve(&id("r"), ann(6), TTL, at(0))
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
            node.whole()
                .reserve(&id("r"), ann(6), TTL, at(0))
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
        node.whole()
            .reserve(&id("r"), ann(6), TTL, at(0))
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
            .whole()
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
        assert_eq!(node.whole().charge_once(&id("c"), ann(4), at(0)), Ok(()));
    }
    assert_eq!(left(&node), 6);
    for _ in 0..3 {
        assert_eq!(node.whole().refund_once(&id("f"), ann(1), at(0)), Ok(()));
    }
    assert_eq!(left(&node), 7);
    let first = node
        .whole()
        .check_once(&id("k"), ann(2), at(0))
        .expect("room");
    assert_eq!(
        node.whole().check_once(&id("k"), ann(2), at(0)),
        Ok(first.clone())
    );
    assert_eq!(left(&node), 5);
    for _ in 0..3 {
        assert_eq!(
            node.do_once(&id("s"), at(0), || node.settle(
                &first.receipt,
                Cost::ONE,
                at(0)
            )),
            Ok(())
        );
    }
    assert_eq!(left(&node), 6);
    assert_eq!(
        node.whole().reset_once(&id("z"), Key::from("ann"), at(0)),
        Ok(())
    );
    assert_eq!(node.whole().charge_once(&id("d"), ann(1), at(0)), Ok(()));
    assert_eq!(
        node.whole().reset_once(&id("z"), Key::from("ann"), at(0)),
        Ok(())
    );
    assert_eq!(left(&node), 9);
}

#[test]
fn an_id_of_one_kind_is_refused_for_another() {
    let node = node();
    assert_eq!(node.whole().charge_once(&id("c"), ann(4), at(0)), Ok(()));
    assert_eq!(
        node.whole().reserve(&id("c"), ann(1), TTL, at(0)),
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
    assert_eq!(node.whole().charge_once(&id("c"), ann(1), at(0)), Ok(()));
    assert_eq!(
        node.whole().charge_once(&id("d"), ann(1), at(0)),
        Err(IdError::TooManyIds)
    );
    assert_eq!(left(&node), 9);
}

#[test]
fn an_id_takes_at_most_a_hundred_bytes_of_the_memory_for_keys() {
    const IDS: u32 = 100_000;
    let now = at(1_700_000_000_000_000_000);
    for (what, most) in [("check", 100), ("reserve", 100), ("charge", 45)] {
        let node = node();
        node.charge(Key::from("ann"), Cost::ONE, now);
        let before = node.bytes();
        for n in 0..IDS {
            let id = id(&format!("4bf92f35-77b3-4da6-a3ce-{n:012x}"));
            let done = match what {
                "check" => node.whole().check_once(&id, ann(1), now).map(drop),
                "reserve" => node
                    .whole()
                    .reserve(&id, ann(1), Span::from_nanos(9), now)
                    .map(drop),
                _ => node.whole().charge_once(&id, ann(1), now),
            };
            done.expect("room");
        }
        let each = (node.bytes() - before) / u64::from(IDS);
        assert_eq!(node.ids_count(), IDS as usize);
        assert!(each <= most, "{each} bytes for a {what}");
    }
}

#[test]
fn ids_take_no_more_than_a_quarter_of_the_memory_and_those_that_expire_make_room() {
    let node = node_with(NodeConfig {
        bytes_max: 1 << 20,
        ..NodeConfig::default()
    });
    let charge = |n: u32, now| node.whole().charge_once(&id(&format!("{n}")), ann(1), now);
    let done = (0..100_000).filter(|n| charge(*n, at(0)).is_ok()).count();
    assert!((4_000..9_000).contains(&done), "{done}");
    assert!(node.bytes() <= (1 << 18) + (1 << 14));
    assert_eq!(charge(99_999, at(1)), Err(IdError::TooManyIds));
    assert_eq!(charge(0, at(1)), Ok(()), "it is known");
    assert!(
        node.check(Key::from("bob"), Cost::ONE, at(1)).is_allowed(),
        "keys have their own part"
    );
    let later = at(601_000_000_000);
    assert!((100_000..101_000).all(|n| charge(n, later).is_ok()));
}

#[test]
fn receipts_that_were_settled_count_within_the_same_memory() {
    let node = node_with(NodeConfig {
        bytes_max: 1 << 20,
        ..NodeConfig::default()
    });
    let answer = node.check(Key::from("ann"), Cost::ONE, at(0));
    let settle = |number| {
        let expires = at(1_000);
        let number = ReceiptNumber { number, expires };
        let settle = || node.settle(&answer.receipt, Cost::ONE, at(0));
        node.settle_numbered_by(number, Cost::ONE, at(0), settle)
    };
    let done = (0..100_000)
        .filter(|number| settle(*number).is_ok())
        .count();
    assert!((5_000..11_000).contains(&done), "{done}");
    assert_eq!(settle(0), Ok(()), "it is known");
    assert!(node.bytes() <= (1 << 18) + (1 << 14));
}

#[test]
fn a_check_that_found_no_room_is_not_remembered_by_its_id() {
    let node = node_with(NodeConfig {
        bytes_max: 64 << 10,
        when_full: tollgate_table::WhenFull::Refuse,
        ..NodeConfig::default()
    });
    let fresh_at = at(1);
    for n in 0..100 {
        let warm = node
            .whole()
            .charge_once(&id(&format!("warm {n}")), ann(1), fresh_at);
        warm.expect("there is room");
    }
    let key = |n: u64| Debit {
        key: Key::Word(n),
        cost: Cost::ONE,
    };
    let full = (0..10_000).find(|n| !node.check(Key::Word(*n), Cost::ONE, fresh_at).is_allowed());
    let full = key(full.expect("memory ends"));
    let first = node
        .whole()
        .check_once(&id("k"), full, fresh_at)
        .expect("room");
    assert!(!first.is_allowed());
    // An hour later every other key is as if never seen.
    let later = at(3_700_000_000_000);
    let again = node
        .whole()
        .check_once(&id("k"), full, later)
        .expect("room");
    assert!(again.is_allowed());
}
