//! The first token: created if there is none, and shown once.
//!
//! If the database is unavailable at the start, retries until it answers. If all tokens were revoked, none is
//! created: the operator presets one.

use std::sync::Arc;
use std::time::Duration;

use tollgate_catalogue_sql::{Database, Error, Role};

use crate::admin::{Books, Office};

type Tell = Box<dyn Fn(&str) + Send + Sync>;

/// Creates the first token if no one could sign in otherwise.
pub(crate) async fn greet(office: &Arc<Office>, tell: Tell) {
    if office.access.is_preset() {
        return;
    }
    let Books::Database(database) = &office.books else {
        return;
    };
    let Err(error) = attempt(database, &tell).await else {
        return;
    };
    tracing::warn!(%error, "whether there is a token is not known; asking again until it is");
    let office = Arc::clone(office);
    tokio::spawn(async move {
        let Books::Database(database) = &office.books else {
            return;
        };
        while attempt(database, &tell).await.is_err() {
            tokio::time::sleep(AGAIN_AFTER).await;
        }
    });
}

async fn attempt(database: &Database, tell: &Tell) -> Result<(), Error> {
    if !database.tokens().await?.is_empty() {
        return Ok(());
    }
    let made = database.add_token("first", Role::Admin, None, None).await?;
    tell(&made.secret);
    Ok(())
}

const AGAIN_AFTER: Duration = Duration::from_secs(1);
