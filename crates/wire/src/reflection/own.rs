//! Tollgate's own file.

use super::shape::{FILE, Field, File, Kind, Many, Message, Service, list, message, one};

pub(super) const FILES: &[File] = &[File {
    path: "tollgate/v1/tollgate.proto",
    package: "tollgate.v1",
    messages: MESSAGES,
    services: &[Service(
        "Tollgate",
        &[
            (
                "Check",
                ".tollgate.v1.CheckRequest",
                ".tollgate.v1.CheckResponse",
            ),
            (
                "CheckMany",
                ".tollgate.v1.CheckManyRequest",
                ".tollgate.v1.CheckManyResponse",
            ),
        ],
    )],
    ..FILE
}];

const MESSAGES: &[Message] = &[
    message(
        "CheckRequest",
        &[
            list("entries", 1, Kind::Of(".tollgate.v1.Entry")),
            one("key", 2, Kind::Bytes),
            Field {
                many: Many::Maybe,
                ..one("cost", 3, Kind::Uint64)
            },
            one("contract", 4, Kind::Text),
            one("id", 5, Kind::Text),
        ],
    ),
    message(
        "Entry",
        &[one("key", 1, Kind::Text), one("value", 2, Kind::Text)],
    ),
    message(
        "CheckResponse",
        &[
            one("allowed", 1, Kind::Bool),
            one("policy", 2, Kind::Text),
            one("limit", 3, Kind::Uint64),
            one("remaining", 4, Kind::Uint64),
            Field {
                many: Many::Maybe,
                ..one("retry_after_ms", 5, Kind::Uint64)
            },
            one("reset_after_ms", 6, Kind::Uint64),
            one("wait_ms", 7, Kind::Uint64),
            one("receipt", 8, Kind::Text),
            one("error", 9, Kind::Text),
            one("capacity", 10, Kind::Uint64),
            one("debt", 11, Kind::Uint64),
            one("unmatched", 12, Kind::Bool),
            one("part", 13, Kind::Bool),
        ],
    ),
    message(
        "CheckManyRequest",
        &[
            list("checks", 1, Kind::Of(".tollgate.v1.CheckRequest")),
            one("with_receipts", 2, Kind::Bool),
        ],
    ),
    message(
        "CheckManyResponse",
        &[list("answers", 1, Kind::Of(".tollgate.v1.CheckResponse"))],
    ),
];
