//! What a good contract file means.

#![allow(clippy::format_collect, reason = "short texts")]

use tollgate_contract::{Contract, Contracts, Coordination, ErrorKind, OnFailure};
use tollgate_limit::{Algorithm, Calendar, Inherit, OnLimit, Period};

const SECOND_NS: u64 = 1_000_000_000;

fn parse(text: &str) -> Contracts {
    Contracts::parse(text).unwrap_or_else(|errors| panic!("{errors}"))
}

fn policy_names(contract: &Contract) -> Vec<&str> {
    contract
        .policies
        .iter()
        .map(|policy| &*policy.name)
        .collect()
}

#[test]
fn a_policy_of_name_limit_and_period_has_the_defaults() {
    let contracts = parse("contracts: [{ id: a, policies: [{ name: p, limit: 20, per: 1s }] }]");
    let contract = &contracts.as_slice()[0];
    assert_eq!(
        (&*contract.id, contract.matches.len(), contract.key.len()),
        ("a", 0, 0)
    );
    let named = &contract.policies[0];
    assert_eq!(named.coordination, Coordination::Local);
    assert_eq!((named.on_failure, named.durable), (OnFailure::Local, false));
    let config = named.policy.config();
    assert_eq!(
        (config.limit, &config.period),
        (20, &Period::Fixed(SECOND_NS))
    );
    assert_eq!(
        (config.algorithm, config.burst),
        (Algorithm::TokenBucket, None)
    );
    assert_eq!((config.on_limit, config.max_debt), (OnLimit::Deny, None));
    assert_eq!((config.enforce_percent, config.count_refused), (100, false));
    assert_eq!(config.inherit, Inherit::AsIs);
}

#[test]
fn every_field_arrives() {
    let contracts = parse(include_str!("good.yaml"));
    let [free, shifts, api] = contracts.as_slice() else {
        panic!("three contracts")
    };
    assert_eq!(
        free.matches,
        [
            ("plan".into(), "free".into()),
            ("version".into(), "1.10".into())
        ]
    );
    assert_eq!(policy_names(free), ["burst", "hourly", "monthly"]);
    let monthly = &free.policies[2];
    assert!(monthly.durable);
    assert_eq!(
        (monthly.on_failure, monthly.coordination),
        (OnFailure::Deny, Coordination::Store)
    );
    let zone = Calendar::MONTH.in_zone("Europe/Ljubljana").unwrap();
    assert_eq!(monthly.policy.config().period, Period::Calendar(zone));

    let configs: Vec<_> = shifts
        .policies
        .iter()
        .map(|named| named.policy.config())
        .collect();
    assert_eq!(
        (configs[0].offset_ns, configs[0].enforce_percent),
        (6 * 3_600 * SECOND_NS, 0)
    );
    assert_eq!(configs[1].algorithm, Algorithm::LeakyBucket);
    assert_eq!(
        (
            configs[1].burst,
            configs[1].max_debt,
            configs[1].count_refused
        ),
        (Some(3), Some(10), true)
    );
    assert_eq!(
        (configs[2].enforce_percent, configs[2].inherit),
        (25, Inherit::Proportional)
    );
    assert_eq!(
        (configs[3].enforce_percent, configs[3].inherit),
        (100, Inherit::Reset)
    );
    assert_eq!(shifts.key, ["site", "badge"]);

    let ceiling = &api.policies[0];
    assert_eq!(ceiling.policy.config().algorithm, Algorithm::TokenBucket);
    assert_eq!(ceiling.coordination, Coordination::Supply);
}

#[test]
fn a_contract_overrides_only_the_fields_it_gives() {
    let contracts = parse(include_str!("good.yaml"));
    let burst = contracts.as_slice()[0].policies[0].policy.config().clone();
    // The limit and the delay are the contract's, period and burst the plan's.
    assert_eq!((burst.limit, burst.burst), (30, Some(40)));
    assert_eq!(burst.period, Period::Fixed(SECOND_NS));
    assert_eq!(
        burst.on_limit,
        OnLimit::Delay {
            max_wait_ns: Some(250_000_000)
        }
    );
    // The contract's coordination holds for the plan's policies too.
    assert_eq!(
        contracts.as_slice()[0].policies[1].coordination,
        Coordination::Gossip
    );
}

#[test]
fn a_plan_alone_is_enough_and_is_not_changed_by_those_who_override_it() {
    let contracts = parse(
        "plans: { free: { policies: [{ name: p, limit: 1, per: 1s }] } }
contracts:
  - { id: a, plan: free, policies: [{ name: p, limit: 9 }, { name: q, limit: 3, per: 1m }] }
  - { id: b, plan: free }
",
    );
    let limits: Vec<Vec<u64>> = contracts
        .as_slice()
        .iter()
        .map(|contract| {
            contract
                .policies
                .iter()
                .map(|named| named.policy.config().limit)
                .collect()
        })
        .collect();
    assert_eq!(limits, [vec![9, 3], vec![1]]);
}

#[test]
fn a_large_file_is_read() {
    let rows: String = (0..20_000)
        .map(|n| format!("- {{ id: c{n}, match: {{ tenant: t{n} }}, policies: [{{ name: p, limit: 1, per: 1s }}] }}\n"))
        .collect();
    assert_eq!(parse(&format!("contracts:\n{rows}")).len(), 20_000);
}

#[test]
fn what_plans_multiply_is_bounded() {
    let policies: String = (0..64)
        .map(|n| format!("{{ name: p{n}, limit: 1, per: 1s }},"))
        .collect();
    let rows: String = (0..8_000)
        .map(|n| format!("- {{ id: c{n}, plan: big }}\n"))
        .collect();
    let text = format!("plans: {{ big: {{ policies: [{policies}] }} }}\ncontracts:\n{rows}");
    let errors = Contracts::parse(&text).unwrap_err();
    assert_eq!(errors.errors()[0].kind(), ErrorKind::TooLarge, "{errors}");
}

#[test]
fn a_file_that_is_wrong_everywhere_is_given_up_early() {
    let row = "- { id: c, policies: [{ name: p, limit: 1, per: day, algorithm: fixed-window, time_zone: Nowhere/City }] }\n";
    let text = format!("contracts:\n{}", row.repeat(20_000));
    let errors = Contracts::parse(&text).unwrap_err();
    assert!(errors.unreported() < 2_000, "{}", errors.unreported());
}
