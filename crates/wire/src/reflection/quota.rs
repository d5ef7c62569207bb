//! Envoy's files of the rate limit quota service.

use super::envoy::UNIT;
use super::google::{DURATION, WRAPPERS};
use super::shape::{Enum, FILE, File, Kind, Message, Service, choice, list, map, message, one};

const BUCKET: &str = "envoy/type/v3/token_bucket.proto";
const STRATEGY: &str = "envoy/type/v3/ratelimit_strategy.proto";

pub(super) const FILES: &[File] = &[
    File {
        path: BUCKET,
        package: "envoy.type.v3",
        uses: &[DURATION, WRAPPERS],
        messages: &[message(
            "TokenBucket",
            &[
                one("max_tokens", 1, Kind::Uint32),
                one(
                    "tokens_per_fill",
                    2,
                    Kind::Of(".google.protobuf.UInt32Value"),
                ),
                one("fill_interval", 3, SPAN),
            ],
        )],
        ..FILE
    },
    File {
        path: STRATEGY,
        package: "envoy.type.v3",
        uses: &[UNIT, BUCKET],
        messages: &[STRATEGY_MESSAGE],
        ..FILE
    },
    File {
        path: "envoy/service/rate_limit_quota/v3/rlqs.proto",
        package: "envoy.service.rate_limit_quota.v3",
        uses: &[STRATEGY, DURATION],
        messages: &[
            REPORTS,
            RESPONSE,
            message("BucketId", &[map("bucket", 1, Kind::Text)]),
        ],
        streams: &[Service(
            "RateLimitQuotaService",
            &[(
                "StreamRateLimitQuotas",
                ".envoy.service.rate_limit_quota.v3.RateLimitQuotaUsageReports",
                ".envoy.service.rate_limit_quota.v3.RateLimitQuotaResponse",
            )],
        )],
        ..FILE
    },
];

const SPAN: Kind = Kind::Of(".google.protobuf.Duration");
const BUCKET_ID: Kind = Kind::Of(".envoy.service.rate_limit_quota.v3.BucketId");

const STRATEGY_MESSAGE: Message = Message {
    name: "RateLimitStrategy",
    fields: &[
        choice(
            "strategy",
            one(
                "blanket_rule",
                1,
                Kind::Enum(".envoy.type.v3.RateLimitStrategy.BlanketRule"),
            ),
        ),
        choice(
            "strategy",
            one(
                "requests_per_time_unit",
                2,
                Kind::Of(".envoy.type.v3.RateLimitStrategy.RequestsPerTimeUnit"),
            ),
        ),
        choice(
            "strategy",
            one("token_bucket", 3, Kind::Of(".envoy.type.v3.TokenBucket")),
        ),
    ],
    messages: &[message(
        "RequestsPerTimeUnit",
        &[
            one("requests_per_time_unit", 1, Kind::Uint64),
            one("time_unit", 2, Kind::Enum(".envoy.type.v3.RateLimitUnit")),
        ],
    )],
    enums: &[Enum("BlanketRule", &[("ALLOW_ALL", 0), ("DENY_ALL", 1)])],
};

const REPORTS: Message = Message {
    name: "RateLimitQuotaUsageReports",
    fields: &[
        one("domain", 1, Kind::Text),
        list(
            "bucket_quota_usages",
            2,
            Kind::Of(
                ".envoy.service.rate_limit_quota.v3.RateLimitQuotaUsageReports.BucketQuotaUsage",
            ),
        ),
    ],
    messages: &[message(
        "BucketQuotaUsage",
        &[
            one("bucket_id", 1, BUCKET_ID),
            one("time_elapsed", 2, SPAN),
            one("num_requests_allowed", 3, Kind::Uint64),
            one("num_requests_denied", 4, Kind::Uint64),
        ],
    )],
    enums: &[],
};

const RESPONSE: Message = Message {
    name: "RateLimitQuotaResponse",
    fields: &[list(
        "bucket_action",
        1,
        Kind::Of(".envoy.service.rate_limit_quota.v3.RateLimitQuotaResponse.BucketAction"),
    )],
    messages: &[ACTION],
    enums: &[],
};

const ACTION: Message = Message {
    name: "BucketAction",
    fields: &[
        one("bucket_id", 1, BUCKET_ID),
        choice(
            "bucket_action",
            one(
                "quota_assignment_action",
                2,
                Kind::Of(
                    ".envoy.service.rate_limit_quota.v3.RateLimitQuotaResponse.BucketAction.QuotaAssignmentAction",
                ),
            ),
        ),
        choice(
            "bucket_action",
            one(
                "abandon_action",
                3,
                Kind::Of(
                    ".envoy.service.rate_limit_quota.v3.RateLimitQuotaResponse.BucketAction.AbandonAction",
                ),
            ),
        ),
    ],
    messages: &[
        message(
            "QuotaAssignmentAction",
            &[
                one("assignment_time_to_live", 2, SPAN),
                one(
                    "rate_limit_strategy",
                    3,
                    Kind::Of(".envoy.type.v3.RateLimitStrategy"),
                ),
            ],
        ),
        message("AbandonAction", &[]),
    ],
    enums: &[],
};
