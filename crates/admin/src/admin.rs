//! The admin API: takes requests from the server's listener, and answers on its own threads.
//!
//! Not here: the routes (`route`), and authentication (`access`).

use std::path::PathBuf;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use http::Response;
use tokio::runtime::{Builder, Runtime};
use tollgate_catalogue_sql::Database;
use tollgate_http::ClientAddress;
use tollgate_serve::desk::{AdminApi, Answering, Knock, Knocking, Visit};
use tollgate_serve::shared::Shared;

use crate::access::{Access, signins};
use crate::fault::Fault;
use crate::resource::tail;
use crate::route;
use crate::timing::{self, Timing};

/// The source of contracts.
#[derive(Clone, Debug)]
pub(crate) enum Books {
    /// Changes go through this API.
    Database(Database),
    /// A file that changes outside this process; `None` if there are no contracts.
    File(Option<PathBuf>),
}

impl Books {
    fn of(shared: &Shared) -> Self {
        match shared.catalogue().database() {
            Some(database) => Self::Database(database.clone()),
            None => Self::File(shared.settings.contracts.file().map(Into::into)),
        }
    }

    /// The database, or why changes are not possible.
    pub(crate) fn database(&self) -> Result<&Database, Fault> {
        match self {
            Self::Database(database) => Ok(database),
            Self::File(Some(path)) => Err(Fault::read_only(format!(
                "contracts come from the file {}: change that, or let a database be the source",
                path.display()
            ))),
            Self::File(None) => Err(Fault::read_only(
                "there is no catalogue: say where it is in the server's settings",
            )),
        }
    }
}

pub struct AdminConfig {
    /// A secret with every right, chosen by the operator; at least 16 bytes.
    pub preset: Option<String>,
    /// Shows the operator the secret of the first token, once.
    pub tell: Box<dyn Fn(&str) + Send + Sync>,
}

/// The management API.
pub struct Admin {
    office: Arc<Office>,
    runtime: Option<Runtime>,
}

pub(crate) struct Office {
    pub(crate) server: Weak<Shared>,
    pub(crate) books: Books,
    pub(crate) access: Access,
    pub(crate) timing: Timing,
    /// Live tails of decisions.
    pub(crate) looks: tail::Looks,
    /// Proxies that are trusted for the client's address.
    pub(crate) proxies: ClientAddress,
}

impl Office {
    /// Whether any token can exist: a preset one, or one of a database.
    pub(crate) fn lets_in(&self) -> bool {
        self.access.is_preset() || matches!(self.books, Books::Database(_))
    }
}

impl Admin {
    /// Fails if the preset secret is invalid or the system refuses a thread.
    ///
    /// Not within an asynchronous task: it waits for the database, for a bounded time.
    pub fn open(shared: &Arc<Shared>, config: AdminConfig) -> Result<Self, String> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("admin")
            .enable_all()
            .build()
            .map_err(|error| format!("cannot start threads: {error}"))?;
        let settings = &shared.settings;
        let access = Access::new(config.preset.as_deref(), settings.key_place())?;
        let office = Arc::new(Office {
            server: Arc::downgrade(shared),
            books: Books::of(shared),
            access,
            timing: Timing::default(),
            looks: tail::Looks::default(),
            proxies: settings.client_address.clone(),
        });
        runtime.spawn(timing::keep(Arc::downgrade(&office)));
        runtime.spawn(tail::keep(Arc::downgrade(&office)));
        runtime.spawn(signins::keep_refusals(Arc::downgrade(&office)));
        runtime.block_on(crate::access::first::greet(&office, config.tell));
        Ok(Self {
            office,
            runtime: Some(runtime),
        })
    }
}

impl Admin {
    /// Runs on the API's own threads; `None` after a panic.
    fn on_threads<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = Option<T>> + Send + 'static {
        let task = self.runtime.as_ref().map(|runtime| runtime.spawn(work));
        async move { task?.await.ok() }
    }
}

impl AdminApi for Admin {
    fn lets_in(&self) -> bool {
        self.office.lets_in()
    }

    fn knock(&self, visit: Visit) -> Knocking<'_> {
        let knocked = self.on_threads(route::knock(Arc::clone(&self.office), visit));
        Box::pin(async move { knocked.await.unwrap_or_else(|| Knock::Refused(broken())) })
    }

    fn answer(&self, visit: Visit) -> Answering<'_> {
        let answered = self.on_threads(route::answer(Arc::clone(&self.office), visit));
        Box::pin(async move { answered.await.unwrap_or_else(broken) })
    }
}

/// The answer after a panic of a handler.
fn broken() -> Response<Bytes> {
    let fault = Fault::new(
        http::StatusCode::INTERNAL_SERVER_ERROR,
        "bug",
        "this should not happen; the log of the server has more",
    );
    fault.answer().sent()
}

impl Drop for Admin {
    fn drop(&mut self) {
        // This may be dropped within a task, where blocking is not allowed.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Waiting for databases takes no thread.
const THREADS: usize = 2;
