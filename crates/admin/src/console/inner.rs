//! Internal calls of the API: pages read and change by the routes that programs use, with their roles and their
//! audit.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, IF_MATCH, IF_NONE_MATCH};
use http::{Method, Request};
use serde_json::Value;
use tollgate_serve::shared::Shared;

use crate::access::{Caller, ClientOrigin};
use crate::admin::Office;
use crate::fault::Fault;
use crate::route::{self, Authenticated};

pub(super) struct SignedIn {
    pub(super) office: Arc<Office>,
    pub(super) shared: Arc<Shared>,
    pub(super) caller: Caller,
    pub(super) client: ClientOrigin,
}

pub(super) struct Body<'a> {
    /// The version last read; 0 if there was none. `None` for no precondition.
    pub(super) seen: Option<u64>,
    pub(super) kind: &'static str,
    pub(super) text: &'a str,
}

impl<'a> Body<'a> {
    /// JSON without a precondition.
    pub(super) const fn json(text: &'a str) -> Self {
        Self {
            seen: None,
            kind: "application/json",
            text,
        }
    }
}

impl SignedIn {
    pub(super) async fn get(&self, path: &str) -> Result<Value, Fault> {
        self.ask(Method::GET, path, &Body::json("")).await
    }

    pub(super) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: &Body<'_>,
    ) -> Result<Value, Fault> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(CONTENT_TYPE, body.kind);
        request = match body.seen {
            None => request,
            Some(0) => request.header(IF_NONE_MATCH, "*"),
            Some(version) => request.header(IF_MATCH, format!("\"{version}\"")),
        };
        let request = request.body(Bytes::copy_from_slice(body.text.as_bytes()));
        let request = request.map_err(|_| Fault::malformed("no such thing can be asked for"))?;
        let known = Authenticated {
            office: Arc::clone(&self.office),
            shared: Arc::clone(&self.shared),
            caller: self.caller.clone(),
            client: self.client,
        };
        let path = request.uri().path().to_owned();
        let answer = route::known(known, request, &path).await?;
        Ok(serde_json::from_slice(answer.sent().body()).unwrap_or_default())
    }
}

/// Percent-encodes.
pub(super) fn encoded(text: &str) -> String {
    use std::fmt::Write;
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-_~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}
