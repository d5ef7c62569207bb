//! The loop that accepts connections and gives each a task of its own.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::mpsc;

use super::crowd::{ConnectionLimit, ConnectionSlot};
use super::{BoundListener, Certificates, Socket, Speech};
use crate::http::{ListenerSite, Paths};
use crate::logs::Rarely;
use crate::meter::{Door, Event};
use crate::shared::{Peer, Shared, Stop, Stream};
use crate::{http, resp};

/// What all connections of a thread share.
#[derive(Clone)]
pub(crate) struct ListenerContext {
    pub(crate) shared: Arc<Shared>,
    pub(crate) crowd: Arc<ConnectionLimit>,
    pub(crate) stop: Stop,
    /// Held by every connection: closed once all of them are.
    pub(crate) held: mpsc::Sender<()>,
}

/// A listener on one thread.
pub(crate) struct ThreadListener {
    socket: Listening,
    speech: Speech,
    site: Arc<ListenerSite>,
    certificates: Option<Arc<Certificates>>,
}

enum Listening {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl ThreadListener {
    /// Call it within the runtime that will accept. `is_apart` if the admin API has listeners of its own.
    pub(crate) fn new(socket: Socket, bound: &BoundListener, is_apart: bool) -> io::Result<Self> {
        let paths = match bound.speech {
            Speech::Admin => Paths::Desk,
            Speech::Http | Speech::Resp if is_apart => Paths::NoDesk,
            Speech::Http | Speech::Resp => Paths::All,
        };
        let socket = match socket {
            Socket::Tcp(socket) => Listening::Tcp(TcpListener::from_std(socket)?),
            Socket::Unix(socket) => Listening::Unix(UnixListener::from_std(socket)?),
        };
        Ok(Self {
            socket,
            speech: bound.speech,
            site: Arc::new(ListenerSite::new(bound.names.clone(), paths)),
            certificates: bound.certificates.clone(),
        })
    }

    const fn door(&self) -> Door {
        self.speech.door()
    }
}

enum Accepted {
    Tcp(TcpStream, SocketAddr),
    Unix(UnixStream),
}

/// Accepts connections until the stop signal.
pub(crate) async fn accept(post: Arc<ThreadListener>, mut ground: ListenerContext) {
    let rarely = Rarely::new(SAID_EVERY);
    loop {
        let accepted = tokio::select! {
            biased;
            () = ground.stop.given() => return,
            accepted = next(&post.socket) => accepted,
        };
        match accepted {
            Ok(accepted) => admit(&post, &ground, accepted),
            Err(error) if is_one_connection(&error) => {}
            Err(error) => {
                // Out of descriptors or memory. Connections that end free some; retrying at once would only spin.
                ground
                    .shared
                    .engine
                    .meter()
                    .count(Event::AcceptFailed(post.door()));
                if let Some(unsaid) = rarely.now() {
                    tracing::warn!(%error, unsaid, "cannot accept connections");
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn next(socket: &Listening) -> io::Result<Accepted> {
    match socket {
        Listening::Tcp(socket) => {
            let (stream, address) = socket.accept().await?;
            Ok(Accepted::Tcp(stream, address))
        }
        Listening::Unix(socket) => Ok(Accepted::Unix(socket.accept().await?.0)),
    }
}

/// Whether only the connection to be accepted failed.
fn is_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{
        ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted, TimedOut, WouldBlock,
    };
    matches!(
        error.kind(),
        ConnectionAborted
            | ConnectionRefused
            | ConnectionReset
            | Interrupted
            | TimedOut
            | WouldBlock
    )
}

fn admit(post: &Arc<ThreadListener>, ground: &ListenerContext, accepted: Accepted) {
    let address = match &accepted {
        Accepted::Tcp(_, address) => Some(*address),
        Accepted::Unix(_) => None,
    };
    let is_near = address.is_none_or(|address| address.ip().to_canonical().is_loopback());
    if !ground.crowd.admit(is_near) {
        ground.shared.engine.meter().count(Event::Shed(post.door()));
        turn_away(post, &accepted);
        return;
    }
    let seat = ConnectionSlot::take(&ground.shared, &ground.crowd, post.door());
    let peer = Peer {
        address,
        certified: false,
        is_sealed: false,
        connection: ground.crowd.number(),
    };
    match accepted {
        Accepted::Tcp(stream, _) => {
            // Only slower without.
            let _ = stream.set_nodelay(true);
            begin(post, ground, stream, peer, seat);
        }
        Accepted::Unix(stream) => begin(post, ground, stream, peer, seat),
    }
}

/// Says why, if that needs no waiting. A TLS handshake would, so TLS is just closed.
fn turn_away(post: &ThreadListener, accepted: &Accepted) {
    if post.certificates.is_some() {
        return;
    }
    let words = match post.speech {
        Speech::Http | Speech::Admin => CROWDED_HTTP,
        Speech::Resp => CROWDED_RESP,
    };
    // On failure the client only sees the end. The runtime does not know yet that the socket is writable.
    let _ = match accepted {
        Accepted::Tcp(stream, _) => SockRef::from(stream).send(words),
        Accepted::Unix(stream) => SockRef::from(stream).send(words),
    };
}

/// Starts a task sized for the connection's protocol.
fn begin<S: Stream>(
    post: &Arc<ThreadListener>,
    ground: &ListenerContext,
    stream: S,
    peer: Peer,
    seat: ConnectionSlot,
) {
    let ListenerContext {
        shared, stop, held, ..
    } = ground.clone();
    let guards = (seat, held);
    let site = Arc::clone(&post.site);
    match (post.speech, &post.certificates) {
        (Speech::Http | Speech::Admin, None) => {
            let served = http::serve(stream, peer, site, shared, stop);
            tokio::spawn(guarded(guards, served));
        }
        (Speech::Resp, None) => {
            let served = resp::serve(stream, peer, shared, stop);
            tokio::spawn(guarded(guards, served));
        }
        (Speech::Http | Speech::Admin, Some(certificates)) => {
            let certificates = Arc::clone(certificates);
            tokio::spawn(guarded(guards, async move {
                if let Some((stream, peer)) = shake(stream, peer, &certificates, &shared).await {
                    http::serve(stream, peer, site, shared, stop).await;
                }
            }));
        }
        (Speech::Resp, Some(certificates)) => {
            let certificates = Arc::clone(certificates);
            tokio::spawn(guarded(guards, async move {
                if let Some((stream, peer)) = shake(stream, peer, &certificates, &shared).await {
                    resp::serve(stream, peer, shared, stop).await;
                }
            }));
        }
    }
}

async fn shake<S: Stream>(
    stream: S,
    peer: Peer,
    certificates: &Certificates,
    shared: &Shared,
) -> Option<(impl Stream, Peer)> {
    let shaken = certificates
        .shake(stream, shared.settings.limits.slow)
        .await;
    if shaken.is_none() {
        let event = Event::HandshakeFailed(certificates.speech().door());
        shared.engine.meter().count(event);
    }
    let certified = certificates.asks_clients();
    let peer = Peer {
        certified,
        is_sealed: true,
        ..peer
    };
    shaken.map(|stream| (stream, peer))
}

/// Keeps the guards until the connection is over, also after a panic.
async fn guarded<G>(guards: G, served: impl Future<Output = ()>) {
    let _guards = guards;
    served.await;
}

/// How long a thread waits before it tries to accept again.
const PAUSE: Duration = Duration::from_millis(100);
/// Interval between log lines about failing accepts.
const SAID_EVERY: Duration = Duration::from_secs(10);

const CROWDED_RESP: &[u8] = b"-ERR too many connections\r\n";
const CROWDED_HTTP: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
content-type: application/problem+json\r\n\
x-content-type-options: nosniff\r\n\
content-length: 98\r\n\
retry-after: 1\r\n\
connection: close\r\n\
\r\n\
{\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503,\"detail\":\"too many connections\"}\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_for_callers_turned_away_are_whole() {
        let text = std::str::from_utf8(CROWDED_HTTP).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let length = format!("content-length: {}", body.len());
        assert!(head.lines().any(|line| line == length), "{length}");
    }
}
