//! Verdicts in the bodies of replies.
//!
//! Not here: decoding whole messages. A load generator that reads every field measures itself.

use tollgate_kit::Reader;

use super::ReplyOutcome;
use crate::call::Judge;

/// Counts `"allowed":true` and `"allowed":false`.
pub(super) fn json(body: &[u8]) -> ReplyOutcome {
    let (mut allowed, mut denied) = (0, 0);
    for at in memchr::memmem::find_iter(body, ALLOWED) {
        let rest = body
            .get(at + ALLOWED.len()..)
            .unwrap_or_default()
            .trim_ascii_start();
        let rest = rest.strip_prefix(b":").unwrap_or(rest).trim_ascii_start();
        if rest.starts_with(b"true") {
            allowed += 1;
        } else {
            denied += 1;
        }
    }
    counted(allowed, denied)
}

const ALLOWED: &[u8] = b"\"allowed\"";

/// Judges a protobuf message.
pub(super) fn message(judge: Judge, body: &[u8]) -> ReplyOutcome {
    match judge {
        Judge::Rls => rls(body),
        Judge::Gubernator => gubernator(body),
        Judge::Throttle => ReplyOutcome::of(varint_of(body, 1) == Some(1)),
        Judge::Any | Judge::Zero | Judge::NotZero | Judge::Json => ReplyOutcome::ALLOWED,
    }
}

/// Every descriptor has a status; a server that gives none has an overall code.
fn rls(body: &[u8]) -> ReplyOutcome {
    let (mut allowed, mut denied) = (0, 0);
    for (tag, value) in Fields(Reader(body)) {
        if let (2, Value::Bytes(status)) = (tag, value) {
            match varint_of(status, 1) {
                Some(OVER_LIMIT) => denied += 1,
                _ => allowed += 1,
            }
        }
    }
    match (allowed + denied, varint_of(body, 1)) {
        (0, Some(code)) => ReplyOutcome::of(code != OVER_LIMIT),
        _ => counted(allowed, denied),
    }
}

const OVER_LIMIT: u64 = 2;

fn gubernator(body: &[u8]) -> ReplyOutcome {
    let (mut allowed, mut denied) = (0, 0);
    for (tag, value) in Fields(Reader(body)) {
        let (1, Value::Bytes(response)) = (tag, value) else {
            continue;
        };
        let error = Fields(Reader(response)).find(|(tag, _)| *tag == GUBERNATOR_ERROR);
        if let Some((_, Value::Bytes(text))) = error {
            return ReplyOutcome::refused(String::from_utf8_lossy(text));
        }
        if varint_of(response, 1) == Some(1) {
            denied += 1;
        } else {
            allowed += 1;
        }
    }
    counted(allowed, denied)
}

const GUBERNATOR_ERROR: u64 = 5;

fn counted(allowed: u32, denied: u32) -> ReplyOutcome {
    if allowed + denied == 0 {
        return ReplyOutcome::no_verdict();
    }
    ReplyOutcome {
        allowed,
        denied,
        error: None,
    }
}

/// The first field of this number, if it is a varint.
fn varint_of(body: &[u8], number: u64) -> Option<u64> {
    Fields(Reader(body)).find_map(|(tag, value)| match value {
        Value::Varint(varint) if tag == number => Some(varint),
        _ => None,
    })
}

#[derive(Clone, Copy)]
enum Value<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    Fixed,
}

/// The fields of a protobuf message, until its end or the first malformed one.
struct Fields<'a>(Reader<'a>);

impl<'a> Iterator for Fields<'a> {
    type Item = (u64, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let Self(reader) = self;
        let tag = reader.number()?;
        let value = match tag & 7 {
            0 => Value::Varint(reader.number()?),
            1 => reader.take(8).map(|_| Value::Fixed)?,
            2 => Value::Bytes(reader.block()?),
            5 => reader.take(4).map(|_| Value::Fixed)?,
            _ => return None,
        };
        Some((tag >> 3, value))
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;
    use tollgate_wire::gubernator::{GetRateLimitsResp, RateLimitResp};
    use tollgate_wire::rls::{DescriptorStatus, RateLimitResponse};
    use tollgate_wire::throttlecrab::ThrottleResponse;

    use super::*;

    fn of(allowed: u32, denied: u32) -> ReplyOutcome {
        counted(allowed, denied)
    }

    #[test]
    fn json_is_counted_in_lists() {
        assert_eq!(
            json(br#"[{"allowed":true},{"allowed": false},{"allowed":true}]"#),
            of(2, 1)
        );
        assert_eq!(json(b"{}"), ReplyOutcome::no_verdict());
    }

    #[test]
    fn envoy_gives_a_status_or_an_overall_code() {
        let status = |code| DescriptorStatus {
            code,
            limit_remaining: 7,
            ..DescriptorStatus::default()
        };
        let mut response = RateLimitResponse {
            overall_code: 2,
            statuses: vec![status(1), status(2), status(1)],
            ..RateLimitResponse::default()
        };
        assert_eq!(message(Judge::Rls, &response.encode_to_vec()), of(2, 1));
        response.statuses.clear();
        assert_eq!(
            message(Judge::Rls, &response.encode_to_vec()),
            ReplyOutcome::DENIED
        );
        assert_eq!(message(Judge::Rls, &[]), ReplyOutcome::no_verdict());
    }

    #[test]
    fn gubernator_answers_in_order_or_with_an_error() {
        let response = |status, error: &str| RateLimitResp {
            status,
            limit: 10,
            error: error.to_owned(),
            ..RateLimitResp::default()
        };
        let responses = |responses| GetRateLimitsResp { responses }.encode_to_vec();
        let fine = responses(vec![response(0, ""), response(1, "")]);
        assert_eq!(message(Judge::Gubernator, &fine), of(1, 1));
        let bad = responses(vec![response(0, "no name")]);
        assert_eq!(
            message(Judge::Gubernator, &bad),
            ReplyOutcome::refused("no name")
        );
    }

    #[test]
    fn throttlecrab_leaves_a_denial_out() {
        let mut response = ThrottleResponse {
            allowed: true,
            limit: 3,
            ..ThrottleResponse::default()
        };
        assert_eq!(
            message(Judge::Throttle, &response.encode_to_vec()),
            ReplyOutcome::ALLOWED
        );
        response.allowed = false;
        assert_eq!(
            message(Judge::Throttle, &response.encode_to_vec()),
            ReplyOutcome::DENIED
        );
    }
}
