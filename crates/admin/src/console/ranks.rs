//! The identities with the most requests, and usage.

use http::header::CONTENT_DISPOSITION;
use serde_json::{Value, json};
use tollgate_console::page::{self, By, Top, TopRow, TopWindow, Usage, UsageRow};
use tollgate_stats::{
    By as Order, CSV_HEAD, DAY_S, HOUR_S, MINUTE_S, Usage as Asking, csv_line, date, day_of_date,
};

use super::desk::PageRequest;
use super::figures;
use super::fit::{Fit, fitted};
use super::inner::encoded;
use super::told::{items, number, some, tally, text};
use super::why::key_of;
use crate::answer::{JSON, Reply};
use crate::fault::Fault;
use crate::time::{SECOND_NS, now_ns};

pub(super) async fn top(page: &PageRequest) -> Result<Reply, Fault> {
    let by = By::from_name(page.query.get("by")).unwrap_or_default();
    let window = TopWindow::from_name(page.query.get("window"));
    let (order, seconds) = (
        match by {
            By::Requests => "asked",
            By::Denied => "denied",
            By::Cost => "cost",
        },
        match window {
            TopWindow::Minute => MINUTE_S,
            TopWindow::Hour => HOUR_S,
            TopWindow::Day => DAY_S,
        },
    );
    let path = format!("/top?limit={TOP}&by={order}&window={seconds}");
    let told = page.inner.get(&path).await?;
    let row = |told: &Value| TopRow {
        key: key_of(
            &page.inner,
            &text(&told["contract"]),
            &text(&told["identity"]),
        ),
        identity: text(&told["identity"]),
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
    Ok(fitted(&page.frame, &view, cut, page::top))
}

pub(super) async fn usage(page: &PageRequest) -> Result<Reply, Fault> {
    let mut fit = Fit::of(ROWS);
    loop {
        let view = used(page, fit.rows()).await?;
        if let Some(answer) = fit.take(page::usage(&page.frame, &view)) {
            return Ok(answer);
        }
    }
}

async fn used(page: &PageRequest, most: usize) -> Result<Usage, Fault> {
    let by = By::from_name(page.query.get("by"));
    let asked = match Asked::of(page) {
        Ok(asked) => asked,
        // The fields keep the text that was typed.
        Err(fault) => {
            return Ok(Usage {
                identity: page.query.get("q").to_owned(),
                from: page.query.get("from").to_owned(),
                until: page.query.get("until").to_owned(),
                complaint: Some(fault.message().to_owned()),
                by,
                ..Usage::default()
            });
        }
    };
    let row = |told: &Value| UsageRow {
        key: key_of(
            &page.inner,
            &text(&told["contract"]),
            &text(&told["identity"]),
        ),
        day: text(&told["day"]),
        identity: text(&told["identity"]),
        contract: text(&told["contract"]),
        tally: tally(told),
        cost: u64::try_from(told["net_cost"].as_i64().unwrap_or(0)).unwrap_or(0),
    };
    let mut view = Usage {
        by,
        ..Usage::default()
    };
    match by {
        None => {
            let told = asked.page(page, page.query.get("after"), most).await?;
            view.rows = items(&told).map(row).collect();
            view.next = some(&told["next"]);
        }
        Some(by) => {
            let by = match by {
                By::Requests => Order::Asked,
                By::Denied => Order::Denied,
                By::Cost => Order::Cost,
            };
            let first = figures::usage_first(&page.inner, asked.usage(), by, most).await?;
            view.rows = first.iter().map(|first| row(&json!(first))).collect();
        }
    }
    if let Some((traffic, cost)) = figures::sums(&page.inner, asked.usage()).await? {
        (view.traffic, view.cost) = (traffic, cost);
    }
    Ok(Usage {
        identity: asked.identity,
        from: date(asked.from),
        until: date(asked.until),
        ..view
    })
}

/// Usage as a file.
pub(super) async fn export(page: &PageRequest) -> Result<Reply, Fault> {
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
        let answer = Reply::text(JSON, Value::from(rows).to_string());
        return Ok(answer.line(CONTENT_DISPOSITION, &name("json")));
    }
    let mut table = CSV_HEAD.to_owned();
    for row in rows
        .into_iter()
        .filter_map(|row| serde_json::from_value(row).ok())
    {
        csv_line(&row, &mut table);
    }
    let answer = Reply::text("text/csv; charset=utf-8", table);
    Ok(answer.line(CONTENT_DISPOSITION, &name("csv")))
}

struct Asked {
    identity: String,
    from: u64,
    /// The last day, inclusive.
    until: u64,
}

impl Asked {
    /// A week by default.
    fn of(page: &PageRequest) -> Result<Self, Fault> {
        let today = now_ns() / SECOND_NS / DAY_S;
        let day = |name: &str, default: u64| match page.query.get(name) {
            "" => Ok(default),
            text => day_of_date(text).ok_or_else(|| {
                Fault::malformed(format!("“{text}” is no day: write `{name}` as 2026-11-16"))
            }),
        };
        let until = day("until", today)?;
        let from = day("from", until.saturating_sub(6))?;
        if from > until {
            return Err(Fault::malformed(format!(
                "the first day, {}, is after the last, {}",
                date(from),
                date(until)
            )));
        }
        Ok(Self {
            identity: page.query.get("q").trim().to_owned(),
            from,
            until,
        })
    }

    fn usage(&self) -> Asking {
        Asking {
            from_day: self.from,
            until_day: self.until.saturating_add(1),
            contract: None,
            identity: Some(self.identity.clone()).filter(|name| !name.is_empty()),
        }
    }

    async fn page(&self, page: &PageRequest, after: &str, rows: usize) -> Result<Value, Fault> {
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
