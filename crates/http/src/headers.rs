//! Rate-limit header fields, in the dialects clients know.
//!
//! Not here: parsing them. `RateLimit` and `RateLimit-Policy` follow the IETF draft (structured fields); the older
//! names have no standard. A period that is not whole seconds cannot be written: its policy is listed without `w`.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use tollgate_contract::{Dialect, Reset};

use crate::report::{LimitReport, PolicyReport, RefusalReason};
use crate::value::FieldValue;

impl LimitReport<'_> {
    /// Passes the header fields of a response one by one: names in lower case, values of printable ASCII.
    ///
    /// `dialect` is for contracts that do not name one themselves. Nothing is allocated unless names or many policies
    /// make a value long.
    pub fn each_field(&self, dialect: Dialect, mut put: impl FnMut(&'static str, &[u8])) {
        match self.dialect.unwrap_or(dialect) {
            Dialect::None => {}
            Dialect::Ietf => self.ietf(&mut put),
            Dialect::XRateLimit { reset } => self.triple(&X_RATELIMIT, reset, &mut put),
            Dialect::Envoy => self.envoy(&mut put),
            Dialect::Kong => self.kong(&mut put),
            Dialect::RateLimit => self.triple(&RATELIMIT_TRIPLE, Reset::Seconds, &mut put),
        }
        if !self.is_matched {
            put(MATCHED, b"false");
        }
        match self.refusal {
            Some(RefusalReason::Later(after) | RefusalReason::Full(after)) => {
                put(RETRY_AFTER, itoa::Buffer::new().format(after).as_bytes());
            }
            Some(RefusalReason::Never | RefusalReason::Banned | RefusalReason::Unmatched)
            | None => {}
        }
    }

    /// `dialect` is for contracts that do not name one themselves.
    pub fn headers(&self, dialect: Dialect) -> HeaderMap {
        let mut headers = HeaderMap::new();
        self.each_field(dialect, |name, value| {
            // Labels are printable, so every list is a valid header value.
            if let Ok(value) = HeaderValue::from_bytes(value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        });
        headers
    }

    fn ietf(&self, put: &mut impl FnMut(&'static str, &[u8])) {
        if self.lines.is_empty() {
            return;
        }
        let mut value = FieldValue::new();
        for line in &self.lines {
            separate(&mut value);
            line.label.quote(&mut value);
            parameter(&mut value, b";q=", Some(line.quota));
            parameter(&mut value, b";w=", line.window());
        }
        put(RATELIMIT_POLICY, value.as_bytes());
        value.clear();
        for line in &self.lines {
            separate(&mut value);
            line.label.quote(&mut value);
            parameter(&mut value, b";r=", Some(line.remaining));
            parameter(&mut value, b";t=", line.more_after);
        }
        put(RATELIMIT, value.as_bytes());
    }

    /// Limit, remaining and reset of the policy with the least left.
    fn triple(
        &self,
        [limit, remaining, reset]: &[&'static str; 3],
        form: Reset,
        put: &mut impl FnMut(&'static str, &[u8]),
    ) {
        if let Some(line) = self.tightest() {
            put(limit, itoa::Buffer::new().format(line.quota).as_bytes());
            put(
                remaining,
                itoa::Buffer::new().format(line.remaining).as_bytes(),
            );
            put(
                reset,
                itoa::Buffer::new()
                    .format(self.reset(line, form))
                    .as_bytes(),
            );
        }
    }

    fn envoy(&self, put: &mut impl FnMut(&'static str, &[u8])) {
        let mut value = FieldValue::new();
        if let Some(line) = self.tightest() {
            parameter(&mut value, b"", Some(line.quota));
        }
        for line in &self.lines {
            parameter(&mut value, b", ", Some(line.quota));
            parameter(&mut value, b";w=", line.window());
            value.put(b";name=");
            line.label.quote(&mut value);
        }
        let [limit, ..] = X_RATELIMIT;
        self.triple(&X_RATELIMIT, Reset::Seconds, &mut |name, number| {
            put(
                name,
                if name == limit {
                    value.as_bytes()
                } else {
                    number
                },
            );
        });
    }

    fn kong(&self, put: &mut impl FnMut(&'static str, &[u8])) {
        self.triple(&RATELIMIT_TRIPLE, Reset::Seconds, put);
        for (period, limit, remaining) in KONG {
            let of_period = self
                .lines
                .iter()
                .filter(|line| line.period() == Some(period));
            if let Some(line) = of_period.min_by_key(|line| (!line.refused, line.remaining)) {
                put(limit, itoa::Buffer::new().format(line.limit).as_bytes());
                // A bucket may hold more than a period of its limit.
                let left = line.remaining.min(line.limit);
                put(remaining, itoa::Buffer::new().format(left).as_bytes());
            }
        }
    }

    fn reset(&self, line: &PolicyReport<'_>, form: Reset) -> u64 {
        let after = line.more_after.unwrap_or(0);
        match form {
            Reset::Seconds => after,
            Reset::Epoch => after.saturating_add(self.now.as_nanos().div_ceil(1_000_000_000)),
        }
    }
}

/// Adds our fields to those of a response: lists grow, single values are replaced.
pub fn merge(ours: &HeaderMap, into: &mut HeaderMap) {
    for (name, value) in ours {
        if name == RATELIMIT || name == RATELIMIT_POLICY {
            into.append(name, value.clone());
        } else {
            into.insert(name, value.clone());
        }
    }
}

fn separate(value: &mut FieldValue) {
    if !value.as_bytes().is_empty() {
        value.put(b", ");
    }
}

fn parameter(value: &mut FieldValue, name: &[u8], is: Option<u64>) {
    if let Some(is) = is {
        value.put(name);
        value.number(is);
    }
}

const RETRY_AFTER: &str = "retry-after";
/// Reports that no contract matches the request.
const MATCHED: &str = "tollgate-matched";
const RATELIMIT: &str = "ratelimit";
const RATELIMIT_POLICY: &str = "ratelimit-policy";
const RATELIMIT_TRIPLE: [&str; 3] = ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"];
const X_RATELIMIT: [&str; 3] = [
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
];

const DAY: u64 = 86_400;
/// Windows in seconds that have a name, and the fields named after them.
const KONG: [(u64, &str, &str); 6] = [
    (
        1,
        "x-ratelimit-limit-second",
        "x-ratelimit-remaining-second",
    ),
    (
        60,
        "x-ratelimit-limit-minute",
        "x-ratelimit-remaining-minute",
    ),
    (
        3_600,
        "x-ratelimit-limit-hour",
        "x-ratelimit-remaining-hour",
    ),
    (DAY, "x-ratelimit-limit-day", "x-ratelimit-remaining-day"),
    (
        30 * DAY,
        "x-ratelimit-limit-month",
        "x-ratelimit-remaining-month",
    ),
    (
        365 * DAY,
        "x-ratelimit-limit-year",
        "x-ratelimit-remaining-year",
    ),
];

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
