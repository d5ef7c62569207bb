//! Writing: one transaction that compares versions, checks, changes, and records.
//!
//! Writers take turns at the row of the revision, so that what was checked is what is changed. Not here: whether
//! documents make sense (`tollgate-catalogue`).

use std::sync::Arc;

use tollgate_catalogue::{
    ASSIGNMENTS_MAX, Assignment, Change, Document, Edit, Kind, Refusal, Seen,
};

use crate::audit::{self, AuditEntry};
use crate::change::{document_at, keep};
use crate::connection::Connection;
use crate::database::{Database, now_ns};
use crate::error::Error;
use crate::read::{Item, assignments, bans_but, present};
use crate::shapes;
use crate::snapshot::{Snapshot, revision_alone};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteResult {
    pub revision: u64,
    pub version: u64,
    /// False if the document is the same as before.
    pub is_changed: bool,
}

/// A requested change.
enum Wish<'a> {
    Put(&'a str),
    Delete,
    /// Restore this version.
    Back(u64),
}

impl Database {
    /// Creates or replaces a contract, a plan or an assignment; `text` is its document as YAML or JSON.
    pub async fn put(&self, edit: &Edit, text: &str) -> Result<WriteResult, Error> {
        self.in_time(self.write(edit, Wish::Put(text))).await
    }

    /// Refuses to delete an object that is in use.
    pub async fn delete(&self, edit: &Edit) -> Result<WriteResult, Error> {
        self.in_time(self.write(edit, Wish::Delete)).await
    }

    /// Restores a version: a new change with the old document, or without one if there was
    /// none.
    pub async fn rollback(&self, edit: &Edit, version: u64) -> Result<WriteResult, Error> {
        self.in_time(self.write(edit, Wish::Back(version))).await
    }

    /// Puts the first documents into a database without any changes, all or none, in an order in which
    /// each is valid after those before it. Returns whether it did: if another process was first, nothing is changed.
    pub async fn found(&self, documents: &[(Edit, String)]) -> Result<bool, Error> {
        self.in_time(async {
            for (edit, _) in documents {
                edit.check()?;
            }
            let mut taken = self.pool.take().await?;
            taken.begin().await?;
            match self.found_in(&mut taken, documents).await {
                Ok(Some(snapshot)) => {
                    taken.commit().await?;
                    taken.done();
                    self.remember(&snapshot);
                    Ok(true)
                }
                Ok(None) => {
                    taken.rollback().await?;
                    taken.done();
                    Ok(false)
                }
                Err(why) => Err(taken.undone(why).await),
            }
        })
        .await
    }

    async fn found_in(
        &self,
        connection: &mut Connection,
        documents: &[(Edit, String)],
    ) -> Result<Option<Arc<Snapshot>>, Error> {
        if revision_alone(connection).await? != 0 {
            return Ok(None);
        }
        let mut snapshot = Arc::default();
        for (edit, text) in documents {
            let turn = Turn::begin(connection, edit, snapshot).await?;
            (_, snapshot) = turn.change(Wish::Put(text)).await?;
        }
        Ok(Some(snapshot))
    }

    /// A dry run of [`Self::put`]: returns the document to store.
    pub async fn try_put(&self, edit: &Edit, text: &str) -> Result<Document, Error> {
        self.in_time(async {
            edit.check()?;
            let mut taken = self.pool.take().await?;
            taken.begin().await?;
            let tried = async {
                let mut turn = self.turn(&mut taken, edit).await?;
                let document = turn.document(Wish::Put(text)).await?;
                turn.check_seen()?;
                let (document, _) = turn.applied(document).await?;
                Ok(document.unwrap_or_default())
            };
            match tried.await {
                Ok(document) => {
                    taken.rollback().await?;
                    taken.done();
                    Ok(document)
                }
                Err(why) => Err(taken.undone(why).await),
            }
        })
        .await
    }

    async fn write(&self, edit: &Edit, wish: Wish<'_>) -> Result<WriteResult, Error> {
        edit.check()?;
        let mut taken = self.pool.take().await?;
        taken.begin().await?;
        match self.change(&mut taken, edit, wish).await {
            Ok((written, snapshot)) => {
                taken.commit().await?;
                taken.done();
                self.remember(&snapshot);
                Ok(written)
            }
            Err(why) => Err(taken.undone(why).await),
        }
    }

    async fn turn<'a>(
        &self,
        connection: &'a mut Connection,
        edit: &'a Edit,
    ) -> Result<Turn<'a>, Error> {
        let revision = revision_alone(connection).await?;
        let snapshot = self.snapshot_at(connection, revision).await?;
        Turn::begin(connection, edit, snapshot).await
    }

    async fn change(
        &self,
        connection: &mut Connection,
        edit: &Edit,
        wish: Wish<'_>,
    ) -> Result<(WriteResult, Arc<Snapshot>), Error> {
        self.turn(connection, edit).await?.change(wish).await
    }
}

/// One writer's transaction.
struct Turn<'a> {
    connection: &'a mut Connection,
    edit: &'a Edit,
    snapshot: Arc<Snapshot>,
    present: Option<Item>,
}

impl<'a> Turn<'a> {
    /// Locks the row of the revision.
    async fn begin(
        connection: &'a mut Connection,
        edit: &'a Edit,
        snapshot: Arc<Snapshot>,
    ) -> Result<Self, Error> {
        let present = present(connection, edit.kind, &edit.id).await?;
        Ok(Self {
            connection,
            edit,
            snapshot,
            present,
        })
    }

    /// Checks and makes the change. Returns the result, and the catalogue after it.
    async fn change(mut self, wish: Wish<'_>) -> Result<(WriteResult, Arc<Snapshot>), Error> {
        let wanted = self.document(wish).await?;
        self.check_seen()?;
        let (after, next) = self.applied(wanted).await?;
        if let Some(present) = &self.present
            && after.as_ref() == Some(&present.document)
        {
            let written = WriteResult {
                revision: self.snapshot.revision,
                version: present.version,
                is_changed: false,
            };
            return Ok((written, self.snapshot));
        }
        let written = self.kept(after).await?;
        let next = Snapshot {
            revision: written.revision,
            ..next
        };
        Ok((written, Arc::new(next)))
    }

    /// The requested document; `None` for a deletion.
    async fn document(&mut self, wish: Wish<'_>) -> Result<Option<String>, Error> {
        let version = match wish {
            Wish::Put(text) => return Ok(Some(text.to_owned())),
            Wish::Delete => return Ok(None),
            Wish::Back(version) => version,
        };
        if let Some(present) = &self.present
            && present.version == version
        {
            return Ok(Some(present.document.to_string()));
        }
        let document = document_at(self.connection, self.edit, version).await?;
        let (kind, id) = (self.edit.kind.name(), &self.edit.id);
        let document = document
            .ok_or_else(|| Error::wrong(format!("the {kind} `{id}` has no version {version}")))?;
        Ok(document.map(|document| document.to_string()))
    }

    fn check_seen(&self) -> Result<(), Error> {
        let present = self.present.as_ref().map(|present| present.version);
        match (self.edit.seen, present) {
            (Seen::Nothing, None) => Ok(()),
            (Seen::Version(seen), Some(version)) if seen == version => Ok(()),
            (_, present) => Err(Error::Conflict { present }),
        }
    }

    /// Checks the document against everything else. Returns the document to store, and the catalogue after it.
    async fn applied(
        &mut self,
        wanted: Option<String>,
    ) -> Result<(Option<Document>, Snapshot), Error> {
        let mut next = Snapshot::clone(&self.snapshot);
        let (kind, id) = (self.edit.kind, &self.edit.id);
        if kind == Kind::Assignment {
            let after = self.assignment(wanted).await?;
            return Ok((after, next));
        }
        if kind == Kind::Ban {
            let after = self.ban(wanted).await?;
            return Ok((after, next));
        }
        let Some(text) = wanted else {
            let affected = next.catalogue.remove(kind, id)?;
            shapes::check_unused(self.connection, &affected).await?;
            shapes::check(self.connection, &next.catalogue, affected).await?;
            return Ok((None, next));
        };
        let (document, affected) = next.catalogue.put(kind, id, &text)?;
        shapes::check(self.connection, &next.catalogue, affected).await?;
        Ok((Some(document), next))
    }

    /// The same for a ban.
    async fn ban(&mut self, wanted: Option<String>) -> Result<Option<Document>, Error> {
        let Some(text) = self.still(wanted)? else {
            return Ok(None);
        };
        let others = bans_but(self.connection, &self.edit.id).await?;
        let (ban, document) = self.snapshot.catalogue.ban(&text, others)?;
        self.check_id(&ban.id)?;
        Ok(Some(document))
    }

    /// A deletion needs an existing object.
    fn still(&self, wanted: Option<String>) -> Result<Option<String>, Error> {
        if wanted.is_none() && self.present.is_none() {
            return Err(Error::not_found(self.edit.kind, &self.edit.id));
        }
        Ok(wanted)
    }

    fn check_id(&self, id: &str) -> Result<(), Error> {
        if id == self.edit.id {
            return Ok(());
        }
        let what = format!(
            "the document has the id `{id}`, but `{}` is asked for; an id never changes",
            self.edit.id
        );
        Err(Error::wrong(what))
    }

    /// The same for an assignment, which is checked against others of the same identity.
    async fn assignment(&mut self, wanted: Option<String>) -> Result<Option<Document>, Error> {
        let Some(text) = self.still(wanted)? else {
            return Ok(None);
        };
        let (assignment, document) = self.snapshot.catalogue.assignment(&text)?;
        self.check_id(&assignment.id)?;
        let identity = vec![assignment.identity.to_string()];
        let others = assignments(self.connection, identity).await?;
        check_others(
            &assignment,
            others.iter().map(|(id, text)| (&**id, &**text)),
        )?;
        Ok(Some(document))
    }

    /// Stores the change.
    async fn kept(&mut self, after: Option<Document>) -> Result<WriteResult, Error> {
        let version = match &self.present {
            Some(present) => present.version + 1,
            None => self.last_version().await? + 1,
        };
        let revision = self.snapshot.revision + 1;
        let before = self.present.take().map(|present| present.document);
        if self.edit.kind == Kind::Assignment {
            self.keep_assignment(version, before.as_ref(), after.as_ref())
                .await?;
        } else {
            self.keep_object(version, after.as_ref()).await?;
        }
        let change = Change {
            revision,
            kind: self.edit.kind,
            id: self.edit.id.clone(),
            version,
            author: self.edit.author.clone(),
            at_ns: now_ns(),
            reason: self.edit.reason.clone(),
            before,
            after,
        };
        keep(self.connection, &change).await?;
        audit::keep(self.connection, &AuditEntry::of(&change, &self.edit.origin)).await?;
        Ok(WriteResult {
            revision,
            version,
            is_changed: true,
        })
    }

    /// The last version of a deleted object.
    async fn last_version(&mut self) -> Result<u64, Error> {
        const LAST: &str = "
            SELECT coalesce(max(version), 0) FROM catalogue_change WHERE kind = $1 AND id = $2";
        let values = vec![self.edit.kind.name().into(), self.edit.id.as_str().into()];
        let row = self.connection.row(LAST, values).await?;
        row.map_or(Ok(0), |row| row.number(0))
    }

    async fn keep_object(&mut self, version: u64, after: Option<&Document>) -> Result<(), Error> {
        const PUT: &str = "
            INSERT INTO catalogue_object (kind, id, version, document) VALUES ($1, $2, $3, $4)
                ON CONFLICT (kind, id) DO UPDATE SET version = excluded.version, document = excluded.document";
        const DELETE: &str = "DELETE FROM catalogue_object WHERE kind = $1 AND id = $2";
        let mut values = vec![self.edit.kind.name().into(), self.edit.id.as_str().into()];
        let statement = match after {
            None => DELETE,
            Some(document) => {
                values.extend([version.into(), document.to_string().into()]);
                PUT
            }
        };
        self.connection.execute(statement, values).await?;
        Ok(())
    }

    async fn keep_assignment(
        &mut self,
        version: u64,
        before: Option<&Document>,
        after: Option<&Document>,
    ) -> Result<(), Error> {
        const PUT: &str = "
            INSERT INTO catalogue_assignment (id, identity, shape, then_shape, version, document)
                VALUES ($1, $2, $3, $4, $5, $6)
                ON CONFLICT (id) DO UPDATE SET identity = excluded.identity, shape = excluded.shape,
                    then_shape = excluded.then_shape, version = excluded.version, document = excluded.document";
        const DELETE: &str = "DELETE FROM catalogue_assignment WHERE id = $1";
        if let Some(before) = before {
            shapes::remove(self.connection, &read(before)?).await?;
        }
        let id = self.edit.id.as_str();
        let Some(after) = after else {
            self.connection.execute(DELETE, vec![id.into()]).await?;
            return Ok(());
        };
        let assignment = read(after)?;
        let (shape, then) = assignment.shapes();
        for shape in std::iter::once(&shape).chain(&then) {
            shapes::add(self.connection, shape, 1).await?;
        }
        let (shape, then) = shapes::names(&assignment);
        let values = vec![
            id.into(),
            assignment.identity.to_string().into(),
            shape.into(),
            then.into(),
            version.into(),
            after.to_string().into(),
        ];
        self.connection.execute(PUT, values).await?;
        Ok(())
    }
}

/// Refuses an assignment that conflicts with others of its identity.
pub(crate) fn check_others<'a>(
    assignment: &Assignment,
    others: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<(), Error> {
    let mut count = 1;
    for (id, text) in others.filter(|(id, _)| *id != assignment.id) {
        count += 1;
        let overlaps = Assignment::read(text).is_ok_and(|other| assignment.overlaps(&other));
        if overlaps {
            let what = format!(
                "`{}` is already assigned at that time, by `{id}`; change that, or give both `from` and `until`",
                assignment.identity
            );
            return Err(Refusal::Wrong(what).into());
        }
    }
    if count > ASSIGNMENTS_MAX {
        let what = format!(
            "an identity has at most {ASSIGNMENTS_MAX} assignments; delete one that is over"
        );
        return Err(Error::wrong(what));
    }
    Ok(())
}

fn read(document: &Document) -> Result<Assignment, Error> {
    let read = Assignment::read(&document.to_string());
    read.map_err(|errors| Error::Broken(errors.to_string()))
}
