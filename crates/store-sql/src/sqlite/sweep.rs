//! Rows that say nothing any more are dropped, a page at a time between batches.

use sqlx::Row;
use sqlx::sqlite::SqliteConnection;
use tokio::time::Instant;

use super::Id;
use crate::sweep::{PAGE, Sweep, now_s};

/// Where a sweep has come to, and when it goes on.
pub(super) struct Broom {
    sweep: Sweep,
    due: Instant,
    from: Id,
}

impl Broom {
    pub(super) fn new(sweep: Sweep) -> Self {
        Self {
            sweep,
            due: Instant::now() + sweep.every,
            from: START,
        }
    }

    pub(super) const fn due(&self) -> Instant {
        self.due
    }

    /// Drops what is fresh of the next page; after the last it rests.
    pub(super) async fn sweep(&mut self, connection: &mut SqliteConnection) {
        // What could not be swept now is swept next time.
        let end = page(connection, &self.from, self.sweep.grace_s()).await;
        if let Ok(Some(end)) = end {
            self.from = end;
        } else {
            self.from = START;
            self.due = Instant::now() + self.sweep.every;
        }
    }
}

/// Before every key.
const START: Id = (i64::MIN, String::new());

/// Drops what is fresh of the rows after a key, and says which the last of the page was; `None` where that was the last of all.
async fn page(
    connection: &mut SqliteConnection,
    (tag, name): &Id,
    grace_s: i64,
) -> Result<Option<Id>, sqlx::Error> {
    let end = sqlx::query(
        "SELECT tag, name FROM tollgate_state WHERE (tag, name) > (?, ?)
            ORDER BY tag, name LIMIT 1 OFFSET ?",
    );
    let end = end.bind(tag).bind(name).bind(PAGE - 1);
    let end = match end.fetch_optional(&mut *connection).await? {
        Some(row) => Some((row.try_get(0)?, row.try_get(1)?)),
        None => None,
    };
    // No key is after the last, which has 32 digits.
    let (last_tag, last_name) = end.clone().unwrap_or((i64::MAX, "g".to_owned()));
    let sweep = sqlx::query(
        "DELETE FROM tollgate_state WHERE (tag, name) > (?, ?) AND (tag, name) <= (?, ?)
            AND fresh_s <= ? AND touched_s <= unixepoch() - ?",
    );
    let sweep = sweep.bind(tag).bind(name).bind(last_tag).bind(last_name);
    sweep
        .bind(now_s())
        .bind(grace_s)
        .execute(connection)
        .await?;
    Ok(end)
}
