//! The HTTP listener: HTTP/1 and HTTP/2 on one port, and gRPC over the latter.
//!
//! HTTP/1 is read by the fast path, which has the only parser of heads; HTTP/2 by `h2`. Requests that are not whole at
//! once, or that another handler than the engine answers, go through `full` either way. A request becomes a
//! `ReceivedRequest`, the table of `route` finds its handler, and the answer is a `Reply`; every handler has the shape
//! `fn(&Turn<'_>, &ReceivedRequest<'_>, &mut Reply)`. Not here: gRPC services (`grpc`), TLS (`listen`).

mod auth;
mod check;
mod collect;
mod compat;
mod explain;
mod full;
mod http2;
mod incoming;
mod json;
mod lean;
mod pages;
mod query;
mod refusal;
mod reply;
mod request;
mod rewind;
mod route;
mod site;
mod supply;
mod tail;
mod timed;
mod writes;

use std::sync::Arc;
use std::time::Duration;

use crate::shared::{Caller, Peer, Shared, Stop, Stream};
use http2::Http2Connection;
use lean::NextProtocol;
use rewind::Rewind;

pub use explain::told as explained;
pub use site::{ListenerSite, Paths};

pub(crate) use reply::Reply;
pub(crate) use request::{HeaderLines, ReceivedRequest};
pub(crate) use route::FALLBACK;

/// Serves one connection until it ends; after `stop`, until it has nothing under way.
pub async fn serve<S: Stream>(
    stream: S,
    peer: Peer,
    site: Arc<ListenerSite>,
    shared: Arc<Shared>,
    stop: Stop,
) {
    // The state that few connections need is boxed, which keeps most tasks small.
    match lean::serve(stream, peer, &site, &shared, stop.clone()).await {
        NextProtocol::Nobody => {}
        NextProtocol::Http2(stream, read) => {
            let line = Http2Connection::new(Caller::new(peer, shared), site);
            Box::pin(http2::serve(Rewind::new(stream, read), line, stop)).await;
        }
    }
}

/// The maximum age of a connection, if limited; spread, so that clients which connected together do not reconnect
/// together.
fn age(shared: &Shared, peer: &Peer) -> Option<Duration> {
    let most = shared.settings.limits.connection_age?;
    // Multiples of the golden ratio spread consecutive numbers far apart.
    let spread = peer.connection.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56;
    let part = u32::try_from(spread).unwrap_or_default();
    Some(most / 10 * 9 + most / 5 * part / 256)
}
