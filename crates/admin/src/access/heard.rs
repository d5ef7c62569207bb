//! Tokens and ended sessions as read from the database, at most a second old while it answers.
//!
//! While it is unavailable, the last result stays valid for a time, so that recent users can continue to read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tollgate_catalogue_sql::{AdminToken, Database, Error};

use crate::admin::{Books, Office};
use crate::fault::Fault;

#[derive(Default)]
pub(super) struct AccessSnapshot {
    /// Valid tokens, by the digest of their secrets.
    tokens: BTreeMap<String, AdminToken>,
    /// Digests by token id.
    digests: BTreeMap<String, String>,
    /// Ended on any server.
    ended: BTreeSet<String>,
}

#[derive(Default)]
pub(crate) struct Hearing {
    last: Mutex<Option<(Instant, Arc<AccessSnapshot>)>>,
    /// Results of earlier requests are not used.
    since: Mutex<Option<Instant>>,
    /// Held during a request, so that concurrent callers share one.
    turn: tokio::sync::Mutex<()>,
}

impl AccessSnapshot {
    pub(super) fn by_digest(&self, digest: &str) -> Option<&AdminToken> {
        self.tokens.get(digest)
    }

    pub(super) fn by_id(&self, id: &str) -> Option<&AdminToken> {
        self.tokens.get(self.digests.get(id)?)
    }

    pub(super) fn has_ended(&self, session: &str) -> bool {
        self.ended.contains(session)
    }

    async fn ask(database: &Database) -> Result<Self, Error> {
        let tokens = database.valid_tokens().await?.into_iter();
        let tokens: BTreeMap<_, _> = tokens.map(|token| (token.digest.clone(), token)).collect();
        let digests = tokens.values();
        let digests = digests.map(|token| (token.id.clone(), token.digest.clone()));
        Ok(Self {
            digests: digests.collect(),
            tokens,
            ended: database.ended_sessions().await?.into_iter().collect(),
        })
    }
}

impl Hearing {
    /// Forces a new read before the next caller is admitted.
    pub(super) fn forget(&self) {
        *self.since.lock() = Some(Instant::now());
    }

    /// The last result, of any age.
    pub(super) fn last(&self) -> Option<Arc<AccessSnapshot>> {
        self.within(Duration::MAX)
    }

    fn within(&self, age: Duration) -> Option<Arc<AccessSnapshot>> {
        let (last, since) = (self.last.lock(), *self.since.lock());
        let last = last.as_ref().filter(|(asked, _)| {
            asked.elapsed() <= age && since.is_none_or(|since| since <= *asked)
        });
        last.map(|(_, heard)| Arc::clone(heard))
    }
}

pub(super) async fn heard(office: &Office) -> Result<Arc<AccessSnapshot>, Fault> {
    let hearing = &office.access.hearing;
    let Books::Database(database) = &office.books else {
        return Ok(Arc::default());
    };
    if let Some(heard) = hearing.within(ASK_EVERY) {
        return Ok(heard);
    }
    let _turn = hearing.turn.lock().await;
    if let Some(heard) = hearing.within(ASK_EVERY) {
        return Ok(heard);
    }
    let asked = Instant::now();
    match AccessSnapshot::ask(database).await {
        Ok(heard) => {
            let heard = Arc::new(heard);
            *hearing.last.lock() = Some((asked, Arc::clone(&heard)));
            Ok(heard)
        }
        Err(error) => {
            let heard = hearing.within(TRUST_WITHOUT);
            heard.ok_or_else(|| Fault::from(error))
        }
    }
}

/// The interval between reads.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// How long the last result stays valid while the database is unavailable.
const TRUST_WITHOUT: Duration = Duration::from_mins(10);
