//! A server with the admin API on a free port, and requests to it.

use std::io::Read;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate_admin::{Admin, AdminConfig, SigningKey};
use tollgate_contract::Contracts;
use tollgate_parts::{HttpReply, Postgres, Wire};
use tollgate_serve::annex::{Annex, GatewayView};
use tollgate_serve::run::{self, Running};
use tollgate_serve::settings::{CatalogueSettings, Keeping, Listener, Settings};

/// A secret with every right.
pub(crate) const PRESET: &str = "open-sesame-open-sesame";

/// Stops when dropped.
pub(crate) struct Server {
    running: Option<Running>,
    pub(crate) at: SocketAddr,
    /// Messages to the operator.
    pub(crate) told: Arc<Mutex<Vec<String>>>,
    /// Removed with the server.
    folder: Option<TempDir>,
}

/// A gateway that does nothing.
struct Gate(GatewayView);

impl Annex for Gate {
    fn check(&self, _: &Contracts) -> Result<(), String> {
        Ok(())
    }

    fn reload(&self) -> Result<(), String> {
        Ok(())
    }

    fn render(&self, _: &mut tollgate_serve::meter::Exposition) {}

    fn view(&self) -> GatewayView {
        self.0.clone()
    }
}

impl Server {
    /// With its own database in a file.
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut server = Self::on(&sqlite(folder.path()), Some(PRESET));
        server.folder = Some(folder);
        server
    }

    pub(crate) fn on(at: &str, preset: Option<&str>) -> Self {
        Self::with(settings(at), preset)
    }

    /// Two servers on one catalogue, with one key for sessions and links.
    pub(crate) fn two(at: &str) -> [Self; 2] {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("key");
        SigningKey::draw().unwrap().create(&key).unwrap();
        let start = || {
            let mut settings = settings(at);
            let catalogue = settings.keeping.catalogue.as_mut().unwrap();
            catalogue.key_file = Some(key.clone());
            Self::with(settings, Some(PRESET))
        };
        let (one, mut other) = (start(), start());
        other.folder = Some(folder);
        [one, other]
    }

    pub(crate) fn with(settings: Settings, preset: Option<&str>) -> Self {
        let settings = Settings {
            http: vec![Listener::loopback()],
            ..settings
        };
        let told = Arc::new(Mutex::new(Vec::new()));
        let said = Arc::clone(&told);
        let config = AdminConfig {
            preset: preset.map(str::to_owned),
            tell: Box::new(move |secret| said.lock().unwrap().push(secret.to_owned())),
        };
        let running = run::start_with(settings, |shared| {
            let admin = Admin::open(shared, config);
            Ok(Some(Arc::new(admin.expect("a desk"))))
        });
        let running = running.unwrap_or_else(|error| panic!("{error}"));
        Self {
            at: running.http().unwrap(),
            running: Some(running),
            told,
            folder: None,
        }
    }

    /// Makes it a gateway with this state.
    pub(crate) fn becomes(&self, gateway: GatewayView) {
        let shared = self.running.as_ref().unwrap().shared();
        let annex: Arc<dyn Annex> = Arc::new(Gate(gateway));
        assert!(shared.annex.set(annex).is_ok());
    }

    pub(crate) fn ask(&self, method: &str, path: &str) -> ApiRequest {
        ApiRequest::new(self.at, method, path)
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> HttpReply {
        self.ask("GET", path).send()
    }

    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: &Value) -> HttpReply {
        self.ask("POST", path).json(body).send()
    }

    /// Creates an object that must not exist yet.
    #[track_caller]
    pub(crate) fn make(&self, path: &str, body: &Value) -> HttpReply {
        let answer = self.ask("PUT", path).json(body).send();
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer
    }

    /// Returns the id and the secret.
    #[track_caller]
    pub(crate) fn token(&self, role: &str) -> (String, String) {
        let made = self.post(
            "/tokens",
            &json!({ "name": format!("a {role}"), "role": role }),
        );
        assert_eq!(made.status, 201, "{}", made.body);
        let made = made.json();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&made["token"]["id"]), text(&made["secret"]))
    }

    /// Two plans, a contract that follows one, and one that does not.
    #[track_caller]
    pub(crate) fn furnish(&self) {
        self.make(
            "/plans/free",
            &json!({ "id": "free", "policies": [{ "name": "burst", "limit": 20, "per": "1s" }] }),
        );
        self.make("/plans/pro", &json!({ "id": "pro", "follows": "free", "policies": [{ "name": "burst", "limit": 200 }] }));
        self.make(
            "/contracts/users",
            &json!({ "id": "users", "key": ["user"], "plan": "free" }),
        );
        self.make("/contracts/all", &contract("all", 9));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop().unwrap();
        }
        drop(self.folder.take());
    }
}

pub(crate) fn settings(at: &str) -> Settings {
    let catalogue = CatalogueSettings {
        // Requests wait for terms even on a busy machine.
        deadline: Duration::from_secs(30),
        ..CatalogueSettings::new(at.parse().unwrap())
    };
    Settings {
        keeping: Keeping {
            catalogue: Some(catalogue),
            ..Keeping::default()
        },
        ..Settings::default()
    }
}

pub(crate) fn contract(id: &str, limit: u64) -> Value {
    json!({ "id": id, "key": ["user"], "policies": [{ "name": "p", "limit": limit, "per": "1s" }] })
}

pub(crate) struct ApiRequest {
    at: SocketAddr,
    method: String,
    path: String,
    token: Option<String>,
    lines: Vec<(String, String)>,
    kind: Option<String>,
    body: Vec<u8>,
}

impl ApiRequest {
    pub(crate) fn new(at: SocketAddr, method: &str, path: &str) -> Self {
        Self {
            at,
            method: method.to_owned(),
            path: format!("/admin/v1{path}"),
            token: Some(PRESET.to_owned()),
            lines: Vec::new(),
            kind: None,
            body: Vec::new(),
        }
    }

    /// A path outside the API.
    pub(crate) fn at(mut self, path: &str) -> Self {
        path.clone_into(&mut self.path);
        self
    }

    pub(crate) fn by(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    pub(crate) fn by_nobody(mut self) -> Self {
        self.token = None;
        self
    }

    pub(crate) fn line(mut self, name: &str, value: &str) -> Self {
        self.lines.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.body("application/json", body.to_string())
    }

    pub(crate) fn body(mut self, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        self.kind = Some(kind.to_owned());
        self.body = body.into();
        self
    }

    #[track_caller]
    pub(crate) fn send(self) -> HttpReply {
        self.try_send().expect("an answer")
    }

    /// `None` if the server closes the connection.
    pub(crate) fn try_send(self) -> Option<HttpReply> {
        let mut wire = Wire::try_to(self.at).ok()?;
        let mut head = format!(
            "{} {} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {}\r\n",
            self.method,
            self.path,
            self.body.len()
        );
        let token = self
            .token
            .map(|token| ("Authorization".into(), format!("Bearer {token}")));
        let kind = self.kind.map(|kind| ("Content-Type".into(), kind));
        for (name, value) in self.lines.into_iter().chain(token).chain(kind) {
            head.extend([&*name, ": ", &*value, "\r\n"]);
        }
        head.push_str("\r\n");
        wire.try_send(head).ok()?;
        // A server that refuses a body may close the connection before it read all of it.
        let _ = wire.try_send(&self.body);
        let mut bytes = Vec::new();
        wire.stream.read_to_end(&mut bytes).ok()?;
        HttpReply::parse(&bytes)
    }
}

pub(crate) trait ApiRefusal {
    /// The status and the code; checks the format.
    fn refusal(&self) -> (u16, String);
    fn refuses(&self, status: u16, code: &str);
    fn message(&self) -> String;
}

impl ApiRefusal for HttpReply {
    #[track_caller]
    fn refusal(&self) -> (u16, String) {
        let error = &self.json()["error"];
        assert!(
            error["message"].as_str().is_some_and(|text| text.len() > 5),
            "{}",
            self.body
        );
        (self.status, error["code"].as_str().unwrap().to_owned())
    }

    #[track_caller]
    fn refuses(&self, status: u16, code: &str) {
        assert_eq!(self.refusal(), (status, code.to_owned()), "{}", self.body);
    }

    #[track_caller]
    fn message(&self) -> String {
        self.json()["error"]["message"].as_str().unwrap().to_owned()
    }
}

/// Runs on a server over each database.
pub(crate) fn on_both(name: &str, test: impl Fn(&Server)) {
    test(&Server::start());
    let (_postgres, at) = postgres(name);
    test(&Server::on(&at, Some(PRESET)));
}

/// A catalogue in its own database, which lives as long as the returned guard.
pub(crate) fn postgres(name: &str) -> (Arc<Postgres>, String) {
    let postgres = {
        let mut shared = POSTGRES.lock().unwrap();
        let postgres = shared
            .upgrade()
            .unwrap_or_else(|| Arc::new(Postgres::start()));
        *shared = Arc::downgrade(&postgres);
        postgres
    };
    postgres.sql(&format!("CREATE DATABASE {name}"));
    let url = postgres.url();
    let url = url.replacen("/postgres?", &format!("/{name}?"), 1);
    (postgres, url)
}

/// Shared by all tests, as it is slow to start; it ends with the last of them.
static POSTGRES: Mutex<Weak<Postgres>> = Mutex::new(Weak::new());

pub(crate) fn sqlite(folder: &Path) -> String {
    folder.join("catalogue.db").display().to_string()
}
