//! A server under load is killed at any moment and started again: what it charged is there, but for a flush interval,
//! on its disk, or in a database where the disk is lost as well. One that stood still meanwhile overwrites nothing
//! there.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a broken set-up must stop the test"
)]

use std::fmt::Debug;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tollgate_parts::{Postgres, until};

const LIMIT: u64 = 1_000_000_000;
const FLUSH: Duration = Duration::from_millis(250);
/// On a machine that is busy with other tests a flush begins late and takes long.
const SLACK: Duration = Duration::from_millis(750);
const ROUNDS: u32 = 10;

struct Server {
    child: Child,
    http: SocketAddr,
}

impl Server {
    fn start(folder: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tollgate"))
            .args([
                "serve",
                "--http",
                "127.0.0.1:0",
                "--no-resp",
                "--format",
                "json",
                "--config",
            ])
            .arg(folder.join("tollgate.yaml"))
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let said: serde_json::Value =
            serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"));
        let http = find_address(&said).unwrap_or_else(|| panic!("{line}"));
        Self { child, http }
    }

    fn kill(self) {
        drop(self);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// The value of a metric without labels.
    fn metric<T: FromStr<Err: Debug>>(&self, name: &str) -> T {
        let mut stream = TcpStream::connect(self.http).unwrap();
        write!(
            stream,
            "GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let mut lines = text.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.unwrap().parse().unwrap()
    }
}

impl Drop for Server {
    // A test that fails leaves no server behind.
    fn drop(&mut self) {
        // SIGKILL: nothing is flushed, nothing is closed.
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// The first text in the line that is an address.
fn find_address(said: &serde_json::Value) -> Option<SocketAddr> {
    match said {
        serde_json::Value::String(text) => text
            .trim_start_matches("http://")
            .trim_end_matches('/')
            .parse()
            .ok(),
        serde_json::Value::Array(items) => items.iter().find_map(find_address),
        serde_json::Value::Object(fields) => fields.values().find_map(find_address),
        _ => None,
    }
}

/// A connection that asks one request after the other.
struct Client(BufReader<TcpStream>);

impl Client {
    fn connect(http: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(http)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        stream.set_nodelay(true)?;
        Ok(Self(BufReader::new(stream)))
    }

    fn ask(&mut self, cost: u32) -> std::io::Result<serde_json::Value> {
        let body = format!(r#"{{"key": {{"user": "ann"}}, "cost": {cost}}}"#);
        let request = format!(
            "POST /v1/check HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        self.0.get_mut().write_all(request.as_bytes())?;
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(text) = line.strip_prefix("content-length:") {
                length = text.trim().parse().unwrap();
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body)?;
        Ok(serde_json::from_slice(&body).unwrap())
    }
}

fn used(http: SocketAddr) -> u64 {
    let answer = Client::connect(http).unwrap().ask(0).unwrap();
    LIMIT
        - answer["remaining"]
            .as_u64()
            .unwrap_or_else(|| panic!("{answer}"))
}

/// Settings of a server: where it keeps counts, and one policy.
fn settle(folder: &Path, keeping: &str) {
    let settings = format!(
        "{keeping}\nflush_every: 250ms\ncontracts:\n  - id: api\n    key: [user]\n    policies:\n      \
         - {{ name: year, limit: {LIMIT}, per: 100d, algorithm: fixed-window, durable: true }}\n"
    );
    std::fs::write(folder.join("tollgate.yaml"), settings).unwrap();
}

#[test]
fn a_killed_server_loses_a_flush_interval_at_most() {
    let folder = tempfile::tempdir().unwrap();
    settle(folder.path(), "data_dir: data");
    loses_what_it_says_at_most(folder.path(), ROUNDS, Some(FLUSH + SLACK), || {});
}

#[test]
fn a_server_that_loses_its_disk_as_well_finds_its_counts_in_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let database = Postgres::start();
    let url = database.url();
    settle(
        folder.path(),
        &format!("data_dir: data\ndatabase: {{ url: \"{url}\", seat: n1 }}"),
    );
    let data = folder.path().join("data");
    // How long a database takes that has to share the processors with all this is its own affair.
    loses_what_it_says_at_most(folder.path(), 5, None, || {
        std::fs::remove_dir_all(&data).unwrap();
    });
}

#[test]
fn a_server_that_stood_still_overwrites_nothing_of_the_one_that_has_its_seat() {
    let folder = tempfile::tempdir().unwrap();
    let database = Postgres::start();
    settle(
        folder.path(),
        &format!("database: {{ url: \"{}\" }}", database.url()),
    );
    let old = Server::start(folder.path());
    let charge = |server: &Server, cost| {
        Client::connect(server.http).unwrap().ask(cost).unwrap();
    };
    charge(&old, 10);
    until("it is written", || {
        old.metric::<u64>("tollgate_durable_rows_total") > 0
    });
    charge(&old, 1000);
    old.signal(Signal::STOP);
    let new = Server::start(folder.path());
    let before = used(new.http);
    assert!(before == 10 || before == 1010, "{before}");
    charge(&new, 7);
    until("it is written", || {
        new.metric::<u64>("tollgate_durable_rows_total") > 0
    });
    old.signal(Signal::CONT);
    charge(&old, 100);
    until("the old one is told", || {
        old.metric::<u64>("tollgate_durable_refused_total") > 0
    });
    charge(&old, 100);
    let told = old.metric::<u64>("tollgate_durable_refused_total");
    until("it was told again", || {
        old.metric::<u64>("tollgate_durable_refused_total") > told + 1
    });
    assert_eq!(used(old.http), 1210, "it goes on deciding");
    assert_eq!(used(new.http), before + 7);
    assert_eq!(new.metric::<u64>("tollgate_durable_refused_total"), 0);
    new.kill();
    // The old one is still there, and still keeps nothing.
    assert_eq!(used(Server::start(folder.path()).http), before + 7);
}

/// What is lost is measured by what clients were answered: of the charges that were found, the newest tells until when
/// all was kept. That must be no less than the server says it would lose, nor than `at_most`.
fn loses_what_it_says_at_most(
    folder: &Path,
    rounds: u32,
    at_most: Option<Duration>,
    meanwhile: impl Fn(),
) {
    let mut server = Server::start(folder);
    let mut known = 0;
    let mut losses = Vec::new();
    for round in 0..rounds {
        let asked = AtomicU64::new(0);
        let life = Duration::from_millis(u64::from(1_100 + (round * 7_919) % 900));
        let killed = Instant::now() + life;
        let mut kept = Instant::now();
        let mut answered: Vec<Instant> = std::thread::scope(|scope| {
            let load = |_| {
                let mut client = Client::connect(server.http).unwrap();
                let asked = &asked;
                scope.spawn(move || {
                    let mut answered = Vec::new();
                    loop {
                        asked.fetch_add(1, SeqCst);
                        match client.ask(1) {
                            Ok(_) => answered.push(Instant::now()),
                            Err(_) => return answered,
                        }
                    }
                })
            };
            let clients: Vec<_> = (0..2).map(load).collect();
            std::thread::sleep(killed.saturating_duration_since(Instant::now()));
            let asked_at = Instant::now();
            let lag: f64 = server.metric("tollgate_durable_flush_lag_seconds");
            kept = asked_at.checked_sub(Duration::from_secs_f64(lag)).unwrap();
            server.kill();
            clients
                .into_iter()
                .flat_map(|client| client.join().unwrap())
                .collect()
        });
        let end = Instant::now();
        answered.sort_unstable();
        meanwhile();
        server = Server::start(folder);
        let found = used(server.http) - known;
        let charged = asked.load(SeqCst);
        let kept = at_most.map_or(kept, |at_most| kept.max(end.checked_sub(at_most).unwrap()));
        let safe = answered.iter().filter(|at| **at < kept).count() as u64;
        assert!(found <= charged, "round {round}: {found} of {charged}");
        assert!(found >= safe, "round {round}: {found}, and {safe} were old");
        // The newest charge that was found tells how much time was lost.
        let newest = answered.get(usize::try_from(found).unwrap());
        let lost = newest.map_or(Duration::ZERO, |at| end.saturating_duration_since(*at));
        losses.push(lost);
        println!(
            "round {round}: lived {life:?}, answered {}, found {found}, lost {} charges or {lost:?}",
            answered.len(),
            (answered.len() as u64).saturating_sub(found)
        );
        known += found;
    }
    losses.sort_unstable();
    let (median, most) = (losses[losses.len() / 2], losses[losses.len() - 1]);
    println!("flush every {FLUSH:?}; lost: median {median:?}, most {most:?}; all: {losses:?}");
    assert!(at_most.is_none() || median <= FLUSH, "{losses:?}");
    server.kill();
}
