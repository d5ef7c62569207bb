//! One client: its CONNECT, its connection to the broker, and how both end.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{timeout, timeout_at};
use tollgate_limit::Instant;
use tollgate_mqtt::{Connect, Header, Malformed, PacketKind, Version, reason, write};
use tollgate_serve::shared::Shared as Server;

use crate::buffer::{Buffer, BufferError, write as put};
use crate::down::{self, Greeting};
use crate::judge::{MessageJudge, MessageSender};
use crate::log::GatewayLog;
use crate::meter::{Count, GatewayMeter};
use crate::outbox::ClientOutbox;
use crate::places::{CurrentPlacement, Guest};
use crate::probe::UnansweredMessages;
use crate::settings::{ArrivalTime, GatewaySettings};
use crate::stream::{ByteSource, Halves};
use crate::tls::Seals;
use crate::up;

/// The most bytes of a CONNECT: room for every field at its longest, a will among them, and some properties.
const CONNECT_MAX: usize = 1 << 19;

pub(crate) struct GatewayShared {
    pub(crate) settings: GatewaySettings,
    pub(crate) server: Arc<Server>,
    pub(crate) judge: MessageJudge,
    pub(crate) meter: Arc<GatewayMeter>,
    pub(crate) seals: Arc<Seals>,
    pub(crate) places: Arc<CurrentPlacement>,
    pub(crate) log: GatewayLog,
}

impl GatewayShared {
    /// The engine's time, `age` ago.
    pub(crate) fn ago(&self, age: Duration) -> Instant {
        let nanos = u64::try_from(age.as_nanos()).unwrap_or(u64::MAX);
        let now = self.server.engine.now().as_nanos();
        Instant::from_nanos(now.saturating_sub(nanos))
    }

    /// Connects to the broker; the error is what to count.
    async fn dial(&self) -> Result<Halves, Count> {
        let dialled = TcpStream::connect(&self.settings.upstream).await;
        let broker = dialled.map_err(|_| Count::NoBroker)?;
        prepare(&broker);
        let sealed = self.seals.dial(broker).await;
        let broker = sealed.map_err(|_| Count::Distrusted)?;
        Ok(broker.split())
    }

    /// Counts a client that is refused before the broker lets it in.
    pub(crate) fn turn_away(&self, why: Count, peer: SocketAddr) {
        self.meter.one(why);
        if let Some(event) = why.event() {
            self.server.engine.meter().count(event);
        }
        self.log.turned_away(why, peer);
    }
}

/// What both directions of one connection share.
pub(crate) struct ClientLink<'s> {
    pub(crate) shared: &'s GatewayShared,
    pub(crate) version: Version,
    pub(crate) outbox: ClientOutbox,
    /// Whether the client was redirected to another gateway.
    pub(crate) is_moved: AtomicBool,
    /// Messages that the broker has not answered.
    pub(crate) probe: UnansweredMessages,
    /// The broker's successful CONNACK.
    pub(crate) greeting: watch::Sender<Option<Greeting>>,
}

/// How one direction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The source has closed.
    Closed,
    /// The destination has closed.
    Gone,
    /// The destination accepted nothing for too long.
    Stalled,
    /// The source sent something that is not a packet.
    Malformed(Malformed),
    /// A message was refused and cannot be answered otherwise.
    Quota,
    /// The broker did not answer the CONNECT.
    NoGreeting,
    /// The gateway's final packet was sent.
    Said,
}

impl From<BufferError> for End {
    fn from(broken: BufferError) -> Self {
        match broken {
            BufferError::Gone => Self::Gone,
            BufferError::Stalled => Self::Stalled,
        }
    }
}

/// A client, and the bytes read from it so far.
struct Hello {
    version: Version,
    sender: MessageSender,
    keep_alive: u16,
    buffer: Buffer,
    /// Bytes of the CONNECT at the front.
    connect: usize,
    guest: Guest,
}

/// Serves one client until either side closes, or the gateway stops.
pub(crate) async fn serve(
    shared: Arc<GatewayShared>,
    client: TcpStream,
    peer: SocketAddr,
    stop: watch::Receiver<bool>,
) {
    let _open = shared.meter.open(&shared.server.engine);
    prepare(&client);
    let patience = shared.settings.patience;
    let by = tokio::time::Instant::now() + patience.hello;
    let mut client = match timeout_at(by, shared.seals.accept(client)).await {
        Ok(Ok(stream)) => stream.split(),
        Ok(Err(_)) => return shared.turn_away(Count::Unsealed, peer),
        Err(_) => return shared.turn_away(Count::Slow, peer),
    };
    if shared.settings.arrival == ArrivalTime::Kernel {
        client.from = client.from.stamped();
    }
    let hello = match timeout_at(by, hello(&shared, &mut client.from, peer)).await {
        Ok(Ok(hello)) => hello,
        Ok(Err(None)) => return,
        Err(_) => return shared.turn_away(Count::Slow, peer),
        Ok(Err(Some(Malformed::Version))) => {
            shared.turn_away(Count::OtherVersion, peer);
            let words = write::refusal(reason::UNSUPPORTED_VERSION, Version::V311);
            return client.say_and_part(&words, patience.linger).await;
        }
        Ok(Err(Some(_))) => return shared.turn_away(Count::BadHello, peer),
    };
    if let Some(words) = shared.places.refer(&hello.guest, &shared.meter) {
        return client.say_and_part(&words, patience.linger).await;
    }
    match timeout(patience.dial, shared.dial()).await {
        Ok(Ok(broker)) => carry(&shared, hello, client, broker, stop).await,
        failed => {
            // No answer in time counts as unreachable.
            let why = failed.ok().and_then(Result::err);
            shared.turn_away(why.unwrap_or(Count::NoBroker), peer);
            let words = write::refusal(reason::SERVER_UNAVAILABLE, hello.version);
            client.say_and_part(&words, patience.linger).await;
        }
    }
}

async fn carry(
    shared: &GatewayShared,
    hello: Hello,
    mut client: Halves,
    mut broker: Halves,
    mut stop: watch::Receiver<bool>,
) {
    let link = ClientLink {
        shared,
        version: hello.version,
        outbox: ClientOutbox::default(),
        is_moved: AtomicBool::new(false),
        probe: UnansweredMessages::default(),
        greeting: watch::Sender::new(None),
    };
    let start = up::Start {
        sender: hello.sender,
        keep_alive: hello.keep_alive,
        buffer: hello.buffer,
        connect: hello.connect,
    };
    let linger = shared.settings.patience.linger;
    let guest = hello.guest;
    let ended = {
        let mut up = Box::pin(up::carry(&link, start, &mut client.from, &mut broker.to));
        let mut down = pin!(down::carry(&link, broker.from, &mut client.to));
        tokio::select! {
            end = &mut down => {
                count(&shared.meter, end, Count::BadBroker);
                Some(end)
            }
            end = &mut up => {
                count(&shared.meter, end, Count::BadClient);
                last_words(&link, end);
                // The broker sees the end of the stream, and its answer is still forwarded.
                drop(up);
                let _ = timeout(linger, broker.to.shutdown()).await;
                timeout(linger, down).await.ok()
            }
            words = moved(&link, &guest) => {
                link.is_moved.store(true, Relaxed);
                link.outbox.end(&words);
                // What the client sent before it learned of that is still forwarded.
                let both = async { tokio::join!(down, up).0 };
                timeout(linger, both).await.ok()
            }
            () = told(&mut stop) => {
                goodbye(&link, reason::SERVER_SHUTTING_DOWN);
                timeout(linger, down).await.ok()
            }
        }
    };
    if ended == Some(End::NoGreeting) {
        shared.log.failed(Count::NoGreeting);
        let words = write::refusal(reason::SERVER_UNAVAILABLE, link.version);
        let _ = put(&mut client.to, &words, linger).await;
    }
    client.part(linger).await;
}

/// Waits until a connected client belongs to another gateway. Returns the packet that redirects it.
async fn moved(link: &ClientLink<'_>, guest: &Guest) -> Vec<u8> {
    let mut greeting = link.greeting.subscribe();
    if greeting.wait_for(Option::is_some).await.is_err() {
        return std::future::pending().await;
    }
    let shared = link.shared;
    shared.places.moved(guest, &shared.meter).await
}

impl Halves {
    async fn say_and_part(mut self, words: &[u8], linger: Duration) {
        let _ = put(&mut self.to, words, linger).await;
        self.part(linger).await;
    }

    /// Shuts down and waits briefly for the peer to close: closing with unread bytes
    /// would also destroy data that the peer has not read.
    async fn part(mut self, linger: Duration) {
        let _ = timeout(linger, self.to.shutdown()).await;
        let drain = async {
            let mut ignored = [0; 1024];
            while let Ok(1..) = self.from.read(&mut ignored).await {}
        };
        let _ = timeout(linger, drain).await;
    }
}

pub(crate) async fn told(stop: &mut watch::Receiver<bool>) {
    // A dropped sender counts as stopped.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Queues the final packet to a client when the gateway ends its connection.
fn last_words(link: &ClientLink<'_>, end: End) {
    let reason = match end {
        End::Quota => reason::QUOTA_EXCEEDED,
        End::Malformed(malformed) => malformed.reason(),
        // The broker may have sent the reason, which is still forwarded.
        End::Closed | End::Gone | End::Stalled | End::NoGreeting | End::Said => return,
    };
    goodbye(link, reason);
}

fn goodbye(link: &ClientLink<'_>, reason: u8) {
    // A client without a CONNACK gets no DISCONNECT.
    let is_in = link.greeting.borrow().is_some();
    let words = is_in.then(|| write::disconnect(reason, link.version));
    link.outbox.end(&words.unwrap_or_default());
}

fn count(meter: &GatewayMeter, end: End, malformed: Count) {
    match end {
        End::Malformed(_) => meter.one(malformed),
        End::Stalled => meter.one(Count::Stalled),
        End::NoGreeting => meter.one(Count::NoGreeting),
        End::Closed | End::Gone | End::Quota | End::Said => {}
    }
}

/// Reads a CONNECT; `None` if the client closes without one.
async fn hello(
    shared: &GatewayShared,
    from: &mut ByteSource,
    peer: SocketAddr,
) -> Result<Hello, Option<Malformed>> {
    let mut buffer = Buffer::default();
    loop {
        if let Some(header) = Header::read(buffer.bytes())? {
            if header.kind != PacketKind::Connect {
                return Err(Some(Malformed::OutOfTurn));
            }
            let connect = header.packet() as usize;
            if connect > CONNECT_MAX {
                return Err(Some(Malformed::TooLarge));
            }
            if let Some(body) = header.body(buffer.bytes()) {
                let read = Connect::read(body)?;
                return Ok(Hello {
                    version: read.version,
                    sender: MessageSender::new(read.client, read.user, peer.ip()),
                    keep_alive: read.keep_alive,
                    guest: shared.places.guest(&read),
                    buffer,
                    connect,
                });
            }
        }
        match buffer.fill(from).await {
            Ok(1..) => {}
            Ok(0) | Err(_) => return Err(None),
        }
    }
}

/// Disables delays for small packets, and detects dead peers.
fn prepare(stream: &TcpStream) {
    // A failure here is harmless.
    let _ = stream.set_nodelay(true);
    let probes = TcpKeepalive::new()
        .with_time(Duration::from_mins(1))
        .with_interval(Duration::from_secs(15));
    let _ = SockRef::from(stream).set_tcp_keepalive(&probes);
}
