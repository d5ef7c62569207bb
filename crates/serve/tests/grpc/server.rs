//! A server on a port of its own, and connections to it.

use std::net::SocketAddr;
use std::sync::Arc;

use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpStream};
use tollgate_contract::Contracts;
use tollgate_serve::engine::{Engine, Secrets};
use tollgate_serve::grpc;
use tollgate_serve::settings::Settings;
use tollgate_serve::shared::{Peer, Shared};
use tonic::transport::{Channel, Endpoint};

/// A server that answers gRPC until the test ends.
pub struct Server {
    /// Where it listens.
    pub at: SocketAddr,
}

impl Server {
    /// A server that decides by these contracts, or rules.
    pub async fn start(contracts: &str) -> Self {
        Self::with(contracts, Settings::default()).await
    }

    /// The same, set up otherwise.
    pub async fn with(contracts: &str, settings: Settings) -> Self {
        let contracts = Contracts::parse_any(contracts).expect("contracts");
        let secrets = Secrets::draw().expect("secrets");
        let engine = Engine::new(contracts, settings.node, &secrets);
        let shared = Arc::new(Shared::new(engine, settings));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let at = listener.local_addr().expect("an address");
        tokio::spawn(async move {
            while let Ok((stream, address)) = listener.accept().await {
                tokio::spawn(serve(stream, address, Arc::clone(&shared)));
            }
        });
        Self { at }
    }

    /// A connection for generated clients.
    pub async fn channel(&self) -> Channel {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.at)).expect("an endpoint");
        endpoint.connect().await.expect("a connection")
    }
}

async fn serve(stream: TcpStream, address: SocketAddr, shared: Arc<Shared>) {
    let peer = Peer {
        address: Some(address),
        certified: false,
        connection: 1,
    };
    let service = service_fn(move |request: http::Request<hyper::body::Incoming>| {
        let shared = Arc::clone(&shared);
        async move {
            assert!(grpc::is_for(&request), "{:?}", request.headers());
            Ok::<_, std::convert::Infallible>(grpc::answer(request, peer, shared).await)
        }
    });
    let http2 = http2::Builder::new(TokioExecutor::new());
    // Tests break connections on purpose.
    let _ = http2.serve_connection(TokioIo::new(stream), service).await;
}
