//! Sessions that were ended early, by name. Valid sessions are not stored.

use crate::database::{Database, now_ns};
use crate::error::Error;

impl Database {
    /// Ends a session that would have lasted until `until_ns`, on every node; expired ones are deleted.
    pub async fn end_session(&self, session: &str, until_ns: u64) -> Result<(), Error> {
        const FORGET: &str = "DELETE FROM catalogue_ended WHERE until_ns <= $1";
        const END: &str = "
            INSERT INTO catalogue_ended (session, until_ns) VALUES ($1, $2) ON CONFLICT (session) DO NOTHING";
        self.in_time(async {
            let mut taken = self.pool.take().await?;
            taken.execute(FORGET, vec![now_ns().into()]).await?;
            taken
                .execute(END, vec![session.into(), until_ns.into()])
                .await?;
            taken.done();
            Ok(())
        })
        .await
    }

    /// Ended sessions that are not expired; at most ten thousand, latest expiry first.
    pub async fn ended_sessions(&self) -> Result<Vec<String>, Error> {
        const ENDED: &str = "
            SELECT session FROM catalogue_ended WHERE until_ns > $1 ORDER BY until_ns DESC LIMIT $2";
        self.in_time(async {
            let mut taken = self.pool.take().await?;
            let values = vec![now_ns().into(), ENDED_MAX.into()];
            let rows = taken.rows(ENDED, values).await?;
            taken.done();
            rows.iter().map(|row| row.text(0)).collect()
        })
        .await
    }
}

/// Bound of [`Database::ended_sessions`].
const ENDED_MAX: u64 = 10_000;
