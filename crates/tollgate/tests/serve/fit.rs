//! `tollgate gateway fit` with real gateways and brokers, and clients that go where they are told to.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tollgate_parts::{Mosquitto, until};

use crate::gateway::Gateway;
use crate::kit::tollgate;

/// A second's burst of all clients takes 0.7 s at one gateway, and 0.3 s at each of two.
const CONTRACTS: &str = "contracts:
  - id: all
    policies: [{ name: all, limit: 100, per: 1s, burst: 10, on_limit: delay, max_wait: 5s }]
";
const CLIENTS: usize = 8;
const BATCH: u8 = 10;

/// Publishes ten messages each second, together with the others, wherever it is told to.
fn publish(number: usize, first: SocketAddr, start: Instant, stop: &AtomicBool) {
    let mut at = first.to_string();
    let mut due = start;
    while !stop.load(Relaxed) {
        // Whoever refers it may not be there yet.
        let Ok(mut stream) = TcpStream::connect(&at) else {
            continue;
        };
        stream.set_nodelay(true).unwrap();
        let patience = Some(Duration::from_millis(20));
        stream.set_read_timeout(patience).unwrap();
        let id = format!("pub-a-{number}");
        let mut hello = vec![0x10, 13 + u8::try_from(id.len()).unwrap()];
        hello.extend([0, 4, b'M', b'Q', b'T', b'T', 5, 2, 0, 0, 0, 0]);
        hello.push(u8::try_from(id.len()).unwrap());
        hello.extend(id.as_bytes());
        let (mut heard, mut is_in) = (Vec::new(), false);
        let mut is_there = stream.write_all(&hello).is_ok();
        while is_there && !stop.load(Relaxed) {
            if is_in && Instant::now() >= due {
                due += Duration::from_secs(1);
                // QoS 1, topic `t`.
                let message = |id: u8| [0x32, 6, 0, 1, b't', 0, id, 0];
                let batch: Vec<u8> = (1..=BATCH).flat_map(message).collect();
                is_there = stream.write_all(&batch).is_ok();
            }
            let mut bytes = [0; 4096];
            match stream.read(&mut bytes) {
                Ok(0) => is_there = false,
                Ok(count) => heard.extend(&bytes[..count]),
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => is_there = false,
            }
            while let Some(packet) = packet(&mut heard) {
                is_in |= packet[0] == 0x20 && packet[3] == 0;
                if let Some(server) = reference(&packet) {
                    at = server;
                    is_there = false;
                }
            }
        }
    }
}

/// The first packet, which is short.
fn packet(heard: &mut Vec<u8>) -> Option<Vec<u8>> {
    let length = 2 + usize::from(*heard.get(1)?);
    (heard.len() >= length).then(|| heard.drain(..length).collect())
}

/// Another server that a CONNACK or a DISCONNECT names.
fn reference(packet: &[u8]) -> Option<String> {
    let ([0x20, _, _, 0x9C, body @ ..] | [0xE0, _, 0x9C, body @ ..]) = packet else {
        return None;
    };
    // The length of the properties, which property, and the length of its text.
    Some(String::from_utf8(body[4..].to_vec()).unwrap())
}

fn fit(list: &Path, gateways: &[Gateway], more: &[&str]) -> Command {
    let mut command = tollgate(&["gateway", "fit", "--rate", "80"]);
    if !more.contains(&"--search") {
        command.args(["--search", "binary"]);
    }
    command.arg("--placement").arg(list).args(more);
    for gateway in gateways {
        let server = format!("http://{}", gateway.metrics);
        command.args(["--server", &server]);
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn clients(gateway: &Gateway) -> (u64, u64) {
    let view = gateway.page("/v1/gateway").json();
    let of = |name: &str| view[name].as_u64().unwrap();
    (of("clients"), of("elsewhere"))
}

fn said(done: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (done.status.code(), text(&done.stdout), text(&done.stderr))
}

/// Where nothing keeps the objective, and where it is interrupted.
fn puts_the_old_list_back(list: &Path, gateways: &[Gateway], old: &str) {
    let is = || std::fs::read_to_string(list).unwrap();
    let dry = ["--search", "model", "--slo", "p99=500ms", "--dry-run"];
    let (code, out, errors) = said(&fit(list, gateways, &dry).output().unwrap());
    assert!(
        code == Some(0) && out.contains("would begin with 1 gateway;"),
        "{out}{errors}"
    );
    assert_eq!(is(), old);
    // Long enough that everybody publishes in it.
    let never = ["--slo", "p99=1us", "--round", "1500ms"];
    let (code, _, errors) = said(&fit(list, gateways, &never).output().unwrap());
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("the old list is back"), "{errors}");
    assert_eq!(is(), old);
    let mut begun = fit(list, gateways, &["--round", "60s"]).spawn().unwrap();
    until("a list is tried", || is() != old);
    let id = begun.id().to_string();
    assert!(Command::new("kill").arg(id).status().unwrap().success());
    assert_eq!(begun.wait().unwrap().code(), Some(1));
    assert_eq!(is(), old);
}

/// One gateway is too slow, and two are not.
fn finds_two(list: &Path, gateways: &[Gateway]) {
    let found = ["--slo", "p99=500ms", "--round", "2s", "--format", "json"];
    let (code, out, errors) = said(&fit(list, gateways, &found).output().unwrap());
    assert_eq!(code, Some(0), "{out}{errors}");
    let said: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&said["k"], &said["kept"]),
        (&2.into(), &true.into()),
        "{out}"
    );
    assert_eq!(said["rounds"][0]["kept"], false, "{out}");
    let text = std::fs::read_to_string(list).unwrap();
    assert!(text.contains(" 1\ngateway g2"), "{text}");
    until("half of the clients are at each", || {
        let half = (CLIENTS as u64 / 2, 0);
        gateways.iter().all(|gateway| clients(gateway) == half)
    });
}

#[test]
fn the_fewest_gateways_are_found_by_measuring_and_the_old_list_is_put_back_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let (contracts, list) = (folder.path().join("c.yaml"), folder.path().join("list"));
    std::fs::write(&contracts, CONTRACTS).unwrap();
    let write = |at: [&str; 2]| {
        let [first, second] = at;
        let text = format!(
            "gateway g1 {first}\ngateway g2 {second} 0\ngroups client pub-{{group}}-{{member}}\n"
        );
        std::fs::write(&list, &text).unwrap();
        text
    };
    write(["127.0.0.1:1", "127.0.0.1:2"]);
    let brokers = [Mosquitto::start(), Mosquitto::start()];
    let gateways: Vec<Gateway> = ["g1", "g2"]
        .into_iter()
        .zip(&brokers)
        .map(|(name, broker)| {
            let list = list.to_str().unwrap();
            let more = [
                "--listen",
                "127.0.0.1:0",
                "--placement",
                list,
                "--name",
                name,
            ];
            Gateway::with(broker, &contracts, &more)
        })
        .collect();
    let [first, second] = [&gateways[0], &gateways[1]];
    let old = write([&first.listen.to_string(), &second.listen.to_string()]);
    let stop = AtomicBool::new(false);
    let start = Instant::now();
    thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (at, stop) = (first.listen, &stop);
            scope.spawn(move || publish(number, at, start, stop));
        }
        // However this ends, clients do too.
        let tested = scope.spawn(|| {
            until("all clients are there", || {
                clients(first).0 == CLIENTS as u64
            });
            puts_the_old_list_back(&list, &gateways, &old);
            finds_two(&list, &gateways);
        });
        let tested = tested.join();
        stop.store(true, Relaxed);
        tested.unwrap();
    });
}
