//! Real sockets through a mesh.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use tollgate_fault::{Change, DatagramConditions, Mesh};

const DEADLINE: Duration = Duration::from_secs(10);
/// After this time without data, tests conclude that none will come.
const SILENCE: Duration = Duration::from_millis(150);

struct Node {
    socket: UdpSocket,
    told: SocketAddr,
}

fn nodes(mesh: &Mesh, count: u16) -> Vec<Node> {
    let node = |number| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let told = mesh.add(number).unwrap();
        mesh.place(
            number,
            socket.local_addr().unwrap(),
            Some(std::process::id()),
        );
        Node { socket, told }
    };
    (0..count).map(node).collect()
}

impl Node {
    fn send(&self, to: &Self, bytes: &[u8]) {
        self.socket.send_to(bytes, to.told).unwrap();
    }

    /// `None` after `patience`.
    fn receive(&self, patience: Duration) -> Option<(Vec<u8>, SocketAddr)> {
        self.socket.set_read_timeout(Some(patience)).unwrap();
        let mut buffer = [0; 2048];
        match self.socket.recv_from(&mut buffer) {
            Ok((length, from)) => Some((buffer[..length].to_vec(), from)),
            Err(error) => {
                assert!(
                    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
                    "{error}"
                );
                None
            }
        }
    }

    fn hears(&self, from: &Self) -> bool {
        from.send(self, b"hello");
        self.receive(SILENCE).is_some()
    }
}

#[test]
fn datagrams_pass_and_seem_to_come_from_where_the_sender_says_it_is() {
    let mesh = Mesh::new(1).unwrap();
    let nodes = nodes(&mesh, 3);
    nodes[0].send(&nodes[1], b"a");
    let (bytes, from) = nodes[1].receive(DEADLINE).unwrap();
    assert_eq!((bytes.as_slice(), from), (&b"a"[..], nodes[0].told));
    nodes[1].socket.send_to(b"b", from).unwrap();
    assert_eq!(nodes[0].receive(DEADLINE).unwrap().1, nodes[1].told);
    assert_eq!(mesh.counts().datagrams, 2);
    assert_eq!(mesh.counts().strangers, 0);
}

#[test]
fn a_cut_is_one_way_until_it_is_mended() {
    let mesh = Mesh::new(1).unwrap();
    let nodes = nodes(&mesh, 3);
    mesh.cut(&[0], &[1]);
    assert!(!nodes[1].hears(&nodes[0]));
    assert!(nodes[0].hears(&nodes[1]));
    assert!(nodes[2].hears(&nodes[0]));
    mesh.mend();
    assert!(nodes[1].hears(&nodes[0]));
    mesh.split(&[0, 1], &[2]);
    assert!(!nodes[2].hears(&nodes[0]) && !nodes[1].hears(&nodes[2]));
    assert!(nodes[1].hears(&nodes[0]));
    assert_eq!(mesh.counts().cut, 3);
}

#[test]
fn delay_is_kept_and_keeps_the_order() {
    let mesh = Mesh::new(1).unwrap();
    let nodes = nodes(&mesh, 2);
    mesh.set_all(DatagramConditions {
        delay: Duration::from_millis(30),
        ..DatagramConditions::default()
    });
    let begun = Instant::now();
    for number in 0..20_u8 {
        nodes[0].send(&nodes[1], &[number]);
    }
    for number in 0..20_u8 {
        assert_eq!(nodes[1].receive(DEADLINE).unwrap().0, [number]);
    }
    assert!(begun.elapsed() >= Duration::from_millis(30));
}

#[test]
fn jitter_and_held_datagrams_are_overtaken() {
    let mesh = Mesh::new(1).unwrap();
    let nodes = nodes(&mesh, 2);
    mesh.apply(&Change::Reordering {
        odds: 200_000,
        hold: Duration::from_millis(20),
    });
    let mut heard = Vec::new();
    for number in 0..100_u8 {
        nodes[0].send(&nodes[1], &[number]);
    }
    for _ in 0..100 {
        heard.push(nodes[1].receive(DEADLINE).unwrap().0[0]);
    }
    assert!(!heard.is_sorted());
    heard.sort_unstable();
    assert!(heard.iter().copied().eq(0..100), "{heard:?}");
    assert!(mesh.counts().reordered > 0);
}

#[test]
fn loss_and_doubles_come_as_often_as_said() {
    let mesh = Mesh::new(5).unwrap();
    let nodes = nodes(&mesh, 2);
    mesh.apply(&Change::Loss(300_000));
    mesh.apply(&Change::Duplication(300_000));
    let mut heard = 0;
    for _ in 0..10 {
        for _ in 0..30 {
            nodes[0].send(&nodes[1], b"x");
        }
        while nodes[1].receive(SILENCE / 3).is_some() {
            heard += 1;
        }
    }
    let counts = mesh.counts();
    assert_eq!(counts.datagrams, 300 - counts.lost + counts.copies);
    assert_eq!(heard, counts.datagrams);
    assert!((60..120).contains(&counts.lost), "{counts:?}");
    assert!((40..90).contains(&counts.copies), "{counts:?}");
}

#[test]
fn a_node_that_moves_is_found_again() {
    let mesh = Mesh::new(1).unwrap();
    let mut nodes = nodes(&mesh, 2);
    nodes[1].socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    assert!(!nodes[1].hears(&nodes[0]));
    mesh.place(1, nodes[1].socket.local_addr().unwrap(), None);
    assert!(nodes[1].hears(&nodes[0]) && nodes[0].hears(&nodes[1]));
}

/// An echo server.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut buffer = [0; 1024];
                while let Ok(length @ 1..) = stream.read(&mut buffer) {
                    if stream.write_all(&buffer[..length]).is_err() {
                        break;
                    }
                }
            });
        }
    });
    at
}

#[test]
fn connections_pass_late_and_end_when_they_end() {
    let mesh = Mesh::new(1).unwrap();
    let told = mesh.add(1).unwrap();
    mesh.place(1, echo(), None);
    mesh.set_all(DatagramConditions {
        delay: Duration::from_millis(20),
        ..DatagramConditions::default()
    });
    let mut stream = TcpStream::connect(told).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let begun = Instant::now();
    stream.write_all(b"hello").unwrap();
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"hello");
    assert!(begun.elapsed() >= Duration::from_millis(40));
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(stream.read(&mut answer).unwrap(), 0);
    assert_eq!((mesh.counts().streams, mesh.counts().stream_bytes), (1, 10));
}

#[test]
fn a_connection_waits_out_a_cut() {
    let mesh = Mesh::new(1).unwrap();
    // This process is node 0, which connects; node 1 answers.
    mesh.add(0).unwrap();
    mesh.place(0, "127.0.0.1:9".parse().unwrap(), Some(std::process::id()));
    let told = mesh.add(1).unwrap();
    mesh.place(1, echo(), None);
    let mut stream = TcpStream::connect(told).unwrap();
    stream.write_all(b"a").unwrap();
    let mut answer = [0; 1];
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.read_exact(&mut answer).unwrap();
    mesh.cut(&[1], &[0]);
    stream.write_all(b"b").unwrap();
    stream.set_read_timeout(Some(SILENCE)).unwrap();
    assert!(stream.read_exact(&mut answer).is_err());
    mesh.mend();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"b");
}

#[test]
fn whoever_is_not_there_refuses() {
    let mesh = Mesh::new(1).unwrap();
    let told = mesh.add(1).unwrap();
    let mut stream = TcpStream::connect(told).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let mut answer = [0; 1];
    let end = stream.read(&mut answer);
    assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    stranger.send_to(b"x", told).unwrap();
    let begun = Instant::now();
    while mesh.counts().dropped == 0 {
        assert!(begun.elapsed() < DEADLINE);
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(mesh.counts().strangers, 1);
}
