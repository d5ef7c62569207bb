//! What can be shown from inside only: a peer that lies about itself, and a thread that breaks.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use super::keys::KeyRing;
use super::wire::{self, PeerHello};
use super::{tls, view};
use crate::run::{Running, start};
use crate::settings::{ClusterSettings, ContractSource, Join, Listener, Settings};

/// Only a failure takes as long.
const DEADLINE: Duration = Duration::from_secs(30);

#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < DEADLINE, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn node(key: &Path, join: Option<SocketAddr>) -> Running {
    let join = join.map(|at| Join {
        host: at.ip().to_string(),
        port: at.port(),
    });
    let contracts = "contracts: [{ id: users, key: [user], policies: [{ name: p, limit: 5, per: 1h, coordination: gossip }] }]";
    let running = start(Settings {
        http: vec![Listener::loopback()],
        contracts: ContractSource::Text(contracts.to_owned()),
        cluster: Some(ClusterSettings {
            listen: "127.0.0.1:0".parse().unwrap(),
            join: join.into_iter().collect(),
            key_file: Some(key.to_owned()),
            ..ClusterSettings::default()
        }),
        ..Settings::default()
    });
    let running = running.unwrap();
    until("ready", || running.shared().state.is_ready());
    running
}

fn get(at: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_peer_that_lies_about_its_boot_is_refused_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    let ring = KeyRing::fresh().unwrap();
    ring.create(&key).unwrap();
    let first = node(&key, None);
    let second = node(&key, first.cluster());
    let id = view(second.shared()).me.unwrap().id;
    let id = u128::from_str_radix(&id, 16).unwrap();
    let knows = |id: u128| {
        let id = format!("{id:032x}");
        let peers = view(first.shared()).peers;
        peers.iter().any(|peer| peer.id == id)
    };
    until("they know each other", || knows(id));
    for (id, reason) in [(id, "liar"), (7, "stranger")] {
        let before = view(first.shared());
        let name = ServerName::try_from(tls::SERVER_NAME).unwrap();
        let session = ClientConnection::new(ring.tls_client().unwrap(), name).unwrap();
        let socket = TcpStream::connect(first.cluster().unwrap()).unwrap();
        socket.set_read_timeout(Some(DEADLINE)).unwrap();
        let mut stream = StreamOwned::new(session, socket);
        stream
            .write_all(&wire::hello(PeerHello { id, boot: 4711 }))
            .unwrap();
        stream.flush().unwrap();
        let mut said = Vec::new();
        // It ends without a greeting, with or without a good-bye.
        let _ = stream.read_to_end(&mut said);
        assert!(said.is_empty(), "{reason}");
        until(reason, || {
            let after = view(first.shared());
            after.refused[reason] > before.refused[reason]
                && after.streams.refused > before.streams.refused
        });
    }
}

#[test]
fn a_node_whose_thread_broke_says_so_and_is_not_ready() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    KeyRing::fresh().unwrap().create(&key).unwrap();
    let node = node(&key, None);
    let http = node.http().unwrap();
    assert!(get(http, "/metrics").contains("\ntollgate_cluster_running 1\n"));
    node.break_cluster();
    until("not ready", || !node.shared().state.is_ready());
    let answer = get(http, "/readyz");
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(answer.contains("counts alone"), "{answer}");
    assert!(get(http, "/metrics").contains("\ntollgate_cluster_running 0\n"));
    assert!(!view(node.shared()).part.running);
    node.stop().unwrap();
}
