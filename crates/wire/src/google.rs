//! The few well-known protobuf types that Envoy's messages are made of.
//!
//! Wrappers such as `UInt64Value` are plain optional fields: prost gives integers and booleans the
//! wrapper's encoding.

use std::collections::BTreeMap;
use std::time::Duration as Span;

use serde::ser::{Serialize, SerializeMap, Serializer};

/// `google.protobuf.Duration`.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Duration {
    /// Whole seconds.
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    /// Of the same sign as the seconds.
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        Self {
            seconds: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
            // Less than a billion.
            nanos: i32::try_from(span.subsec_nanos()).unwrap_or(0),
        }
    }
}

/// Proto-JSON writes a duration as seconds with an `s`, and none, three, six or nine decimals.
impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sign = if self.seconds < 0 || self.nanos < 0 {
            "-"
        } else {
            ""
        };
        let (seconds, nanos) = (self.seconds.unsigned_abs(), self.nanos.unsigned_abs());
        let text = match nanos {
            0 => format!("{sign}{seconds}s"),
            nanos if nanos.is_multiple_of(1_000_000) => {
                format!("{sign}{seconds}.{:03}s", nanos / 1_000_000)
            }
            nanos if nanos.is_multiple_of(1_000) => {
                format!("{sign}{seconds}.{:06}s", nanos / 1_000)
            }
            nanos => format!("{sign}{seconds}.{nanos:09}s"),
        };
        serializer.serialize_str(&text)
    }
}

/// `google.protobuf.Timestamp`.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Timestamp {
    /// Seconds since 1970.
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    /// Counted forward, also before 1970.
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Any {
    /// Names the type.
    #[prost(string, tag = "1")]
    pub type_url: String,
    /// The message.
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

/// `google.protobuf.Struct`: a JSON object.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Struct {
    /// Its members.
    #[prost(btree_map = "string, message", tag = "1")]
    pub fields: BTreeMap<String, Value>,
}

impl Serialize for Struct {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.fields.len()))?;
        for (name, value) in &self.fields {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// `google.protobuf.Value`: a JSON value.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Value {
    /// What it is; unset is malformed and shown as null.
    #[prost(oneof = "Kind", tags = "1, 2, 3, 4, 5, 6")]
    pub kind: Option<Kind>,
}

/// The kinds of a [`Value`].
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Kind {
    /// Null, whatever the number.
    #[prost(int32, tag = "1")]
    Null(i32),
    /// A number.
    #[prost(double, tag = "2")]
    Number(f64),
    /// A string.
    #[prost(string, tag = "3")]
    String(String),
    /// True or false.
    #[prost(bool, tag = "4")]
    Bool(bool),
    /// An object.
    #[prost(message, tag = "5")]
    Struct(Struct),
    /// A list.
    #[prost(message, tag = "6")]
    List(ListValue),
}

impl From<Kind> for Value {
    fn from(kind: Kind) -> Self {
        Self { kind: Some(kind) }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.kind {
            None | Some(Kind::Null(_)) => serializer.serialize_unit(),
            Some(Kind::Number(number)) => serializer.serialize_f64(*number),
            Some(Kind::String(text)) => serializer.serialize_str(text),
            Some(Kind::Bool(flag)) => serializer.serialize_bool(*flag),
            Some(Kind::Struct(object)) => object.serialize(serializer),
            Some(Kind::List(list)) => list.values.serialize(serializer),
        }
    }
}

/// `google.protobuf.ListValue`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ListValue {
    /// Its items.
    #[prost(message, repeated, tag = "1")]
    pub values: Vec<Value>,
}

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Status {
    /// A gRPC code; zero is OK.
    #[prost(int32, tag = "1")]
    pub code: i32,
    /// For the developer.
    #[prost(string, tag = "2")]
    pub message: String,
    /// More, for programs.
    #[prost(message, repeated, tag = "3")]
    pub details: Vec<Any>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_as_many_decimals_as_they_need() {
        for (nanos, text) in [
            (0, "\"3s\""),
            (500_000_000, "\"3.500s\""),
            (1_500_000, "\"3.001500s\""),
            (1, "\"3.000000001s\""),
        ] {
            let duration = Duration { seconds: 3, nanos };
            assert_eq!(serde_json::to_string(&duration).unwrap(), text);
        }
        let span = Duration {
            seconds: 0,
            nanos: -1_000_000,
        };
        assert_eq!(serde_json::to_string(&span).unwrap(), "\"-0.001s\"");
    }

    #[test]
    fn the_longest_span_is_cut_to_what_fits() {
        let most = Duration::from(Span::MAX);
        assert_eq!((most.seconds, most.nanos), (i64::MAX, 999_999_999));
    }
}
