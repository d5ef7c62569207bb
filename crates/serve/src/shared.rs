//! What every connection shares.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tollgate_node::Node;

use crate::access::Callers;
use crate::annex::Annex;
use crate::catalogue::Live;
use crate::cluster::Handle;
use crate::desk::AdminApi;
use crate::durable::LeaseStanding;
use crate::engine::Engine;
use crate::grpc::Quotas;
use crate::lend::Hub;
use crate::meter::Event;
use crate::owner::Owner;
use crate::settings::Settings;
use crate::statistics::StatisticsReader;
use crate::supply::Supply;
use crate::unsent::{ConnectionBytes, HeldBytes};
use crate::xds;

pub use crate::state::{PlaceCounter, PlaceGuard, ServerState};

/// What every connection shares.
pub struct Shared {
    /// Decides.
    pub engine: Engine,
    /// How the server was set up.
    pub settings: Settings,
    /// Who may ask what.
    pub callers: Callers,
    /// How the server is.
    pub state: ServerState,
    /// The cluster, where it takes part in one; set once, before the first connection.
    pub cluster: OnceLock<Handle>,
    /// Decides about keys that have owners, where there is a cluster; set once as well.
    pub owner: OnceLock<Arc<Owner>>,
    /// What is known of divided rates, besides what the node knows.
    pub supply: Supply,
    /// Clients that hold leases, and how they are reached.
    pub lend: Hub,
    /// How surely the seat is held under which counts are kept, where there is one; set once.
    pub standing: OnceLock<Arc<LeaseStanding>>,
    /// Whoever answers where nothing is decided, where there is somebody; set once as well.
    pub desk: OnceLock<Arc<dyn AdminApi>>,
    /// The door beside those of the server, where there is one; set once as well.
    pub annex: OnceLock<Arc<dyn Annex>>,
    pub(crate) live: OnceLock<Arc<Live>>,
    /// Tells what is known of requests, where they are counted; set once as well.
    pub statistics: OnceLock<StatisticsReader>,
    /// What data planes are assigned.
    pub quota: Quotas,
    /// How a management server is followed, where one is.
    pub(crate) xds: OnceLock<Arc<xds::XdsFigures>>,
}

impl Shared {
    /// What connections share before the first is there.
    pub fn new(engine: Engine, settings: Settings) -> Self {
        let state = ServerState::new(settings.limits.requests_max);
        engine.meter().show_keys(settings.telemetry.show_keys);
        let callers = Callers::new(&settings.tokens);
        engine.set_callers(callers.numbers());
        Self {
            callers,
            engine,
            settings,
            state,
            cluster: OnceLock::new(),
            owner: OnceLock::new(),
            supply: Supply::default(),
            lend: Hub::default(),
            standing: OnceLock::new(),
            desk: OnceLock::new(),
            annex: OnceLock::new(),
            live: OnceLock::new(),
            statistics: OnceLock::new(),
            quota: Quotas::default(),
            xds: OnceLock::new(),
        }
    }

    /// What somebody should look at though the server serves, one sentence each.
    pub fn troubles(&self) -> Vec<String> {
        let mut troubles = self.state.troubles();
        troubles.extend(crate::cluster::trouble(self));
        troubles
    }

    /// The contracts and plans in force, and the way to change them, where there is one.
    pub fn catalogue(&self) -> &Arc<Live> {
        let of_file = || Arc::new(Live::of_file(self.engine.node().contracts()));
        self.live.get_or_init(of_file)
    }

    /// Whether others may have taken this server's counts of a durable contract, for it heard nothing of its seat for
    /// long. Then they are neither handed over nor added to: they might be counted twice.
    pub(crate) fn is_in_doubt(&self, node: &Node, contract: usize) -> bool {
        let standing = self.standing.get();
        standing.is_some_and(|seat| !seat.is_sure()) && node.durable_policies(contract) != 0
    }
}

/// A connection's bytes, whatever carries them.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Stream for S {}

/// Who is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The address; `None` over a Unix socket.
    pub address: Option<SocketAddr>,
    /// Whether a client certificate was shown and is trusted.
    pub certified: bool,
    /// Whether the connection is sealed by TLS.
    pub is_sealed: bool,
    /// Number of the connection, from 1.
    pub connection: u64,
}

/// How far a server is on its way to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServerPhase {
    /// It serves.
    Serving,
    /// It serves on, and sends clients elsewhere where their protocol has a word for that.
    Leaving,
    /// Connections finish what they have begun and close.
    Stopping,
}

/// Tells connections to send clients elsewhere, and to finish what they have begun and close.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<ServerPhase>);

impl Stop {
    /// A stop, and what gives the signals.
    pub fn new() -> (watch::Sender<ServerPhase>, Self) {
        let (sender, receiver) = watch::channel(ServerPhase::Serving);
        (sender, Self(receiver))
    }

    /// Whether the signal to stop was given.
    pub fn is_given(&self) -> bool {
        *self.0.borrow() >= ServerPhase::Stopping
    }

    /// Whether clients should go elsewhere.
    pub fn is_leaving(&self) -> bool {
        *self.0.borrow() >= ServerPhase::Leaving
    }

    /// Waits for the signal to stop.
    pub async fn given(&mut self) {
        self.at(ServerPhase::Stopping).await;
    }

    /// Waits until clients should go elsewhere.
    pub async fn leaving(&mut self) {
        self.at(ServerPhase::Leaving).await;
    }

    async fn at(&mut self, phase: ServerPhase) {
        // A sender that is gone will never start anything again.
        let _ = self.0.wait_for(|now| *now >= phase).await;
    }
}

/// One connection: who is at its other end, and what it may take of what all share.
pub struct Caller {
    /// Who.
    pub peer: Peer,
    /// What all connections share.
    pub shared: Arc<Shared>,
    /// Places of requests that wait, as for their bodies.
    pub(crate) places: PlaceCounter,
    /// Answers that it has yet to take.
    pub(crate) unsent: Arc<ConnectionBytes>,
}

impl Caller {
    /// A connection that has taken nothing yet.
    pub fn new(peer: Peer, shared: Arc<Shared>) -> Self {
        let places = shared.settings.limits.requests_max / CONNECTIONS_MIN;
        Self {
            places: PlaceCounter::new(places.max(PLACES_MIN)),
            unsent: Arc::default(),
            peer,
            shared,
        }
    }

    /// One of `places` for a request that waits; `None` where this connection has too many of any, or all are taken.
    pub(crate) fn enter<'a>(
        &'a self,
        places: &'a PlaceCounter,
    ) -> Option<(PlaceGuard<'a>, PlaceGuard<'a>)> {
        let own = self.places.enter()?;
        Some((own, places.enter()?))
    }

    /// Counts bytes that wait for the client; `None` where there are too many already.
    pub(crate) fn hold(&self, bytes: usize) -> Option<HeldBytes> {
        self.shared.state.unsent().hold(&self.unsent, bytes)
    }

    /// Counts something.
    pub(crate) fn count(&self, event: Event) {
        self.shared.engine.meter().count(event);
    }
}

/// So many connections at least it takes to have all places.
const CONNECTIONS_MIN: usize = 100;
/// Places that a connection may have however few there are.
const PLACES_MIN: usize = 8;
