//! The thread of the store: it opens the engine and asks it.
//!
//! An engine that is not there does not keep a server from starting; policies say what is done until it is. One that is
//! there is connected before the doors open.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use ring::digest::{SHA256, digest};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tollgate_sqlite::File;
use tollgate_store_redis::{Config, Redis, Tls};
use tollgate_store_sql::{Postgres, PostgresConfig, Sqlite, SqliteConfig};

use super::{Decides, Store, clock};
use crate::settings::StoreSettings;
use crate::shared::Shared;

/// A store that is asked until this is dropped.
pub struct Connected {
    /// The store.
    pub store: Arc<Store>,
    file: Option<Arc<File>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Connected {
    /// The store, which remembers in the memory of this server and whose troubles are told by it from now on.
    pub(crate) fn told_by(&self, shared: &Shared) -> Arc<Store> {
        self.store.remember_within(shared.engine.node().budget());
        shared.state.set_engine_error(self.store.trouble());
        if let Some(file) = &self.file {
            shared.state.databases.add(Arc::clone(file));
        }
        Arc::clone(&self.store)
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}

/// Why there is no store.
#[derive(Debug)]
pub enum ConnectError {
    /// The address, or what belongs to it, cannot be used.
    Settings(String),
    /// There is no thread for it.
    Thread(std::io::Error),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(what) => write!(f, "store: {what}"),
            Self::Thread(error) => write!(f, "store: no thread: {error}"),
        }
    }
}

impl std::error::Error for ConnectError {}

/// Opens the store that settings name. It need not be reachable yet.
pub fn connect(settings: &StoreSettings) -> Result<Connected, ConnectError> {
    let (opened, is_open) = mpsc::channel();
    let (stop, stopped) = oneshot::channel();
    let of_thread = settings.clone();
    let thread = std::thread::Builder::new()
        .name("store".into())
        .spawn(move || run(&of_thread, &opened, stopped))
        .map_err(ConnectError::Thread)?;
    let ended = || Err(ConnectError::Settings("its thread ended".to_owned()));
    let (engine, file, handle) = is_open.recv().unwrap_or_else(|_| ended())?;
    Ok(Connected {
        store: Arc::new(Store::new(engine, handle, settings)),
        file,
        stop: Some(stop),
        thread: Some(thread),
    })
}

/// An engine, and its file where it has one.
type Engine = (Arc<dyn Decides>, Option<Arc<File>>);
type Opened = Result<(Arc<dyn Decides>, Option<Arc<File>>, Handle), ConnectError>;

fn run(settings: &StoreSettings, opened: &mpsc::Sender<Opened>, stopped: oneshot::Receiver<()>) {
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return drop(opened.send(Err(ConnectError::Thread(error)))),
    };
    runtime.block_on(async {
        let engine = open(settings).await;
        let clock = engine.as_ref().ok().map(|(engine, _)| Arc::clone(engine));
        let engine = engine.map(|(engine, file)| (engine, file, Handle::current()));
        if let (Ok(()), Some(engine)) = (opened.send(engine), clock) {
            tokio::select! {
                // Ends when it is told to, or nobody is there to tell it.
                _ = stopped => {}
                () = clock::watch(&*engine) => {}
            }
        }
    });
}

async fn open(settings: &StoreSettings) -> Result<Engine, ConnectError> {
    let url = settings.url.secret();
    let has_files = settings.ca_file.is_some() || settings.identity.is_some();
    if has_files && !settings.url.has_tls() {
        // Whoever names certificates must not find out later that nobody looked at them.
        return Err(wrong(
            "ca_file, cert_file and key_file are for rediss:// and postgres://",
        ));
    }
    match settings.url.scheme() {
        "postgres" | "postgresql" => {
            let mut config = PostgresConfig::new(url);
            (config.ca, config.identity) = (settings.ca_file.clone(), settings.identity.clone());
            Ok((Arc::new(Postgres::new(&config).map_err(wrong)?), None))
        }
        "sqlite" => {
            let path = url.trim_start_matches("sqlite:");
            let config = SqliteConfig::new(path.strip_prefix("//").unwrap_or(path));
            let sqlite = Sqlite::open(&config).await.map_err(wrong)?;
            let file = Arc::clone(sqlite.file());
            Ok((Arc::new(sqlite), Some(file)))
        }
        _ => {
            let mut config = Config::from_url(url).map_err(wrong)?;
            if let Some(tls) = &mut config.tls {
                *tls = certificates(settings)?;
            }
            let redis = Redis::open(&config).map_err(wrong)?;
            // Else the first requests would be decided without one that is there.
            let _ = redis.tried(FIRST_DIAL).await;
            Ok((Arc::new(redis), None))
        }
    }
}

fn certificates(settings: &StoreSettings) -> Result<Tls, ConnectError> {
    let authority = settings.ca_file.as_deref().map(read).transpose()?;
    let identity = match &settings.identity {
        Some((certificate, key)) => Some((read(certificate)?, read(key)?)),
        None => None,
    };
    Ok(Tls {
        authority,
        identity,
    })
}

fn wrong(error: impl fmt::Display) -> ConnectError {
    ConnectError::Settings(error.to_string())
}

fn read(path: &Path) -> Result<Vec<u8>, ConnectError> {
    std::fs::read(path).map_err(|error| wrong(format!("{}: {error}", path.display())))
}

/// What keys are named by in a store: the same words on all nodes that share the secret.
pub(crate) fn seed(settings: &StoreSettings) -> Result<[u64; 2], ConnectError> {
    let secret = match (&settings.secret_file, settings.url.password()) {
        (Some(path), _) => read(path)?,
        (None, Some(password)) => password.as_bytes().to_vec(),
        (None, None) => {
            tracing::warn!(
                "the store has neither a secret_file nor a password: whoever reads the source can choose \
                 keys that share a count"
            );
            Vec::new()
        }
    };
    let text = [b"tollgate names keys in a store by ", secret.as_slice()].concat();
    let hash = digest(&SHA256, &text);
    let word = |at: usize| {
        let bytes = hash
            .as_ref()
            .get(at..at + 8)
            .and_then(|part| part.try_into().ok());
        u64::from_le_bytes(bytes.unwrap_or_default())
    };
    Ok([word(0), word(8)])
}

/// How long the start waits for the first connection to be made or refused.
const FIRST_DIAL: Duration = Duration::from_millis(500);
