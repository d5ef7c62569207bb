//! An answer on its way out, with the fields that every answer has.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, ETAG, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use serde::Serialize;
use tollgate_wire::v1;

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply(Response<Bytes>);

impl Reply {
    /// An answer with a body.
    pub(crate) fn text(kind: &'static str, body: impl Into<Bytes>) -> Self {
        let mut response = Response::new(body.into());
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        Self(response)
    }

    /// A value in JSON, in numbers that every reader can hold.
    pub(crate) fn json(value: &impl Serialize) -> Self {
        let mut body = Vec::new();
        // Bodies of ours have text for names, so that nothing can fail.
        let _ = v1::encode(value, &mut body);
        Self::text(JSON, body)
    }

    /// An answer without a body.
    pub(crate) fn bare(status: StatusCode) -> Self {
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = status;
        Self(response)
    }

    /// The same with another status.
    pub(crate) fn with(mut self, status: StatusCode) -> Self {
        *self.0.status_mut() = status;
        self
    }

    /// The same with another field. A value that is none is left out.
    pub(crate) fn line(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.0.headers_mut().append(name, value);
        }
        self
    }

    /// The same with another field, where it has a value.
    pub(crate) fn lines(self, name: HeaderName, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.line(name, value),
            None => self,
        }
    }

    /// The same with the version of what it tells.
    pub(crate) fn version(self, version: u64) -> Self {
        self.line(ETAG, &format!("\"{version}\""))
    }

    /// As the server sends it: nobody keeps it, frames it, or takes it for something else.
    pub(crate) fn sent(self) -> Response<Bytes> {
        let mut response = self.0;
        let headers = response.headers_mut();
        for (name, value) in ALWAYS {
            let value = HeaderValue::from_static(value);
            headers
                .entry(HeaderName::from_static(name))
                .or_insert(value);
        }
        response
    }
}

/// The type of JSON.
pub(crate) const JSON: &str = "application/json";
/// Fields of every answer that says nothing else.
const ALWAYS: [(&str, &str); 6] = [
    ("cache-control", "no-store"),
    (
        "content-security-policy",
        "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
    ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "same-origin"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_such_that_every_reader_of_json_holds_them() {
        let answer = Reply::json(&json!({ "used": u64::MAX, "left": [i64::MIN, 7] })).sent();
        let body = r#"{"left":[-9007199254740992,7],"used":9007199254740992}"#;
        assert_eq!(answer.body(), body);
    }
}
