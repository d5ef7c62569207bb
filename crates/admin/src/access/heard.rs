//! What the database says of tokens and of sessions that were ended, at most a second old while it answers.
//!
//! Where it is away, what it said is believed for a while, so that those who were let in lately may go on looking.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tollgate_catalogue_sql::{AdminToken, Database, Error};

use crate::admin::{Books, Office};
use crate::fault::Fault;

/// What the database said.
#[derive(Default)]
pub(super) struct AccessSnapshot {
    /// Tokens that may be used, by what is kept of their secrets.
    tokens: BTreeMap<String, AdminToken>,
    /// The same by their ids.
    digests: BTreeMap<String, String>,
    /// Sessions that were ended on any server.
    ended: BTreeSet<String>,
}

/// What it said last.
#[derive(Default)]
pub(crate) struct Hearing {
    last: Mutex<Option<(Instant, Arc<AccessSnapshot>)>>,
    /// What it was asked for before then is not believed.
    since: Mutex<Option<Instant>>,
    /// Held while it is asked, so that many who want to know ask once.
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
    /// Asks again before anybody is let in.
    pub(super) fn forget(&self) {
        *self.since.lock() = Some(Instant::now());
    }

    /// What it said last, however long ago.
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

/// What the database says.
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

/// How often the database is asked.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// For how long what it said is believed while it is away.
const TRUST_WITHOUT: Duration = Duration::from_mins(10);
