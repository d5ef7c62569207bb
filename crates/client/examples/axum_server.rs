//! `cargo run -p tollgate-client --example axum_server`
//!
//! An axum server that lets every client address ask five times in ten seconds. Stop it with ctrl-c.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::routing::get;
use http::request::Parts;
use tollgate_client::{
    Algorithm, ClientAddress, Limiter, Period, PolicyConfig, RateLimitLayer, by_address,
};

/// The routes, behind a layer that counts by the client's address.
pub(crate) fn router(limiter: Arc<Limiter>, addresses: ClientAddress) -> Router {
    // axum puts the address of the peer here; see `into_make_service_with_connect_info` below.
    let peer = |parts: &Parts| {
        parts
            .extensions
            .get::<ConnectInfo<SocketAddr>>()
            .map(|info| info.0.ip())
    };
    let layer = RateLimitLayer::new(limiter, by_address(addresses, peer));
    Router::new()
        .route("/", get(|| async { "hello\n" }))
        .layer(layer)
}

/// Five in any ten seconds.
pub(crate) const fn policy() -> PolicyConfig {
    PolicyConfig::new(Algorithm::SlidingLog, 5, Period::from_nanos(10_000_000_000))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let limiter = Arc::new(Limiter::new([policy()])?);

    // Behind one proxy of your own, say `trust: Trust::Hops(1)`; by default no header is believed.
    let router = router(limiter, ClientAddress::default());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    println!("try: for i in 1 2 3 4 5 6; do curl -i http://{address}/; done");

    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    let stop = async {
        // Without the signal there is nothing to wait for.
        let _ = tokio::signal::ctrl_c().await;
    };
    axum::serve(listener, service)
        .with_graceful_shutdown(stop)
        .await?;
    Ok(())
}
