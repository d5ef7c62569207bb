//! Servers of tonic: a bare hello, and limitador's library as an Envoy rate limit service.
//!
//! Limitador's own server is not on crates.io. The library in tonic leaves out what that server adds (metrics, tracing,
//! its own checks), so it is rather too fast than too slow.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use anyhow::{Result, anyhow};
use limitador::RateLimiter;
use limitador::limit::{Context as Values, Expression};
use tollgate_wire::rls::{Code, DescriptorStatus, RateLimitRequest, RateLimitResponse, SERVICE};
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::transport::Server;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

/// What a hello asks.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct HelloRequest {
    /// Who is greeted.
    #[prost(string, tag = "1")]
    pub(crate) name: String,
}

/// What a hello answers.
#[derive(Clone, PartialEq, Eq, prost::Message)]
struct HelloReply {
    #[prost(string, tag = "1")]
    message: String,
}

pub(crate) const HELLO_PATH: &str = "/hello.Hello/Say";

pub(crate) async fn serve_hello(address: SocketAddr) -> Result<()> {
    let server = Server::builder().tcp_nodelay(true).add_service(Hello);
    server.serve(address).await?;
    Ok(())
}

pub(crate) async fn serve_limitador(address: SocketAddr) -> Result<()> {
    let user = Expression::parse("user").map_err(|error| anyhow!("{error}"))?;
    let limiter = RateLimiter::new(200_000);
    limiter.add_limit(limitador::limit::Limit::new(
        "bench",
        1_000_000_000,
        60,
        [],
        [user],
    ));
    let service = Limitador(Arc::new(limiter));
    let server = Server::builder().tcp_nodelay(true).add_service(service);
    server.serve(address).await?;
    Ok(())
}

type Answered = Pin<Box<dyn Future<Output = Result<http::Response<Body>, Infallible>> + Send>>;

#[derive(Clone)]
struct Hello;

impl NamedService for Hello {
    const NAME: &'static str = "hello.Hello";
}

impl Service<http::Request<Body>> for Hello {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Answered;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Answered {
        Box::pin(async move { Ok(Grpc::new(ProstCodec::default()).unary(Self, request).await) })
    }
}

impl UnaryService<HelloRequest> for Hello {
    type Response = HelloReply;
    type Future = Ready<Result<Response<HelloReply>, Status>>;

    fn call(&mut self, request: Request<HelloRequest>) -> Self::Future {
        let message = format!("Hello {}!", request.into_inner().name);
        ready(Ok(Response::new(HelloReply { message })))
    }
}

#[derive(Clone)]
struct Limitador(Arc<RateLimiter>);

impl NamedService for Limitador {
    const NAME: &'static str = SERVICE;
}

impl Service<http::Request<Body>> for Limitador {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Answered;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Answered {
        let service = self.clone();
        Box::pin(async move {
            Ok(Grpc::new(ProstCodec::default())
                .unary(service, request)
                .await)
        })
    }
}

impl UnaryService<RateLimitRequest> for Limitador {
    type Response = RateLimitResponse;
    type Future = Ready<Result<Response<RateLimitResponse>, Status>>;

    fn call(&mut self, request: Request<RateLimitRequest>) -> Self::Future {
        ready(self.decide(&request.into_inner()).map(Response::new))
    }
}

impl Limitador {
    fn decide(&self, request: &RateLimitRequest) -> Result<RateLimitResponse, Status> {
        let entries = request
            .descriptors
            .iter()
            .flat_map(|descriptor| &descriptor.entries);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let values: HashMap<String, String> = entries
            .map(|entry| (text(&entry.key), text(&entry.value)))
            .collect();
        let domain = request.domain.as_str().into();
        let cost = u64::from(request.hits_addend.max(1));
        let answer = self
            .0
            .check_rate_limited_and_update(&domain, &Values::from(values), cost);
        let limited = answer
            .map_err(|error| Status::unavailable(error.to_string()))?
            .limited;
        let code = if limited { Code::OverLimit } else { Code::Ok } as i32;
        Ok(RateLimitResponse {
            overall_code: code,
            statuses: vec![DescriptorStatus {
                code,
                ..DescriptorStatus::default()
            }],
            ..RateLimitResponse::default()
        })
    }
}
