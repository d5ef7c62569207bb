//! Limits the number of connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::meter::{Door, Event};
use crate::shared::Shared;

/// All open connections of all protocols.
#[derive(Debug)]
pub(crate) struct ConnectionLimit {
    open: AtomicUsize,
    most: usize,
    last: AtomicU64,
}

impl ConnectionLimit {
    pub(crate) const fn new(most: usize) -> Self {
        Self {
            open: AtomicUsize::new(0),
            most,
            last: AtomicU64::new(0),
        }
    }

    /// Admits or rejects a connection. The last slots are for callers on this machine, so that an operator can reach it
    /// when remote clients took all others.
    pub(crate) fn admit(&self, is_near: bool) -> bool {
        let room = if is_near { 0 } else { self.kept() };
        let before = self.open.fetch_add(1, Ordering::Relaxed);
        let is_in = before < self.most - room;
        if !is_in {
            self.leave();
        }
        is_in
    }

    fn leave(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    fn kept(&self) -> usize {
        KEPT_NEAR.min(self.most / 8)
    }

    /// A number that no connection had before, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// A connection's slot, freed when dropped.
pub(crate) struct ConnectionSlot {
    shared: Arc<Shared>,
    crowd: Arc<ConnectionLimit>,
    door: Door,
}

impl ConnectionSlot {
    /// Takes the slot that [`ConnectionLimit::admit`] reserved.
    pub(crate) fn take(shared: &Arc<Shared>, crowd: &Arc<ConnectionLimit>, door: Door) -> Self {
        shared.engine.meter().count(Event::Opened(door));
        Self {
            shared: Arc::clone(shared),
            crowd: Arc::clone(crowd),
            door,
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.crowd.leave();
        let meter = self.shared.engine.meter();
        meter.count(Event::Closed(self.door));
        if std::thread::panicking() {
            meter.count(Event::Panicked(self.door));
        }
    }
}

/// Slots reserved for callers on this machine; fewer if there are few.
const KEPT_NEAR: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_last_places_for_callers_on_this_machine() {
        let crowd = ConnectionLimit::new(16);
        let strangers = (0..100).filter(|_| crowd.admit(false)).count();
        let neighbours = (0..100).filter(|_| crowd.admit(true)).count();
        assert_eq!((strangers, neighbours), (14, 2));
        crowd.leave();
        assert!(!crowd.admit(false) && crowd.admit(true));
    }

    #[test]
    fn a_connection_that_panics_gives_its_place_back_and_is_counted() {
        let secrets = crate::engine::Secrets::draw().unwrap();
        let settings = crate::settings::Settings::default();
        let engine = crate::engine::Engine::new(
            tollgate_contract::Contracts::default(),
            settings.node,
            &secrets,
        );
        let shared = Arc::new(Shared::new(engine, settings));
        let crowd = Arc::new(ConnectionLimit::new(1));
        assert!(crowd.admit(true) && !crowd.admit(true));
        let seat = ConnectionSlot::take(&shared, &crowd, Door::Resp);
        let thread = std::thread::spawn(move || {
            let _seat = seat;
            panic!("a bug of ours");
        });
        assert!(thread.join().is_err() && crowd.admit(true));
        let metrics = shared.engine.meter().render(&shared.engine);
        let counted = metrics
            .lines()
            .filter(|line| line.contains("panic") && line.contains("resp"));
        assert!(
            counted.into_iter().any(|line| line.ends_with(" 1")),
            "{metrics}"
        );
    }
}
