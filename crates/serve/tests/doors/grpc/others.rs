//! The other services: our own, gubernator's, throttlecrab's, Kuadrant's.

use std::time::Duration;

use tollgate_node::NodeConfig;
use tollgate_serve::meter::{Door, Event};
use tollgate_serve::settings::{Listener, RequestLimits, Settings};
use tollgate_table::WhenFull;
use tollgate_wire::gubernator::{
    Behavior, GetRateLimitsReq, GetRateLimitsResp, HealthCheckReq, HealthCheckResp, LiveCheckReq,
    LiveCheckResp, RateLimitReq, Status,
};
use tollgate_wire::native::{
    CheckManyRequest, CheckManyResponse, CheckRequest, CheckResponse, Entry,
};
use tollgate_wire::rls;
use tollgate_wire::throttlecrab::{ThrottleRequest, ThrottleResponse};
use tonic::Code;

use crate::grpc::server::GrpcServer;
use tollgate_parts::Wire;

const CHECK: &str = "/tollgate.v1.Tollgate/Check";
const CHECK_MANY: &str = "/tollgate.v1.Tollgate/CheckMany";
const GET_RATE_LIMITS: &str = "/pb.gubernator.V1/GetRateLimits";

const CONTRACTS: &str = "
contracts:
  - id: users
    key: [user]
    policies:
      - {name: hourly, limit: 3, per: 1h, algorithm: fixed-window}
  - id: slow
    match: {kind: slow}
    key: [job]
    policies:
      - {name: paced, limit: 1, per: 1h, burst: 1, on_limit: delay}
";

fn bare(key: &str) -> CheckRequest {
    CheckRequest {
        key: key.as_bytes().to_vec().into(),
        ..CheckRequest::default()
    }
}

fn entries(entries: &[(&str, &str)]) -> CheckRequest {
    let entries = entries.iter().map(|(key, value)| Entry {
        key: (*key).into(),
        value: (*value).into(),
    });
    CheckRequest {
        entries: entries.collect(),
        ..CheckRequest::default()
    }
}

#[tokio::test]
async fn keys_that_no_contract_binds_are_counted_by_their_protocol() {
    let settings = Settings {
        resp: vec![Listener::loopback()],
        ..Settings::default()
    };
    let server = GrpcServer::with(CONTRACTS, settings);
    let slip = entries(&[("usr", "ada")]);
    let answer: CheckResponse = server.call(CHECK, slip).await.expect("an answer");
    assert!(answer.allowed && answer.unmatched, "{answer:?}");
    let resp = server.running().resp().expect("an address");
    let mut wire = Wire::to(resp);
    for _ in 0..2 {
        let reply = "*22\r\n$7\r\nallowed\r\n:1\r\n$7\r\nmatched\r\n:0\r\n";
        wire.exchange("TOLLGATE.CHECK KEY usr ada\r\n", reply);
        (0..27).for_each(|_| drop(wire.line()));
    }
    let meter = server.running().shared().engine.meter();
    let counted =
        [Door::Http, Door::Grpc, Door::Resp].map(|door| meter.events(Event::Unmatched(door)));
    assert_eq!(counted, [0, 1, 2]);
}

#[tokio::test]
async fn a_check_is_answered_as_over_http() {
    let server = GrpcServer::start(CONTRACTS);
    for left in [2, 1, 0] {
        let answer: CheckResponse = server.call(CHECK, bare("42")).await.expect("an answer");
        assert!(answer.allowed);
        let told = (&*answer.policy, answer.limit, answer.remaining);
        assert_eq!(told, ("hourly", 3, left));
        assert!((1..=3_600_000).contains(&answer.reset_after_ms));
        assert_eq!((answer.retry_after_ms, answer.wait_ms), (None, 0));
    }
    // A bare key and the one entry that a contract counts by are the same key.
    let user = entries(&[("user", "42")]);
    let answer: CheckResponse = server.call(CHECK, user).await.expect("an answer");
    assert!(!answer.allowed && answer.retry_after_ms.is_some());
    let slow = || entries(&[("kind", "slow"), ("job", "1")]);
    for waits in [false, true] {
        let answer: CheckResponse = server.call(CHECK, slow()).await.expect("an answer");
        assert!(answer.allowed && (answer.wait_ms > 0) == waits);
    }
    let nobody: CheckResponse = server
        .call(CHECK, entries(&[("planet", "x")]))
        .await
        .expect("an answer");
    assert!(nobody.allowed && nobody.policy.is_empty());
}

#[tokio::test]
async fn a_check_that_makes_no_sense_is_refused() {
    let server = GrpcServer::start(CONTRACTS);
    let both = CheckRequest {
        key: b"7".to_vec().into(),
        ..entries(&[("user", "7")])
    };
    let unknown = CheckRequest {
        contract: "user".into(),
        ..bare("7")
    };
    let costly = CheckRequest {
        cost: Some(u64::MAX),
        ..bare("7")
    };
    for wrong in [both, unknown, costly] {
        let refused = server.call::<_, CheckResponse>(CHECK, wrong).await;
        let refused = refused.expect_err("refused");
        assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    }
}

#[tokio::test]
async fn many_checks_are_answered_in_order_each_for_itself() {
    let server = GrpcServer::start(CONTRACTS);
    let wrong = CheckRequest {
        contract: "nothing".into(),
        ..bare("a")
    };
    let checks = vec![bare("a"), wrong, bare("b"), bare("a"), bare("a"), bare("a")];
    let many = CheckManyRequest {
        checks,
        with_receipts: true,
    };
    let answer: CheckManyResponse = server.call(CHECK_MANY, many).await.expect("answers");
    let told = answer.answers.iter();
    let told: Vec<_> = told
        .map(|answer| (answer.allowed, answer.remaining, answer.error.is_empty()))
        .collect();
    let expected = [
        (true, 2, true),
        (false, 0, false),
        (true, 2, true),
        (true, 1, true),
        (true, 0, true),
        (false, 0, true),
    ];
    assert_eq!(told, expected);
    let too_many = CheckManyRequest {
        checks: vec![bare("c"); 1_001],
        with_receipts: false,
    };
    let refused = server.call::<_, CheckManyResponse>(CHECK_MANY, too_many);
    let refused = refused.await.expect_err("too many");
    assert_eq!(refused.code(), Code::OutOfRange);
}

fn limit(name: &str, key: &str) -> RateLimitReq {
    RateLimitReq {
        name: name.into(),
        unique_key: key.into(),
        hits: 1,
        limit: 2,
        duration: 60_000,
        ..RateLimitReq::default()
    }
}

#[tokio::test]
async fn gubernators_requests_are_decided_in_order() {
    let server = GrpcServer::start(CONTRACTS);
    let drains = RateLimitReq {
        hits: 5,
        behavior: Behavior::DrainOverLimit as i32 | Behavior::Global as i32,
        ..limit("emails", "account:2")
    };
    let requests = vec![
        limit("emails", "account:1"),
        limit("emails", "account:1"),
        limit("emails", "account:1"),
        limit("emails", "account:2"),
        drains,
        limit("", "account:1"),
        limit("emails", ""),
        RateLimitReq {
            algorithm: 7,
            ..limit("emails", "account:3")
        },
    ];
    let answer: GetRateLimitsResp = server
        .call(GET_RATE_LIMITS, GetRateLimitsReq { requests })
        .await
        .expect("answers");
    let told = answer.responses.iter();
    let told: Vec<_> = told
        .map(|told| (told.status(), told.remaining, told.error.is_empty()))
        .collect();
    let (under, over) = (Status::UnderLimit, Status::OverLimit);
    let expected = [
        (under, 1, true),
        (under, 0, true),
        (over, 0, true),
        (under, 1, true),
        (over, 0, true),
        (under, 0, false),
        (under, 0, false),
        (under, 0, false),
    ];
    assert_eq!(told, expected);
    let first = &answer.responses[0];
    assert!(first.limit == 2 && first.reset_time > 1_700_000_000_000);
    assert_eq!(answer.responses[2].reset_time, first.reset_time);
    let requests = vec![limit("emails", "account:1"); 1_001];
    let refused = server
        .call::<_, GetRateLimitsResp>(GET_RATE_LIMITS, GetRateLimitsReq { requests })
        .await
        .expect_err("too many");
    assert_eq!(refused.code(), Code::OutOfRange);
}

#[tokio::test]
async fn gubernator_is_healthy_and_lives() {
    let server = GrpcServer::start(CONTRACTS);
    let health: HealthCheckResp = server
        .call("/pb.gubernator.V1/HealthCheck", HealthCheckReq {})
        .await
        .expect("healthy");
    assert_eq!((&*health.status, health.peer_count), ("healthy", 1));
    let path = "/pb.gubernator.V1/LiveCheck";
    let live = server.call::<_, LiveCheckResp>(path, LiveCheckReq {}).await;
    assert!(live.is_ok(), "{live:?}");
}

#[tokio::test]
async fn throttlecrabs_requests_are_throttled() {
    let server = GrpcServer::start(CONTRACTS);
    let request = ThrottleRequest {
        key: "user:1".into(),
        max_burst: 2,
        count_per_period: 1,
        period: 60,
        quantity: 1,
    };
    let path = "/throttlecrab.RateLimiter/Throttle";
    for (allowed, remaining, retries) in [(true, 1, false), (true, 0, false), (false, 0, true)] {
        let answer: ThrottleResponse = server.call(path, request.clone()).await.expect("answer");
        assert_eq!((answer.allowed, answer.remaining), (allowed, remaining));
        assert_eq!((answer.limit, answer.retry_after > 0), (2, retries));
        assert!(answer.reset_after > 0);
    }
    let wrong = ThrottleRequest {
        max_burst: -1,
        ..request
    };
    let refused = server.call::<_, ThrottleResponse>(path, wrong).await;
    assert_eq!(refused.expect_err("refused").code(), Code::InvalidArgument);
}

#[tokio::test]
async fn a_long_key_is_counted_and_costs_no_other_request_its_answer() {
    let server = GrpcServer::start(CONTRACTS);
    let long = "x".repeat(9_000);
    let requests = vec![limit("emails", &long), limit("emails", "account:1")];
    let request = GetRateLimitsReq { requests };
    for used in 1..=2 {
        let asked = server.call(GET_RATE_LIMITS, request.clone()).await;
        let answer: GetRateLimitsResp = asked.expect("answers");
        for one in answer.responses {
            assert_eq!((&*one.error, one.limit - one.remaining), ("", used));
        }
    }
}

#[tokio::test]
async fn a_long_key_of_our_own_service_and_of_throttlecrab_is_counted_by_all_its_bytes() {
    let server = GrpcServer::start(CONTRACTS);
    let long = |middle: &str| format!("{}{middle}{}", "x".repeat(4_500), "x".repeat(4_500));
    for left in [2, 1] {
        for middle in ["a", "b"] {
            let (one, two) = (long(middle), long(&middle.repeat(2)));
            for request in [bare(&one), entries(&[("user", &two)])] {
                let answer: CheckResponse = server.call(CHECK, request).await.expect("an answer");
                assert_eq!((answer.allowed, answer.remaining), (true, left));
            }
            let request = ThrottleRequest {
                key: one,
                max_burst: 3,
                count_per_period: 1,
                period: 3_600,
                quantity: 1,
            };
            let path = "/throttlecrab.RateLimiter/Throttle";
            let answer: ThrottleResponse = server.call(path, request).await.expect("an answer");
            assert!(answer.allowed);
            assert_eq!(u64::try_from(answer.remaining), Ok(left));
        }
    }
}

#[tokio::test]
async fn kuadrant_checks_without_counting_and_counts_without_judging() {
    let server = GrpcServer::start(CONTRACTS);
    let request = |hits_addend| rls::RateLimitRequest {
        domain: "any".into(),
        descriptors: vec![rls::RateLimitDescriptor {
            entries: vec![rls::Entry {
                key: "user".into(),
                value: "1".into(),
            }],
            ..rls::RateLimitDescriptor::default()
        }],
        hits_addend,
    };
    let check = "/kuadrant.service.ratelimit.v1.RateLimitService/CheckRateLimit";
    let report = "/kuadrant.service.ratelimit.v1.RateLimitService/Report";
    let asked = async |path, cost, code: rls::Code, left| {
        let answer: rls::RateLimitResponse =
            server.call(path, request(cost)).await.expect("an answer");
        assert_eq!(answer.overall_code(), code);
        assert_eq!(answer.statuses[0].limit_remaining, left);
    };
    asked(check, 1, rls::Code::Ok, 3).await;
    asked(check, 1, rls::Code::Ok, 3).await;
    asked(check, 4, rls::Code::OverLimit, 0).await;
    asked(report, 2, rls::Code::Ok, 1).await;
    asked(check, 1, rls::Code::Ok, 1).await;
    asked(report, 5, rls::Code::Ok, 0).await;
    asked(check, 1, rls::Code::OverLimit, 0).await;
}

#[tokio::test]
async fn a_full_table_is_unavailable() {
    let settings = Settings {
        node: NodeConfig {
            bytes_max: 1,
            when_full: WhenFull::Refuse,
            ..NodeConfig::default()
        },
        limits: RequestLimits {
            slow: Duration::from_secs(5),
            ..RequestLimits::default()
        },
        ..Settings::default()
    };
    let server = GrpcServer::with(CONTRACTS, settings);
    let refused = server.call::<_, CheckResponse>(CHECK, bare("7")).await;
    assert_eq!(refused.expect_err("full").code(), Code::Unavailable);
    let request = rls::RateLimitRequest {
        domain: "any".into(),
        descriptors: vec![rls::RateLimitDescriptor {
            entries: vec![rls::Entry {
                key: "user".into(),
                value: "1".into(),
            }],
            ..rls::RateLimitDescriptor::default()
        }],
        hits_addend: 1,
    };
    let path = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
    // A proxy might let a request pass for which it is told of an error.
    let refused = server
        .call::<_, rls::RateLimitResponse>(path, request)
        .await;
    let refused = refused.expect("an answer").overall_code();
    assert_eq!(refused, rls::Code::OverLimit);
    let requests = vec![limit("emails", "account:1")];
    let answer: GetRateLimitsResp = server
        .call(GET_RATE_LIMITS, GetRateLimitsReq { requests })
        .await
        .expect("answers");
    assert!(answer.responses[0].error.contains("no room"));
}
