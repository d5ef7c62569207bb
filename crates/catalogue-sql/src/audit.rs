//! The audit: written with every change, and by code that refuses one.

use serde::Serialize;
use tollgate_catalogue::Change;

use crate::PAGE_MAX;
use crate::connection::Connection;
use crate::database::{Database, now_ns};
use crate::error::Error;
use crate::shapes::hex;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AuditEntry {
    /// Ordered by time; assigned when written.
    pub id: String,
    /// Nanoseconds since the UNIX epoch; assigned when written.
    pub at_ns: u64,
    pub who: String,
    pub origin: String,
    /// The attempted action.
    pub what: String,
    pub object: String,
    pub outcome: String,
}

impl AuditEntry {
    pub(crate) fn of(change: &Change, origin: &str) -> Self {
        let what = match (&change.before, &change.after) {
            (None, _) => "create",
            (Some(_), Some(_)) => "change",
            (Some(_), None) => "delete",
        };
        Self {
            who: change.author.clone(),
            origin: origin.to_owned(),
            what: format!("{what} {}", change.kind.name()),
            object: change.id.clone(),
            outcome: format!("revision {}", change.revision),
            ..Self::default()
        }
    }
}

impl Database {
    pub async fn audit(&self, entry: &AuditEntry) -> Result<(), Error> {
        self.in_time(async {
            let mut taken = self.pool.take().await?;
            keep(&mut taken, entry).await?;
            taken.done();
            Ok(())
        })
        .await
    }

    /// Entries before that id, newest first.
    pub async fn audited(
        &self,
        before: Option<String>,
        limit: u64,
    ) -> Result<Vec<AuditEntry>, Error> {
        const BEFORE: &str = "
            SELECT id, at_ns, who, origin, what, object, outcome FROM catalogue_audit
                WHERE id < $1 ORDER BY id DESC LIMIT $2";
        self.in_time(async {
            let mut taken = self.pool.take().await?;
            let before = before.unwrap_or_else(|| LAST.to_owned());
            let values = vec![before.into(), limit.min(PAGE_MAX).into()];
            let rows = taken.rows(BEFORE, values).await?;
            taken.done();
            let entry = |row: &crate::connection::SqlRow| {
                Ok(AuditEntry {
                    id: row.text(0)?,
                    at_ns: row.number(1)?,
                    who: row.text(2)?,
                    origin: row.text(3)?,
                    what: row.text(4)?,
                    object: row.text(5)?,
                    outcome: row.text(6)?,
                })
            };
            rows.iter().map(entry).collect()
        })
        .await
    }

    /// Returns the number of deleted entries.
    pub async fn forget_audit(&self, before_ns: u64) -> Result<u64, Error> {
        self.in_time(async {
            let mut taken = self.pool.take().await?;
            let forget = "DELETE FROM catalogue_audit WHERE id < $1";
            let count = taken
                .execute(forget, vec![format!("{before_ns:020}").into()])
                .await?;
            taken.done();
            Ok(count)
        })
        .await
    }
}

pub(crate) async fn keep(connection: &mut Connection, entry: &AuditEntry) -> Result<(), Error> {
    const KEEP: &str = "
        INSERT INTO catalogue_audit (id, at_ns, who, origin, what, object, outcome)
            VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let now = now_ns();
    let mut chance = [0; 8];
    getrandom::fill(&mut chance).map_err(|why| Error::Away(why.to_string()))?;
    let values = vec![
        format!("{now:020}-{}", hex(&chance)).into(),
        now.into(),
        printable(&entry.who).into(),
        printable(&entry.origin).into(),
        printable(&entry.what).into(),
        printable(&entry.object).into(),
        printable(&entry.outcome).into(),
    ];
    connection.execute(KEEP, values).await?;
    Ok(())
}

/// Input may be long, and may have characters that no database stores.
fn printable(text: &str) -> String {
    text.chars()
        .filter(|letter| *letter != '\0')
        .take(LETTERS_MAX)
        .collect()
}

/// The most letters of a field of the audit.
const LETTERS_MAX: usize = 1000;
/// Sorts after every id.
const LAST: &str = "~";
