//! One JSON object per request, in order, as programs want them.
//!
//! `{"time", "key", "cost", "allowed", "policy", "remaining", "retry_after_ns", "wait_ns"}`: `policy` names the one
//! that refused, `retry_after_ns` is null unless waiting helps, and `remaining` is null where nothing is counted.

use std::io::{self, Write};

use super::text::{push_json, push_u64, push_u128};
use super::{Meaning, Outcome, PolicyLabel, Verdict};

/// Writes outcomes as JSON lines. Call [`finish`](Self::finish) at the end, or the last ones are lost.
pub struct Lines<W> {
    out: W,
    buffer: Vec<u8>,
    /// The policies' names as JSON strings.
    names: Vec<Vec<u8>>,
}

const BUFFER: usize = 64 * 1024;

impl<W: Write> Lines<W> {
    /// Writes to `out`, which needs no buffer of its own.
    pub fn new(out: W, labels: &[PolicyLabel]) -> Self {
        let names = labels.iter().map(|label| {
            let mut name = Vec::new();
            push_json(&label.name, &mut name);
            name
        });
        Self {
            out,
            buffer: Vec::with_capacity(BUFFER + 1024),
            names: names.collect(),
        }
    }

    /// Writes one outcome.
    #[inline]
    pub fn add(&mut self, outcome: &Outcome<'_>) -> io::Result<()> {
        let out = &mut self.buffer;
        out.extend_from_slice(b"{\"time\":");
        push_u64(outcome.time_ms, out);
        out.extend_from_slice(b",\"key\":");
        push_json(outcome.key, out);
        out.extend_from_slice(b",\"cost\":");
        push_u64(outcome.cost, out);
        let (retry_after_ns, wait_ns) = match outcome.verdict {
            Verdict::Denied { retry_after_ns } => {
                let name = outcome.policy.and_then(|policy| self.names.get(policy));
                out.extend_from_slice(b",\"allowed\":false,\"policy\":");
                out.extend_from_slice(name.map_or(b"null", Vec::as_slice));
                (retry_after_ns, 0)
            }
            Verdict::Delayed { wait_ns } => (None, wait_ns),
            Verdict::Allowed | Verdict::Unmatched => (None, 0),
        };
        if outcome.verdict.meaning() != Meaning::Denied {
            out.extend_from_slice(b",\"allowed\":true,\"policy\":null");
        }
        out.extend_from_slice(b",\"remaining\":");
        push_or_null(outcome.remaining.map(u128::from), out);
        out.extend_from_slice(b",\"retry_after_ns\":");
        push_or_null(retry_after_ns, out);
        out.extend_from_slice(b",\"wait_ns\":");
        push_u128(wait_ns, out);
        out.extend_from_slice(b"}\n");
        if out.len() >= BUFFER {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Writes what is left.
    pub fn finish(mut self) -> io::Result<W> {
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

fn push_or_null(value: Option<u128>, out: &mut Vec<u8>) {
    match value {
        Some(value) => push_u128(value, out),
        None => out.extend_from_slice(b"null"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn line(verdict: Verdict, policy: Option<usize>, remaining: Option<u64>) -> String {
        let labels = [PolicyLabel {
            contract: "c".into(),
            name: "bu\"rst".into(),
        }];
        let mut lines = Lines::new(Vec::new(), &labels);
        let outcome = Outcome {
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
            line(Verdict::Allowed, None, Some(7)),
            format!(
                "{head}true,\"policy\":null,\"remaining\":7,\"retry_after_ns\":null,\"wait_ns\":0}}\n"
            )
        );
        assert_eq!(
            line(Verdict::Delayed { wait_ns: 1 << 70 }, Some(0), Some(0)),
            format!(
                "{head}true,\"policy\":null,\"remaining\":0,\"retry_after_ns\":null,\"wait_ns\":1180591620717411303424}}\n"
            )
        );
        assert_eq!(
            line(
                Verdict::Denied {
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
                Verdict::Denied {
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
        let mut lines = Lines::new(Vec::new(), &[]);
        for time_ms in 0..5000 {
            let verdict = Verdict::Allowed;
            let outcome = Outcome {
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
