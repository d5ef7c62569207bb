//! A `PostgreSQL` whose disk is full: durable counts and a store on it.

use tollgate_parts::{Postgres, SmallDisk};

use super::full::{FAILED, flushed, troubles};
use crate::kit::{Server, file, until};
use crate::store::{check, ready};

fn serve(folder: &std::path::Path, url: &str) -> Server {
    let text = format!(
        "database: {{ url: \"{url}\", seat: n1 }}
store: {{ url: \"{url}\", deadline: 500ms }}
contracts:
  - id: kept
    key: [kept]
    policies: [{{ name: daily, limit: 100, per: 1d, algorithm: fixed-window, durable: true }}]
  - id: users
    key: [user]
    coordination: store
    policies: [{{ name: monthly, limit: 100, per: 30d, on_failure: deny }}]
"
    );
    let config = file(folder, "server.yaml", &text);
    Server::spawn(crate::kit::serve().arg("--config").arg(config))
}

fn keep(server: &Server, key: &str) -> u64 {
    let body = format!("{{\"key\":{{\"kept\":\"{key}\"}}}}");
    let answer = server.post("/v1/check", &body).json();
    answer["remaining"].as_u64().unwrap()
}

#[test]
fn a_postgres_whose_disk_is_full_is_told_of_and_used_again_once_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let disk = SmallDisk::of(160 << 10);
    let postgres = Postgres::start_in(disk.path());
    let server = serve(folder.path(), &postgres.url());
    ready(&server);
    assert_eq!(check(&server, "ann").remaining(), 99);
    assert_eq!(keep(&server, "ann"), 99);
    flushed(&server);
    disk.fill();
    let (mut user, before) = (0, server.metric(FAILED));
    until("neither is written", || {
        for _ in 0..100 {
            user += 1;
            assert_eq!(
                keep(&server, &format!("u{user}")),
                99,
                "decided all the same"
            );
            check(&server, &format!("u{user}"));
        }
        server.metric(FAILED) > before
    });
    assert_eq!(keep(&server, "ann"), 98);
    until("the trouble of durable counts is told", || {
        troubles(&server).contains("durable counts are not written since ")
    });
    disk.free();
    until("both are over", || {
        check(&server, "probe");
        troubles(&server).is_empty()
    });
    flushed(&server);
    assert_eq!(check(&server, "ann").remaining(), 98);
    server.signal("KILL");
    server.end();
    let server = serve(folder.path(), &postgres.url());
    ready(&server);
    assert_eq!(keep(&server, "ann"), 97);
    assert_eq!(check(&server, "ann").remaining(), 97);
    server.signal("TERM");
    assert_eq!(server.end().0, Some(0));
}
