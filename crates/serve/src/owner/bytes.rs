//! Spans as bytes, and back.

use tollgate_kit::{Reader, put_varint};
use tollgate_limit::Span;

/// A span in nanoseconds; the longest there is room for where it is longer.
pub(super) fn put_span(out: &mut Vec<u8>, span: Span) {
    put_varint(out, u64::try_from(span.as_nanos()).unwrap_or(u64::MAX));
}

/// What [`put_span`] wrote.
pub(super) fn span(reader: &mut Reader<'_>) -> Option<Span> {
    Some(Span::from_nanos(reader.number()?.into()))
}
