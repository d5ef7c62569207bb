//! One span: from when it is made until it is dropped.

use std::time::Instant;

use super::otlp::{ERROR, KeyValue, OtlpSpan, SERVER, SpanStatus};
use super::{Parent, Tracer};
use crate::meter::process::wall;

/// It is sent when it is dropped.
pub struct TraceSpan<'t> {
    tracer: &'t Tracer,
    message: OtlpSpan,
    began: Instant,
    is_wanted: bool,
}

impl<'t> TraceSpan<'t> {
    pub(super) fn begin(tracer: &'t Tracer, name: String, parent: Option<Parent>) -> Self {
        let (trace_id, parent_span_id) = if let Some(parent) = parent {
            (parent.trace.to_vec(), parent.span.to_vec())
        } else {
            let halves = [tracer.draw().to_be_bytes(), tracer.draw().to_be_bytes()];
            (halves.concat(), Vec::new())
        };
        let message = OtlpSpan {
            trace_id,
            span_id: tracer.draw().to_be_bytes().to_vec(),
            parent_span_id,
            name,
            kind: SERVER,
            start_time_unix_nano: wall().as_nanos(),
            ..OtlpSpan::default()
        };
        Self {
            tracer,
            message,
            began: Instant::now(),
            // If the caller records nothing, neither does this.
            is_wanted: parent.is_none_or(|parent| parent.is_sampled),
        }
    }

    /// Adds an attribute. Never a secret, nor a client's key.
    pub fn text(&mut self, name: &str, value: impl Into<String>) {
        self.message.attributes.push(KeyValue::text(name, value));
    }

    pub fn number(&mut self, name: &str, value: i64) {
        self.message.attributes.push(KeyValue::number(name, value));
    }

    pub fn failed(&mut self, why: impl Into<String>) {
        self.message.status = Some(SpanStatus {
            message: why.into(),
            code: ERROR,
        });
    }
}

impl Drop for TraceSpan<'_> {
    fn drop(&mut self) {
        if !self.is_wanted {
            return;
        }
        let took = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let mut message = std::mem::take(&mut self.message);
        message.end_time_unix_nano = message.start_time_unix_nano.saturating_add(took);
        self.tracer.put(message);
    }
}
