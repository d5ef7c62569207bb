//! The background thread: changed files, durable counts, warnings.

mod clock;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::reload::{FileStamp, FileWatch, Loader};
use crate::durable::{Flusher, StoreError};
use crate::shared::Shared;
use crate::supply::SupplyWriter;
use clock::ClockWatch;

/// The thread; it runs until [`Self::stop`].
pub(super) struct Keeper {
    /// Nothing is ever sent; the thread ends when this is dropped.
    end: Sender<()>,
    thread: JoinHandle<Result<(), StoreError>>,
}

impl Keeper {
    /// `stamp` is that of the contract file before it was read.
    pub(super) fn start(
        shared: Arc<Shared>,
        loader: Arc<Loader>,
        flusher: Option<Flusher>,
        mut keep: Option<SupplyWriter>,
        stamp: Option<FileStamp>,
    ) -> io::Result<Self> {
        let (end, ended) = channel();
        let keep = move || {
            look_after(
                &shared,
                &loader,
                keep.as_mut(),
                FileWatch::new(stamp),
                &ended,
            );
            flusher.map_or(Ok(()), Flusher::stop)
        };
        let thread = thread::Builder::new().name("keeper".into()).spawn(keep)?;
        Ok(Self { end, thread })
    }

    /// Ends the thread after it has written durable state.
    pub(super) fn stop(self) -> Result<(), StoreError> {
        drop(self.end);
        // The panic was logged already.
        self.thread.join().unwrap_or(Ok(()))
    }
}

fn look_after(
    shared: &Shared,
    loader: &Loader,
    mut keep: Option<&mut SupplyWriter>,
    mut watch: FileWatch,
    ended: &Receiver<()>,
) {
    // The files may have changed since they were read at the start: they are read once more.
    let (mut beside, mut tokens) = (FileWatch::new(None), FileWatch::new(None));
    let mut clock = ClockWatch::default();
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(LOOK_EVERY) {
        clock.look(shared);
        if let Some(keep) = &mut keep {
            keep.flush(shared);
        }
        if shared.cluster.get().is_none() {
            // In a cluster its thread does this.
            shared.engine.node().handle_timeout(shared.engine.now());
        }
        let file = shared.settings.contracts.file();
        if file.is_some_and(|file| watch.is_due(FileStamp::of(file))) {
            loader.look_at_file();
        }
        let file = shared.callers.file();
        if file.is_some_and(|file| tokens.is_due(FileStamp::of(&file))) {
            loader.reload_tokens();
        }
        let annex = shared.annex.get();
        let file = annex.and_then(|annex| annex.watched());
        if file.is_some_and(|file| beside.is_due(FileStamp::of(file))) {
            loader.reload_annex();
        }
    }
}

/// Interval of checks. A changed file is read when it looks the same twice.
const LOOK_EVERY: Duration = Duration::from_millis(250);
