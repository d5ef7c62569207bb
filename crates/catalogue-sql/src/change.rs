//! Changes as rows: written with the objects they change, and read.

use serde_json::{Value as Json, json};
use tollgate_catalogue::{Change, Document, Edit, Kind};

use crate::PAGE_MAX;
use crate::connection::{Connection, SqlRow};
use crate::database::Database;
use crate::error::Error;

impl Database {
    /// The changes after a revision, oldest first; at most `limit`, and at most [`PAGE_MAX`].
    pub async fn changes(&self, after: u64, limit: u64) -> Result<Vec<Change>, Error> {
        self.in_time(async {
            let mut taken = self.pool.take().await?;
            let changes = changes_after(&mut taken, after, limit.min(PAGE_MAX)).await?;
            taken.done();
            Ok(changes)
        })
        .await
    }

    /// The versions of one object below `before`, newest first.
    pub async fn history(
        &self,
        kind: Kind,
        id: &str,
        before: Option<u64>,
        limit: u64,
    ) -> Result<Vec<Change>, Error> {
        const VERSIONS: &str = "
            SELECT revision, kind, id, version, author, at_ns, reason, old_document, new_document
                FROM catalogue_change WHERE kind = $1 AND id = $2 AND version < $3
                ORDER BY version DESC LIMIT $4";
        self.in_time(async {
            let mut taken = self.pool.take().await?;
            let before = before.unwrap_or(u64::MAX);
            let values = vec![
                kind.name().into(),
                id.into(),
                before.into(),
                limit.min(PAGE_MAX).into(),
            ];
            let rows = taken.rows(VERSIONS, values).await?;
            taken.done();
            rows.iter().map(change).collect()
        })
        .await
    }

    /// Times of versions, in nanoseconds since the epoch, by id. Imported objects are not among
    /// them.
    pub async fn changed_at(
        &self,
        kind: Kind,
        versions: &[(String, u64)],
    ) -> Result<Vec<(String, u64)>, Error> {
        const AT: &str = "
            SELECT was.id, was.at_ns FROM {rows} JOIN catalogue_change AS was
                ON was.id = value ->> 0 AND was.version = CAST(value ->> 1 AS BIGINT) WHERE was.kind = $2";
        let versions = versions.iter().map(|(id, version)| json!([id, version]));
        let versions: Json = versions.collect();
        self.in_time(async {
            let mut taken = self.pool.take().await?;
            let values = vec![versions.to_string().into(), kind.name().into()];
            let rows = taken.rows(AT, values).await?;
            taken.done();
            rows.iter()
                .map(|row| Ok((row.text(0)?, row.number(1)?)))
                .collect()
        })
        .await
    }
}

pub(crate) async fn changes_after(
    connection: &mut Connection,
    after: u64,
    limit: u64,
) -> Result<Vec<Change>, Error> {
    const AFTER: &str = "
        SELECT revision, kind, id, version, author, at_ns, reason, old_document, new_document
            FROM catalogue_change WHERE revision > $1 ORDER BY revision LIMIT $2";
    let rows = connection
        .rows(AFTER, vec![after.into(), limit.into()])
        .await?;
    rows.iter().map(change).collect()
}

/// The document of an object at a version: `None` is no such version, `Some(None)` that it was deleted.
pub(crate) async fn document_at(
    connection: &mut Connection,
    edit: &Edit,
    version: u64,
) -> Result<Option<Option<Document>>, Error> {
    const AROUND: &str = "
        SELECT revision, kind, id, version, author, at_ns, reason, old_document, new_document
            FROM catalogue_change WHERE kind = $1 AND id = $2 AND version >= $3 AND version <= $4 ORDER BY version";
    let next = version.saturating_add(1);
    let values = vec![
        edit.kind.name().into(),
        edit.id.as_str().into(),
        version.into(),
        next.into(),
    ];
    let rows = connection.rows(AROUND, values).await?;
    let changes: Vec<Change> = rows.iter().map(change).collect::<Result<_, _>>()?;
    // An import has no change of its own; the first edit has the document before it.
    Ok(changes.into_iter().next().map(|change| {
        if change.version == version {
            change.after
        } else {
            change.before
        }
    }))
}

pub(crate) async fn keep(connection: &mut Connection, change: &Change) -> Result<(), Error> {
    const KEEP: &str = "
        INSERT INTO catalogue_change
            (revision, kind, id, version, author, at_ns, reason, old_document, new_document)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    let text = |document: &Option<Document>| document.as_ref().map(Json::to_string);
    let values = vec![
        change.revision.into(),
        change.kind.name().into(),
        change.id.as_str().into(),
        change.version.into(),
        change.author.as_str().into(),
        change.at_ns.into(),
        change.reason.as_str().into(),
        text(&change.before).into(),
        text(&change.after).into(),
    ];
    connection.execute(KEEP, values).await?;
    let head = "UPDATE catalogue_head SET revision = $1";
    connection
        .execute(head, vec![change.revision.into()])
        .await?;
    Ok(())
}

fn change(row: &SqlRow) -> Result<Change, Error> {
    let kind = row.text(1)?;
    let kind = Kind::from_name(&kind).ok_or_else(|| Error::Broken(format!("no kind `{kind}`")))?;
    Ok(Change {
        revision: row.number(0)?,
        kind,
        id: row.text(2)?,
        version: row.number(3)?,
        author: row.text(4)?,
        at_ns: row.number(5)?,
        reason: row.text(6)?,
        before: row.text_if_any(7)?.as_deref().map(document).transpose()?,
        after: row.text_if_any(8)?.as_deref().map(document).transpose()?,
    })
}

pub(crate) fn document(text: &str) -> Result<Document, Error> {
    serde_json::from_str(text).map_err(|why| Error::Broken(format!("a document is no JSON: {why}")))
}
