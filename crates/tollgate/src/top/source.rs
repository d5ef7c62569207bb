//! Polls the server on its own thread, so that a slow server does not delay keys.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::options::TopOptions;
use super::snapshot::Snapshot;
use crate::check::http::ServerRequest;
use crate::failure::Failure;

pub(super) struct Fetched {
    pub(super) snapshot: Snapshot,
    /// As it was sent.
    pub(super) text: String,
}

pub(super) struct SnapshotSource {
    news: Receiver<Result<Fetched, Failure>>,
}

impl SnapshotSource {
    /// Starts polling; it ends when the receiver is dropped.
    pub(super) fn start(options: &TopOptions) -> Result<Self, Failure> {
        let (sender, news) = sync_channel(NEWS_MAX);
        let options = TopOptions {
            at: options.at.clone(),
            ..*options
        };
        let work = move || ask(&options, &sender);
        let spawned = thread::Builder::new()
            .name("top-source".to_owned())
            .spawn(work);
        spawned.map_err(|error| Failure::system("start a thread", &error))?;
        Ok(Self { news })
    }

    /// What arrived since the last call; the oldest first.
    pub(super) fn news(&self) -> Option<Result<Fetched, Failure>> {
        self.news.try_recv().ok()
    }
}

fn ask(options: &TopOptions, sender: &SyncSender<Result<Fetched, Failure>>) {
    loop {
        thread::sleep(options.every);
        if sender.send(fetch(options)).is_err() {
            return;
        }
    }
}

pub(super) fn fetch(options: &TopOptions) -> Result<Fetched, Failure> {
    let server = &options.at.server;
    let reply = ServerRequest::get(server, "/v1/top", options.at.token.as_deref()).send();
    let reply = reply.map_err(|error| error.failure(server))?;
    let text = String::from_utf8_lossy(&reply.body).into_owned();
    match (reply.status, serde_json::from_str(&text)) {
        (200, Ok(snapshot)) => Ok(Fetched { snapshot, text }),
        (401 | 403, _) => Err(Failure::no_permission(format!(
            "error: {server} lets nobody look without a token\nSet TOLLGATE_TOKEN to a token that the server knows."
        ))),
        (status, _) => Err(Failure::protocol(format!(
            "error: {server} does not say what it does (status {status} for /v1/top); is it a Tollgate?"
        ))),
    }
}

/// Snapshots not yet taken.
const NEWS_MAX: usize = 2;
