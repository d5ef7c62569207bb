//! The thread that looks after the server: files that change, durable counts, what to tell about them.

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

/// The thread, until it is told to end.
pub(super) struct Keeper {
    /// Nothing is ever sent; the thread ends when this is gone.
    end: Sender<()>,
    thread: JoinHandle<Result<(), StoreError>>,
}

impl Keeper {
    /// Starts the thread. `stamp` is that of the contract file before it was read.
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

    /// Ends the thread, which writes what is durable first.
    pub(super) fn stop(self) -> Result<(), StoreError> {
        drop(self.end);
        // What panicked has been told by the panic.
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
    // What was read before it was first looked at may be another by now: it is told once.
    let (mut beside, mut tokens) = (FileWatch::new(None), FileWatch::new(None));
    let mut clock = ClockWatch::default();
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(LOOK_EVERY) {
        clock.look(shared);
        if let Some(keep) = &mut keep {
            keep.flush(shared);
        }
        if shared.cluster.get().is_none() {
            // In a cluster its thread does.
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

/// How often files are looked at. One that changed is read when it looks the same twice.
const LOOK_EVERY: Duration = Duration::from_millis(250);
