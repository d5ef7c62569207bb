//! Starting, running and stopping a server.
//!
//! Everything that can be wrong with settings, contracts and certificates is found before the first port opens. Not
//! here: signals and the command line, which belong to the binary.

mod changed;
mod end;
mod error;
mod keeper;
mod load;
mod reload;
mod worker;

use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::watch;
use tollgate_cluster::OwnerKey;
use tollgate_contract::Contracts;
use tollgate_gossip::{NodeId, Writer};
use tollgate_limit::Instant;
use tollgate_node::{Lend, Membership, NodeConfig};
use tollgate_table::Seed;

use crate::catalogue::{self, CatalogueRuntime, OpenedCatalogue, Watcher};
use crate::cluster::{Daemon, Fatal, Prepared, keys::KeyRing, read_keys};
use crate::desk::AdminApi;
use crate::durable::{self, Flusher, Folder, Store, StoreError};
use crate::engine::{Engine, Secrets};
use crate::lend::{LeaseAsker, lending, warn_of_slow};
use crate::listen::{BoundListener, Certificates, ConnectionLimit, Speech, bind, connections};
use crate::meter::process::wall;
use crate::modes::warn_of_shallow;
use crate::owner::{self, Mover};
use crate::settings::{
    ContractSource, DatabaseSettings, ListenAddress, Listener, Settings, WriterName,
};
use crate::shared::{ServerPhase, Shared, Stop};
use crate::source::SourceError;
use crate::statistics::{self, Scribe};
use crate::store::{Connected, connect, seed};
use crate::supply;
use crate::traces::{self, Traces};
use crate::upstream::Upstream;
use crate::xds::Follower;

pub use error::StartError;
use keeper::Keeper;
pub use load::{LoadedContracts, contracts};
use reload::{FileStamp, Loader};
use worker::ServeWorker;

/// A running server. It ends at once when it is dropped; [`Running::stop`] lets connections finish.
pub struct Running {
    shared: Arc<Shared>,
    listeners: Vec<Open>,
    loader: Arc<Loader>,
    stop: watch::Sender<ServerPhase>,
    halt: watch::Sender<ServerPhase>,
    threads: Vec<JoinHandle<()>>,
    keeper: Option<Keeper>,
    /// Takes part in a cluster until it is dropped.
    cluster: Option<Arc<Daemon>>,
    /// Moves keys to their owners until it is dropped.
    mover: Option<Mover>,
    /// Asks for what the node leases of others.
    asker: Option<LeaseAsker>,
    /// Asks the store until it is dropped.
    store: Option<Connected>,
    /// Sends traces until it is dropped.
    traces: Option<Traces>,
    /// Follows the catalogue until it is dropped.
    watcher: Option<Watcher>,
    /// Writes request statistics until it is dropped.
    scribe: Option<Scribe>,
    /// Follows a management server until it is dropped.
    follower: Option<Follower>,
}

#[derive(Clone, Debug)]
pub struct Open {
    pub speech: Speech,
    /// With the port that was chosen.
    pub at: ListenAddress,
    pub tls: bool,
}

/// All ports are open when this returns.
pub fn start(settings: Settings) -> Result<Running, StartError> {
    start_with(settings, |_| Ok(None))
}

/// Starts a server with an admin API, which is built last before connections are accepted.
pub fn start_with(
    settings: Settings,
    desk: impl FnOnce(&Arc<Shared>) -> Result<Option<Arc<dyn AdminApi>>, StartError>,
) -> Result<Running, StartError> {
    let stamp = settings.contracts.file().and_then(FileStamp::of);
    let catalogue = catalogue::open(&settings).map_err(StartError::Catalogue)?;
    let contracts = catalogue.as_ref().map(OpenedCatalogue::contracts);
    let contracts = contracts.map(|contracts| load::as_counted(&settings, contracts));
    let (contracts, small) = contracts.unwrap_or_else(|| load::contracts(&settings))?;
    let listeners = certified(&settings)?;
    let ring = settings.cluster.as_ref().map(read_keys).transpose()?;
    warn_of_company(&contracts, &settings);
    let folder = settings.data_dir.as_deref().map(Folder::take);
    let folder = folder.transpose().map_err(StartError::Store)?;
    let engine_of_many = connected(&settings)?;
    let (owner_key, given) = (
        ring.as_ref().map(KeyRing::owner_key),
        given(&settings, ring.as_ref())?,
    );
    let cluster = prepared(&settings, ring)?;
    // Before a lease is taken: a server that cannot listen must not take it from another.
    let bound = open(listeners, &settings)?;
    let (store, secrets) = remembered(&settings, folder, given, cluster.as_ref())?;
    let seat = store.as_ref().and_then(Store::seat);
    let share = cluster.as_ref().map(|prepared| prepared.share(seat));
    let share = share.transpose()?.flatten();
    let (share, keep) = share.map_or((None, None), |(share, keep)| (Some(share), keep));
    let config = NodeConfig {
        is_assigned: catalogue.is_some(),
        ..settings.node
    };
    let name = cluster.as_ref().map(Prepared::name);
    let members = match &cluster {
        Some(prepared) => prepared.membership(share, &settings.limits.quota, wall())?,
        None => alone(&settings, wall()),
    };
    let engine = Engine::with_company(contracts, config, &secrets, members);
    check_countable(&engine)?;
    if let Some(store) = &store {
        store.load_into(&engine.node()).map_err(StartError::Store)?;
    }
    let shared = Arc::new(Shared::new(engine, settings));
    shared.supply.set_small(small);
    let room = catalogue.map(|opened| opened.install(&shared));
    let flusher = store.map(|store| Flusher::start(store, Arc::clone(&shared)));
    let flusher = flusher.transpose().map_err(StartError::Store)?;
    let traces = traces::start(&shared).map_err(|error| StartError::System(error.to_string()))?;
    let cluster = cluster.map(|prepared| Daemon::start(prepared, &shared));
    let cluster = cluster.transpose()?.map(Arc::new);
    let mover = owned(&shared, owner_key, engine_of_many.as_ref())?;
    let scribe = counted(&shared, name)?;
    if let Some(desk) = desk(&shared)? {
        let _ = shared.desk.set(desk);
    }
    let mut running = work(&shared, bound, cluster)?;
    (running.scribe, running.mover) = (scribe, mover);
    running.asker = LeaseAsker::start(&shared).map_err(StartError::Thread)?;
    running.store = engine_of_many;
    let loader = Arc::clone(&running.loader);
    loader.tell_of_file();
    running.watcher = room.map(|room| watcher(room, &shared, &loader));
    let keeper = Keeper::start(Arc::clone(&shared), loader, flusher, keep, stamp);
    running.keeper = Some(keeper.map_err(StartError::Thread)?);
    running.traces = traces;
    let loader = Arc::clone(&running.loader);
    let follow = move |contracts| loader.follow(contracts);
    running.follower = Follower::of(&shared, follow).map_err(StartError::Thread)?;
    shared.state.set_ready(true);
    Ok(running)
}

/// Follows the catalogue, and passes its contracts to the loader.
fn watcher(room: CatalogueRuntime, shared: &Arc<Shared>, loader: &Arc<Loader>) -> Watcher {
    let loader = Arc::clone(loader);
    let adopt = move |contracts, origin: &_| loader.adopt(contracts, origin);
    Watcher::start(room, shared, Arc::new(adopt))
}

/// Membership of a server outside a cluster, which only grants leases.
fn alone(settings: &Settings, now: Instant) -> Membership {
    let lend = Lend {
        quota: settings.limits.quota.rules(),
        ..lending(supply::boot(), false, None)
    };
    Membership {
        lend: Some(lend),
        ..Membership::alone(NodeId(0), Writer(0), now)
    }
}

/// Refuses contracts with a policy that this node cannot count as specified.
fn check_countable(engine: &Engine) -> Result<(), StartError> {
    let node = engine.node();
    let countable = node.countable(node.contracts(), None, engine.now());
    countable.map_err(|error| SourceError::Wrong(error.to_string()).into())
}

/// Warns of contracts that need a cluster if there is none, and of those that begin with nothing.
fn warn_of_company(contracts: &Contracts, settings: &Settings) {
    warn_of_slow(contracts);
    warn_of_shallow(contracts);
    let is_followed = matches!(settings.contracts, ContractSource::Xds(_));
    if let Some(note) = settings.rls_note(is_followed || contracts.envoy().is_some()) {
        tracing::warn!("{note}");
    }
    if settings.cluster.is_some() {
        return;
    }
    for contract in contracts.as_slice() {
        let mut policies = contract.policies.iter();
        if policies.any(|policy| policy.coordination.needs_cluster()) {
            let contract = &contract.id;
            tracing::warn!(
                contract,
                "counted by this node alone: it takes part in no cluster"
            );
        }
    }
}

/// What the node needs to join a cluster, if configured.
fn prepared(settings: &Settings, ring: Option<KeyRing>) -> Result<Option<Prepared>, StartError> {
    let (Some(cluster), Some(ring)) = (&settings.cluster, ring) else {
        return Ok(None);
    };
    let prepared = Prepared::new(cluster, ring, settings.data_dir.as_deref(), wall())?;
    Ok(Some(prepared))
}

fn connected(settings: &Settings) -> Result<Option<Connected>, StartError> {
    let store = settings.keeping.store.as_ref();
    store.map(connect).transpose().map_err(StartError::Engine)
}

/// Counts requests by identity if there is a database for that or the settings say so.
fn counted(shared: &Arc<Shared>, name: Option<String>) -> Result<Option<Scribe>, StartError> {
    let node = name.unwrap_or_else(|| SEAT.to_owned());
    let database = statistics::place(&shared.settings);
    statistics::start(shared, database.as_ref(), &node).map_err(StartError::Thread)
}

fn owned(
    shared: &Arc<Shared>,
    key: Option<OwnerKey>,
    store: Option<&Connected>,
) -> Result<Option<Mover>, StartError> {
    if let Some(upstream) = &shared.settings.keeping.upstream {
        let upstream = Upstream::connect(upstream).map_err(StartError::Upstream)?;
        shared.engine.set_elsewhere(Arc::new(upstream));
        return Ok(None);
    }
    let store = store.map(|connected| connected.told_by(shared));
    let (Some(key), Some(cluster)) = (key, &shared.settings.cluster) else {
        if let Some(store) = store {
            owner::ask_store(shared, store);
        }
        return Ok(None);
    };
    owner::start(shared, key, cluster.owner, store).map_err(StartError::Thread)
}

/// The table's secret from the key ring: in a cluster a key has the same place in the tables of all nodes.
fn given(settings: &Settings, ring: Option<&KeyRing>) -> Result<Option<[u64; 2]>, StartError> {
    Ok(match (ring, &settings.keeping.store) {
        (Some(ring), _) => Some(ring.seed()),
        (None, Some(store)) => Some(seed(store).map_err(StartError::Engine)?),
        (None, None) => None,
    })
}

/// The state of the database or data directory, if any; otherwise new secrets.
fn remembered(
    settings: &Settings,
    folder: Option<Folder>,
    given: Option<[u64; 2]>,
    cluster: Option<&Prepared>,
) -> Result<(Option<Store>, Secrets), StartError> {
    let database = settings.keeping.database.as_ref();
    if folder.is_none() && database.is_none() {
        let drawn = Secrets::draw().map_err(|error| StartError::System(error.to_string()))?;
        let table = given.map_or(drawn.table, Seed::new);
        return Ok((None, Secrets { table, ..drawn }));
    }
    let given = given.map(|words| {
        let mut bytes = [0; 16];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    });
    let opened = match (database, folder) {
        (Some(database), folder) => {
            let seat = seat(database, cluster)?;
            durable::open_seat(database, &seat, given, folder)
        }
        (None, Some(folder)) => durable::open_in(folder, given),
        (None, None) => Err(StoreError::Gone),
    };
    let (store, secrets) = opened.map_err(StartError::Store)?;
    Ok((Some(store), secrets))
}

/// The name under which this server's rows are.
fn seat(database: &DatabaseSettings, cluster: Option<&Prepared>) -> Result<String, StartError> {
    let Some(cluster) = cluster else {
        let seat = database.seat.as_ref().map(WriterName::as_str);
        return Ok(seat.unwrap_or(SEAT).to_owned());
    };
    if database.seat.is_some() {
        let what = "a node's seat in the database is its name: say `cluster.name` or --name instead of a seat";
        return Err(StartError::Contracts(SourceError::Wrong(what.to_owned())));
    }
    Ok(cluster.name())
}

type Certified = (Listener, Speech, Option<Arc<Certificates>>);

fn certified(settings: &Settings) -> Result<Vec<Certified>, StartError> {
    let http = settings.http.iter().map(|listener| {
        let speech = if listener.is_admin {
            Speech::Admin
        } else {
            Speech::Http
        };
        (listener, speech)
    });
    let resp = settings
        .resp
        .iter()
        .map(|listener| (listener, Speech::Resp));
    let with_certificates = http.chain(resp).map(|(listener, speech)| {
        let files = listener.tls.as_ref();
        let read = files
            .map(|files| Certificates::read(files, speech))
            .transpose()?;
        Ok((listener.clone(), speech, read.map(Arc::new)))
    });
    with_certificates.collect()
}

fn open(listeners: Vec<Certified>, settings: &Settings) -> Result<Vec<BoundListener>, StartError> {
    let sockets = settings.runtime.sockets();
    let bound = listeners
        .into_iter()
        .map(|(listener, speech, certificates)| bind(&listener, speech, certificates, sockets));
    bound.collect::<Result<_, _>>().map_err(StartError::Bind)
}

fn work(
    shared: &Arc<Shared>,
    mut bound: Vec<BoundListener>,
    cluster: Option<Arc<Daemon>>,
) -> Result<Running, StartError> {
    let (stop, stopping) = Stop::new();
    let (halt, halting) = Stop::new();
    let crowd = Arc::new(ConnectionLimit::new(connections(
        shared.settings.limits.connections_max,
    )));
    let certificates = bound
        .iter()
        .filter_map(|b| b.certificates.clone())
        .collect();
    let mut running = Running {
        listeners: bound.iter().map(Open::of).collect(),
        loader: Arc::new(Loader::new(shared, certificates, cluster.clone())),
        shared: Arc::clone(shared),
        stop,
        halt,
        threads: Vec::new(),
        keeper: None,
        cluster,
        mover: None,
        asker: None,
        store: None,
        traces: None,
        watcher: None,
        scribe: None,
        follower: None,
    };
    for number in 0..shared.settings.runtime.sockets() {
        let worker = ServeWorker {
            shared: Arc::clone(shared),
            crowd: Arc::clone(&crowd),
            stop: stopping.clone(),
            halt: halting.clone(),
        };
        let thread = worker.start(number, &mut bound);
        running.threads.push(thread.map_err(StartError::Thread)?);
    }
    Ok(running)
}

impl Open {
    fn of(bound: &BoundListener) -> Self {
        Self {
            speech: bound.speech,
            at: bound.at.clone(),
            tls: bound.certificates.is_some(),
        }
    }
}

impl Running {
    pub const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// In the order of the settings, HTTP first.
    pub fn listeners(&self) -> &[Open] {
        &self.listeners
    }

    /// The first TCP listener of HTTP.
    pub fn http(&self) -> Option<std::net::SocketAddr> {
        self.tcp(Speech::Http)
    }

    /// The first TCP listener of RESP.
    pub fn resp(&self) -> Option<std::net::SocketAddr> {
        self.tcp(Speech::Resp)
    }

    fn tcp(&self, speech: Speech) -> Option<std::net::SocketAddr> {
        self.listeners.iter().find_map(|open| match open.at {
            ListenAddress::Tcp(address) if open.speech == speech => Some(address),
            ListenAddress::Tcp(_) | ListenAddress::Unix { .. } => None,
        })
    }

    /// The address for other nodes of the cluster; `None` outside a cluster.
    pub fn cluster(&self) -> Option<std::net::SocketAddr> {
        self.cluster.as_deref().map(Daemon::at)
    }

    /// Reports why the server must stop, once it must; `None` outside a cluster.
    pub fn fatal(&self) -> Option<watch::Receiver<Option<Fatal>>> {
        self.cluster.as_deref().map(Daemon::fatal)
    }

    /// Reads contracts and certificates again. On error nothing changes.
    pub fn reload(&self) -> Result<(), String> {
        self.loader.reload()
    }

    /// Breaks the thread of the cluster.
    #[cfg(test)]
    pub(crate) fn break_cluster(&self) {
        if let Some(cluster) = &self.cluster {
            cluster.break_down();
        }
    }
}

/// The default lease name of a server outside a cluster.
const SEAT: &str = "main";
