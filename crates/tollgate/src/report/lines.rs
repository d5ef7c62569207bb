//! One JSON object per request, in order, as programs want them.
//!
//! `{"time", "key", "cost", "allowed", "policy", "remaining", "retry_after_ns", "wait_ns"}`: `policy` names the one
//! that refused, `retry_after_ns` is null unless waiting helps, and `remaining` is null where nothing is counted.

use std::fmt;
use std::io::{self, Write};

use serde::{Serialize, Serializer};

use super::{PolicyLabel, ReplayOutcome, ReplayVerdict};

/// Writes outcomes as JSON lines. Call [`finish`](Self::finish) at the end, or the last ones are lost.
pub(crate) struct JsonLinesWriter<W> {
    out: W,
    buffer: Vec<u8>,
    names: Vec<String>,
}

const BUFFER: usize = 64 * 1024;

#[derive(Serialize)]
struct Line<'a> {
    time: u64,
    #[serde(serialize_with = "written")]
    key: &'a dyn fmt::Display,
    cost: u64,
    allowed: bool,
    policy: Option<&'a str>,
    remaining: Option<u64>,
    retry_after_ns: Option<u128>,
    wait_ns: u128,
}

fn written<S: Serializer>(key: &dyn fmt::Display, out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(key)
}

impl<W: Write> JsonLinesWriter<W> {
    /// `out` needs no buffer of its own.
    pub(crate) fn new(out: W, labels: &[PolicyLabel]) -> Self {
        Self {
            out,
            buffer: Vec::with_capacity(BUFFER + 1024),
            names: labels.iter().map(|label| label.name.clone()).collect(),
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, outcome: &ReplayOutcome<'_>) -> io::Result<()> {
        let (refusal, wait_ns) = match outcome.verdict {
            ReplayVerdict::Denied { retry_after_ns } => (Some(retry_after_ns), 0),
            ReplayVerdict::Delayed { wait_ns } => (None, wait_ns),
            ReplayVerdict::Allowed | ReplayVerdict::Unmatched => (None, 0),
        };
        let policy = outcome.policy.filter(|_| refusal.is_some());
        let line = Line {
            time: outcome.time_ms,
            key: outcome.key,
            cost: outcome.cost,
            allowed: refusal.is_none(),
            policy: policy.and_then(|policy| self.names.get(policy).map(|name| &**name)),
            remaining: outcome.remaining,
            retry_after_ns: refusal.flatten(),
            wait_ns,
        };
        serde_json::to_writer(&mut self.buffer, &line)?;
        self.buffer.push(b'\n');
        if self.buffer.len() >= BUFFER {
            self.flush()
        } else {
            Ok(())
        }
    }

    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn flush(&mut self) -> io::Result<()> {
        let written = self.out.write_all(&self.buffer);
        self.buffer.clear();
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn line(verdict: ReplayVerdict, policy: Option<usize>, remaining: Option<u64>) -> String {
        let labels = [PolicyLabel {
            contract: "c".into(),
            name: "bu\"rst".into(),
        }];
        let mut lines = JsonLinesWriter::new(Vec::new(), &labels);
        let outcome = ReplayOutcome {
            time_ms: 1_700_000_000_000,
            cost: 2,
            verdict,
            policy,
            remaining,
            key: &"user=a\n",
        };
        lines.add(&outcome).unwrap();
        String::from_utf8(lines.finish().unwrap()).unwrap()
    }

    #[test]
    fn each_verdict_has_its_line() {
        let head = r#"{"time":1700000000000,"key":"user=a\n","cost":2,"allowed":"#;
        assert_eq!(
            line(ReplayVerdict::Allowed, None, Some(7)),
            format!(
                "{head}true,\"policy\":null,\"remaining\":7,\"retry_after_ns\":null,\"wait_ns\":0}}\n"
            )
        );
        assert_eq!(
            line(
                ReplayVerdict::Delayed { wait_ns: 1 << 70 },
                Some(0),
                Some(0)
            ),
            format!(
                "{head}true,\"policy\":null,\"remaining\":0,\"retry_after_ns\":null,\"wait_ns\":1180591620717411303424}}\n"
            )
        );
        assert_eq!(
            line(
                ReplayVerdict::Denied {
                    retry_after_ns: Some(5)
                },
                Some(0),
                Some(1)
            ),
            format!(
                "{head}false,\"policy\":\"bu\\\"rst\",\"remaining\":1,\"retry_after_ns\":5,\"wait_ns\":0}}\n"
            )
        );
        assert_eq!(
            line(
                ReplayVerdict::Denied {
                    retry_after_ns: None
                },
                None,
                None
            ),
            format!(
                "{head}false,\"policy\":null,\"remaining\":null,\"retry_after_ns\":null,\"wait_ns\":0}}\n"
            )
        );
    }

    #[test]
    fn many_lines_arrive_whole_and_in_order() {
        let mut lines = JsonLinesWriter::new(Vec::new(), &[]);
        for time_ms in 0..5000 {
            let verdict = ReplayVerdict::Allowed;
            let outcome = ReplayOutcome {
                time_ms,
                cost: 1,
                verdict,
                policy: None,
                remaining: None,
                key: &"k",
            };
            lines.add(&outcome).unwrap();
        }
        let text = String::from_utf8(lines.finish().unwrap()).unwrap();
        for (time_ms, line) in (0u64..).zip(text.lines()) {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(value["time"], time_ms);
        }
        assert_eq!(text.lines().count(), 5000);
    }
}
