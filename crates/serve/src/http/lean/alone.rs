//! Answers one request outside a batch: its body or its answer has to be awaited.

use std::mem::MaybeUninit;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};

use super::Lean;
use super::body::Rest;
use super::head::{self, LINES_MAX, ParsedHead, RequestHead};
use crate::http::reply::{self, SendOptions};
use crate::http::{full, reply::CountedBody};
use crate::shared::{Caller, Stream};

impl<S: Stream> Lean<'_, S> {
    /// Answers the request whose head has `length` bytes. Returns whether another may follow.
    pub(super) async fn alone(&mut self, length: usize) -> bool {
        let bytes = self.input.split_to(length).freeze();
        let mut slots = [const { MaybeUninit::uninit() }; LINES_MAX];
        let ParsedHead::Head(head) = head::read(&bytes, &mut slots) else {
            // Cannot happen: it was a head a moment ago.
            return false;
        };
        let mut manner = SendOptions {
            version: head.version,
            is_kept: head.is_kept && !self.is_stopping,
            is_head: head.method == "HEAD",
            is_sealed: self.peer.is_sealed,
            now: self.shared.engine.now(),
        };
        self.said.reply.clear();
        let Some(request) = request(&head) else {
            let why = "The target has bytes it may not have.";
            self.said.reply.refuse(StatusCode::BAD_REQUEST, why);
            manner.is_kept = false;
            self.put(None, manner);
            return self.flush().await.is_ok() && manner.is_kept;
        };
        let caller = Caller::new(self.peer, std::sync::Arc::clone(self.shared));
        let mut rest = Rest::new(&mut self.stream, &mut self.input, &head);
        let answered = {
            let request = request.map(|()| &mut rest);
            full::answer(&caller, self.site, request, &mut self.said.reply).await
        };
        if let Some(watch) = self.said.reply.take_watch() {
            self.follow(*watch, manner).await;
            return false;
        }
        // The rest of a body would be taken as the next request.
        manner.is_kept &= rest.skip();
        manner.now = self.shared.engine.now();
        self.put(answered, manner);
        self.flush().await.is_ok() && manner.is_kept
    }

    /// Queues an answer for the next flush: of the admin API, or else the reply.
    pub(super) fn put(&mut self, answered: Option<Response<Bytes>>, manner: SendOptions) {
        let Some(answered) = answered else {
            if reply::write(&self.said.reply, manner, &mut self.said.output) {
                self.said.tail = self.said.reply.take_body();
            }
            return;
        };
        reply::write_whole(&answered, manner, &mut self.said.output);
        if !manner.is_head {
            self.said.tail = CountedBody::of(answered.into_body());
        }
    }
}

/// Converts a head for handlers outside the fast path.
fn request(head: &RequestHead<'_, '_>) -> Option<Request<()>> {
    let mut request = Request::new(());
    *request.method_mut() = Method::from_bytes(head.method.as_bytes()).ok()?;
    *request.uri_mut() = Uri::try_from(head.target).ok()?;
    *request.headers_mut() = fields(head)?;
    Some(request)
}

fn fields(head: &RequestHead<'_, '_>) -> Option<HeaderMap> {
    let mut fields = HeaderMap::with_capacity(head.lines.len());
    for line in head.lines {
        let name = HeaderName::from_bytes(line.name.as_bytes()).ok()?;
        fields.append(name, HeaderValue::from_bytes(line.value).ok()?);
    }
    Some(fields)
}
