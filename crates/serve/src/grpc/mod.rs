//! The gRPC services, as one tower-like function for the HTTP door's HTTP/2 connections.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;

use crate::shared::{Peer, Shared};

/// The body of any answer.
pub type Body = UnsyncBoxBody<Bytes, std::convert::Infallible>;

/// Whether a request is for a gRPC service.
pub fn is_for<B>(request: &Request<B>) -> bool {
    let kind = request.headers().get(http::header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
}

/// Answers one call.
pub async fn answer<B>(request: Request<B>, peer: Peer, shared: Arc<Shared>) -> Response<Body>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
{
    drop((request, peer, shared));
    Response::new(Body::default())
}
