//! The proxy: a port for every node, and its controls.
//!
//! Not here: single datagrams and connections.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use tokio::net::{TcpListener, UdpSocket};
use tokio::runtime::{Builder, Handle};
use tokio::sync::{Notify, watch};

use crate::links::{DatagramConditions, DatagramCounts, DatagramSender, Links};
use crate::queue::DatagramQueue;
use crate::script::{Change, ProcessFault};
use crate::{datagrams, streams};

/// A proxy between the nodes of a cluster, on its own thread. It ends when dropped.
///
/// Give every node a port with [`Mesh::add`], let it advertise that port, and pass to
/// [`Mesh::place`] its real address, now and after each restart.
#[derive(Debug)]
pub struct Mesh {
    shared: Arc<MeshShared>,
    handle: Handle,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
pub(crate) struct MeshShared {
    links: Mutex<Links>,
    nodes: Mutex<BTreeMap<u16, Node>>,
    queue: Mutex<DatagramQueue>,
    pub(crate) queued: Notify,
    /// Counts changes of conditions, for connections that wait for the end of a partition.
    pub(crate) changes: watch::Sender<u64>,
}

/// A node as the mesh knows it.
#[derive(Debug)]
struct Node {
    socket: Arc<UdpSocket>,
    real: Option<SocketAddr>,
    pid: Option<u32>,
}

/// Attempts to find a port that is free for both protocols.
const TRIES_MAX: u32 = 64;

impl Mesh {
    /// `seed` decides losses and delays.
    pub fn new(seed: u64) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let shared = Arc::new(MeshShared {
            links: Mutex::new(Links::new(seed)),
            nodes: Mutex::default(),
            queue: Mutex::default(),
            queued: Notify::new(),
            changes: watch::Sender::new(0),
        });
        let (stop, mut stopped) = watch::channel(false);
        let handle = runtime.handle().clone();
        let delivery = datagrams::deliver(Arc::clone(&shared));
        let thread = thread::Builder::new()
            .name("fault".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        () = delivery => {}
                        // An error means that the mesh was dropped, which is the same.
                        _ = stopped.changed() => {}
                    }
                });
                runtime.shutdown_background();
            })?;
        Ok(Self {
            shared,
            handle,
            stop,
            thread: Some(thread),
        })
    }

    /// Opens a port for a node, the same for UDP and TCP. Returns the address to advertise.
    pub fn add(&self, node: u16) -> io::Result<SocketAddr> {
        let _context = self.handle.enter();
        let (socket, listener) = both_protocols()?;
        let at = socket.local_addr()?;
        let socket = Arc::new(socket);
        let place = Node {
            socket: Arc::clone(&socket),
            real: None,
            pid: None,
        };
        self.shared.nodes().insert(node, place);
        let receiving = datagrams::receive(Arc::clone(&self.shared), node, socket);
        self.handle.spawn(receiving);
        let accepting = streams::accept(Arc::clone(&self.shared), node, listener);
        self.handle.spawn(accepting);
        Ok(at)
    }

    /// Sets the real address of a node. `pid` identifies its connections, which have no fixed port.
    pub fn place(&self, node: u16, real: SocketAddr, pid: Option<u32>) {
        if let Some(known) = self.shared.nodes().get_mut(&node) {
            known.real = Some(real);
            known.pid = pid;
        }
    }

    /// Partitions stay.
    pub fn set_all(&self, weather: DatagramConditions) {
        self.change(|links| links.set_all(weather));
    }

    pub fn set(&self, from: u16, to: u16, weather: DatagramConditions) {
        self.change(|links| links.set(from, to, weather));
    }

    /// Blocks the direction `from` to `to`. The other one stays open, except for connections, which need both.
    pub fn cut(&self, from: &[u16], to: &[u16]) {
        self.change(|links| links.cut(from, to));
    }

    /// Blocks both directions.
    pub fn split(&self, one: &[u16], other: &[u16]) {
        self.change(|links| {
            links.cut(one, other);
            links.cut(other, one);
        });
    }

    /// Removes every partition.
    pub fn mend(&self) {
        self.change(Links::mend_all);
    }

    /// Executes a step of a script; steps about processes are returned to the caller.
    pub fn apply(&self, change: &Change) -> Option<ProcessFault> {
        let usual = self.shared.links().usual();
        match change {
            Change::Delay { base, jitter } => self.set_all(DatagramConditions {
                delay: *base,
                jitter: *jitter,
                ..usual
            }),
            Change::Loss(loss) => self.set_all(DatagramConditions {
                loss: *loss,
                ..usual
            }),
            Change::Duplication(duplication) => self.set_all(DatagramConditions {
                duplication: *duplication,
                ..usual
            }),
            Change::Reordering { odds, hold } => self.set_all(DatagramConditions {
                reordering: *odds,
                hold: *hold,
                ..usual
            }),
            Change::Cut { from, to } => self.cut(from, to),
            Change::Mend { from, to } => self.change(|links| links.mend(from, to)),
            Change::MendAll => self.mend(),
            Change::Process(process) => return Some(*process),
        }
        None
    }

    pub fn counts(&self) -> DatagramCounts {
        self.shared.links().counts
    }

    fn change(&self, change: impl FnOnce(&mut Links)) {
        change(&mut self.shared.links());
        self.shared.changes.send_modify(|count| *count += 1);
    }
}

impl Drop for Mesh {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has ended as well.
            let _ = thread.join();
        }
    }
}

impl MeshShared {
    pub(crate) fn links(&self) -> MutexGuard<'_, Links> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn queue(&self) -> MutexGuard<'_, DatagramQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn nodes(&self) -> MutexGuard<'_, BTreeMap<u16, Node>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The real address of a node.
    pub(crate) fn real(&self, node: u16) -> Option<SocketAddr> {
        self.nodes().get(&node)?.real
    }

    /// The node that sends from that address.
    pub(crate) fn sender(&self, source: SocketAddr) -> DatagramSender {
        let nodes = self.nodes();
        let found = nodes.iter().find(|(_, node)| node.real == Some(source));
        found.map(|(number, _)| *number)
    }

    pub(crate) fn pids(&self) -> BTreeMap<u16, u32> {
        let nodes = self.nodes();
        let known = nodes.iter();
        known
            .filter_map(|(number, node)| Some((*number, node.pid?)))
            .collect()
    }

    /// The socket that forwards a node's datagrams, so that their source is its advertised address.
    pub(crate) fn socket(&self, node: u16) -> Option<Arc<UdpSocket>> {
        self.nodes().get(&node).map(|node| Arc::clone(&node.socket))
    }
}

/// A port of this machine that is free for UDP and TCP.
fn both_protocols() -> io::Result<(UdpSocket, TcpListener)> {
    let at = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    let mut last = io::Error::from(io::ErrorKind::AddrInUse);
    for _ in 0..TRIES_MAX {
        let listener = std::net::TcpListener::bind(at(0))?;
        match std::net::UdpSocket::bind(listener.local_addr()?) {
            Ok(socket) => {
                listener.set_nonblocking(true)?;
                socket.set_nonblocking(true)?;
                return Ok((
                    UdpSocket::from_std(socket)?,
                    TcpListener::from_std(listener)?,
                ));
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}
