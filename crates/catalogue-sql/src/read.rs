//! Reading: one object, a page of objects, and the assignments of one key.

use serde::Serialize;
use tollgate_catalogue::{Assignment, BANS_MAX, Ban, Document, Kind, NAME_BYTES_MAX};

use crate::PAGE_MAX;
use crate::change::document;
use crate::connection::{Connection, SqlRow};
use crate::database::Database;
use crate::error::Error;

/// A contract, a plan or an assignment as it is now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Item {
    pub id: String,
    /// For the precondition of a change.
    pub version: u64,
    pub document: Document,
}

#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of the id.
    pub prefix: String,
    pub plan: Option<String>,
    /// For assignments.
    pub identity: Option<String>,
    /// For assignments: only in this contract.
    pub contract: Option<String>,
    /// The last id of the previous page.
    pub after: Option<String>,
}

impl Database {
    pub async fn get(&self, kind: Kind, id: &str) -> Result<Option<Item>, Error> {
        self.in_time(async {
            let mut taken = self.pool.take().await?;
            let item = present(&mut taken, kind, id).await?;
            taken.done();
            Ok(item)
        })
        .await
    }

    /// In the order of ids; at most `limit`, and at most [`PAGE_MAX`].
    pub async fn list(&self, kind: Kind, filter: &Filter, limit: u64) -> Result<Vec<Item>, Error> {
        const OBJECTS: &str = "
            SELECT id, version, document FROM catalogue_object
                WHERE id <> $1 AND id >= $2 AND ($3 = '' OR id < $3) AND kind = $5 ORDER BY id LIMIT $4";
        const ASSIGNMENTS: &str = "
            SELECT id, version, document FROM catalogue_assignment
                WHERE id <> $1 AND id >= $2 AND ($3 = '' OR id < $3) ORDER BY id LIMIT $4";
        const OF_ONE: &str = "
            SELECT id, version, document FROM catalogue_assignment
                WHERE id <> $1 AND id >= $2 AND ($3 = '' OR id < $3) AND identity = $5 ORDER BY id LIMIT $4";
        let shape = [filter.plan.as_deref(), filter.contract.as_deref()];
        if let (Some(identity), Some(other)) = (&filter.identity, shape.iter().flatten().next()) {
            let both = format!("ask for `{identity}` or for those with `{other}`, not for both");
            return Err(Error::wrong(both));
        }
        self.in_time(async {
            let mut taken = self.pool.take().await?;
            let (statement, more) = match kind {
                Kind::Assignment => match (&filter.identity, Shaped::of(shape)) {
                    (Some(identity), _) => (OF_ONE, vec![identity.as_str()]),
                    (None, None) => (ASSIGNMENTS, Vec::new()),
                    (None, Some(shaped)) => {
                        let named: Vec<&str> = shape.into_iter().flatten().collect();
                        (shaped.statement(&mut taken, &named).await?, named)
                    }
                },
                Kind::Contract | Kind::Plan | Kind::Ban => (OBJECTS, vec![kind.name()]),
                Kind::Import => return Err(Error::wrong("imports are in the list of changes")),
            };
            let after = filter.after.clone().unwrap_or_default();
            // A single lower bound: given two, SQLite seeks to one and scans from there to the other.
            let first = after.as_str().max(&filter.prefix).to_owned();
            let mut values = vec![
                after.into(),
                first.into(),
                end_of(&filter.prefix).into(),
                limit.min(PAGE_MAX).into(),
            ];
            values.extend(more.into_iter().map(Into::into));
            let rows = taken.rows(statement, values).await?;
            taken.done();
            rows.iter().map(item).collect()
        })
        .await
    }

    /// The assignments of identities, as `tollgate_catalogue::Catalogue::identities` names them.
    ///
    /// One that does not parse is left out: the key is then bound by its contract rather than by nothing.
    pub async fn lookup(&self, mut identities: Vec<String>) -> Result<Vec<Assignment>, Error> {
        // Keys are client input: those that no assignment can have are not queried.
        identities.retain(|identity| {
            identity.len() <= NAME_BYTES_MAX && !identity.chars().any(char::is_control)
        });
        if identities.is_empty() {
            return Ok(Vec::new());
        }
        self.in_time(async {
            let mut taken = self.pool.take().await?;
            let found = assignments(&mut taken, identities).await?;
            taken.done();
            Ok(found
                .into_iter()
                .filter_map(|(_, text)| Assignment::read(&text).ok())
                .collect())
        })
        .await
    }
}

impl Database {
    /// All bans. One that does not parse is left out.
    pub async fn bans(&self) -> Result<Vec<Ban>, Error> {
        const ALL: &str = "
            SELECT document FROM catalogue_object WHERE kind = $1 ORDER BY id LIMIT $2";
        self.in_time(async {
            let mut taken = self.pool.take().await?;
            let values = vec![Kind::Ban.name().into(), BANS_MAX.into()];
            let rows = taken.rows(ALL, values).await?;
            taken.done();
            let texts: Vec<String> = rows
                .iter()
                .map(|row| row.text(0))
                .collect::<Result<_, _>>()?;
            let read = |text: &String| Some(Ban::read(text).ok()?.0);
            Ok(texts.iter().filter_map(read).collect())
        })
        .await
    }
}

/// The number of bans except that one.
pub(crate) async fn bans_but(connection: &mut Connection, id: &str) -> Result<u64, Error> {
    const COUNT: &str = "SELECT count(*) FROM catalogue_object WHERE kind = $1 AND id <> $2";
    let values = vec![Kind::Ban.name().into(), id.into()];
    let count = connection.row(COUNT, values).await?;
    count.map_or(Ok(0), |row| row.number(0))
}

/// Statements for pages of assignments by the columns of shapes: their plan, their contract, or both.
struct Shaped {
    count: &'static str,
    /// For few matches: all of them, sorted.
    few: &'static str,
    /// For many matches: in the order of ids until there are enough. Avoids an index on a concatenated text.
    many: &'static str,
}

impl Shaped {
    /// By a plan and a contract, of which one may be missing.
    const fn of(named: [Option<&str>; 2]) -> Option<&'static Self> {
        match named {
            [None, None] => None,
            [Some(_), None] => Some(&ON_PLAN),
            [None, Some(_)] => Some(&IN_CONTRACT),
            [Some(_), Some(_)] => Some(&ON_PLAN_IN_CONTRACT),
        }
    }

    /// The statement that is fast for that number of matches.
    async fn statement(
        &self,
        connection: &mut Connection,
        named: &[&str],
    ) -> Result<&'static str, Error> {
        let values = named.iter().map(|name| (*name).into()).collect();
        let count = connection.row(self.count, values).await?;
        let count = count.map_or(Ok(0), |row| row.number(0))?;
        Ok(if count > FEW_MAX { self.many } else { self.few })
    }
}

macro_rules! shaped {
    ($counted:literal, $listed:literal) => {
        Shaped {
            count: concat!(
                "SELECT CAST(coalesce(sum(count), 0) AS BIGINT) FROM catalogue_shape WHERE ",
                $counted
            ),
            few: concat!(
                "SELECT id, version, document FROM catalogue_assignment
                    WHERE id <> $1 AND id >= $2 AND ($3 = '' OR id < $3)
                        AND (shape IN (SELECT id FROM catalogue_shape WHERE ",
                $listed,
                ") OR then_shape IN (SELECT id FROM catalogue_shape WHERE ",
                $listed,
                ")) ORDER BY id LIMIT $4"
            ),
            many: concat!(
                "SELECT id, version, document FROM catalogue_assignment
                    WHERE id <> $1 AND id >= $2 AND ($3 = '' OR id < $3)
                        AND (shape || '' IN (SELECT id FROM catalogue_shape WHERE ",
                $listed,
                ") OR then_shape || '' IN (SELECT id FROM catalogue_shape WHERE ",
                $listed,
                ")) ORDER BY id LIMIT $4"
            ),
        }
    };
}

const ON_PLAN: Shaped = shaped!("plan = $1", "plan = $5");
const IN_CONTRACT: Shaped = shaped!("contract = $1", "contract = $5");
const ON_PLAN_IN_CONTRACT: Shaped =
    shaped!("plan = $1 AND contract = $2", "plan = $5 AND contract = $6");

/// The most matches that are sorted for a page.
const FEW_MAX: u64 = 10_000;

pub(crate) async fn assignments(
    connection: &mut Connection,
    identities: Vec<String>,
) -> Result<Vec<(String, String)>, Error> {
    const OF: &str = "
        SELECT id, document FROM catalogue_assignment WHERE identity = ANY($1) ORDER BY id";
    let rows = connection.rows(OF, vec![identities.into()]).await?;
    rows.iter()
        .map(|row| Ok((row.text(0)?, row.text(1)?)))
        .collect()
}

/// As the transaction sees it.
pub(crate) async fn present(
    connection: &mut Connection,
    kind: Kind,
    id: &str,
) -> Result<Option<Item>, Error> {
    const OBJECT: &str = "
        SELECT id, version, document FROM catalogue_object WHERE kind = $1 AND id = $2";
    const ASSIGNMENT: &str = "SELECT id, version, document FROM catalogue_assignment WHERE id = $1";
    let row = match kind {
        Kind::Assignment => connection.row(ASSIGNMENT, vec![id.into()]).await?,
        Kind::Contract | Kind::Plan | Kind::Ban => {
            connection
                .row(OBJECT, vec![kind.name().into(), id.into()])
                .await?
        }
        Kind::Import => None,
    };
    row.as_ref().map(item).transpose()
}

fn item(row: &SqlRow) -> Result<Item, Error> {
    Ok(Item {
        id: row.text(0)?,
        version: row.number(1)?,
        document: document(&row.text(2)?)?,
    })
}

/// The first text after all that begin with `prefix`, in the order of bytes; empty if there is none.
fn end_of(prefix: &str) -> String {
    let mut letters: Vec<char> = prefix.chars().collect();
    while let Some(last) = letters.pop() {
        let next = (last..=char::MAX).nth(1);
        if let Some(next) = next {
            letters.push(next);
            return letters.into_iter().collect();
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_prefix_is_after_all_that_begin_with_it() {
        assert_eq!(end_of("user="), "user>");
        assert_eq!(end_of(""), "");
        assert_eq!(end_of("a\u{10ffff}"), "b");
        assert_eq!(end_of("\u{d7ff}"), "\u{e000}");
        assert_eq!(end_of("\u{10ffff}"), "");
    }
}
