//! Which contracts bind a request, against a linear scan, and by what they count it.

#![allow(clippy::format_collect, reason = "short texts")]

use proptest::prelude::*;
use tollgate_contract::{Contract, Contracts, Descriptor};

fn parse(contracts: &str) -> Contracts {
    Contracts::parse(contracts).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Contracts by their `match` and `key`.
fn contracts(rows: &[(&str, &str)]) -> Contracts {
    let rows = rows.iter().enumerate().map(|(id, (matches, key))| {
        format!("  - {{ id: c{id}, match: {matches}, key: {key}, policies: [{{ name: p, limit: 1, per: 1s }}] }}\n")
    });
    parse(&format!("contracts:\n{}", rows.collect::<String>()))
}

fn bound(contracts: &Contracts, entries: &[(&str, &str)]) -> Vec<(usize, Vec<String>)> {
    let mut all = Vec::new();
    contracts.bind(&Descriptor::of(entries), |index, identity| {
        all.push((index, identity.map(str::to_owned).collect()));
    });
    let matching: Vec<usize> = contracts
        .matching(&Descriptor::of(entries))
        .map(|(at, _)| at)
        .collect();
    assert_eq!(matching, all.iter().map(|(at, _)| *at).collect::<Vec<_>>());
    all
}

fn positions(contracts: &Contracts, entries: &[(&str, &str)]) -> Vec<usize> {
    bound(contracts, entries)
        .into_iter()
        .map(|(at, _)| at)
        .collect()
}

#[test]
fn every_contract_that_applies_binds_in_file_order() {
    let contracts = contracts(&[
        ("{ plan: free }", "[user]"),
        ("{}", "[]"),
        ("{ plan: pro }", "[user]"),
        ("{ plan: '*' }", "[]"),
        ("{}", "[user]"),
        ("{ plan: free, route: /tiles }", "[route, user]"),
    ]);
    assert_eq!(positions(&contracts, &[]), [1]);
    assert_eq!(positions(&contracts, &[("user", "7")]), [1, 4]);
    assert_eq!(positions(&contracts, &[("plan", "free")]), [1, 3]);
    assert_eq!(
        positions(&contracts, &[("user", "7"), ("plan", "free")]),
        [0, 1, 3, 4]
    );
    assert_eq!(positions(&contracts, &[("plan", "*")]), [1, 3]);
    let all = [("user", "7"), ("route", "/tiles"), ("plan", "free")];
    assert_eq!(
        bound(&contracts, &all)[4],
        (5, vec!["/tiles".into(), "7".into()])
    );
}

#[test]
fn an_entry_given_twice_binds_once_and_counts_by_the_first() {
    let contracts = contracts(&[("{ plan: free }", "[user]")]);
    let entries = [
        ("plan", "free"),
        ("user", "1"),
        ("plan", "free"),
        ("user", "2"),
    ];
    assert_eq!(bound(&contracts, &entries), [(0, vec!["1".into()])]);
}

#[test]
fn the_policy_set_has_the_policies_in_order() {
    let contracts = parse(
        "contracts: [{ id: a, policies: [{ name: x, limit: 1, per: 1s }, { name: y, limit: 2, per: 1s }] }]",
    );
    let contract = contracts.get(0).unwrap();
    let limits: Vec<u64> = contract
        .policy_set()
        .policies()
        .iter()
        .map(|p| p.config().limit)
        .collect();
    assert_eq!(limits, [1, 2]);
    assert_eq!(contracts.position("a"), Some(0));
    assert_eq!(contracts.position("b"), None);
    assert_eq!(contracts.len(), 1);
    assert!(Contracts::default().is_empty());
}

#[test]
fn ten_thousand_contracts_are_not_all_looked_at() {
    let rows: String = (0..10_000)
        .map(|n| format!("  - {{ id: c{n}, match: {{ kind: api, plan: p{n} }}, key: [user], policies: [{{ name: p, limit: 1, per: 1s }}] }}\n"))
        .collect();
    let contracts = parse(&format!("contracts:\n{rows}"));
    // A hundred thousand requests would be a billion contracts looked at, were there no index.
    for n in 0..100_000 {
        let plan = format!("p{}", n % 10_000);
        let entries = [("kind", "api"), ("plan", &*plan), ("user", "7")];
        let mut found = None;
        contracts.bind(&Descriptor::of(&entries), |index, _| found = Some(index));
        assert_eq!(found, Some(n % 10_000));
    }
}

/// What the documentation says, word by word.
fn applies(contract: &Contract, entries: &[(&str, &str)]) -> bool {
    for (key, value) in &contract.matches {
        if !entries
            .iter()
            .any(|(k, v)| k == key && (value == "*" || v == value))
        {
            return false;
        }
    }
    contract
        .key
        .iter()
        .all(|key| entries.iter().any(|(k, _)| k == key))
}

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "c", "d"])
}

fn value() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["x", "y", "z", "'*'"])
}

proptest! {
    #[test]
    fn the_index_finds_what_a_scan_finds(
        rows in prop::collection::vec(
            (prop::collection::btree_map(name(), value(), 0..3), prop::collection::btree_set(name(), 0..3)),
            1..40,
        ),
        entries in prop::collection::vec((name(), prop::sample::select(vec!["x", "y", "w", "*"])), 0..12),
    ) {
        let rows: Vec<(String, String)> = rows
            .into_iter()
            .map(|(matches, key)| {
                let matches: Vec<String> = matches.iter().map(|(k, v)| format!("{k}: {v}")).collect();
                let key: Vec<&str> = key.into_iter().collect();
                (format!("{{ {} }}", matches.join(", ")), format!("[{}]", key.join(", ")))
            })
            .collect();
        let rows: Vec<(&str, &str)> = rows.iter().map(|(m, k)| (&**m, &**k)).collect();
        let contracts = contracts(&rows);
        let expected: Vec<usize> = (0..contracts.len())
            .filter(|at| applies(&contracts.as_slice()[*at], &entries))
            .collect();
        prop_assert_eq!(positions(&contracts, &entries), expected);
    }
}
