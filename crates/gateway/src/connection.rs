//! One client: its CONNECT, its connection to the broker, and how both end.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;
use tokio::time::timeout;
use tollgate_mqtt::{Connect, Header, Kind, Malformed, Version, reason, write};
use tollgate_serve::shared::Shared as Server;

use crate::buffer::{Broken, Buffer, write as put};
use crate::down::{self, Greeting};
use crate::judge::{Judge, Sender};
use crate::meter::{Count, Meter};
use crate::outbox::Outbox;
use crate::settings::Settings;
use crate::up;

/// The most bytes of a CONNECT: room for every field at its longest, a will among them, and some properties.
const CONNECT_MAX: usize = 1 << 19;

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) server: Arc<Server>,
    pub(crate) judge: Judge,
    pub(crate) meter: Arc<Meter>,
}

/// What both directions of one connection share.
pub(crate) struct Link<'s> {
    pub(crate) shared: &'s Shared,
    pub(crate) version: Version,
    pub(crate) outbox: Outbox,
    /// What the broker said when it let the client in.
    pub(crate) greeting: watch::Sender<Option<Greeting>>,
}

/// How one direction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Whoever was read from has closed, or is gone.
    Closed,
    /// Whoever was written to is gone.
    Gone,
    /// Whoever was written to took nothing for too long.
    Stalled,
    /// Whoever was read from sent what is no packet.
    Malformed(Malformed),
    /// A message was refused and cannot be answered otherwise.
    Quota,
    /// The broker did not say whether it lets the client in.
    NoGreeting,
    /// The last words were said.
    Said,
}

impl From<Broken> for End {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Gone => Self::Gone,
            Broken::Stalled => Self::Stalled,
        }
    }
}

/// Who came, and what was read of it so far.
struct Hello {
    version: Version,
    sender: Sender,
    keep_alive: u16,
    buffer: Buffer,
    /// Bytes of the CONNECT at the front.
    connect: usize,
}

/// Serves one client until either side goes, or the gateway stops.
pub(crate) async fn serve(
    shared: Arc<Shared>,
    client: TcpStream,
    peer: SocketAddr,
    stop: watch::Receiver<bool>,
) {
    let _open = shared.meter.open(&shared.server.engine);
    prepare(&client);
    let (from, mut to) = client.into_split();
    let patience = shared.settings.patience;
    let mut from = from;
    let hello = match timeout(patience.hello, hello(&mut from, peer)).await {
        Ok(Ok(hello)) => hello,
        Ok(Err(None)) => return,
        Err(_) => return shared.meter.one(Count::Slow),
        Ok(Err(Some(Malformed::Version))) => {
            shared.meter.one(Count::OtherVersion);
            let words = write::refusal(reason::UNSUPPORTED_VERSION, Version::V311);
            let _ = put(&mut to, &words, patience.linger).await;
            return part(from, to, patience.linger).await;
        }
        Ok(Err(Some(_))) => return shared.meter.one(Count::BadHello),
    };
    let dialled = timeout(patience.dial, TcpStream::connect(&shared.settings.upstream)).await;
    let Ok(Ok(broker)) = dialled else {
        shared.meter.one(Count::NoBroker);
        let words = write::refusal(reason::SERVER_UNAVAILABLE, hello.version);
        let _ = put(&mut to, &words, patience.linger).await;
        return part(from, to, patience.linger).await;
    };
    prepare(&broker);
    carry(&shared, hello, (from, to), broker, stop).await;
}

/// Carries bytes both ways.
async fn carry(
    shared: &Shared,
    hello: Hello,
    (mut from_client, mut to_client): Halves,
    broker: TcpStream,
    mut stop: watch::Receiver<bool>,
) {
    let link = Link {
        shared,
        version: hello.version,
        outbox: Outbox::default(),
        greeting: watch::Sender::new(None),
    };
    let (from_broker, to_broker) = broker.into_split();
    let start = up::Start {
        sender: hello.sender,
        keep_alive: hello.keep_alive,
        buffer: hello.buffer,
        connect: hello.connect,
    };
    let linger = shared.settings.patience.linger;
    let ended = {
        let mut up = Box::pin(up::carry(&link, start, &mut from_client, to_broker));
        let mut down = pin!(down::carry(&link, from_broker, &mut to_client));
        tokio::select! {
            end = &mut down => {
                count(&shared.meter, end, Count::BadBroker);
                Some(end)
            }
            end = &mut up => {
                count(&shared.meter, end, Count::BadClient);
                last_words(&link, end);
                // The broker hears that nothing more comes, and what it says to that still passes.
                drop(up);
                timeout(linger, down).await.ok()
            }
            () = told(&mut stop) => {
                goodbye(&link, reason::SERVER_SHUTTING_DOWN);
                timeout(linger, down).await.ok()
            }
        }
    };
    if ended == Some(End::NoGreeting) {
        let words = write::refusal(reason::SERVER_UNAVAILABLE, link.version);
        let _ = put(&mut to_client, &words, linger).await;
    }
    part(from_client, to_client, linger).await;
}

/// Waits until the gateway is told to stop.
pub(crate) async fn told(stop: &mut watch::Receiver<bool>) {
    // One that is gone without a word has stopped too.
    let _ = stop.wait_for(|stop| *stop).await;
}

type Halves = (OwnedReadHalf, OwnedWriteHalf);

/// What a client hears when the gateway ends its connection.
fn last_words(link: &Link<'_>, end: End) {
    let reason = match end {
        End::Quota => reason::QUOTA_EXCEEDED,
        End::Malformed(malformed) => malformed.reason(),
        // The broker may have said why, and what it says still comes.
        End::Closed | End::Gone | End::Stalled | End::NoGreeting | End::Said => return,
    };
    goodbye(link, reason);
}

fn goodbye(link: &Link<'_>, reason: u8) {
    // A client that was not let in is not told.
    let is_in = link.greeting.borrow().is_some();
    let words = is_in.then(|| write::disconnect(reason, link.version));
    link.outbox.end(&words.unwrap_or_default());
}

fn count(meter: &Meter, end: End, malformed: Count) {
    match end {
        End::Malformed(_) => meter.one(malformed),
        End::Stalled => meter.one(Count::Stalled),
        End::NoGreeting => meter.one(Count::NoGreeting),
        End::Closed | End::Gone | End::Quota | End::Said => {}
    }
}

/// Reads a CONNECT; `None` where the client goes without one.
async fn hello(from: &mut OwnedReadHalf, peer: SocketAddr) -> Result<Hello, Option<Malformed>> {
    let mut buffer = Buffer::default();
    loop {
        if let Some(header) = Header::read(buffer.bytes())? {
            if header.kind != Kind::Connect {
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
                    sender: Sender::new(read.client, read.user, peer.ip()),
                    keep_alive: read.keep_alive,
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

/// Says that nothing more comes and waits a little for the other side to go: closing over bytes that were not read would
/// destroy words that were not read either.
async fn part(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, linger: Duration) {
    let _ = to.shutdown().await;
    let drain = async {
        let mut ignored = [0; 1024];
        while let Ok(1..) = from.read(&mut ignored).await {}
    };
    let _ = timeout(linger, drain).await;
}

/// Small packets go at once, and who vanished without a word is noticed.
fn prepare(stream: &TcpStream) {
    // A socket that cannot is no worse than before.
    let _ = stream.set_nodelay(true);
    let probes = TcpKeepalive::new()
        .with_time(Duration::from_mins(1))
        .with_interval(Duration::from_secs(15));
    let _ = SockRef::from(stream).set_tcp_keepalive(&probes);
}
