//! Shapes of assignments: counted, and checked when plans and contracts change.

use ring::digest::{SHA256, digest};
use tollgate_catalogue::{Affected, Assignment, AssignmentShape, Catalogue, Refusal};

use crate::connection::{Connection, SqlRow};
use crate::database::Database;
use crate::error::Error;

/// Shapes that a change of a plan or contract is checked against; shapes beyond are checked when used.
const CHECKED_MAX: u64 = 100_000;
/// Assignments that a refusal names.
const SHOWN_MAX: usize = 5;

/// The key of a shape's row.
pub(crate) fn name(shape: &AssignmentShape) -> String {
    let text = serde_json::to_vec(shape).unwrap_or_default();
    hex(&digest(&SHA256, &text).as_ref()[..16])
}

/// While it is in force, and afterwards.
pub(crate) fn names(assignment: &Assignment) -> (String, Option<String>) {
    let (shape, then) = assignment.shapes();
    (name(&shape), then.as_ref().map(name))
}

/// Counts shapes of new assignments.
pub(crate) async fn add(
    connection: &mut Connection,
    shape: &AssignmentShape,
    count: u64,
) -> Result<(), Error> {
    const ADD: &str = "
        INSERT INTO catalogue_shape (id, plan, entry, contract, overrides, count) VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (id) DO UPDATE SET count = catalogue_shape.count + excluded.count";
    let values = vec![
        name(shape).into(),
        shape.plan.clone().unwrap_or_default().into(),
        shape.entry.as_str().into(),
        shape.contract.clone().unwrap_or_default().into(),
        shape.overrides.clone().into(),
        count.into(),
    ];
    connection.execute(ADD, values).await?;
    Ok(())
}

/// Uncounts the shapes of a removed assignment.
pub(crate) async fn remove(
    connection: &mut Connection,
    assignment: &Assignment,
) -> Result<(), Error> {
    let (shape, then) = names(assignment);
    for name in std::iter::once(shape).chain(then) {
        let less = "UPDATE catalogue_shape SET count = count - 1 WHERE id = $1";
        connection.execute(less, vec![name.as_str().into()]).await?;
        let none = "DELETE FROM catalogue_shape WHERE id = $1 AND count <= 0";
        connection.execute(none, vec![name.into()]).await?;
    }
    Ok(())
}

/// Refuses a change that existing assignments do not allow.
pub(crate) async fn check(
    connection: &mut Connection,
    catalogue: &Catalogue,
    affected: Affected,
) -> Result<(), Error> {
    const OF: &str = "
        SELECT id, plan, entry, contract, overrides, count FROM catalogue_shape
            WHERE plan = ANY($1) OR contract = ANY($2) OR (contract = '' AND entry = ANY($3)) ORDER BY id LIMIT $4";
    let Affected {
        plans,
        contracts,
        entries,
    } = affected;
    let values = vec![
        plans.into(),
        contracts.into(),
        entries.into(),
        CHECKED_MAX.into(),
    ];
    let rows = connection.rows(OF, values).await?;
    let (mut count, mut first) = (0, Vec::new());
    for row in &rows {
        let Err(why) = catalogue.suits(&shape(row)?) else {
            continue;
        };
        count += row.number(5)?;
        if first.len() < SHOWN_MAX {
            let having = having(connection, row.text(0)?).await?;
            first.extend(
                having
                    .into_iter()
                    .map(|id| format!("assignment `{id}`: {why}")),
            );
        }
    }
    if count == 0 {
        return Ok(());
    }
    first.truncate(SHOWN_MAX);
    Err(Refusal::Breaks { count, first }.into())
}

/// Refuses to remove a plan or contract that assignments name.
pub(crate) async fn check_unused(
    connection: &mut Connection,
    affected: &Affected,
) -> Result<(), Error> {
    const OF: &str = "
        SELECT id, plan, entry, contract, overrides, count FROM catalogue_shape
            WHERE plan = ANY($1) OR contract = ANY($2) ORDER BY id";
    let values = vec![
        affected.plans.clone().into(),
        affected.contracts.clone().into(),
    ];
    let (mut count, mut first) = (0, Vec::new());
    for row in connection.rows(OF, values).await? {
        count += row.number(5)?;
        if first.len() < SHOWN_MAX {
            let having = having(connection, row.text(0)?).await?;
            first.extend(having.into_iter().map(|id| format!("assignment `{id}`")));
        }
    }
    if count == 0 {
        return Ok(());
    }
    first.truncate(SHOWN_MAX);
    Err(Refusal::InUse { count, first }.into())
}

impl Database {
    /// Assignments by plan, now or after `until`.
    pub async fn assigned(&self, plans: Vec<String>) -> Result<Vec<(String, u64)>, Error> {
        const COUNTS: &str = "
            SELECT plan, CAST(sum(count) AS BIGINT) FROM catalogue_shape WHERE plan = ANY($1) GROUP BY plan";
        self.in_time(async {
            let mut taken = self.pool.take().await?;
            let rows = taken.rows(COUNTS, vec![plans.into()]).await?;
            taken.done();
            rows.iter()
                .map(|row| Ok((row.text(0)?, row.number(1)?)))
                .collect()
        })
        .await
    }
}

async fn having(connection: &mut Connection, shape: String) -> Result<Vec<String>, Error> {
    const HAVING: &str = "
        SELECT id FROM (SELECT id FROM catalogue_assignment WHERE shape = $1 ORDER BY id LIMIT 5) AS now
            UNION SELECT id FROM (SELECT id FROM catalogue_assignment WHERE then_shape = $1 ORDER BY id LIMIT 5) AS later
            ORDER BY id LIMIT 5";
    let rows = connection.rows(HAVING, vec![shape.into()]).await?;
    rows.iter().map(|row| row.text(0)).collect()
}

fn shape(row: &SqlRow) -> Result<AssignmentShape, Error> {
    let some = |text: String| (!text.is_empty()).then_some(text);
    Ok(AssignmentShape {
        plan: some(row.text(1)?),
        entry: row.text(2)?,
        contract: some(row.text(3)?),
        overrides: row.text_if_any(4)?,
    })
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| DIGITS[usize::from(digit)]).collect()
}
