//! Plans that follow plans, and what another plan and overrides make of a contract, against the obvious way: write
//! everything out by hand and read that.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test says what it expects"
)]

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use tollgate_contract::file::{Place, Problems, RawPolicies, Text};
use tollgate_contract::{Contract, ContractError, Contracts, Deal, ErrorKind, Plans, Terms, file};

fn text(value: &str) -> Text {
    Text {
        value: value.into(),
        place: Place::default(),
        plain: true,
    }
}

fn deal(plan: Option<&str>, overrides: &str) -> Deal {
    let mut problems = Problems::default();
    let overrides: RawPolicies = file::read(overrides).unwrap();
    let deal = Deal::new(plan.map(text), &overrides, Place::default(), &mut problems);
    assert!(problems.is_empty());
    deal
}

fn terms(contracts: &Contracts, plan: Option<&str>, overrides: &str) -> Result<Terms, String> {
    let mut problems = Problems::default();
    let contract = &contracts.as_slice()[0];
    let terms = contract.terms(contracts.plans(), &deal(plan, overrides), &mut problems);
    terms.ok_or_else(|| problems.messages().collect::<Vec<_>>().join("\n"))
}

const FILE: &str = "
plans:
  free: { policies: [{ name: burst, limit: 20, per: 1s }, { name: daily, limit: 1000, per: day, algorithm: fixed-window }] }
  pro: { follows: free, policies: [{ name: burst, limit: 200 }] }
  max: { follows: pro, policies: [{ name: daily, limit: 9000 }, { name: monthly, limit: 99999, per: month, algorithm: fixed-window }] }
contracts:
  - { id: users, key: [user], plan: free, coordination: owner, policies: [{ name: burst, burst: 40 }] }
";

fn limits(terms: &Terms) -> Vec<(&str, u64)> {
    let policies = terms.policies.iter();
    policies
        .map(|named| (&*named.name, named.policy.config().limit))
        .collect()
}

#[test]
fn another_plan_takes_the_place_of_the_contracts() {
    let contracts = Contracts::parse(FILE).unwrap();
    assert_eq!(contracts.as_slice()[0].plan.as_deref(), Some("free"));
    let same = terms(&contracts, None, "[]").unwrap();
    assert_eq!(same.policies, contracts.as_slice()[0].policies);
    let max = terms(&contracts, Some("max"), "[{ name: daily, limit: 7 }]").unwrap();
    assert_eq!(
        limits(&max),
        [("burst", 200), ("daily", 7), ("monthly", 99_999)]
    );
    // The contract's own word holds under every plan.
    assert_eq!(max.policies[0].policy.config().burst, Some(40));
    assert_eq!(max.set.policies().len(), 3);
    assert_ne!(max.version, same.version);
    let again = terms(&contracts, Some("max"), "[{ limit: 7, name: daily }]").unwrap();
    assert_eq!(again, max);
}

#[test]
fn an_override_of_what_is_not_there_changes_nothing() {
    let contracts = Contracts::parse(FILE).unwrap();
    let none = terms(&contracts, Some("pro"), "[]").unwrap();
    let other = terms(&contracts, Some("pro"), "[{ name: monthly, limit: 7 }]").unwrap();
    assert_eq!(none, other);
}

#[test]
fn what_makes_no_sense_is_said_as_in_a_file() {
    let contracts = Contracts::parse(FILE).unwrap();
    assert_eq!(
        terms(&contracts, Some("fre"), "[]").unwrap_err(),
        "unknown plan `fre`, did you mean `free`?"
    );
    assert_eq!(
        terms(&contracts, None, "[{ name: daily, slices: 3 }]").unwrap_err(),
        "only sliding-counters has slices"
    );
    assert_eq!(
        terms(&contracts, None, "[{ name: daily, limit: 0 }]").unwrap_err(),
        "`limit` must be at least 1"
    );
}

#[test]
fn plans_are_put_one_by_one_and_stay_as_they_were_when_refused() {
    let mut plans = Plans::default();
    plans
        .put("{ id: a, policies: [{ name: p, limit: 1, per: 1s }] }")
        .unwrap();
    plans
        .put("{ id: b, follows: a, policies: [{ name: p, limit: 2 }] }")
        .unwrap();
    plans.put("{ id: c, follows: b }").unwrap();
    assert_eq!(plans.family("b"), ["b", "c"]);
    assert_eq!(plans.policy_names("c"), ["p"]);
    let other = "{ id: c, follows: d }";
    assert!(plans.put(other).is_err());
    plans.put("{ id: d, follows: c }").unwrap();
    assert!(
        plans.put(other).is_err(),
        "whichever plan closes the circle"
    );
    plans.remove("d");
    let circle = plans.put("{ id: a, follows: c }").unwrap_err();
    let error = &circle.errors()[0];
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(
        error.what(),
        "plans cannot follow each other in a circle: `a` -> `c` -> `b` -> `a`"
    );
    assert_eq!((plans.follows("a"), plans.follows("c")), (None, Some("b")));
    // A change that a follower cannot stand is for the follower to say.
    plans
        .put("{ id: a, policies: [{ name: p, limit: 1, per: day, algorithm: fixed-window }] }")
        .unwrap();
    assert!(plans.recheck("c").is_empty());
    plans
        .put("{ id: a, policies: [{ name: q, limit: 1, per: 1s }] }")
        .unwrap();
    let told: Vec<String> = plans.recheck("c").messages().map(str::to_owned).collect();
    assert_eq!(told, ["a policy needs `per`"]);
}

#[test]
fn a_contract_is_read_by_itself_and_renewed_with_its_plan() {
    let mut plans = Plans::default();
    plans
        .put("{ id: a, policies: [{ name: p, limit: 1, per: 1s }] }")
        .unwrap();
    let (contract, raw) = Contract::read("{ id: c, match: { v: 1.10 }, plan: a }", &plans).unwrap();
    assert_eq!(contract.policies[0].policy.config().limit, 1);
    assert_eq!(
        serde_json::to_value(&raw).unwrap(),
        serde_json::json!({ "id": "c", "match": { "v": "1.10" }, "plan": "a" })
    );
    plans
        .put("{ id: a, policies: [{ name: p, limit: 5, per: 1s }] }")
        .unwrap();
    let renewed = contract.renewed(&plans).unwrap();
    assert_eq!(renewed.policies[0].policy.config().limit, 5);
    assert_eq!(renewed.policy_set().policies().len(), 1);
    let unknown = Contract::read("{ id: c, plan: b }", &plans).unwrap_err();
    assert!(
        unknown.to_string().contains("did you mean `a`?"),
        "{unknown}"
    );
}

/// A policy as fields with values.
type Fields = BTreeMap<&'static str, String>;

fn fields() -> impl Strategy<Value = Fields> {
    let field = prop_oneof![
        (1_u64..50).prop_map(|n| ("limit", n.to_string())),
        (1_u64..50).prop_map(|n| ("per", format!("{n}s"))),
        (1_u64..50).prop_map(|n| ("burst", n.to_string())),
        prop_oneof!["token-bucket", "leaky-bucket", "fixed-window"]
            .prop_map(|name| ("algorithm", name)),
        prop_oneof!["local", "owner", "store"].prop_map(|name| ("coordination", name)),
        any::<bool>().prop_map(|on| ("durable", on.to_string())),
    ];
    vec(field, 0..4).prop_map(|fields| fields.into_iter().collect())
}

type Named = BTreeMap<&'static str, Fields>;

fn policies(names: &'static [&'static str]) -> impl Strategy<Value = Named> {
    btree_map(proptest::sample::select(names), fields(), 0..3)
}

fn yaml(policies: &[(&str, Fields)]) -> String {
    let one = |(name, fields): &(&str, Fields)| {
        let fields = fields
            .iter()
            .map(|(field, value)| format!(", {field}: {value}"));
        format!("{{ name: {name}{} }}", fields.collect::<String>())
    };
    format!(
        "[{}]",
        policies.iter().map(one).collect::<Vec<_>>().join(", ")
    )
}

/// Lays fields over fields, by hand.
fn over(under: &mut Vec<(&'static str, Fields)>, own: &Named, adds: bool) {
    for (name, fields) in own {
        match under.iter_mut().find(|(is, _)| is == name) {
            Some((_, base)) => base.extend(fields.clone()),
            None if adds => under.push((name, fields.clone())),
            None => {}
        }
    }
}

fn list(named: &Named) -> Vec<(&'static str, Fields)> {
    named
        .iter()
        .map(|(name, fields)| (*name, fields.clone()))
        .collect()
}

proptest! {
    #[test]
    fn terms_are_what_would_be_written_out_by_hand(
        free in policies(&["a", "b"]), pro in policies(&["a", "b", "c"]),
        own in policies(&["a", "c", "d"]), other in policies(&["a", "b", "c", "d", "e"]),
    ) {
        let whole: Fields = [("limit", "3".to_owned()), ("per", "2s".to_owned())].into();
        let mut free = free;
        free.insert("a", whole.clone());
        for fields in free.values_mut() {
            for (field, value) in &whole {
                fields.entry(field).or_insert_with(|| value.clone());
            }
        }
        let mut plans = Plans::default();
        let put = plans.put(&format!("{{ id: free, policies: {} }}", yaml(&list(&free))));
        prop_assume!(put.is_ok());
        let put = plans.put(&format!("{{ id: pro, follows: free, policies: {} }}", yaml(&list(&pro))));
        prop_assume!(put.is_ok());
        let read = Contract::read(&format!("{{ id: c, plan: free, policies: {} }}", yaml(&list(&own))), &plans);
        prop_assume!(read.is_ok());
        let (contract, _) = read.unwrap();
        let mut problems = Problems::default();
        let terms = contract.terms(&plans, &deal(Some("pro"), &yaml(&list(&other))), &mut problems);

        let mut all = list(&free);
        over(&mut all, &pro, true);
        over(&mut all, &own, true);
        over(&mut all, &other, false);
        let by_hand = Contracts::parse(&format!("contracts: [{{ id: c, policies: {} }}]", yaml(&all)));
        match (terms, by_hand) {
            (Some(terms), Ok(by_hand)) => prop_assert_eq!(&terms.policies, &by_hand.as_slice()[0].policies),
            (None, Err(errors)) => {
                let mut told: Vec<_> = problems.messages().collect();
                let mut by_hand: Vec<_> = errors.errors().iter().map(ContractError::what).collect();
                told.sort_unstable();
                told.dedup();
                by_hand.sort_unstable();
                by_hand.dedup();
                prop_assert_eq!(told, by_hand);
            }
            (terms, by_hand) => prop_assert!(false, "{terms:?} but {by_hand:?}"),
        }
    }
}
