//! Who came most, and what everybody used.

use http::header::CONTENT_DISPOSITION;
use serde_json::Value;
use tollgate_console::page::{self, By, Top, TopRow, Usage, UsageRow, Window};
use tollgate_stats::{CSV_HEAD, DAY_S, HOUR_S, MINUTE_S, csv_line, date, day_of_date};

use super::desk::Page;
use super::fit::{Fit, fitted};
use super::inner::encoded;
use super::told::{items, number, some, tally, text};
use crate::answer::{Answer, JSON};
use crate::fault::Fault;
use crate::time::{SECOND_NS, now_ns};

/// Who came most, was refused most, cost most.
pub(super) async fn top(page: &Page) -> Result<Answer, Fault> {
    let by = By::from_name(page.query.get("by"));
    let window = Window::from_name(page.query.get("window"));
    let (order, seconds) = (
        match by {
            By::Requests => "asked",
            By::Denied => "denied",
            By::Cost => "cost",
        },
        match window {
            Window::Minute => MINUTE_S,
            Window::Hour => HOUR_S,
            Window::Day => DAY_S,
        },
    );
    let path = format!("/top?limit={TOP}&by={order}&window={seconds}");
    let told = page.inner.get(&path).await?;
    let row = |told: &Value| TopRow {
        key: text(&told["identity"]),
        contract: text(&told["contract"]),
        tally: tally(told),
        cost: number(&told["cost"]).saturating_sub(number(&told["returned"])),
    };
    let view = Top {
        by,
        window,
        rows: items(&told).map(row).collect(),
    };
    let cut = |view: &mut Top, fit: &mut Fit| fit.cut(&mut view.rows);
    Ok(fitted((&page.frame, &view), cut, page::top))
}

/// What was used, by identity and day.
pub(super) async fn usage(page: &Page) -> Result<Answer, Fault> {
    let mut fit = Fit::of(ROWS);
    loop {
        let view = used(page, fit.rows()).await?;
        if let Some(answer) = fit.take(page::usage(&page.frame, &view)) {
            return Ok(answer);
        }
    }
}

async fn used(page: &Page, most: usize) -> Result<Usage, Fault> {
    let asked = Asked::of(page)?;
    let after = page.query.get("after");
    let told = asked.page(page, after, most).await?;
    let row = |told: &Value| UsageRow {
        day: text(&told["day"]),
        identity: text(&told["identity"]),
        contract: text(&told["contract"]),
        tally: tally(told),
        cost: u64::try_from(told["net_cost"].as_i64().unwrap_or(0)).unwrap_or(0),
    };
    Ok(Usage {
        identity: asked.identity,
        from: date(asked.from),
        until: date(asked.until),
        rows: items(&told).map(row).collect(),
        next: some(&told["next"]),
    })
}

/// The same as a file.
pub(super) async fn export(page: &Page) -> Result<Answer, Fault> {
    let asked = Asked::of(page)?;
    let (mut rows, mut after) = (Vec::new(), String::new());
    loop {
        let mut told = asked.page(page, &after, EXPORTED_AT_ONCE).await?;
        if let Some(items) = told["items"].as_array_mut() {
            rows.append(items);
        }
        match some(&told["next"]) {
            None => break,
            Some(next) => after = next,
        }
        if rows.len() >= EXPORTED_MAX {
            return Err(Fault::invalid(format!(
                "these days have more than {EXPORTED_MAX} rows: choose fewer days, or use `tollgate usage export`"
            )));
        }
    }
    let (from, until) = (date(asked.from), date(asked.until));
    let name = |ending: &str| format!("attachment; filename=\"usage-{from}-{until}.{ending}\"");
    if page.query.get("format") == "json" {
        let answer = Answer::text(JSON, Value::from(rows).to_string());
        return Ok(answer.line(CONTENT_DISPOSITION, &name("json")));
    }
    let mut table = CSV_HEAD.to_owned();
    for row in rows
        .into_iter()
        .filter_map(|row| serde_json::from_value(row).ok())
    {
        csv_line(&row, &mut table);
    }
    let answer = Answer::text("text/csv; charset=utf-8", table);
    Ok(answer.line(CONTENT_DISPOSITION, &name("csv")))
}

/// Which days, and of whom.
struct Asked {
    identity: String,
    from: u64,
    /// The last of them.
    until: u64,
}

impl Asked {
    /// A week unless something else is said.
    fn of(page: &Page) -> Result<Self, Fault> {
        let today = now_ns() / SECOND_NS / DAY_S;
        let day = |name: &str, default: u64| match page.query.get(name) {
            "" => Ok(default),
            text => day_of_date(text)
                .ok_or_else(|| Fault::malformed(format!("`{name}` is a day, as 2026-11-16"))),
        };
        let until = day("until", today)?;
        Ok(Self {
            identity: page.query.get("q").to_owned(),
            from: day("from", until.saturating_sub(6))?,
            until,
        })
    }

    async fn page(&self, page: &Page, after: &str, rows: usize) -> Result<Value, Fault> {
        let mut path = format!(
            "/usage?limit={rows}&from={}&until={}",
            date(self.from),
            date(self.until.saturating_add(1))
        );
        for (name, value) in [("identity", &*self.identity), ("after", after)] {
            if !value.is_empty() {
                path = format!("{path}&{name}={}", encoded(value));
            }
        }
        page.inner.get(&path).await
    }
}

const ROWS: usize = 100;
const TOP: usize = 50;
const EXPORTED_AT_ONCE: usize = 1000;
/// The most rows of a file.
const EXPORTED_MAX: usize = 100_000;
