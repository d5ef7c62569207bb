//! What all connections share.

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

pub struct Shared {
    pub engine: Engine,
    pub settings: Settings,
    pub callers: Callers,
    pub state: ServerState,
    /// Set once, before the first connection, if the server is in a cluster.
    pub cluster: OnceLock<Handle>,
    /// Decides about keys with owners, if there is a cluster; set once.
    pub owner: OnceLock<Arc<Owner>>,
    /// What is known of divided rates, besides what the node knows.
    pub supply: Supply,
    /// Clients that hold leases, and how they are reached.
    pub lend: Hub,
    /// How surely the database lease is held, if there is one; set once.
    pub standing: OnceLock<Arc<LeaseStanding>>,
    /// The handler of the admin API, if there is one; set once.
    pub desk: OnceLock<Arc<dyn AdminApi>>,
    /// The listener from outside this crate, if there is one; set once.
    pub annex: OnceLock<Arc<dyn Annex>>,
    pub(crate) live: OnceLock<Arc<Live>>,
    /// Reads request statistics, if they are kept; set once.
    pub statistics: OnceLock<StatisticsReader>,
    /// Assignments to data planes.
    pub quota: Quotas,
    /// State of the stream to a management server, if there is one.
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

    /// Problems for an operator although the server serves, one sentence each.
    pub fn troubles(&self) -> Vec<String> {
        let mut troubles = self.state.troubles();
        troubles.extend(crate::cluster::trouble(self));
        troubles
    }

    /// The contracts and plans in force, and the way to change them, if there is one.
    pub fn catalogue(&self) -> &Arc<Live> {
        let of_file = || Arc::new(Live::of_file(self.engine.node().contracts()));
        self.live.get_or_init(of_file)
    }

    /// Whether others may have taken this server's counts of a durable contract, as its lease was not confirmed for
    /// long. Then they are neither handed over nor added to: they might be counted twice.
    pub(crate) fn is_in_doubt(&self, node: &Node, contract: usize) -> bool {
        let standing = self.standing.get();
        standing.is_some_and(|seat| !seat.is_sure()) && node.durable_policies(contract) != 0
    }
}

/// A connection's bytes over any transport.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Stream for S {}

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// `None` over a Unix socket.
    pub address: Option<SocketAddr>,
    pub certified: bool,
    pub is_sealed: bool,
    /// Number of the connection, from 1.
    pub connection: u64,
}

/// The phases of a server's shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServerPhase {
    Serving,
    /// It serves on, and sends clients elsewhere if their protocol supports that.
    Leaving,
    /// Connections finish what they have begun and close.
    Stopping,
}

/// Signals connections to send clients elsewhere, and to finish what they have begun and close.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<ServerPhase>);

impl Stop {
    /// A stop, and its sender.
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
        // Without a sender there is nothing to wait for.
        let _ = self.0.wait_for(|now| *now >= phase).await;
    }
}

/// One connection: its other end, and its part of the shared limits.
pub struct Caller {
    pub peer: Peer,
    pub shared: Arc<Shared>,
    /// Slots of waiting requests, such as for their bodies.
    pub(crate) places: PlaceCounter,
    /// Answers that it has yet to read.
    pub(crate) unsent: Arc<ConnectionBytes>,
}

impl Caller {
    pub fn new(peer: Peer, shared: Arc<Shared>) -> Self {
        let places = shared.settings.limits.requests_max / CONNECTIONS_MIN;
        Self {
            places: PlaceCounter::new(places.max(PLACES_MIN)),
            unsent: Arc::default(),
            peer,
            shared,
        }
    }

    /// One of `places` for a waiting request; `None` if this connection has too many of any, or all are taken.
    pub(crate) fn enter<'a>(
        &'a self,
        places: &'a PlaceCounter,
    ) -> Option<(PlaceGuard<'a>, PlaceGuard<'a>)> {
        let own = self.places.enter()?;
        Some((own, places.enter()?))
    }

    /// Counts bytes that wait for the client; `None` if there are too many already.
    pub(crate) fn hold(&self, bytes: usize) -> Option<HeldBytes> {
        self.shared.state.unsent().hold(&self.unsent, bytes)
    }

    pub(crate) fn count(&self, event: Event) {
        self.shared.engine.meter().count(event);
    }
}

/// It takes at least this many connections to use all slots.
const CONNECTIONS_MIN: usize = 100;
/// Slots that a connection may have however few there are.
const PLACES_MIN: usize = 8;
