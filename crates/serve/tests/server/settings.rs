//! The server's file: valid content, and messages about errors.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::path::Path;
use std::time::Duration;

use tollgate_contract::{Coordination, Dialect};
use tollgate_http::{ForwardingHeader, Trust};
use tollgate_serve::run;
use tollgate_serve::settings::{
    ContractSource, EntrySource, ListenAddress, LogFormat, RuntimeKind, Settings, Token,
    TokenScope, TraceProtocol, is_server_file, json_schema,
};
use tollgate_table::WhenFull;

fn parse(text: &str) -> Result<Settings, String> {
    Settings::parse(text, Path::new("/etc/tollgate/tollgate.yaml"))
}

#[track_caller]
fn refused(text: &str, place: &str, said: &[&str]) {
    let error = parse(text).map(|_| ()).unwrap_err();
    let arrow = format!("--> /etc/tollgate/tollgate.yaml:{place}\n");
    assert!(error.contains(&arrow), "no {arrow}\n{error}");
    for words in said {
        assert!(error.contains(words), "no `{words}` in\n{error}");
    }
}

#[test]
fn an_empty_file_serves_at_the_usual_places() {
    for text in ["", "# nothing\n", "{}"] {
        let settings = parse(text).unwrap();
        assert_eq!(settings.http[0].at.to_string(), "127.0.0.1:8080");
        assert_eq!(settings.resp[0].at.to_string(), "127.0.0.1:6380");
        assert_eq!(settings.contracts, ContractSource::None);
        assert_eq!(settings.data_dir, None);
    }
}

#[test]
fn files_of_a_store_are_looked_at() {
    let store = |url: &str, line: &str| format!("store:\n  url: {url}\n  {line}\n");
    for line in ["ca_file: gone.pem", "secret_file: gone.pem"] {
        let place = format!("3:{}", line.find("gone").unwrap() + 3);
        let said = ["/etc/tollgate/gone.pem", "No such file"];
        refused(&store("rediss://db", line), &place, &said);
    }
    let empty = store("postgres://db", "ca_file: /dev/null");
    refused(
        &empty,
        "3:12",
        &["/dev/null: there is no certificate in it"],
    );
    let folder = store("rediss-sentinel://db/main", "ca_file: /");
    refused(&folder, "3:12", &["a folder, not a file"]);
    let alone = store("rediss-cluster://db", "key_file: /dev/null");
    let said = ["cert_file and key_file go together", "no private key"];
    refused(&alone, "3:13", &said);
    for url in ["redis://db", "redis-cluster://db", "sqlite:db"] {
        let plain = store(url, "cert_file: /dev/null");
        refused(&plain, "3:14", &["speaks no TLS"]);
    }
}

#[test]
fn listeners_and_files_can_be_said() {
    let settings = parse(EVERYTHING).unwrap();
    assert_eq!(settings.http[0].at.to_string(), "0.0.0.0:80");
    let ListenAddress::Unix { path, mode } = &settings.http[1].at else {
        panic!("{}", settings.http[1].at);
    };
    assert_eq!(
        (path.as_path(), *mode),
        (Path::new("/etc/tollgate/run/http.sock"), 0o660)
    );
    assert!(
        settings.http[1].tls.is_none(),
        "only TCP gets the certificates of all"
    );
    let tls = settings.http[0].tls.clone().unwrap();
    assert_eq!(tls.certificate, Path::new("/etc/tollgate/cert.pem"));
    assert_eq!(tls.client_ca.as_deref(), Some(Path::new("/ca.pem")));
    assert!(settings.resp.is_empty());
    assert_eq!(
        settings.data_dir.as_deref(),
        Some(Path::new("/etc/tollgate/data"))
    );
    let contracts = Path::new("/etc/tollgate/contracts.yaml");
    assert_eq!(settings.contracts.file(), Some(contracts));
    let look = [TokenScope::Observe].into_iter().collect();
    let tokens = [
        Token::new("first-of-two-tokens"),
        Token::new("1234567890123456").scoped(look).until(0),
    ];
    assert!(settings.tokens.iter().eq(&tokens));
}

#[test]
fn everything_else_can_be_said() {
    let settings = parse(EVERYTHING).unwrap();
    assert_eq!(settings.keeping.flush_every, Duration::from_millis(250));
    assert_eq!(settings.dialect, Dialect::Kong);
    assert!(matches!(&settings.client_address.trust, Trust::Networks(list) if list.len() == 2));
    assert_eq!(settings.client_address.header, ForwardingHeader::Forwarded);
    assert_eq!(settings.client_address.ipv6_prefix, 56);
    let user = EntrySource::Header("x-user".into());
    assert_eq!(settings.auth.entries[0], ("user".into(), user));
    assert_eq!(settings.limits.connections_max, 50);
    assert_eq!(settings.limits.body_bytes_max, 2 << 20);
    assert_eq!(settings.limits.drain, Duration::from_secs(90));
    assert_eq!(settings.limits.quota.ttl_s, 20);
    assert!(settings.limits.quota.allows_unserved);
    assert_eq!(settings.node.bytes_max, 256 << 20);
    assert_eq!(settings.node.when_full, WhenFull::Refuse);
    assert_eq!(settings.runtime.kind, RuntimeKind::Shared);
    assert_eq!(settings.runtime.threads, Some(3));
    assert_eq!(settings.telemetry.logs.format, LogFormat::Json);
    let traces = settings.telemetry.traces.unwrap();
    assert_eq!((traces.protocol, traces.one_in), (TraceProtocol::Http, 100));
    assert!(!settings.telemetry.show_keys);
}

const EVERYTHING: &str = "
http:
  - 0.0.0.0:80
  - { at: 'unix:run/http.sock', mode: 660 }
resp: off
tls: { certificate: cert.pem, key: key.pem, client_ca: /ca.pem }
data_dir: data
flush_every: 250ms
contracts: contracts.yaml
access: { tokens: [first-of-two-tokens, 1234567890123456 scopes=observe expires=1970-01-01T00:00:00Z] }
headers: kong
proxies: { networks: [10.0.0.0/8, '::1'], header: forwarded, ipv6_prefix: 56 }
auth: { entries: { user: header X-User, tenant: query t }, hold_max: 2s }
limits:
  { quota_ttl: 20, quota_unserved: allow, connections: 50, requests: 10, key: 1KiB, head: 8KiB, body: 2MiB, batch: 10, streams: 5, idle: 1m, slow: 2s, drain: 1m30s }
memory: { max: 256MiB, when_full: refuse, ids: 1000 }
runtime: { kind: shared, threads: 3 }
telemetry:
  { log: debug, log_format: json, otlp: 'http://127.0.0.1:4317', otlp_protocol: http, trace_one_in: 100, show_keys: false }
";

#[test]
fn unknown_names_are_refused_with_the_nearest_at_every_depth() {
    refused("htpp: 8080\n", "1:1", &["unknown field `htpp`", "`http`"]);
    refused(
        "limits:\n  conections: 5\n",
        "2:3",
        &["`conections`", "`connections`"],
    );
    refused("http: { at: 8080, tsl: {} }\n", "1:19", &["`tsl`", "`tls`"]);
    refused(
        "http:\n  - at: 8080\n    mod: 600\n",
        "3:5",
        &["`mod`", "`mode`"],
    );
    refused("resp: [1, { att: 3 }]\n", "1:13", &["`att`", "`at`"]);
    refused(
        "runtime: { kind: per-coer }\n",
        "1:18",
        &["`per-coer`", "`per-core`"],
    );
    refused("headers: ieft\n", "1:10", &["`ieft`", "`ietf`"]);
    refused("memory: { when_full: evcit }\n", "1:22", &["`evict`"]);
}

#[test]
fn bad_values_are_refused_with_what_to_write() {
    refused("http: ':8080'\n", "1:7", &["0.0.0.0:8080"]);
    refused(
        "http:\n  - 127.0.0.1:1\n  - somewhere\n",
        "3:5",
        &["somewhere"],
    );
    refused(
        "http: { at: '127.0.0.1:1', mode: 600 }\n",
        "1:34",
        &["Unix socket"],
    );
    refused("http: { at: 'unix:x', mode: 999 }\n", "1:29", &["octal"]);
    refused("limits: { idle: 5 }\n", "1:17", &["write `5s`"]);
    refused("limits: { slow: 0s }\n", "1:17", &["too short"]);
    refused("limits: { connections: 0 }\n", "1:24", &["at least 1"]);
    refused("limits: { quota_unserved: pass }\n", "1:27", &["`pass`"]);
    refused("limits: { body: 1XB }\n", "1:17", &["unknown unit"]);
    refused("memory: { max: 1KiB }\n", "1:16", &["at least 1MiB"]);
    refused(
        "proxies: { hops: 1, networks: [10.0.0.0/8] }\n",
        "1:18",
        &["choose one"],
    );
    refused(
        "proxies: { networks: [10.0.0.0/99] }\n",
        "1:23",
        &["no network"],
    );
    refused(
        "auth: { entries: { a: cookie x } }\n",
        "1:23",
        &["header NAME"],
    );
    refused(
        "access: { token_file: nowhere }\n",
        "1:23",
        &["/etc/tollgate/nowhere"],
    );
    refused(
        "access: { tokens: [short-secret] }\n",
        "1:20",
        &["at least 16 bytes", "openssl rand -hex 16"],
    );
    refused(
        "access: { tokens: [long-enough-a-secret scopes=chck] }\n",
        "1:20",
        &["did you mean `check`?"],
    );
    refused("tls: { certificate: a }\n", "1:8", &["`key` is missing"]);
    refused("http:\n", "1:1", &["expected an address"]);
    refused("contracts: { a: b }\n", "1:12", &[]);
    refused("- a\n", "1:1", &["expected fields"]);
    refused(
        "telemetry: { show_keys: yes }\n",
        "1:25",
        &["true or false"],
    );
}

#[test]
fn every_mistake_is_shown_at_once() {
    let error = parse("headers: ieft\nlimits: { idle: 5, connections: x }\n")
        .map(|_| ())
        .unwrap_err();
    assert_eq!(error.matches("error: ").count(), 3, "{error}");
}

#[test]
fn a_secret_is_never_shown() {
    let settings = parse("access: { tokens: [open-sesame-open-sesame] }\n").unwrap();
    assert!(!format!("{settings:?}").contains("sesame"));
}

#[test]
fn contracts_may_stand_among_the_settings() {
    let text = "http: 0\ncontracts:\n  - id: a\n    policies: [{ name: p, limit: 1, per: 1s }]\nplans: {}\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tollgate.yaml");
    std::fs::write(&path, text).unwrap();
    let settings = Settings::read(&path).unwrap();
    assert_eq!(settings.contracts, ContractSource::Within(path));
    assert_eq!(settings.contracts.read().unwrap().as_slice()[0].id, "a");
    let bad = text.replace("limit: 1", "limt: 1");
    refused(&bad, "4:27", &["`limt`", "`limit`"]);
    refused("contracts: []\n", "1:12", &["empty"]);
}

#[test]
fn server_files_are_told_from_contract_files() {
    for text in [
        "http: 1\n",
        "contracts: file.yaml\n",
        "htpp: 1\ncontracts: []\n",
        "limits: {}\nplans: {}\n",
    ] {
        assert!(is_server_file(text), "{text}");
    }
    for text in [
        "contracts: []\n",
        "domain: x\ndescriptors: []\n",
        "",
        "contrats: []\n",
        "- a\n",
        "\t",
    ] {
        assert!(!is_server_file(text), "{text}");
    }
}

#[test]
fn the_schema_names_every_field() {
    let schema = json_schema();
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    let fields = schema["properties"].as_object().unwrap();
    for field in [
        "http",
        "resp",
        "tls",
        "data_dir",
        "contracts",
        "access",
        "limits",
        "telemetry",
        "runtime",
    ] {
        let about = fields.get(field).and_then(|field| field.get("description"));
        assert!(about.is_some(), "{field} is not described");
    }
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn the_management_api_names_of_listeners_and_the_end_can_be_said() {
    let settings = parse(
        "http: { at: 8080, hosts: [tollgate.example, other_name] }
admin: { listen: [127.0.0.1:9090, { at: '[::1]:9090', hosts: [admin.example] }] }
limits: { shutdown_delay: 0s, connection_age: 1h }
",
    )
    .unwrap();
    let shown: Vec<_> = settings
        .http
        .iter()
        .map(|listener| (listener.at.to_string(), listener.is_admin))
        .collect();
    assert_eq!(
        shown,
        [
            ("127.0.0.1:8080".to_owned(), false),
            ("127.0.0.1:9090".to_owned(), true),
            ("[::1]:9090".to_owned(), true)
        ]
    );
    assert_eq!(settings.http[0].hosts, ["tollgate.example", "other_name"]);
    assert_eq!(settings.http[2].hosts, ["admin.example"]);
    assert_eq!(settings.limits.shutdown_delay, Duration::ZERO);
    assert_eq!(
        settings.limits.connection_age,
        Some(Duration::from_hours(1))
    );
    let settings = parse("").unwrap();
    assert_eq!(settings.limits.shutdown_delay, Duration::from_secs(5));
    assert_eq!(settings.limits.connection_age, None);
    refused(
        "http: { at: 8080, hosts: ['a:80'] }",
        "1:27",
        &["is no name of a host"],
    );
    refused("limits: { connection_age: 0s }", "1:27", &["too short"]);
    refused("admin: { lissten: 9090 }", "1:10", &["`listen`"]);
}

#[test]
fn imported_rules_are_decided_by_owners_in_a_cluster_unless_something_else_is_said() {
    let of = |text: &str| parse(text).unwrap().rls_coordination();
    assert_eq!(of(""), Coordination::Local);
    assert_eq!(of("cluster: {}"), Coordination::Owner);
    for name in ["local", "owner", "store", "gossip"] {
        let said = of(&format!("rls: {{ coordination: {name} }}\ncluster: {{}}"));
        assert_eq!(said.name(), name);
    }
    // As a server counts them: what refuses everything needs no other node.
    let mut settings = parse("cluster: {}").unwrap();
    let rules = "domain: d\ndescriptors:
  - { key: a, rate_limit: { unit: day, requests_per_unit: 2 } }
  - { key: b, rate_limit: { unit: day, requests_per_unit: 0 } }\n";
    settings.contracts = ContractSource::Text(rules.to_owned());
    let (contracts, _) = run::contracts(&settings).unwrap();
    let each = contracts.as_slice().iter();
    let each = each.map(|contract| contract.policies[0].coordination);
    let expected = [Coordination::Owner, Coordination::Local];
    assert_eq!(each.collect::<Vec<_>>(), expected);
    for name in ["supply", "split", "sync", "lease"] {
        let said = ["count refused requests", name, "`owner`"];
        refused(&format!("rls: {{ coordination: {name} }}"), "1:22", &said);
    }
    refused(
        "rls: { coordination: ownr }",
        "1:22",
        &["unknown", "`owner`"],
    );
    refused("rls: { near_limit: 101 }", "1:20", &["near_limit"]);
    refused(
        "rls: { xds: { ca_file: gone.pem } }",
        "1:24",
        &["gone.pem", "No such file"],
    );
}

#[test]
fn a_server_of_many_that_counts_imported_rules_alone_is_told_so() {
    let note = |text: &str| parse(text).unwrap().rls_note(true);
    assert_eq!(note("rls: { coordination: local }"), None);
    assert_eq!(note("cluster: {}"), None);
    let alone = note("rls: { coordination: local }\ncluster: {}").unwrap();
    assert!(alone.contains("N times their limits") && alone.contains("coordination: owner"));
    assert!(note("store: { url: redis://db }").is_some());
    let alone = parse("rls: { coordination: local }\ncluster: {}").unwrap();
    assert_eq!(alone.rls_note(false), None);
}

#[test]
fn a_store_that_is_not_there_and_tls_that_is_not_spoken_are_told_before_anything_starts() {
    let refused = |text: &str| {
        let settings = parse(text).unwrap();
        let error = run::contracts(&settings).map(drop).unwrap_err();
        error.to_string()
    };
    assert!(refused("rls: { coordination: store }").contains("needs a store"));
    let bare = refused("contracts: xdss://control:18000");
    assert!(
        bare.contains("ca_file") && bare.contains("TOLLGATE_XDS_CA"),
        "{bare}"
    );
}
