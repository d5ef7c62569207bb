//! The HTTP door.
//!
//! The three files of other servers' paths have functions of one shape, `fn(&Turn<'_>, &Asked<'_>, &mut Reply)`, which the
//! table in `route` names.

mod asked;
mod auth;
mod compat;
mod json;
mod reply;

use std::sync::Arc;

use crate::shared::{Peer, Shared, Stop, Stream};

pub(crate) use asked::{Asked, Lines};
pub(crate) use reply::Reply;

/// Serves one connection until it ends, or until it has nothing under way when `stop` is given.
pub async fn serve<S: Stream>(stream: S, peer: Peer, shared: Arc<Shared>, stop: Stop) {
    drop((stream, peer, shared, stop));
}
