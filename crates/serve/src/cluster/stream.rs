//! Streams between nodes: one to every node that has something to be told, opened when needed and kept; and those that
//! others opened.
//!
//! TLS both ways, under keys that only members have. Not here: frames (`wire`), what waits (`outlet`).

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ServerConfig};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tollgate_cluster::{Member, Refused};
use tollgate_gossip::NodeId;

use super::handle::{Hub, NodeQuestion, ReplyHandle};
use super::keys::KeyRing;
use super::learn::ARE_YOU_DONE;
use super::outlet::Outlet;
use super::tls;
use super::wire::{self, Frame, FrameReader, PeerHello, ResponseStatus};

/// How both ends of a stream prove that they are members.
pub(super) struct ClusterTls {
    pub(super) client: Arc<ClientConfig>,
    pub(super) server: Arc<ServerConfig>,
}

impl ClusterTls {
    pub(super) fn of(ring: &KeyRing) -> Result<Self, rustls::Error> {
        Ok(Self {
            client: ring.tls_client()?,
            server: ring.tls_server()?,
        })
    }
}

/// What every stream needs.
pub(super) struct Ends {
    pub(super) me: PeerHello,
    pub(super) tls: ArcSwap<ClusterTls>,
    pub(super) hub: Arc<Hub>,
    /// Where messages go.
    pub(super) arrived: mpsc::Sender<Arrived>,
}

/// What came by stream for the loop.
pub(super) enum Arrived {
    /// A message.
    Message { from: NodeId, bytes: Bytes },
    /// A newcomer's question whether all is told.
    AreYouDone(NodeQuestion),
}

/// What is counted of streams.
#[derive(Default)]
pub(super) struct StreamCounts {
    /// Streams others opened that were no member's, or said nothing that makes sense.
    pub(super) refused: AtomicU64,
    /// Streams that could not be opened.
    pub(super) failed: AtomicU64,
    /// Streams that were opened, either way.
    pub(super) opened: AtomicU64,
    /// Streams that are open, either way.
    pub(super) open: AtomicUsize,
    /// Frames of types that are not known here: of a later version.
    pub(super) unknown: AtomicU64,
}

/// The stream to one node; it ends when this is dropped.
pub(super) struct PeerStream {
    pub(super) outlet: Arc<Outlet>,
    pub(super) to: SocketAddr,
    pub(super) id: u128,
    task: AbortHandle,
}

impl PeerStream {
    /// A stream that is opened when there is something to say.
    pub(super) fn new(ends: Arc<Ends>, to: SocketAddr, id: u128) -> Self {
        let outlet = Arc::new(Outlet::default());
        let task = tokio::spawn(keep(ends, Arc::clone(&outlet), to, id)).abort_handle();
        Self {
            outlet,
            to,
            id,
            task,
        }
    }

    /// A stream for questions of this thread: it is opened at once and kept, until its member is another or has gone,
    /// keys change, or the cluster's thread ends.
    pub(super) fn of_thread(ends: Arc<Ends>, member: &Member, beside: &Outlet) -> Self {
        let (to, id) = (member.address, member.id);
        let outlet = Arc::new(Outlet::beside(beside));
        outlet.set_down(true);
        let of_task = Arc::clone(&outlet);
        let task = tokio::spawn(async move {
            tokio::select! {
                () = keep_open(&ends, &of_task, to, id) => {}
                () = changed(&ends, to, id) => {}
                () = ends.arrived.closed() => {}
            }
            of_task.set_down(true);
            of_task.fail();
        });
        Self {
            outlet,
            to,
            id,
            task: task.abort_handle(),
        }
    }

    /// Whether it is gone for good.
    pub(super) fn is_over(&self) -> bool {
        self.task.is_finished()
    }
}

impl Drop for PeerStream {
    fn drop(&mut self) {
        self.task.abort();
        self.outlet.set_down(true);
        self.outlet.fail();
    }
}

async fn keep(ends: Arc<Ends>, outlet: Arc<Outlet>, to: SocketAddr, id: u128) {
    let mut rest = REST_MIN;
    loop {
        outlet.filled().await;
        match timeout(PATIENCE, connect(&ends, to, id)).await {
            Ok(Ok(halves)) => {
                rest = REST_MIN;
                talk(&ends, &outlet, halves).await;
            }
            failed => {
                let error = failed.map_or_else(
                    |error| error.to_string(),
                    |r| match r {
                        Ok(_) => String::new(),
                        Err(error) => error.to_string(),
                    },
                );
                tracing::debug!(%to, error, "no stream to a node");
                ends.hub.streams.failed.fetch_add(1, Relaxed);
                outlet.set_down(true);
                outlet.fail();
            }
        }
        sleep(rest).await;
        rest = (rest * 2).min(REST_MAX);
        outlet.set_down(false);
    }
}

/// Opens a stream whenever there is none.
async fn keep_open(ends: &Ends, outlet: &Outlet, to: SocketAddr, id: u128) {
    let mut rest = REST_MIN;
    loop {
        if let Ok(Ok(halves)) = timeout(PATIENCE, connect(ends, to, id)).await {
            rest = REST_MIN;
            outlet.set_down(false);
            talk(ends, outlet, halves).await;
            outlet.set_down(true);
        } else {
            ends.hub.streams.failed.fetch_add(1, Relaxed);
        }
        sleep(rest).await;
        rest = (rest * 2).min(REST_MAX);
    }
}

/// Waits until there is no such member there, or keys are others.
async fn changed(ends: &Ends, to: SocketAddr, id: u128) {
    let tls = ends.tls.load_full();
    let mut changes = ends.hub.changes();
    let is_there = || {
        let company = ends.hub.company();
        let mut members = company.members.iter();
        members.any(|member| member.address == to && member.id == id)
            && Arc::ptr_eq(&tls, &ends.tls.load())
    };
    while is_there() && changes.changed().await.is_ok() {}
}

/// Writes and reads for as long as a stream is there.
async fn talk(ends: &Ends, outlet: &Outlet, halves: Halves) {
    let (mut reader, mut writer) = halves;
    let _open = Open::count(&ends.hub.streams);
    tokio::select! {
        _ = outlet.write_to(&mut writer) => {}
        _ = read_answers(&mut reader, outlet, &ends.hub.streams) => {}
    }
    outlet.fail();
}

type Halves = (
    FrameReader<Box<dyn AsyncRead + Send + Unpin>>,
    Box<dyn AsyncWrite + Send + Unpin>,
);

/// Opens a stream to a node, and makes sure that it is the one.
async fn connect(ends: &Ends, to: SocketAddr, id: u128) -> io::Result<Halves> {
    let stream = TcpStream::connect(to).await?;
    tune(&stream)?;
    let name = ServerName::try_from(tls::SERVER_NAME).map_err(io::Error::other)?;
    let connector = TlsConnector::from(Arc::clone(&ends.tls.load().client));
    let stream = connector.connect(name, stream).await?;
    let (reader, mut writer) = tokio::io::split(stream);
    writer.write_all(&wire::hello(ends.me)).await?;
    writer.flush().await?;
    let mut reader = FrameReader::new(Box::new(reader) as Box<dyn AsyncRead + Send + Unpin>);
    match reader.next().await? {
        Some(Frame::Hello(hello)) if hello.id == id => {
            introduced(ends, hello).await?;
            Ok((reader, Box::new(writer)))
        }
        _ => Err(io::Error::other("another node is there")),
    }
}

/// Waits until the other end is known as a member under the boot it says it has: a stream may be faster than the news
/// of it. Whoever never is, is no member, or says that it is somebody else.
async fn introduced(ends: &Ends, peer: PeerHello) -> io::Result<()> {
    let mut changes = ends.hub.changes();
    let known = async {
        while ends.hub.company().of(peer).is_none() {
            changes.changed().await.map_err(io::Error::other)?;
        }
        Ok(())
    };
    if let Ok(known) = timeout(INTRODUCTION, known).await {
        return known;
    }
    let mut cluster = ends.hub.cluster.lock();
    let refused = cluster.greeted(peer.id, peer.boot).err();
    let refused = refused.unwrap_or(Refused::Stranger);
    cluster.refuse(refused);
    Err(io::Error::other(refused.name()))
}

async fn read_answers(
    reader: &mut FrameReader<impl AsyncRead + Unpin>,
    outlet: &Outlet,
    counts: &StreamCounts,
) -> io::Result<()> {
    while let Some(frame) = reader.next().await? {
        match frame {
            Frame::Answer {
                number,
                outcome,
                body,
            } => outlet.answered(number, outcome, body),
            // Whoever opened the stream asks; the rest is of another version.
            Frame::Hello(_) | Frame::Message(_) | Frame::Request { .. } | Frame::Unknown => {
                counts.unknown.fetch_add(1, Relaxed);
            }
        }
    }
    Ok(())
}

/// Takes streams that others open, until it is dropped.
pub(super) async fn accept(listener: TcpListener, ends: Arc<Ends>) {
    let places = Arc::new(Semaphore::new(STREAMS_MAX));
    let mut guests = tokio::task::JoinSet::new();
    loop {
        // Taken first: who finds no place waits in the system's queue.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, from)) => {
                let ends = Arc::clone(&ends);
                guests.spawn(async move {
                    if let Err(error) = receive(stream, &ends).await {
                        tracing::debug!(%from, %error, "a stream ended");
                    }
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot take a stream");
                sleep(REST_MIN).await;
            }
        }
        while guests.try_join_next().is_some() {}
    }
}

async fn receive(stream: TcpStream, ends: &Ends) -> io::Result<()> {
    let welcomed = timeout(PATIENCE, welcome(stream, ends)).await;
    let welcomed = welcomed.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    let (mut reader, mut writer, peer) = welcomed.inspect_err(|_| {
        ends.hub.streams.refused.fetch_add(1, Relaxed);
    })?;
    let _open = Open::count(&ends.hub.streams);
    let outlet = Arc::new(Outlet::default());
    tokio::select! {
        written = outlet.write_to(&mut writer) => written,
        read = read_questions(&mut reader, ends, peer, &outlet) => read,
    }
}

/// Shakes hands with a member.
async fn welcome(
    stream: TcpStream,
    ends: &Ends,
) -> io::Result<(
    FrameReader<impl AsyncRead + Unpin>,
    impl AsyncWrite + Unpin,
    PeerHello,
)> {
    tune(&stream)?;
    let acceptor = TlsAcceptor::from(Arc::clone(&ends.tls.load().server));
    let stream = acceptor.accept(stream).await?;
    let (reader, mut writer) = tokio::io::split(stream);
    let mut reader = FrameReader::new(reader);
    let Some(Frame::Hello(peer)) = reader.next().await? else {
        return Err(io::Error::other("no greeting"));
    };
    introduced(ends, peer).await?;
    writer.write_all(&wire::hello(ends.me)).await?;
    writer.flush().await?;
    Ok((reader, writer, peer))
}

async fn read_questions(
    reader: &mut FrameReader<impl AsyncRead + Unpin>,
    ends: &Ends,
    peer: PeerHello,
    outlet: &Arc<Outlet>,
) -> io::Result<()> {
    let working = Arc::new(AtomicUsize::new(0));
    while let Some(frame) = reader.next().await? {
        // By its id: numbers may change while a stream is open. And by its boot: a later one opens its own.
        let company = ends.hub.company();
        let from = company.of(peer).map(|member| member.node);
        match (frame, from) {
            (Frame::Message(bytes), Some(from)) => {
                let arrived = Arrived::Message { from, bytes };
                // Waiting here makes the sender wait.
                if ends.arrived.send(arrived).await.is_err() {
                    return Ok(());
                }
            }
            (Frame::Request { number, kind, body }, Some(from)) => {
                if working.fetch_add(1, Relaxed) >= WORKING_MAX {
                    working.fetch_sub(1, Relaxed);
                    outlet.answer(number, ResponseStatus::Busy, &[]);
                    continue;
                }
                let reply = ReplyHandle {
                    outlet: Arc::clone(outlet),
                    number,
                    working: Arc::clone(&working),
                    is_sent: false,
                };
                let question = NodeQuestion::new(from, kind, body, reply);
                if kind != ARE_YOU_DONE {
                    ends.hub.respond(question);
                    continue;
                }
                if ends
                    .arrived
                    .send(Arrived::AreYouDone(question))
                    .await
                    .is_err()
                {
                    return Ok(());
                }
            }
            (Frame::Request { number, .. }, None) => {
                outlet.answer(number, ResponseStatus::Refused, &[]);
            }
            (Frame::Hello(_) | Frame::Answer { .. } | Frame::Unknown, _) => {
                ends.hub.streams.unknown.fetch_add(1, Relaxed);
            }
            (Frame::Message(_), None) => {}
        }
    }
    Ok(())
}

/// Small frames go at once, and a peer that is gone is noticed.
fn tune(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    #[cfg(target_os = "linux")]
    SockRef::from(stream).set_tcp_user_timeout(Some(SILENCE_MAX))?;
    Ok(())
}

/// Counts a stream while it is open.
struct Open<'c>(&'c StreamCounts);

impl<'c> Open<'c> {
    fn count(counts: &'c StreamCounts) -> Self {
        counts.opened.fetch_add(1, Relaxed);
        counts.open.fetch_add(1, Relaxed);
        Self(counts)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Relaxed);
    }
}

/// How long opening a stream may take, either way.
const PATIENCE: Duration = Duration::from_secs(3);
/// How much of it may be spent on waiting for news of the other end.
const INTRODUCTION: Duration = Duration::from_millis(2_500);
/// How long to wait after a stream that ended or could not be opened; doubled every time.
const REST_MIN: Duration = Duration::from_millis(50);
const REST_MAX: Duration = Duration::from_secs(5);
/// How long sent bytes may stay without being acknowledged.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// Streams that others may have open.
const STREAMS_MAX: usize = 4096;
/// Questions of one stream that are answered at the same time.
const WORKING_MAX: usize = 8 << 10;
