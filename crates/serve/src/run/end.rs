//! Shutdown: clients are sent elsewhere, pending work is finished, durable state is written.

use std::path::PathBuf;
use std::thread;

use super::{Open, Running};
use crate::durable::StoreError;
use crate::settings::ListenAddress;
use crate::shared::ServerPhase;

impl Running {
    /// Sends clients elsewhere, and serves on for as long as the settings say: `/readyz` and gRPC's health say no,
    /// HTTP/2 connections get GOAWAY, those of HTTP/1 end with their next answer. Returns when the time is up.
    pub fn leave(&self) {
        self.shared.state.set_leaving();
        let _ = self.stop.send(ServerPhase::Leaving);
        let delay = self.shared.settings.limits.shutdown_delay;
        let delay_s = delay.as_secs_f64();
        tracing::info!(
            delay_s,
            "told to stop: health checks say no, requests are still answered"
        );
        thread::sleep(delay);
    }

    /// Stops accepting, lets connections finish for as long as the settings say, writes durable state, and ends.
    pub fn stop(mut self) -> Result<(), StoreError> {
        self.end()
    }

    /// Cuts the waiting of [`Self::stop`] short.
    pub fn halt(&self) {
        let _ = self.halt.send(ServerPhase::Stopping);
    }

    fn end(&mut self) -> Result<(), StoreError> {
        self.shared.state.set_leaving();
        let _ = self.stop.send(ServerPhase::Stopping);
        if self.keeper.is_some() {
            let drain_s = self.shared.settings.limits.drain.as_secs_f64();
            tracing::info!(
                drain_s,
                "stopping: no connection is accepted, those that are open may finish"
            );
        }
        for thread in self.threads.drain(..) {
            // A thread that panicked has nothing more to finish.
            let _ = thread.join();
        }
        if let Some(cluster) = self.cluster.take() {
            // No more decisions are made, so everything can be handed over.
            let is_hurried = *self.halt.borrow() == ServerPhase::Stopping;
            if !is_hurried {
                if let Some(mover) = &self.mover {
                    mover.leave(self.shared.settings.limits.drain);
                }
                cluster.leave();
            }
            drop(self.asker.take());
            drop(self.mover.take());
            cluster.end();
        }
        for path in self.listeners.drain(..).filter_map(Open::path) {
            // The next start removes it as well.
            let _ = std::fs::remove_file(path);
        }
        drop(self.traces.take());
        drop(self.watcher.take());
        drop(self.follower.take());
        drop(self.scribe.take());
        let Some(keeper) = self.keeper.take() else {
            return Ok(());
        };
        let written = keeper.stop();
        match &written {
            Ok(()) => tracing::info!("ended; durable counts are written"),
            Err(error) => tracing::error!(%error, "ended; durable counts could not be written"),
        }
        written
    }
}

impl Open {
    fn path(self) -> Option<PathBuf> {
        match self.at {
            ListenAddress::Tcp(_) => None,
            ListenAddress::Unix { path, .. } => Some(path),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.halt();
        // Errors were logged.
        let _ = self.end();
    }
}
