//! Many assignments at once: batches, each a transaction with one statement for its rows.
//!
//! An assignment that exists with the same content is skipped, so that an interrupted import can
//! be repeated. Not here: files.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use tollgate_catalogue::{
    Assignment, AssignmentShape, Catalogue, Change, Document, Edit, Kind, Refusal, Seen,
};

use crate::audit::{self, AuditEntry};
use crate::change::keep;
use crate::connection::Connection;
use crate::database::{Database, now_ns};
use crate::error::Error;
use crate::pool::PooledConnection;
use crate::shapes;
use crate::snapshot::revision_alone;
use crate::write::check_others;

/// The most assignments of one batch.
const BATCH_MAX: usize = 2000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    pub made: u64,
    /// Assignments that existed already.
    pub same: u64,
    pub revision: u64,
}

/// Added assignments go to the database in batches; [`Importer::finish`] sends the last.
#[derive(Debug)]
pub struct Importer<'a> {
    database: &'a Database,
    author: String,
    reason: String,
    waiting: Vec<String>,
    /// Shapes that are valid in the catalogue of that revision.
    suited: (u64, BTreeSet<AssignmentShape>),
    done: Imported,
}

impl Database {
    pub fn import(&self, author: &str, reason: &str) -> Importer<'_> {
        Importer {
            database: self,
            author: author.to_owned(),
            reason: reason.to_owned(),
            waiting: Vec::new(),
            suited: (0, BTreeSet::new()),
            done: Imported::default(),
        }
    }
}

impl Importer<'_> {
    /// Adds an assignment, as YAML or JSON. An error may be reported later, when its batch is sent; the batch is then
    /// not
    /// stored.
    pub async fn add(&mut self, text: String) -> Result<(), Error> {
        self.waiting.push(text);
        if self.waiting.len() < BATCH_MAX {
            return Ok(());
        }
        self.send().await
    }

    /// Sends the last batch. Returns the totals of the import.
    pub async fn finish(mut self) -> Result<Imported, Error> {
        if !self.waiting.is_empty() {
            self.send().await?;
        }
        Ok(self.done)
    }

    async fn send(&mut self) -> Result<(), Error> {
        let texts = std::mem::take(&mut self.waiting);
        let database = self.database;
        database.in_time(self.send_now(texts)).await
    }

    async fn send_now(&mut self, texts: Vec<String>) -> Result<(), Error> {
        let mut taken = self.database.pool.take().await?;
        taken.begin().await?;
        match self.batch(&mut taken, texts).await {
            Ok(batch) => {
                taken.commit().await?;
                taken.done();
                self.done.made += batch.made;
                self.done.same += batch.same;
                self.done.revision = batch.revision;
                Ok(())
            }
            Err(why) => Err(taken.undone(why).await),
        }
    }

    async fn batch(
        &mut self,
        connection: &mut PooledConnection<'_>,
        texts: Vec<String>,
    ) -> Result<Imported, Error> {
        let revision = revision_alone(connection).await?;
        let snapshot = self.database.snapshot_at(connection, revision).await?;
        self.database.remember(&snapshot);
        if self.suited.0 != revision {
            self.suited = (revision, BTreeSet::new());
        }
        let mut read = Vec::with_capacity(texts.len());
        for text in texts {
            read.push(self.read(&snapshot.catalogue, &text)?);
        }
        let asked = read.len();
        let fresh = without_present(connection, read).await?;
        let mut done = Imported {
            made: fresh.len().try_into().unwrap_or(u64::MAX),
            same: (asked - fresh.len()).try_into().unwrap_or(u64::MAX),
            revision,
        };
        if fresh.is_empty() {
            return Ok(done);
        }
        insert(connection, &fresh).await?;
        done.revision = revision + 1;
        // The catalogue is unchanged.
        self.suited.0 = done.revision;
        self.keep(connection, done).await?;
        Ok(done)
    }

    /// Reads an assignment; each shape is checked once.
    fn read(&mut self, catalogue: &Catalogue, text: &str) -> Result<Read, Error> {
        let suited = |shape: &AssignmentShape| self.suited.1.contains(shape);
        let read = catalogue.assignment_but_for(text, suited)?;
        let (shape, then) = read.0.shapes();
        if self.suited.1.len() < SUITED_MAX {
            self.suited.1.extend(std::iter::once(shape).chain(then));
        }
        Ok(read)
    }

    async fn keep(&self, connection: &mut Connection, done: Imported) -> Result<(), Error> {
        let edit = Edit {
            kind: Kind::Assignment,
            id: IMPORT.to_owned(),
            seen: Seen::Nothing,
            author: self.author.clone(),
            origin: String::new(),
            reason: self.reason.clone(),
        };
        edit.check()?;
        let change = Change {
            revision: done.revision,
            kind: Kind::Import,
            id: IMPORT.to_owned(),
            version: done.revision,
            author: edit.author,
            at_ns: now_ns(),
            reason: edit.reason,
            before: None,
            after: Some(json!({ "assignments": done.made })),
        };
        keep(connection, &change).await?;
        audit::keep(connection, &AuditEntry::of(&change, "")).await
    }
}

type Read = (Assignment, Document);

/// Those that do not exist yet; refuses conflicts with existing ones.
async fn without_present(connection: &mut Connection, read: Vec<Read>) -> Result<Vec<Read>, Error> {
    const OF: &str = "
        SELECT id, identity, document FROM catalogue_assignment WHERE identity = ANY($1)
            UNION SELECT id, identity, document FROM catalogue_assignment WHERE id = ANY($2)";
    let identities = read
        .iter()
        .map(|(assignment, _)| assignment.identity.to_string());
    let ids = read.iter().map(|(assignment, _)| assignment.id.clone());
    let values = vec![
        identities.collect::<Vec<_>>().into(),
        ids.collect::<Vec<_>>().into(),
    ];
    let mut by_id: BTreeMap<String, String> = BTreeMap::new();
    let mut by_identity: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for row in connection.rows(OF, values).await? {
        let (id, document) = (row.text(0)?, row.text(2)?);
        by_id.insert(id.clone(), document.clone());
        by_identity
            .entry(row.text(1)?)
            .or_default()
            .push((id, document));
    }
    let mut fresh = Vec::new();
    for (assignment, document) in read {
        let text = document.to_string();
        if let Some(present) = by_id.get(&assignment.id) {
            if *present == text {
                continue;
            }
            let what = format!(
                "the assignment `{}` is there already and says something else; change or delete it first",
                assignment.id
            );
            return Err(Refusal::Wrong(what).into());
        }
        let others = by_identity
            .entry(assignment.identity.to_string())
            .or_default();
        check_others(
            &assignment,
            others.iter().map(|(id, text)| (&**id, &**text)),
        )?;
        others.push((assignment.id.clone(), text.clone()));
        by_id.insert(assignment.id.clone(), text);
        fresh.push((assignment, document));
    }
    Ok(fresh)
}

async fn insert(connection: &mut Connection, fresh: &[Read]) -> Result<(), Error> {
    // One that was deleted before continues its versions.
    const INSERT: &str = "
        INSERT INTO catalogue_assignment (id, identity, shape, then_shape, version, document)
            SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3,
                1 + coalesce((SELECT max(version) FROM catalogue_change
                    WHERE kind = 'assignment' AND id = value ->> 0), 0), value ->> 4
                FROM {rows}";
    let mut counts: BTreeMap<AssignmentShape, u64> = BTreeMap::new();
    let mut rows = Vec::with_capacity(fresh.len());
    for (assignment, document) in fresh {
        let (shape, then) = assignment.shapes();
        let (name, then_name) = (shapes::name(&shape), then.as_ref().map(shapes::name));
        for shape in std::iter::once(shape).chain(then) {
            *counts.entry(shape).or_default() += 1;
        }
        rows.push(json!([
            assignment.id,
            assignment.identity.to_string(),
            name,
            then_name,
            document.to_string()
        ]));
    }
    let rows = Document::from(rows).to_string();
    connection.execute(INSERT, vec![rows.into()]).await?;
    for (shape, count) in &counts {
        shapes::add(connection, shape, *count).await?;
    }
    Ok(())
}

const IMPORT: &str = "import";
/// Shapes that are remembered as valid.
const SUITED_MAX: usize = 100_000;
