//! Calls of gRPC clients.

use prost::Message;
use tollgate_wire::gubernator::{GetRateLimitsReq, RateLimitReq};
use tollgate_wire::rls::{Entry, RateLimitDescriptor, RateLimitRequest};
use tollgate_wire::throttlecrab::ThrottleRequest;
use tollgate_wire::{gubernator, rls, throttlecrab};

use super::{CallError, CallLimit, Judge, Prepared, Protocol};
use crate::key::KeyParts;
use crate::plan::LoadPlan;
use crate::template::Template;

pub(super) type Method = (&'static str, &'static str, Judge);

pub(super) const RLS: Method = (rls::SERVICE, "ShouldRateLimit", Judge::Rls);
pub(super) const GUBERNATOR: Method = (gubernator::SERVICE, "GetRateLimits", Judge::Gubernator);
pub(super) const THROTTLE: Method = (throttlecrab::SERVICE, "Throttle", Judge::Throttle);

/// What a stream may carry before the server's first frame: the initial window.
const BODY_MAX: usize = 65_535;

pub(super) fn prepare(
    plan: &LoadPlan,
    method: Method,
    template: Template,
) -> Result<Prepared, CallError> {
    if template.len() > BODY_MAX {
        return Err(CallError::TooLarge(template.len()));
    }
    let (service, name, judge) = method;
    let mut fields = vec![
        (":path", format!("/{service}/{name}")),
        (":authority", plan.server.host().to_owned()),
        ("content-type", "application/grpc".to_owned()),
        ("te", "trailers".to_owned()),
    ];
    if let Some(token) = &plan.token {
        fields.push(("authorization", format!("Bearer {token}")));
    }
    Ok(Prepared {
        protocol: Protocol::Http2 { fields },
        template,
        judge,
    })
}

pub(super) fn rls(domain: &str, key: &KeyParts, batch: usize) -> Vec<u8> {
    let entry = |key: &str, value: &str| Entry {
        key: key.into(),
        value: value.into(),
    };
    let entries = match key {
        KeyParts::Bare(value) => vec![entry("key", value)],
        KeyParts::Entries(entries) => entries
            .iter()
            .map(|(key, value)| entry(key, value))
            .collect(),
    };
    let descriptor = RateLimitDescriptor {
        entries,
        ..RateLimitDescriptor::default()
    };
    frame(&RateLimitRequest {
        domain: domain.to_owned(),
        descriptors: vec![descriptor; batch.max(1)],
        hits_addend: 1,
    })
}

pub(super) fn gubernator(key: &str, limit: CallLimit, batch: usize) -> Vec<u8> {
    let request = RateLimitReq {
        name: "bench".to_owned(),
        unique_key: key.to_owned(),
        hits: 1,
        limit: i64::from(limit.count),
        burst: i64::from(limit.burst),
        duration: i64::from(limit.period_secs) * 1000,
        ..RateLimitReq::default()
    };
    frame(&GetRateLimitsReq {
        requests: vec![request; batch.max(1)],
    })
}

pub(super) fn throttle(key: &str, limit: CallLimit) -> Vec<u8> {
    let number = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
    frame(&ThrottleRequest {
        key: key.to_owned(),
        max_burst: number(limit.burst),
        count_per_period: number(limit.count),
        period: number(limit.period_secs),
        quantity: 1,
    })
}

/// A message as gRPC frames it: the flag for no compression, its length, itself.
fn frame(message: &impl Message) -> Vec<u8> {
    let body = message.encode_to_vec();
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
    let mut bytes = vec![0];
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(&body);
    bytes
}
