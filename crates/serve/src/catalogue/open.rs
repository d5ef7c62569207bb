//! Opens the configured catalogue and initializes a new one.
//!
//! If it cannot be read, the server does not start: without its contracts nothing would be limited.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tollgate_catalogue::{Ban, Change, Document, Edit, Kind, Seen, documents, documents_within};
use tollgate_catalogue_sql::{Config, Database, Error, PAGE_MAX, Source};
use tollgate_contract::{Contracts, decode};

use super::error::CatalogueError;
use super::{Clerk, Live};
use crate::settings::{CataloguePlace, CatalogueSettings, ContractSource, Settings};
use crate::shared::Shared;
use crate::source::{self, SourceError};

/// A catalogue, and the threads that query its database until this is dropped.
pub(crate) struct OpenedCatalogue {
    live: Arc<Live>,
    room: CatalogueRuntime,
    bans: Vec<Ban>,
    deadline: Duration,
}

impl OpenedCatalogue {
    pub(crate) fn contracts(&self) -> Contracts {
        self.live.snapshot().catalogue.compiled()
    }

    /// Gives the catalogue to a server before its first request.
    pub(crate) fn install(self, shared: &Shared) -> CatalogueRuntime {
        if let Some(handle) = self.room.handle() {
            let clerk = Clerk::new(&self.live, handle, self.deadline);
            shared.engine.set_registrar(Arc::new(clerk));
        }
        shared.engine.set_bans(&self.bans);
        if let Some(file) = self.live.database().and_then(Database::file) {
            shared.state.databases.add(file);
        }
        let _ = shared.live.set(self.live);
        self.room
    }
}

/// Threads of its own, so that serving threads never wait for a database.
pub(crate) struct CatalogueRuntime(Option<Runtime>);

impl CatalogueRuntime {
    fn new() -> Result<Self, CatalogueError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("catalogue")
            .enable_all()
            .build();
        runtime
            .map(|runtime| Self(Some(runtime)))
            .map_err(CatalogueError::Thread)
    }

    /// `None` during shutdown.
    pub(crate) fn handle(&self) -> Option<&Handle> {
        self.0.as_ref().map(Runtime::handle)
    }
}

impl Drop for CatalogueRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // Nothing is lost: what was answered is on disk, and no request waits for the rest.
            runtime.shutdown_background();
        }
    }
}

pub(crate) fn open(settings: &Settings) -> Result<Option<OpenedCatalogue>, CatalogueError> {
    let Some(catalogue) = settings.keeping.catalogue.clone() else {
        return Ok(None);
    };
    let room = CatalogueRuntime::new()?;
    let (tell, told) = mpsc::channel();
    let contracts = settings.contracts.clone();
    let deadline = catalogue.deadline;
    if let Some(handle) = room.handle() {
        handle.spawn(async move {
            // The caller waits for the result, so the receiver exists.
            let _ = tell.send(begin(&catalogue, &contracts).await);
        });
    }
    let ended = |_| Err(CatalogueError::Thread(std::io::Error::other("it ended")));
    let (live, bans) = told.recv().unwrap_or_else(ended)?;
    let live = Arc::new(live);
    Ok(Some(OpenedCatalogue {
        live,
        room,
        bans,
        deadline,
    }))
}

async fn begin(
    settings: &CatalogueSettings,
    contracts: &ContractSource,
) -> Result<(Live, Vec<Ban>), CatalogueError> {
    let failed = |error| CatalogueError::Database {
        place: settings.at.clone(),
        error,
    };
    let database = Database::open(&config(settings)).await.map_err(failed)?;
    let is_new = database.revision().await.map_err(failed)? == 0;
    if is_new {
        let edits = edits(contracts).map_err(CatalogueError::Import)?;
        let imported = !edits.is_empty() && database.found(&edits).await.map_err(failed)?;
        if imported {
            tracing::info!(count = edits.len(), "the contract file is in the catalogue");
        }
    }
    let snapshot = database.snapshot().await.map_err(failed)?;
    let bans = database.bans().await.map_err(failed)?;
    let first = imported(&database).await.map_err(failed)?;
    Ok((Live::new(database, snapshot, first), bans))
}

/// The contract file that initialized the catalogue.
async fn imported(database: &Database) -> Result<Imported, Error> {
    let mut documents = Vec::new();
    loop {
        // The documents of the file are the first changes of the history.
        let before = documents.len() as u64;
        let changes = database.changes(before, PAGE_MAX).await?.into_iter();
        let ours = |change: &Change| change.author == AUTHOR && change.reason == REASON;
        documents.extend(
            changes
                .take_while(ours)
                .map(|change| (change.kind, change.id, change.after.unwrap_or_default())),
        );
        if (documents.len() as u64) < before + PAGE_MAX {
            return Ok(Imported::of(documents));
        }
    }
}

/// A digest of the documents of a contract file, to compare with later files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Imported(u64);

impl Imported {
    /// Independent of the order of documents.
    fn of(mut documents: Vec<(Kind, String, Document)>) -> Self {
        documents.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
        let mut hasher = DefaultHasher::new();
        for (kind, id, document) in documents {
            (kind.name(), id, document.to_string()).hash(&mut hasher);
        }
        Self(hasher.finish())
    }

    pub(crate) fn read(contracts: &ContractSource) -> Result<Self, SourceError> {
        read(contracts).map(Self::of)
    }
}

pub(crate) fn config(settings: &CatalogueSettings) -> Config {
    let source = match &settings.at {
        CataloguePlace::File(path) => Source::Sqlite(path.clone()),
        CataloguePlace::Database(url) => Source::Postgres(url.secret().to_owned()),
    };
    Config {
        ca: settings.ca_file.clone(),
        ..Config::new(source)
    }
}

fn edits(contracts: &ContractSource) -> Result<Vec<(Edit, String)>, SourceError> {
    let edit = |(kind, id, document): (Kind, String, Document)| {
        let edit = Edit {
            kind,
            id,
            seen: Seen::Nothing,
            author: AUTHOR.to_owned(),
            origin: String::new(),
            reason: REASON.to_owned(),
        };
        (edit, document.to_string())
    };
    Ok(read(contracts)?.into_iter().map(edit).collect())
}

fn read(contracts: &ContractSource) -> Result<Vec<(Kind, String, Document)>, SourceError> {
    let (name, text) = match contracts {
        ContractSource::None | ContractSource::Xds(_) => return Ok(Vec::new()),
        ContractSource::Text(text) => ("contracts".to_owned(), text.clone().into_bytes()),
        ContractSource::File(path) | ContractSource::Within(path) => {
            (path.display().to_string(), source::read(path)?)
        }
    };
    let read = decode(&text).and_then(|text| match contracts {
        ContractSource::Within(_) => documents_within(text),
        _ => documents(text),
    });
    read.map_err(|errors| SourceError::Wrong(errors.render(&name)))
}

/// Recorded as author when a contract file initializes a catalogue.
const AUTHOR: &str = "file";
const REASON: &str = "the first start";
