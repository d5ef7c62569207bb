//! Refusals in HTTP: a status, and a body of type `application/problem+json` (RFC 9457).
//!
//! Not here: other body types, which callers build from the answer.

use http::StatusCode;

use crate::report::{LimitReport, PolicyReport, RefusalReason};

impl LimitReport<'_> {
    /// The status of the refusal, if it is one: 429, 503 if the limiter has no room for the key, or 403 if the key is
    /// banned without an end or matched by no contract.
    pub const fn status(&self) -> Option<StatusCode> {
        match self.refusal {
            Some(RefusalReason::Later(_) | RefusalReason::Never) => {
                Some(StatusCode::TOO_MANY_REQUESTS)
            }
            Some(RefusalReason::Full(_)) => Some(StatusCode::SERVICE_UNAVAILABLE),
            Some(RefusalReason::Banned | RefusalReason::Unmatched) => Some(StatusCode::FORBIDDEN),
            None => None,
        }
    }

    /// The body of the refusal, if it is one.
    pub fn problem(&self) -> Option<String> {
        let status = self.status()?;
        let violated = self.lines.iter().filter(|line| line.refused);
        let violated: Vec<String> = violated
            .map(|line| quoted(&line.label.printable()))
            .collect();
        let problem = Problem {
            kind: self.kind(),
            title: self.title(),
            status,
            detail: &self.detail(),
            more: &format!(",\"violated-policies\":[{}]", violated.join(",")),
        };
        Some(problem.to_json())
    }

    const fn kind(&self) -> &'static str {
        match self.refusal {
            Some(RefusalReason::Full(_)) => {
                "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
            }
            Some(RefusalReason::Banned | RefusalReason::Unmatched) => "about:blank",
            Some(RefusalReason::Later(_) | RefusalReason::Never) | None => {
                "https://iana.org/assignments/http-problem-types#quota-exceeded"
            }
        }
    }

    const fn title(&self) -> &'static str {
        match self.refusal {
            Some(RefusalReason::Full(_)) => "Capacity is reduced for the moment",
            Some(RefusalReason::Banned | RefusalReason::Unmatched) => "Forbidden",
            Some(RefusalReason::Later(_) | RefusalReason::Never) | None => "Quota exceeded",
        }
    }

    fn detail(&self) -> String {
        let by = self.tightest().filter(|line| line.refused);
        let by = by.map(describe).unwrap_or_default();
        match self.refusal {
            Some(RefusalReason::Later(after)) => {
                format!("Too little is left{by}. Try again in {after} s.")
            }
            Some(RefusalReason::Full(after)) => {
                format!("There is no room to count another client. Try again in {after} s.")
            }
            Some(RefusalReason::Banned) => "This client is banned, and no end is set.".to_owned(),
            Some(RefusalReason::Unmatched) => {
                "No contract binds this request, and such requests are refused.".to_owned()
            }
            Some(RefusalReason::Never) if self.tightest().is_some_and(|line| line.quota == 0) => {
                format!("Nothing is ever admitted{by}.").replacen(" of ", " by ", 1)
            }
            Some(RefusalReason::Never) => {
                format!("The request costs more than can ever be left{by}.")
            }
            None => String::new(),
        }
    }
}

/// The body for a request without a key.
pub fn no_key() -> String {
    let problem = Problem {
        kind: "about:blank",
        title: "Bad Request",
        status: StatusCode::BAD_REQUEST,
        detail: "The request does not say who it is from, so it cannot be counted.",
        more: "",
    };
    problem.to_json()
}

/// The body for a request that a remote node refuses, for this many seconds if known.
pub fn elsewhere(seconds: Option<u128>) -> String {
    let again = seconds.map(|after| format!(" Try again in {after} s."));
    let problem = Problem {
        kind: "https://iana.org/assignments/http-problem-types#quota-exceeded",
        title: "Quota exceeded",
        status: StatusCode::TOO_MANY_REQUESTS,
        detail: &format!("Too little is left.{}", again.unwrap_or_default()),
        more: "",
    };
    problem.to_json()
}

/// The body for a request whose node cannot be reached.
pub fn away() -> String {
    let problem = Problem {
        kind: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
        title: "Capacity is reduced for the moment",
        status: StatusCode::SERVICE_UNAVAILABLE,
        detail: "Nobody who counts requests answers.",
        more: "",
    };
    problem.to_json()
}

fn describe(line: &PolicyReport<'_>) -> String {
    let name = line.label.printable();
    let rate = line.window();
    let rate = rate.map(|window| format!(" ({} in {window} s)", line.quota));
    let debt = Some(line.debt).filter(|debt| *debt > 0);
    let debt = debt.map(|debt| format!(", which owes {debt}"));
    let (rate, debt) = (rate.unwrap_or_default(), debt.unwrap_or_default());
    format!(" of \"{name}\"{rate}{debt}")
}

struct Problem<'a> {
    kind: &'a str,
    title: &'a str,
    status: StatusCode,
    detail: &'a str,
    /// More members, each after a comma.
    more: &'a str,
}

impl Problem<'_> {
    fn to_json(&self) -> String {
        let Self {
            kind,
            title,
            status,
            detail,
            more,
        } = self;
        let (kind, title, detail) = (quoted(kind), quoted(title), quoted(detail));
        let status = status.as_u16();
        format!(
            "{{\"type\":{kind},\"title\":{title},\"status\":{status},\"detail\":{detail}{more}}}"
        )
    }
}

/// A text of printable ASCII as JSON.
fn quoted(text: &str) -> String {
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
