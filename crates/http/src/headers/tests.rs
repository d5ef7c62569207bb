//! Header fields after allowed, delayed and refused requests.

use std::cell::Cell;

use http::StatusCode;
use http::header::RETRY_AFTER;
use tollgate_contract::Contracts;
use tollgate_limit::{Algorithm, Cost, Instant, OnLimit, Period, Policy, PolicyConfig};
use tollgate_node::{Answer, Key, Node, NodeConfig};
use tollgate_table::{Seed, WhenFull};

use super::*;
use crate::report::Decider;

struct Limiter {
    node: Node,
    now: Cell<u64>,
}

impl Limiter {
    fn of(contracts: Contracts, config: NodeConfig, now: u64) -> Self {
        let node = Node::new(contracts, config, Seed::new([1, 2]));
        Self {
            node,
            now: Cell::new(now),
        }
    }

    fn check<'k>(&self, key: impl Into<Key<'k>>, cost: u64) -> Answer {
        let cost = Cost::new(cost).unwrap();
        self.node.check(key.into(), cost, self.now())
    }
}

impl Decider for Limiter {
    fn node(&self) -> &Node {
        &self.node
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(self.now.get())
    }
}

fn limiter(policies: impl IntoIterator<Item = PolicyConfig>) -> Limiter {
    let policies = policies
        .into_iter()
        .map(|policy| Policy::new(policy).unwrap());
    let contracts = Contracts::for_every_key(policies.collect()).unwrap();
    Limiter::of(contracts, NodeConfig::default(), 1_500_000_000)
}

fn contracts(text: &str) -> Limiter {
    let contracts = Contracts::parse(text).unwrap();
    Limiter::of(contracts, NodeConfig::default(), 0)
}

fn report<'k>(limiter: &Limiter, key: impl Into<Key<'k>>, cost: u64) -> LimitReport<'_> {
    // A report lives as long as its answer, so tests leak answers.
    let answer = Box::leak(Box::new(limiter.check(key.into(), cost)));
    LimitReport::new(limiter, answer)
}

#[track_caller]
fn fields(report: &LimitReport<'_>, dialect: Dialect, expected: &[(&str, &str)]) {
    let headers = report.headers(dialect);
    let mut found: Vec<_> = headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
        .collect();
    found.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn an_allowed_request_hears_what_is_left_and_when_all_is_back() {
    let limiter = limiter([
        PolicyConfig::token_bucket(10, Period::SECOND),
        PolicyConfig::new(Algorithm::FixedWindow, 600, Period::MINUTE),
    ]);
    let expected = [
        ("ratelimit", "\"policy-1\";r=7;t=1, \"policy-2\";r=597;t=59"),
        (
            "ratelimit-policy",
            "\"policy-1\";q=10;w=1, \"policy-2\";q=600;w=60",
        ),
    ];
    fields(&report(&limiter, "a", 3), Dialect::Ietf, &expected);
}

#[test]
fn a_key_that_spent_nothing_has_nothing_to_wait_for() {
    let limiter = limiter([PolicyConfig::token_bucket(10, Period::SECOND)]);
    let expected = [
        ("ratelimit", "\"policy-1\";r=10"),
        ("ratelimit-policy", "\"policy-1\";q=10;w=1"),
    ];
    fields(&report(&limiter, "a", 0), Dialect::Ietf, &expected);
}

#[test]
fn a_refused_request_hears_when_to_come_back_and_no_later_time() {
    let limiter = limiter([
        PolicyConfig::token_bucket(4, Period::MINUTE),
        PolicyConfig::token_bucket(1_000, Period::HOUR),
    ]);
    let _ = limiter.check("a", 3);
    let refused = report(&limiter, "a", 3);
    let expected = [
        ("ratelimit", "\"policy-1\";r=1;t=30, \"policy-2\";r=997"),
        (
            "ratelimit-policy",
            "\"policy-1\";q=4;w=60, \"policy-2\";q=1000;w=3600",
        ),
        ("retry-after", "30"),
    ];
    fields(&refused, Dialect::Ietf, &expected);
    fields(&refused, Dialect::None, &[("retry-after", "30")]);
}

#[test]
fn a_retry_points_no_earlier_than_any_policy() {
    let limiter = limiter([
        PolicyConfig::token_bucket(1, Period::SECOND),
        PolicyConfig::token_bucket(1, Period::HOUR),
    ]);
    let _ = limiter.check("a", 1);
    let refused = report(&limiter, "a", 1);
    assert_eq!(refused.headers(Dialect::Ietf)[RETRY_AFTER], "3600");
}

#[test]
fn a_retry_points_no_earlier_than_a_policy_that_would_delay() {
    let mut queue = PolicyConfig::token_bucket(1, Period::HOUR);
    queue.on_limit = OnLimit::Delay { max_wait_ns: None };
    let limiter = limiter([queue, PolicyConfig::token_bucket(1, Period::MINUTE)]);
    let _ = limiter.check("a", 1);
    let refused = report(&limiter, "a", 1);
    let headers = refused.headers(Dialect::Ietf);
    assert_eq!(
        headers[RATELIMIT],
        "\"policy-1\";r=0;t=3600, \"policy-2\";r=0;t=60"
    );
    assert_eq!(headers[RETRY_AFTER], "3600");
}

#[test]
fn each_policy_keeps_its_own_time_and_the_longest_refusal_is_named() {
    let limiter = contracts(
        "contracts: [{ id: users, key: [user], policies: [
            { name: burst, limit: 4, per: 1m }, { name: daily, limit: 3, per: 1d, algorithm: sliding-log } ] }]",
    );
    let ada: &[(&str, &str)] = &[("user", "ada")];
    let _ = limiter.check(ada, 3);
    let refused = report(&limiter, ada, 2);
    let headers = refused.headers(Dialect::Ietf);
    assert_eq!(
        headers[RATELIMIT],
        "\"burst\";r=1;t=15, \"daily\";r=0;t=86400"
    );
    assert_eq!(headers[RETRY_AFTER], "86400");
    let problem = refused.problem().unwrap();
    assert!(
        problem.contains("\"violated-policies\":[\"burst\",\"daily\"]"),
        "{problem}"
    );
    assert!(
        problem.contains("Too little is left of \\\"daily\\\""),
        "{problem}"
    );
    let kong = refused.headers(Dialect::Kong);
    assert_eq!(
        (&kong["ratelimit-limit"], &kong["ratelimit-reset"]),
        (&"3".parse().unwrap(), &"86400".parse().unwrap())
    );
}

#[test]
fn a_bucket_larger_than_its_limit_is_said_by_what_it_holds() {
    let mut bucket = PolicyConfig::token_bucket(5, Period::SECOND);
    bucket.burst = Some(10);
    let limiter = limiter([bucket]);
    let passed = report(&limiter, "a", 1);
    let expected = [
        ("ratelimit", "\"policy-1\";r=9;t=1"),
        ("ratelimit-policy", "\"policy-1\";q=10;w=2"),
    ];
    fields(&passed, Dialect::Ietf, &expected);
    let envoy = passed.headers(Dialect::Envoy);
    assert_eq!(envoy["x-ratelimit-limit"], "10, 10;w=2;name=\"policy-1\"");
    assert_eq!(envoy["x-ratelimit-remaining"], "9");
    // A field that is named after a second describes a second.
    let kong = passed.headers(Dialect::Kong);
    assert_eq!(
        (
            &kong["x-ratelimit-limit-second"],
            &kong["x-ratelimit-remaining-second"]
        ),
        (&"5".parse().unwrap(), &"5".parse().unwrap())
    );
    assert_eq!(
        (&kong["ratelimit-limit"], &kong["ratelimit-remaining"]),
        (&"10".parse().unwrap(), &"9".parse().unwrap())
    );
}

#[test]
fn a_wait_below_a_second_is_rounded_up() {
    let limiter = limiter([PolicyConfig::token_bucket(1_000, Period::SECOND)]);
    let _ = limiter.check("a", 1_000);
    assert_eq!(
        report(&limiter, "a", 1).headers(Dialect::Ietf)[RETRY_AFTER],
        "1"
    );
}

#[test]
fn a_request_that_can_never_pass_hears_of_no_time() {
    let limiter = limiter([PolicyConfig::token_bucket(4, Period::MINUTE)]);
    let never = report(&limiter, "a", 5);
    let expected = [
        ("ratelimit", "\"policy-1\";r=4"),
        ("ratelimit-policy", "\"policy-1\";q=4;w=60"),
    ];
    fields(&never, Dialect::Ietf, &expected);
    assert_eq!(never.status(), Some(StatusCode::TOO_MANY_REQUESTS));
    assert!(never.problem().unwrap().contains("can ever be left"));
}

#[test]
fn a_delayed_request_is_no_refusal() {
    let limiter = limiter([PolicyConfig::new(
        Algorithm::LeakyBucket,
        10,
        Period::SECOND,
    )]);
    let _ = limiter.check("a", 1);
    let delayed = report(&limiter, "a", 1);
    assert!(!delayed.is_refusal());
    assert_eq!(delayed.status(), None);
    assert_eq!(delayed.problem(), None);
    assert!(!delayed.headers(Dialect::Ietf).contains_key(RETRY_AFTER));
}

#[test]
fn a_window_that_is_no_whole_seconds_is_not_told() {
    let limiter = limiter([
        PolicyConfig::token_bucket(10, Period::from_nanos(250_000_000)),
        PolicyConfig::token_bucket(10, Period::from_nanos(1_500_000_000)),
    ]);
    let headers = report(&limiter, "a", 1).headers(Dialect::Ietf);
    assert_eq!(
        headers[RATELIMIT_POLICY],
        "\"policy-1\";q=10, \"policy-2\";q=10"
    );
}

#[test]
fn numbers_beyond_structured_fields_are_the_largest_there_is() {
    let limiter = limiter([PolicyConfig::token_bucket(1 << 53, Period::SECOND)]);
    let headers = report(&limiter, "a", 1).headers(Dialect::Ietf);
    assert_eq!(
        headers[RATELIMIT_POLICY],
        "\"policy-1\";q=999999999999999;w=1"
    );
    assert_eq!(headers[RATELIMIT], "\"policy-1\";r=999999999999999;t=1");
}

#[test]
fn the_older_fields_tell_of_the_tightest_policy() {
    let limiter = limiter([
        PolicyConfig::token_bucket(1_000, Period::HOUR),
        PolicyConfig::token_bucket(60, Period::MINUTE),
    ]);
    let seconds = Dialect::XRateLimit {
        reset: Reset::Seconds,
    };
    let epoch = Dialect::XRateLimit {
        reset: Reset::Epoch,
    };
    let allowed = report(&limiter, "a", 40);
    let told = |reset| {
        [
            ("x-ratelimit-limit", "60"),
            ("x-ratelimit-remaining", "20"),
            ("x-ratelimit-reset", reset),
        ]
    };
    fields(&allowed, seconds, &told("40"));
    // The clock stands at 1.5 s after the epoch.
    fields(&allowed, epoch, &told("42"));
    let refused = report(&limiter, "a", 30);
    let [limit, remaining, reset] = told("10");
    fields(
        &refused,
        seconds,
        &[("retry-after", "10"), limit, remaining, reset],
    );
}

#[test]
fn names_cannot_break_out_of_their_quotes() {
    let limiter = contracts(
        "contracts:\n  - id: a\n    key: [user]\n    policies:\n      \
         - { name: 'say \"hi\", \\;q=9', limit: 5, per: 1s }\n      - { name: čas, limit: 7, per: 1s }\n",
    );
    let refused = report(&limiter, &[("user", "ada")], 6);
    let headers = refused.headers(Dialect::Ietf);
    assert_eq!(
        headers[RATELIMIT_POLICY],
        r#""say \"hi\", \\;q=9";q=5;w=1, "%C4%8Das";q=7;w=1"#
    );
    let problem: serde_json::Value = serde_json::from_str(&refused.problem().unwrap()).unwrap();
    assert_eq!(problem["violated-policies"][0], "say \"hi\", \\;q=9");
}

#[test]
fn namesakes_are_told_apart_by_their_contracts() {
    let limiter = contracts(
        "contracts:\n  - id: user\n    key: [user]\n    policies: [{ name: rate, limit: 5, per: 1s }]\n  \
         - id: team\n    key: [team]\n    policies:\n      - { name: rate, limit: 50, per: 1s }\n      \
         - { name: day, limit: 900, per: 1d }\n",
    );
    let policies = report(&limiter, &[("user", "ada"), ("team", "x")], 1).headers(Dialect::Ietf);
    assert_eq!(
        policies[RATELIMIT_POLICY],
        "\"user/rate\";q=5;w=1, \"team/rate\";q=50;w=1, \"day\";q=900;w=86400"
    );
}

#[test]
fn policies_in_shadow_mode_are_not_told() {
    let shadow = PolicyConfig {
        enforce_percent: 0,
        ..PolicyConfig::token_bucket(1, Period::HOUR)
    };
    let limiter = limiter([shadow, PolicyConfig::token_bucket(10, Period::SECOND)]);
    let headers = report(&limiter, "a", 1).headers(Dialect::Ietf);
    assert_eq!(headers[RATELIMIT_POLICY], "\"policy-2\";q=10;w=1");
}

#[test]
fn of_many_policies_the_tightest_are_told() {
    let limiter = limiter(
        (1..=40)
            .rev()
            .map(|n| PolicyConfig::token_bucket(n * 10, Period::SECOND)),
    );
    let headers = report(&limiter, "a", 1).headers(Dialect::Ietf);
    let told = headers[RATELIMIT_POLICY].to_str().unwrap();
    assert_eq!(told.split(", ").count(), 16);
    assert!(told.starts_with("\"policy-40\";q=10;w=1, "));
    let refused = report(&limiter, "a", 10);
    assert!(
        refused
            .problem()
            .unwrap()
            .contains("\"violated-policies\":[\"policy-40\"]")
    );
}

#[test]
fn a_request_that_no_contract_binds_hears_that_and_of_no_quota() {
    let limiter = contracts(
        "contracts:\n  - id: a\n    match: { plan: free }\n    policies: [{ name: b, limit: 1, per: 1s }]\n",
    );
    fields(
        &report(&limiter, &[("plan", "paid")], 1),
        Dialect::Ietf,
        &[("tollgate-matched", "false")],
    );
    fields(
        &report(&limiter, "bare", 1),
        Dialect::XRateLimit {
            reset: Reset::Epoch,
        },
        &[("tollgate-matched", "false")],
    );
}

#[test]
fn the_body_of_a_refusal_names_the_quota_problem() {
    let limiter = limiter([PolicyConfig::token_bucket(4, Period::MINUTE)]);
    let _ = limiter.check("a", 4);
    let body = report(&limiter, "a", 1).problem().unwrap();
    let problem: serde_json::Value = serde_json::from_str(&body).unwrap();
    let expected = serde_json::json!({
        "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
        "title": "Quota exceeded",
        "status": 429,
        "detail": "Too little is left of \"policy-1\" (4 in 60 s). Try again in 15 s.",
        "violated-policies": ["policy-1"],
    });
    assert_eq!(problem, expected);
}

#[test]
fn a_full_table_is_reduced_capacity_and_no_quota() {
    let contracts = Contracts::parse(
        "contracts:\n  - id: a\n    key: [user]\n    policies: [{ name: b, limit: 1, per: 1h }]\n",
    );
    let config = NodeConfig {
        bytes_max: 0,
        when_full: WhenFull::Refuse,
        ..NodeConfig::default()
    };
    let limiter = Limiter::of(contracts.unwrap(), config, 0);
    let refused = report(&limiter, 1, 1);
    assert_eq!(refused.status(), Some(StatusCode::SERVICE_UNAVAILABLE));
    assert_eq!(refused.headers(Dialect::None)[RETRY_AFTER], "1");
    let problem: serde_json::Value = serde_json::from_str(&refused.problem().unwrap()).unwrap();
    assert!(
        problem["type"]
            .as_str()
            .unwrap()
            .ends_with("#temporary-reduced-capacity")
    );
    assert_eq!(problem["violated-policies"], serde_json::json!([]));
}

#[test]
fn time_brings_quota_back() {
    let limiter = limiter([PolicyConfig::token_bucket(4, Period::MINUTE)]);
    let _ = limiter.check("a", 4);
    limiter.now.set(limiter.now.get() + 15_000_000_000);
    assert_eq!(
        report(&limiter, "a", 0).headers(Dialect::Ietf)[RATELIMIT],
        "\"policy-1\";r=1;t=45"
    );
}
