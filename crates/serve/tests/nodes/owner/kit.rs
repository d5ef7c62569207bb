//! Three servers in one process, the network between them, and clients.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::uri::PathAndQuery;
use parking_lot::Mutex;
use prost::Message;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tollgate_cluster::OwnerKey;
use tollgate_contract::{Contracts, Coordination};
use tollgate_gossip::NodeId;
use tollgate_node::NodeConfig;
use tollgate_serve::cluster::RequestError;
use tollgate_serve::engine::{Engine, Registrar, Secrets};
use tollgate_serve::owner::{
    Arrival, Crew, Mover, NodePeers, Owner, OwnerCounts, OwnerSettings, PendingReply, Responder,
};
use tollgate_serve::settings::Settings;
use tollgate_serve::shared::{Peer, Shared, Stop};
use tollgate_serve::{http as door_http, resp as door_resp};
use tollgate_table::Seed;
use tonic::client::Grpc;
use tonic::transport::Endpoint;
use tonic_prost::ProstCodec;

/// Nothing here takes as long unless it hangs.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// The network between the servers.
pub(crate) struct Net {
    nodes: Mutex<BTreeMap<NodeId, Arc<Responder>>>,
    alive: Mutex<Vec<(NodeId, u128)>>,
    version: watch::Sender<u64>,
    /// Unreachable nodes.
    pub(crate) cut: Mutex<BTreeSet<NodeId>>,
    /// Nodes that never answer.
    pub(crate) mute: Mutex<BTreeSet<NodeId>>,
    pub(crate) requests: AtomicU64,
}

struct Desk {
    net: Arc<Net>,
    me: NodeId,
}

impl NodePeers for Desk {
    fn crew(&self) -> Crew {
        Crew {
            me: Some(self.me),
            alive: self.net.alive.lock().clone(),
        }
    }

    fn request(&self, to: NodeId, kind: u8, body: Vec<u8>, within: Duration) -> PendingReply {
        let net = Arc::clone(&self.net);
        let me = self.me;
        Box::pin(async move {
            net.requests.fetch_add(1, Relaxed);
            let is_cut = |node| net.cut.lock().contains(node);
            if is_cut(&to) || is_cut(&me) {
                return Err(RequestError::Unreachable);
            }
            if net.mute.lock().contains(&to) {
                tokio::time::sleep(within).await;
                return Err(RequestError::Late);
            }
            tokio::task::yield_now().await;
            let responder = net.nodes.lock().get(&to).cloned();
            let responder = responder.ok_or(RequestError::Unknown)?;
            let answer = responder.answer_later(kind, Bytes::from(body)).await;
            Ok(Bytes::from(answer.ok_or(RequestError::Refused)?))
        })
    }
}

pub(crate) struct OwnerServer {
    pub(crate) id: NodeId,
    pub(crate) shared: Arc<Shared>,
    pub(crate) owner: Arc<Owner>,
    pub(crate) responder: Arc<Responder>,
    pub(crate) arrival: Arc<Arrival>,
    pub(crate) http: SocketAddr,
    pub(crate) resp: SocketAddr,
    mover: Option<Mover>,
}

/// Servers that know each other.
pub(crate) struct OwnerCluster {
    pub(crate) net: Arc<Net>,
    pub(crate) servers: Vec<OwnerServer>,
    contracts: String,
    settings: OwnerSettings,
    /// Creates the registrar of keys' terms, if any.
    registrar: Option<fn() -> Arc<dyn Registrar>>,
}

impl OwnerCluster {
    /// Three of them, with time enough that a busy machine makes no difference.
    pub(crate) async fn of(contracts: &str) -> Self {
        let deadline = Duration::from_secs(5);
        Self::with(contracts, OwnerSettings { deadline }).await
    }

    pub(crate) async fn with(contracts: &str, settings: OwnerSettings) -> Self {
        Self::made(contracts, settings, None).await
    }

    /// Three whose keys may have terms of their own, which each looks up for itself.
    pub(crate) async fn assigned(contracts: &str, registrar: fn() -> Arc<dyn Registrar>) -> Self {
        let deadline = Duration::from_secs(5);
        Self::made(contracts, OwnerSettings { deadline }, Some(registrar)).await
    }

    async fn made(
        contracts: &str,
        settings: OwnerSettings,
        registrar: Option<fn() -> Arc<dyn Registrar>>,
    ) -> Self {
        let net = Arc::new(Net {
            nodes: Mutex::default(),
            alive: Mutex::default(),
            version: watch::Sender::new(0),
            cut: Mutex::default(),
            mute: Mutex::default(),
            requests: AtomicU64::new(0),
        });
        let mut cluster = Self {
            net,
            servers: Vec::new(),
            contracts: contracts.to_owned(),
            settings,
            registrar,
        };
        for id in [3, 7, 11] {
            cluster.start(NodeId(id)).await;
        }
        cluster
    }

    /// Three of which each begins by learning from the others.
    pub(crate) async fn arriving(contracts: &str) -> Self {
        let mut cluster = Self::of(contracts).await;
        for id in [3, 7, 11] {
            cluster.bury(NodeId(id));
        }
        cluster.servers.clear();
        for id in [23, 27, 31] {
            cluster.start_arriving(NodeId(id)).await;
        }
        cluster
    }

    /// Starts one more.
    pub(crate) async fn start(&mut self, id: NodeId) {
        self.start_arriving(id).await;
        self.servers.last().unwrap().arrival.end();
    }

    /// Starts one more, which not all others know.
    pub(crate) async fn start_arriving(&mut self, id: NodeId) {
        let arrival = Arc::new(Arrival::default());
        arrival.begin();
        let mut contracts = Contracts::parse_any(&self.contracts).unwrap();
        contracts.coordinate_imported(Coordination::Owner);
        let secrets = Secrets {
            table: Seed::new([5, 6]),
            receipts: [id.0.to_le_bytes()[0]; 32],
        };
        let config = NodeConfig {
            is_assigned: self.registrar.is_some(),
            ..NodeConfig::default()
        };
        let engine = Engine::new(contracts, config, &secrets);
        if let Some(registrar) = self.registrar {
            engine.set_registrar(registrar());
        }
        let shared = Arc::new(Shared::new(engine, Settings::default()));
        let desk = Arc::new(Desk {
            net: Arc::clone(&self.net),
            me: id,
        });
        let owner = Owner::new(OwnerKey([9; 16]), self.settings, desk);
        let owner = Arc::new(owner.arriving(&arrival));
        shared.engine.set_elsewhere(Arc::clone(&owner) as _);
        let responder = Arc::new(Responder::new(&owner, &shared));
        let mover = Mover::start(Arc::clone(&owner), &shared, self.net.version.subscribe());
        let (http, resp) = (listen(&shared, true).await, listen(&shared, false).await);
        self.net.nodes.lock().insert(id, Arc::clone(&responder));
        self.servers.push(OwnerServer {
            id,
            shared,
            owner,
            responder,
            arrival,
            http,
            resp,
            mover: Some(mover.unwrap()),
        });
        self.admit(id);
    }

    fn admit(&self, id: NodeId) {
        let mut alive = self.net.alive.lock();
        alive.push((id, u128::from(id.0) << 70 | 5));
        alive.sort_unstable();
        drop(alive);
        self.change();
    }

    /// Every server learns the members.
    fn change(&self) {
        self.net.version.send_modify(|version| *version += 1);
        for server in &self.servers {
            server.owner.refresh();
        }
    }

    /// A node dies, and every server learns of it.
    pub(crate) fn bury(&self, id: NodeId) {
        self.net.nodes.lock().remove(&id);
        self.net.alive.lock().retain(|(node, _)| *node != id);
        self.change();
    }

    /// A node leaves as it should.
    pub(crate) async fn leave(&mut self, at: usize) {
        let mover = self.servers[at].mover.take().unwrap();
        let mover = tokio::task::spawn_blocking(move || {
            mover.leave(DEADLINE);
            mover
        });
        self.servers[at].mover = Some(mover.await.unwrap());
        self.bury(self.servers[at].id);
    }

    /// The server that owns a bare key of the first contract, and one that does not.
    pub(crate) fn sides(&self, key: &str) -> (&OwnerServer, &OwnerServer) {
        let is_owner = |server: &&OwnerServer| server.owns(key);
        let owner = self.servers.iter().find(is_owner).unwrap();
        let other = self.servers.iter().find(|server| !is_owner(server));
        (owner, other.unwrap())
    }
}

impl OwnerServer {
    /// The next pass over the keys here, which begins at once.
    pub(crate) fn next_pass(&self) -> u64 {
        self.owner.next_pass()
    }

    /// Whether that pass sent a node all that is its own.
    pub(crate) fn has_passed(&self, pass: u64, to: NodeId) -> bool {
        self.owner.has_passed(pass, to)
    }

    /// Whether this server decides about a bare key alone.
    pub(crate) fn owns(&self, key: &str) -> bool {
        use tollgate_serve::engine::{Elsewhere, Scope};
        let node = self.shared.engine.node();
        let spots = node.within(Scope::All).unwrap().spots(key.into());
        self.owner.is_here(&node, &spots)
    }

    pub(crate) fn counts(&self) -> &OwnerCounts {
        self.owner.counts()
    }

    /// Cells of owned contracts that lie here.
    pub(crate) fn cells(&self) -> usize {
        self.shared.engine.node().cells_count()
    }

    /// `POST` with a body in JSON: status, head, body.
    pub(crate) async fn post(&self, path: &str, body: &str) -> (u16, String, String) {
        let length = body.len();
        let head = "host: a\r\ncontent-type: application/json\r\nconnection: close";
        let request =
            format!("POST {path} HTTP/1.1\r\n{head}\r\ncontent-length: {length}\r\n\r\n{body}");
        raw_http(self.http, &request).await
    }

    /// Whether one check of a bare key may pass.
    pub(crate) async fn check(&self, key: &str) -> bool {
        let (status, _, body) = self
            .post("/v1/check", &format!("{{\"key\":\"{key}\"}}"))
            .await;
        assert_eq!(status, 200, "{body}");
        body.contains("\"allowed\":true")
    }

    /// What is left of a bare key, by its first policy.
    pub(crate) async fn remaining(&self, key: &str) -> Vec<u64> {
        let (_, _, body) = self
            .post("/v1/peek", &format!("{{\"key\":\"{key}\"}}"))
            .await;
        let each = body.split("\"remaining\":").skip(1);
        let digits = each.map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap());
        digits.map(|digits| digits.parse().unwrap()).collect()
    }

    /// Sends commands in one write, and reads as many replies.
    pub(crate) async fn pipeline(&self, commands: &[Vec<&str>]) -> Vec<String> {
        let mut bytes = Vec::new();
        for words in commands {
            bytes.extend(format!("*{}\r\n", words.len()).bytes());
            for word in words {
                bytes.extend(format!("${}\r\n{word}\r\n", word.len()).bytes());
            }
        }
        let mut stream = BufReader::new(TcpStream::connect(self.resp).await.unwrap());
        stream.write_all(&bytes).await.unwrap();
        let mut replies = Vec::new();
        for _ in commands {
            let reply = tokio::time::timeout(DEADLINE, reply(&mut stream)).await;
            replies.push(reply.unwrap());
        }
        replies
    }

    pub(crate) async fn call<Q, A>(&self, path: &'static str, question: Q) -> A
    where
        Q: Message + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.http)).unwrap();
        let mut grpc = Grpc::new(endpoint.connect().await.unwrap());
        grpc.ready().await.unwrap();
        let codec = ProstCodec::<Q, A>::default();
        let path = PathAndQuery::from_static(path);
        let answer = grpc.unary(tonic::Request::new(question), path, codec).await;
        answer.unwrap().into_inner()
    }
}

pub(crate) async fn raw_http(at: SocketAddr, request: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(at).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let read = tokio::time::timeout(DEADLINE, stream.read_to_string(&mut answer)).await;
    read.unwrap().unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_owned(), body.to_owned())
}

/// One reply as text, its parts with spaces between them.
async fn reply(stream: &mut BufReader<TcpStream>) -> String {
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    let line = line.trim_end();
    let (kind, rest) = line.split_at(1);
    match kind {
        "*" => {
            let mut parts = Vec::new();
            for _ in 0..rest.parse::<usize>().unwrap() {
                parts.push(Box::pin(reply(stream)).await);
            }
            parts.join(" ")
        }
        "$" if rest == "-1" => "nil".to_owned(),
        "$" => {
            let mut bytes = vec![0; rest.parse::<usize>().unwrap() + 2];
            stream.read_exact(&mut bytes).await.unwrap();
            bytes.truncate(bytes.len() - 2);
            String::from_utf8(bytes).unwrap()
        }
        _ => line.to_owned(),
    }
}

async fn listen(shared: &Arc<Shared>, is_http: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let shared = Arc::downgrade(shared);
    tokio::spawn(async move {
        let (_sender, stop) = Stop::new();
        while let Ok((stream, address)) = listener.accept().await {
            let Some(shared) = shared.upgrade() else {
                return;
            };
            let peer = Peer {
                address: Some(address),
                certified: false,
                is_sealed: false,
                connection: 1,
            };
            if is_http {
                let site = Arc::default();
                tokio::spawn(door_http::serve(stream, peer, site, shared, stop.clone()));
            } else {
                tokio::spawn(door_resp::serve(stream, peer, shared, stop.clone()));
            }
        }
    });
    at
}

pub(crate) async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < DEADLINE, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
