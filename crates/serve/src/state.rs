//! How the server is: whether it is ready, how the last reload went, how many requests and answers wait.
//!
//! Not here: counters for metrics (`meter`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::owner::Arrival;
use crate::troubles::{Databases, Lasting};
use crate::unsent::Unsent;

/// How the server is.
#[derive(Debug)]
pub struct ServerState {
    is_ready: AtomicBool,
    /// How far the node has come in learning from others.
    arrival: Arc<Arrival>,
    /// Whether a management server has not sent contracts yet.
    is_awaiting: AtomicBool,
    /// Whether the server must stop, and only waits to be stopped.
    is_doomed: AtomicBool,
    /// Whether the thread of the cluster ended by a mistake of its own, so that this node counts alone.
    is_cut_off: AtomicBool,
    /// Whether the server was told to stop, and serves on for a while.
    is_leaving: AtomicBool,
    room: Room,
    reloads: AtomicU64,
    failed_reloads: AtomicU64,
    /// Why the contracts in use are not those of the file.
    reload_error: Mutex<Option<String>>,
    /// What is wrong with databases.
    pub(crate) databases: Databases,
    /// What is wrong with this node's part in the cluster.
    cluster_error: Mutex<Option<String>>,
    /// Why changes of the catalogue do not come into force.
    catalogue_error: Mutex<Option<String>>,
    /// Why the management server that contracts come from is not followed, or why a contract file is not in force.
    source_error: Mutex<Option<String>>,
    /// How the system's clock was set, where that is not followed.
    clock_error: Mutex<Option<String>>,
}

/// How much may wait at once.
#[derive(Debug)]
struct Room {
    /// Places of requests that wait for something.
    places: PlaceCounter,
    /// Places of those that a desk answers.
    desk: PlaceCounter,
    /// Places of those that a desk answers to anyone, as a sign-in.
    visitors: PlaceCounter,
    /// Answers that clients have yet to take.
    unsent: Arc<Unsent>,
}

impl ServerState {
    /// Not ready, nothing reloaded, and at most so many requests at once.
    pub fn new(working_max: usize) -> Self {
        Self {
            is_ready: AtomicBool::new(false),
            arrival: Arc::default(),
            is_awaiting: AtomicBool::new(false),
            is_doomed: AtomicBool::new(false),
            is_cut_off: AtomicBool::new(false),
            is_leaving: AtomicBool::new(false),
            room: Room {
                places: PlaceCounter::new(working_max),
                desk: PlaceCounter::new(DESK_PLACES),
                visitors: PlaceCounter::new(VISITOR_PLACES),
                unsent: Arc::default(),
            },
            reloads: AtomicU64::new(0),
            failed_reloads: AtomicU64::new(0),
            reload_error: Mutex::new(None),
            databases: Databases::new(),
            cluster_error: Mutex::new(None),
            catalogue_error: Mutex::new(None),
            source_error: Mutex::new(None),
            clock_error: Mutex::new(None),
        }
    }

    /// Whether requests may be sent here: every port is open, the server does not stop, and in a cluster it knows as
    /// much as the others.
    pub fn is_ready(&self) -> bool {
        let read = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        let hindrances = [&self.is_awaiting, &self.is_doomed, &self.is_cut_off];
        read(&self.is_ready) && !self.is_joining() && !hindrances.into_iter().any(read)
    }

    /// Whether this node counts alone though it should not: the thread of the cluster is gone.
    pub fn is_cut_off(&self) -> bool {
        self.is_cut_off.load(Ordering::Relaxed)
    }

    pub(crate) fn set_cut_off(&self) {
        self.is_cut_off.store(true, Ordering::Relaxed);
    }

    pub(crate) fn set_doomed(&self) {
        self.is_doomed.store(true, Ordering::Relaxed);
    }

    /// Whether a management server has not sent contracts yet.
    pub fn is_awaiting(&self) -> bool {
        self.is_awaiting.load(Ordering::Relaxed)
    }

    pub(crate) fn set_awaiting(&self, is_awaiting: bool) {
        self.is_awaiting.store(is_awaiting, Ordering::Relaxed);
    }

    /// Whether the node still learns from others of its cluster.
    pub fn is_joining(&self) -> bool {
        self.arrival.is_joining()
    }

    /// How far the node has come in learning from others of its cluster.
    pub(crate) const fn arrival(&self) -> &Arc<Arrival> {
        &self.arrival
    }

    pub(crate) fn set_ready(&self, is_ready: bool) {
        self.is_ready.store(is_ready, Ordering::Relaxed);
    }

    /// Whether the server was told to stop, and serves on for a while.
    pub fn is_leaving(&self) -> bool {
        self.is_leaving.load(Ordering::Relaxed)
    }

    pub(crate) fn set_leaving(&self) {
        self.is_leaving.store(true, Ordering::Relaxed);
        self.set_ready(false);
    }

    /// Places of requests that wait for something, as for the rest of a body.
    pub(crate) const fn places(&self) -> &PlaceCounter {
        &self.room.places
    }

    /// Places of requests that a desk answers, which no others take.
    pub(crate) const fn desk_places(&self) -> &PlaceCounter {
        &self.room.desk
    }

    /// Places of requests that a desk answers to anyone.
    pub(crate) const fn visitor_places(&self) -> &PlaceCounter {
        &self.room.visitors
    }

    /// Answers that clients have yet to take.
    pub(crate) const fn unsent(&self) -> &Arc<Unsent> {
        &self.room.unsent
    }

    /// How often contracts were loaded again, and how often that failed.
    pub fn reloads(&self) -> (u64, u64) {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (read(&self.reloads), read(&self.failed_reloads))
    }

    /// Why the contracts in use are not those of the file, where they are not.
    pub fn reload_error(&self) -> Option<String> {
        self.reload_error.lock().clone()
    }

    /// What of the server itself somebody should look at though it serves, one sentence each.
    pub fn troubles(&self) -> Vec<String> {
        let reload = self.reload_error();
        let reload = reload.map(|error| format!("reload failed: {}", one_sentence(&error)));
        let cluster = self.cluster_error.lock().clone();
        let catalogue = self.catalogue_error.lock().clone();
        let source = self.source_error.lock().clone();
        let others = [reload, cluster, catalogue, source, self.clock_error()];
        let mut troubles = self.databases.troubles();
        troubles.extend(others.into_iter().flatten());
        troubles
    }

    /// Since when and why durable counts are not written, where they are not.
    pub fn store_error(&self) -> Option<String> {
        self.databases.durable_error()
    }

    pub(crate) fn set_store_error(&self, error: Option<String>) {
        self.databases.durable.set(error);
    }

    /// Where the store says since when and why it does not decide.
    pub(crate) fn set_engine_error(&self, error: Arc<Lasting>) {
        // There is one store.
        let _ = self.databases.engine.set(error);
    }

    /// Whether they were not written before.
    pub(crate) fn set_statistics_error(&self, error: Option<String>) -> bool {
        self.databases.statistics.set(error)
    }

    pub(crate) fn set_catalogue_error(&self, error: Option<String>) {
        *self.catalogue_error.lock() = error;
    }

    /// How the system's clock was set, where that is not followed.
    pub(crate) fn clock_error(&self) -> Option<String> {
        self.clock_error.lock().clone()
    }

    pub(crate) fn set_clock_error(&self, error: Option<String>) {
        *self.clock_error.lock() = error;
    }

    pub(crate) fn has_source_error(&self) -> bool {
        self.source_error.lock().is_some()
    }

    pub(crate) fn set_source_error(&self, error: Option<String>) {
        *self.source_error.lock() = error;
    }

    pub(crate) fn set_cluster_error(&self, error: Option<String>) {
        *self.cluster_error.lock() = error;
    }

    pub(crate) fn reloaded(&self, outcome: Result<(), String>) {
        let counter = match outcome {
            Ok(()) => &self.reloads,
            Err(_) => &self.failed_reloads,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        *self.reload_error.lock() = outcome.err();
    }
}

/// The first mistake of a file with its place, without the line of the file: whoever asks may not be meant to read
/// that.
pub(crate) fn one_sentence(error: &str) -> String {
    let mut lines = error.lines().map(str::trim);
    let what = lines.next().unwrap_or_default();
    let place = lines.next().and_then(|line| line.strip_prefix("--> "));
    let what = what.strip_prefix("error: ").unwrap_or(what);
    place.map_or_else(|| what.to_owned(), |place| format!("{place}: {what}"))
}

/// So many places.
#[derive(Debug)]
pub struct PlaceCounter {
    taken: AtomicUsize,
    most: usize,
}

impl PlaceCounter {
    pub(crate) const fn new(most: usize) -> Self {
        Self {
            taken: AtomicUsize::new(0),
            most,
        }
    }

    /// A place; `None` where all are taken.
    pub fn enter(&self) -> Option<PlaceGuard<'_>> {
        if self.taken.fetch_add(1, Ordering::Relaxed) >= self.most {
            self.taken.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        Some(PlaceGuard(self))
    }
}

/// A place, given back when it is dropped.
#[derive(Debug)]
pub struct PlaceGuard<'p>(&'p PlaceCounter);

impl Drop for PlaceGuard<'_> {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Requests that a desk answers at once.
const DESK_PLACES: usize = 256;
/// Requests without a token that a desk answers at once.
const VISITOR_PLACES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_away_the_request_after_the_last_place() {
        let places = PlaceCounter::new(2);
        let first = places.enter();
        let second = places.enter();
        assert!(first.is_some() && second.is_some() && places.enter().is_none());
        drop(first);
        assert!(places.enter().is_some());
        drop(second);
        assert_eq!(places.taken.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn troubles_name_the_place_and_keep_the_file_to_themselves() {
        let state = ServerState::new(1);
        let rendered = "error: unknown field `limt`\n  --> c.yaml:1:3\n   |\n 1 | token: secret\n";
        state.reloaded(Err(rendered.into()));
        let told = "reload failed: c.yaml:1:3: unknown field `limt`";
        assert_eq!(state.troubles(), [told]);
    }

    #[test]
    fn a_good_reload_clears_the_error_of_a_bad_one() {
        let state = ServerState::new(1);
        state.reloaded(Err("line 3".into()));
        assert_eq!(state.reload_error().as_deref(), Some("line 3"));
        assert_eq!(state.troubles(), ["reload failed: line 3"]);
        state.reloaded(Ok(()));
        assert_eq!((state.reload_error(), state.reloads()), (None, (1, 1)));
    }
}
