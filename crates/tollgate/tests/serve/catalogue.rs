//! Servers that decide by a catalogue, killed and refused.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use tollgate_catalogue::{Edit, Kind, Seen};
use tollgate_catalogue_sql::{Config, Database, Source};

use crate::kit::{Server, file, patient, refused, run, until};

const PLANS: &str = "plans:
  - { id: free, policies: [{ name: hour, limit: 10, per: 1h }] }
  - { id: pro, policies: [{ name: hour, limit: 1000, per: 1h }] }
contracts: [{ id: users, key: [user], plan: free }]
";

fn limit(server: &Server, user: u32) -> u64 {
    let body = format!("{{\"key\": {{\"user\": \"{user}\"}}, \"cost\": 0}}");
    let answer = server.post("/v1/check", &body).json();
    answer["limit"].as_u64().unwrap()
}

/// Puts users on a plan, one after the other, until told to stop.
async fn assign(path: std::path::PathBuf, done: &AtomicU32, last: u32) {
    let config = Config::new(Source::Sqlite(path));
    let database = Database::open(&config).await.unwrap();
    for user in 1..=last {
        let edit = Edit {
            kind: Kind::Assignment,
            id: format!("user={user}"),
            seen: Seen::Nothing,
            author: "ana".into(),
            origin: String::new(),
            reason: String::new(),
        };
        let text = format!("{{ identity: user={user}, plan: pro }}");
        database.put(&edit, &text).await.unwrap();
        done.store(user, SeqCst);
    }
}

#[test]
fn a_killed_server_comes_back_with_every_change_that_was_made() {
    let folder = tempfile::tempdir().unwrap();
    let contracts = file(folder.path(), "contracts.yaml", PLANS);
    let catalogue = folder.path().join("live.db");
    let settings = patient(folder.path(), "live.db");
    let flags = ["--contracts", contracts.to_str().unwrap(), "--config"];
    let flags = [&flags[..], &[settings.to_str().unwrap()]].concat();
    let server = Server::start(folder.path(), &flags);
    assert_eq!(limit(&server, 1), 10);
    let done = AtomicU32::new(0);
    std::thread::scope(|scope| {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .unwrap();
        let (done, path) = (&done, catalogue.clone());
        scope.spawn(move || runtime.block_on(assign(path, done, 100)));
        until("some are made", || done.load(SeqCst) > 20);
        server.signal("KILL");
    });
    assert_eq!(server.end().0, None);
    // The first may have been looked up before its change was known; all are in force on the next server.
    let server = Server::start(folder.path(), &flags);
    for user in [1, 20, done.load(SeqCst)] {
        assert_eq!(limit(&server, user), 1000, "{user}");
    }
    assert_eq!(limit(&server, 1_000_000), 10);
}

#[test]
fn a_catalogue_that_cannot_be_used_ends_with_69_and_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().to_str().unwrap();
    let nowhere = "postgres://me:s3cret@127.0.0.1:1/x";
    let flags = ["serve", "--data-dir", home, "--http", "0", "--no-resp"];
    let output = run(&[&flags[..], &["--catalogue", nowhere]].concat());
    refused(
        &output,
        69,
        &["postgres://me:***@127.0.0.1:1/x", "contract file instead"],
    );
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("s3cret"), "{said}");
    let output = run(&[&flags[..], &["--catalogue", "mysql://x"]].concat());
    refused(&output, 64, &["--catalogue"]);
}
