//! What somebody hears who listens to the network between nodes: `tcpdump` on loopback, while they gossip, forward,
//! hand over and join. Needs root and `tcpdump`; where one is missing the test says so and ends.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tollgate::cluster::asker::Asker;
use tollgate::cluster::fleet::Fleet;
use tollgate_fault::ProcessFault;

use crate::kit::plan;
use crate::phases::contracts;

const DEADLINE: Duration = Duration::from_mins(1);
const LANES: &[&str] = &["gossip", "owner"];
/// Nobody else says that.
const USER: &str = "margarete.ottilie.von.hohenfels";
const MARKER: &[u8] = b"this is heard, so that what is not heard was not said";

/// Listens until it is told to stop.
struct Ear(Child);

impl Ear {
    fn open(ports: &[SocketAddr], file: &Path) -> Result<Self, String> {
        let ports: Vec<String> = ports
            .iter()
            .map(|at| format!("port {}", at.port()))
            .collect();
        let mut command = Command::new("tcpdump");
        command
            .args(["-i", "lo", "-U", "-n", "-s", "0", "-Z", "root", "-w"])
            .arg(file)
            .arg(ports.join(" or "))
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .map_err(|error| format!("tcpdump: {error}"))?;
        let mut said = String::new();
        for line in BufReader::new(child.stderr.take().unwrap()).lines() {
            let line = line.unwrap();
            if line.contains("listening on") {
                return Ok(Self(child));
            }
            said.push_str(&line);
        }
        let _ = child.wait();
        Err(format!("tcpdump: {said}"))
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn holds(capture: &[u8], words: &[u8]) -> bool {
    capture.windows(words.len()).any(|window| window == words)
}

/// What must not be heard: names, the contracts' ids, and the cluster's keys as they stand in their file.
fn secrets(fleet: &Fleet) -> Vec<Vec<u8>> {
    let keys = std::fs::read_to_string(fleet.folder().join("cluster.key")).unwrap();
    let keys = keys.lines().filter_map(|line| line.split_once(": "));
    let keys = keys.map(|(_, key)| key.trim().as_bytes().to_vec());
    // Long enough not to turn up by chance.
    let words = [USER, "hohenfels", "margarete", "coordination"];
    let words = words.iter().map(|word| word.as_bytes().to_vec());
    let all: Vec<_> = keys.chain(words).collect();
    assert!(all.len() >= 6, "a secret and a seal key");
    all
}

#[test]
fn nothing_that_was_counted_is_heard_between_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("contracts.yaml");
    std::fs::write(&path, contracts(LANES)).unwrap();
    let mut fleet = Fleet::start(plan(3, path)).unwrap();
    let ports: Vec<SocketAddr> = (0..3)
        .map(|node| {
            fleet
                .status(node)
                .unwrap()
                .me
                .unwrap()
                .address
                .parse()
                .unwrap()
        })
        .collect();
    let file = folder.path().join("heard.pcap");
    let ear = match Ear::open(&ports, &file) {
        Ok(ear) => ear,
        Err(why) => return println!("skipped: {why}"),
    };
    live(&mut fleet);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.send_to(MARKER, ports[0]).unwrap();
    let capture = heard(&file);
    drop(ear);
    let sent: u64 = (0..3)
        .map(|node| fleet.status(node).unwrap().traffic.bytes_out)
        .sum();
    println!(
        "{} bytes heard; the nodes that run have sent {sent}",
        capture.len()
    );
    assert!(capture.len() > 20_000, "{}", capture.len());
    for secret in secrets(&fleet) {
        assert!(
            !holds(&capture, &secret),
            "{:?}",
            String::from_utf8_lossy(&secret)
        );
    }
    assert!(
        fleet.status(0).unwrap().streams.opened > 0,
        "streams were heard as well"
    );
}

/// Everybody is asked about the user; a node leaves and hands over, another dies, and both join again.
fn live(fleet: &mut Fleet) {
    ask(fleet);
    for (node, end) in [(1, ProcessFault::Stop(1)), (2, ProcessFault::Kill(2))] {
        fleet.suffer(end).unwrap();
        let process = ProcessFault::Start {
            node,
            is_empty: false,
        };
        fleet.suffer(process).unwrap();
        fleet.gather().unwrap();
        ask(fleet);
    }
}

fn ask(fleet: &Fleet) {
    for node in fleet.nodes() {
        let mut asker = Asker::connect(node.resp, DEADLINE).unwrap();
        for lane in LANES {
            for _ in 0..40 {
                asker.ask(&[("lane", lane), ("user", USER)], 1).unwrap();
            }
        }
    }
}

/// Everything up to the marker.
fn heard(file: &Path) -> Vec<u8> {
    let begun = Instant::now();
    loop {
        let capture = std::fs::read(file).unwrap();
        if holds(&capture, MARKER) {
            return capture;
        }
        assert!(begun.elapsed() < DEADLINE, "tcpdump hears nothing");
        std::thread::sleep(Duration::from_millis(50));
    }
}
