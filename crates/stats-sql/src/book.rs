//! Writing: batches that are added once, and removal of old rows.

use serde_json::Value as Json;
use tollgate_catalogue_sql::{Connection, Database, Error};
use tollgate_stats::{Line, Step};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    pub writer: String,
    /// Grows with every batch of a writer. A resent batch has the same.
    pub sequence: u64,
    /// Seconds since the epoch.
    pub at_s: u64,
    pub lines: Vec<Line>,
}

#[derive(Clone, Debug)]
pub struct UsageBook {
    pub(crate) database: Database,
    node: String,
}

impl UsageBook {
    /// `node` owns the rows that it adds.
    pub const fn new(database: Database, node: String) -> Self {
        Self { database, node }
    }

    pub fn node(&self) -> &str {
        &self.node
    }

    /// Adds a batch once; returns whether it was added now. After an error it may or may not have been added;
    /// resend it.
    pub async fn keep(&self, batch: &Batch) -> Result<bool, Error> {
        self.database
            .in_time(async {
                let mut taken = self.database.take().await?;
                taken.begin().await?;
                let is_added = self.add(&mut taken, batch).await?;
                taken.commit().await?;
                taken.done();
                Ok(is_added)
            })
            .await
    }

    async fn add(&self, connection: &mut Connection, batch: &Batch) -> Result<bool, Error> {
        const FIRST: &str = "
            INSERT INTO statistics_writer (writer, node, sequence, at_s) VALUES ($1, $2, $3, $4)
                ON CONFLICT (writer) DO UPDATE SET sequence = excluded.sequence, at_s = excluded.at_s
                    WHERE statistics_writer.sequence < excluded.sequence";
        let values = vec![
            batch.writer.as_str().into(),
            self.node.as_str().into(),
            batch.sequence.into(),
            batch.at_s.into(),
        ];
        if connection.execute(FIRST, values).await? == 0 {
            return Ok(false);
        }
        for lines in batch.lines.chunks(LINES_AT_ONCE) {
            let rows: Vec<Json> = lines.iter().map(|line| self.row(line)).collect();
            let rows = Json::from(rows).to_string();
            connection.execute(ADD, vec![rows.into()]).await?;
        }
        Ok(true)
    }

    fn row(&self, line: &Line) -> Json {
        let mut row = vec![
            line.step.seconds().into(),
            line.at.into(),
            (*line.contract).into(),
            (*line.identity).into(),
            self.node.as_str().into(),
        ];
        // The largest number of the databases.
        let counts = line.counts.to_array().into_iter();
        row.extend(counts.map(|count| Json::from(count.min(i64::MAX.cast_unsigned()))));
        Json::Array(row)
    }

    /// Deletes some old rows: minutes after a day, hours after 90 days. Returns whether there is more.
    pub async fn prune(&self, now_s: u64) -> Result<bool, Error> {
        self.database
            .in_time(async {
                let mut taken = self.database.take().await?;
                let mut has_more = false;
                for (step, kept_s) in [(Step::Minute, MINUTES_KEPT_S), (Step::Hour, HOURS_KEPT_S)] {
                    let keep_from = now_s.saturating_sub(kept_s) / step.seconds();
                    has_more |= prune(&mut taken, step, keep_from).await?;
                }
                let gone = "DELETE FROM statistics_writer WHERE at_s < $1";
                let before = now_s.saturating_sub(HOURS_KEPT_S);
                taken.execute(gone, vec![before.into()]).await?;
                taken.done();
                Ok(has_more)
            })
            .await
    }
}

async fn prune(connection: &mut Connection, step: Step, keep_from: u64) -> Result<bool, Error> {
    const OLDEST: &str = "SELECT min(at) FROM statistics_row WHERE step = $1";
    const DROP: &str = "DELETE FROM statistics_row WHERE step = $1 AND at < $2";
    let row = connection.row(OLDEST, vec![step.seconds().into()]).await?;
    let oldest = row.map_or(Ok(None), |row| row.number_if_any(0))?;
    let Some(oldest) = oldest.filter(|oldest| *oldest < keep_from) else {
        return Ok(false);
    };
    let until = keep_from.min(oldest + PARTS_AT_ONCE);
    let values = vec![step.seconds().into(), until.into()];
    connection.execute(DROP, values).await?;
    Ok(until < keep_from)
}

const ADD: &str = "
    INSERT INTO statistics_row (step, at, contract, identity, node,
            allowed, delayed, denied, shadowed, cost, returned, refused)
        SELECT CAST(value ->> 0 AS BIGINT), CAST(value ->> 1 AS BIGINT), value ->> 2, value ->> 3, value ->> 4,
                CAST(value ->> 5 AS BIGINT), CAST(value ->> 6 AS BIGINT), CAST(value ->> 7 AS BIGINT),
                CAST(value ->> 8 AS BIGINT), CAST(value ->> 9 AS BIGINT), CAST(value ->> 10 AS BIGINT),
                CAST(value ->> 11 AS BIGINT)
            FROM {rows} WHERE true
        ON CONFLICT (step, at, contract, identity, node) DO UPDATE SET
            allowed = statistics_row.allowed + excluded.allowed,
            delayed = statistics_row.delayed + excluded.delayed,
            denied = statistics_row.denied + excluded.denied,
            shadowed = statistics_row.shadowed + excluded.shadowed,
            cost = statistics_row.cost + excluded.cost,
            returned = statistics_row.returned + excluded.returned,
            refused = statistics_row.refused + excluded.refused";

/// Lines that are sent with one statement.
const LINES_AT_ONCE: usize = 2_000;
/// Minutes or hours that are deleted at once.
const PARTS_AT_ONCE: u64 = 15;
const MINUTES_KEPT_S: u64 = 86_400;
const HOURS_KEPT_S: u64 = 90 * 86_400;
