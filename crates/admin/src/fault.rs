//! Refusals: one format for all of them.
//!
//! `{"error": {"code": "conflict", "message": "...what to do...", "version": 3}}`; `code` is for programs and `message`
//! for people.

use http::StatusCode;
use http::header::{ALLOW, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};
use serde::Serialize;
use tollgate_catalogue::Refusal;
use tollgate_catalogue_sql::Error;
use tollgate_contract::{ContractErrors, nearest};

use crate::answer::Reply;

#[derive(Clone, Debug)]
pub(crate) struct Fault {
    status: StatusCode,
    lines: Vec<(HeaderName, String)>,
    told: Box<Told>,
}

#[derive(Clone, Debug, Serialize)]
struct Told {
    code: &'static str,
    message: String,
    /// The present version, for a conflict.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
    /// Errors with their places, or objects that prevent the change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    details: Vec<Detail>,
}

#[derive(Clone, Debug, Serialize)]
struct Detail {
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
}

impl Fault {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            lines: Vec::new(),
            told: Box::new(Told {
                code,
                message: message.into(),
                version: None,
                details: Vec::new(),
            }),
        }
    }

    /// The request does not parse.
    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed", message)
    }

    /// Names the most similar known word.
    pub(crate) fn unknown<'a>(
        what: &str,
        name: &str,
        known: impl Iterator<Item = &'a str>,
    ) -> Self {
        let name: String = name.chars().take(SHOWN_MAX).collect();
        let hint = nearest(&name, known)
            .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        Self::malformed(format!("there is no {what} `{name}` here{hint}"))
    }

    /// The request parses but is invalid.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    pub(crate) fn wrong_method(allowed: &str) -> Self {
        let message = format!("this takes {allowed}");
        let fault = Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            message,
        );
        fault.line(ALLOW, allowed)
    }

    pub(crate) fn unauthorized(message: &str) -> Self {
        let fault = Self::new(StatusCode::UNAUTHORIZED, "unauthorized", message);
        fault.line(WWW_AUTHENTICATE, "Bearer realm=\"tollgate-admin\"")
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    /// Too many wrong secrets.
    pub(crate) fn guessing(seconds: u64) -> Self {
        let message = format!(
            "this token is wrong, and too many wrong ones came from this address; try again in {seconds} s, or at once with a right one"
        );
        let fault = Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_attempts", message);
        fault.line(RETRY_AFTER, &seconds.to_string())
    }

    /// Contracts come from a file, or there are none.
    pub(crate) fn read_only(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "read_only", message)
    }

    /// A change of an existing object needs a precondition.
    pub(crate) fn unseen(version: u64) -> Self {
        let message = format!(
            "it is there already, with version {version}: say which version you saw, as `If-Match: \"{version}\"`"
        );
        let status = StatusCode::PRECONDITION_REQUIRED;
        Self::new(status, "precondition_required", message).present(Some(version))
    }

    pub(crate) fn unsupported(accepted: &str) -> Self {
        let message = format!("the body must be one of {accepted}, and `Content-Type` must say so");
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            message,
        )
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
    }

    pub(crate) fn code(&self) -> &'static str {
        self.told.code
    }

    pub(crate) fn message(&self) -> &str {
        &self.told.message
    }

    pub(crate) fn details(&self) -> impl Iterator<Item = &str> {
        self.told.details.iter().map(|detail| &*detail.message)
    }

    pub(crate) const fn status(&self) -> StatusCode {
        self.status
    }

    /// Prefixes the message.
    pub(crate) fn at(mut self, place: &str) -> Self {
        self.told.message.insert_str(0, place);
        self
    }

    fn present(mut self, version: Option<u64>) -> Self {
        self.told.version = version;
        self
    }

    fn line(mut self, name: HeaderName, value: &str) -> Self {
        self.lines.push((name, value.to_owned()));
        self
    }

    fn with(mut self, details: Vec<Detail>) -> Self {
        self.told.details = details;
        self
    }

    pub(crate) fn answer(self) -> Reply {
        #[derive(Serialize)]
        struct Form<'a> {
            error: &'a Told,
        }
        let answer = Reply::json(&Form { error: &self.told }).with(self.status);
        let lines = self.lines.into_iter();
        lines.fold(answer, |answer, (name, value)| answer.line(name, &value))
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.to_string();
        match refusal {
            Refusal::Invalid(errors) => Self::from(&errors),
            Refusal::Wrong(why) => Self::invalid(why),
            Refusal::Breaks { first, .. } => {
                Self::new(StatusCode::CONFLICT, "breaks", message).with(plain(first))
            }
            Refusal::InUse { first, .. } => {
                Self::new(StatusCode::CONFLICT, "in_use", message).with(plain(first))
            }
            Refusal::NotFound(..) => Self::not_found(message),
        }
    }
}

impl From<&ContractErrors> for Fault {
    fn from(errors: &ContractErrors) -> Self {
        let details = errors.errors().iter().map(|error| Detail {
            message: error.what().to_owned(),
            line: Some(error.line()),
            column: Some(error.column()),
        });
        let details: Vec<Detail> = details.collect();
        let first = details.first().map_or("", |detail| &*detail.message);
        let message = match details.len() + errors.unreported() {
            0 | 1 => format!("the document is wrong: {first}"),
            count => format!("the document has {count} mistakes, the first: {first}"),
        };
        Self::invalid(message).with(details)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        let unavailable = |code| Self::new(StatusCode::SERVICE_UNAVAILABLE, code, &*message);
        match error {
            Error::Refused(refusal) => Self::from(refusal),
            Error::Conflict { present } => {
                let fault = Self::new(StatusCode::PRECONDITION_FAILED, "conflict", message);
                fault.present(present)
            }
            Error::Late => unavailable("late"),
            Error::Locked => unavailable("locked"),
            Error::Full => unavailable("full"),
            Error::ReadOnly => unavailable("database_read_only"),
            Error::Away(_) | Error::Forbidden(_) => unavailable("away"),
            Error::Broken(_) => unavailable("broken"),
        }
    }
}

fn plain(messages: Vec<String>) -> Vec<Detail> {
    let detail = |message| Detail {
        message,
        line: None,
        column: None,
    };
    messages.into_iter().map(detail).collect()
}

/// The most letters of input that are repeated in messages.
const SHOWN_MAX: usize = 100;
