//! Two servers as processes, each with a catalogue of its own, asked over HTTP.
//!
//! Not here: what they are asked.

use std::io::Write;
use std::net::{TcpListener, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate_contract::{Coordination, Feature};
use tollgate_parts::{Daemon, Wire, until};

use super::pair::{Foreseen, Pair, PairAct, PairAnswer, PairKey, Stand};
use crate::kit::tollgate;

const TOKEN: &str = "a-token-for-the-tests";
const NAMES: [&str; 2] = ["a", "b"];

pub(crate) struct Live {
    folder: TempDir,
    ports: [u16; 2],
    store: String,
    nodes: [Option<Daemon>; 2],
    wires: [Option<Wire>; 2],
    /// Of the check before.
    receipt: String,
}

impl Live {
    pub(crate) fn start(contracts: &str, store: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("contracts.yaml"), contracts).unwrap();
        let key = folder.path().join("key");
        let made = tollgate(&["cluster", "key", "new"])
            .arg(&key)
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let mut live = Self {
            folder,
            ports: [port(), port()],
            store: store.to_owned(),
            nodes: [None, None],
            wires: [None, None],
            receipt: String::new(),
        };
        (0..2).for_each(|node| live.spawn(node));
        live.meet();
        live
    }

    fn spawn(&mut self, node: usize) {
        let at = |node: usize| format!("127.0.0.1:{}", self.ports[node]);
        let home = self.folder.path().join(NAMES[node]);
        std::fs::create_dir_all(&home).unwrap();
        let settings = home.join("settings.yaml");
        let store = format!("store: {{ url: \"{}\", deadline: 10s }}", self.store);
        let text = format!(
            "catalogue: {{ path: live.db, deadline: 30s }}\ncluster: {{ owner_deadline: 10s, pace: wan }}\n{store}\n"
        );
        std::fs::write(&settings, text).unwrap();
        let mut command = tollgate(&[
            "serve",
            "--format",
            "json",
            "--http",
            "127.0.0.1:0",
            "--resp",
            "127.0.0.1:0",
        ]);
        command.args(["--threads", "1", "--roster", "a,b"]);
        command.args([
            "--name",
            NAMES[node],
            "--cluster",
            &at(node),
            "--join",
            &at(1 - node),
        ]);
        command.arg("--config").arg(settings);
        command
            .arg("--cluster-key")
            .arg(self.folder.path().join("key"));
        command
            .arg("--contracts")
            .arg(self.folder.path().join("contracts.yaml"));
        command.arg("--data-dir").arg(home);
        command.env("TOLLGATE_ADMIN_TOKEN", TOKEN);
        command.env("TOLLGATE_SHUTDOWN_DELAY", "0s");
        self.nodes[node] = Some(Daemon::spawn(&mut command));
        self.wires[node] = None;
    }

    /// Waits until both are ready, and each asks the other about keys that it owns.
    fn meet(&mut self) {
        for node in 0..2 {
            until("both are there", || {
                let (_, view) = self.get(node, "/v1/cluster");
                let is_ready = self.get(node, "/readyz").0 == 200;
                is_ready && view["peers"].as_array().is_some_and(|all| all.len() == 1)
            });
        }
        let mut round = 0;
        until("they ask each other", || {
            round += 1;
            (0..8).all(|user| {
                let user = format!("{user}-{round}");
                let key = [("f", "meet"), ("user", &*user)];
                for node in 0..2 {
                    self.act(node, &key, PairAct::Check(1));
                }
                (0..2).all(|node| self.stands(node, &key)[0].remaining == 78)
            })
        });
    }

    fn node(&self, node: usize) -> &Daemon {
        self.nodes[node].as_ref().unwrap()
    }

    fn wire(&mut self, node: usize) -> &mut Wire {
        let at = self.node(node).address("http");
        self.wires[node].get_or_insert_with(|| Wire::to(at))
    }

    fn get(&mut self, node: usize, path: &str) -> (u16, Value) {
        let reply = self.wire(node).get(path);
        (
            reply.status,
            serde_json::from_str(&reply.body).unwrap_or_default(),
        )
    }

    fn post(&mut self, node: usize, path: &str, body: &Value) -> (u16, Value) {
        let reply = self.wire(node).post(path, &body.to_string());
        (reply.status, reply.json())
    }

    /// HTTP has no word for it.
    fn reset(&self, node: usize, key: &PairKey<'_>) -> PairAnswer {
        let entries = key.iter().map(|(name, value)| format!(" {name} {value}"));
        let command = format!("TOLLGATE.RESET KEY{}", entries.collect::<String>());
        let said = Wire::to(self.node(node).address("resp")).inline(&command);
        PairAnswer {
            is_done: said == ":1",
            wait_ms: 0,
        }
    }

    /// Has both nodes do what the command says.
    fn manage(&self, words: &[&str], input: &str) {
        for node in 0..2 {
            let at = format!("http://{}", self.node(node).address("http"));
            let mut command: Command = tollgate(words);
            command
                .args(["--server", &at])
                .env("TOLLGATE_ADMIN_TOKEN", TOKEN);
            command
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            child
                .stdin
                .take()
                .unwrap()
                .write_all(input.as_bytes())
                .unwrap();
            let output = child.wait_with_output().unwrap();
            assert!(
                output.status.success(),
                "{words:?}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
    }
}

/// A port that no other server of this test has, below those that the system gives out.
fn port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let begin = u16::try_from(std::process::id() % 18_000).unwrap();
    let free = |port: &u16| {
        let at = ("127.0.0.1", *port);
        UdpSocket::bind(at).is_ok() && TcpListener::bind(at).is_ok()
    };
    let ports = std::iter::repeat_with(|| 12_000 + (begin + NEXT.fetch_add(1, Relaxed)) % 18_000);
    { ports }.find(free).unwrap()
}

/// The key as JSON.
fn named(key: &PairKey<'_>) -> Value {
    key.iter()
        .map(|(name, value)| ((*name).to_owned(), json!(value)))
        .collect()
}

fn number(value: &Value, name: &str) -> u64 {
    value[name]
        .as_u64()
        .unwrap_or_else(|| panic!("{name} in {value}"))
}

impl Pair for Live {
    fn what(&self) -> &'static str {
        "two processes"
    }

    fn can(&self, _: Feature) -> bool {
        true
    }

    fn shares(&self, mode: Coordination) -> bool {
        use Coordination::{Lease, Owner, Store};
        matches!(mode, Owner | Store | Lease)
    }

    fn act(&mut self, node: usize, key: &PairKey<'_>, act: PairAct<'_>) -> PairAnswer {
        let (path, body) = match act {
            PairAct::Check(cost) => ("/v1/check", json!({ "key": named(key), "cost": cost })),
            PairAct::CheckOnce(id, cost) => (
                "/v1/check",
                json!({ "key": named(key), "cost": cost, "id": id }),
            ),
            PairAct::Reserve(id, cost) => (
                "/v1/reserve",
                json!({ "key": named(key), "cost": cost, "id": id }),
            ),
            PairAct::Commit(id, cost) => ("/v1/commit", json!({ "id": id, "cost": cost })),
            PairAct::Cancel(id) => ("/v1/cancel", json!({ "id": id })),
            PairAct::Settle(cost) => (
                "/v1/settle",
                json!({ "receipt": self.receipt, "cost": cost }),
            ),
            PairAct::Charge(cost) => ("/v1/charge", json!({ "key": named(key), "cost": cost })),
            PairAct::ChargeOnce(id, cost) => (
                "/v1/charge",
                json!({ "key": named(key), "cost": cost, "id": id }),
            ),
            PairAct::Refund(cost) => ("/v1/refund", json!({ "key": named(key), "cost": cost })),
            PairAct::RefundOnce(id, cost) => (
                "/v1/refund",
                json!({ "key": named(key), "cost": cost, "id": id }),
            ),
            PairAct::Reset => return self.reset(node, key),
        };
        let (status, said) = self.post(node, path, &body);
        if let PairAct::Check(_) = act {
            assert_eq!(status, 200, "{act:?}: {said}");
            let receipt = said["receipt"].as_str().unwrap_or_default();
            receipt.clone_into(&mut self.receipt);
        }
        let is_done = said["allowed"].as_bool().unwrap_or(status == 200);
        PairAnswer {
            is_done,
            wait_ms: said["wait_ms"].as_u64().unwrap_or(0),
        }
    }

    fn stands(&mut self, node: usize, key: &PairKey<'_>) -> Vec<Stand> {
        let (status, said) = self.post(node, "/v1/peek", &json!({ "key": named(key) }));
        assert_eq!(status, 200, "{said}");
        let each = said["policies"].as_array().unwrap().iter();
        let each = each.map(|one| Stand {
            policy: one["policy"].as_str().unwrap().to_owned(),
            limit: number(one, "limit"),
            remaining: number(one, "remaining"),
            debt: number(one, "debt"),
        });
        each.collect()
    }

    fn foresees(&mut self, node: usize, key: &PairKey<'_>, cost: u64) -> Vec<Foreseen> {
        let (status, said) = self.post(
            node,
            "/v1/explain",
            &json!({ "key": named(key), "cost": cost }),
        );
        assert_eq!(status, 200, "{said}");
        let each = said["policies"].as_array().unwrap().iter();
        let each = each.map(|one| Foreseen {
            is_enforced: one["enforced"].as_bool().unwrap(),
            is_allowed: one["allowed"].as_bool().unwrap(),
        });
        each.collect()
    }

    fn pass(&mut self) {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }

    fn change(&mut self, _: &str, contract: &str) {
        self.manage(&["contract", "put", "-"], contract);
    }

    fn assign(&mut self, assignment: &str) {
        self.manage(&["assign", "put", "-"], assignment);
    }

    fn restart(&mut self, node: usize) {
        self.wires[node] = None;
        let daemon = self.nodes[node].take().unwrap();
        daemon.signal("TERM");
        let (code, errors) = daemon.end();
        assert_eq!(code, Some(0), "{errors}");
        self.spawn(node);
        self.meet();
    }
}
