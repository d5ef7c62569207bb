//! What identities used, day by day, for bills.

use std::collections::BTreeMap;

use tollgate_catalogue_sql::{Connection, Error};
use tollgate_stats::{Counts, Usage, UsagePage, UsageRow, date};

use crate::book::Book;
use crate::tell::counts;

/// Where a page begins: after this day, contract and identity.
pub type Cursor = (u64, String, String);

/// A day, and what is asked of it.
struct Day<'a> {
    day: u64,
    asked: &'a Usage,
}

impl Book {
    /// What identities used, by day, contract and identity; at most [`USAGE_ROWS_MAX`] rows after `after`.
    ///
    /// Of a contract a row without an identity is what those used who had no row of their own, so that all rows together are
    /// all that was counted. Where one identity is asked for there is none.
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
                // Sums and their parts of one moment.
                taken.begin_reading().await?;
                let page = read(&mut taken, asked, after, rows_max).await?;
                taken.commit().await?;
                taken.done();
                Ok(page)
            })
            .await
    }
}

async fn read(
    connection: &mut Connection,
    asked: &Usage,
    after: Option<Cursor>,
    rows_max: usize,
) -> Result<UsagePage, Error> {
    let mut page = UsagePage::default();
    let (first, contract, identity) = after.unwrap_or_default();
    let mut place = (contract, identity);
    let first = first.max(asked.from_day);
    let until = asked.until_day.min(first.saturating_add(DAYS_MAX));
    for day in first..until {
        let day = Day { day, asked };
        loop {
            let rows = day.rows(connection, &place, rows_max + 1).await?;
            let has_more = rows.len() > rows_max;
            let named = day.named(connection, &rows).await?;
            for (contract, identity, counts) in rows {
                // A row more than wanted tells that there are more.
                if page.rows.len() == rows_max {
                    page.next = Some((day.day, place.0, place.1));
                    return Ok(page);
                }
                place = (contract, identity);
                page.rows.extend(day.row(&place, counts, &named));
            }
            if !has_more {
                break;
            }
        }
        place = (String::new(), String::new());
    }
    Ok(page)
}

impl Day<'_> {
    /// A row to tell; of a contract's sum what its identities have not used, if anything.
    fn row(
        &self,
        (contract, identity): &(String, String),
        mut counts: Counts,
        named: &BTreeMap<String, Counts>,
    ) -> Option<UsageRow> {
        if identity.is_empty() {
            counts = counts.without(&named.get(contract).copied().unwrap_or_default());
        }
        (!counts.is_zero()).then(|| UsageRow {
            day: date(self.day),
            contract: contract.clone(),
            identity: identity.clone(),
            net_cost: counts.net_cost(),
            counts,
        })
    }

    /// Sums of identities, and of contracts under no identity.
    async fn rows(
        &self,
        connection: &mut Connection,
        (contract, identity): &(String, String),
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
            contract.as_str().into(),
            identity.as_str().into(),
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

    /// What identities used in each contract, of those contracts whose sum is among these rows.
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
/// The most days that one call looks at; a few more than are kept.
const DAYS_MAX: u64 = 100;
const HOURS: u64 = 24;
