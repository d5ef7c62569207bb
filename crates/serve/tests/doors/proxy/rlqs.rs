//! Two Envoys that decide by buckets they are assigned, by `deploy/envoy/rlqs.yaml`, and a server that is killed and
//! restarts.
//!
//! Each takes most of a minute, as Envoy reports every five seconds, and what a server assigned before must be over.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use tollgate_parts::until;
use tollgate_serve::run::{self, Running};
use tollgate_serve::settings::{
    ContractSource, ListenAddress, Listener, QuotaLimits, RequestLimits, Settings,
};

use crate::proxy::envoy::envoy;
use crate::proxy::kit::{Proxy, free_port, metrics};

const TENANTS: &str = "contracts:
  - id: tenants
    key: [tenant]
    policies: [{ name: shared, limit: 200, per: 1s, burst: 200, coordination: lease }]
  - id: both
    match: { tenant: both }
    key: [tenant]
    policies: [{ name: other, limit: 200, per: 1s, coordination: lease }]
";
/// Two reports fit in what is left when the delivery is taken from the time to live.
const QUOTA: QuotaLimits = QuotaLimits {
    ttl_s: 12,
    delivery: Duration::from_secs(2),
    allows_unserved: false,
};
const BURST: f64 = 200.0;

fn tollgate(at: SocketAddr) -> Running {
    let settings = Settings {
        contracts: ContractSource::Text(TENANTS.to_owned()),
        http: vec![Listener::plain(ListenAddress::Tcp(at))],
        limits: RequestLimits {
            quota: QUOTA,
            ..RequestLimits::default()
        },
        ..Settings::default()
    };
    run::start(settings).expect("the server starts")
}

/// Whether a figure of the server is at least that.
fn counts(at: SocketAddr, name: &str, least: u64) -> bool {
    let page = metrics(at);
    let value = page.lines().find_map(|line| line.strip_prefix(name));
    value.is_some_and(|value| value.trim().parse::<u64>().unwrap() >= least)
}

/// A client of an Envoy with a fixed rate per second, until stopped.
struct Client {
    is_over: Arc<AtomicBool>,
    asks: JoinHandle<Vec<(Instant, bool)>>,
}

impl Client {
    fn start(envoy: &Proxy, per_second: u32, tenant: &'static [u8]) -> Self {
        let (at, is_over) = (envoy.address, Arc::new(AtomicBool::new(false)));
        let told = Arc::clone(&is_over);
        Self {
            asks: spawn(move || ask(at, per_second, tenant, &told)),
            is_over,
        }
    }

    /// When a request was answered, and whether it passed.
    fn stop(self) -> Vec<(Instant, bool)> {
        self.is_over.store(true, Relaxed);
        self.asks.join().unwrap()
    }
}

fn ask(
    at: SocketAddr,
    per_second: u32,
    tenant: &[u8],
    is_over: &AtomicBool,
) -> Vec<(Instant, bool)> {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let request = [
        b"GET / HTTP/1.1\r\nhost: a\r\nx-tenant: ",
        tenant,
        b"\r\n\r\n",
    ]
    .concat();
    let mut answers = Vec::new();
    let mut next = Instant::now();
    while !is_over.load(Relaxed) {
        sleep(next.saturating_duration_since(Instant::now()));
        next += Duration::from_secs(1) / per_second;
        // What a busy machine held up does not come at once.
        if next.elapsed() > Duration::from_millis(50) {
            next = Instant::now();
        }
        stream.write_all(&request).unwrap();
        answers.push((Instant::now(), passes(&mut reader)));
    }
    answers
}

fn passes(reader: &mut BufReader<TcpStream>) -> bool {
    let (mut line, mut passes, mut length) = (String::new(), false, 0);
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        let text = line.trim_end().to_ascii_lowercase();
        if text.is_empty() {
            break;
        }
        passes |= text.starts_with("http/1.1 200");
        if let Some(value) = text.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    passes
}

/// The most tokens that one bucket of the contract would ever have owed for these.
fn debt(mut admitted: Vec<Instant>) -> f64 {
    admitted.sort_unstable();
    let (mut level, mut debt, mut before) = (BURST, 0.0, admitted[0]);
    for at in admitted {
        level = f64::min(level + (at - before).as_secs_f64() * 200.0, BURST) - 1.0;
        debt = f64::max(debt, -level);
        before = at;
    }
    debt
}

/// Runs two Envoys with clients that ask so often. When both are served there are `more` clients, and the server is
/// killed and begins again. Gives what became of the requests from when both were served until what was assigned before
/// would have ended.
fn around_a_restart(
    per_second: u32,
    more: impl FnOnce(&Proxy) -> Vec<Client>,
) -> Vec<(Instant, bool)> {
    let at = free_port();
    let server = tollgate(at);
    let envoys = [(); 2].map(|()| envoy("rlqs.yaml", at, &[]));
    let clients = envoys
        .each_ref()
        .map(|envoy| Client::start(envoy, per_second, b"a"));
    until("both are served", || {
        counts(at, "tollgate_quota_extended_total ", 2)
    });
    let begun = Instant::now();
    let more = more(&envoys[0]);
    sleep(Duration::from_secs(4));
    drop(server);
    let again = tollgate(at);
    until("both are taken at their word", || {
        counts(at, "tollgate_quota_restated_total ", 2)
    });
    // What was assigned before has ended then.
    sleep(Duration::from_secs(13));
    for client in more {
        assert!(client.stop().iter().all(|(_, passes)| !passes));
    }
    let answers = clients.into_iter().flat_map(Client::stop);
    let answers = answers.filter(|(at, _)| *at > begun);
    drop(again);
    answers.collect()
}

#[test]
fn a_restart_and_buckets_that_cannot_be_served_cost_others_nothing() {
    let odd: [&[u8]; 4] = [b"\xff\xfe", b"", b"both", &[b'x'; 5_000]];
    let answers = around_a_restart(60, |envoy| {
        odd.map(|tenant| Client::start(envoy, 5, tenant)).into()
    });
    let refused = answers.iter().filter(|(_, passes)| !passes).count();
    println!("{refused} of {} refused", answers.len());
    assert!(answers.len() > 1_000, "{}", answers.len());
    assert_eq!(refused, 0);
}

#[test]
fn a_restart_lets_no_more_than_a_burst_too_many_through() {
    let answers = around_a_restart(250, |_| Vec::new());
    let admitted = answers.iter().filter(|(_, passes)| *passes);
    let admitted: Vec<Instant> = admitted.map(|(at, _)| *at).collect();
    let (all, asked) = (admitted.len(), answers.len());
    let debt = debt(admitted);
    println!("{all} of {asked} admitted, {debt:.0} too many at once");
    assert!(all > 2_000, "{all}");
    assert!(debt <= BURST, "{debt}");
}
