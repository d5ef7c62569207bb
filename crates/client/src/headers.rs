//! Rate-limit header fields, in the dialects clients know.
//!
//! Not here: parsing them. `RateLimit` and `RateLimit-Policy` follow the IETF draft (structured fields); the older
//! names have no standard. A period that is not whole seconds cannot be said: its policy is listed without `w`.

use std::fmt::Write as _;

use http::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};

use crate::report::{Line, Refusal, Report};

/// Which header fields tell clients about their quota. `Retry-After` is sent with every refusal in each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// `RateLimit-Policy` and `RateLimit`, one item for each policy.
    ///
    /// `t` is when a policy with nothing left has a token again, and otherwise when all of its quota is back.
    #[default]
    Ietf,
    /// `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset` of the policy with the least left.
    XRateLimit {
        /// What the reset is counted from; clients cannot tell, so it must be the one they expect.
        reset: Reset,
    },
    /// None.
    None,
}

/// The forms of `X-RateLimit-Reset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    /// Seconds left.
    Seconds,
    /// Seconds since the UNIX epoch.
    Epoch,
}

impl Report {
    /// The header fields of a response.
    ///
    /// ```
    /// use tollgate_client::{Dialect, FakeClock, Limiter, Period, PolicyConfig, Report};
    ///
    /// let policy = PolicyConfig::token_bucket(600, Period::MINUTE);
    /// let limiter = Limiter::with_clock([policy], FakeClock::default())?;
    /// let answer = limiter.check("user-42", 1);
    /// let headers = Report::new(&limiter, "user-42", &answer).headers(Dialect::Ietf);
    /// assert!(headers["ratelimit-policy"].to_str()?.ends_with(";q=600;w=60"));
    /// assert!(headers["ratelimit"].to_str()?.ends_with(";r=599;t=1"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn headers(&self, dialect: Dialect) -> HeaderMap {
        let mut headers = HeaderMap::new();
        match dialect {
            Dialect::None => {}
            Dialect::Ietf => {
                insert(
                    &mut headers,
                    RATELIMIT_POLICY,
                    list(&self.lines, write_policy),
                );
                insert(&mut headers, RATELIMIT, list(&self.lines, write_standing));
            }
            Dialect::XRateLimit { reset } => {
                if let Some(line) = self.tightest() {
                    headers.insert(X_RATELIMIT_LIMIT, line.quota.into());
                    headers.insert(X_RATELIMIT_REMAINING, line.remaining.into());
                    headers.insert(X_RATELIMIT_RESET, self.reset(line, reset).into());
                }
            }
        }
        match self.refusal {
            Some(Refusal::Later(after) | Refusal::Full(after)) => {
                headers.insert(RETRY_AFTER, after.into());
            }
            Some(Refusal::Never) | None => {}
        }
        headers
    }

    fn reset(&self, line: &Line, reset: Reset) -> u64 {
        let after = line.more_after.unwrap_or(0);
        match reset {
            Reset::Seconds => after,
            Reset::Epoch => after.saturating_add(self.now.as_nanos().div_ceil(1_000_000_000)),
        }
    }
}

/// Adds our fields to those of a response: lists grow, single values are replaced.
pub(crate) fn merge(ours: &HeaderMap, into: &mut HeaderMap) {
    for (name, value) in ours {
        if name == RATELIMIT || name == RATELIMIT_POLICY {
            into.append(name, value.clone());
        } else {
            into.insert(name, value.clone());
        }
    }
}

/// A text between quotes, as structured fields and JSON both write printable ASCII.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for letter in text.chars() {
        if matches!(letter, '"' | '\\') {
            out.push('\\');
        }
        out.push(letter);
    }
    out.push('"');
    out
}

fn list(lines: &[Line], write: fn(&mut String, &Line)) -> String {
    let mut out = String::new();
    for line in lines {
        if !out.is_empty() {
            out.push_str(", ");
        }
        out.push_str(&quoted(&line.label));
        write(&mut out, line);
    }
    out
}

fn write_policy(out: &mut String, line: &Line) {
    // Writing to a string cannot fail.
    let _ = write!(out, ";q={}", line.quota);
    if let Some(window) = line.window {
        let _ = write!(out, ";w={window}");
    }
}

fn write_standing(out: &mut String, line: &Line) {
    let _ = write!(out, ";r={}", line.remaining);
    if let Some(after) = line.more_after {
        let _ = write!(out, ";t={after}");
    }
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: String) {
    // Labels are printable, so that every list is a header value; an empty one says nothing.
    if let (false, Ok(value)) = (value.is_empty(), HeaderValue::try_from(value)) {
        headers.insert(name, value);
    }
}

const RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATELIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const X_RATELIMIT_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const X_RATELIMIT_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const X_RATELIMIT_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

#[cfg(test)]
mod tests;
