//! A sidecar on Unix sockets, through all its protocols: what it does not decide itself it forwards.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use http::uri::PathAndQuery;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::{Value, json};
use tollgate_client::{Client, ClientConfig, ClientError, ClientTls, DecisionPath};
use tollgate_parts::{Wire, until as eventually};
use tollgate_serve::run::{Running, start};
use tollgate_serve::settings::{
    ContractSource, Keeping, ListenAddress, Listener, Runtime, Settings, Tls, UpstreamSettings,
};
use tollgate_wire::native::{CheckManyRequest, CheckManyResponse, CheckRequest, Entry};
use tonic::client::Grpc;
use tonic::transport::Endpoint;
use tonic_prost::ProstCodec;

use crate::lease;

const DEADLINE: Duration = Duration::from_secs(30);
/// A rate that is lent, a day that is not, and one contract more for the same users.
const CONTRACTS: &str = "contracts:
  - id: rates
    match: { kind: rate }
    key: [user]
    coordination: lease
    policies: [{ name: rate, limit: 200, per: 1s, burst: 1000, term: 1s, timeout: 5s }]
  - id: days
    match: { kind: day }
    key: [user]
    coordination: lease
    policies: [{ name: day, limit: 10, per: 1d, algorithm: fixed-window }]
  - id: both
    match: { kind: day, also: yes }
    key: [user]
    policies: [{ name: also, limit: 5, per: 1d, algorithm: fixed-window }]
  - id: pairs
    match: { kind: pair }
    key: [user]
    coordination: lease
    policies:
      - { name: wide, limit: 500, per: 1s, burst: 4000, term: 1s, timeout: 5s }
      - { name: tight, limit: 100, per: 1s, burst: 600, term: 1s, timeout: 5s }
  - id: twice
    match: { kind: twice }
    key: [user]
    policies:
      - { name: hour, limit: 3, per: 1h }
      - { name: day, limit: 3, per: 30d }
";

fn base() -> Settings {
    Settings {
        contracts: ContractSource::Text(CONTRACTS.to_owned()),
        runtime: Runtime {
            threads: Some(1),
            ..Runtime::default()
        },
        ..Settings::default()
    }
}

fn sidecar_of(nodes: Vec<String>, folder: &std::path::Path) -> Sidecar {
    let (http, resp) = (folder.join("http.sock"), folder.join("resp.sock"));
    let at = |path: &PathBuf| {
        let at = format!("unix:{}", path.display());
        vec![Listener::plain(at.parse::<ListenAddress>().unwrap())]
    };
    let settings = Settings {
        http: at(&http),
        resp: at(&resp),
        keeping: Keeping {
            upstream: Some(UpstreamSettings {
                nodes,
                token: None,
                zone: None,
                tls: None,
            }),
            ..Keeping::default()
        },
        ..base()
    };
    Sidecar {
        _running: start(settings).unwrap(),
        http,
        resp,
    }
}

pub(crate) struct Sidecar {
    _running: Running,
    http: PathBuf,
    resp: PathBuf,
}

pub(crate) fn pair() -> (tempfile::TempDir, Running, Sidecar) {
    let folder = tempfile::tempdir().unwrap();
    let node = start(Settings {
        resp: vec![Listener::loopback()],
        ..base()
    });
    let node = node.unwrap();
    let sidecar = sidecar_of(vec![node.resp().unwrap().to_string()], folder.path());
    eventually("the sidecar is connected", || {
        sidecar.post("check", &json!({"key": {"kind": "day", "user": "first"}}))["allowed"] == true
    });
    (folder, node, sidecar)
}

impl Sidecar {
    /// The body of an answer, which is 200 unless it is a problem.
    pub(crate) fn post(&self, what: &str, body: &Value) -> Value {
        let mut wire = Wire::unix(&self.http);
        wire.post(&format!("/v1/{what}"), &body.to_string()).json()
    }

    /// Whole tokens that a policy of a user has left at the node.
    pub(crate) fn left(&self, kind: &str, user: &str, policy: &str) -> u64 {
        let peeked = self.post("peek", &json!({"key": {"kind": kind, "user": user}}));
        let policies = peeked["policies"].as_array().unwrap();
        let it = policies.iter().find(|one| one["policy"] == policy);
        it.unwrap_or_else(|| panic!("{peeked}"))["remaining"]
            .as_u64()
            .unwrap()
    }

    /// Sends commands in one write, and reads so many lines of replies.
    pub(crate) fn say(&self, commands: &str, lines: usize) -> Vec<String> {
        let mut wire = Wire::unix(&self.resp);
        wire.send(commands);
        (0..lines).map(|_| wire.line()).collect()
    }

    fn call_many(&self, request: CheckManyRequest) -> CheckManyResponse {
        let path = self.http.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(async move {
            let connect = tower::service_fn(move |_: http::Uri| {
                let path = path.clone();
                async move {
                    let stream = tokio::net::UnixStream::connect(path).await?;
                    Ok::<_, std::io::Error>(hyper_util::rt::TokioIo::new(stream))
                }
            });
            let endpoint = Endpoint::from_static("http://sidecar");
            let channel = endpoint.connect_with_connector(connect).await.unwrap();
            let mut grpc = Grpc::new(channel);
            grpc.ready().await.unwrap();
            let path = PathAndQuery::from_static("/tollgate.v1.Tollgate/CheckMany");
            let codec = ProstCodec::<CheckManyRequest, CheckManyResponse>::default();
            let answer = grpc.unary(tonic::Request::new(request), path, codec).await;
            answer.unwrap().into_inner()
        })
    }
}

#[test]
fn a_sidecar_passes_on_charges_refunds_and_peeks() {
    let (_folder, _node, sidecar) = pair();
    let key = json!({"kind": "day", "user": "ada"});
    let charged = sidecar.post("charge", &json!({"key": key, "cost": 4}));
    assert_eq!(charged, json!({"applied": true}));
    assert_eq!(sidecar.left("day", "ada", "day"), 6);
    let back = sidecar.post("refund", &json!({"key": key, "cost": 3}));
    assert_eq!(back, json!({"applied": true}));
    assert_eq!(sidecar.left("day", "ada", "day"), 9);
    let checked = sidecar.post("check", &json!({"key": key, "cost": 9}));
    assert_eq!(
        (&checked["allowed"], &checked["remaining"]),
        (&json!(true), &json!(0))
    );
    let explained = sidecar.post("explain", &json!({"key": key, "cost": 1}));
    assert_eq!(explained["allowed"], false, "{explained}");
    assert!(explained["policies"][0]["remaining"] == 0, "{explained}");
    // The same commands over the other protocol.
    let said = sidecar.say("TOLLGATE.REFUND COST 2 KEY kind day user ada\r\n", 1);
    assert_eq!(said, [":1"]);
    assert_eq!(sidecar.left("day", "ada", "day"), 2);
    let said = sidecar.say(
        "TOLLGATE.CHARGE KEY kind day user ada\r\nTOLLGATE.PEEK KEY kind day user ada\r\n",
        2,
    );
    assert_eq!((&*said[0], &*said[1]), (":1", "*1"), "{said:?}");
    let said = sidecar.say("TOLLGATE.RESET KEY kind day user ada\r\n", 1);
    assert_eq!(said, [":1"]);
    assert_eq!(sidecar.left("day", "ada", "day"), 10);
}

#[test]
fn a_sidecar_settles_and_reserves_where_a_request_was_paid() {
    let (_folder, _node, sidecar) = pair();
    let key = json!({"kind": "day", "user": "bob"});
    let paid = sidecar.post("check", &json!({"key": key, "cost": 8}));
    let settle = json!({"receipt": paid["receipt"], "cost": 2});
    assert_eq!(sidecar.post("settle", &settle), json!({"applied": true}));
    assert_eq!(
        sidecar.left("day", "bob", "day"),
        8,
        "the node gave six back"
    );
    let held = sidecar.post("reserve", &json!({"key": key, "cost": 5, "id": "one"}));
    assert_eq!(held["allowed"], true);
    assert_eq!(sidecar.left("day", "bob", "day"), 3);
    let done = sidecar.post("commit", &json!({"id": "one", "cost": 1}));
    assert_eq!(done, json!({"applied": true}));
    assert_eq!(sidecar.left("day", "bob", "day"), 7);

    // What a lease paid is settled in the lease.
    let key = json!({"kind": "rate", "user": "bob"});
    let check = |cost: u64| sidecar.post("check", &json!({"key": key, "cost": cost}));
    eventually("a lease that paid is given twenty back", || {
        (0..20).for_each(|_| drop(check(1)));
        let begun = Instant::now();
        let paid = check(20);
        if paid["allowed"] == false || paid["remaining"] == 0 {
            return false;
        }
        let settle = json!({"receipt": paid["receipt"], "cost": 0});
        assert_eq!(sidecar.post("settle", &settle), json!({"applied": true}));
        let more =
            check(1)["remaining"].as_u64() >= paid["remaining"].as_u64().map(|left| left + 15);
        // By itself the lease fills by a token in five milliseconds at best.
        more && begun.elapsed() < Duration::from_millis(50)
    });
}

#[test]
fn a_sidecar_asks_one_contract_alone() {
    let (_folder, _node, sidecar) = pair();
    let key = json!({"kind": "day", "also": "yes", "user": "eve"});
    let ask = |contract: &str| sidecar.post("check", &json!({"key": key, "contract": contract}));
    let passed = (0..7).filter(|_| ask("both")["allowed"] == true).count();
    assert_eq!(passed, 5);
    let days = ask("days");
    assert_eq!(
        (&days["allowed"], &days["remaining"]),
        (&json!(true), &json!(9))
    );
    assert_eq!(days["policy"], "day");
    let all = sidecar.post("check", &json!({"key": key}));
    assert_eq!(
        (&all["allowed"], &all["policy"]),
        (&json!(false), &json!("also"))
    );
    let said = sidecar.say(
        "TOLLGATE.CHECK CONTRACT days COST 0 KEY kind day also yes user eve\r\n",
        8,
    );
    assert_eq!(&*said[3], ":1", "a peek: {said:?}");
}

#[test]
fn calls_over_grpc_are_decided_by_the_node_too() {
    let (_folder, _node, sidecar) = pair();
    let entry = |key: &str, value: &str| Entry {
        key: key.to_owned(),
        value: value.to_owned(),
    };
    let check = CheckRequest {
        entries: vec![entry("kind", "day"), entry("user", "zed")],
        cost: Some(1),
        ..CheckRequest::default()
    };
    let answers = sidecar.call_many(CheckManyRequest {
        checks: vec![check; 12],
        with_receipts: true,
    });
    let passed = answers.answers.iter().filter(|one| one.allowed);
    assert_eq!(passed.clone().count(), 10, "{answers:?}");
    assert!(passed.clone().all(|one| !one.receipt.is_empty()));
}

#[test]
fn a_sidecar_of_two_nodes_passes_every_calm_key_and_none_beyond_its_limit() {
    const KEYS: usize = 100;
    let folder = tempfile::tempdir().unwrap();
    let nodes = lease::pair(&lease::settings_of(CONTRACTS), folder.path());
    let at = nodes.iter().map(|node| node.resp().unwrap().to_string());
    let sidecar = sidecar_of(at.collect(), folder.path());
    let mut users = 0..;
    // Questions about leases of keys of either node go out in one write, and checks behind them. On a busy machine a
    // node may be late for a round, and new nodes lend nothing for a term.
    eventually("a hundred new keys pass at once", || {
        let users: Vec<u32> = users.by_ref().take(KEYS).collect();
        let checks = users.iter().flat_map(|user| {
            let calm = json!({"key": {"kind": "rate", "user": user.to_string()}});
            let never = json!({"key": {"kind": "day", "user": user.to_string()}, "cost": 11});
            [calm, never]
        });
        let answers = sidecar.post("check", &Value::Array(checks.collect()));
        let passed = (0..2 * KEYS).filter(|place| answers[*place]["allowed"] == true);
        let (calm, never): (Vec<_>, Vec<_>) = passed.partition(|place| place % 2 == 0);
        assert!(
            never.is_empty(),
            "beyond every limit, and passed: {answers}"
        );
        calm.len() == KEYS
    });
}

/// Words of the next command of a client.
fn command(reader: &mut BufReader<TcpStream>) -> Option<Vec<Vec<u8>>> {
    let line = |reader: &mut BufReader<TcpStream>| {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        line.trim_start_matches(['*', '$'])
            .trim()
            .parse::<usize>()
            .ok()
    };
    let count = line(reader)?;
    let word = |_| {
        let mut word = vec![0; line(reader)? + 2];
        reader.read_exact(&mut word).ok()?;
        word.truncate(word.len() - 2);
        Some(word)
    };
    (0..count).map(word).collect()
}

/// A node that says nothing of keys until so many are asked for at a time; all are to be asked for, and pass.
fn patient(listener: &TcpListener, together: usize) {
    while let Ok((mut stream, _)) = listener.accept() {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut held = Vec::new();
        while let Some(words) = command(&mut reader) {
            let name = String::from_utf8_lossy(&words[0]).into_owned();
            match &*name {
                "HELLO" => stream.write_all(b"%0\r\n").unwrap(),
                "TOLLGATE.LEASE" => held.push(&b"$2\r\n\x21\x00\r\n"[..]),
                _ => held.push(b"%3\r\n$7\r\nallowed\r\n:1\r\n$6\r\npolicy\r\n$3\r\nday\r\n$9\r\nremaining\r\n:7\r\n"),
            }
            if held.len() == together {
                let replies = std::mem::take(&mut held).concat();
                if stream.write_all(&replies).is_err() {
                    break;
                }
            }
        }
    }
}

#[test]
fn what_is_asked_together_is_under_way_together() {
    const TOGETHER: usize = 20;
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    thread::spawn(move || patient(&listener, TOGETHER));
    let sidecar = sidecar_of(vec![at], folder.path());
    let checks: Vec<Value> = (0..TOGETHER)
        .map(|user| json!({"key": {"kind": "day", "user": user.to_string()}}))
        .collect();
    eventually("a batch is answered", || {
        let answers = sidecar.post("check", &json!(checks));
        let answers = answers.as_array().unwrap();
        answers
            .iter()
            .all(|one| one["allowed"] == true && one["remaining"] == 7)
    });
    let pipeline = "TOLLGATE.CHECK KEY kind day user 7\r\n".repeat(TOGETHER);
    eventually("a pipeline is answered", || {
        let said = sidecar.say(&pipeline, TOGETHER * 35);
        said.iter().filter(|line| *line == ":7").count() == TOGETHER
    });
}

#[test]
fn a_client_leaves_a_connection_whose_replies_are_out_of_step() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    // The first connection answers a question about a lease as if it were a check; what is said on it after that is
    // counted.
    let node = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        for (name, reply) in [
            ("HELLO", "%0\r\n"),
            ("TOLLGATE.LEASE", "%1\r\n$7\r\nallowed\r\n:1\r\n"),
        ] {
            assert_eq!(command(&mut reader).unwrap()[0], name.as_bytes());
            stream.write_all(reply.as_bytes()).unwrap();
        }
        let more = std::iter::from_fn(|| command(&mut reader)).count();
        thread::spawn(move || patient(&listener, 1));
        more
    });
    let client = Client::connect(ClientConfig {
        timeout: DEADLINE,
        ..ClientConfig::new([at])
    });
    let client = client.unwrap();
    assert!(client.check("ada", 1).is_allowed, "the next connection");
    assert_eq!(node.join().unwrap(), 0, "commands on the first");
    let counts = client.counts();
    assert_eq!((counts.malformed, counts.connected), (1, 2), "{counts:?}");
}

/// An authority, and a certificate for this machine that it signed: the certificate's file and its key's.
fn signed(folder: &std::path::Path, name: &str) -> (PathBuf, PathBuf, PathBuf) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    let write = |ending: &str, text: String| {
        let path = folder.join(format!("{name}.{ending}"));
        std::fs::write(&path, text).unwrap();
        path
    };
    (
        write("ca", issuer.pem()),
        write("pem", certificate.pem()),
        write("key", key.serialize_pem()),
    )
}

#[test]
fn a_client_speaks_to_nodes_over_tls() {
    let folder = tempfile::tempdir().unwrap();
    let (authority, certificate, key) = signed(folder.path(), "node");
    let (clients, own, own_key) = signed(folder.path(), "client");
    let listener = Listener {
        tls: Some(Tls {
            certificate,
            key,
            client_ca: Some(clients.clone()),
        }),
        ..Listener::loopback()
    };
    let node = start(Settings {
        resp: vec![listener],
        ..base()
    });
    let node = node.unwrap();
    let at = format!("tls://localhost:{}", node.resp().unwrap().port());
    let connect = |tls: Option<ClientTls>| {
        Client::connect(ClientConfig {
            tls,
            timeout: Duration::from_secs(1),
            ..ClientConfig::new([at.clone()])
        })
    };
    let trusted = ClientTls {
        authority,
        certificate: Some((own, own_key)),
    };
    let client = connect(Some(trusted.clone())).unwrap();
    let ada = &[("kind", "day"), ("user", "ada")];
    eventually("a node answers", || client.check(ada, 1).is_allowed);
    let rate = &[("kind", "rate"), ("user", "ada")];
    eventually("a lease pays", || {
        client.check(rate, 1).path == DecisionPath::Lease
    });
    // A server without the authority's certificate is refused, and so is a client without one.
    let stranger = ClientTls {
        authority: clients,
        ..trusted.clone()
    };
    let nameless = ClientTls {
        certificate: None,
        ..trusted
    };
    for refused in [stranger, nameless] {
        let client = connect(Some(refused)).unwrap();
        assert_eq!(client.check(ada, 1).path, DecisionPath::Failed);
        assert_eq!(client.counts().connected, 0);
    }
    assert!(matches!(connect(None), Err(ClientError::NoAuthority(_))));
    let lost = ClientTls {
        authority: folder.path().join("none"),
        certificate: None,
    };
    assert!(matches!(connect(Some(lost)), Err(ClientError::Tls(_))));
}
