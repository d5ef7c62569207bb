//! Hostile input at the cluster port: garbage, floods, and replayed captures.

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use tollgate_kit::Dice;

use crate::cluster::kit::{ClusterFolder, Ears, NodeServer, all_know, until};
use crate::cluster::versions::overheard;

/// How long each of so many decisions takes: the median and the slowest but one in a hundred.
fn latency(node: &mut NodeServer, count: usize) -> (Duration, Duration) {
    let mut took: Vec<Duration> = (0..count)
        .map(|number| {
            let begun = Instant::now();
            node.passes(&format!("l{number}"));
            begun.elapsed()
        })
        .collect();
    took.sort_unstable();
    (took[count / 2], took[count - 1 - count / 100])
}

#[test]
fn a_flood_of_garbage_is_counted_and_decisions_go_on() {
    let ground = ClusterFolder::new();
    let mut nodes = ground.nodes(2);
    let before = latency(&mut nodes[0], 1_000);
    let at = nodes[0].at();
    let is_over = Arc::new(AtomicBool::new(false));
    let sent = Arc::new(AtomicU64::new(0));
    let flood = thread::spawn({
        let (is_over, sent) = (Arc::clone(&is_over), Arc::clone(&sent));
        move || {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            let mut dice = Dice::new(1);
            while !is_over.load(Relaxed) {
                // A burst, and a breath: the machine has other tests to run.
                for _ in 0..200 {
                    let word = dice.roll();
                    let mut bytes: Vec<u8> = (0..40).flat_map(|_| word.to_le_bytes()).collect();
                    bytes[0] = (word >> 60) as u8 % 3;
                    bytes.truncate((word >> 32) as usize % 320);
                    if socket.send_to(&bytes, at).is_ok() {
                        sent.fetch_add(1, Relaxed);
                    }
                }
                thread::sleep(Duration::from_millis(2));
            }
        }
    });
    until("the flood is on", || sent.load(Relaxed) > 5_000);
    let during = latency(&mut nodes[0], 1_000);
    let others = latency(&mut nodes[1], 100);
    is_over.store(true, Relaxed);
    flood.join().unwrap();
    println!("before {before:?}, during {during:?}, at another node {others:?}, {sent:?} sent");
    let refused: u64 = nodes[0].view().refused.values().sum();
    assert!(refused > 1_000, "{refused}");
    assert!(
        during.0 < before.0 * 10 + Duration::from_millis(5),
        "{during:?}"
    );
    all_know(&nodes, 2);
    let (_, metrics) = nodes[0].get("/metrics");
    assert!(metrics.contains("tollgate_cluster_refused_total{reason=\"foreign\"}"));
}

#[test]
fn what_was_heard_before_is_refused_when_it_comes_again() {
    let ground = ClusterFolder::new();
    let (mut nodes, relay) = overheard(&ground);
    let ears = Ears::new(&nodes);
    for _ in 0..20 {
        assert!(nodes[0].passes("a"));
    }
    ears.wait(&nodes);
    let before = nodes[1].refused("replayed");
    let heard = relay.heard.lock().unwrap().datagrams.clone();
    assert!(heard.len() > 5, "{}", heard.len());
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for bytes in &heard {
        socket.send_to(bytes, nodes[1].at()).unwrap();
    }
    let all = heard.len() as u64;
    until("they are counted", || {
        nodes[1].refused("replayed") >= before + all * 9 / 10
    });
    // Counted twice, fewer would pass.
    let mut passed = 0;
    for _ in 0..60 {
        passed += u32::from(nodes[1].passes("a"));
        ears.wait(&nodes);
    }
    assert_eq!(passed, 30);
    // Sent back to their senders, and at a node that never saw them under this number.
    for bytes in &heard {
        socket.send_to(bytes, nodes[0].at()).unwrap();
    }
    until("nothing is taken back", || {
        let refused = nodes[0].view().refused;
        refused.values().sum::<u64>() >= all * 9 / 10
    });
    // What was heard of streams means nothing to a stream of its own.
    let pieces = relay.heard.lock().unwrap().pieces.clone();
    let before = nodes[1].view().streams.refused;
    let mut stream = TcpStream::connect(nodes[1].at()).unwrap();
    for piece in &pieces {
        // It is closed as soon as it is understood that the peer is not a member.
        if stream.write_all(piece).is_err() {
            break;
        }
    }
    drop(stream);
    if !pieces.is_empty() {
        until("it is counted", || nodes[1].view().streams.refused > before);
    }
    all_know(&nodes, 2);
}

#[test]
fn a_stream_without_the_key_ends_and_is_counted() {
    let ground = ClusterFolder::new();
    let nodes = ground.nodes(2);
    for bytes in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[22, 3, 1, 255, 255],
        &[0; 4096],
    ] {
        let mut stream = TcpStream::connect(nodes[0].at()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        stream.write_all(bytes).unwrap();
        // It ends, after any data.
        let mut rest = Vec::new();
        let ended = stream.read_to_end(&mut rest);
        let is_ended = ended.is_ok()
            || ended.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset);
        assert!(is_ended);
    }
    until("they are counted", || nodes[0].view().streams.refused >= 3);
    all_know(&nodes, 2);
}
