//! Gubernator's file and throttlecrab's.

use super::shape::{
    Enum, FILE, Field, File, Kind, Many, Message, Service, list, map, message, one,
};

pub(super) const FILES: &[File] = &[
    File {
        path: "gubernator.proto",
        package: "pb.gubernator",
        messages: GUBERNATOR_MESSAGES,
        enums: GUBERNATOR_ENUMS,
        services: &[Service(
            "V1",
            &[
                (
                    "GetRateLimits",
                    ".pb.gubernator.GetRateLimitsReq",
                    ".pb.gubernator.GetRateLimitsResp",
                ),
                (
                    "HealthCheck",
                    ".pb.gubernator.HealthCheckReq",
                    ".pb.gubernator.HealthCheckResp",
                ),
                (
                    "LiveCheck",
                    ".pb.gubernator.LiveCheckReq",
                    ".pb.gubernator.LiveCheckResp",
                ),
            ],
        )],
        ..FILE
    },
    File {
        path: "throttlecrab.proto",
        package: "throttlecrab",
        messages: THROTTLECRAB_MESSAGES,
        services: &[Service(
            "RateLimiter",
            &[(
                "Throttle",
                ".throttlecrab.ThrottleRequest",
                ".throttlecrab.ThrottleResponse",
            )],
        )],
        ..FILE
    },
];

const GUBERNATOR_MESSAGES: &[Message] = &[
    message(
        "GetRateLimitsReq",
        &[list("requests", 1, Kind::Of(".pb.gubernator.RateLimitReq"))],
    ),
    message(
        "GetRateLimitsResp",
        &[list(
            "responses",
            1,
            Kind::Of(".pb.gubernator.RateLimitResp"),
        )],
    ),
    message(
        "RateLimitReq",
        &[
            one("name", 1, Kind::Text),
            one("unique_key", 2, Kind::Text),
            one("hits", 3, Kind::Int64),
            one("limit", 4, Kind::Int64),
            one("duration", 5, Kind::Int64),
            one("algorithm", 6, Kind::Enum(".pb.gubernator.Algorithm")),
            one("behavior", 7, Kind::Enum(".pb.gubernator.Behavior")),
            one("burst", 8, Kind::Int64),
            map("metadata", 9, Kind::Text),
            Field {
                many: Many::Maybe,
                ..one("created_at", 10, Kind::Int64)
            },
        ],
    ),
    message(
        "RateLimitResp",
        &[
            one("status", 1, Kind::Enum(".pb.gubernator.Status")),
            one("limit", 2, Kind::Int64),
            one("remaining", 3, Kind::Int64),
            one("reset_time", 4, Kind::Int64),
            one("error", 5, Kind::Text),
            map("metadata", 6, Kind::Text),
        ],
    ),
    message("HealthCheckReq", &[]),
    message(
        "HealthCheckResp",
        &[
            one("status", 1, Kind::Text),
            one("message", 2, Kind::Text),
            one("peer_count", 3, Kind::Int32),
            one("advertise_address", 4, Kind::Text),
        ],
    ),
    message("LiveCheckReq", &[]),
    message("LiveCheckResp", &[]),
];

const GUBERNATOR_ENUMS: &[Enum] = &[
    Enum("Algorithm", &[("TOKEN_BUCKET", 0), ("LEAKY_BUCKET", 1)]),
    Enum(
        "Behavior",
        &[
            ("BATCHING", 0),
            ("NO_BATCHING", 1),
            ("GLOBAL", 2),
            ("DURATION_IS_GREGORIAN", 4),
            ("RESET_REMAINING", 8),
            ("MULTI_REGION", 16),
            ("DRAIN_OVER_LIMIT", 32),
        ],
    ),
    Enum("Status", &[("UNDER_LIMIT", 0), ("OVER_LIMIT", 1)]),
];

const THROTTLECRAB_MESSAGES: &[Message] = &[
    message(
        "ThrottleRequest",
        &[
            one("key", 1, Kind::Text),
            one("max_burst", 2, Kind::Int32),
            one("count_per_period", 3, Kind::Int32),
            one("period", 4, Kind::Int32),
            one("quantity", 5, Kind::Int32),
        ],
    ),
    message(
        "ThrottleResponse",
        &[
            one("allowed", 1, Kind::Bool),
            one("limit", 2, Kind::Int32),
            one("remaining", 3, Kind::Int32),
            one("retry_after", 4, Kind::Int32),
            one("reset_after", 5, Kind::Int32),
        ],
    ),
];
