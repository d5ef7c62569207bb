//! Keys with terms of their own that a store or an owner counts, or whose counts are kept: real servers, real
//! databases.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tollgate_catalogue::Kind;
use tollgate_catalogue_sql::Source;
use tollgate_parts::{Postgres, Redis, until};
use tollgate_serve::cluster::keys::KeyRing;
use tollgate_serve::owner::OwnerSettings;
use tollgate_serve::run::start;
use tollgate_serve::settings::{
    ClusterSettings, ContractSource, DatabaseSettings, Join, Settings, StoreSettings,
};

use crate::catalogue::kit::{CatalogueServer, Editor, body, settings};

/// Everybody has ten, on `pro` a thousand, on `anew` twenty of which none are spent. No window ends while a test runs.
fn contracts(how: &str) -> ContractSource {
    ContractSource::Text(format!(
        "
plans:
  - {{ id: free, policies: [{{ name: long, limit: 10, per: 1000d, algorithm: fixed-window }}] }}
  - {{ id: pro, follows: free, policies: [{{ name: long, limit: 1000 }}] }}
  - {{ id: anew, follows: free, policies: [{{ name: long, limit: 20, inherit: reset }}] }}
contracts:
  - {{ id: users, key: [user], plan: free, {how} }}"
    ))
}

fn running(settings: Settings) -> CatalogueServer {
    CatalogueServer::of(start(settings).unwrap_or_else(|error| panic!("{error}")))
}

/// Two servers on one catalogue that count together: tokens taken on one are taken on the other, under any terms.
fn count_together([mut one, mut two]: [CatalogueServer; 2], editor: &Editor) {
    assert_eq!(one.ask("ann", 4), (true, 10, 6));
    assert_eq!(two.ask("ann", 6), (true, 10, 0));
    assert_eq!(two.ask("ann", 1), (false, 10, 0));
    editor.assign("user=ann", "plan: pro");
    one.until_limit("ann", 1000);
    two.until_limit("ann", 1000);
    assert_eq!(
        two.ask("ann", 5),
        (true, 1000, 985),
        "no denial outlives its terms"
    );
    assert_eq!(one.ask("ann", 5), (true, 1000, 980));
    assert_eq!(two.limit("bob"), 10);

    let answer = two.post("/v1/check", &body(&[("user", "ann")], 10));
    let settle = json!({ "receipt": answer["receipt"], "cost": 4 });
    assert_eq!(two.post("/v1/settle", &settle)["applied"], json!(true));
    assert_eq!(one.ask("ann", 0), (true, 1000, 976));
    for server in [&mut one, &mut two] {
        let peeked = server.post("/v1/peek", &json!({ "key": { "user": "ann" } }));
        assert!(peeked.to_string().contains("\"limit\":1000"), "{peeked}");
        let told = server.post("/v1/explain", &body(&[("user", "ann")], 1));
        assert!(told.to_string().contains("24 of 1000 used"), "{told}");
    }

    editor.assign("user=ann", "plan: anew");
    one.until_limit("ann", 20);
    two.until_limit("ann", 20);
    assert_eq!(one.ask("ann", 2), (true, 20, 18), "forgotten, once");
    assert_eq!(two.ask("ann", 2), (true, 20, 16));
    editor.delete(Kind::Assignment, "user=ann");
    one.until_limit("ann", 10);
    two.until_limit("ann", 10);
    assert_eq!(two.ask("ann", 1), (true, 10, 5));
}

/// The same in a store at this address.
fn stored(url: &str) {
    let folder = tempfile::tempdir().unwrap();
    let source = Source::Sqlite(folder.path().join("catalogue.db"));
    let server = || {
        let mut settings = settings(&source);
        settings.contracts = contracts("coordination: store");
        let mut store = StoreSettings::new(url.parse().unwrap());
        // A busy machine makes no difference.
        store.deadline = Duration::from_secs(10);
        settings.keeping.store = Some(store);
        running(settings)
    };
    count_together([server(), server()], &Editor::new(&source));
}

#[test]
fn terms_are_counted_in_redis() {
    let redis = Redis::start();
    stored(&redis.url());
    assert!(redis.calls("evalsha") > 0);
}

#[test]
fn terms_are_counted_in_postgres() {
    stored(&Postgres::start().url());
}

#[test]
fn terms_are_counted_by_the_owner() {
    let folder = tempfile::tempdir().unwrap();
    let source = Source::Sqlite(folder.path().join("catalogue.db"));
    let key_file = folder.path().join("cluster.key");
    KeyRing::fresh().unwrap().create(&key_file).unwrap();
    let one = running(member(&source, &key_file, None));
    let at = one.running.cluster().map(|at| Join {
        host: at.ip().to_string(),
        port: at.port(),
    });
    let two = running(member(&source, &key_file, at));
    for server in [&one, &two] {
        let cluster = server.running.shared().cluster.get().unwrap().clone();
        until("members", || {
            let members = cluster.members();
            members.alive.len() == 2 && members.me.is_some()
        });
    }
    count_together([one, two], &Editor::new(&source));
}

fn member(source: &Source, key_file: &Path, join: Option<Join>) -> Settings {
    Settings {
        contracts: contracts("coordination: owner"),
        cluster: Some(ClusterSettings {
            listen: "127.0.0.1:0".parse().unwrap(),
            key_file: Some(key_file.to_owned()),
            join: join.into_iter().collect(),
            owner: OwnerSettings {
                // A busy machine makes no difference.
                deadline: Duration::from_secs(10),
            },
            ..ClusterSettings::default()
        }),
        ..settings(source)
    }
}

/// What is kept of keys with terms of their own is found again, and goes on as if nothing had happened.
fn kept(source: &Source, settings: impl Fn() -> Settings) {
    let mut server = running(settings());
    let editor = Editor::new(source);
    for user in ["ann", "bob", "eve"] {
        assert_eq!(server.ask(user, 4), (true, 10, 6));
    }
    editor.assign("user=ann", "plan: pro");
    editor.assign("user=eve", "plan: anew");
    server.until_limit("ann", 1000);
    server.until_limit("eve", 20);
    assert_eq!(server.ask("ann", 3), (true, 1000, 993));
    assert_eq!(server.ask("eve", 3), (true, 20, 17), "forgotten, once");
    server.running.stop().unwrap();

    let mut server = running(settings());
    assert_eq!(server.ask("ann", 2), (true, 1000, 991));
    assert_eq!(server.ask("eve", 3), (true, 20, 14), "and not again");
    assert_eq!(server.ask("bob", 1), (true, 10, 5));
    server.running.stop().unwrap();
    // Terms that end while no server runs change what is found.
    editor.delete(Kind::Assignment, "user=ann");
    let mut server = running(settings());
    assert_eq!(server.ask("ann", 0), (true, 10, 1));
    assert_eq!(server.ask("eve", 0), (true, 20, 14));
    server.running.stop().unwrap();
}

const DURABLE: &str = "policies: [{ name: long, durable: true }]";

#[test]
fn kept_terms_are_found_again_in_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let source = Source::Sqlite(folder.path().join("catalogue.db"));
    let kept_in = folder.path().join("data");
    kept(&source, || Settings {
        contracts: contracts(DURABLE),
        data_dir: Some(kept_in.clone()),
        ..settings(&source)
    });
}

#[test]
fn kept_terms_are_found_again_in_postgres() {
    let database = Postgres::start();
    let source = Source::Postgres(database.url());
    kept(&source, || {
        let mut settings = settings(&source);
        settings.contracts = contracts(DURABLE);
        let url = database.url().parse().unwrap();
        settings.keeping.database = Some(DatabaseSettings::new(url));
        settings
    });
}
