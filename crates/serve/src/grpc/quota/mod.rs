//! Envoy's rate limit quota service: data planes report usage and are assigned buckets to decide by.
//!
//! `tollgate-lease` decides the assignments, from the pools shared with leases and requests of other protocols. Here:
//! the stream with bounded messages and buckets, the key of each bucket, and questions to its owner. Not here: the
//! rules (`docs/rlqs.md`).

mod away;
mod bind;
mod book;
mod say;
mod session;

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use tollgate_wire::rlqs::{RateLimitQuotaResponse, RateLimitQuotaUsageReports};
use tonic::server::{Grpc, StreamingService};
use tonic::{Status, Streaming};
use tonic_prost::ProstCodec;

use super::BoxError;
use crate::shared::Shared;

pub use book::Quotas;
use session::QuotaSession;

pub(super) async fn answer<B>(
    request: Request<B>,
    shared: Arc<Shared>,
) -> Response<tonic::body::Body>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError> + Send + 'static,
{
    if request.uri().path() != METHOD {
        return Status::unimplemented("there is no such method here").into_http();
    }
    let codec = ProstCodec::<RateLimitQuotaResponse, RateLimitQuotaUsageReports>::default();
    let limit = shared.settings.limits.body_bytes_max;
    let mut grpc = Grpc::new(codec).max_decoding_message_size(limit);
    grpc.streaming(Opening(shared), request).await
}

struct Opening(Arc<Shared>);

impl StreamingService<RateLimitQuotaUsageReports> for Opening {
    type Response = RateLimitQuotaResponse;
    type ResponseStream = QuotaSession;
    type Future = std::future::Ready<Result<tonic::Response<QuotaSession>, Status>>;

    fn call(
        &mut self,
        request: tonic::Request<Streaming<RateLimitQuotaUsageReports>>,
    ) -> Self::Future {
        let pass = request.extensions().get().cloned();
        let session = QuotaSession::open(Arc::clone(&self.0), request.into_inner(), pass);
        std::future::ready(session.map(tonic::Response::new))
    }
}

const METHOD: &str =
    "/envoy.service.rate_limit_quota.v3.RateLimitQuotaService/StreamRateLimitQuotas";
