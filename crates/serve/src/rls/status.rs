//! The status of a descriptor for Envoy, and for its client: header fields, and a body if the request is refused.
//!
//! It describes the policy that refused or, if none did, the one with the least left. A policy's period need not be one
//! of Envoy's units. Then its limit is sent with the unit unknown: Envoy leaves the window out of its header fields and
//! writes the rest.

use tollgate_contract::envoy::EnvoyRule;
use tollgate_contract::{Dialect, NamedPolicy};
use tollgate_http::LimitReport;
use tollgate_limit::{Algorithm, Instant, KeyStatus, Period, Span};
use tollgate_node::{Answer, Receipt};
use tollgate_wire::envoy::HeaderValue;
use tollgate_wire::google::Duration;
use tollgate_wire::problem;
use tollgate_wire::rls::{Code, DescriptorStatus, RateLimit, RateLimitResponse, Unit};

use super::judge::Judged;
use crate::engine::Turn;

/// The status of a descriptor judged by contracts.
pub(super) fn of(
    turn: &Turn<'_>,
    answer: &Answer,
    rule: Option<EnvoyRule<'_>>,
    passes: bool,
) -> DescriptorStatus {
    let code = if passes { Code::Ok } else { Code::OverLimit };
    let Some((policy, remaining, reset_after)) = judge(turn, answer) else {
        return DescriptorStatus {
            code: code.into(),
            ..DescriptorStatus::default()
        };
    };
    let name = match rule {
        Some(rule) => rule.name().unwrap_or_default(),
        None => &policy.name,
    };
    let config = policy.policy.config();
    let current_limit = RateLimit {
        requests_per_unit: count(config.limit),
        unit: unit(&config.period).into(),
        name: name.to_owned(),
    };
    let aligned = config.algorithm == Algorithm::FixedWindow && config.offset_ns == 0;
    let reset = match &config.period {
        // Also if nothing was counted yet: the window ends when it ends.
        period @ Period::Fixed(_) if aligned => until_window_ends(period, turn.now()),
        _ => whole_seconds(reset_after),
    };
    DescriptorStatus {
        code: code.into(),
        current_limit: Some(current_limit),
        limit_remaining: if passes { count(remaining) } else { 0 },
        duration_until_reset: Some(reset),
        quota: None,
    }
}

/// The policy to describe, what it has left, and when it is full again.
fn judge<'t>(turn: &'t Turn<'_>, answer: &'t Answer) -> Option<(&'t NamedPolicy, u64, Span)> {
    let node = turn.node().giver(answer)?;
    let contracts = node.contracts();
    if let Receipt::One(booking) = &answer.receipt
        && let [policy] = &*contracts.get(booking.contract)?.policies
    {
        return Some((policy, answer.remaining, answer.reset_after));
    }
    let refuser = turn.refuser(answer).map(|(_, policy)| policy);
    let is_refuser = |policy| refuser.is_some_and(|refuser| std::ptr::eq(refuser, policy));
    let mut told: Option<((bool, bool, u64), &NamedPolicy, KeyStatus)> = None;
    for booking in answer.receipt.bookings() {
        let policies = &contracts.get(booking.contract)?.policies;
        let Some(statuses) = node.standing(booking, turn.now()) else {
            // The contracts changed meanwhile; the answer itself names the policy that matters.
            let (_, policy) = turn.named(answer)?;
            return Some((policy, answer.remaining, answer.reset_after));
        };
        for (policy, status) in policies.iter().zip(statuses) {
            let is_enforced = policy.policy.config().enforce_percent > 0;
            let rank = (!is_refuser(policy), !is_enforced, status.remaining);
            if told.is_none_or(|(least, ..)| rank < least) {
                told = Some((rank, policy, status));
            }
        }
    }
    told.map(|(_, policy, status)| (policy, status.remaining, status.reset_after))
}

/// Seconds of a unit, with months and years as the reference server has them.
pub(super) const fn seconds(unit: Unit) -> Option<u64> {
    Some(match unit {
        Unit::Unknown => return None,
        Unit::Second => 1,
        Unit::Minute => 60,
        Unit::Hour => 3_600,
        Unit::Day => 86_400,
        Unit::Week => 7 * 86_400,
        Unit::Month => 30 * 86_400,
        Unit::Year => 365 * 86_400,
    })
}

/// Key prefix for limits from requests: each unit is counted separately.
pub(super) const fn space(unit: Unit) -> &'static str {
    match unit {
        Unit::Unknown => "rls",
        Unit::Second => "rls second",
        Unit::Minute => "rls minute",
        Unit::Hour => "rls hour",
        Unit::Day => "rls day",
        Unit::Week => "rls week",
        Unit::Month => "rls month",
        Unit::Year => "rls year",
    }
}

/// The unit equal to a period; calendar units map to their own, regardless of length.
fn unit(period: &Period) -> Unit {
    let nanos = period.nanos();
    let is = |unit: &Unit| seconds(*unit).is_some_and(|secs| secs * 1_000_000_000 == nanos);
    UNITS.into_iter().find(is).unwrap_or(Unit::Unknown)
}

/// Whole seconds until the window (aligned to the epoch) that contains `now` ends.
pub(super) fn until_window_ends(period: &Period, now: Instant) -> Duration {
    let period = period.nanos().max(1);
    whole_seconds(Span::from_nanos(u128::from(
        period - now.as_nanos() % period,
    )))
}

/// Rounded up: Envoy drops fractions, and a client should not retry too early.
fn whole_seconds(span: Span) -> Duration {
    Duration {
        seconds: i64::try_from(span.as_secs_ceil()).unwrap_or(i64::MAX),
        nanos: 0,
    }
}

/// Saturates at what the messages can hold.
pub(super) fn count(tokens: u64) -> u32 {
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

const UNITS: [Unit; 7] = [
    Unit::Second,
    Unit::Minute,
    Unit::Hour,
    Unit::Day,
    Unit::Week,
    Unit::Month,
    Unit::Year,
];

/// Adds the fields of the most restrictive descriptor, and the body of a refusal.
pub(super) fn put_fields(
    turn: &Turn<'_>,
    judged: &[Judged],
    dialect: Dialect,
    response: &mut RateLimitResponse,
) {
    wait(judged, response);
    let bound = judged
        .iter()
        .filter(|judged| judged.status.current_limit.is_some());
    let told = bound.min_by_key(|judged| {
        let refused = judged.is_over() && !judged.is_quota;
        (!refused, judged.status.limit_remaining)
    });
    let Some((judged, answer)) = told.and_then(|judged| Some((judged, judged.answer.as_ref()?)))
    else {
        return;
    };
    let report = match &judged.own {
        Some(policy) => LimitReport::described(OWN, policy, answer, turn.now()),
        None => turn.report(answer),
    };
    let headers = &mut response.response_headers_to_add;
    report.each_field(dialect, |name, value| headers.push(header(name, value)));
    // Without fields there is no body either, as its content type is a field.
    let is_over = response.overall_code == i32::from(Code::OverLimit);
    if is_over
        && !headers.is_empty()
        && dialect != Dialect::None
        && let Some(body) = report.problem()
    {
        headers.push(header("content-type", problem::CONTENT_TYPE.as_bytes()));
        response.raw_body = body.into();
    }
}

/// Envoy cannot hold a request back, so the service behind it is told for how long to.
fn wait(judged: &[Judged], response: &mut RateLimitResponse) {
    let answers = judged.iter().filter_map(|judged| judged.answer.as_ref());
    let wait = answers.map(|answer| answer.verdict.wait().as_nanos()).max();
    if let Some(wait @ 1..) = wait {
        let millis = wait.div_ceil(1_000_000).to_string();
        let headers = &mut response.request_headers_to_add;
        headers.push(header("x-tollgate-wait-ms", millis.as_bytes()));
    }
}

/// The policy name of a limit from the request.
const OWN: &str = "rate_limit";

fn header(name: &str, value: &[u8]) -> HeaderValue {
    let text = std::str::from_utf8(value);
    HeaderValue {
        key: name.to_owned(),
        value: text.unwrap_or_default().to_owned(),
        raw_value: if text.is_err() {
            value.to_vec()
        } else {
            Vec::new()
        },
    }
}

#[cfg(test)]
mod tests {
    use tollgate_limit::Calendar;

    use super::*;

    #[test]
    fn periods_are_units_or_unknown() {
        assert_eq!(unit(&Period::SECOND), Unit::Second);
        assert_eq!(unit(&Period::HOUR), Unit::Hour);
        assert_eq!(unit(&Period::Calendar(Calendar::MONTH)), Unit::Month);
        assert_eq!(unit(&Period::from_nanos(10_000_000_000)), Unit::Unknown);
    }

    #[test]
    fn a_reset_is_told_in_whole_seconds_and_never_too_early() {
        let at = |nanos| until_window_ends(&Period::MINUTE, Instant::from_nanos(nanos)).seconds;
        assert_eq!(at(0), 60);
        assert_eq!(at(1), 60);
        assert_eq!(at(1_000_000_000), 59);
        assert_eq!(at(59_999_999_999), 1);
    }
}
