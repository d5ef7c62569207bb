//! The paths of a server from the bytes of a message to those of its answer: parse, decide, render.
//!
//! Not here: what comes before and after in `tollgate-serve`, which is heads of HTTP, frames of gRPC, sockets and
//! counters.

use std::borrow::Cow;
use std::hint::black_box;

use anyhow::Result;
use prost::Message;
use tollgate_client::{Answer, Key, Limiter};
use tollgate_wire::resp::{
    CheckKey, CheckReply, Command, CommandLimits, ParseStep, Parser, Version, Writer,
};
use tollgate_wire::rls::{
    Code, DescriptorStatus, Entry, RateLimitDescriptor, RateLimitRequest, RateLimitResponse,
};
use tollgate_wire::v1::{self, JsonCheckRequest, JsonCheckResponse, WireKey};

use crate::Work;
use crate::library::USERS;

/// `TOLLGATE.CHECK KEY plan free user ada`.
pub(crate) fn resp() -> Result<Work> {
    let limiter = Limiter::from_text(USERS)?;
    let mut parser = Parser::new(CommandLimits::STANDARD);
    let mut out = Vec::new();
    Ok(Box::new(move |count| {
        let mut passed = 0;
        for _ in 0..count {
            out.clear();
            passed += u64::from(resp_once(&limiter, &mut parser, black_box(RESP), &mut out));
            black_box(&out);
        }
        passed
    }))
}

fn resp_once(limiter: &Limiter, parser: &mut Parser, input: &[u8], out: &mut Vec<u8>) -> bool {
    let Ok(ParseStep::Command { request, .. }) = parser.parse(input) else {
        return false;
    };
    let Ok(Command::Check(command)) = Command::decode(request) else {
        return false;
    };
    let CheckKey::Pairs(_) = command.key else {
        return false;
    };
    let mut entries = [("", ""); 2];
    for (entry, (name, value)) in entries.iter_mut().zip(command.key.pairs()) {
        let (Ok(name), Ok(value)) = (str::from_utf8(name), str::from_utf8(value)) else {
            return false;
        };
        *entry = (name, value);
    }
    let answer = limiter.check(Key::Entries(&entries), command.cost);
    let reply = CheckReply {
        allowed: answer.is_allowed(),
        matched: !answer.is_unmatched(),
        policy: Some("rate"),
        limit: answer.limit,
        capacity: answer.limit,
        remaining: answer.remaining,
        debt: answer.debt,
        retry_after_ms: None,
        reset_after_ms: reset_after_ms(&answer),
        wait_ms: 0,
        receipt: None,
        part: false,
        violated: &[],
    };
    reply.write(&mut Writer::new(out, Version::Resp3));
    reply.allowed
}

/// `POST /v1/check`, without its head.
pub(crate) fn http() -> Result<Work> {
    let limiter = Limiter::from_text(USERS)?;
    let mut out = Vec::new();
    Ok(Box::new(move |count| {
        let mut passed = 0;
        for _ in 0..count {
            out.clear();
            passed += u64::from(http_once(&limiter, black_box(HTTP), &mut out));
            black_box(&out);
        }
        passed
    }))
}

fn http_once(limiter: &Limiter, body: &[u8], out: &mut Vec<u8>) -> bool {
    let Ok(JsonCheckRequest { key, cost, .. }) = v1::decode(body) else {
        return false;
    };
    let WireKey::Entries(pairs) = &key else {
        return false;
    };
    let entries: Vec<(&str, &str)> = pairs.iter().map(|(n, v)| (&**n, &**v)).collect();
    let answer = limiter.check(Key::Entries(&entries), cost);
    let response = JsonCheckResponse {
        allowed: answer.is_allowed(),
        matched: !answer.is_unmatched(),
        policy: Some(Cow::Borrowed("rate")),
        limit: answer.limit,
        capacity: answer.limit,
        remaining: answer.remaining,
        part: false,
        debt: answer.debt,
        retry_after_ms: None,
        reset_after_ms: reset_after_ms(&answer),
        wait_ms: 0,
        receipt: None,
    };
    v1::encode(&response, out).is_ok() && response.allowed
}

/// Envoy's `ShouldRateLimit`, without its frames.
pub(crate) fn rls() -> Result<Work> {
    let limiter = Limiter::from_text(USERS)?;
    let entry = |(key, value): (&str, &str)| Entry {
        key: key.into(),
        value: value.into(),
    };
    let request = RateLimitRequest {
        descriptors: vec![RateLimitDescriptor {
            entries: [("plan", "free"), ("user", "ada")].map(entry).into(),
            ..RateLimitDescriptor::default()
        }],
        ..RateLimitRequest::default()
    };
    let input = request.encode_to_vec();
    let mut out = Vec::new();
    Ok(Box::new(move |count| {
        let mut passed = 0;
        for _ in 0..count {
            out.clear();
            passed += u64::from(rls_once(&limiter, black_box(&input), &mut out));
            black_box(&out);
        }
        passed
    }))
}

fn rls_once(limiter: &Limiter, input: &[u8], out: &mut Vec<u8>) -> bool {
    let Ok(request) = RateLimitRequest::decode(input) else {
        return false;
    };
    let mut allowed = true;
    let statuses = request.descriptors.iter().map(|descriptor| {
        let entries = descriptor.entries.iter();
        let entries: Vec<_> = entries.map(|e| (text(&e.key), text(&e.value))).collect();
        let answer = limiter.check(Key::Entries(&entries), 1);
        allowed &= answer.is_allowed();
        DescriptorStatus {
            code: code(answer.is_allowed()).into(),
            limit_remaining: u32::try_from(answer.remaining).unwrap_or(u32::MAX),
            ..DescriptorStatus::default()
        }
    });
    let statuses = statuses.collect();
    let response = RateLimitResponse {
        overall_code: code(allowed).into(),
        statuses,
        ..RateLimitResponse::default()
    };
    response.encode(out).is_ok() && allowed
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap_or_default()
}

const fn code(allowed: bool) -> Code {
    if allowed { Code::Ok } else { Code::OverLimit }
}

fn reset_after_ms(answer: &Answer) -> u64 {
    u64::try_from(answer.reset_after.as_nanos() / 1_000_000).unwrap_or(u64::MAX)
}

const RESP: &[u8] =
    b"*6\r\n$14\r\nTOLLGATE.CHECK\r\n$3\r\nKEY\r\n$4\r\nplan\r\n$4\r\nfree\r\n$4\r\nuser\r\n$3\r\nada\r\n";
const HTTP: &[u8] = br#"{"key":{"plan":"free","user":"ada"}}"#;
