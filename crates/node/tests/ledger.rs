//! Books of a key that are in a store: opened, asked, closed, and opened again.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]
#![allow(
    clippy::redundant_closure_for_method_calls,
    reason = "a method of a type with a lifetime is not general enough"
)]

use std::sync::Arc;

use tollgate_contract::Contracts;
use tollgate_limit::{Cost, Instant, Span, Verdict};
use tollgate_node::{Due, Key, KeyLedger, Node, NodeConfig, Scope, Spot};
use tollgate_table::Seed;

const CONTRACTS: &str = "contracts:
  - id: api
    key: [user]
    coordination: lease
    policies:
      - { name: fast, limit: 10, per: 1s, burst: 20, recovery: ledger }
      - { name: slow, limit: 8, per: 1h }
  - { id: other, match: { kind: other }, key: [who], policies: [{ name: p, limit: 1, per: 1s }] }
";

/// A store of one key.
struct Kept {
    node: Node,
    spot: Spot,
    bytes: Option<Arc<[u8]>>,
    at: u64,
}

impl Kept {
    fn new() -> Self {
        Self::of(CONTRACTS)
    }

    fn of(contracts: &str) -> Self {
        let contracts = Contracts::parse(contracts).unwrap();
        let node = Node::new(contracts, NodeConfig::default(), Seed::new([1, 2]));
        let spot = node
            .within(Scope::All)
            .unwrap()
            .spots(Key::Entries(&[("user", "ada")]))[0];
        Self {
            node,
            spot,
            bytes: None,
            at: 1_700_000_000_000_000_000,
        }
    }

    /// Opens, asks and closes; whether something was to be written.
    fn with<T>(&mut self, ask: impl FnOnce(&mut KeyLedger<'_>) -> T) -> (T, bool) {
        let at = Instant::from_nanos(self.at);
        let opened = self.node.open_ledger(&self.spot, self.bytes.as_deref(), at);
        let mut ledger = opened.unwrap().unwrap();
        let said = ask(&mut ledger);
        let closed = ledger.close();
        let is_written = closed.bytes.is_some();
        self.bytes = closed.bytes.or_else(|| self.bytes.take());
        (said, is_written)
    }

    fn left(&mut self) -> Vec<u64> {
        let (status, is_written) = self.with(|ledger| ledger.status());
        assert!(!is_written, "looking changes nothing");
        status.iter().map(|status| status.remaining).collect()
    }
}

const fn cost(tokens: u32) -> Cost {
    Cost::from_u32(tokens)
}

#[test]
fn all_policies_are_charged_or_none() {
    let mut kept = Kept::new();
    assert_eq!(kept.left(), [20, 8]);
    let (answer, is_written) = kept.with(|ledger| ledger.check(cost(6)));
    assert!(answer.is_allowed() && is_written);
    assert_eq!((answer.remaining, answer.policy, answer.limit), (2, 1, 8));
    let (answer, _) = kept.with(|ledger| ledger.check(cost(3)));
    assert!(!answer.is_allowed());
    assert_eq!(kept.left(), [14, 2]);
    let (peek, is_written) = kept.with(|ledger| ledger.check(Cost::PEEK));
    assert!(peek.is_allowed() && !is_written);
    let (never, _) = kept.with(|ledger| ledger.check(cost(9)));
    assert_eq!(never.verdict, Verdict::Never);
}

#[test]
fn what_was_charged_is_settled_given_back_and_forgotten() {
    let mut kept = Kept::new();
    let (answer, _) = kept.with(|ledger| ledger.check(cost(5)));
    let booking = answer.receipt.bookings()[0];
    let due = Due {
        charge: booking.receipt,
        terms: 0,
    };
    assert_eq!(due.charge.charged, 0b11);
    kept.with(|ledger| ledger.settle(&due, cost(2)));
    assert_eq!(kept.left(), [18, 6]);
    kept.with(|ledger| ledger.charge(cost(4)));
    assert_eq!(kept.left(), [14, 2]);
    kept.with(|ledger| ledger.refund(cost(1)));
    let (forecasts, _) = kept.with(|ledger| ledger.foresee(cost(4)));
    let allowed: Vec<bool> = forecasts
        .iter()
        .map(|one| one.verdict.is_allowed())
        .collect();
    assert_eq!(allowed, [true, false]);
    kept.with(|ledger| ledger.reset());
    assert_eq!(kept.left(), [20, 8]);
    // Time of the store's that goes back refills nothing twice.
    assert!(kept.with(|ledger| ledger.check(cost(8))).0.is_allowed());
    kept.at -= 1_000_000_000;
    assert_eq!(kept.left(), [12, 0]);
    kept.at += 1_500_000_000;
    assert_eq!(kept.left(), [17, 0]);
}

#[test]
fn other_limits_hold_at_once_and_other_policies_begin_full() {
    let mut kept = Kept::new();
    assert!(kept.with(|ledger| ledger.check(cost(8))).0.is_allowed());
    let less = CONTRACTS
        .replace("burst: 20", "burst: 5")
        .replace("name: slow", "name: other");
    let contracts = Contracts::parse(&less).unwrap();
    kept.node = Node::new(contracts, NodeConfig::default(), Seed::new([1, 2]));
    assert_eq!(kept.left(), [5, 8]);
}

#[test]
fn requests_wait_by_what_the_books_say() {
    let mut kept = Kept::of(
        "contracts: [{ id: api, key: [user], coordination: lease, policies: [
           { name: rate, limit: 10, per: 1s, burst: 5, on_limit: delay, max_wait: 300ms, recovery: ledger }] }]",
    );
    let mut ask = |millis: u64, tokens: u32| {
        kept.at += millis * 1_000_000;
        kept.with(|ledger| ledger.check(cost(tokens))).0.verdict
    };
    let waits = |millis: u128| Verdict::Delay {
        wait: Span::from_nanos(millis * 1_000_000),
    };
    assert_eq!(ask(0, 4), Verdict::Allow);
    assert_eq!([ask(0, 2), ask(0, 1)], [waits(100), waits(200)]);
    let retry_after = Span::from_nanos(100_000_000);
    assert_eq!(ask(0, 2), Verdict::Deny { retry_after });
    assert_eq!(ask(150, 2), waits(250));
    assert_eq!(ask(0, 6), Verdict::Never);
}

#[test]
fn what_is_no_ledger_is_refused_and_other_contracts_have_none() {
    let kept = Kept::new();
    let at = Instant::from_nanos(1);
    assert!(
        kept.node
            .open_ledger(&kept.spot, Some(b"nonsense"), at)
            .is_err()
    );
    let other = Spot {
        contract: 1,
        ..kept.spot
    };
    assert!(kept.node.open_ledger(&other, None, at).unwrap().is_none());
    assert!(kept.node.is_in_ledger(0) && !kept.node.is_in_ledger(1));
}
