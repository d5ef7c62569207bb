//! The thread of the cluster: what it needs before the first port opens, its start, and its two ends.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::{self, JoinHandle};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::net::{TcpListener, UdpSocket};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot, watch};
use tollgate_cluster::{Cluster, ClusterConfig};
use tollgate_gossip::Writer;
use tollgate_limit::Instant;
use tollgate_node::{Lend, Membership, RateDivision};

use super::drive::{Control, Drive, Inbox, Whereabouts};
use super::error::{ClusterError, Fatal};
use super::handle::{Handle, Hub};
use super::identity::NodeIdentity;
use super::join::Joining;
use super::keys::KeyRing;
use super::learn::Learn;
use super::place::NodeSockets;
use super::replicas::{self, Replicas};
use super::roll::{self, Roll};
use super::seal::Sealer;
use super::seeds;
use super::stream::{self, ClusterTls, Ends};
use super::wire::PeerHello;
use crate::durable::DatabaseLease;
use crate::lend::lending;
use crate::settings::{ClusterSettings, QuotaLimits};
use crate::shared::Shared;
use crate::supply::{self, SupplyWriter};

/// Everything a node needs to take part, found and opened before anybody hears of it.
pub(crate) struct Prepared {
    settings: ClusterSettings,
    ring: KeyRing,
    place: NodeSockets,
    identity: NodeIdentity,
    identity_in: Option<PathBuf>,
    /// The writer of the start before.
    was: Option<Writer>,
    cluster: Cluster,
    tls: ClusterTls,
}

/// Runs the loop (`driving`) and what goes on beside it on a thread of its own, until the loop ends.
fn spawn(
    runtime: Runtime,
    shared: Arc<Shared>,
    driving: impl Future<Output = ()> + Send + 'static,
    beside: impl Future<Output = ()> + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let thread = thread::Builder::new().name("cluster".into());
    thread.spawn(move || {
        yield_to_decisions();
        let _mourner = Mourner(shared);
        runtime.block_on(async move {
            tokio::spawn(beside);
            driving.await;
        });
        runtime.shutdown_background();
    })
}

/// Lets threads that answer go first where there are more threads than cores. A wish: without it the node works as
/// well.
fn yield_to_decisions() {
    // Elsewhere threads have no priority of their own.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICE);
}

/// Says so when the thread ends by a mistake of its own: the server goes on with what it counts itself, and is not
/// ready.
struct Mourner(Arc<Shared>);

impl Drop for Mourner {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.state.set_cut_off();
            tracing::error!(
                "the thread of the cluster is gone: this node counts alone, and is not ready"
            );
        }
    }
}

/// The keys that settings name.
pub(crate) fn read_keys(settings: &ClusterSettings) -> Result<KeyRing, ClusterError> {
    let path = settings.key_file.as_deref();
    let path = path.ok_or(ClusterError::NoKeyFile)?;
    KeyRing::read(path).map_err(|error| ClusterError::Key(path.into(), error.to_string()))
}

impl Prepared {
    /// Opens sockets and takes the identity. The data directory is this process' own by now.
    pub(crate) fn new(
        settings: &ClusterSettings,
        ring: KeyRing,
        data_dir: Option<&Path>,
        now: Instant,
    ) -> Result<Self, ClusterError> {
        let place = NodeSockets::take(settings)?;
        let mut identity = NodeIdentity::take(data_dir)?;
        let name = settings.name.clone();
        let config = ClusterConfig {
            name: name.unwrap_or_else(|| default_name(place.at)),
            zone: settings.zone.clone(),
            capacity: settings.capacity,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            id: identity.id,
            generation: identity.generation,
            boot: identity.boot,
            advertise: place.advertise,
            seeds: seeds::literal(&settings.join),
            mtu: settings.mtu,
            bytes_per_second_max: settings.bandwidth,
            seed: getrandom::u64()?,
            pace: settings.pace,
            missing: roll::read(data_dir, now),
        };
        let cluster = Cluster::new(config, now);
        let was = identity.writer.replace(cluster.me().1);
        data_dir.map_or(Ok(()), |folder| identity.keep(folder))?;
        Ok(Self {
            settings: settings.clone(),
            tls: ClusterTls::of(&ring).map_err(ClusterError::Tls)?,
            ring,
            place,
            identity,
            identity_in: data_dir.map(Path::to_owned),
            was,
            cluster,
        })
    }

    /// Who this node is among replicas.
    pub(crate) fn membership(
        &self,
        share: Option<RateDivision>,
        quota: &QuotaLimits,
        now: Instant,
    ) -> Result<Membership, ClusterError> {
        let (me, writer) = self.cluster.me();
        Ok(Membership {
            share,
            lend: Some(self.lend(quota)?),
            ..replicas::membership(me, writer, self.was, now)
        })
    }

    /// The name people know it by.
    pub(crate) fn name(&self) -> String {
        let me = self.cluster.me().0;
        let members = self.cluster.members();
        let mut members = members.iter();
        let name = members.find(|member| member.node == me);
        name.map(|member| member.about.name.clone())
            .unwrap_or_default()
    }

    /// Its part in lending.
    fn lend(&self, quota: &QuotaLimits) -> Result<Lend, ClusterError> {
        let boot = supply::boot();
        let journal = supply::journal(&self.settings, &self.name(), boot)?;
        Ok(Lend {
            quota: quota.rules_among_nodes(),
            // Proven in the lab; live, busy keys are not found yet: see decision 072.
            holder: None,
            // A node without a folder does not know whether it ran before.
            is_first: Arc::new(AtomicBool::new(
                self.identity_in.is_some() && self.identity.generation == 1,
            )),
            ..lending(boot, true, journal)
        })
    }

    /// Its part in dividing rates, and what keeps what it must not forget of them: its seat where it has one.
    pub(crate) fn share(
        &self,
        seat: Option<&DatabaseLease>,
    ) -> Result<Option<(RateDivision, Option<SupplyWriter>)>, ClusterError> {
        let name = self.name();
        let keep = match (seat, self.identity_in.as_deref()) {
            (Some(seat), _) => Some(SupplyWriter::at(seat, &name)),
            (None, Some(folder)) => Some(SupplyWriter::open(folder, &name)),
            (None, None) => None,
        };
        supply::share(&self.settings, &name, keep)
    }
}

/// The host's name and the port: what tells nodes of one machine apart.
fn default_name(at: SocketAddr) -> String {
    let system = rustix::system::uname();
    let host: String = system
        .nodename()
        .to_string_lossy()
        .chars()
        .filter(|letter| !letter.is_control() && *letter != ' ')
        .take(HOST_CHARS_MAX)
        .collect();
    format!("{host}:{}", at.port())
}

/// The thread of the cluster. Dropped, it ends at once and tells nobody, as if the process had been killed.
pub(crate) struct Daemon {
    hub: Arc<Hub>,
    at: SocketAddr,
    key_file: Option<PathBuf>,
    /// Of the cluster's secret, which never changes.
    seed: [u64; 2],
    /// The thread, and a way to tell it something, until it ends.
    running: Mutex<Option<(mpsc::Sender<Control>, JoinHandle<()>)>>,
}

impl Daemon {
    /// Starts the thread, and lets connections know of the cluster.
    pub(crate) fn start(prepared: Prepared, shared: &Arc<Shared>) -> Result<Self, ClusterError> {
        let failed = ClusterError::Thread;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(failed)?;
        let context = runtime.enter();
        let socket = UdpSocket::from_std(prepared.place.datagrams).map_err(failed)?;
        let listener = TcpListener::from_std(prepared.place.streams).map_err(failed)?;
        drop(context);
        // Until here the time of day was all it knew.
        let mut cluster = prepared.cluster;
        cluster.set_day(shared.engine.now(), supply::steady_now());
        let hub = Arc::new(Hub::new(cluster, prepared.ring.owner_key()));
        let (control, controls) = mpsc::channel(CONTROLS_MAX);
        let (arrived, arrivals) = mpsc::channel(ARRIVED_MAX);
        let (found, seeds) = mpsc::channel(1);
        let (alone, is_alone) = watch::channel(true);
        let ends = Arc::new(Ends {
            me: hello_of(&prepared.identity),
            tls: ArcSwap::from_pointee(prepared.tls),
            hub: Arc::clone(&hub),
            arrived,
        });
        hub.set_ends(&ends);
        let joins = prepared.settings.join.clone();
        let joining = Joining::new(!joins.is_empty(), supply::steady_now());
        shared.state.arrival().begin();
        let drive = Drive {
            shared: Arc::clone(shared),
            hub: Arc::clone(&hub),
            ends: Arc::clone(&ends),
            replicas: Replicas::new(Arc::clone(shared)),
            roll: Roll::new(prepared.identity_in.as_deref()),
            socket,
            sealer: Sealer::new(&prepared.ring),
            identity: prepared.identity,
            identity_in: prepared.identity_in,
            lines: std::collections::BTreeMap::new(),
            joining,
            learn: Learn::default(),
            alone,
            buffer: vec![0; DATAGRAM_BYTES_MAX],
            whereabouts: Whereabouts {
                at: prepared.place.at,
                told: prepared.place.advertise,
                settings: prepared.settings.clone(),
                looked: supply::steady_now(),
            },
        };
        let inbox = Inbox {
            arrived: arrivals,
            control: controls,
            seeds,
        };
        let beside = async move {
            tokio::spawn(seeds::look(joins, is_alone, found));
            stream::accept(listener, ends).await;
        };
        let thread = spawn(runtime, Arc::clone(shared), drive.run(inbox), beside);
        // Nobody else sets it.
        let _ = shared.cluster.set(Handle::new(Arc::clone(&hub)));
        Ok(Self {
            hub,
            at: prepared.place.at,
            key_file: prepared.settings.key_file,
            seed: prepared.ring.seed(),
            running: Mutex::new(Some((control, thread.map_err(failed)?))),
        })
    }

    /// Where other nodes reach this one, with the port that was chosen.
    pub(crate) const fn at(&self) -> SocketAddr {
        self.at
    }

    /// Tells when the server must stop.
    pub(crate) fn fatal(&self) -> watch::Receiver<Option<Fatal>> {
        self.hub.fatal.subscribe()
    }

    /// Reads the key file again. Keys that cannot be used change nothing.
    pub(crate) fn reload(&self) -> Result<(), String> {
        let Some(path) = &self.key_file else {
            return Ok(());
        };
        let wrong = |what: String| format!("{}: {what}", path.display());
        let ring = KeyRing::read(path).map_err(|error| wrong(error.to_string()))?;
        if ring.seed() != self.seed {
            let what = "the secret of a cluster never changes; restart with another data directory to join another";
            return Err(wrong(what.into()));
        }
        if self.tell(Control::Keys(Box::new(ring))) {
            return Ok(());
        }
        Err(wrong("the thread of the cluster does not listen".into()))
    }

    /// Breaks the thread, as a mistake in it would.
    #[cfg(test)]
    pub(crate) fn break_down(&self) {
        assert!(self.tell(Control::Break));
    }

    /// Hands over and leaves.
    pub(crate) fn leave(&self) {
        let (done, is_done) = oneshot::channel();
        if self.tell(Control::Leave(done)) {
            // Bounded there; gone with its thread otherwise.
            let _ = is_done.blocking_recv();
        }
    }

    /// Ends, and tells nobody who was not told before.
    pub(crate) fn end(&self) {
        if let Some((control, thread)) = self.running.lock().take() {
            drop(control);
            // What panicked has been told by the panic.
            let _ = thread.join();
        }
    }

    fn tell(&self, what: Control) -> bool {
        let running = self.running.lock();
        let control = running.as_ref().map(|(control, _)| control);
        control.is_some_and(|control| control.try_send(what).is_ok())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.end();
    }
}

/// What a node says of itself at the other end of a stream.
const fn hello_of(identity: &NodeIdentity) -> PeerHello {
    PeerHello {
        id: identity.id,
        boot: identity.boot,
    }
}

/// Characters of a host's name in the name of a node.
const HOST_CHARS_MAX: usize = 40;
/// How far behind the threads that answer, as `nice` counts: by weight a tenth of one.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;
const CONTROLS_MAX: usize = 16;
/// Messages of streams that wait for the loop.
const ARRIVED_MAX: usize = 256;
/// As long as a datagram can be.
const DATAGRAM_BYTES_MAX: usize = 65_536;
