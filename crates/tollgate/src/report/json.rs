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

use serde::Serialize;

use super::{Meaning, RequestCount, Summary, Waits};

/// The summary as one line of JSON, with its line end.
pub(crate) fn report(summary: &Summary) -> Vec<u8> {
    let (first_time, last_time) = summary.span().unzip();
    let total = summary.total();
    let report = Report {
        requests: total.requests,
        cost: total.cost,
        denied: summary.count(Meaning::Denied),
        delayed: summary.count(Meaning::Delayed),
        allowed: summary.count(Meaning::Allowed),
        unmatched: summary.count(Meaning::Unmatched),
        skipped: summary.skipped(),
        first_time,
        last_time,
        wait_ns: WaitsNs::of(summary.waits()),
        retry_after_ns: WaitsNs::of(summary.retries()),
        never: summary.never(),
        policies: policies(summary),
        top_denied: top(summary),
        timeline: timeline(summary),
    };
    // Numbers, texts and lists of them: serializing cannot fail.
    let mut text = serde_json::to_vec(&report).unwrap_or_default();
    text.push(b'\n');
    text
}

const TOP_KEYS: usize = 10;
const COLUMNS: usize = 512;

#[derive(Serialize)]
struct Report<'a> {
    requests: u64,
    cost: u128,
    denied: RequestCount,
    delayed: RequestCount,
    allowed: RequestCount,
    unmatched: RequestCount,
    skipped: u64,
    first_time: Option<u64>,
    last_time: Option<u64>,
    wait_ns: Option<WaitsNs>,
    retry_after_ns: Option<WaitsNs>,
    never: u64,
    policies: Vec<Denials<'a>>,
    top_denied: Vec<Top<'a>>,
    timeline: Timeline,
}

#[derive(Serialize)]
struct WaitsNs {
    count: u64,
    p50: u128,
    p99: u128,
    max: u128,
}

impl WaitsNs {
    fn of(waits: &Waits) -> Option<Self> {
        Some(Self {
            count: waits.count(),
            p50: waits.percentile_ns(50)?,
            p99: waits.percentile_ns(99)?,
            max: waits.max_ns()?,
        })
    }
}

#[derive(Serialize)]
struct Denials<'a> {
    contract: &'a str,
    policy: &'a str,
    denied: u64,
    delayed: u64,
    first_time: Option<u64>,
    last_time: Option<u64>,
}

fn policies(summary: &Summary) -> Vec<Denials<'_>> {
    let policies = summary.policies().map(|(label, count)| {
        let (first_time, last_time) = count.span.unzip();
        Denials {
            contract: &label.contract,
            policy: &label.name,
            denied: count.denied.requests,
            delayed: count.delayed.requests,
            first_time,
            last_time,
        }
    });
    policies.collect()
}

#[derive(Serialize)]
struct Top<'a> {
    key: String,
    denied: u64,
    over_max: u64,
    policy: Option<&'a str>,
}

fn top(summary: &Summary) -> Vec<Top<'_>> {
    let keys = summary.top().list(TOP_KEYS).into_iter();
    let keys = keys.map(|key| Top {
        denied: key.count,
        over_max: key.over_max,
        policy: summary.label(key.policy).map(|label| &*label.name),
        key: key.key,
    });
    keys.collect()
}

#[derive(Serialize)]
struct Timeline {
    start: u64,
    width_ms: u64,
    unmatched: Vec<u64>,
    allowed: Vec<u64>,
    delayed: Vec<u64>,
    denied: Vec<u64>,
}

fn timeline(summary: &Summary) -> Timeline {
    let view = summary.timeline().view(COLUMNS);
    let counts = |meaning: Meaning| {
        let stacks = view.stacks.iter();
        stacks.map(|stack| stack[meaning as usize]).collect()
    };
    Timeline {
        start: view.start_ms,
        width_ms: view.width_ms,
        unmatched: counts(Meaning::Unmatched),
        allowed: counts(Meaning::Allowed),
        delayed: counts(Meaning::Delayed),
        denied: counts(Meaning::Denied),
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
