//! One serving thread: its runtime, its listeners, and its end.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime as Tokio};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::cluster::serve_here;
use crate::listen::{
    BoundListener, ConnectionLimit, ListenerContext, Speech, ThreadListener, accept,
};
use crate::settings::{Runtime, RuntimeKind};
use crate::shared::{Shared, Stop};

pub(super) struct ServeWorker {
    pub(super) shared: Arc<Shared>,
    pub(super) crowd: Arc<ConnectionLimit>,
    pub(super) stop: Stop,
    pub(super) halt: Stop,
}

impl Runtime {
    pub fn count(self) -> usize {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or_else(cores).max(1)
    }

    pub(super) fn sockets(self) -> usize {
        match self.kind {
            RuntimeKind::PerCore => self.count(),
            RuntimeKind::Shared => 1,
        }
    }

    fn build(self) -> io::Result<Tokio> {
        match self.kind {
            RuntimeKind::PerCore => Builder::new_current_thread().enable_all().build(),
            RuntimeKind::Shared => Builder::new_multi_thread()
                .worker_threads(self.count())
                .thread_name("serve")
                .enable_all()
                .build(),
        }
    }
}

impl ServeWorker {
    /// Starts the thread with one socket of every listener.
    pub(super) fn start(
        self,
        number: usize,
        bound: &mut [BoundListener],
    ) -> io::Result<JoinHandle<()>> {
        let runtime = self.shared.settings.runtime.build()?;
        let context = runtime.enter();
        let mut posts = Vec::new();
        let is_apart = bound.iter().any(|bound| bound.speech == Speech::Admin);
        for bound in bound {
            if let Some(socket) = bound.sockets.pop() {
                let post = ThreadListener::new(socket, bound, is_apart)?;
                posts.push(Arc::new(post));
            }
        }
        drop(context);
        let name = format!("serve-{number}");
        let is_alone = self.shared.settings.runtime.kind == RuntimeKind::PerCore;
        thread::Builder::new().name(name).spawn(move || {
            if is_alone {
                serve_here();
            }
            runtime.block_on(self.serve(posts));
            // What did not finish in time ends here.
            runtime.shutdown_background();
        })
    }

    async fn serve(mut self, posts: Vec<Arc<ThreadListener>>) {
        let (held, mut all_gone) = mpsc::channel(1);
        let ground = ListenerContext {
            shared: Arc::clone(&self.shared),
            crowd: Arc::clone(&self.crowd),
            stop: self.stop.clone(),
            held,
        };
        let mut loops = JoinSet::new();
        for post in posts {
            loops.spawn(keep_accepting(post, ground.clone()));
        }
        drop(ground);
        self.stop.given().await;
        // Closes the sockets, so that the system sends no connections here any more.
        while loops.join_next().await.is_some() {}
        tokio::select! {
            _ = all_gone.recv() => {}
            () = self.halt.given() => {}
            () = tokio::time::sleep(self.shared.settings.limits.drain) => {}
        }
    }
}

/// Accepts until the stop signal, also after a panic.
async fn keep_accepting(post: Arc<ThreadListener>, ground: ListenerContext) {
    while !ground.stop.is_given() {
        let accepting = tokio::spawn(accept(Arc::clone(&post), ground.clone()));
        if accepting.await.is_err() {
            tokio::time::sleep(AGAIN_AFTER).await;
        }
    }
}

/// Pause after a panic, so that a repeated one does not spin.
const AGAIN_AFTER: Duration = Duration::from_millis(100);
