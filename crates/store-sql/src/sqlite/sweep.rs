//! Deletes expired rows, a page at a time between batches.

use sqlx::Row;
use sqlx::sqlite::SqliteConnection;
use tokio::time::Instant;
use tollgate_store::StoreRequest;

use super::Id;
use crate::sweep::{Now, PAGE, Sweep};

/// The position of a sweep, and when it continues.
pub(super) struct Broom {
    sweep: Sweep,
    due: Instant,
    from: Id,
    /// Ledgers come after the states.
    is_at_ledgers: bool,
    now: Now,
}

impl Broom {
    pub(super) fn new(sweep: Sweep) -> Self {
        Self {
            sweep,
            due: Instant::now() + sweep.every,
            from: START,
            is_at_ledgers: false,
            now: Now::start(),
        }
    }

    pub(super) fn hear(&self, asks: &[StoreRequest]) {
        self.now.hear(asks);
    }

    pub(super) const fn due(&self) -> Instant {
        self.due
    }

    /// Deletes expired rows of the next page; pauses after the last.
    pub(super) async fn sweep(
        &mut self,
        connection: &mut SqliteConnection,
    ) -> Result<(), sqlx::Error> {
        // The next round retries a failure.
        let end = self.page(connection).await;
        if let Ok(Some(end)) = end {
            self.from = end;
            return Ok(());
        }
        self.from = START;
        if self.is_at_ledgers {
            self.due = Instant::now() + self.sweep.every;
        }
        self.is_at_ledgers = !self.is_at_ledgers;
        end.map(drop)
    }

    /// Deletes expired rows after a key, and returns the last key of the page; `None` if that was the
    /// last of all.
    async fn page(&self, connection: &mut SqliteConnection) -> Result<Option<Id>, sqlx::Error> {
        let table = if self.is_at_ledgers { LEDGERS } else { STATES };
        let Id { tag, name } = &self.from;
        let end = sqlx::query(table.end).bind(tag).bind(name).bind(PAGE - 1);
        let end = match end.fetch_optional(&mut *connection).await? {
            Some(row) => Some(Id {
                tag: row.try_get(0)?,
                name: row.try_get(1)?,
            }),
            None => None,
        };
        // No key sorts after this; keys have 32 digits.
        let last = end.as_ref().map(|end| (end.tag, &*end.name));
        let (last_tag, last_name) = last.unwrap_or((i64::MAX, "g"));
        let sweep = sqlx::query(table.sweep).bind(tag).bind(name);
        let sweep = sweep.bind(last_tag).bind(last_name);
        let sweep = sweep.bind(self.now.second()).bind(self.sweep.grace_s());
        sweep.execute(connection).await?;
        Ok(end)
    }
}

/// Before every key.
const START: Id = Id {
    tag: i64::MIN,
    name: String::new(),
};

struct Table {
    /// Returns the end of a page.
    end: &'static str,
    /// Deletes expired rows, given a second and a grace.
    sweep: &'static str,
}

/// States expire by the clocks of the nodes.
const STATES: Table = Table {
    end: "SELECT tag, name FROM tollgate_state WHERE (tag, name) > (?, ?)
        ORDER BY tag, name LIMIT 1 OFFSET ?",
    sweep: "DELETE FROM tollgate_state WHERE (tag, name) > (?, ?) AND (tag, name) <= (?, ?)
        AND fresh_s <= ? AND touched_s <= unixepoch() - ?",
};

/// Ledgers expire by that of the machine.
const LEDGERS: Table = Table {
    end: "SELECT tag, name FROM tollgate_ledger WHERE (tag, name) > (?, ?)
        ORDER BY tag, name LIMIT 1 OFFSET ?",
    sweep: "DELETE FROM tollgate_ledger WHERE (tag, name) > (?, ?) AND (tag, name) <= (?, ?)
        AND fresh_s <= min(?, unixepoch()) AND touched_s <= unixepoch() - ?",
};
