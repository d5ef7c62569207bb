//! What holds for every contract, every name and every request.

use std::fmt::Write as _;

use proptest::prelude::*;
use tollgate_contract::Contracts;
use tollgate_limit::{Cost, Instant};
use tollgate_node::{Key, Node, NodeConfig};
use tollgate_table::Seed;

use super::*;

/// Letters with a meaning in header fields, in quotes or on the wire, and some that cannot be sent.
fn names() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,8}",
        "[\"\\\\;=,%: a-c]{1,6}",
        "[\\PC]{1,8}",
        Just("č\u{a0}\u{2028}".to_owned()),
    ]
}

fn policies() -> impl Strategy<Value = String> {
    let algorithms = prop_oneof![
        Just("algorithm: token-bucket"),
        Just("algorithm: token-bucket, on_limit: delay, max_wait: 20s"),
        Just("algorithm: token-bucket, count_refused: true"),
        Just("algorithm: leaky-bucket"),
        Just("algorithm: fixed-window"),
        Just("algorithm: sliding-log"),
        Just("algorithm: sliding-weighted"),
        Just("algorithm: token-bucket, enforce_percent: 50"),
        Just("algorithm: token-bucket, mode: shadow"),
    ];
    let periods = prop_oneof![
        Just("250ms"),
        Just("1s"),
        Just("7s"),
        Just("1m"),
        Just("1h"),
        Just("30d")
    ];
    let limits = prop_oneof![1..6_u64, Just(9_007_199_254_740_992)];
    (algorithms, periods, limits).prop_map(|(algorithm, period, limit)| {
        format!("limit: {limit}, per: {period}, {algorithm}")
    })
}

fn contracts() -> impl Strategy<Value = Contracts> {
    let policies = prop::collection::vec((names(), policies()), 1..4);
    let dialect = prop::option::of(prop::sample::select(&Dialect::NAMES[..]));
    let contract = (names(), dialect, policies);
    prop::collection::vec(contract, 1..3).prop_filter_map("names are told apart", |all| {
        let mut text = "contracts:\n".to_owned();
        for (id, dialect, policies) in all {
            writeln!(text, "  - id: {}\n    key: [user]", quoted(&id)).unwrap();
            text += &dialect.map_or(String::new(), |name| format!("    headers: {name}\n"));
            text += "    policies:\n";
            for (name, policy) in policies {
                writeln!(text, "      - {{ name: {}, {policy} }}", quoted(&name)).unwrap();
            }
        }
        Contracts::parse(&text).ok()
    })
}

fn quoted(name: &str) -> String {
    serde_json::to_string(name).unwrap()
}

fn steps() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let wait = prop_oneof![Just(0), 0..2_000_000_000_u64, 0..90_000_000_000_u64];
    prop::collection::vec((prop_oneof![0..4_u64, Just(9)], wait), 1..24)
}

fn all_fields(report: &LimitReport<'_>, dialect: Dialect) -> Vec<(&'static str, String)> {
    let mut fields = Vec::new();
    report.each_field(dialect, |name, value| {
        fields.push((name, String::from_utf8(value.to_vec()).unwrap()));
    });
    fields
}

/// A string with its parameters.
type Item = (String, Vec<(char, u64)>);

/// A list of strings with whole numbers as parameters, as structured fields write it; `None` for anything else.
fn parsed(value: &str) -> Option<Vec<Item>> {
    let mut rest = value;
    let mut items = Vec::new();
    loop {
        rest = rest.strip_prefix('"')?;
        let mut name = String::new();
        loop {
            let mut letters = rest.chars();
            let letter = letters.next()?;
            rest = letters.as_str();
            match letter {
                '"' => break,
                '\\' => {
                    let letter = rest.chars().next().filter(|c| matches!(c, '"' | '\\'))?;
                    rest = &rest[1..];
                    name.push(letter);
                }
                ' '..='~' => name.push(letter),
                _ => return None,
            }
        }
        let end = rest.find(", \"").unwrap_or(rest.len());
        let (parameters, after) = rest.split_at(end);
        let mut numbers = Vec::new();
        for parameter in parameters.strip_prefix(';')?.split(';') {
            let (name, number) = parameter.split_once('=')?;
            let digits = number.len() <= 15 && number.bytes().all(|byte| byte.is_ascii_digit());
            let mut letters = name.chars();
            let letter = letters
                .next()
                .filter(|_| letters.next().is_none() && digits)?;
            numbers.push((letter, number.parse().ok()?));
        }
        items.push((name, numbers));
        if after.is_empty() {
            return Some(items);
        }
        rest = after.strip_prefix(", ")?;
    }
}

fn parameter(item: &Item, name: char) -> Option<u64> {
    item.1
        .iter()
        .find(|(is, _)| *is == name)
        .map(|(_, value)| *value)
}

/// Every field can be sent, and is consistent with the report.
fn check(report: &LimitReport<'_>) -> Result<(), TestCaseError> {
    for dialect in Dialect::ALL {
        let fields = all_fields(report, dialect);
        for (name, value) in &fields {
            prop_assert!(!value.is_empty(), "{name} is empty");
            prop_assert!(
                value.bytes().all(|b| matches!(b, b' '..=b'~')),
                "{name}: {value:?}"
            );
        }
        let find = |wanted: &str| {
            fields
                .iter()
                .find(|(name, _)| *name == wanted)
                .map(|(_, value)| &**value)
        };
        let retry = find("retry-after").map(|value| value.parse::<u64>().unwrap());
        if let Some(retry) = retry {
            prop_assert!(report.is_refusal() && retry > 0);
        }
        if let (Some(policies), Some(limits)) = (find(RATELIMIT_POLICY), find(RATELIMIT)) {
            let (policies, limits) = (parsed(policies), parsed(limits));
            prop_assert!(policies.is_some() && limits.is_some(), "{fields:?}");
            let (policies, limits) = (policies.unwrap(), limits.unwrap());
            prop_assert_eq!(policies.len(), limits.len());
            for (policy, limit) in policies.iter().zip(&limits) {
                prop_assert_eq!(&policy.0, &limit.0);
                prop_assert!(parameter(policy, 'q').is_some() && parameter(limit, 'r').is_some());
                prop_assert!(parameter(policy, 'w').is_none_or(|window| window > 0));
                let after = parameter(limit, 't').unwrap_or(0);
                prop_assert!(retry.is_none_or(|retry| retry >= after), "{fields:?}");
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn the_answer_alone_says_what_looking_everything_up_says(contracts in contracts(), steps in steps()) {
        let node = Node::new(contracts, NodeConfig::default(), Seed::new([1, 2]));
        let mut now = Instant::from_nanos(1_800_000_000_123_456_789);
        for (cost, wait) in steps {
            let answer = node.check(Key::Entries(&[("user", "ada")]), Cost::new(cost).unwrap(), now);
            let report = LimitReport::of(&node, &answer, now);
            prop_assert_eq!(Some(report.clone()), LimitReport::looked_up(&node, &answer, now), "cost {}, {:?}", cost, answer);
            check(&report)?;
            if let Some(problem) = report.problem() {
                let problem: serde_json::Value = serde_json::from_str(&problem).unwrap();
                prop_assert!(problem["violated-policies"].is_array());
            }
            now = Instant::from_nanos(now.as_nanos() + wait);
        }
    }

    #[test]
    fn labels_of_any_name_are_one_string(contract in any::<String>(), name in any::<String>()) {
        let mut value = crate::value::FieldValue::new();
        crate::label::Label::full(&contract, &name).quote(&mut value);
        value.put(b";q=1");
        let items = parsed(std::str::from_utf8(value.as_bytes()).unwrap()).unwrap();
        prop_assert_eq!(items.len(), 1);
    }
}
