//! The few well-known protobuf types that Envoy's messages are made of.
//!
//! Wrappers such as `UInt64Value` are plain optional fields: prost gives integers and booleans the
//! wrapper's encoding.

use std::time::Duration as Span;

use serde::ser::{Serialize, SerializeMap, Serializer};

pub use crate::generated::google::protobuf::value::Kind;
pub use crate::generated::google::protobuf::{Any, Duration, ListValue, Struct, Timestamp, Value};
pub use crate::generated::google::rpc::Status;

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

impl Serialize for Struct {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.fields.len()))?;
        for (name, value) in &self.fields {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl From<Kind> for Value {
    fn from(kind: Kind) -> Self {
        Self { kind: Some(kind) }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.kind {
            None | Some(Kind::NullValue(_)) => serializer.serialize_unit(),
            Some(Kind::NumberValue(number)) => serializer.serialize_f64(*number),
            Some(Kind::StringValue(text)) => serializer.serialize_str(text),
            Some(Kind::BoolValue(flag)) => serializer.serialize_bool(*flag),
            Some(Kind::StructValue(object)) => object.serialize(serializer),
            Some(Kind::ListValue(list)) => list.values.serialize(serializer),
        }
    }
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
