//! JSON bodies as callers write them: what is read, what is refused and why, what is written.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::{Value, json};
use tollgate_wire::envoy::HeaderValue;
use tollgate_wire::google::{Duration, Kind, Struct, Value as Dynamic};
use tollgate_wire::gubernator::{
    Algorithm, Behavior, GetRateLimitsReq, GetRateLimitsResp, HealthCheckResp, REQUESTS_MAX,
    RateLimitReq, RateLimitResp, Status,
};
use tollgate_wire::problem::{ABNORMAL_USAGE, Problem};
use tollgate_wire::rls::{
    Code, DescriptorStatus, Entry, LIST_MAX, RateLimit, RateLimitDescriptor, RateLimitOverride,
    RateLimitRequest, RateLimitResponse, Unit,
};
use tollgate_wire::v1::{
    CHECKS_MAX, CancelRequest, ChargeRequest, CheckBody, CommitRequest, Done, ENTRIES_MAX,
    JsonCheckRequest, JsonCheckResponse, PeekRequest, PeekResponse, PolicyState, ReserveRequest,
    SettleRequest, WireKey, decode, encode,
};

fn entries<'a>(pairs: &[(&'a str, &'a str)]) -> WireKey<'a> {
    let pairs = pairs.iter();
    WireKey::Entries(
        pairs
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect(),
    )
}

fn check(key: WireKey<'_>, cost: u64) -> JsonCheckRequest<'_> {
    JsonCheckRequest {
        key,
        cost,
        contract: None,
        id: None,
    }
}

#[track_caller]
fn refuses<'a, T: serde::Deserialize<'a> + std::fmt::Debug>(body: &'a str, why: &str) {
    let error = decode::<T>(body.as_bytes()).unwrap_err();
    assert!(error.to_string().contains(why), "{body}: {error}");
}

#[test]
fn a_check_is_an_object_and_a_batch_is_a_list() {
    let body = br#"{"key": {"user": "42", "plan": "free"}, "cost": 3}"#;
    let single = check(entries(&[("user", "42"), ("plan", "free")]), 3);
    assert_eq!(
        decode::<CheckBody<'_>>(body).unwrap(),
        CheckBody::Single(single)
    );
    let body = br#"[{"key": "a"}, {"key": "b\n", "cost": 0, "id": "op", "contract": "c"}]"#;
    let second = JsonCheckRequest {
        contract: Some("c".into()),
        id: Some("op".into()),
        ..check(WireKey::Bare("b\n".into()), 0)
    };
    let batch = vec![check(WireKey::Bare("a".into()), 1), second];
    assert_eq!(
        decode::<CheckBody<'_>>(body).unwrap(),
        CheckBody::Batch(batch)
    );
}

#[test]
fn text_without_escapes_is_not_copied() {
    let body = br#"{"key": {"user": "42"}, "id": "op"}"#;
    let request: JsonCheckRequest<'_> = decode(body).unwrap();
    let WireKey::Entries(entries) = &request.key else {
        panic!("{request:?}");
    };
    assert!(matches!(entries[0], (Cow::Borrowed(_), Cow::Borrowed(_))));
    assert!(matches!(request.id, Some(Cow::Borrowed("op"))));
}

#[test]
fn own_bodies_refuse_what_they_do_not_know() {
    refuses::<CheckBody<'_>>(r#"{"key": "a", "costs": 2}"#, "unknown field `costs`");
    refuses::<CheckBody<'_>>(r#"[{"key": "a", "Cost": 2}]"#, "unknown field `Cost`");
    refuses::<CheckBody<'_>>(r#"{"cost": 2}"#, "missing field `key`");
    refuses::<CheckBody<'_>>(r#"{"key": "a", "key": "b"}"#, "duplicate field `key`");
    refuses::<CheckBody<'_>>(r#"{"key": "a", "cost": -1}"#, "invalid value");
    refuses::<CheckBody<'_>>(r#"{"key": "a", "cost": 1.5}"#, "invalid value");
    refuses::<CheckBody<'_>>(r#"{"key": "a", "cost": "1"}"#, "invalid type");
    refuses::<CheckBody<'_>>(
        r#"{"key": "a", "cost": 18446744073709551616}"#,
        "invalid value",
    );
    refuses::<CheckBody<'_>>(r#"{"key": {}}"#, "at least one entry");
    refuses::<CheckBody<'_>>(r#"{"key": {"a": "1", "a": "2"}}"#, "`a` comes twice");
    refuses::<CheckBody<'_>>(
        r#"{"key": {"a": true}}"#,
        "expected a string or a whole number",
    );
    refuses::<CheckBody<'_>>(
        r#"{"key": ["a"]}"#,
        "a string, a whole number from -2^53 to 2^53, or an object of them",
    );
    refuses::<CheckBody<'_>>("3", "a check or a list of checks");
    refuses::<CheckBody<'_>>(r#"{"key": "a"} x"#, "trailing characters");
    refuses::<SettleRequest<'_>>(r#"{"receipt": "r"}"#, "missing field `cost`");
    refuses::<CommitRequest<'_>>(r#"{"id": "i", "cost": 1, "x": 1}"#, "unknown field `x`");
    refuses::<CancelRequest<'_>>(r#"{"id": "i", "cost": 1}"#, "unknown field `cost`");
    refuses::<ReserveRequest<'_>>(r#"{"key": "a"}"#, "missing field `id`");
    refuses::<ChargeRequest<'_>>(r#"{"key": "a"}"#, "missing field `cost`");
    refuses::<PeekRequest<'_>>(r#"{"key": "a", "cost": 1}"#, "unknown field `cost`");
}

#[test]
fn batches_and_keys_are_bounded() {
    let list = |count: usize| format!("[{}]", vec![r#"{"key": "a"}"#; count].join(","));
    let most = list(CHECKS_MAX);
    let CheckBody::Batch(checks) = decode(most.as_bytes()).unwrap() else {
        panic!("not a batch");
    };
    assert_eq!(checks.len(), CHECKS_MAX);
    refuses::<CheckBody<'_>>(&list(CHECKS_MAX + 1), "more than 1000 checks");
    let members: Vec<String> = (0..=ENTRIES_MAX)
        .map(|at| format!("\"{at}\": \"\""))
        .collect();
    let body = format!("{{\"key\": {{{}}}}}", members.join(","));
    refuses::<CheckBody<'_>>(&body, "more than 64 entries");
}

#[test]
fn other_lists_are_bounded_while_they_are_read() {
    let list = |count: usize| format!("[{}]", vec!["{}"; count].join(","));
    let requests = |count| format!("{{\"requests\": {}}}", list(count));
    let read: GetRateLimitsReq = decode(requests(REQUESTS_MAX).as_bytes()).unwrap();
    assert_eq!(read.requests.len(), REQUESTS_MAX);
    refuses::<GetRateLimitsReq>(&requests(REQUESTS_MAX + 1), "a list of at most 1000");
    let descriptors = format!("{{\"descriptors\": {}}}", list(LIST_MAX + 1));
    refuses::<RateLimitRequest>(&descriptors, "a list of at most 256");
    let entries = format!("{{\"entries\": {}}}", list(LIST_MAX + 1));
    refuses::<RateLimitDescriptor>(&entries, "a list of at most 256");
}

#[test]
fn errors_say_where_and_whether_it_is_json_at_all() {
    let error = decode::<CheckBody<'_>>(b"{\"key\": \"a\",\n  }").unwrap_err();
    assert!(error.is_syntax());
    assert_eq!((error.line(), error.column()), (2, 3));
    assert!(decode::<CheckBody<'_>>(b"").unwrap_err().is_syntax());
    assert!(!decode::<CheckBody<'_>>(b"{}").unwrap_err().is_syntax());
    assert!(decode::<CheckBody<'_>>(&b"[".repeat(100_000)).is_err());
}

#[track_caller]
fn writes(body: &impl serde::Serialize, expected: &Value) {
    let mut out = Vec::new();
    encode(body, &mut out).unwrap();
    assert_eq!(&serde_json::from_slice::<Value>(&out).unwrap(), expected);
}

#[test]
fn answers_always_have_all_members() {
    let answer = JsonCheckResponse {
        allowed: true,
        matched: false,
        policy: None,
        limit: 0,
        capacity: 0,
        remaining: 0,
        part: false,
        debt: 0,
        retry_after_ms: None,
        reset_after_ms: 0,
        wait_ms: 0,
        receipt: None,
    };
    let expected = json!({
        "allowed": true, "matched": false, "policy": null, "limit": 0, "capacity": 0, "remaining": 0, "debt": 0, "retry_after_ms": null,
        "reset_after_ms": 0, "wait_ms": 0, "receipt": null,
    });
    writes(&answer, &expected);
    writes(&Done { applied: true }, &json!({"applied": true}));
    let state = PolicyState {
        contract: "free".into(),
        policy: "burst".into(),
        limit: 40,
        capacity: 60,
        remaining: 39,
        debt: 0,
        reset_after_ms: 50,
    };
    let expected = json!({"policies": [{
        "contract": "free", "policy": "burst", "limit": 40, "capacity": 60, "remaining": 39, "debt": 0, "reset_after_ms": 50,
    }]});
    writes(
        &PeekResponse {
            policies: vec![state],
        },
        &expected,
    );
}

#[test]
fn problems_have_the_registered_types() {
    let expected = json!({
        "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
        "title": "Quota exceeded", "status": 429, "violated-policies": ["burst"],
    });
    writes(&Problem::quota_exceeded(["burst"]), &expected);
    let expected = json!({
        "type": "about:blank", "title": "Bad body", "status": 400, "detail": "line 1",
    });
    writes(&Problem::blank(400, "Bad body", "line 1"), &expected);
    let expected = json!({
        "type": "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
        "title": "Temporarily reduced capacity", "status": 503, "detail": "full",
    });
    writes(&Problem::reduced_capacity("full"), &expected);
    assert!(ABNORMAL_USAGE.ends_with("#abnormal-usage-detected"));
}

#[test]
fn rls_json_is_read_in_both_spellings() {
    let expected = RateLimitRequest {
        domain: "d".into(),
        descriptors: vec![RateLimitDescriptor {
            entries: vec![Entry {
                key: "k".into(),
                value: "v".into(),
            }],
            limit: Some(RateLimitOverride {
                requests_per_unit: 5,
                unit: Unit::Minute.into(),
            }),
            hits_addend: Some(0),
            is_negative_hits: true,
        }],
        hits_addend: 7,
    };
    let camel = r#"{"domain": "d", "hitsAddend": 7, "descriptors": [{"entries": [{"key": "k", "value": "v"}],
        "limit": {"requestsPerUnit": 5, "unit": "MINUTE"}, "hitsAddend": "0", "isNegativeHits": true}]}"#;
    let snake = r#"{"domain": "d", "hits_addend": "7", "descriptors": [{"entries": [{"key": "k", "value": "v"}],
        "limit": {"requests_per_unit": 5, "unit": 2}, "hits_addend": 0, "is_negative_hits": true}]}"#;
    for body in [camel, snake] {
        assert_eq!(
            decode::<RateLimitRequest>(body.as_bytes()).unwrap(),
            expected
        );
    }
    refuses::<RateLimitRequest>(r#"{"domains": "d"}"#, "unknown field `domains`");
    refuses::<RateLimitRequest>(r#"{"hitsAddend": 4294967296}"#, "out of range");
    refuses::<RateLimitOverride>(r#"{"unit": "FORTNIGHT"}"#, "expected one of UNKNOWN SECOND");
}

#[test]
fn rls_json_leaves_out_what_is_zero() {
    let text = Dynamic {
        kind: Some(Kind::StringValue("b".into())),
    };
    let answer = RateLimitResponse {
        overall_code: Code::OverLimit.into(),
        statuses: vec![
            DescriptorStatus {
                code: Code::OverLimit.into(),
                current_limit: Some(RateLimit {
                    name: "n".into(),
                    requests_per_unit: 5,
                    unit: Unit::Week.into(),
                }),
                limit_remaining: 0,
                duration_until_reset: Some(Duration {
                    seconds: 3,
                    nanos: 0,
                }),
                quota: None,
            },
            DescriptorStatus {
                code: Code::Ok.into(),
                ..DescriptorStatus::default()
            },
        ],
        response_headers_to_add: vec![HeaderValue {
            key: "x".into(),
            value: "1".into(),
            raw_value: Vec::new(),
        }],
        raw_body: b"no".to_vec(),
        dynamic_metadata: Some(Struct {
            fields: [("a".into(), text)].into(),
        }),
        ..RateLimitResponse::default()
    };
    let expected = json!({
        "overallCode": "OVER_LIMIT",
        "statuses": [
            {"code": "OVER_LIMIT", "durationUntilReset": "3s",
             "currentLimit": {"name": "n", "requestsPerUnit": 5, "unit": "WEEK"}},
            {"code": "OK"},
        ],
        "responseHeadersToAdd": [{"key": "x", "value": "1"}],
        "rawBody": "bm8=",
        "dynamicMetadata": {"a": "b"},
    });
    writes(&answer, &expected);
}

#[test]
fn gubernator_json_is_read_leniently() {
    let expected = RateLimitReq {
        name: "n".into(),
        unique_key: "k".into(),
        hits: 1,
        limit: i64::MAX,
        duration: 60_000,
        algorithm: Algorithm::LeakyBucket.into(),
        behavior: Behavior::Global.into(),
        burst: 0,
        metadata: [("a".to_owned(), "b".to_owned())].into(),
        created_at: Some(5),
    };
    let snake = r#"{"requests": [{"name": "n", "unique_key": "k", "hits": "1", "limit": "9223372036854775807",
        "duration": 60000, "algorithm": "LEAKY_BUCKET", "behavior": "GLOBAL", "metadata": {"a": "b"},
        "created_at": "5", "unheard_of": [1]}], "more": true}"#;
    let camel = r#"{"requests": [{"name": "n", "uniqueKey": "k", "hits": 1, "limit": 9223372036854775807,
        "duration": "60000", "algorithm": 1, "behavior": 2, "metadata": {"a": "b"}, "createdAt": 5}]}"#;
    for body in [snake, camel] {
        let read: GetRateLimitsReq = decode(body.as_bytes()).unwrap();
        assert_eq!(read.requests, std::slice::from_ref(&expected));
    }
    let nulls =
        r#"{"requests": [{"name": null, "hits": null, "metadata": null, "behavior": null}]}"#;
    let read: GetRateLimitsReq = decode(nulls.as_bytes()).unwrap();
    assert_eq!(read.requests, [RateLimitReq::default()]);
    refuses::<RateLimitReq>(
        r#"{"hits": "many"}"#,
        "an integer, or a string that holds one",
    );
    refuses::<RateLimitReq>(r#"{"algorithm": "GCRA"}"#, "TOKEN_BUCKET LEAKY_BUCKET");
    assert!(Behavior::Global.is_in(2 | 8) && !Behavior::NoBatching.is_in(2 | 8));
}

#[test]
fn gubernator_json_is_written_with_its_zeros() {
    let expected = json!({"responses": [{
        "status": "UNDER_LIMIT", "limit": "0", "remaining": "0", "reset_time": "0", "error": "",
        "metadata": {},
    }]});
    let answer = GetRateLimitsResp {
        responses: vec![RateLimitResp {
            status: Status::UnderLimit.into(),
            ..RateLimitResp::default()
        }],
    };
    writes(&answer, &expected);
    let expected = json!({
        "status": "healthy", "message": "", "peer_count": 1, "advertise_address": "",
    });
    let health = HealthCheckResp {
        status: "healthy".into(),
        peer_count: 1,
        ..HealthCheckResp::default()
    };
    writes(&health, &expected);
}

proptest! {
    #[test]
    fn own_bodies_read_back_what_they_wrote(
        bare in any::<String>(),
        pairs in proptest::collection::btree_map(any::<String>(), any::<String>(), 1..5),
        // Beyond, numbers are not read.
        cost in 0..=tollgate_wire::v1::NUMBER_MAX,
        id in any::<Option<String>>(),
    ) {
        let pairs = pairs.iter().map(|(name, value)| (name.into(), value.into()));
        for key in [WireKey::Bare(bare.into()), WireKey::Entries(pairs.collect())] {
            let id = id.as_deref().map(Cow::Borrowed);
            let request = JsonCheckRequest { id, ..check(key, cost) };
            let mut out = Vec::new();
            encode(&request, &mut out).unwrap();
            prop_assert_eq!(decode::<JsonCheckRequest<'_>>(&out).unwrap(), request);
        }
    }

    #[test]
    fn gubernator_requests_read_back_what_they_wrote(
        unique_key in any::<String>(),
        numbers in any::<[i64; 4]>(),
        behavior in any::<i32>(),
        created_at in any::<Option<i64>>(),
    ) {
        let [hits, limit, duration, burst] = numbers;
        let request = RateLimitReq {
            unique_key, hits, limit, duration, burst, behavior, created_at, ..RateLimitReq::default()
        };
        let mut out = Vec::new();
        encode(&request, &mut out).unwrap();
        prop_assert_eq!(decode::<RateLimitReq>(&out).unwrap(), request);
    }

    #[test]
    fn bodies_with_a_byte_changed_are_read_or_refused(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        for body in [
            r#"[{"key": {"user": "4\u00e9", "plan": "free"}, "cost": 3, "id": "op"}, {"key": "a"}]"#,
            r#"{"requests": [{"unique_key": "k", "hits": "1", "algorithm": 1, "metadata": {"a": "b"}}]}"#,
            r#"{"domain": "d", "descriptors": [{"entries": [{"key": "k"}], "hitsAddend": "0"}]}"#,
        ] {
            let mut bytes = body.as_bytes().to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = decode::<CheckBody<'_>>(&bytes);
            let _ = decode::<GetRateLimitsReq>(&bytes);
            let _ = decode::<RateLimitRequest>(&bytes);
        }
    }

    #[test]
    fn no_bytes_do_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode::<CheckBody<'_>>(&bytes);
        let _ = decode::<GetRateLimitsReq>(&bytes);
        let _ = decode::<RateLimitRequest>(&bytes);
    }
}
