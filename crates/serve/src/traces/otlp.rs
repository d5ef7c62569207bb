//! The messages of OTLP that a span needs, with the numbers of opentelemetry-proto 1.x.

use prost::Message;

pub(super) fn request(spans: Vec<OtlpSpan>) -> Vec<u8> {
    let resource = Resource {
        attributes: vec![
            KeyValue::text("service.name", "tollgate"),
            KeyValue::text("service.version", env!("CARGO_PKG_VERSION")),
        ],
    };
    let scope = Scope {
        name: "tollgate".into(),
    };
    let scope_spans = ScopeSpans {
        scope: Some(scope),
        spans,
    };
    let resource_spans = ResourceSpans {
        resource: Some(resource),
        scope_spans: vec![scope_spans],
    };
    let request = Request {
        resource_spans: vec![resource_spans],
    };
    request.encode_to_vec()
}

#[derive(Clone, PartialEq, Message)]
struct Request {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    spans: Vec<OtlpSpan>,
}

#[derive(Clone, PartialEq, Message)]
struct Scope {
    #[prost(string, tag = "1")]
    name: String,
}

#[allow(clippy::struct_field_names)] // The names are OTLP's.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OtlpSpan {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) span_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    pub(super) parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    pub(super) name: String,
    #[prost(int32, tag = "6")]
    pub(super) kind: i32,
    #[prost(fixed64, tag = "7")]
    pub(super) start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    pub(super) end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    pub(super) attributes: Vec<KeyValue>,
    #[prost(message, optional, tag = "15")]
    pub(super) status: Option<SpanStatus>,
}

/// How a span ended.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SpanStatus {
    #[prost(string, tag = "2")]
    pub(super) message: String,
    #[prost(int32, tag = "3")]
    pub(super) code: i32,
}

/// An attribute of a span.
#[derive(Clone, PartialEq, Message)]
pub(super) struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

impl KeyValue {
    pub(super) fn text(key: &str, value: impl Into<String>) -> Self {
        Self::of(key, Value::Text(value.into()))
    }

    pub(super) fn number(key: &str, value: i64) -> Self {
        Self::of(key, Value::Number(value))
    }

    fn of(key: &str, value: Value) -> Self {
        Self {
            key: key.into(),
            value: Some(AnyValue { value: Some(value) }),
        }
    }
}

#[derive(Clone, PartialEq, Message)]
struct AnyValue {
    #[prost(oneof = "Value", tags = "1, 3")]
    value: Option<Value>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Value {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(int64, tag = "3")]
    Number(i64),
}

/// Spans of requests.
pub(super) const SERVER: i32 = 2;
/// A span that failed.
pub(super) const ERROR: i32 = 2;
