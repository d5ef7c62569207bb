//! The HTTP door.

mod auth;
mod compat;
mod json;

use std::sync::Arc;

use crate::shared::{Peer, Shared, Stop, Stream};

/// Serves one connection until it ends, or until it has nothing under way when `stop` is given.
pub async fn serve<S: Stream>(stream: S, peer: Peer, shared: Arc<Shared>, stop: Stop) {
    drop((stream, peer, shared, stop));
}
