//! Versions that are not supported, in datagrams and in streams, and unknown kinds of frames.
//!
//! There has been one version, 1, so this tests how it handles unknown numbers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use tollgate_serve::cluster::keys::KeyRing;
use tollgate_serve::cluster::tls::SERVER_NAME;

use crate::cluster::kit::{ClusterFolder, NodeServer, PATIENCE, all_know, until};
use crate::cluster::relay::Relay;

/// A stream as a member opens it, before any greeting.
type Stream = StreamOwned<ClientConnection, TcpStream>;

pub(crate) fn open(ground: &ClusterFolder, at: SocketAddr) -> Stream {
    let config = KeyRing::read(&ground.key()).unwrap().tls_client().unwrap();
    let name = ServerName::try_from(SERVER_NAME).unwrap();
    let connection = ClientConnection::new(Arc::clone(&config), name).unwrap();
    let stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    StreamOwned::new(connection, stream)
}

/// A greeting of that version, by a node of that id and start.
pub(crate) fn greeting(version: u8, id: u128, boot: u64) -> Vec<u8> {
    let mut bytes = vec![0, 0, 0, 26, 0, version];
    bytes.extend(id.to_be_bytes());
    bytes.extend(boot.to_be_bytes());
    bytes
}

fn id_of(node: &NodeServer) -> u128 {
    u128::from_str_radix(&node.view().me.unwrap().id, 16).unwrap()
}

/// Two nodes, and how the first greets the second: a datagram begins with the version, the key's number and the boot.
fn acquainted(ground: &ClusterFolder) -> (Vec<NodeServer>, Relay, u128, u64) {
    let (nodes, relay) = overheard(ground);
    let boot = relay.heard.lock().unwrap().datagrams[0][2..10].try_into();
    let boot = boot.unwrap();
    let id = id_of(&nodes[0]);
    (nodes, relay, id, u64::from_le_bytes(boot))
}

/// Two nodes, all datagrams to the second of which are heard.
pub(crate) fn overheard(ground: &ClusterFolder) -> (Vec<NodeServer>, Relay) {
    let first = ground.node("first", &[]);
    let (relay, sockets) = Relay::open();
    let mut settings = ground.settings("second", &[first.at()]);
    settings.cluster.as_mut().unwrap().advertise = Some(relay.at);
    let second = NodeServer::start(settings);
    relay.run(sockets, second.at());
    let nodes = vec![first, second];
    all_know(&nodes, 2);
    (nodes, relay)
}

#[test]
fn datagrams_of_other_versions_are_counted_and_nothing_else() {
    let ground = ClusterFolder::new();
    let (mut nodes, relay) = overheard(&ground);
    let heard = relay.heard.lock().unwrap().datagrams.clone();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let sent = heard.len().min(20) as u64;
    for version in [0_u8, 2, 255] {
        let before = nodes[1].refused("version");
        for bytes in heard.iter().take(20) {
            let mut bytes = bytes.clone();
            assert_eq!(bytes[0], 1, "the version that is spoken");
            bytes[0] = version;
            socket.send_to(&bytes, nodes[1].at()).unwrap();
        }
        until("they are counted", || {
            nodes[1].refused("version") == before + sent
        });
    }
    // The version that is spoken gets further: these came before.
    let before = nodes[1].refused("replayed");
    socket.send_to(&heard[0], nodes[1].at()).unwrap();
    until("it is counted", || nodes[1].refused("replayed") > before);
    all_know(&nodes, 2);
    assert!(nodes[0].passes("a") && nodes[1].passes("a"));
}

#[test]
fn greetings_of_other_versions_end_the_stream_and_are_counted() {
    let ground = ClusterFolder::new();
    let (nodes, _relay, id, boot) = acquainted(&ground);
    for version in [0_u8, 2, 255] {
        let before = nodes[1].view().streams.refused;
        let mut stream = open(&ground, nodes[1].at());
        stream.write_all(&greeting(version, id, boot)).unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(rest.is_empty(), "{rest:?}");
        until("it is counted", || {
            nodes[1].view().streams.refused == before + 1
        });
    }
    let before = nodes[1].view().streams.refused;
    let mut stream = open(&ground, nodes[1].at());
    stream.write_all(&greeting(1, id, boot)).unwrap();
    let mut answer = [0; 30];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer[..6], [0, 0, 0, 26, 0, 1]);
    assert_eq!(answer[6..22], id_of(&nodes[1]).to_be_bytes());
    assert_eq!(nodes[1].view().streams.refused, before);
}

#[test]
fn what_a_later_version_adds_to_a_stream_is_skipped_and_counted() {
    let ground = ClusterFolder::new();
    let (nodes, _relay, id, boot) = acquainted(&ground);
    let mut stream = open(&ground, nodes[1].at());
    stream.write_all(&greeting(1, id, boot)).unwrap();
    let mut answer = [0; 30];
    stream.read_exact(&mut answer).unwrap();
    let before = nodes[1].view().unknown_frames;
    // An unknown type of frame, a message of an unknown kind, and a request that is answered.
    stream.write_all(&[0, 0, 0, 3, 77, 1, 2]).unwrap();
    stream.write_all(&[0, 0, 0, 5, 1, 200, 2, 9, 9]).unwrap();
    let mut question = vec![0, 0, 0, 10, 2];
    question.extend(5_u64.to_be_bytes());
    question.push(250);
    stream.write_all(&question).unwrap();
    let mut answer = [0; 14];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer[..5], [0, 0, 0, 10, 3]);
    assert_eq!(answer[5..13], 5_u64.to_be_bytes());
    until("both are counted", || {
        nodes[1].view().unknown_frames == before + 2
    });
    all_know(&nodes, 2);
}
