//! Versions of objects: history, differences, and rollback.

use serde::{Deserialize, Serialize};
use serde_json::json;
use tollgate_catalogue::{Change, Document};
use tollgate_catalogue_sql::Database;

use super::objects::{done, edit, missing, seen, told as differences};
use crate::answer::Reply;
use crate::call::{Call, checked};
use crate::fault::Fault;
use crate::page::{self, AFTER};
use crate::time;

/// `GET /contracts/{id}/history` and the like: newest first.
pub(crate) async fn list(call: &Call) -> Result<Reply, Fault> {
    let database = call.database()?;
    let (limit, before) = (page::limit(&call.query)?, call.query.number(AFTER)?);
    let changes = database
        .history(call.kind, call.name(), before, limit)
        .await?;
    if changes.is_empty()
        && before.is_none()
        && database.get(call.kind, call.name()).await?.is_none()
    {
        return Err(missing(call));
    }
    let told: Vec<Told> = changes.into_iter().map(Told::of).collect();
    Ok(page::page(&told, limit, |change| {
        change.version.to_string()
    }))
}

/// `GET /changes`: of everything, oldest first.
pub(crate) async fn changes(call: &Call) -> Result<Reply, Fault> {
    let (limit, after) = (page::limit(&call.query)?, call.query.number(AFTER)?);
    let changes = call.database()?.changes(after.unwrap_or(0), limit).await?;
    let told: Vec<Told> = changes.into_iter().map(Told::of).collect();
    Ok(page::page(&told, limit, |change| {
        change.revision.to_string()
    }))
}

#[derive(Serialize)]
struct Told {
    revision: u64,
    kind: &'static str,
    id: String,
    version: u64,
    author: String,
    at: String,
    reason: String,
    before: Option<Document>,
    after: Option<Document>,
}

impl Told {
    fn of(change: Change) -> Self {
        Self {
            revision: change.revision,
            kind: change.kind.name(),
            id: change.id,
            version: change.version,
            author: change.author,
            at: time::told(change.at_ns),
            reason: change.reason,
            before: change.before,
            after: change.after,
        }
    }
}

/// `GET /contracts/{id}/diff` and the like: by default from the previous version to the present one.
pub(crate) async fn diff(call: &Call) -> Result<Reply, Fault> {
    let database = call.database()?;
    let last = last(call, database).await?;
    let to = call.query.number("to")?.unwrap_or(last);
    let from = call.query.number("from")?.unwrap_or(to.saturating_sub(1));
    let before = at(call, database, from).await?;
    let after = at(call, database, to).await?;
    let diff = differences(before.as_ref(), after.as_ref());
    Ok(Reply::json(
        &json!({ "id": call.name(), "from": from, "to": to, "diff": diff }),
    ))
}

/// Includes a deleted object's last version.
async fn last(call: &Call, database: &Database) -> Result<u64, Fault> {
    if let Some(item) = database.get(call.kind, call.name()).await? {
        return Ok(item.version);
    }
    let changes = database.history(call.kind, call.name(), None, 1).await?;
    let last = changes.first().map(|change| change.version);
    last.ok_or_else(|| missing(call))
}

/// The document of a version; version 0 is before the object existed.
async fn at(call: &Call, database: &Database, version: u64) -> Result<Option<Document>, Fault> {
    if version == 0 {
        return Ok(None);
    }
    if let Some(item) = database.get(call.kind, call.name()).await?
        && item.version == version
    {
        return Ok(Some(item.document));
    }
    // An import has no change of its own; the next change has the document before it.
    let before = version.saturating_add(2);
    let changes = database
        .history(call.kind, call.name(), Some(before), 2)
        .await?;
    let of = |wanted| changes.iter().find(|change| change.version == wanted);
    if let Some(change) = of(version) {
        return Ok(change.after.clone());
    }
    if let Some(change) = of(version.saturating_add(1)) {
        return Ok(change.before.clone());
    }
    Err(Fault::not_found(format!(
        "the {} has no version {version}",
        call.kind.name()
    )))
}

/// `POST /contracts/{id}/rollback` and the like: a new change with an old document.
pub(crate) async fn rollback(call: &Call) -> Result<Reply, Fault> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Back {
        to: u64,
        reason: Option<String>,
    }
    let database = call.database()?;
    let Back { to, reason } = call.json()?;
    let reason = match reason {
        Some(reason) => checked(reason)?,
        None => call.reason()?,
    };
    let seen = seen(call, database).await?;
    let written = database.rollback(&edit(call, seen, reason), to).await?;
    Ok(done(call, written).await)
}
