//! Any message of the rate limit quota service.

use proptest::collection::{btree_map, vec};
use proptest::option::of as some;
use proptest::prelude::*;
use tollgate_wire::google::Duration;
use tollgate_wire::rlqs::{
    AbandonAction, BucketAction, BucketActionKind, BucketId, BucketQuotaUsage,
    QuotaAssignmentAction, RateLimitQuotaResponse, RateLimitQuotaUsageReports, RateLimitStrategy,
    RequestsPerTimeUnit, Strategy as Way, TokenBucket,
};

fn span() -> impl Strategy<Value = Duration> {
    (any::<i64>(), any::<i32>()).prop_map(|(seconds, nanos)| Duration { seconds, nanos })
}

fn bucket_id() -> impl Strategy<Value = BucketId> {
    btree_map("[a-z]{0,4}", "[a-z]{0,4}", 0..=1).prop_map(|bucket| BucketId {
        bucket: bucket
            .into_iter()
            .map(|(name, value)| (name, value.into_bytes()))
            .collect(),
    })
}

pub(crate) fn quota_reports() -> impl Strategy<Value = RateLimitQuotaUsageReports> {
    let usage = (some(bucket_id()), some(span()), any::<u64>(), any::<u64>());
    let usage = usage.prop_map(
        |(bucket_id, time_elapsed, allowed, denied)| BucketQuotaUsage {
            bucket_id,
            time_elapsed,
            num_requests_allowed: allowed,
            num_requests_denied: denied,
        },
    );
    ("[a-z]{0,4}", vec(usage, 0..3)).prop_map(|(domain, bucket_quota_usages)| {
        RateLimitQuotaUsageReports {
            domain,
            bucket_quota_usages,
        }
    })
}

fn strategy() -> impl Strategy<Value = RateLimitStrategy> {
    let unit = (any::<u64>(), 0..8).prop_map(|(count, time_unit)| RequestsPerTimeUnit {
        requests_per_time_unit: count,
        time_unit,
    });
    let bucket = (any::<u32>(), any::<Option<u32>>(), some(span()));
    let bucket = bucket.prop_map(|(max_tokens, tokens_per_fill, fill_interval)| TokenBucket {
        max_tokens,
        tokens_per_fill,
        fill_interval,
    });
    let way = prop_oneof![
        (0..2).prop_map(Way::BlanketRule),
        unit.prop_map(Way::RequestsPerTimeUnit),
        bucket.prop_map(Way::TokenBucket),
    ];
    some(way).prop_map(|strategy| RateLimitStrategy { strategy })
}

pub(crate) fn quota_response() -> impl Strategy<Value = RateLimitQuotaResponse> {
    let assignment = (some(span()), some(strategy()));
    let assignment = assignment.prop_map(|(ttl, strategy)| QuotaAssignmentAction {
        assignment_time_to_live: ttl,
        rate_limit_strategy: strategy,
    });
    let kind = prop_oneof![
        assignment.prop_map(BucketActionKind::QuotaAssignmentAction),
        Just(BucketActionKind::AbandonAction(AbandonAction {})),
    ];
    let action =
        (some(bucket_id()), some(kind)).prop_map(|(bucket_id, bucket_action)| BucketAction {
            bucket_id,
            bucket_action,
        });
    vec(action, 0..3).prop_map(|bucket_action| RateLimitQuotaResponse { bucket_action })
}
