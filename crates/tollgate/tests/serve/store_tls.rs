//! A server and its store by TLS: the files it is given, and those it cannot be given.

use std::path::Path;
use std::sync::Arc;

use tollgate_parts::{Papers, Postgres, Redis, RedisSetup};

use crate::kit::{Server, file, refused, run, tollgate, until};
use crate::store::{check, ready};

/// A server's file with these lines about its store.
fn config(folder: &Path, lines: &[String]) -> String {
    let text = format!(
        "store:
  deadline: 500ms
  {}
contracts:
  - id: users
    key: [user]
    coordination: store
    policies: [{{ name: monthly, limit: 2, per: 30d, on_failure: deny }}]
",
        lines.join("\n  ")
    );
    file(folder, "tls.yaml", &text).display().to_string()
}

fn lines(url: &str, authority: &Papers, client: &Papers) -> Vec<String> {
    let (certificate, key) = client.client();
    vec![
        format!("url: \"{url}\""),
        format!("ca_file: {}", authority.ca().display()),
        format!("cert_file: {}", certificate.display()),
        format!("key_file: {}", key.display()),
    ]
}

fn server(folder: &Path, lines: &[String]) -> Server {
    let mut command = tollgate(&["serve", "--format", "json"]);
    command.args(["--http", "127.0.0.1:0", "--resp", "127.0.0.1:0"]);
    Server::spawn(command.args(["--config", &config(folder, lines)]))
}

/// Two tokens by the store for whoever shows our certificate, and nothing by a store that others vouch for.
fn decides(url: &str, papers: &Papers) {
    let folder = tempfile::tempdir().unwrap();
    let server = self::server(folder.path(), &lines(url, papers, papers));
    ready(&server);
    let passed = (0..4).filter(|_| check(&server, "anna").passes());
    assert_eq!(passed.count(), 2);
    let others = Papers::new();
    let server = self::server(folder.path(), &lines(url, &others, papers));
    until("it is counted as forbidden", || {
        assert!(check(&server, "anna").instead().is_some());
        server.metric("tollgate_store_failures_total{kind=\"forbidden\"}") > 0.0
    });
}

#[test]
fn a_redis_and_a_postgres_decide_by_tls() {
    let papers = Arc::new(Papers::new());
    let redis = Redis::of(&RedisSetup::default().papers(&papers).password("secret"));
    decides(&redis.url(), &papers);
    let postgres = Postgres::with_tls(&papers, "cert");
    decides(&postgres.url_as(Papers::CLIENT), &papers);
}

#[test]
fn config_check_names_the_line_of_a_file_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let papers = Papers::new();
    let good = lines("rediss://127.0.0.1", &papers, &papers);
    let check = |lines: &[String]| run(&["config", "check", &config(folder.path(), lines)]);
    assert!(check(&good).status.success());
    for (place, name) in [(1, "ca_file"), (2, "cert_file"), (3, "key_file")] {
        let mut bad = good.clone();
        bad[place] = format!("{name}: gone.pem");
        let at = format!("tls.yaml:{}:", place + 3);
        refused(&check(&bad), 64, &[&at, "gone.pem", "No such file"]);
    }
    let mut plain = good;
    plain[0] = "url: redis://127.0.0.1".to_owned();
    refused(&check(&plain), 64, &["tls.yaml:4:", "speaks no TLS"]);
}
