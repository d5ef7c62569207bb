//! The contracts and plans as of one revision, kept in memory and updated by the changes since.

use std::sync::Arc;

use tollgate_catalogue::{Catalogue, Kind};

use crate::change::changes_after;
use crate::connection::{Connection, SqlRow};
use crate::database::Database;
use crate::error::Error;
use crate::pool::lock;

/// Contracts and plans as they were at a revision.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub revision: u64,
    pub catalogue: Catalogue,
}

/// Changes that are applied one by one; beyond that everything is read again.
const FOLLOWED_MAX: u64 = 1000;

impl Database {
    pub async fn snapshot(&self) -> Result<Arc<Snapshot>, Error> {
        self.in_time(async {
            let mut taken = self.pool.take().await?;
            taken.begin_reading().await?;
            let revision = revision(&mut taken).await?;
            let snapshot = self.snapshot_at(&mut taken, revision).await?;
            taken.commit().await?;
            taken.done();
            self.remember(&snapshot);
            Ok(snapshot)
        })
        .await
    }

    /// The number of the last change.
    pub async fn revision(&self) -> Result<u64, Error> {
        self.in_time(async {
            let mut taken = self.pool.take().await?;
            let revision = revision(&mut taken).await?;
            taken.done();
            Ok(revision)
        })
        .await
    }

    /// The contracts and plans at the revision of the transaction.
    pub(crate) async fn snapshot_at(
        &self,
        connection: &mut Connection,
        revision: u64,
    ) -> Result<Arc<Snapshot>, Error> {
        let last = Arc::clone(&lock(&self.last));
        if last.revision == revision {
            return Ok(last);
        }
        let followed = match revision.checked_sub(last.revision) {
            Some(behind) if last.revision > 0 && behind <= FOLLOWED_MAX => {
                follow(connection, &last).await?
            }
            _ => None,
        };
        let catalogue = match followed {
            Some(catalogue) => catalogue,
            None => load(connection).await?,
        };
        Ok(Arc::new(Snapshot {
            revision,
            catalogue,
        }))
    }

    /// Keeps the last read. It may be older than the one before, for a database may be restored; a slow
    /// reader catches up with its next call.
    pub(crate) fn remember(&self, snapshot: &Arc<Snapshot>) {
        *lock(&self.last) = Arc::clone(snapshot);
    }
}

/// The number of the last change, as the transaction sees it.
pub(crate) async fn revision(connection: &mut Connection) -> Result<u64, Error> {
    let head = "SELECT revision FROM catalogue_head";
    head_of(connection.row(head, Vec::new()).await?)
}

/// The same; locks out other writers until the transaction ends.
pub(crate) async fn revision_alone(connection: &mut Connection) -> Result<u64, Error> {
    let head = "SELECT revision FROM catalogue_head FOR UPDATE";
    head_of(connection.row(head, Vec::new()).await?)
}

fn head_of(row: Option<SqlRow>) -> Result<u64, Error> {
    let row = row.ok_or_else(|| Error::Broken("the row of the revision is missing".into()))?;
    row.number(0)
}

/// Applies the changes since, one by one; `None` if that fails.
async fn follow(connection: &mut Connection, last: &Snapshot) -> Result<Option<Catalogue>, Error> {
    let mut catalogue = last.catalogue.clone();
    for change in changes_after(connection, last.revision, FOLLOWED_MAX).await? {
        if !matches!(change.kind, Kind::Contract | Kind::Plan) {
            continue;
        }
        let done = match &change.after {
            Some(document) => catalogue
                .put(change.kind, &change.id, &document.to_string())
                .is_ok(),
            None => catalogue.remove(change.kind, &change.id).is_ok(),
        };
        if !done {
            return Ok(None);
        }
    }
    Ok(Some(catalogue))
}

async fn load(connection: &mut Connection) -> Result<Catalogue, Error> {
    let all =
        "SELECT kind, id, document FROM catalogue_object WHERE kind <> 'ban' ORDER BY kind, id";
    let rows = connection.rows(all, Vec::new()).await?;
    let (mut plans, mut contracts) = (Vec::new(), Vec::new());
    for row in rows {
        let object = (row.text(1)?, row.text(2)?);
        match Kind::from_name(&row.text(0)?) {
            Some(Kind::Plan) => plans.push(object),
            Some(Kind::Contract) => contracts.push(object),
            _ => return Err(Error::Broken(format!("{} is of no known kind", object.0))),
        }
    }
    Catalogue::load(
        plans.iter().map(|(id, text)| (&**id, &**text)),
        contracts.iter().map(|(id, text)| (&**id, &**text)),
    )
    .map_err(|(kind, id, refusal)| Error::Broken(format!("{} `{id}`: {refusal}", kind.name())))
}
