//! Usage of identities by day, for billing.

use std::collections::BTreeMap;

use tollgate_catalogue_sql::{Connection, Error, SqlValue};
use tollgate_stats::{By, Counts, HOUR_S, Point, Step, Usage, UsagePage, UsageRow, date};

use crate::book::UsageBook;
use crate::tell::counts;

/// Where a page begins: after this day, contract and identity.
pub type Cursor = (u64, String, String);

struct Day<'a> {
    day: u64,
    asked: &'a Usage,
}

impl UsageBook {
    /// Usage by day, contract and identity; at most [`USAGE_ROWS_MAX`] rows after `after`.
    ///
    /// A row without an identity is the usage of identities without a row of their own, so that all rows
    /// add up to the contract's sum. A query for one identity has none.
    pub async fn usage(
        &self,
        asked: &Usage,
        after: Option<Cursor>,
        rows_max: usize,
    ) -> Result<UsagePage, Error> {
        let rows_max = rows_max.clamp(1, USAGE_ROWS_MAX);
        self.database
            .in_time(async {
                let mut taken = self.database.take().await?;
                // Sums and their parts must be from one snapshot.
                taken.begin_reading().await?;
                let page = read(&mut taken, asked, after, rows_max).await?;
                taken.commit().await?;
                taken.done();
                Ok(page)
            })
            .await
    }
}

impl UsageBook {
    /// By hours or days; steps without requests are left out.
    pub async fn usage_sums(&self, asked: &Usage, step: Step) -> Result<Vec<Point>, Error> {
        const SUMS: &str = "
            SELECT CAST(sum(allowed) AS BIGINT), CAST(sum(delayed) AS BIGINT), CAST(sum(denied) AS BIGINT),
                    CAST(sum(shadowed) AS BIGINT), CAST(sum(cost) AS BIGINT), CAST(sum(returned) AS BIGINT),
                    CAST(sum(refused) AS BIGINT), at
                FROM statistics_row
                WHERE step = 3600 AND at >= $1 AND at < $2 AND contract <> '' AND ($3 = '' OR contract = $3)
                    AND identity = $4
                GROUP BY at ORDER BY at";
        let rows = self.read(SUMS, values(asked)).await?;
        let mut sums: BTreeMap<u64, Counts> = BTreeMap::new();
        for row in rows {
            let second = row.number(7)? * HOUR_S;
            let at = second - second % step.seconds();
            sums.entry(at).or_default().add(&counts(&row)?);
        }
        let points = sums.into_iter().map(|(at, counts)| Point { at, counts });
        Ok(points.collect())
    }

    /// The first rows of usage in another order than by day.
    pub async fn usage_first(
        &self,
        asked: &Usage,
        by: By,
        rows_max: usize,
    ) -> Result<Vec<UsageRow>, Error> {
        let mut values = values(asked);
        values.push(
            u64::try_from(rows_max.min(USAGE_ROWS_MAX))
                .unwrap_or(0)
                .into(),
        );
        let statement = match by {
            By::Asked => FIRST_ASKED,
            By::Denied => FIRST_DENIED,
            By::Cost => FIRST_COST,
        };
        let rows = self.read(statement, values).await?;
        let each = rows.iter().map(|row| {
            let counts = counts(row)?;
            Ok(UsageRow {
                day: date(row.number(9)?),
                contract: row.text(7)?,
                identity: row.text(8)?,
                net_cost: counts.net_cost(),
                counts,
            })
        });
        each.collect()
    }
}

macro_rules! first {
    ($order:literal) => {
        concat!(
            "SELECT CAST(sum(allowed) AS BIGINT), CAST(sum(delayed) AS BIGINT), CAST(sum(denied) AS BIGINT),
                    CAST(sum(shadowed) AS BIGINT), CAST(sum(cost) AS BIGINT), CAST(sum(returned) AS BIGINT),
                    CAST(sum(refused) AS BIGINT), contract, identity, at / 24
                FROM statistics_row
                WHERE step = 3600 AND at >= $1 AND at < $2 AND ($3 = '' OR contract = $3)
                    AND identity <> '' AND ($4 = '' OR identity = $4)
                GROUP BY contract, identity, at / 24 ORDER BY ",
            $order,
            " DESC, at / 24, contract, identity LIMIT $5"
        )
    };
}

const FIRST_ASKED: &str = first!("sum(allowed + delayed + denied)");
const FIRST_DENIED: &str = first!("sum(denied)");
const FIRST_COST: &str = first!("sum(cost - returned)");

/// First and last hour, the contract and the identity.
fn values(asked: &Usage) -> Vec<SqlValue> {
    let of = |text: &Option<String>| text.clone().unwrap_or_default();
    vec![
        (asked.from_day * HOURS).into(),
        (asked.until_day * HOURS).into(),
        of(&asked.contract).into(),
        of(&asked.identity).into(),
    ]
}

async fn read(
    connection: &mut Connection,
    asked: &Usage,
    after: Option<Cursor>,
    rows_max: usize,
) -> Result<UsagePage, Error> {
    let mut page = UsagePage::default();
    let (first, mut contract, mut identity) = after.unwrap_or_default();
    let first = first.max(asked.from_day);
    let until = asked.until_day.min(first.saturating_add(DAYS_MAX));
    for day in first..until {
        let day = Day { day, asked };
        loop {
            let rows = day.rows(connection, &contract, &identity, rows_max + 1);
            let rows = rows.await?;
            let has_more = rows.len() > rows_max;
            let named = day.named(connection, &rows).await?;
            for row in rows {
                // One extra row shows that there are more.
                if page.rows.len() == rows_max {
                    page.next = Some((day.day, contract, identity));
                    return Ok(page);
                }
                let counts;
                (contract, identity, counts) = row;
                let row = day.row(&contract, &identity, counts, &named);
                page.rows.extend(row);
            }
            if !has_more {
                break;
            }
        }
        (contract, identity) = Default::default();
    }
    Ok(page)
}

impl Day<'_> {
    /// For a contract's sum, the remainder that its identities lack; `None` if that is zero.
    fn row(
        &self,
        contract: &str,
        identity: &str,
        mut counts: Counts,
        named: &BTreeMap<String, Counts>,
    ) -> Option<UsageRow> {
        if identity.is_empty() {
            counts = counts.without(&named.get(contract).copied().unwrap_or_default());
        }
        (!counts.is_zero()).then(|| UsageRow {
            day: date(self.day),
            contract: contract.to_owned(),
            identity: identity.to_owned(),
            net_cost: counts.net_cost(),
            counts,
        })
    }

    /// Sums of identities, and of contracts under no identity.
    async fn rows(
        &self,
        connection: &mut Connection,
        contract: &str,
        identity: &str,
        rows_max: usize,
    ) -> Result<Vec<(String, String, Counts)>, Error> {
        const ROWS: &str = "
            SELECT CAST(sum(allowed) AS BIGINT), CAST(sum(delayed) AS BIGINT), CAST(sum(denied) AS BIGINT),
                    CAST(sum(shadowed) AS BIGINT), CAST(sum(cost) AS BIGINT), CAST(sum(returned) AS BIGINT),
                    CAST(sum(refused) AS BIGINT), contract, identity
                FROM statistics_row
                WHERE step = 3600 AND at >= $1 AND at < $2 AND (contract, identity) > ($3, $4)
                    AND ($5 = '' OR contract = $5) AND ($6 = '' OR identity = $6)
                GROUP BY contract, identity ORDER BY contract, identity LIMIT $7";
        let of = |text: &Option<String>| text.clone().unwrap_or_default();
        let values = vec![
            (self.day * HOURS).into(),
            ((self.day + 1) * HOURS).into(),
            contract.into(),
            identity.into(),
            of(&self.asked.contract).into(),
            of(&self.asked.identity).into(),
            u64::try_from(rows_max).unwrap_or(u64::MAX).into(),
        ];
        let rows = connection.rows(ROWS, values).await?;
        let each = rows.iter().map(|row| {
            let (contract, identity) = (row.text(7)?, row.text(8)?);
            Ok((contract, identity, counts(row)?))
        });
        each.collect()
    }

    /// Usage of identities in the contracts whose sum is among these rows.
    async fn named(
        &self,
        connection: &mut Connection,
        rows: &[(String, String, Counts)],
    ) -> Result<BTreeMap<String, Counts>, Error> {
        const NAMED: &str = "
            SELECT CAST(sum(allowed) AS BIGINT), CAST(sum(delayed) AS BIGINT), CAST(sum(denied) AS BIGINT),
                    CAST(sum(shadowed) AS BIGINT), CAST(sum(cost) AS BIGINT), CAST(sum(returned) AS BIGINT),
                    CAST(sum(refused) AS BIGINT), contract
                FROM statistics_row
                WHERE step = 3600 AND at >= $1 AND at < $2 AND contract >= $3 AND contract <= $4 AND identity <> ''
                GROUP BY contract";
        let mut sums = rows.iter().filter(|row| row.1.is_empty()).map(|row| &row.0);
        let Some(first) = sums.next() else {
            return Ok(BTreeMap::new());
        };
        let last = sums.next_back().unwrap_or(first);
        let values = vec![
            (self.day * HOURS).into(),
            ((self.day + 1) * HOURS).into(),
            first.as_str().into(),
            last.as_str().into(),
        ];
        let rows = connection.rows(NAMED, values).await?;
        let each = rows.iter().map(|row| Ok((row.text(7)?, counts(row)?)));
        each.collect()
    }
}

/// The most rows of a page.
pub const USAGE_ROWS_MAX: usize = 10_000;
/// The most days of one call; a few more than are stored.
const DAYS_MAX: u64 = 100;
const HOURS: u64 = 24;
