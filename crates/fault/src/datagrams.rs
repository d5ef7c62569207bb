//! Datagrams: in at the port of the receiver, out at the port of the sender, when they are due.
//!
//! Not here: loss and delay, which the links decide.

use std::sync::Arc;

use tokio::net::UdpSocket;
use tokio::time::{Instant, sleep_until};

use crate::mesh::MeshShared;
use crate::queue::Parcel;

/// The largest datagram there is.
const DATAGRAM_MAX: usize = 65_535;

/// Receives for a node.
pub(crate) async fn receive(shared: Arc<MeshShared>, to: u16, socket: Arc<UdpSocket>) {
    let mut buffer = vec![0; DATAGRAM_MAX];
    loop {
        // An error here reports an earlier datagram whose receiver is gone.
        let Ok((length, source)) = socket.recv_from(&mut buffer).await else {
            continue;
        };
        let Some(bytes) = buffer.get(..length) else {
            continue;
        };
        let from = shared.sender(source);
        let fate = {
            let mut links = shared.links();
            links.counts.strangers += u64::from(from.is_none());
            links.fate(from, to)
        };
        for after in [fate.first, fate.copy].into_iter().flatten() {
            let parcel = Parcel {
                from,
                to,
                bytes: bytes.to_vec(),
            };
            if after.is_zero() {
                pass_on(&shared, &parcel);
            } else if shared.queue().add(Instant::now() + after, parcel) {
                shared.queued.notify_one();
            } else {
                shared.links().counts.dropped += 1;
            }
        }
    }
}

/// Forwards due datagrams, for ever.
pub(crate) async fn deliver(shared: Arc<MeshShared>) {
    loop {
        let next_due = shared.queue().next_due();
        let Some(due) = next_due else {
            shared.queued.notified().await;
            continue;
        };
        tokio::select! {
            () = sleep_until(due) => {}
            () = shared.queued.notified() => continue,
        }
        let now = Instant::now();
        loop {
            let Some(parcel) = shared.queue().take(now) else {
                break;
            };
            pass_on(&shared, &parcel);
        }
    }
}

fn pass_on(shared: &MeshShared, parcel: &Parcel) {
    let through = shared.socket(parcel.from.unwrap_or(parcel.to));
    let real = shared.real(parcel.to);
    // Counted under one lock with the sending, so that a received datagram is always counted.
    let mut links = shared.links();
    // A full socket loses datagrams, as any network would.
    let is_sent = through
        .zip(real)
        .is_some_and(|(socket, real)| socket.try_send_to(&parcel.bytes, real).is_ok());
    if is_sent {
        links.counts.datagrams += 1;
        links.counts.datagram_bytes += parcel.bytes.len() as u64;
    } else {
        links.counts.dropped += 1;
    }
}
