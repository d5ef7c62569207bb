//! What do statistics take off the decision rate? Run with `cargo bench -p tollgate-serve --bench statistics`.
//!
//! Two servers in one process, one that counts requests one identity at a time into `SQLite` and one that does not, are
//! asked in turns over RESP (many requests at once) and over HTTP (one after the other), with a thousand keys and with
//! a million. Below them the same of the engine alone. The median of the rounds is told. For counts of instructions the
//! engine alone can be run: `… -- engine on|off DECISIONS` under callgrind.

#![allow(clippy::print_stdout, reason = "its only output")]
#![allow(clippy::cast_precision_loss, reason = "rates for people")]
#![allow(clippy::unwrap_used, reason = "a broken set-up must stop it")]

use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant as Moment};

use tollgate_limit::Cost;
use tollgate_node::Key;
use tollgate_serve::engine::EngineRequest;
use tollgate_serve::run::{Running, start};
use tollgate_serve::settings::{ContractSource, Listener, Settings};

const CONTRACTS: &str =
    "contracts: [{ id: users, key: [user], policies: [{ name: p, limit: 100, per: 1s }] }]";
const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_millis(700);

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let given: Vec<String> = std::env::args().collect();
    if let [_, what, mode, decisions, ..] = &*given
        && what == "engine"
    {
        let running = server((mode == "on").then_some(folder.path()));
        engine(&running, 1_000, decisions.parse().unwrap());
        return;
    }
    let (on, off) = (server(Some(folder.path())), server(None));
    println!(
        "{:<26} {:>12} {:>12} {:>8}",
        "decisions a second", "off", "on", "on/off"
    );
    for keys in [1_000, 1_000_000] {
        compare(&format!("RESP, {keys} keys"), &on, &off, |running, seed| {
            resp(running.resp().unwrap(), keys, seed)
        });
        compare(&format!("HTTP, {keys} keys"), &on, &off, |running, seed| {
            http(running.http().unwrap(), keys, seed)
        });
        compare(&format!("engine, {keys} keys"), &on, &off, |running, _| {
            let begun = Moment::now();
            engine(running, keys, 200_000);
            200_000.0 / begun.elapsed().as_secs_f64()
        });
    }
}

fn server(folder: Option<&Path>) -> Running {
    let mut settings = Settings {
        http: vec![Listener::loopback()],
        resp: vec![Listener::loopback()],
        contracts: ContractSource::Text(CONTRACTS.to_owned()),
        data_dir: folder.map(Path::to_owned),
        ..Settings::default()
    };
    settings.keeping.statistics.on = folder.is_some().then_some(true);
    start(settings).unwrap()
}

/// Rounds in turns; tells the median of each and their ratio.
fn compare(what: &str, on: &Running, off: &Running, round: impl Fn(&Running, u64) -> f64) {
    let mut rates = (Vec::new(), Vec::new());
    for seed in 0..ROUNDS as u64 {
        rates.0.push(round(on, seed));
        rates.1.push(round(off, seed));
    }
    let (on, off) = (median(rates.0), median(rates.1));
    println!("{what:<26} {off:>12.0} {on:>12.0} {:>8.3}", on / off);
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

fn user(number: u64, keys: u64) -> u64 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(20) % keys
}

/// Sends many requests at once, and waits for all answers.
fn resp(at: SocketAddr, keys: u64, seed: u64) -> f64 {
    const AT_ONCE: u64 = 100;
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut number = seed << 32;
    let mut buffer = vec![0; 1 << 16];
    rate(|| {
        let mut sent = Vec::new();
        for _ in 0..AT_ONCE {
            number += 1;
            let user = user(number, keys);
            write!(sent, "TOLLGATE.CHECK KEY user {user}\r\n").unwrap();
        }
        stream.write_all(&sent).unwrap();
        let mut answers = 0;
        while answers < AT_ONCE {
            let count = stream.read(&mut buffer).unwrap();
            // Each answer is one list.
            answers += memchr::memchr_iter(b'*', &buffer[..count]).count() as u64;
        }
        AT_ONCE
    })
}

/// Sends requests one after the other.
fn http(at: SocketAddr, keys: u64, seed: u64) -> f64 {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut number = seed << 32;
    let mut buffer = vec![0; 1 << 16];
    rate(|| {
        number += 1;
        let body = format!("{{\"key\":{{\"user\":\"{}\"}}}}", user(number, keys));
        let length = body.len();
        let head = "host: t\r\ncontent-type: application/json";
        let sent =
            format!("POST /v1/check HTTP/1.1\r\n{head}\r\ncontent-length: {length}\r\n\r\n{body}");
        stream.write_all(sent.as_bytes()).unwrap();
        assert!(stream.read(&mut buffer).unwrap() > 0);
        1
    })
}

fn rate(mut ask: impl FnMut() -> u64) -> f64 {
    let begun = Moment::now();
    let mut asked = 0;
    while begun.elapsed() < ROUND {
        asked += ask();
    }
    asked as f64 / begun.elapsed().as_secs_f64()
}

fn engine(running: &Running, keys: u64, decisions: u64) {
    let engine = &running.shared().engine;
    for number in 0..decisions {
        let user = user(number, keys).to_string();
        let key = [("user", user.as_str())];
        let ask = EngineRequest::new(Key::Entries(&key), Cost::ONE);
        let _ = black_box(engine.turn().check(&ask));
    }
}
