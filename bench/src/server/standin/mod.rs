//! Small servers that are part of this program: what bounds a server from below, and a peer that has no package.

mod axum;
mod grpc;
mod resp;

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Result;
use clap::ValueEnum;

pub(crate) use grpc::{HELLO_PATH, HelloRequest};

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StandIn {
    /// Answers every RESP command with the same bytes
    Resp,
    /// Answers `GET /` by axum
    Axum,
    /// Answers a gRPC call by tonic, on one thread
    Tonic,
    /// Envoy's rate limit service by tonic and the limitador library
    Limitador,
}

/// Serves until the process is ended.
pub(crate) fn serve(kind: StandIn, port: u16) -> Result<()> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut one = tokio::runtime::Builder::new_current_thread();
    let mut all = tokio::runtime::Builder::new_multi_thread();
    match kind {
        StandIn::Resp => one.enable_all().build()?.block_on(resp::serve(address)),
        StandIn::Axum => all.enable_all().build()?.block_on(axum::serve(address)),
        StandIn::Tonic => one
            .enable_all()
            .build()?
            .block_on(grpc::serve_hello(address)),
        StandIn::Limitador => all
            .enable_all()
            .build()?
            .block_on(grpc::serve_limitador(address)),
    }
}
