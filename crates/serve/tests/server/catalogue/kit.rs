//! Servers on one catalogue, its editor, and clients.

use std::time::{Duration, Instant, SystemTime};

use tollgate_catalogue::{Edit, Kind, Seen};
use tollgate_catalogue_sql::{Config, Database, Source};
use tollgate_parts::Wire;
use tollgate_serve::run::{Running, start};
use tollgate_serve::settings::{
    CataloguePlace, CatalogueSettings, ContractSource, Keeping, Listener, Runtime, Settings,
};

/// Nothing here takes as long unless it hangs.
pub(crate) const DEADLINE: Duration = Duration::from_mins(1);

/// What the first server finds: everybody has ten, none of which come back while a test runs, on the plan `pro` a
/// thousand.
pub(crate) const CONTRACTS: &str = "
plans:
  - { id: free, policies: [{ name: long, limit: 10, per: 1000d }] }
  - { id: pro, follows: free, policies: [{ name: long, limit: 1000 }] }
contracts:
  - { id: users, key: [user], plan: free }";

pub(crate) fn settings(source: &Source) -> Settings {
    // Shown where a test fails; the first one begins it.
    let logs = tracing_subscriber::fmt().with_test_writer();
    let _ = logs.with_max_level(tracing::Level::WARN).try_init();
    let at = match source {
        Source::Sqlite(path) => CataloguePlace::File(path.clone()),
        Source::Postgres(url) => CataloguePlace::Database(url.parse().unwrap()),
    };
    Settings {
        http: vec![Listener::loopback()],
        resp: vec![Listener::loopback()],
        contracts: ContractSource::Text(CONTRACTS.to_owned()),
        keeping: Keeping {
            // However busy the machine is, requests wait for terms.
            catalogue: Some(CatalogueSettings {
                deadline: DEADLINE,
                ..CatalogueSettings::new(at)
            }),
            ..Keeping::default()
        },
        runtime: Runtime {
            threads: Some(2),
            ..Runtime::default()
        },
        ..Settings::default()
    }
}

/// A server, and a connection to it.
pub(crate) struct CatalogueServer {
    pub(crate) running: Running,
    wire: Wire,
}

impl CatalogueServer {
    pub(crate) fn start(source: &Source) -> Self {
        Self::of(start(settings(source)).unwrap_or_else(|error| panic!("{error}")))
    }

    pub(crate) fn of(running: Running) -> Self {
        let wire = Wire::to(running.http().unwrap());
        Self { running, wire }
    }

    /// Asks for a user: whether it passes, the limit and what is left.
    pub(crate) fn ask(&mut self, user: &str, cost: u32) -> (bool, u64, u64) {
        self.ask_for(&[("user", user)], cost)
    }

    pub(crate) fn ask_for(&mut self, key: &[(&str, &str)], cost: u32) -> (bool, u64, u64) {
        let answer = self.post("/v1/check", &body(key, cost));
        let number = |name: &str| answer[name].as_u64().unwrap_or(0);
        let is_allowed = answer["allowed"].as_bool();
        let is_allowed = is_allowed.unwrap_or_else(|| panic!("{answer}"));
        (is_allowed, number("limit"), number("remaining"))
    }

    /// The limit of a user, who pays nothing for it.
    pub(crate) fn limit(&mut self, user: &str) -> u64 {
        self.ask(user, 0).1
    }

    pub(crate) fn post(&mut self, path: &str, body: &serde_json::Value) -> serde_json::Value {
        self.wire.post(path, &body.to_string()).json()
    }

    pub(crate) fn get(&mut self, path: &str) -> String {
        self.wire.get(path).body
    }

    /// Waits until a user has a limit; how long that took.
    #[track_caller]
    pub(crate) fn until_limit(&mut self, user: &str, limit: u64) -> Duration {
        let begun = Instant::now();
        loop {
            let is = self.limit(user);
            if is == limit {
                return begun.elapsed();
            }
            assert!(begun.elapsed() < DEADLINE, "{user} still has {is}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

pub(crate) fn body(key: &[(&str, &str)], cost: u32) -> serde_json::Value {
    let key: serde_json::Map<String, serde_json::Value> = key
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).into()))
        .collect();
    serde_json::json!({ "key": key, "cost": cost })
}

/// Changes the catalogue directly, like another server.
pub(crate) struct Editor {
    runtime: tokio::runtime::Runtime,
    pub(crate) database: Database,
}

impl Editor {
    pub(crate) fn new(source: &Source) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let database = runtime.block_on(Database::open(&Config::new(source.clone())));
        Self {
            runtime,
            database: database.unwrap(),
        }
    }

    pub(crate) fn run<T>(&self, call: impl Future<Output = T>) -> T {
        self.runtime.block_on(call)
    }

    /// Makes or changes something, whatever it was before.
    pub(crate) fn put(&self, kind: Kind, id: &str, text: &str) {
        let edit = self.edit(kind, id);
        let put = self.run(self.database.put(&edit, text));
        put.unwrap_or_else(|error| panic!("{error}"));
    }

    pub(crate) fn delete(&self, kind: Kind, id: &str) {
        let edit = self.edit(kind, id);
        self.run(self.database.delete(&edit)).unwrap();
    }

    fn edit(&self, kind: Kind, id: &str) -> Edit {
        let present = self.run(self.database.get(kind, id)).unwrap();
        edit(kind, id, present.map(|item| item.version))
    }

    /// Puts an identity on a plan.
    pub(crate) fn assign(&self, identity: &str, more: &str) {
        let text = format!("{{ identity: \"{identity}\", {more} }}");
        self.put(Kind::Assignment, identity, &text);
    }
}

/// So many seconds from now.
pub(crate) fn in_seconds(seconds: u64) -> String {
    let at = SystemTime::now() + Duration::from_secs(seconds);
    let at = at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let at = jiff::Timestamp::from_second(at.try_into().unwrap());
    at.unwrap().to_string()
}

/// A change of something that was seen at a version.
pub(crate) fn edit(kind: Kind, id: &str, seen: Option<u64>) -> Edit {
    Edit {
        kind,
        id: id.to_owned(),
        seen: seen.map_or(Seen::Nothing, Seen::Version),
        author: "ana".into(),
        origin: String::new(),
        reason: String::new(),
    }
}

/// A server on a catalogue in a file, and its editor; keep the folder as long.
pub(crate) fn stage() -> (tempfile::TempDir, CatalogueServer, Editor) {
    let folder = tempfile::tempdir().unwrap();
    let source = Source::Sqlite(folder.path().join("catalogue.db"));
    let server = CatalogueServer::start(&source);
    (folder, server, Editor::new(&source))
}
