//! Our messages against Envoy's own types: equal bytes, whoever writes them.
//!
//! Each message is written by one side, read by the other, and written again. Maps have at most
//! one entry here, since the other side writes them in hash order.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

mod messages;
mod quota;
mod reflection;
mod xds;

use std::fmt::Debug;

use envoy_types::pb::envoy::config::core::v3 as their_core;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3 as their_common;
use envoy_types::pb::envoy::service::auth::v3 as their_authz;
use envoy_types::pb::envoy::service::rate_limit_quota::v3 as their_rlqs;
use envoy_types::pb::envoy::service::ratelimit::v3 as their_rls;
use messages::{check_request, check_response, rls_request, rls_response};
use proptest::collection::vec;
use proptest::prelude::*;
use prost::Message;
use quota::{quota_reports, quota_response};
use tollgate_wire::authz::CheckRequest;
use tollgate_wire::envoy::HeaderValue;
use tollgate_wire::rlqs::RateLimitQuotaUsageReports;
use tollgate_wire::rls::{Code, RateLimitRequest, Unit};

/// Ours to theirs and back, without a byte changed.
#[track_caller]
fn equal<Ours, Theirs>(ours: &Ours)
where
    Ours: Message + Default + PartialEq + Debug,
    Theirs: Message + Default,
{
    let bytes = ours.encode_to_vec();
    let theirs = Theirs::decode(&*bytes).unwrap().encode_to_vec();
    assert_eq!(theirs, bytes, "they lose or move something of {ours:?}");
    assert_eq!(&Ours::decode(&*theirs).unwrap(), ours);
}

proptest! {
    #[test]
    fn rls_requests_are_theirs(request in rls_request()) {
        equal::<_, their_rls::RateLimitRequest>(&request);
    }

    #[test]
    fn rls_responses_are_theirs(response in rls_response()) {
        equal::<_, their_rls::RateLimitResponse>(&response);
    }

    #[test]
    fn authz_requests_are_theirs(request in check_request()) {
        equal::<_, their_authz::CheckRequest>(&request);
    }

    #[test]
    fn authz_responses_are_theirs(response in check_response()) {
        equal::<_, their_authz::CheckResponse>(&response);
    }

    #[test]
    fn quota_reports_are_theirs(reports in quota_reports()) {
        equal::<_, their_rlqs::RateLimitQuotaUsageReports>(&reports);
    }

    #[test]
    fn quota_responses_are_theirs(response in quota_response()) {
        equal::<_, their_rlqs::RateLimitQuotaResponse>(&response);
    }

    #[test]
    fn messages_with_a_byte_changed_are_read_or_refused(
        rls in rls_request(),
        authz in check_request(),
        rlqs in quota_reports(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        for mut bytes in [rls.encode_to_vec(), authz.encode_to_vec(), rlqs.encode_to_vec()] {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            let _ = RateLimitRequest::decode(&*bytes);
            let _ = CheckRequest::decode(&*bytes);
            let _ = RateLimitQuotaUsageReports::decode(&*bytes);
        }
    }

    #[test]
    fn random_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..200)) {
        let _ = RateLimitRequest::decode(&*bytes);
        let _ = CheckRequest::decode(&*bytes);
        let _ = RateLimitQuotaUsageReports::decode(&*bytes);
        let _ = tollgate_wire::gubernator::GetRateLimitsReq::decode(&*bytes);
        let _ = tollgate_wire::throttlecrab::ThrottleRequest::decode(&*bytes);
    }
}

#[test]
fn what_they_write_means_the_same_here() {
    let entry = their_common::rate_limit_descriptor::Entry {
        key: "user".into(),
        value: "42".into(),
    };
    let theirs = their_rls::RateLimitRequest {
        domain: "d".into(),
        descriptors: vec![their_common::RateLimitDescriptor {
            entries: vec![entry],
            limit: Some(their_common::rate_limit_descriptor::RateLimitOverride {
                requests_per_unit: 5,
                unit: 4,
            }),
            hits_addend: Some(envoy_types::pb::google::protobuf::UInt64Value { value: 0 }),
            is_negative_hits: true,
        }],
        hits_addend: 3,
    };
    let ours = RateLimitRequest::decode(&*theirs.encode_to_vec()).unwrap();
    let descriptor = &ours.descriptors[0];
    assert_eq!((ours.domain.as_str(), ours.hits_addend), ("d", 3));
    assert_eq!(descriptor.entries[0].value, b"42");
    assert_eq!(descriptor.hits_addend, Some(0));
    assert!(descriptor.is_negative_hits);
    assert_eq!(descriptor.limit.unwrap().unit(), Unit::Day);
    let theirs = their_core::HeaderValue {
        key: "a".into(),
        value: "b".into(),
        raw_value: vec![1],
    };
    let ours = HeaderValue::decode(&*theirs.encode_to_vec()).unwrap();
    assert_eq!((ours.key.as_str(), ours.raw_value), ("a", vec![1]));
}

#[test]
fn numbers_of_codes_and_units_are_theirs() {
    use their_rls::rate_limit_response::Code as TheirCode;
    use their_rls::rate_limit_response::rate_limit::Unit as TheirUnit;
    for number in 0..9 {
        let ours = Unit::try_from(number).map(|unit| format!("{unit:?}"));
        let theirs = TheirUnit::try_from(number).map(|unit| format!("{unit:?}"));
        assert_eq!(ours.ok(), theirs.ok());
        let ours = Code::try_from(number).map(|code| format!("{code:?}"));
        let theirs = TheirCode::try_from(number).map(|code| format!("{code:?}"));
        assert_eq!(ours.ok(), theirs.ok());
    }
}
