//! Private servers on free ports, in folders of their own, gone with whoever started them.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::{Client, FromRedisValue};
use tempfile::TempDir;
use tollgate_contract::Contracts;
use tollgate_limit::{Cost, Lot};
use tollgate_store::{Ask, Book, Engine, Failure, Name, Said, Verb};
use tollgate_store_redis::{Config, Redis, Servers};

/// Bounds a failure only: whatever is waited for comes as soon as it can.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A server of Redis.
pub(crate) struct Server {
    child: Child,
    _folder: TempDir,
    pub(crate) port: u16,
    pub(crate) bus: u16,
}

impl Server {
    /// One with these settings. `PORT` and `BUS` in them are free ports.
    pub(crate) fn start(settings: &[&str]) -> Self {
        // A free port may be taken before the server has it: then another.
        for _ in 0..20 {
            if let Some(server) = Self::start_at(settings, (free_port(), free_port())) {
                return server;
            }
        }
        panic!("redis-server does not start");
    }

    /// One at these ports; `None` where they are taken.
    pub(crate) fn start_at(settings: &[&str], (port, bus): (u16, u16)) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("redis.conf");
        let is_sentinel = settings.iter().any(|line| line.starts_with("sentinel"));
        let mut text = format!("bind 127.0.0.1\ndir {}\n", folder.path().display());
        if !is_sentinel {
            text.push_str("save \"\"\nappendonly no\nrepl-diskless-sync-delay 0\n");
        }
        if !settings.iter().any(|line| line.starts_with("tls-port")) {
            text.push_str("port PORT\n");
        }
        for line in settings {
            text.push_str(line);
            text.push('\n');
        }
        let text = text
            .replace("PORT", &port.to_string())
            .replace("BUS", &bus.to_string());
        std::fs::write(&file, text).unwrap();
        let child = Command::new("redis-server")
            .arg(&file)
            .args(is_sentinel.then_some("--sentinel"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("redis-server: {error}"));
        let mut server = Self {
            child,
            _folder: folder,
            port,
            bus,
        };
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if server.child.try_wait().unwrap().is_some() {
                return None;
            }
            if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Some(server);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Does one command, on a connection of its own.
    pub(crate) fn ask<T: FromRedisValue>(&self, command: &[&str]) -> T {
        self.try_ask(command)
            .unwrap_or_else(|error| panic!("{command:?}: {error}"))
    }

    pub(crate) fn try_ask<T: FromRedisValue>(&self, command: &[&str]) -> redis::RedisResult<T> {
        let client = Client::open(format!("redis://{}", self.address()))?;
        let mut connection = client.get_connection_with_timeout(Duration::from_secs(5))?;
        let mut cmd = redis::cmd(command[0]);
        for part in &command[1..] {
            cmd.arg(*part);
        }
        cmd.query(&mut connection)
    }

    /// Calls of a command since the statistics were reset.
    pub(crate) fn calls(&self, command: &str) -> u64 {
        let text: String = self.ask(&["INFO", "commandstats"]);
        let line = format!("cmdstat_{command}:calls=");
        let found = text.lines().find_map(|text| text.strip_prefix(&line));
        found.map_or(0, |rest| rest.split(',').next().unwrap().parse().unwrap())
    }

    /// Stops it without its noticing.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, signal).unwrap();
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that was killed is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

/// Waits until something is so.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let start = Instant::now();
    while !is_so().await {
        assert!(start.elapsed() < PATIENCE, "waited too long until {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// For one server, and keys that outlive any trace.
pub(crate) fn config(server: &Server) -> Config {
    lingering(Servers::Single(server.address()))
}

/// Traces have a time of their own, so keys must outlive them in this one.
pub(crate) fn lingering(servers: Servers) -> Config {
    let mut config = Config::new(servers);
    config.linger = Duration::from_hours(1);
    config
}

/// The engine, connected.
pub(crate) async fn open(config: &Config) -> Arc<Redis> {
    let engine = Arc::new(Redis::open(config).unwrap());
    until("the engine is connected", async || engine.is_up()).await;
    engine
}

/// The first contract of these policies, in the words of a contract file.
pub(crate) fn book(policies: &[&str]) -> Arc<Book> {
    let policies: Vec<String> = policies
        .iter()
        .map(|line| format!("      - {{ {line} }}\n"))
        .collect();
    let file = format!(
        "contracts:\n  - id: api\n    key: [user]\n    policies:\n{}",
        policies.concat()
    );
    let contracts = Contracts::parse(&file).unwrap();
    Arc::new(Book::of(contracts.get(0).unwrap()).unwrap())
}

pub(crate) const FIVE: [&str; 5] = [
    "name: second, limit: 100, per: 1s",
    "name: minute, limit: 1000, per: 1m, algorithm: sliding-weighted",
    "name: hour, limit: 10000, per: 1h, algorithm: fixed-window",
    "name: day, limit: 50000, per: 1d",
    "name: month, limit: 1000000, per: month, algorithm: fixed-window",
];

pub(crate) fn now() -> tollgate_limit::Instant {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    tollgate_limit::Instant::from_nanos(u64::try_from(since.as_nanos()).unwrap())
}

pub(crate) fn check(book: &Arc<Book>, name: u128, cost: u32) -> Ask {
    let verb = Verb::Check {
        cost: Cost::from_u32(cost),
        lot: Lot::ALWAYS,
    };
    asks(book, name, verb)
}

pub(crate) fn asks(book: &Arc<Book>, name: u128, verb: Verb) -> Ask {
    Ask {
        book: Arc::clone(book),
        name: Name(name),
        verb,
        now: now(),
    }
}

/// Asks for one thing, and whether it was admitted.
pub(crate) async fn one(engine: &Redis, ask: Ask, time: Duration) -> Result<bool, Failure> {
    let said = engine.ask(vec![ask], time).await.remove(0)?;
    match said {
        Said::Outcome { outcome, .. } => Ok(outcome.decision.verdict.is_allowed()),
        said => panic!("a check is answered by {said:?}"),
    }
}

/// Six servers of one Cluster: three primaries, and a replica of each.
pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Server>,
}

impl Cluster {
    pub(crate) async fn start() -> Self {
        let settings = [
            "cluster-enabled yes",
            "cluster-port BUS",
            "cluster-node-timeout 1000",
            "cluster-replica-validity-factor 0",
        ];
        let nodes: Vec<Server> = (0..6).map(|_| Server::start(&settings)).collect();
        let ranges = [["0", "5460"], ["5461", "10922"], ["10923", "16383"]];
        for (place, node) in nodes.iter().enumerate() {
            let () = node.ask(&["CLUSTER", "SET-CONFIG-EPOCH", &(place + 1).to_string()]);
            if let Some([from, to]) = ranges.get(place) {
                let () = node.ask(&["CLUSTER", "ADDSLOTSRANGE", from, to]);
            }
            let (port, bus) = (node.port.to_string(), node.bus.to_string());
            let () = nodes[0].ask(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus]);
        }
        let says = |node: &Server, line: &str| {
            let info: String = node.ask(&["CLUSTER", "INFO"]);
            info.contains(line)
        };
        until("all nodes know each other", async || {
            nodes.iter().all(|node| says(node, "cluster_known_nodes:6"))
        })
        .await;
        for place in 0..3 {
            let primary: String = nodes[place].ask(&["CLUSTER", "MYID"]);
            // It may not know yet that the other is a primary.
            until("a replica has its primary", async || {
                nodes[place + 3]
                    .try_ask::<()>(&["CLUSTER", "REPLICATE", &primary])
                    .is_ok()
            })
            .await;
        }
        until("the Cluster is up", async || {
            nodes.iter().all(|node| says(node, "cluster_state:ok"))
                && nodes[..3].iter().all(|node| is_followed(node, 1))
        })
        .await;
        Self { nodes }
    }

    pub(crate) fn config(&self) -> Config {
        lingering(Servers::Cluster(
            self.nodes.iter().map(Server::address).collect(),
        ))
    }

    /// The place of the primary that has a key at the start.
    pub(crate) fn owner(&self, book: &Book, name: u128) -> usize {
        let key = format!("{:016x}{name:032x}", book.tag());
        let slot: u64 = self.nodes[5].ask(&["CLUSTER", "KEYSLOT", &key]);
        match slot {
            0..=5460 => 0,
            5461..=10922 => 1,
            _ => 2,
        }
    }
}

/// Whether so many replicas are in step with a primary.
pub(crate) fn is_followed(primary: &Server, replicas: usize) -> bool {
    let info: redis::RedisResult<String> = primary.try_ask(&["INFO", "replication"]);
    info.is_ok_and(|info| info.matches("state=online").count() == replicas)
}

/// What load saw while something happened to the servers.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) admitted: u64,
    pub(crate) refused: u64,
    pub(crate) failed: u64,
    pub(crate) slowest: Duration,
}

/// Asks for one key from several tasks until told to stop, each ask with so much time.
pub(crate) async fn load(
    engine: &Arc<Redis>,
    book: &Arc<Book>,
    name: u128,
    time: Duration,
    stop: &Arc<std::sync::atomic::AtomicBool>,
) -> Seen {
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let (engine, book, stop) = (Arc::clone(engine), Arc::clone(book), Arc::clone(stop));
            tokio::spawn(async move {
                let mut seen = Seen::default();
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let start = Instant::now();
                    match one(&engine, check(&book, name, 1), time).await {
                        Ok(true) => seen.admitted += 1,
                        Ok(false) => seen.refused += 1,
                        Err(_) => {
                            seen.failed += 1;
                            tokio::time::sleep(Duration::from_millis(1)).await;
                        }
                    }
                    seen.slowest = seen.slowest.max(start.elapsed());
                }
                seen
            })
        })
        .collect();
    let mut all = Seen::default();
    for task in tasks {
        let seen = task.await.unwrap();
        all.admitted += seen.admitted;
        all.refused += seen.refused;
        all.failed += seen.failed;
        all.slowest = all.slowest.max(seen.slowest);
    }
    all
}

/// What is counted for a key of a contract with one fixed window.
pub(crate) async fn counted(engine: &Redis, book: &Arc<Book>, name: u128) -> u64 {
    let said = engine
        .ask(vec![asks(book, name, Verb::Show)], PATIENCE)
        .await
        .remove(0);
    match said.expect("an answer") {
        Said::Found(None) => 0,
        Said::Found(Some(found)) => match found.kept[0] {
            tollgate_limit::Kept::Count(count) => count,
            ref kept => panic!("not a count: {kept:?}"),
        },
        said => panic!("a show is answered by {said:?}"),
    }
}

/// The failure that an engine ends up with.
pub(crate) async fn kind_of(config: &Config, ask: &Ask) -> &'static str {
    let engine = Redis::open(config).unwrap();
    let mut kind = "";
    until("there is a reason", async || {
        let failure = one(&engine, ask.clone(), PATIENCE)
            .await
            .expect_err("it cannot be asked");
        kind = failure.kind();
        !failure.to_string().contains("not connected yet")
    })
    .await;
    kind
}
