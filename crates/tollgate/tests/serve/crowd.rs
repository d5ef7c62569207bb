//! Ten thousand connections that say nothing.

use std::time::{Duration, Instant};

use tollgate_parts::Wire;

use crate::kit::{CONTRACTS, Server, file};

const IDLE: usize = 10_000;
/// Bytes of the process that one idle connection may take; what the system holds for it is not in there.
const BYTES_EACH_MAX: u64 = 8 << 10;

#[test]
fn ten_thousand_idle_connections_cost_little_and_disturb_nobody() {
    raise_descriptors();
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "contracts.yaml", CONTRACTS);
    let server = Server::start(folder.path(), &["--contracts", path.to_str().unwrap()]);
    server.take("a");
    let before = server.resident();
    let mut idle = Vec::with_capacity(IDLE);
    for number in 0..IDLE {
        let address = if number % 2 == 0 {
            server.http
        } else {
            server.resp
        };
        let mut wire = Wire::to(address);
        // Half of them have asked something before they fell silent.
        match number % 4 {
            0 => drop(wire.get("/v1/auth?user=1")),
            1 => wire.lives(),
            _ => {}
        }
        idle.push(wire);
    }
    let each = server.resident().saturating_sub(before) / IDLE as u64;
    assert!(
        each <= BYTES_EACH_MAX,
        "{each} bytes for each idle connection"
    );
    let begun = Instant::now();
    for _ in 0..50 {
        server.take("b");
    }
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
    drop(idle);
    server.take("c");
    server.signal("TERM");
    assert_eq!(server.end().0, Some(0));
    println!("{each} bytes for each of {IDLE} idle connections");
}

/// Both this process and the server, its child, need a descriptor for each.
fn raise_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Nofile, raised).unwrap();
    assert!(
        maximum.is_none_or(|most| most > IDLE as u64 + 500),
        "{maximum:?} descriptors are too few"
    );
}
