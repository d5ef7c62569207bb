//! Responses, with the header fields that every response has.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, ETAG, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use serde::Serialize;
use tollgate_wire::v1;

#[derive(Debug)]
pub(crate) struct Reply(Response<Bytes>);

impl Reply {
    pub(crate) fn text(kind: &'static str, body: impl Into<Bytes>) -> Self {
        let mut response = Response::new(body.into());
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        Self(response)
    }

    /// Writes only numbers that every JSON parser can represent.
    pub(crate) fn json(value: &impl Serialize) -> Self {
        let mut body = Vec::new();
        // Keys of these bodies are strings, so that encoding cannot fail.
        let _ = v1::encode(value, &mut body);
        Self::text(JSON, body)
    }

    pub(crate) fn bare(status: StatusCode) -> Self {
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = status;
        Self(response)
    }

    pub(crate) fn with(mut self, status: StatusCode) -> Self {
        *self.0.status_mut() = status;
        self
    }

    /// Adds a header field. An invalid value is left out.
    pub(crate) fn line(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.0.headers_mut().append(name, value);
        }
        self
    }

    pub(crate) fn lines(self, name: HeaderName, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.line(name, value),
            None => self,
        }
    }

    /// Adds the version as `ETag`.
    pub(crate) fn version(self, version: u64) -> Self {
        self.line(ETAG, &format!("\"{version}\""))
    }

    /// Adds the fields against caching, framing and content sniffing.
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

pub(crate) const JSON: &str = "application/json";
/// Fields of every response that does not set them itself.
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
