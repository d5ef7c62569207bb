//! Converts between assignments and Envoy's messages. Not here: what is decided.

use tollgate_node::QuotaAction as Action;
use tollgate_wire::google;
use tollgate_wire::rlqs::{
    AbandonAction, BlanketRule, BucketAction, BucketActionKind, BucketId, QuotaAssignmentAction,
    RateLimitQuotaResponse, RateLimitStrategy, Strategy, TokenBucket,
};
use tonic::Status;

use super::bind::Unserved;

/// A non-negative duration; zero if absent, as in Envoy's first report of a bucket.
pub(super) fn elapsed_ns(span: Option<google::Duration>) -> Result<u64, Unserved> {
    let Some(span) = span else {
        return Ok(0);
    };
    let seconds = u64::try_from(span.seconds);
    let nanos = u32::try_from(span.nanos)
        .ok()
        .filter(|nanos| *nanos < 1_000_000_000);
    match (seconds, nanos) {
        (Ok(seconds), Some(nanos)) => Ok(seconds
            .saturating_mul(1_000_000_000)
            .saturating_add(u64::from(nanos))),
        _ => Err(Unserved("`time_elapsed` cannot be negative".to_owned())),
    }
}

/// `None` if there are no actions.
pub(super) fn response(bucket_action: Vec<BucketAction>) -> Option<RateLimitQuotaResponse> {
    (!bucket_action.is_empty()).then_some(RateLimitQuotaResponse { bucket_action })
}

pub(super) fn said(bucket: &BucketId, action: Action) -> BucketAction {
    match action {
        Action::Assign(assigned, ttl_s) => {
            let strategy = Strategy::TokenBucket(TokenBucket {
                max_tokens: assigned.max_tokens,
                tokens_per_fill: Some(assigned.tokens_per_fill),
                fill_interval: Some(seconds(assigned.interval_s)),
            });
            assigned_for(bucket, strategy, ttl_s)
        }
        Action::Deny(ttl_s) => blanket(bucket, BlanketRule::DenyAll, ttl_s),
        Action::Abandon => BucketAction {
            bucket_id: Some(bucket.clone()),
            bucket_action: Some(BucketActionKind::AbandonAction(AbandonAction {})),
        },
    }
}

pub(super) fn blanket(bucket: &BucketId, rule: BlanketRule, ttl_s: u32) -> BucketAction {
    assigned_for(bucket, Strategy::BlanketRule(rule.into()), ttl_s)
}

fn assigned_for(bucket: &BucketId, strategy: Strategy, ttl_s: u32) -> BucketAction {
    let action = QuotaAssignmentAction {
        assignment_time_to_live: Some(seconds(ttl_s)),
        rate_limit_strategy: Some(RateLimitStrategy {
            strategy: Some(strategy),
        }),
    };
    BucketAction {
        bucket_id: Some(bucket.clone()),
        bucket_action: Some(BucketActionKind::QuotaAssignmentAction(action)),
    }
}

fn seconds(count: u32) -> google::Duration {
    google::Duration {
        seconds: i64::from(count),
        nanos: 0,
    }
}

pub(super) fn wrong(what: impl Into<String>) -> Status {
    Status::invalid_argument(what)
}
