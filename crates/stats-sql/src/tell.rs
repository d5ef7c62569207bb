//! Series, ranks, and how busy other nodes are.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Value as Json, json};
use tollgate_catalogue_sql::{Error, SqlRow, SqlValue};
use tollgate_stats::{By, Counts, HOUR_S, LoadOf, MINUTE_S, Point, Ranking, Step, TopRow};

use crate::book::UsageBook;

impl UsageBook {
    /// Counts from `from_s` until before `until_s`, by step; steps without requests are left out.
    ///
    /// For one identity of a contract, for a contract as a whole, or for all contracts if it is empty.
    pub async fn series(
        &self,
        contract: &str,
        identity: &str,
        range_s: Range<u64>,
        step: Step,
    ) -> Result<Vec<Point>, Error> {
        // Looked up one by one: between them may be a million rows of others.
        const PARTS: &str = "
            SELECT CAST(sum(allowed) AS BIGINT), CAST(sum(delayed) AS BIGINT), CAST(sum(denied) AS BIGINT),
                    CAST(sum(shadowed) AS BIGINT), CAST(sum(cost) AS BIGINT), CAST(sum(returned) AS BIGINT),
                    CAST(sum(refused) AS BIGINT), at
                FROM {rows} JOIN statistics_row ON at = CAST(value ->> 0 AS BIGINT)
                WHERE step = $2 AND contract = $3 AND identity = $4 GROUP BY at ORDER BY at";
        let kept = kept_in(step);
        let parts = range_s.start / kept..range_s.end.div_ceil(kept);
        let parts = parts.take(PARTS_MAX).map(|at| json!([at]));
        let parts = Json::from(parts.collect::<Vec<_>>()).to_string();
        let values = vec![parts.into(), kept.into(), contract.into(), identity.into()];
        let rows = self.read(PARTS, values).await?;
        let mut sums: BTreeMap<u64, Counts> = BTreeMap::new();
        for row in rows {
            let second = row.number(7)? * kept;
            let at = second - second % step.seconds();
            sums.entry(at).or_default().add(&counts(&row)?);
        }
        let points = sums.into_iter().map(|(at, counts)| Point { at, counts });
        Ok(points.collect())
    }

    /// Counts of contracts from `from_s` until before `until_s`, in whole minutes or hours; those without
    /// requests are left out.
    pub async fn tallies(
        &self,
        contracts: &[String],
        range_s: Range<u64>,
        step: Step,
    ) -> Result<Vec<(String, Counts)>, Error> {
        const SUMS: &str = "
            SELECT CAST(sum(allowed) AS BIGINT), CAST(sum(delayed) AS BIGINT), CAST(sum(denied) AS BIGINT),
                    CAST(sum(shadowed) AS BIGINT), CAST(sum(cost) AS BIGINT), CAST(sum(returned) AS BIGINT),
                    CAST(sum(refused) AS BIGINT), contract
                FROM {rows} JOIN statistics_row ON at = CAST(value ->> 0 AS BIGINT) AND contract = value ->> 1
                WHERE step = $2 AND identity = '' GROUP BY contract ORDER BY contract";
        let kept = kept_in(step);
        let parts = range_s.start / kept..range_s.end.div_ceil(kept);
        let rows = contracts
            .iter()
            .flat_map(|contract| parts.clone().map(move |at| json!([at, contract])));
        let rows: Json = rows.take(LOOKED_UP_MAX).collect();
        let rows = rows.to_string();
        let rows = self.read(SUMS, vec![rows.into(), kept.into()]).await?;
        let each = rows.iter().map(|row| Ok((row.text(7)?, counts(row)?)));
        each.collect()
    }

    /// The ranking since `from_s`, at most a week ago: by minutes if that is within two hours, else by hours.
    pub async fn top(
        &self,
        ranking: &Ranking,
        from_s: u64,
        now_s: u64,
    ) -> Result<Vec<TopRow>, Error> {
        let from_s = from_s.max(now_s.saturating_sub(TOP_OVER_MAX_S));
        let is_near = now_s - from_s.min(now_s) <= 2 * HOUR_S;
        let step = if is_near { MINUTE_S } else { HOUR_S };
        let values = vec![
            step.into(),
            (from_s / step).into(),
            ranking.contract.as_str().into(),
            u64::try_from(ranking.rows_max.min(TOP_ROWS_MAX))
                .unwrap_or(0)
                .into(),
            ranking.prefix.as_str().into(),
        ];
        let statement = match ranking.by {
            By::Asked => TOP_ASKED,
            By::Denied => TOP_DENIED,
            By::Cost => TOP_COST,
        };
        let rows = self.read(statement, values).await?;
        let each = rows.iter().map(|row| {
            Ok(TopRow {
                contract: row.text(7)?,
                identity: row.text(8)?,
                counts: counts(row)?,
            })
        });
        each.collect()
    }

    pub async fn load_in(&self, minute: u64) -> Result<Vec<LoadOf>, Error> {
        const SUMS: &str = "
            SELECT allowed, delayed, denied, shadowed, cost, returned, refused, node, contract
                FROM statistics_row
                WHERE step = 60 AND at = $1 AND contract <> '' AND identity = '' ORDER BY node, contract LIMIT 10000";
        let rows = self.read(SUMS, vec![minute.into()]).await?;
        let each = rows.iter().map(|row| {
            let (node, contract) = (row.text(7)?, row.text(8)?);
            Ok(LoadOf::of(
                &node,
                &contract,
                &counts(row)?,
                MINUTE_S * 1_000,
            ))
        });
        each.collect()
    }

    pub(crate) async fn read(
        &self,
        statement: &'static str,
        values: Vec<SqlValue>,
    ) -> Result<Vec<SqlRow>, Error> {
        self.database
            .in_time(async {
                let mut taken = self.database.take().await?;
                let rows = taken.rows(statement, values).await?;
                taken.done();
                Ok(rows)
            })
            .await
    }
}

/// The step that is stored for it, in seconds.
const fn kept_in(step: Step) -> u64 {
    match step {
        Step::Minute => MINUTE_S,
        Step::Hour | Step::Day => HOUR_S,
    }
}

pub(crate) fn counts(row: &SqlRow) -> Result<Counts, Error> {
    let mut fields = [0; 7];
    for (column, field) in fields.iter_mut().enumerate() {
        *field = row.number(column)?;
    }
    Ok(Counts::from_array(fields))
}

macro_rules! top {
    ($order:literal) => {
        concat!(
            "SELECT CAST(sum(allowed) AS BIGINT), CAST(sum(delayed) AS BIGINT), CAST(sum(denied) AS BIGINT),
                    CAST(sum(shadowed) AS BIGINT), CAST(sum(cost) AS BIGINT), CAST(sum(returned) AS BIGINT),
                    CAST(sum(refused) AS BIGINT), contract, identity
                FROM statistics_row
                WHERE step = $1 AND at >= $2 AND ($3 = '' OR contract = $3) AND identity <> ''
                    AND ($5 = '' OR substr(identity, 1, length($5)) = $5)
                GROUP BY contract, identity HAVING ",
            $order,
            " > 0 ORDER BY ",
            $order,
            " DESC, contract, identity LIMIT $4"
        )
    };
}

const TOP_ASKED: &str = top!("sum(allowed + delayed + denied)");
const TOP_DENIED: &str = top!("sum(denied)");
const TOP_COST: &str = top!("sum(cost - returned)");
/// The most steps of a series; a few more than are stored.
const PARTS_MAX: usize = 2_400;
/// The most steps of all contracts together in one query.
const LOOKED_UP_MAX: usize = 10_000;
const TOP_OVER_MAX_S: u64 = 7 * 86_400;
const TOP_ROWS_MAX: usize = 1_000;
