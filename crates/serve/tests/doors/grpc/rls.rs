//! Envoy's rate limit service, asked by a client made of Envoy's own types.

use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::{
    Entry, RateLimitOverride,
};
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::rate_limit::Unit;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::{Code, DescriptorStatus};
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_client::RateLimitServiceClient;
use envoy_types::pb::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
use envoy_types::pb::google::protobuf::UInt64Value;
use tonic::transport::Channel;

use crate::grpc::server::GrpcServer;

/// A server that has these contracts, and a client of it.
async fn client(contracts: &str) -> (GrpcServer, RateLimitServiceClient<Channel>) {
    let server = GrpcServer::start(contracts);
    let client = RateLimitServiceClient::new(server.channel().await);
    (server, client)
}

pub(crate) fn descriptor(entries: &[(&str, &str)]) -> RateLimitDescriptor {
    let entries = entries.iter().map(|(key, value)| Entry {
        key: (*key).into(),
        value: (*value).into(),
    });
    RateLimitDescriptor {
        entries: entries.collect(),
        ..RateLimitDescriptor::default()
    }
}

pub(crate) fn request(domain: &str, descriptors: Vec<RateLimitDescriptor>) -> RateLimitRequest {
    RateLimitRequest {
        domain: domain.into(),
        descriptors,
        hits_addend: 0,
    }
}

/// Asks, and expects an answer.
pub(crate) async fn ask(
    client: &mut RateLimitServiceClient<Channel>,
    request: RateLimitRequest,
) -> RateLimitResponse {
    let answer = client.should_rate_limit(request).await;
    answer.expect("an answer").into_inner()
}

pub(crate) fn codes(response: &RateLimitResponse) -> Vec<Code> {
    response
        .statuses
        .iter()
        .map(DescriptorStatus::code)
        .collect()
}

/// The value of a header field for the client.
pub(crate) fn header(response: &RateLimitResponse, name: &str) -> Option<String> {
    let headers = &response.response_headers_to_add;
    let found = headers.iter().find(|header| header.key == name);
    found.map(|header| header.value.clone())
}

const RULES: &str = "
domain: shop
descriptors:
  - key: path
    value: /cart
    rate_limit: {name: cart, unit: hour, requests_per_unit: 3}
  - key: path
    value: /free
    rate_limit: {unlimited: true}
  - key: path
    value: /quiet
    shadow_mode: true
    rate_limit: {unit: day, requests_per_unit: 1}
  - key: user
    rate_limit: {name: user, unit: minute, requests_per_unit: 1000000}
  - key: vip
    rate_limit: {name: vip, unit: day, requests_per_unit: 2, replaces: [{name: user}]}
  - key: token
    quota_mode: true
    rate_limit: {unit: year, requests_per_unit: 1}
  - key: path
    value: /shut
    rate_limit: {name: shut, unit: hour, requests_per_unit: 0}
  - key: path
    value: /soon-shut
    shadow_mode: true
    rate_limit: {unit: hour, requests_per_unit: 0}
---
domain: other
descriptors:
  - key: path
    value: /cart
    rate_limit: {unit: week, requests_per_unit: 1}
";

#[tokio::test]
async fn counts_down_and_refuses_with_full_statuses() {
    let (_server, mut client) = client(RULES).await;
    for left in [2, 1, 0] {
        let response = ask(
            &mut client,
            request("shop", vec![descriptor(&[("path", "/cart")])]),
        )
        .await;
        assert_eq!(response.overall_code(), Code::Ok);
        let [status] = &*response.statuses else {
            panic!("{response:?}")
        };
        assert_eq!((status.code(), status.limit_remaining), (Code::Ok, left));
        let limit = status.current_limit.as_ref().expect("a limit");
        assert_eq!((limit.requests_per_unit, limit.unit()), (3, Unit::Hour));
        assert_eq!(limit.name, "cart");
        let reset = status.duration_until_reset.expect("a reset");
        assert!((1..=3_600).contains(&reset.seconds) && reset.nanos == 0);
    }
    let response = ask(
        &mut client,
        request("shop", vec![descriptor(&[("path", "/cart")])]),
    )
    .await;
    assert_eq!(response.overall_code(), Code::OverLimit);
    assert_eq!(codes(&response), [Code::OverLimit]);
    assert_eq!(response.statuses[0].limit_remaining, 0);
    let header = |name: &str| header(&response, name);
    assert_eq!(
        header("content-type").as_deref(),
        Some("application/problem+json")
    );
    assert!(header("ratelimit-policy").is_some_and(|value| value.contains("q=3;w=3600")));
    assert!(header("retry-after").is_some());
    let body = String::from_utf8(response.raw_body.clone()).expect("text");
    assert!(
        body.contains("quota-exceeded") && body.contains("cart"),
        "{body}"
    );
}

#[tokio::test]
async fn statuses_are_as_many_as_descriptors_and_in_their_order() {
    let (_server, mut client) = client(RULES).await;
    let descriptors = vec![
        descriptor(&[("unknown", "x")]),
        descriptor(&[("path", "/free")]),
        descriptor(&[("path", "/cart")]),
    ];
    let response = ask(&mut client, request("shop", descriptors)).await;
    assert_eq!(codes(&response), [Code::Ok; 3]);
    let [none, free, cart] = &*response.statuses else {
        panic!("{response:?}")
    };
    assert!(none.current_limit.is_none() && none.limit_remaining == 0);
    assert!(free.current_limit.is_none() && free.limit_remaining == u32::MAX);
    assert_eq!(cart.limit_remaining, 2);
}

#[tokio::test]
async fn a_domain_sees_its_own_rules_alone() {
    let (_server, mut client) = client(RULES).await;
    let cart = || vec![descriptor(&[("path", "/cart")])];
    for code in [Code::Ok, Code::OverLimit] {
        let response = ask(&mut client, request("other", cart())).await;
        assert_eq!(response.overall_code(), code);
    }
    assert_eq!(
        ask(&mut client, request("shop", cart())).await.statuses[0].limit_remaining,
        2
    );
    let response = ask(&mut client, request("nowhere", cart())).await;
    assert_eq!(response.overall_code(), Code::Ok);
    assert!(response.statuses[0].current_limit.is_none());
}

#[tokio::test]
async fn descriptors_are_counted_independently_of_one_another() {
    let (_server, mut client) = client(RULES).await;
    let both = || {
        vec![
            descriptor(&[("path", "/cart")]),
            descriptor(&[("user", "7")]),
        ]
    };
    for _ in 0..3 {
        ask(&mut client, request("shop", both())).await;
    }
    let response = ask(&mut client, request("shop", both())).await;
    assert_eq!(response.overall_code(), Code::OverLimit);
    assert_eq!(codes(&response), [Code::OverLimit, Code::Ok]);
    // The user was charged though the cart refused.
    assert_eq!(response.statuses[1].limit_remaining, 1_000_000 - 4);
}

#[tokio::test]
async fn costs_come_from_the_descriptor_then_from_the_request() {
    let (_server, mut client) = client(RULES).await;
    let user = |cost: Option<u64>| RateLimitDescriptor {
        hits_addend: cost.map(|value| UInt64Value { value }),
        ..descriptor(&[("user", "9")])
    };
    let mut left = async |cost, whole| {
        let request = RateLimitRequest {
            hits_addend: whole,
            ..request("shop", vec![user(cost)])
        };
        ask(&mut client, request).await.statuses[0].limit_remaining
    };
    assert_eq!(left(None, 0).await, 999_999);
    assert_eq!(left(None, 9).await, 999_990);
    assert_eq!(left(Some(90), 9).await, 999_900);
    assert_eq!(left(Some(0), 9).await, 999_900);
    assert_eq!(left(Some(0), 9).await, 999_900);
}

#[tokio::test]
async fn the_cost_of_a_response_is_taken_though_less_is_left() {
    let policy = |more: &str| {
        format!(
            "contracts:\n  - id: tokens\n    key: [user]\n    \
             policies: [{{ name: hour, limit: 1000, per: 1h{more} }}]\n"
        )
    };
    let user = |cost: Option<u64>| RateLimitDescriptor {
        hits_addend: cost.map(|value| UInt64Value { value }),
        ..descriptor(&[("user", "9")])
    };
    for more in [
        "",
        ", max_debt: 500",
        ", count_refused: true",
        ", algorithm: fixed-window",
        ", algorithm: sliding-log",
        ", algorithm: fixed-window, count_refused: true",
    ] {
        let (server, mut client) = client(&policy(more)).await;
        let mut said = async |cost, whole| {
            let request = RateLimitRequest {
                hits_addend: whole,
                ..request("web", vec![user(cost)])
            };
            ask(&mut client, request).await.overall_code()
        };
        // What a request asks for and does not get stays there.
        if !more.contains("count_refused") {
            assert_eq!(said(None, 1_001).await, Code::OverLimit, "{more}");
        }
        // Envoy asks whether anything is left, and tells the cost when the response is over.
        for wanted in [Code::Ok, Code::Ok, Code::Ok, Code::OverLimit] {
            assert_eq!(said(Some(0), 0).await, Code::Ok, "{more}");
            assert_eq!(said(Some(300), 0).await, wanted, "{more}");
        }
        assert_eq!(said(Some(0), 0).await, Code::OverLimit, "{more}");
        // Responses that were under way are charged as well.
        assert_eq!(said(Some(300), 0).await, Code::OverLimit, "{more}");
        let owed = server.owes(&[("user", "9")]);
        assert_eq!(owed, [500], "{more}");
    }
}

#[tokio::test]
async fn negative_hits_give_back() {
    let (_server, mut client) = client(RULES).await;
    let user = |negative| RateLimitDescriptor {
        hits_addend: Some(UInt64Value { value: 10 }),
        is_negative_hits: negative,
        ..descriptor(&[("user", "9")])
    };
    for (negative, left) in [(false, 999_990), (false, 999_980), (true, 999_990)] {
        let response = ask(&mut client, request("shop", vec![user(negative)])).await;
        assert_eq!(response.overall_code(), Code::Ok);
        assert_eq!(response.statuses[0].limit_remaining, left);
    }
}

#[tokio::test]
async fn a_shadow_rule_counts_and_refuses_nobody() {
    let (_server, mut client) = client(RULES).await;
    for _ in 0..3 {
        let response = ask(
            &mut client,
            request("shop", vec![descriptor(&[("path", "/quiet")])]),
        )
        .await;
        assert_eq!(response.overall_code(), Code::Ok);
        let status = &response.statuses[0];
        assert_eq!((status.code(), status.limit_remaining), (Code::Ok, 0));
        assert!(status.current_limit.is_some());
    }
}

#[tokio::test]
async fn a_rule_of_nothing_per_hour_refuses_everybody_always() {
    let (_server, mut client) = client(RULES).await;
    for _ in 0..2 {
        let shut = vec![descriptor(&[("path", "/shut")])];
        let response = ask(&mut client, request("shop", shut)).await;
        assert_eq!(response.overall_code(), Code::OverLimit);
        let status = &response.statuses[0];
        assert_eq!(
            (status.code(), status.limit_remaining),
            (Code::OverLimit, 0)
        );
        let limit = status.current_limit.as_ref().expect("a limit");
        assert_eq!((limit.requests_per_unit, limit.unit()), (0, Unit::Hour));
        assert!(status.duration_until_reset.expect("a reset").seconds <= 3_600);
        // There is no time at which it would pass.
        assert_eq!(header(&response, "retry-after"), None);
        let body = String::from_utf8(response.raw_body.clone()).expect("text");
        let told = "Nothing is ever admitted by \\\"shut\\\"";
        assert!(body.contains(told), "{body}");
        let soon = vec![descriptor(&[("path", "/soon-shut")])];
        let response = ask(&mut client, request("shop", soon)).await;
        assert_eq!(response.overall_code(), Code::Ok);
    }
}

#[tokio::test]
async fn a_rule_takes_the_place_of_those_it_replaces() {
    let (_server, mut client) = client(RULES).await;
    let both = vec![descriptor(&[("user", "1")]), descriptor(&[("vip", "1")])];
    let response = ask(&mut client, request("shop", both)).await;
    assert!(response.statuses[0].current_limit.is_none());
    assert_eq!(response.statuses[1].limit_remaining, 1);
    let response = ask(
        &mut client,
        request("shop", vec![descriptor(&[("user", "1")])]),
    )
    .await;
    assert_eq!(response.statuses[0].limit_remaining, 999_999);
}

#[tokio::test]
async fn quota_rules_refuse_only_together() {
    let (_server, mut client) = client(RULES).await;
    let tokens = |names: &[&str]| {
        let names = names.iter().map(|name| descriptor(&[("token", name)]));
        request("shop", names.collect())
    };
    ask(&mut client, tokens(&["a"])).await;
    let response = ask(&mut client, tokens(&["a", "b"])).await;
    assert_eq!(codes(&response), [Code::OverLimit, Code::Ok]);
    assert_eq!(response.overall_code(), Code::Ok);
    let response = ask(&mut client, tokens(&["a", "b"])).await;
    assert_eq!(response.overall_code(), Code::OverLimit);
}

#[tokio::test]
async fn a_limit_that_comes_with_the_request_is_the_one_that_counts() {
    let (_server, mut client) = client(RULES).await;
    let own = |limit, unit: Unit, key: &str| RateLimitDescriptor {
        limit: Some(RateLimitOverride {
            requests_per_unit: limit,
            unit: unit.into(),
        }),
        ..descriptor(&[("path", key)])
    };
    for (left, code) in [(1, Code::Ok), (0, Code::Ok), (0, Code::OverLimit)] {
        let asked = request("shop", vec![own(2, Unit::Month, "/cart")]);
        let response = ask(&mut client, asked).await;
        assert_eq!(response.overall_code(), code);
        let status = &response.statuses[0];
        assert_eq!(status.limit_remaining, left);
        let limit = status.current_limit.as_ref().expect("a limit");
        assert_eq!((limit.requests_per_unit, limit.unit()), (2, Unit::Month));
        let reset = status.duration_until_reset.expect("a reset").seconds;
        assert!((1..=30 * 86_400).contains(&reset));
        // Clients are told as they are of limits that are configured.
        let policy = header(&response, "ratelimit-policy").expect("a policy");
        assert_eq!(policy, format!("\"rate_limit\";q=2;w={}", 30 * 86_400));
        let told = header(&response, "ratelimit").expect("how it stands");
        assert!(
            told.starts_with(&format!("\"rate_limit\";r={left}")),
            "{told}"
        );
        let after = header(&response, "retry-after");
        let body = String::from_utf8(response.raw_body.clone()).expect("text");
        if code == Code::Ok {
            assert_eq!((after, &*body), (None, ""));
        } else {
            let after: i64 = after.expect("a time").parse().expect("seconds");
            assert!((reset - 1..=reset).contains(&after), "{after} {reset}");
            assert!(
                body.contains("\"violated-policies\":[\"rate_limit\"]"),
                "{body}"
            );
            assert!(body.contains("Too little is left of"), "{body}");
        }
    }
    // Another unit is another count, another domain too, and the rule's own count was left alone.
    let asked = request("shop", vec![own(2, Unit::Day, "/cart")]);
    assert_eq!(ask(&mut client, asked).await.statuses[0].limit_remaining, 1);
    let asked = request("nowhere", vec![own(2, Unit::Month, "/cart")]);
    assert_eq!(ask(&mut client, asked).await.statuses[0].limit_remaining, 1);
    let asked = request("shop", vec![descriptor(&[("path", "/cart")])]);
    assert_eq!(ask(&mut client, asked).await.statuses[0].limit_remaining, 2);
    // Nothing per day is nothing.
    let asked = request("shop", vec![own(0, Unit::Day, "/cart")]);
    let response = ask(&mut client, asked).await;
    assert_eq!(response.overall_code(), Code::OverLimit);
    assert!(header(&response, "retry-after").is_none() && !response.raw_body.is_empty());
    let asked = request("shop", vec![own(1, Unit::Unknown, "/cart")]);
    let refused = client.should_rate_limit(asked).await.expect_err("no unit");
    assert_eq!(refused.code(), tonic::Code::InvalidArgument);
}

#[tokio::test]
async fn requests_without_a_domain_or_descriptors_are_refused() {
    let (_server, mut client) = client(RULES).await;
    for bad in [
        request("", vec![descriptor(&[("path", "/cart")])]),
        request("shop", Vec::new()),
    ] {
        let refused = client.should_rate_limit(bad).await.expect_err("refused");
        assert_eq!(refused.code(), tonic::Code::InvalidArgument);
        assert!(refused.message().starts_with("a request needs"));
    }
}

const CONTRACTS: &str = "
contracts:
  - id: users
    key: [user]
    policies:
      - {name: burst, limit: 5, per: 10s}
      - {name: daily, limit: 1000, per: day, algorithm: fixed-window}
  - id: all
    key: []
    policies:
      - {name: whole, limit: 100000, per: 1m, algorithm: fixed-window}
";

#[tokio::test]
async fn contracts_of_our_own_bind_descriptors_in_every_domain() {
    let (_server, mut client) = client(CONTRACTS).await;
    for (domain, left) in [("a", 4), ("b", 3), ("a", 2), ("a", 1), ("a", 0)] {
        let asked = request(domain, vec![descriptor(&[("user", "42")])]);
        let response = ask(&mut client, asked).await;
        assert_eq!(response.overall_code(), Code::Ok);
        let status = &response.statuses[0];
        assert_eq!(status.limit_remaining, left);
        let limit = status.current_limit.as_ref().expect("a limit");
        // Ten seconds are none of Envoy's units.
        assert_eq!((&*limit.name, limit.unit()), ("burst", Unit::Unknown));
    }
    let asked = request("a", vec![descriptor(&[("user", "42")])]);
    let response = ask(&mut client, asked).await;
    assert_eq!(response.overall_code(), Code::OverLimit);
    let status = &response.statuses[0];
    assert!(status.duration_until_reset.expect("a reset").seconds <= 10);
    let asked = request("a", vec![descriptor(&[("route", "/")])]);
    let response = ask(&mut client, asked).await;
    let limit = response.statuses[0].current_limit.as_ref();
    assert_eq!(limit.expect("a limit").name, "whole");
}

const PACED: &str = "
contracts:
  - {id: jobs, key: [job], policies: [{name: paced, limit: 1, per: 1h, burst: 1, on_limit: delay}]}
";

#[tokio::test]
async fn the_service_behind_is_told_to_wait() {
    let (_server, mut client) = client(PACED).await;
    for waits in [false, true] {
        let asked = request("any", vec![descriptor(&[("job", "1")])]);
        let response = ask(&mut client, asked).await;
        assert_eq!(response.overall_code(), Code::Ok);
        let told = response.request_headers_to_add.first();
        let told = told.map(|header| (&*header.key, header.value.parse::<u64>()));
        assert_eq!(told.is_some(), waits);
        if let Some((name, Ok(millis))) = told {
            assert_eq!(name, "x-tollgate-wait-ms");
            assert!((3_000_000..=3_600_000).contains(&millis), "{millis}");
        }
    }
}
