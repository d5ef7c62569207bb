//! `cargo run --release -p tollgate-serve --example tonic_hello -- 127.0.0.1:50051`
//!
//! What gRPC costs before anything is decided: the smallest service that tonic makes, on a runtime of one thread. The
//! bar for calls of ours is set by it.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};

use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::transport::Server;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

#[derive(Clone, PartialEq, prost::Message)]
struct HelloRequest {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct HelloReply {
    #[prost(string, tag = "1")]
    message: String,
}

#[derive(Clone)]
struct Greeter;

impl UnaryService<HelloRequest> for Greeter {
    type Response = HelloReply;
    type Future = Ready<Result<Response<HelloReply>, Status>>;

    fn call(&mut self, request: Request<HelloRequest>) -> Self::Future {
        let message = format!("Hello {}!", request.into_inner().name);
        ready(Ok(Response::new(HelloReply { message })))
    }
}

impl Service<http::Request<Body>> for Greeter {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async {
            let codec = ProstCodec::<HelloReply, HelloRequest>::default();
            Ok(Grpc::new(codec).unary(Greeter, request).await)
        })
    }
}

impl NamedService for Greeter {
    const NAME: &'static str = "helloworld.Greeter";
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let at = std::env::args().nth(1).unwrap_or_default().parse()?;
    let server = Server::builder().tcp_nodelay(true).add_service(Greeter);
    Ok(server.serve(at).await?)
}
