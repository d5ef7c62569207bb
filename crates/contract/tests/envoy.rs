//! The descriptor file of envoyproxy/ratelimit: the same rule counts as there, alone and as contracts.

#![allow(clippy::unwrap_used, reason = "a test says what it expects")]

use tollgate_contract::envoy::{self, EnvoyDomains, EnvoyRule};
use tollgate_contract::{Contracts, Descriptor};
use tollgate_limit::{Algorithm, Period};

const FILE: &str = include_str!("envoy.yaml");

fn domains() -> EnvoyDomains {
    envoy::parse(FILE).unwrap_or_else(|errors| panic!("{errors}"))
}

#[track_caller]
fn rule_is(entries: &[(&str, &str)], id: Option<&str>) {
    let domains = domains();
    let found = domains
        .get("shop")
        .unwrap()
        .rule_for(entries)
        .map(|rule| rule.id());
    assert_eq!(found, id);
    // As contracts the same rules bind, unless they are unlimited.
    let contracts = Contracts::parse_any(FILE).unwrap();
    let mut bound = Vec::new();
    contracts.bind(&Descriptor::in_domain("shop", entries), |index, _| {
        bound.push(index);
    });
    let ids: Vec<&str> = bound
        .iter()
        .map(|index| &*contracts.as_slice()[*index].id)
        .collect();
    let unlimited = id == Some("shop/user_admin");
    assert_eq!(ids, Vec::from_iter(id.filter(|_| !unlimited)));
}

#[test]
fn an_exact_value_counts_before_wildcards_and_those_before_the_bare_key() {
    rule_is(&[("user", "admin")], Some("shop/user_admin"));
    rule_is(&[("user", "bot-1")], Some("shop/user_bot-*"));
    rule_is(&[("user", "anna")], Some("shop/user"));
    rule_is(&[("user", "")], Some("shop/user"));
}

#[test]
fn wildcards_count_in_file_order() {
    rule_is(&[("user", "bot-good1")], Some("shop/user_bot-*"));
    rule_is(&[("user", "bot-good*")], Some("shop/user_bot-good*"));
}

#[test]
fn a_rule_counts_only_at_the_depth_of_the_request() {
    rule_is(&[("tenant", "t")], None);
    rule_is(
        &[("tenant", "t"), ("path", "/search")],
        Some("shop/tenant/path_/search"),
    );
    rule_is(
        &[("tenant", "t"), ("path", "/other")],
        Some("shop/tenant/path"),
    );
    rule_is(&[("tenant", "t"), ("path", "/search"), ("more", "x")], None);
    rule_is(&[("user", "anna"), ("path", "/")], None);
    rule_is(&[("path", "/"), ("tenant", "t")], None);
    rule_is(&[], None);
}

#[test]
fn a_descriptor_without_limit_and_children_allows() {
    rule_is(&[("tenant", "t"), ("path", "/free")], None);
}

#[test]
fn a_level_that_is_chosen_is_not_left_again() {
    // `bot-*` has children, the bare `user` does not matter any more.
    rule_is(
        &[("user", "bot-1"), ("path", "/x")],
        Some("shop/user_bot-*/path"),
    );
    rule_is(&[("user", "bot-1"), ("other", "x")], None);
}

#[test]
fn units_are_windows_aligned_to_the_epoch() {
    let seconds = |entries: &[(&str, &str)], domain: &str| {
        let domains = domains();
        let rule = domains.get(domain).unwrap().rule_for(entries).unwrap();
        let config = rule.policy().unwrap().config().clone();
        assert_eq!(
            (config.algorithm, config.offset_ns),
            (Algorithm::FixedWindow, 0)
        );
        assert!(config.count_refused);
        let Period::Fixed(nanos) = config.period else {
            panic!("a calendar")
        };
        nanos / 1_000_000_000
    };
    assert_eq!(seconds(&[("user", "bot-1")], "shop"), 1);
    assert_eq!(seconds(&[("user", "anna")], "shop"), 60);
    assert_eq!(
        seconds(&[("tenant", "t"), ("path", "/search")], "shop"),
        3_600
    );
    assert_eq!(seconds(&[("user", "bot-1"), ("path", "/")], "shop"), 86_400);
    assert_eq!(seconds(&[("tenant", "t"), ("path", "/")], "shop"), 604_800);
    assert_eq!(seconds(&[("user", "guest")], "shop"), 2_592_000);
    assert_eq!(seconds(&[("to", "x")], "mail"), 31_536_000);
}

#[test]
fn shared_counters_have_the_pattern_for_a_value() {
    let domains = domains();
    let shop = domains.get("shop").unwrap();
    let counter = |entries: &[(&str, &str)]| -> Vec<String> {
        let rule = shop.rule_for(entries).unwrap();
        rule.counter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect()
    };
    assert_eq!(counter(&[("user", "bot-1")]), ["user=bot-*"]);
    assert_eq!(
        counter(&[("user", "bot-1"), ("path", "/x")]),
        ["user=bot-*", "path=/x"]
    );
    assert_eq!(counter(&[("user", "anna")]), ["user=anna"]);
}

#[test]
fn flags_and_names_are_kept() {
    let domains = domains();
    let shop = domains.get("shop").unwrap();
    let admin = shop.rule_for(&[("user", "admin")]).unwrap();
    assert!(admin.is_unlimited() && admin.policy().is_none() && admin.contract().is_none());
    assert_eq!(admin.replaces(), ["each_user"]);
    let guest = shop.rule_for(&[("user", "guest")]).unwrap();
    assert!(guest.is_shadow() && guest.is_quota());
    assert_eq!(guest.policy().unwrap().config().enforce_percent, 0);
    let anna = shop.rule_for(&[("user", "anna")]).unwrap();
    assert_eq!(
        (anna.name(), anna.is_shadow(), anna.is_quota()),
        (Some("each_user"), false, false)
    );
    assert_eq!(
        domains
            .iter()
            .map(envoy::EnvoyDomain::name)
            .collect::<Vec<_>>(),
        ["shop", "mail"]
    );
}

#[test]
fn documents_of_one_domain_are_one() {
    let part = |key: &str| {
        let rule = "rate_limit: { unit: hour, requests_per_unit: 1 }";
        format!("domain: d\ndescriptors: [{{ key: {key}, {rule} }}]\n---\n")
    };
    let other = "domain: e\n---\n".to_owned();
    let domains = envoy::parse(&(part("a") + &other + &part("b"))).unwrap();
    let names: Vec<_> = domains.iter().map(envoy::EnvoyDomain::name).collect();
    assert_eq!(names, ["d", "e"]);
    let keys = domains.get("d").unwrap().limits().map(|(_, path)| path);
    assert_eq!(keys.collect::<Vec<_>>(), [["a"], ["b"]]);
}

#[test]
fn nothing_per_unit_is_a_limit_like_others() {
    let file = "domain: d
descriptors: [{ key: a, rate_limit: { unit: hour, requests_per_unit: 0 } }]";
    let contracts = Contracts::parse_any(file).unwrap();
    let config = contracts.as_slice()[0].policies[0].policy.config().clone();
    assert_eq!((config.limit, config.enforce_percent), (0, 100));
    // In a contract file it is a mistake, as it was.
    let own = "contracts: [{ id: a, policies: [{ name: p, limit: 0, per: 1h, algorithm: fixed-window }] }]";
    assert!(Contracts::parse_any(own).is_err());
}

#[test]
fn positions_of_contracts_are_those_of_the_rules() {
    let contracts = Contracts::parse_any(FILE).unwrap();
    let domains = contracts.envoy().unwrap();
    let requests: [&[(&str, &str)]; 4] = [
        &[("user", "a")],
        &[("user", "bot-1"), ("path", "/")],
        &[("tenant", "t"), ("path", "/")],
        &[("to", "x")],
    ];
    for entries in requests {
        let request = Descriptor::of(entries);
        let rules: Vec<EnvoyRule<'_>> = domains.rules_for(&request).collect();
        assert_eq!(rules.len(), 1, "{entries:?}");
        let contract = contracts.get(rules[0].contract().unwrap()).unwrap();
        assert_eq!(contract.id, rules[0].id());
        assert_eq!(Some(&contract.policies[0].policy), rules[0].policy());
        assert!(contract.applies(entries));
    }
    assert_eq!(contracts.len(), 8);
}

#[test]
fn a_broken_descriptor_file_is_not_taken_for_a_contract_file() {
    let said = |text: &str| {
        Contracts::parse_any(text).unwrap_err().errors()[0]
            .what()
            .to_owned()
    };
    assert!(said("domain: d\ndescriptors:\n\t- key: a\n").contains("tabs"));
    assert!(
        said("domain: d\ndescriptors: [{ key: a, rate_limt: 3 }]")
            .contains("did you mean `rate_limit`")
    );
    assert!(said("domain: d\ncontracts: []\n").contains("unknown field `domain`"));
    assert!(said("limits: 3").contains("unknown field `limits`"));
}

#[test]
fn another_domain_does_not_count() {
    let contracts = Contracts::parse_any(FILE).unwrap();
    let mut bound = 0;
    contracts.bind(&Descriptor::in_domain("mail", &[("user", "a")]), |_, _| {
        bound += 1;
    });
    contracts.bind(
        &Descriptor::in_domain("nowhere", &[("user", "a")]),
        |_, _| bound += 1,
    );
    assert_eq!(bound, 0);
}
