//! Errors over HTTP: `application/problem+json`, with the types that the rate limit headers define.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The content type of a [`Problem`].
pub const CONTENT_TYPE: &str = "application/problem+json";

/// The type of a refusal by a policy; its status is 429.
pub const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";

/// The type of a refusal for temporary lack of capacity; its status is 503.
pub const REDUCED_CAPACITY: &str =
    "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";

/// The type of a refusal of a suspicious caller; its status is 429.
pub const ABNORMAL_USAGE: &str =
    "https://iana.org/assignments/http-problem-types#abnormal-usage-detected";

/// The type of a problem fully described by its status.
pub const BLANK: &str = "about:blank";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem<'a> {
    /// A URI.
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    /// Constant for each kind.
    #[serde(borrow)]
    pub title: Cow<'a, str>,
    pub status: u16,
    /// Details of this occurrence.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Cow<'a, str>>,
    /// The names of the policies that refused.
    #[serde(
        rename = "violated-policies",
        borrow,
        default,
        skip_serializing_if = "Vec::is_empty"
    )]
    pub violated_policies: Vec<Cow<'a, str>>,
}

impl<'a> Problem<'a> {
    /// A problem without a type of its own, such as a body that could not be read.
    pub fn blank(status: u16, title: &'a str, detail: impl Into<Cow<'a, str>>) -> Self {
        Self {
            kind: BLANK.into(),
            title: title.into(),
            status,
            detail: Some(detail.into()),
            violated_policies: Vec::new(),
        }
    }

    /// A refusal by policies.
    pub fn quota_exceeded(policies: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            kind: QUOTA_EXCEEDED.into(),
            title: "Quota exceeded".into(),
            status: 429,
            detail: None,
            violated_policies: policies.into_iter().map(Cow::Borrowed).collect(),
        }
    }

    /// A refusal for lack of capacity.
    pub fn reduced_capacity(detail: impl Into<Cow<'a, str>>) -> Self {
        Self {
            kind: REDUCED_CAPACITY.into(),
            title: "Temporarily reduced capacity".into(),
            status: 503,
            detail: Some(detail.into()),
            violated_policies: Vec::new(),
        }
    }
}
