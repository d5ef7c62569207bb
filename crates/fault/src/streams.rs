//! Connections: bytes of each direction arrive delayed and in order, and not at all while either direction is blocked.
//!
//! Faults that TCP repairs are not simulated: loss, duplication and reordering do not affect connections. A partition
//! does not
//! break a connection either; what was written before waits, as with retransmission. Not here: datagrams.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Duration, Instant, sleep, sleep_until};

use crate::links::DatagramSender;
use crate::mesh::MeshShared;
use crate::whose;

/// Connections to one node at once.
const STREAMS_MAX: usize = 1_024;
/// Bytes read at once.
const CHUNK: usize = 16 << 10;
/// Chunks in flight in one direction.
const CHUNKS_MAX: usize = 256;
/// How long to wait before accepting again after a failure.
const BREATH: Duration = Duration::from_millis(20);

/// The nodes at the two ends.
#[derive(Clone, Copy, Debug)]
struct Ends {
    from: DatagramSender,
    to: DatagramSender,
}

impl Ends {
    const fn back(self) -> Self {
        Self {
            from: self.to,
            to: self.from,
        }
    }

    /// Whether either direction is blocked: without the one, nothing is acknowledged on the other.
    fn are_cut(self, shared: &MeshShared) -> bool {
        let links = shared.links();
        let is_cut = |ends: Self| ends.to.is_some_and(|to| links.is_cut(ends.from, to));
        is_cut(self) || is_cut(self.back())
    }

    /// Waits until neither direction is blocked.
    async fn meet(self, shared: &MeshShared) {
        let mut changes = shared.changes.subscribe();
        while self.are_cut(shared) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}

pub(crate) async fn accept(shared: Arc<MeshShared>, to: u16, listener: TcpListener) {
    let room = Arc::new(Semaphore::new(STREAMS_MAX));
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else {
            return;
        };
        let Ok((stream, peer)) = listener.accept().await else {
            sleep(BREATH).await;
            continue;
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            // Either end may close at any time; the other then sees an end too.
            let _ = pass(&shared, to, stream, peer).await;
            drop(permit);
        });
    }
}

async fn pass(
    shared: &Arc<MeshShared>,
    to: u16,
    near: TcpStream,
    peer: SocketAddr,
) -> io::Result<()> {
    let (pids, here) = (shared.pids(), near.local_addr()?);
    let from = tokio::task::spawn_blocking(move || whose::node_of(peer, here, &pids)).await;
    let from = from.unwrap_or_default();
    let ends = Ends { from, to: Some(to) };
    ends.meet(shared).await;
    let real = shared.real(to).ok_or(io::ErrorKind::NotConnected)?;
    let far = TcpStream::connect(real).await?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    {
        let mut links = shared.links();
        links.counts.streams += 1;
        links.counts.strangers += u64::from(from.is_none());
    }
    let (near_read, near_write) = near.into_split();
    let (far_read, far_write) = far.into_split();
    tokio::try_join!(
        one_way(shared, ends, near_read, far_write),
        one_way(shared, ends.back(), far_read, near_write),
    )?;
    Ok(())
}

/// Forwards one direction until its end.
async fn one_way(
    shared: &MeshShared,
    ends: Ends,
    reader: OwnedReadHalf,
    writer: OwnedWriteHalf,
) -> io::Result<()> {
    let (sender, receiver) = mpsc::channel(CHUNKS_MAX);
    tokio::try_join!(
        take(shared, ends, reader, sender),
        give(shared, ends, writer, receiver),
    )?;
    Ok(())
}

/// Bytes and due time; empty bytes mark the end.
type Chunk = (Instant, Vec<u8>);

async fn take(
    shared: &MeshShared,
    ends: Ends,
    mut reader: OwnedReadHalf,
    chunks: mpsc::Sender<Chunk>,
) -> io::Result<()> {
    let mut last_due = Instant::now();
    let mut buffer = vec![0; CHUNK];
    loop {
        let length = reader.read(&mut buffer).await?;
        let takes = shared.links().latency(ends.from, ends.to);
        last_due = last_due.max(Instant::now() + takes);
        let bytes = buffer.get(..length).unwrap_or_default().to_vec();
        if chunks.send((last_due, bytes)).await.is_err() || length == 0 {
            return Ok(());
        }
    }
}

async fn give(
    shared: &MeshShared,
    ends: Ends,
    mut writer: OwnedWriteHalf,
    mut chunks: mpsc::Receiver<Chunk>,
) -> io::Result<()> {
    while let Some((due, bytes)) = chunks.recv().await {
        if due > Instant::now() {
            sleep_until(due).await;
        }
        ends.meet(shared).await;
        if bytes.is_empty() {
            return writer.shutdown().await;
        }
        shared.links().counts.stream_bytes += bytes.len() as u64;
        writer.write_all(&bytes).await?;
    }
    Ok(())
}
