//! Follows the catalogue: every change is in force within a second.
//!
//! Polls the number of the last change a few times a second. While the database does not answer, the last state stays
//! in force. Not here: which keys a change affects (`touched`).

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tollgate_catalogue::Ban;
use tollgate_catalogue_sql::{Database, Error, Snapshot};
use tollgate_contract::Contracts;

use super::open::CatalogueRuntime;
use super::touched::Touched;
use super::{Live, Origin};
use crate::logs::Rarely;
use crate::shared::Shared;

/// Puts contracts in force, or returns why it cannot.
pub(crate) type Adopt = Arc<dyn Fn(Contracts, &Origin) -> Result<(), String> + Send + Sync>;

/// Stops when dropped.
pub(crate) struct Watcher {
    following: Option<JoinHandle<()>>,
    _room: CatalogueRuntime,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        if let Some(following) = self.following.take() {
            following.abort();
        }
    }
}

impl Watcher {
    pub(crate) fn start(room: CatalogueRuntime, shared: &Arc<Shared>, adopt: Adopt) -> Self {
        let watch = Watch {
            live: Arc::clone(shared.catalogue()),
            shared: Arc::clone(shared),
            adopt,
            refused: Arc::default(),
            said: Rarely::new(SAY_EVERY),
        };
        let following = room.handle().map(|handle| handle.spawn(watch.follow()));
        Self {
            following,
            _room: room,
        }
    }
}

struct Watch {
    live: Arc<Live>,
    shared: Arc<Shared>,
    adopt: Adopt,
    /// The last revision whose contracts were rejected.
    refused: Arc<Mutex<Option<Refused>>>,
    said: Rarely,
}

impl Watch {
    async fn follow(self) {
        let mut pause = LOOK_EVERY;
        loop {
            tokio::select! {
                () = tokio::time::sleep(jittered(pause)) => {}
                () = self.live.nudge.notified() => {}
            }
            let since = Instant::now();
            let outcome = self.look().await;
            pause = match &outcome {
                Ok(()) => LOOK_EVERY,
                Err(_) => (pause * 2).min(PAUSE_MAX),
            };
            self.tell(since, outcome);
        }
    }

    fn tell(&self, since: Instant, outcome: Result<(), String>) {
        match (&outcome, self.live.trouble()) {
            (Ok(()), Some(_)) => tracing::info!("the catalogue is followed again"),
            (Ok(()), None) => {}
            (Err(error), _) => {
                self.live.counts.missed.add(1);
                if let Some(before) = self.said.now() {
                    tracing::warn!(
                        error,
                        before,
                        "the catalogue cannot be followed; what was in force stays"
                    );
                }
            }
        }
        let trouble = outcome.as_ref().err();
        let trouble = trouble.map(|error| format!("the catalogue is not followed: {error}"));
        self.shared.state.set_catalogue_error(trouble);
        self.live.touched(since, outcome);
    }

    async fn look(&self) -> Result<(), String> {
        let Some(database) = self.live.database() else {
            return Ok(());
        };
        let changed = tokio::time::timeout(LOOK_WITHIN, self.changed(database)).await;
        let changed = changed.unwrap_or(Err(Error::Late));
        let Some((snapshot, touched, bans)) = changed.map_err(|error| error.to_string())? else {
            return Ok(());
        };
        let (live, shared) = (Arc::clone(&self.live), Arc::clone(&self.shared));
        let (adopt, refused) = (Arc::clone(&self.adopt), Arc::clone(&self.refused));
        // Migrating keys may take a while.
        let applied = tokio::task::spawn_blocking(move || {
            if let Some(bans) = bans {
                shared.engine.set_bans(&bans);
            }
            if touched.has_objects {
                let origin = Origin {
                    by: touched.authors(),
                    revision: Some(snapshot.revision),
                };
                put_in_force(&snapshot, &adopt, &origin, &mut refused.lock())?;
            }
            let node = shared.engine.node();
            live.advance(snapshot, || touched.forget(&node));
            Ok(())
        });
        applied.await.unwrap_or_else(|error| Err(error.to_string()))
    }

    async fn changed(&self, database: &Database) -> Result<Option<Changed>, Error> {
        let before = self.live.snapshot().revision;
        if database.revision().await? == before {
            return Ok(None);
        }
        let snapshot = database.snapshot().await?;
        let touched = Touched::since(database, before, &snapshot).await?;
        let bans = if touched.has_bans {
            Some(database.bans().await?)
        } else {
            None
        };
        Ok(Some((snapshot, touched, bans)))
    }
}

/// Rejected contracts and the reason; retried after a while.
struct Refused {
    revision: u64,
    why: String,
    at: Instant,
}

fn put_in_force(
    snapshot: &Snapshot,
    adopt: &Adopt,
    origin: &Origin,
    refused: &mut Option<Refused>,
) -> Result<(), String> {
    let revision = snapshot.revision;
    if let Some(before) = refused
        && before.revision == revision
        && before.at.elapsed() < SAY_EVERY
    {
        return Err(before.why.clone());
    }
    let adopted = adopt(snapshot.catalogue.compiled(), origin);
    *refused = adopted.as_ref().err().map(|why| Refused {
        revision,
        why: why.clone(),
        at: Instant::now(),
    });
    adopted
}

/// What is newer: contracts and plans, affected keys, and all bans if they changed.
type Changed = (Arc<Snapshot>, Touched, Option<Vec<Ban>>);

/// Randomized, so that nodes that lost a database at once do not reconnect at once.
fn jittered(pause: Duration) -> Duration {
    let chance = getrandom::u32().unwrap_or(0) % 256;
    pause * (896 + chance) / 1024
}

const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Timeout of a query for changes.
const LOOK_WITHIN: Duration = Duration::from_secs(4);
/// The longest pause between two polls while the database does not answer.
const PAUSE_MAX: Duration = Duration::from_millis(500);
const SAY_EVERY: Duration = Duration::from_secs(30);
