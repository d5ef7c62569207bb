//! Figures beside what the interface tells: what was counted, by whom, and when things were changed. Any role may read them.
//!
//! Where requests are not counted there are none, and pages do without.

use std::collections::BTreeMap;

use serde_json::Value;
use tollgate_catalogue::Kind;
use tollgate_catalogue_sql::Database;
use tollgate_console::Moment;
use tollgate_console::chart::{Latency, Quantiles, Tally, Traffic};
use tollgate_console::page::UsedRow;
use tollgate_serve::statistics::ReadError;
use tollgate_stats::{Counts, DAY_S, HOUR_S, MINUTE_S, Point, Step, date, day_of_date};

use super::inner::Inner;
use super::told::{at_ms, at_ns, items, number, text};
use crate::admin::Books;
use crate::fault::Fault;
use crate::resource::statistics::fault;
use crate::time::{SECOND_NS, now_ns};

/// Requests by minute of the last hour, of a contract or of all.
pub(super) struct Hour {
    pub(super) traffic: Traffic,
    /// Those that passed though a policy in shadow mode would have refused.
    pub(super) shadowed: u64,
}

/// The last hour of a contract; of all where it is empty.
pub(super) async fn hour(inner: &Inner, contract: &str) -> Result<Option<Hour>, Fault> {
    let Some(reader) = inner.shared.statistics.get() else {
        return Ok(None);
    };
    let first = first_minute();
    let range = (first * MINUTE_S, (first + MINUTES) * MINUTE_S);
    let of = (contract.to_owned(), String::new());
    let Some(points) = kept(reader.series(of, range, Step::Minute).await)? else {
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
pub(super) fn latency(inner: &Inner) -> Latency {
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

/// Requests of the last hour by contract, of these.
pub(super) async fn tallies(
    inner: &Inner,
    contracts: Vec<String>,
    step: Step,
) -> Result<BTreeMap<String, Counts>, Fault> {
    let Some(reader) = inner.shared.statistics.get() else {
        return Ok(BTreeMap::new());
    };
    let now = now_ns() / SECOND_NS;
    let range = (now.saturating_sub(HOUR_S), now + 1);
    let told = kept(reader.tallies(contracts, range, step).await)?;
    Ok(told.into_iter().flatten().collect())
}

/// What an identity used in contracts today and this month; `None` where nobody counts.
pub(super) async fn used(
    inner: &Inner,
    contracts: &[String],
    identity: &str,
) -> Result<Option<Vec<UsedRow>>, Fault> {
    let Some(reader) = inner.shared.statistics.get() else {
        return Ok(None);
    };
    let today = now_ns() / SECOND_NS / DAY_S;
    let first = day_of_date(&format!("{}-01", &date(today)[..7])).unwrap_or(today);
    let range = (first * DAY_S, (today + 1) * DAY_S);
    let mut rows = Vec::new();
    for contract in contracts.iter().take(CONTRACTS_MAX) {
        let of = (contract.clone(), identity.to_owned());
        let Some(points) = kept(reader.series(of, range, Step::Day).await)? else {
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

/// When the things of a list were changed last, by id. What a file says has no time.
pub(super) async fn changed(
    inner: &Inner,
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

/// How many assignments are on plans.
pub(super) async fn assigned(
    inner: &Inner,
    plans: Vec<String>,
) -> Result<BTreeMap<String, u64>, Fault> {
    let Some(database) = database(inner) else {
        return Ok(BTreeMap::new());
    };
    Ok(database.assigned(plans).await?.into_iter().collect())
}

fn database(inner: &Inner) -> Option<&Database> {
    match &inner.office.books {
        Books::Database(database) => Some(database),
        Books::File(_) => None,
    }
}

/// What is kept; `None` where nothing is.
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
/// The most contracts of which the usage of one identity is shown.
const CONTRACTS_MAX: usize = 20;
