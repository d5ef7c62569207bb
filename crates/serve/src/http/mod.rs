//! The HTTP door: HTTP/1 and HTTP/2 on one port, and gRPC over the latter.
//!
//! A connection begins in the lean loop, which answers simple requests itself and hands everything else to hyper. Either
//! way a request becomes an `Asked`, the table of `route` finds who answers it, and the answer is a `Reply`; every
//! handler has the shape `fn(&Turn<'_>, &Asked<'_>, &mut Reply)`. Not here: gRPC services (`grpc`), TLS (`listen`).

mod asked;
mod auth;
mod body;
mod check;
mod collect;
mod compat;
mod explain;
mod full;
mod json;
mod lean;
mod pages;
mod query;
mod refusal;
mod reply;
mod rewind;
mod route;
mod sent;
mod supply;
mod timed;
mod writes;

use std::sync::Arc;

use crate::shared::{Peer, Shared, Stop, Stream};
use full::Call;
use lean::Next;
use rewind::Rewind;

pub use explain::told as explained;

pub(crate) use asked::{Asked, Lines};
pub(crate) use reply::Reply;
pub(crate) use route::FALLBACK;

/// Serves one connection until it ends, or until it has nothing under way when `stop` is given.
pub async fn serve<S: Stream>(stream: S, peer: Peer, shared: Arc<Shared>, stop: Stop) {
    // What few connections need is boxed, so that the many have small tasks.
    match lean::serve(stream, peer, &shared, stop.clone()).await {
        Next::Nobody => {}
        Next::Http1(stream, read) => {
            let full = full::http1(Rewind::new(stream, read), Call::new(peer, shared), stop);
            Box::pin(full).await;
        }
        Next::Http2(stream, read) => {
            let full = full::http2(Rewind::new(stream, read), Call::new(peer, shared), stop);
            Box::pin(full).await;
        }
    }
}
