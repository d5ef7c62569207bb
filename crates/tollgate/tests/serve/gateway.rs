//! `tollgate gateway` as a process in front of a real broker: what it prints, a kill, a stop, exit codes.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tollgate_parts::{Daemon, HttpReply, Mosquitto, Wire, until};

use crate::kit::{refused, run, tollgate};

const CONTRACTS: &str = "contracts:
  - id: each-client
    match: { topic: limited/# }
    key: [client]
    policies: [{ name: one, limit: 1, per: 1h }]
";

/// A running gateway.
pub(crate) struct Gateway {
    pub(crate) daemon: Daemon,
    pub(crate) listen: SocketAddr,
    pub(crate) metrics: SocketAddr,
}

impl Gateway {
    fn start(broker: &Mosquitto, contracts: &Path, listen: &str) -> Self {
        Self::with(broker, contracts, &["--listen", listen])
    }

    pub(crate) fn with(broker: &Mosquitto, contracts: &Path, more: &[&str]) -> Self {
        let mut command = tollgate(&["gateway", "--format", "json"]);
        command.args(["--metrics", "127.0.0.1:0", "--upstream", &broker.address()]);
        command.arg("--contracts").arg(contracts).args(more);
        let daemon = Daemon::spawn(&mut command);
        Self {
            listen: daemon.address("listen"),
            metrics: daemon.address("metrics"),
            daemon,
        }
    }

    fn metrics(&self) -> String {
        self.page("/metrics").body
    }

    pub(crate) fn page(&self, path: &str) -> HttpReply {
        Wire::to(self.metrics).get(path)
    }

    /// Whether the broker takes a message of that client.
    fn takes(&self, client: &str) -> bool {
        let said = [
            "-V",
            "mqttv5",
            "-q",
            "1",
            "-t",
            "limited/x",
            "-m",
            "1",
            "-i",
            client,
        ];
        let done = tool("mosquitto_pub", self.listen.port(), &said).output();
        let said = String::from_utf8(done.unwrap().stderr).unwrap();
        assert!(said.is_empty() || said.contains("Quota exceeded"), "{said}");
        said.is_empty()
    }

    fn is_open(&self, count: usize) -> bool {
        self.metrics()
            .contains(&format!("connections_open {count}\n"))
    }
}

fn contracts(folder: &Path) -> PathBuf {
    let path = folder.join("contracts.yaml");
    std::fs::write(&path, CONTRACTS).unwrap();
    path
}

fn tool(name: &str, port: u16, arguments: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    command.args(["60", name, "-h", "127.0.0.1", "-p", &port.to_string()]);
    command.args(arguments);
    command
}

#[test]
fn subscribers_and_publishers_outlive_a_killed_gateway_and_lose_and_double_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (broker, contracts) = (Mosquitto::start(), contracts(folder.path()));
    let mut gateway = Gateway::start(&broker, &contracts, "127.0.0.1:0");
    let at = gateway.listen;
    let asked = [
        "-V", "mqttv311", "-i", "reader", "-c", "-q", "2", "-t", "lines",
    ];
    let mut reader = tool("mosquitto_sub", at.port(), &asked);
    let reader = reader
        .args(["-C", "40"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    until("the reader is there", || gateway.is_open(1));
    let asked = [
        "-V", "mqttv311", "-i", "writer", "-c", "-q", "2", "-t", "lines", "-l",
    ];
    let mut writer = tool("mosquitto_pub", at.port(), &asked);
    let mut writer = writer.stdin(Stdio::piped()).spawn().unwrap();
    let mut lines = writer.stdin.take().unwrap();
    until("the writer is there", || gateway.is_open(2));
    for half in [0..20, 20..40] {
        for line in half.clone() {
            writeln!(lines, "line {line}").unwrap();
        }
        if half.start == 0 {
            until("half has passed", || {
                gateway.metrics().contains("{outcome=\"passed\"} 20\n")
            });
            drop(gateway);
            gateway = Gateway::start(&broker, &contracts, &at.to_string());
            until("both are back", || gateway.is_open(2));
        }
    }
    drop(lines);
    assert!(writer.wait().unwrap().success());
    let heard = reader.wait_with_output().unwrap();
    let mut heard: Vec<_> = std::str::from_utf8(&heard.stdout)
        .unwrap()
        .lines()
        .collect();
    heard.sort_by_key(|line| line[5..].parse::<u32>().unwrap());
    let expected: Vec<_> = (0..40).map(|line| format!("line {line}")).collect();
    assert_eq!(heard, expected);
}

#[test]
fn a_gateway_refuses_counts_and_stops() {
    let folder = tempfile::tempdir().unwrap();
    let (broker, contracts) = (Mosquitto::start(), contracts(folder.path()));
    let gateway = Gateway::start(&broker, &contracts, "127.0.0.1:0");
    assert!(gateway.takes("a") && !gateway.takes("a"));
    let counted = "policy_denied_total{contract=\"each-client\",policy=\"one\"} 1\n";
    assert!(gateway.metrics().contains(counted));
    gateway.daemon.signal("TERM");
    assert_eq!(gateway.daemon.end().0, Some(0));
}

#[test]
fn a_gateway_reads_its_contracts_again_when_told_to() {
    let folder = tempfile::tempdir().unwrap();
    let (broker, path) = (Mosquitto::start(), contracts(folder.path()));
    let gateway = Gateway::start(&broker, &path, "127.0.0.1:0");
    assert!(gateway.takes("a") && !gateway.takes("a"));
    std::fs::write(&path, CONTRACTS.replace("limit: 1", "limit: 3")).unwrap();
    gateway.daemon.signal("HUP");
    until("they are read", || {
        !gateway
            .metrics()
            .contains("reloads_total{result=\"ok\"} 0\n")
    });
    assert!(gateway.takes("a") && gateway.takes("a") && !gateway.takes("a"));
}

#[test]
fn gateways_of_a_cluster_share_a_limit_by_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start();
    let (path, key) = (folder.path().join("owned.yaml"), folder.path().join("key"));
    let owned = CONTRACTS.replace(
        "limit: 1, per: 1h",
        "limit: 5, per: 1h, coordination: owner",
    );
    std::fs::write(&path, owned.replace("key: [client]", "key: [topic]")).unwrap();
    let key = key.to_str().unwrap();
    assert!(run(&["cluster", "key", "new", key]).status.success());
    let member = |name: &str, join: &[&str]| {
        let flags = [
            "--listen",
            "127.0.0.1:0",
            "--cluster",
            "127.0.0.1:0",
            "--cluster-key",
            key,
        ];
        Gateway::with(
            &broker,
            &path,
            &[&flags[..], &["--name", name], join].concat(),
        )
    };
    let first = member("first", &[]);
    let second = member(
        "second",
        &["--join", first.daemon.ready["cluster"].as_str().unwrap()],
    );
    until("they know each other", || {
        let knows = |gateway: &Gateway, name: &str| gateway.page("/v1/cluster").body.contains(name);
        knows(&first, "\"second\"") && knows(&second, "\"first\"")
    });
    for gateway in [&first, &second] {
        until("it is ready", || gateway.page("/readyz").status == 200);
    }
    let both = [&first, &second].into_iter().cycle().take(12);
    assert_eq!(both.filter(|gateway| gateway.takes("a")).count(), 5);
}

#[test]
fn what_a_gateway_cannot_do_is_said_before_it_listens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("contracts.yaml");
    let file = path.to_str().unwrap();
    let of = |text: &str| {
        std::fs::write(&path, text).unwrap();
        run(&["gateway", "--listen", "127.0.0.1:0", "--contracts", file])
    };
    let filter = CONTRACTS.replace("limited/#", "limited/#/x");
    refused(&of(&filter), 64, &["contract `each-client`", "limited/#/x"]);
    refused(&of("domain: a\ndescriptors: []\n"), 64, &["contracts"]);
    refused(&run(&["gateway"]), 64, &["--contracts"]);
    let nowhere = ["gateway", "--contracts", file, "--upstream", "broker"];
    refused(&run(&nowhere), 64, &["host:port"]);
    std::fs::write(&path, CONTRACTS).unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let twice = ["gateway", "--contracts", file, "--listen", &taken];
    refused(&run(&twice), 69, &[&taken]);
    let sealed = ["gateway", "--contracts", file, "--tls-cert", "none.pem"];
    refused(&run(&sealed), 64, &["--tls-key"]);
    let sealed = [&sealed[..], &["--tls-key", "none.key"]].concat();
    refused(&run(&sealed), 66, &["none.pem"]);
    let named = ["--upstream-tls", "--upstream-ca", file];
    let named = [&["gateway", "--contracts", file][..], &named].concat();
    refused(&run(&named), 64, &["no certificate"]);
    let absent = run(&["gateway", "--contracts", "no-such-file.yaml"]);
    refused(&absent, 66, &["no-such-file.yaml"]);
}
