//! Owned keys of three real servers in one process, with the real way between them.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use tollgate_parts::{Wire, until as eventually};
use tollgate_serve::cluster::keys::KeyRing;
use tollgate_serve::owner::{Count, OwnerCounts, OwnerSettings};
use tollgate_serve::run::{Running, start};
use tollgate_serve::settings::{
    ClusterSettings, ContractSource, Join, Listener, Runtime, Settings,
};

const CONTRACTS: &str = "contracts:
  - {id: a, key: [user], coordination: owner, policies: [{name: p, limit: 20, per: 1d, algorithm: fixed-window}]}
";

const KEYS: usize = 100;

fn server(key_file: &Path, join: Option<SocketAddr>) -> Running {
    start(settings(key_file, join)).unwrap()
}

pub(crate) fn settings(key_file: &Path, join: Option<SocketAddr>) -> Settings {
    let cluster = ClusterSettings {
        listen: "127.0.0.1:0".parse().unwrap(),
        key_file: Some(key_file.to_owned()),
        join: join
            .map(|at| Join {
                host: at.ip().to_string(),
                port: at.port(),
            })
            .into_iter()
            .collect(),
        owner: OwnerSettings {
            // A busy machine makes no difference.
            deadline: Duration::from_secs(5),
        },
        ..ClusterSettings::default()
    };
    Settings {
        resp: vec![Listener::loopback()],
        contracts: ContractSource::Text(CONTRACTS.to_owned()),
        runtime: Runtime {
            threads: Some(1),
            ..Runtime::default()
        },
        cluster: Some(cluster),
        ..Settings::default()
    }
}

fn trio(key_file: &Path) -> Vec<Running> {
    KeyRing::fresh().unwrap().create(key_file).unwrap();
    let first = server(key_file, None);
    let at = first.cluster();
    let servers = vec![first, server(key_file, at), server(key_file, at)];
    everybody_sees(&servers, 3);
    servers
}

pub(crate) fn everybody_sees(servers: &[Running], count: usize) {
    eventually("members", || {
        servers.iter().all(|server| {
            let members = server.shared().cluster.get().unwrap().members();
            members.alive.len() == count && members.me.is_some()
        })
    });
}

fn counts(server: &Running) -> &OwnerCounts {
    server.shared().owner.get().unwrap().counts()
}

/// Asks for every key once in one pipeline; which passed.
pub(crate) fn ask(server: &Running) -> Vec<bool> {
    let keys = (0..KEYS).map(|key| format!("key{key}"));
    ask_for(server, keys, 1)
}

/// Asks for these keys in one pipeline, at a cost; which passed.
pub(crate) fn ask_for(
    server: &Running,
    keys: impl Iterator<Item = String>,
    cost: u64,
) -> Vec<bool> {
    let mut wire = Wire::to(server.resp().unwrap());
    let mut bytes = Vec::new();
    let mut asked = 0;
    for key in keys {
        asked += 1;
        let command = format!("TOLLGATE.CHECK COST {cost} KEY {key}\r\n");
        bytes.extend(command.bytes());
    }
    bytes.extend(b"*1\r\n$4\r\nQUIT\r\n");
    wire.send(&bytes);
    let replies = String::from_utf8(wire.rest()).unwrap();
    let each = replies.split("$7\r\nallowed\r\n").skip(1);
    let passed: Vec<bool> = each.map(|reply| reply.starts_with(":1")).collect();
    assert_eq!(passed.len(), asked, "{replies}");
    passed
}

/// Asks all servers by turns; how often each key passed.
fn ask_all(servers: &[Running], times: usize) -> Vec<usize> {
    let mut passed = vec![0; KEYS];
    for turn in 0..times {
        let round = ask(&servers[turn % servers.len()]);
        for (sum, is_allowed) in passed.iter_mut().zip(round) {
            *sum += usize::from(is_allowed);
        }
    }
    passed
}

#[test]
fn three_servers_admit_the_limit_together_and_a_leaver_hands_over() {
    let folder = tempfile::tempdir().unwrap();
    let key_file = folder.path().join("cluster.key");
    let mut servers = trio(&key_file);
    assert_eq!(ask_all(&servers, 12), vec![12; KEYS]);
    let forwarded: u64 = servers.iter().map(|s| counts(s).forwarded.get()).sum();
    assert!(forwarded > 500, "{forwarded}");
    // One leaves as it should, another comes.
    let at = servers[0].cluster();
    servers.remove(1).stop().unwrap();
    everybody_sees(&servers, 2);
    assert_eq!(ask_all(&servers, 2), vec![2; KEYS]);
    let moved_in: u64 = servers.iter().map(|s| counts(s).moved_in.get()).sum();
    assert!(moved_in > 0);
    servers.push(server(&key_file, at));
    everybody_sees(&servers, 3);
    eventually("keys moved to the newcomer", || {
        counts(&servers[2]).moved_in.get() > 0
            && servers
                .iter()
                .map(|s| s.shared().engine.node().cells_count())
                .sum::<usize>()
                == KEYS
            && servers[..2].iter().all(|s| counts(s).moved_out.get() > 0)
    });
    assert_eq!(ask_all(&servers, 12), vec![6; KEYS]);
    let fell_back = servers.iter().flat_map(|s| &counts(s).fell_back);
    assert_eq!(fell_back.map(Count::get).sum::<u64>(), 0);
}

#[test]
fn a_server_that_dies_costs_its_own_counts_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let mut servers = trio(&folder.path().join("cluster.key"));
    assert_eq!(ask_all(&servers, 12), vec![12; KEYS]);
    let lost = servers[2].shared().engine.node().cells_count();
    // Dropped, it sends no goodbye.
    drop(servers.pop());
    let passed = ask_all(&servers, 24);
    let anew = passed.iter().filter(|passed| **passed == 20).count();
    let rest = passed.iter().filter(|passed| **passed == 8).count();
    assert_eq!((anew, rest), (lost, KEYS - lost), "{passed:?}");
}

#[test]
fn a_thread_that_serves_asks_over_streams_of_its_own_that_end_with_their_node() {
    let folder = tempfile::tempdir().unwrap();
    let mut servers = trio(&folder.path().join("cluster.key"));
    let open = |server: &Running| tollgate_serve::cluster::view(server.shared()).streams.open;
    let idle = open(&servers[0]);
    // The first questions go by the streams of the cluster's thread, while the others are opened.
    assert_eq!(ask(&servers[0]), vec![true; KEYS]);
    eventually("a stream to each owner", || open(&servers[0]) >= idle + 2);
    assert_eq!(ask(&servers[0]), vec![true; KEYS]);
    drop(servers.pop());
    everybody_sees(&servers, 2);
    eventually("the stream to the node that has gone is over", || {
        open(&servers[0]) < idle + 2
    });
    assert_eq!(ask(&servers[0]), vec![true; KEYS]);
}
