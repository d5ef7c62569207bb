//! Envoy's files, and Kuadrant's service over the same messages.

use super::google::{ANY, DURATION, STATUS, STRUCT, TIMESTAMP, WRAPPERS};
use super::shape::{Enum, FILE, File, Kind, Message, Service, choice, list, map, message, one};

const ADDRESS: &str = "envoy/config/core/v3/address.proto";
const ATTRIBUTES: &str = "envoy/service/auth/v3/attribute_context.proto";
const BASE: &str = "envoy/config/core/v3/base.proto";
const DESCRIPTOR: &str = "envoy/extensions/common/ratelimit/v3/ratelimit.proto";
const HTTP_STATUS: &str = "envoy/type/v3/http_status.proto";
const RLS: &str = "envoy/service/ratelimit/v3/rls.proto";
pub(super) const UNIT: &str = "envoy/type/v3/ratelimit_unit.proto";

pub(super) const FILES: &[File] = &[
    File {
        path: UNIT,
        package: "envoy.type.v3",
        enums: &[Enum("RateLimitUnit", UNITS_BUT_WEEK)],
        ..FILE
    },
    File {
        path: HTTP_STATUS,
        package: "envoy.type.v3",
        messages: &[message(
            "HttpStatus",
            &[one("code", 1, Kind::Enum(".envoy.type.v3.StatusCode"))],
        )],
        enums: &[Enum("StatusCode", STATUS_CODES)],
        ..FILE
    },
    File {
        path: BASE,
        package: "envoy.config.core.v3",
        uses: &[ANY, STRUCT],
        messages: BASE_MESSAGES,
        ..FILE
    },
    File {
        path: ADDRESS,
        package: "envoy.config.core.v3",
        messages: ADDRESS_MESSAGES,
        ..FILE
    },
    File {
        path: DESCRIPTOR,
        package: "envoy.extensions.common.ratelimit.v3",
        uses: &[UNIT, WRAPPERS],
        messages: DESCRIPTOR_MESSAGES,
        ..FILE
    },
    File {
        path: RLS,
        package: "envoy.service.ratelimit.v3",
        uses: &[BASE, DESCRIPTOR, DURATION, STRUCT, TIMESTAMP],
        messages: RLS_MESSAGES,
        services: &[Service(
            "RateLimitService",
            &[("ShouldRateLimit", REQUEST, RESPONSE)],
        )],
        ..FILE
    },
    File {
        path: "kuadrant/service/ratelimit/v1/ratelimit.proto",
        package: "kuadrant.service.ratelimit.v1",
        uses: &[RLS],
        services: &[Service(
            "RateLimitService",
            &[
                ("CheckRateLimit", REQUEST, RESPONSE),
                ("Report", REQUEST, RESPONSE),
            ],
        )],
        ..FILE
    },
    File {
        path: ATTRIBUTES,
        package: "envoy.service.auth.v3",
        uses: &[ADDRESS, BASE, TIMESTAMP],
        messages: &[ATTRIBUTE_CONTEXT],
        ..FILE
    },
    File {
        path: "envoy/service/auth/v3/external_auth.proto",
        package: "envoy.service.auth.v3",
        uses: &[ATTRIBUTES, BASE, HTTP_STATUS, STATUS, STRUCT],
        messages: AUTHZ_MESSAGES,
        services: &[Service(
            "Authorization",
            &[(
                "Check",
                ".envoy.service.auth.v3.CheckRequest",
                ".envoy.service.auth.v3.CheckResponse",
            )],
        )],
        ..FILE
    },
];

const REQUEST: &str = ".envoy.service.ratelimit.v3.RateLimitRequest";
const RESPONSE: &str = ".envoy.service.ratelimit.v3.RateLimitResponse";
const HEADER: Kind = Kind::Of(".envoy.config.core.v3.HeaderValue");
const HEADER_OPTION: Kind = Kind::Of(".envoy.config.core.v3.HeaderValueOption");
const METADATA: Kind = Kind::Of(".envoy.config.core.v3.Metadata");
const OBJECT: Kind = Kind::Of(".google.protobuf.Struct");
const TIME: Kind = Kind::Of(".google.protobuf.Timestamp");

const UNITS_BUT_WEEK: &[(&str, i32)] = &[
    ("UNKNOWN", 0),
    ("SECOND", 1),
    ("MINUTE", 2),
    ("HOUR", 3),
    ("DAY", 4),
    ("MONTH", 5),
    ("YEAR", 6),
];

/// Those that a limiter answers with; an enumeration takes other numbers too.
const STATUS_CODES: &[(&str, i32)] = &[
    ("Empty", 0),
    ("OK", 200),
    ("Unauthorized", 401),
    ("Forbidden", 403),
    ("TooManyRequests", 429),
    ("InternalServerError", 500),
    ("ServiceUnavailable", 503),
];

const BASE_MESSAGES: &[Message] = &[
    message(
        "HeaderValue",
        &[
            one("key", 1, Kind::Text),
            one("value", 2, Kind::Text),
            one("raw_value", 3, Kind::Bytes),
        ],
    ),
    message("HeaderMap", &[list("headers", 1, HEADER)]),
    Message {
        name: "HeaderValueOption",
        fields: &[
            one("header", 1, HEADER),
            one(
                "append_action",
                3,
                Kind::Enum(".envoy.config.core.v3.HeaderValueOption.HeaderAppendAction"),
            ),
            one("keep_empty_value", 4, Kind::Bool),
        ],
        messages: &[],
        enums: &[Enum(
            "HeaderAppendAction",
            &[
                ("APPEND_IF_EXISTS_OR_ADD", 0),
                ("ADD_IF_ABSENT", 1),
                ("OVERWRITE_IF_EXISTS_OR_ADD", 2),
                ("OVERWRITE_IF_EXISTS", 3),
            ],
        )],
    },
    message(
        "QueryParameter",
        &[one("key", 1, Kind::Text), one("value", 2, Kind::Text)],
    ),
    message(
        "Metadata",
        &[
            map("filter_metadata", 1, OBJECT),
            map("typed_filter_metadata", 2, Kind::Of(".google.protobuf.Any")),
        ],
    ),
];

const ADDRESS_MESSAGES: &[Message] = &[
    message(
        "Pipe",
        &[one("path", 1, Kind::Text), one("mode", 2, Kind::Uint32)],
    ),
    message(
        "EnvoyInternalAddress",
        &[
            choice(
                "address_name_specifier",
                one("server_listener_name", 1, Kind::Text),
            ),
            one("endpoint_id", 2, Kind::Text),
        ],
    ),
    Message {
        name: "SocketAddress",
        fields: &[
            one(
                "protocol",
                1,
                Kind::Enum(".envoy.config.core.v3.SocketAddress.Protocol"),
            ),
            one("address", 2, Kind::Text),
            choice("port_specifier", one("port_value", 3, Kind::Uint32)),
            choice("port_specifier", one("named_port", 4, Kind::Text)),
            one("resolver_name", 5, Kind::Text),
            one("ipv4_compat", 6, Kind::Bool),
            one("network_namespace_filepath", 7, Kind::Text),
        ],
        messages: &[],
        enums: &[Enum("Protocol", &[("TCP", 0), ("UDP", 1)])],
    },
    message(
        "Address",
        &[
            choice(
                "address",
                one(
                    "socket_address",
                    1,
                    Kind::Of(".envoy.config.core.v3.SocketAddress"),
                ),
            ),
            choice(
                "address",
                one("pipe", 2, Kind::Of(".envoy.config.core.v3.Pipe")),
            ),
            choice(
                "address",
                one(
                    "envoy_internal_address",
                    3,
                    Kind::Of(".envoy.config.core.v3.EnvoyInternalAddress"),
                ),
            ),
        ],
    ),
];

const DESCRIPTOR_MESSAGES: &[Message] = &[Message {
    name: "RateLimitDescriptor",
    fields: &[
        list(
            "entries",
            1,
            Kind::Of(".envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.Entry"),
        ),
        one(
            "limit",
            2,
            Kind::Of(".envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.RateLimitOverride"),
        ),
        one("hits_addend", 3, Kind::Of(".google.protobuf.UInt64Value")),
        one("is_negative_hits", 4, Kind::Bool),
    ],
    messages: &[
        message(
            "Entry",
            &[one("key", 1, Kind::Text), one("value", 2, Kind::Text)],
        ),
        message(
            "RateLimitOverride",
            &[
                one("requests_per_unit", 1, Kind::Uint32),
                one("unit", 2, Kind::Enum(".envoy.type.v3.RateLimitUnit")),
            ],
        ),
    ],
    enums: &[],
}];

const CODE: Kind = Kind::Enum(".envoy.service.ratelimit.v3.RateLimitResponse.Code");
const QUOTA: Kind = Kind::Of(".envoy.service.ratelimit.v3.RateLimitResponse.Quota");

const RLS_MESSAGES: &[Message] = &[
    message(
        "RateLimitRequest",
        &[
            one("domain", 1, Kind::Text),
            list(
                "descriptors",
                2,
                Kind::Of(".envoy.extensions.common.ratelimit.v3.RateLimitDescriptor"),
            ),
            one("hits_addend", 3, Kind::Uint32),
        ],
    ),
    Message {
        name: "RateLimitResponse",
        fields: &[
            one("overall_code", 1, CODE),
            list(
                "statuses",
                2,
                Kind::Of(".envoy.service.ratelimit.v3.RateLimitResponse.DescriptorStatus"),
            ),
            list("response_headers_to_add", 3, HEADER),
            list("request_headers_to_add", 4, HEADER),
            one("raw_body", 5, Kind::Bytes),
            one("dynamic_metadata", 6, OBJECT),
            one("quota", 7, QUOTA),
        ],
        messages: RESPONSE_PARTS,
        enums: &[Enum(
            "Code",
            &[("UNKNOWN", 0), ("OK", 1), ("OVER_LIMIT", 2)],
        )],
    },
];

const RESPONSE_PARTS: &[Message] = &[
    Message {
        name: "RateLimit",
        fields: &[
            one("name", 3, Kind::Text),
            one("requests_per_unit", 1, Kind::Uint32),
            one(
                "unit",
                2,
                Kind::Enum(".envoy.service.ratelimit.v3.RateLimitResponse.RateLimit.Unit"),
            ),
        ],
        messages: &[],
        enums: &[Enum(
            "Unit",
            &[
                ("UNKNOWN", 0),
                ("SECOND", 1),
                ("MINUTE", 2),
                ("HOUR", 3),
                ("DAY", 4),
                ("WEEK", 7),
                ("MONTH", 5),
                ("YEAR", 6),
            ],
        )],
    },
    message(
        "Quota",
        &[
            one("requests", 1, Kind::Uint32),
            choice("expiration_specifier", one("valid_until", 2, TIME)),
            one("id", 3, Kind::Text),
        ],
    ),
    message(
        "DescriptorStatus",
        &[
            one("code", 1, CODE),
            one(
                "current_limit",
                2,
                Kind::Of(".envoy.service.ratelimit.v3.RateLimitResponse.RateLimit"),
            ),
            one("limit_remaining", 3, Kind::Uint32),
            one(
                "duration_until_reset",
                4,
                Kind::Of(".google.protobuf.Duration"),
            ),
            one("quota", 5, QUOTA),
        ],
    ),
];

const PEER: Kind = Kind::Of(".envoy.service.auth.v3.AttributeContext.Peer");

const ATTRIBUTE_CONTEXT: Message = Message {
    name: "AttributeContext",
    fields: &[
        one("source", 1, PEER),
        one("destination", 2, PEER),
        one(
            "request",
            4,
            Kind::Of(".envoy.service.auth.v3.AttributeContext.Request"),
        ),
        map("context_extensions", 10, Kind::Text),
        one("metadata_context", 11, METADATA),
        one(
            "tls_session",
            12,
            Kind::Of(".envoy.service.auth.v3.AttributeContext.TLSSession"),
        ),
        one("route_metadata_context", 13, METADATA),
    ],
    messages: &[
        message(
            "Peer",
            &[
                one("address", 1, Kind::Of(".envoy.config.core.v3.Address")),
                one("service", 2, Kind::Text),
                map("labels", 3, Kind::Text),
                one("principal", 4, Kind::Text),
                one("certificate", 5, Kind::Text),
            ],
        ),
        message(
            "Request",
            &[
                one("time", 1, TIME),
                one(
                    "http",
                    2,
                    Kind::Of(".envoy.service.auth.v3.AttributeContext.HttpRequest"),
                ),
            ],
        ),
        message(
            "HttpRequest",
            &[
                one("id", 1, Kind::Text),
                one("method", 2, Kind::Text),
                map("headers", 3, Kind::Text),
                one("path", 4, Kind::Text),
                one("host", 5, Kind::Text),
                one("scheme", 6, Kind::Text),
                one("query", 7, Kind::Text),
                one("fragment", 8, Kind::Text),
                one("size", 9, Kind::Int64),
                one("protocol", 10, Kind::Text),
                one("body", 11, Kind::Text),
                one("raw_body", 12, Kind::Bytes),
                one(
                    "header_map",
                    13,
                    Kind::Of(".envoy.config.core.v3.HeaderMap"),
                ),
            ],
        ),
        message("TLSSession", &[one("sni", 1, Kind::Text)]),
    ],
    enums: &[],
};

const DENIED: Kind = Kind::Of(".envoy.service.auth.v3.DeniedHttpResponse");

const AUTHZ_MESSAGES: &[Message] = &[
    message(
        "CheckRequest",
        &[one(
            "attributes",
            1,
            Kind::Of(".envoy.service.auth.v3.AttributeContext"),
        )],
    ),
    message(
        "DeniedHttpResponse",
        &[
            one("status", 1, Kind::Of(".envoy.type.v3.HttpStatus")),
            list("headers", 2, HEADER_OPTION),
            one("body", 3, Kind::Text),
        ],
    ),
    message(
        "OkHttpResponse",
        &[
            list("headers", 2, HEADER_OPTION),
            list("headers_to_remove", 5, Kind::Text),
            list("response_headers_to_add", 6, HEADER_OPTION),
            list(
                "query_parameters_to_set",
                7,
                Kind::Of(".envoy.config.core.v3.QueryParameter"),
            ),
            list("query_parameters_to_remove", 8, Kind::Text),
        ],
    ),
    message(
        "CheckResponse",
        &[
            one("status", 1, Kind::Of(".google.rpc.Status")),
            choice("http_response", one("denied_response", 2, DENIED)),
            choice(
                "http_response",
                one(
                    "ok_response",
                    3,
                    Kind::Of(".envoy.service.auth.v3.OkHttpResponse"),
                ),
            ),
            choice("http_response", one("error_response", 5, DENIED)),
            one("dynamic_metadata", 4, OBJECT),
        ],
    ),
];
