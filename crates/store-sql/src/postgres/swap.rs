//! The rare path: rows are read, decided in this process, and written if they are still the ones that were read.
//!
//! A row is still the same if the same transaction wrote it. Two statements for a batch; a group whose row changed in
//! between stays open, and the caller retries.

use sqlx::Row;
use sqlx::postgres::{PgConnection, PgRow};
use tollgate_store::{EngineAnswer, Failure};

use super::group::{Group, Way};
use crate::fold::{RowChange, StoredRow, fold};
use crate::form;

const READ: &str = "
    SELECT ask.place, state.xmin::TEXT, state.shape, shape.text, state.charged, state.kept
        FROM unnest($1::BIGINT[], $2::TEXT[]) WITH ORDINALITY AS ask (tag, name, place)
        JOIN tollgate_state AS state ON state.tag = ask.tag AND state.name = ask.name
        LEFT JOIN tollgate_shape AS shape ON shape.id = state.shape";

const WRITE: &str = "
    SELECT ask.place, swapped
        FROM unnest($1::BIGINT[], $2::TEXT[], $3::TEXT[], $4::BIGINT[], $5::TEXT[], $6::TEXT[], $7::BIGINT[])
            WITH ORDINALITY AS ask (tag, name, was, shape, charged, kept, fresh, place),
        LATERAL tollgate_swap(ask.tag, ask.name, ask.was, ask.shape, ask.charged, ask.kept, ask.fresh) AS swapped";

/// Groups whose row changed meanwhile stay open.
pub(super) async fn swap(
    connection: &mut PgConnection,
    groups: &mut [Group],
) -> Result<(), sqlx::Error> {
    let rare: Vec<&mut Group> = groups
        .iter_mut()
        .filter(|group| group.way == Way::Swap)
        .collect();
    if rare.is_empty() {
        return Ok(());
    }
    let mut found = read(connection, &rare).await?;
    let mut writes = Writes::default();
    for (place, group) in rare.into_iter().enumerate() {
        let (was, stored) = found.get_mut(place).and_then(Option::take).unzip();
        match stored.transpose() {
            Err(broken) => group.fail(&broken),
            Ok(stored) => {
                let (answers, change) = fold(&group.asks, stored.flatten());
                writes.add(group, was, change, answers);
            }
        }
    }
    writes.write(connection).await
}

/// A row: the transaction that wrote it, and its content.
type Seen = (String, Result<Option<StoredRow>, Failure>);

async fn read(
    connection: &mut PgConnection,
    groups: &[&mut Group],
) -> Result<Vec<Option<Seen>>, sqlx::Error> {
    let ids = groups.iter().map(|group| group.id().unwrap_or_default());
    let (tags, names): (Vec<_>, Vec<_>) = ids.unzip();
    let query = sqlx::query(READ).bind(tags).bind(names);
    let mut found: Vec<_> = groups.iter().map(|_| None).collect();
    for row in query.fetch_all(connection).await? {
        let place: i64 = row.try_get(0)?;
        let place = usize::try_from(place - 1).unwrap_or(usize::MAX);
        if let Some(found) = found.get_mut(place) {
            *found = Some((row.try_get(1)?, stored(&row)?));
        }
    }
    Ok(found)
}

fn stored(row: &PgRow) -> Result<Result<Option<StoredRow>, Failure>, sqlx::Error> {
    let (charged, kept): (Option<String>, String) = (row.try_get(4)?, row.try_get(5)?);
    let Some(charged) = charged else {
        return Ok(Ok(None));
    };
    let Some(found) = form::found(&charged, &kept) else {
        return Ok(Err(Failure::Broken("a row makes no sense".into())));
    };
    let shape: i64 = row.try_get(2)?;
    Ok(Ok(Some(StoredRow {
        shape: shape.cast_unsigned(),
        text: row.try_get(3)?,
        found,
    })))
}

/// Rows to write, and the groups that this completes.
#[derive(Default)]
struct Writes<'g> {
    groups: Vec<(&'g mut Group, Vec<Result<EngineAnswer, Failure>>)>,
    ids: Vec<(i64, String)>,
    was: Vec<Option<String>>,
    shapes: Vec<i64>,
    charged: Vec<Option<String>>,
    kept: Vec<String>,
    fresh: Vec<i64>,
}

impl<'g> Writes<'g> {
    fn add(
        &mut self,
        group: &'g mut Group,
        was: Option<String>,
        change: RowChange,
        answers: Vec<Result<EngineAnswer, Failure>>,
    ) {
        let (shape, charged, kept, fresh) = match change {
            RowChange::Nothing => return group.finish(answers),
            // Created and deleted in one batch.
            RowChange::Forget if was.is_none() => return group.finish(answers),
            RowChange::Forget => (0, None, String::new(), 0),
            RowChange::Keep {
                book,
                found,
                fresh_at,
            } => (
                book.shape_id().cast_signed(),
                Some(found.at.as_nanos().to_string()),
                form::text(&found.kept),
                form::second(fresh_at),
            ),
        };
        self.ids.push(group.id().unwrap_or_default());
        self.was.push(was);
        self.shapes.push(shape);
        self.charged.push(charged);
        self.kept.push(kept);
        self.fresh.push(fresh);
        self.groups.push((group, answers));
    }

    async fn write(mut self, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        if self.groups.is_empty() {
            return Ok(());
        }
        let (tags, names): (Vec<_>, Vec<_>) = self.ids.into_iter().unzip();
        let query = sqlx::query(WRITE).bind(tags).bind(names).bind(self.was);
        let query = query.bind(self.shapes).bind(self.charged).bind(self.kept);
        for row in query.bind(self.fresh).fetch_all(connection).await? {
            let (place, swapped): (i64, bool) = (row.try_get(0)?, row.try_get(1)?);
            let place = usize::try_from(place - 1).unwrap_or(usize::MAX);
            if let (true, Some((group, answers))) = (swapped, self.groups.get_mut(place)) {
                group.finish(core::mem::take(answers));
            }
        }
        Ok(())
    }
}
