//! Many connections at the cluster port: silent, incomplete or endless ones; and what the cap on
//! bytes holds back.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use tollgate_cluster::DATAGRAM_OVERHEAD;

use crate::cluster::kit::{ClusterFolder, NodeServer, all_know, until};
use crate::cluster::versions::{greeting, open};

/// Connections of each kind.
const CROWD: usize = 100;

/// Whether the other side has closed it.
fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let mut bytes = [0; 1024];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() != ErrorKind::WouldBlock,
        }
    }
}

/// The slowest of some decisions, each of which must come.
fn decide(node: &mut NodeServer, count: usize) -> Duration {
    let took = (0..count).map(|number| {
        let begun = Instant::now();
        assert!(node.passes(&format!("s{number}")));
        begun.elapsed()
    });
    took.max().unwrap()
}

#[test]
fn a_crowd_of_connections_is_sent_away_counted_and_costs_no_decision() {
    let ground = ClusterFolder::new();
    let mut nodes = ground.nodes(2);
    let at = nodes[0].at();
    let calm = decide(&mut nodes[0], 40);
    let before = nodes[0].view().streams.refused;
    let mut crowd = Vec::new();
    for _ in 0..CROWD {
        // Silent; garbage; begins a record of TLS that never ends.
        for words in [&b""[..], &[0xff; 64], &[22, 3, 1, 64, 0, 1, 0]] {
            let mut stream = TcpStream::connect(at).unwrap();
            stream.write_all(words).unwrap();
            crowd.push(stream);
        }
    }
    let during = decide(&mut nodes[0], 40);
    // A node that comes now finds its way nonetheless.
    let third = ground.node("third", &[at]);
    nodes.push(third);
    all_know(&nodes, 3);
    until("all are sent away", || crowd.iter_mut().all(is_closed));
    until("all are counted", || {
        nodes[0].view().streams.refused >= before + 3 * CROWD as u64
    });
    println!("slowest of 40 decisions: {calm:?} before, {during:?} in a crowd of 300");
    assert!(nodes[0].view().streams.open < 16);
}

#[test]
fn a_greeting_without_an_end_ends_and_one_of_a_stranger_waits_in_vain() {
    let ground = ClusterFolder::new();
    let nodes = ground.nodes(2);
    let before = nodes[0].view().streams.refused;
    // With the right key, but: a frame of the largest length without content; a frame longer than allowed;
    // a greeting by a node that is not a member; a message before any greeting.
    let mut long = vec![1, 0, 0, 0x40, 0];
    long.extend([0; 8]);
    let words = [
        long,
        vec![255, 255, 255, 255, 0],
        greeting(1, 99, 7),
        vec![0, 0, 0, 3, 1, 2, 0],
    ];
    for words in &words {
        let mut stream = open(&ground, nodes[0].at());
        stream.write_all(words).unwrap();
        let mut rest = Vec::new();
        // Closed with or without the manners of TLS.
        let _ = stream.read_to_end(&mut rest);
        assert!(rest.is_empty(), "{words:?}: {rest:?}");
    }
    until("all are counted", || {
        nodes[0].view().streams.refused == before + words.len() as u64
    });
    all_know(&nodes, 2);
}

#[test]
fn the_cap_on_bytes_is_kept_and_what_it_held_back_is_told_later() {
    const CAP: u64 = 20_000;
    let ground = ClusterFolder::new();
    let mut settings = ground.settings("capped", &[]);
    settings.cluster.as_mut().unwrap().bandwidth = Some(CAP);
    let capped = NodeServer::start(settings);
    let other = ground.node("other", &[capped.at()]);
    let mut nodes = vec![capped, other];
    all_know(&nodes, 2);
    let sent = |node: &NodeServer| {
        let traffic = node.view().traffic;
        (traffic.bytes_out - traffic.stream_bytes_out, Instant::now())
    };
    let (first, begun) = sent(&nodes[0]);
    // Used up: each key is news for the other node, some hundred bytes of it.
    let mut users = 0;
    until("more waits than may go", || {
        for user in users..users + 20 {
            for _ in 0..50 {
                assert!(nodes[0].passes(&format!("c{user}")));
            }
        }
        users += 20;
        nodes[0].view().peers[0].queued_bytes > 2_000
    });
    let check = |node: &NodeServer| {
        let (bytes, at) = sent(node);
        let seconds = (at - begun).as_secs_f64();
        // A second's worth may have been saved up, and a second's worth of probes may be owed.
        #[expect(clippy::cast_precision_loss, reason = "thousands")]
        let most = CAP as f64 * (seconds + 2.0) + 1400.0 + DATAGRAM_OVERHEAD as f64;
        #[expect(clippy::cast_precision_loss, reason = "thousands")]
        let bytes = (bytes - first) as f64;
        assert!(bytes <= most, "{bytes} in {seconds} s");
        bytes / seconds
    };
    check(&nodes[0]);
    until("all is told", || {
        check(&nodes[0]);
        nodes[0].view().peers[0].queued_bytes == 0
    });
    let rate = check(&nodes[0]);
    println!(
        "{users} users used up; {rate:.0} bytes a second sent of {CAP}, what was saved up included"
    );
    for user in 0..users {
        until("the other knows", || !nodes[1].passes(&format!("c{user}")));
    }
}
