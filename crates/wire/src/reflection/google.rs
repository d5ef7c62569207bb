//! Google's files: what `crate::google` holds, and the wrappers that Envoy uses.

use super::shape::{Enum, FILE, File, Kind, Message, choice, list, map, message, one};

pub(super) const ANY: &str = "google/protobuf/any.proto";
pub(super) const DURATION: &str = "google/protobuf/duration.proto";
pub(super) const STATUS: &str = "google/rpc/status.proto";
pub(super) const STRUCT: &str = "google/protobuf/struct.proto";
pub(super) const TIMESTAMP: &str = "google/protobuf/timestamp.proto";
pub(super) const WRAPPERS: &str = "google/protobuf/wrappers.proto";

const PACKAGE: &str = "google.protobuf";
const SPAN: [super::shape::Field; 2] =
    [one("seconds", 1, Kind::Int64), one("nanos", 2, Kind::Int32)];

pub(super) const FILES: &[File] = &[
    File {
        path: ANY,
        package: PACKAGE,
        messages: &[message(
            "Any",
            &[one("type_url", 1, Kind::Text), one("value", 2, Kind::Bytes)],
        )],
        ..FILE
    },
    File {
        path: DURATION,
        package: PACKAGE,
        messages: &[message("Duration", &SPAN)],
        ..FILE
    },
    File {
        path: TIMESTAMP,
        package: PACKAGE,
        messages: &[message("Timestamp", &SPAN)],
        ..FILE
    },
    File {
        path: WRAPPERS,
        package: PACKAGE,
        messages: &[
            message("UInt64Value", &[one("value", 1, Kind::Uint64)]),
            message("UInt32Value", &[one("value", 1, Kind::Uint32)]),
        ],
        ..FILE
    },
    File {
        path: STRUCT,
        package: PACKAGE,
        messages: STRUCT_MESSAGES,
        enums: &[Enum("NullValue", &[("NULL_VALUE", 0)])],
        ..FILE
    },
    File {
        path: STATUS,
        package: "google.rpc",
        uses: &[ANY],
        messages: &[message(
            "Status",
            &[
                one("code", 1, Kind::Int32),
                one("message", 2, Kind::Text),
                list("details", 3, Kind::Of(".google.protobuf.Any")),
            ],
        )],
        ..FILE
    },
];

const VALUE: Kind = Kind::Of(".google.protobuf.Value");

const STRUCT_MESSAGES: &[Message] = &[
    message("Struct", &[map("fields", 1, VALUE)]),
    message(
        "Value",
        &[
            choice(
                "kind",
                one("null_value", 1, Kind::Enum(".google.protobuf.NullValue")),
            ),
            choice("kind", one("number_value", 2, Kind::Double)),
            choice("kind", one("string_value", 3, Kind::Text)),
            choice("kind", one("bool_value", 4, Kind::Bool)),
            choice(
                "kind",
                one("struct_value", 5, Kind::Of(".google.protobuf.Struct")),
            ),
            choice(
                "kind",
                one("list_value", 6, Kind::Of(".google.protobuf.ListValue")),
            ),
        ],
    ),
    message("ListValue", &[list("values", 1, VALUE)]),
];
