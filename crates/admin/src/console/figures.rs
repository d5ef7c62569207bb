//! Figures that the API has no route for: counts, and times of changes. Any role may read
//! them.
//!
//! Without statistics there are none, and pages leave them out.

use std::collections::BTreeMap;

use serde_json::Value;
use tollgate_catalogue::Kind;
use tollgate_catalogue_sql::Database;
use tollgate_console::Moment;
use tollgate_console::chart::{Latency, Quantiles, Tally, Traffic};
use tollgate_console::page::{self, UsedRow};
use tollgate_serve::statistics::ReadError;
use tollgate_stats::{
    By, Counts, DAY_S, HOUR_S, MINUTE_S, Point, Ranking, RecordedVerdict, Step, TopRow, Usage,
    UsageRow, date, day_of_date,
};

use super::inner::SignedIn;
use super::told::{at_ms, at_ns, items, number, text};
use crate::admin::Books;
use crate::fault::Fault;
use crate::resource::statistics::fault;
use crate::time::{SECOND_NS, now_ns};

pub(super) struct Hour {
    pub(super) traffic: Traffic,
    /// Requests that passed although a policy in shadow mode would have refused.
    pub(super) shadowed: u64,
}

/// Of all contracts if `contract` is empty.
pub(super) async fn hour(inner: &SignedIn, contract: &str) -> Result<Option<Hour>, Fault> {
    let Some(reader) = inner.shared.statistics.get() else {
        return Ok(None);
    };
    let first = first_minute();
    let range = first * MINUTE_S..(first + MINUTES) * MINUTE_S;
    let points = reader.series(contract.to_owned(), String::new(), range, Step::Minute);
    let Some(points) = kept(points.await)? else {
        return Ok(None);
    };
    let points: BTreeMap<u64, Counts> = points.iter().map(|is| (is.at, is.counts)).collect();
    let of = |minute: u64| points.get(&(minute * MINUTE_S)).copied();
    let minutes = (first..first + MINUTES).map(|minute| tally(&of(minute).unwrap_or_default()));
    Ok(Some(Hour {
        traffic: Traffic {
            from: at_ms(first * MINUTE_S * 1000),
            step_ms: MINUTE_S * 1000,
            points: minutes.collect(),
            limit: None,
        },
        shadowed: points.values().map(|counts| counts.shadowed).sum(),
    }))
}

/// How long answers took in the same minutes, on this node.
pub(super) fn latency(inner: &SignedIn) -> Latency {
    let timing = &inner.office.timing;
    let first = first_minute();
    let times = |minute| {
        let noted = timing.at(minute);
        noted.map_or_else(Quantiles::default, |times| Quantiles {
            p50: times.p50_us,
            p99: times.p99_us,
        })
    };
    Latency {
        from: at_ms(first * MINUTE_S * 1000),
        step_ms: MINUTE_S * 1000,
        points: (first..first + MINUTES).map(times).collect(),
    }
}

pub(super) async fn tallies(
    inner: &SignedIn,
    contracts: Vec<String>,
    step: Step,
) -> Result<BTreeMap<String, Counts>, Fault> {
    let Some(reader) = inner.shared.statistics.get() else {
        return Ok(BTreeMap::new());
    };
    let now = now_ns() / SECOND_NS;
    let range = now.saturating_sub(HOUR_S)..now + 1;
    let told = kept(reader.tallies(contracts, range, step).await)?;
    Ok(told.into_iter().flatten().collect())
}

/// Usage of today and this month under the names that contracts count; `None` without statistics.
pub(super) async fn used(
    inner: &SignedIn,
    counted: &[(String, String)],
) -> Result<Option<Vec<UsedRow>>, Fault> {
    let Some(reader) = inner.shared.statistics.get() else {
        return Ok(None);
    };
    let today = now_ns() / SECOND_NS / DAY_S;
    let first = day_of_date(&format!("{}-01", &date(today)[..7])).unwrap_or(today);
    let range = first * DAY_S..(today + 1) * DAY_S;
    let mut rows = Vec::new();
    for (contract, identity) in counted.iter().take(CONTRACTS_MAX) {
        let points = reader.series(contract.clone(), identity.clone(), range.clone(), Step::Day);
        let Some(points) = kept(points.await)? else {
            return Ok(None);
        };
        let sum = |points: &mut dyn Iterator<Item = &Point>| {
            points.fold(Counts::ZERO, |mut sum, point| {
                sum.add(&point.counts);
                sum
            })
        };
        let month = sum(&mut points.iter());
        if month.is_zero() {
            continue;
        }
        let today = sum(&mut points.iter().filter(|point| point.at >= today * DAY_S));
        rows.push(UsedRow {
            contract: contract.clone(),
            today: tally(&today),
            month: tally(&month),
            cost: u64::try_from(month.net_cost()).unwrap_or(0),
        });
    }
    Ok(Some(rows))
}

/// Identities counted in the last week under names with this prefix, or all of the last day; most requests first.
/// Without statistics, from the requests that this node remembers.
pub(super) async fn seen(
    inner: &SignedIn,
    prefix: &str,
    most: usize,
) -> Result<Vec<TopRow>, Fault> {
    let Some(reader) = inner.shared.statistics.get() else {
        return Ok(Vec::new());
    };
    let ranking = Ranking {
        by: By::Asked,
        contract: String::new(),
        prefix: prefix.to_owned(),
        rows_max: most,
    };
    // A whole week is too much to sort each time.
    let window = if prefix.is_empty() { DAY_S } else { 7 * DAY_S };
    let now = now_ns() / SECOND_NS;
    if let Some(rows) = kept(reader.top(ranking, window, now).await)? {
        return Ok(rows);
    }
    let mut found: BTreeMap<(String, String), Counts> = BTreeMap::new();
    for row in reader.recent(None, None, REMEMBERED) {
        for (name, value) in row.key {
            let identity = page::as_part(&format!("{name}={value}"));
            if identity.starts_with(prefix) {
                let counts = found.entry((identity, row.contract.clone())).or_default();
                match row.said {
                    RecordedVerdict::Allow => counts.allowed += 1,
                    RecordedVerdict::Delay => counts.delayed += 1,
                    RecordedVerdict::Deny => counts.denied += 1,
                }
            }
        }
    }
    let row = |((identity, contract), counts)| TopRow {
        contract,
        identity,
        counts,
    };
    Ok(found.into_iter().take(most).map(row).collect())
}

/// Counts by day, or by hour if the days are few, and their cost; `None` without statistics.
pub(super) async fn sums(inner: &SignedIn, asked: Usage) -> Result<Option<(Traffic, u64)>, Fault> {
    let Some(reader) = inner.shared.statistics.get() else {
        return Ok(None);
    };
    let days = asked.until_day.saturating_sub(asked.from_day);
    let step = if days <= HOURLY_MAX {
        Step::Hour
    } else {
        Step::Day
    };
    let (from, until) = (asked.from_day * DAY_S, asked.until_day * DAY_S);
    let Some(points) = kept(reader.usage_sums(asked, step).await)? else {
        return Ok(None);
    };
    let cost: i64 = points.iter().map(|point| point.counts.net_cost()).sum();
    let points: BTreeMap<u64, Counts> = points.iter().map(|is| (is.at, is.counts)).collect();
    let length = step.seconds();
    let parts = (from..until).step_by(usize::try_from(length).unwrap_or(usize::MAX));
    let of = |at: u64| tally(&points.get(&at).copied().unwrap_or_default());
    let traffic = Traffic {
        from: at_ms(from * 1000),
        step_ms: length * 1000,
        points: parts.take(PARTS_MAX).map(of).collect(),
        limit: None,
    };
    Ok(Some((traffic, u64::try_from(cost).unwrap_or(0))))
}

pub(super) async fn usage_first(
    inner: &SignedIn,
    asked: Usage,
    by: By,
    most: usize,
) -> Result<Vec<UsageRow>, Fault> {
    let Some(reader) = inner.shared.statistics.get() else {
        return Ok(Vec::new());
    };
    let first = kept(reader.usage_first(asked, by, most).await)?;
    Ok(first.unwrap_or_default())
}

/// Times of the last change, by id. Objects from a file have none.
pub(super) async fn changed(
    inner: &SignedIn,
    kind: Kind,
    told: &Value,
) -> Result<BTreeMap<String, Moment>, Fault> {
    let Some(database) = database(inner) else {
        return Ok(BTreeMap::new());
    };
    let version = |item: &'_ Value| Some((text(item.get("id")?), number(&item["version"])));
    let versions: Vec<(String, u64)> = items(told).filter_map(version).collect();
    let times = database.changed_at(kind, &versions).await?;
    Ok(times.into_iter().map(|(id, at)| (id, at_ns(at))).collect())
}

/// Assignments by plan.
pub(super) async fn assigned(
    inner: &SignedIn,
    plans: Vec<String>,
) -> Result<BTreeMap<String, u64>, Fault> {
    let Some(database) = database(inner) else {
        return Ok(BTreeMap::new());
    };
    Ok(database.assigned(plans).await?.into_iter().collect())
}

fn database(inner: &SignedIn) -> Option<&Database> {
    match &inner.office.books {
        Books::Database(database) => Some(database),
        Books::File(_) => None,
    }
}

/// `None` without statistics.
fn kept<T>(told: Result<T, ReadError>) -> Result<Option<T>, Fault> {
    match told {
        Ok(told) => Ok(Some(told)),
        Err(ReadError::NotKept) => Ok(None),
        Err(error) => Err(fault(error)),
    }
}

pub(super) const fn tally(counts: &Counts) -> Tally {
    Tally {
        allowed: counts.allowed,
        delayed: counts.delayed,
        denied: counts.denied,
    }
}

/// The first minute of the last hour, the present one included.
fn first_minute() -> u64 {
    (now_ns() / SECOND_NS / MINUTE_S + 1).saturating_sub(MINUTES)
}

const MINUTES: u64 = 60;
/// The most contracts for which the usage of one identity is shown.
const CONTRACTS_MAX: usize = 20;
/// Remembered requests that are searched without statistics.
const REMEMBERED: usize = 1_000;
/// The most days that are drawn by the hour.
const HOURLY_MAX: u64 = 3;
/// The most steps of a chart.
const PARTS_MAX: usize = 400;
