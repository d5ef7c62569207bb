//! A bare axum server: the least that HTTP costs with the usual framework.

use std::net::SocketAddr;

use anyhow::Result;
use axum::Router;
use axum::routing::get;
use axum::serve::ListenerExt;

/// Serves on all cores.
pub(crate) async fn serve(address: SocketAddr) -> Result<()> {
    let listener = tokio::net::TcpListener::bind(address).await?;
    let listener = listener.tap_io(|stream| {
        // Without it small replies wait, and nothing would be compared.
        let _ = stream.set_nodelay(true);
    });
    let router = Router::new().route("/", get(|| async { "ok" }));
    axum::serve(listener, router).await?;
    Ok(())
}
