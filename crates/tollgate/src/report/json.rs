//! The summary as one JSON object.
//!
//! The fields are stable: some may be added, none changes its meaning. Times are unix milliseconds, durations end in
//! `_ns`, and counts are whole numbers of any size.
//!
//! | field | what |
//! |---|---|
//! | `requests`, `cost` | all requests, and the tokens they asked for |
//! | `allowed`, `delayed`, `denied`, `unmatched` | `{"requests", "cost"}` of each kind |
//! | `skipped` | bad records that were skipped |
//! | `first_time`, `last_time` | earliest and latest time, or null |
//! | `wait_ns`, `retry_after_ns` | `{"count", "p50", "p99", "max"}` of delayed and denied requests; null for none |
//! | `never` | denied requests that no waiting helps |
//! | `policies` | `{"contract", "policy", "denied", "delayed", "first_time", "last_time"}` of each policy |
//! | `top_denied` | `{"key", "denied", "over_max", "policy"}`; `denied` is too high by at most `over_max` |
//! | `timeline` | `{"start", "width_ms", "unmatched", "allowed", "delayed", "denied"}`, the last four as arrays |

use super::text::{push_json, push_u64, push_u128};
use super::{Meaning, Summary, Waits};

/// The summary as one line of JSON, with its line end.
pub fn report(summary: &Summary) -> Vec<u8> {
    let mut object = Object::new();
    object
        .number("requests", summary.total().requests)
        .large("cost", summary.total().cost);
    for meaning in Meaning::ALL.into_iter().rev() {
        let count = summary.count(meaning);
        let mut inner = Object::new();
        inner
            .number("requests", count.requests)
            .large("cost", count.cost);
        object.raw(meaning.word(), &inner.end());
    }
    object.number("skipped", summary.skipped());
    span(&mut object, summary.span());
    object.raw("wait_ns", &waits(summary.waits()));
    object.raw("retry_after_ns", &waits(summary.retries()));
    object.number("never", summary.never());
    object.raw("policies", &array(policies(summary)));
    object.raw("top_denied", &array(top(summary)));
    object.raw("timeline", &timeline(summary));
    let mut text = object.end();
    text.push(b'\n');
    text
}

const TOP_KEYS: usize = 10;
const COLUMNS: usize = 512;

fn span(object: &mut Object, span: Option<(u64, u64)>) {
    object.maybe("first_time", span.map(|(first, _)| first));
    object.maybe("last_time", span.map(|(_, last)| last));
}

fn waits(waits: &Waits) -> Vec<u8> {
    let (Some(p50), Some(p99), Some(max)) = (
        waits.percentile_ns(50),
        waits.percentile_ns(99),
        waits.max_ns(),
    ) else {
        return b"null".to_vec();
    };
    let mut object = Object::new();
    object
        .number("count", waits.count())
        .large("p50", p50)
        .large("p99", p99)
        .large("max", max);
    object.end()
}

fn policies(summary: &Summary) -> impl Iterator<Item = Vec<u8>> {
    summary.policies().map(|(label, count)| {
        let mut object = Object::new();
        object
            .text("contract", &label.contract)
            .text("policy", &label.name);
        object
            .number("denied", count.denied.requests)
            .number("delayed", count.delayed.requests);
        span(&mut object, count.span);
        object.end()
    })
}

fn top(summary: &Summary) -> impl Iterator<Item = Vec<u8>> {
    summary.top().list(TOP_KEYS).into_iter().map(|key| {
        let mut object = Object::new();
        object
            .text("key", &key.key)
            .number("denied", key.count)
            .number("over_max", key.over_max);
        match summary.label(key.policy) {
            Some(label) => object.text("policy", &label.name),
            None => object.raw("policy", b"null"),
        };
        object.end()
    })
}

fn timeline(summary: &Summary) -> Vec<u8> {
    let view = summary.timeline().view(COLUMNS);
    let mut object = Object::new();
    object
        .number("start", view.start_ms)
        .number("width_ms", view.width_ms);
    for meaning in Meaning::ALL {
        let counts = view
            .stacks
            .iter()
            .map(|stack| stack[meaning as usize].to_string().into_bytes());
        object.raw(meaning.word(), &array(counts));
    }
    object.end()
}

fn array(items: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let items: Vec<_> = items.collect();
    [b"[".as_slice(), &items.join(&b','), b"]"].concat()
}

/// An object under construction.
struct Object(Vec<u8>);

impl Object {
    fn new() -> Self {
        Self(vec![b'{'])
    }

    fn name(&mut self, name: &str) -> &mut Vec<u8> {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        push_json(&name, &mut self.0);
        self.0.push(b':');
        &mut self.0
    }

    fn number(&mut self, name: &str, value: u64) -> &mut Self {
        push_u64(value, self.name(name));
        self
    }

    fn large(&mut self, name: &str, value: u128) -> &mut Self {
        push_u128(value, self.name(name));
        self
    }

    fn maybe(&mut self, name: &str, value: Option<u64>) -> &mut Self {
        match value {
            Some(value) => self.number(name, value),
            None => self.raw(name, b"null"),
        }
    }

    fn text(&mut self, name: &str, value: &str) -> &mut Self {
        push_json(&value, self.name(name));
        self
    }

    fn raw(&mut self, name: &str, value: &[u8]) -> &mut Self {
        self.name(name).extend_from_slice(value);
        self
    }

    fn end(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::tests::sample;
    use super::*;

    #[test]
    fn the_summary_is_one_object_with_the_documented_fields() {
        let text = report(&sample());
        let value: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(memchr::memchr_iter(b'\n', &text).count(), 1);
        assert_eq!(value["requests"], 10_800);
        assert_eq!(value["denied"]["requests"], 742);
        assert_eq!(value["never"], 22);
        assert_eq!(value["first_time"], 1_700_000_000_000u64);
        assert_eq!(value["wait_ns"]["max"], 3_100_000);
        assert_eq!(value["policies"][0]["denied"], 720);
        assert_eq!(value["policies"][2]["first_time"], Value::Null);
        assert_eq!(value["top_denied"][0]["over_max"], 0);
        let columns = value["timeline"]["denied"].as_array().unwrap();
        assert_eq!(columns.iter().filter_map(Value::as_u64).sum::<u64>(), 742);
    }

    #[test]
    fn an_empty_summary_has_nulls_not_gaps() {
        let value: Value = serde_json::from_slice(&report(&Summary::new(vec![]))).unwrap();
        for field in ["first_time", "last_time", "wait_ns", "retry_after_ns"] {
            assert_eq!(value.get(field), Some(&Value::Null), "{field}");
        }
        assert_eq!(value["timeline"]["allowed"], Value::Array(vec![]));
    }
}
