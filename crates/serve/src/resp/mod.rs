//! The RESP listener: Redis, redis-cell and throttlecrab commands, with their replies.
//!
//! A connection reads what is there, answers every whole command of it, and writes once. It waits only for the client.
//! Buffers belong to the thread and not to the connection, so that idle connections cost little. Not here: bytes to
//! commands and replies to bytes (`tollgate_wire::resp`), decisions (`engine`), accepting (`listen`).

mod act;
mod connection;
mod gaps;
mod info;
mod lease;
mod patience;
mod queue;
mod refusal;
mod scratch;
mod session;
mod transaction;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;

use connection::{End, RespConnection};

use crate::meter::{Door, Event};
use crate::shared::{Peer, Shared, Stop, Stream};

/// Serves one connection until it ends; after `stop`, until it has nothing under way.
pub async fn serve<S: Stream>(stream: S, peer: Peer, shared: Arc<Shared>, mut stop: Stop) {
    let mut connection = RespConnection::new(stream, peer, shared);
    let end = {
        let mut stop = pin!(stop.given());
        poll_fn(|cx| connection.poll(cx, stop.as_mut())).await
    };
    match end {
        End::Gone | End::Idle => {}
        End::Greedy => connection.count(Event::Shed(Door::Resp)),
        End::Slow => connection.count(Event::TimedOut(Door::Resp)),
        End::Said => connection.close().await,
    }
}
