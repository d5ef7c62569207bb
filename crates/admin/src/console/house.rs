//! The remaining pages: overview, audit and tokens.

use http::Method;
use serde_json::{Value, json};
use tollgate_console::Url;
use tollgate_console::page::{
    self, Audit, AuditRow, ContractLoad, Health, HealthLevel, NewSecret, Overview, SettingsPage,
    TokenRow,
};
use tollgate_stats::Step;

use super::acts::days;
use super::desk::{PageRequest, onward, role};
use super::figures;
use super::fit::{Fit, fitted};
use super::inner::{Body, SignedIn, encoded};
use super::told::{change, items, list, moment, some, text, texts};
use crate::access::signins::REFUSED;
use crate::answer::Reply;
use crate::fault::Fault;
use crate::time::{self, SECOND_NS};

pub(super) async fn overview(page: &PageRequest) -> Result<Reply, Fault> {
    let inner = &page.inner;
    let status = inner.get("/status").await?;
    let cluster = inner.get("/cluster").await?;
    let now = inner.shared.engine.meter().top(&inner.shared.engine);
    inner.office.timing.note(&now);
    let hour = figures::hour(inner, "").await?;
    let mut view = Overview {
        health: health(&status, &cluster),
        rate: now.last_10s.all,
        traffic: hour.map(|hour| hour.traffic).unwrap_or_default(),
        latency: figures::latency(inner),
        denying: denying(inner).await?,
        changes: Vec::new(),
    };
    if page.frame.read_only.is_none() {
        let after = page.frame.revision.saturating_sub(CHANGES);
        let path = format!("/changes?limit={CHANGES}&after={after}");
        let told = inner.get(&path).await?;
        view.changes = items(&told).map(change).collect();
        view.changes.reverse();
    }
    let cut = |view: &mut Overview, fit: &mut Fit| {
        fit.cut(&mut view.denying);
        fit.cut(&mut view.changes);
    };
    Ok(fitted(&page.frame, &view, cut, page::overview))
}

/// The contracts that denied most in the last hour: found by the hour, then counted by the minute.
async fn denying(inner: &SignedIn) -> Result<Vec<ContractLoad>, Fault> {
    let ids = {
        let node = inner.shared.engine.node();
        let all = node.contracts().as_slice().iter();
        all.take(CONTRACTS_MAX)
            .map(|contract| contract.id.clone())
            .collect()
    };
    let by_hour = figures::tallies(inner, ids, Step::Hour).await?;
    let mut most: Vec<(String, u64)> = by_hour
        .into_iter()
        .map(|(id, counts)| (id, counts.denied))
        .filter(|(_, denied)| *denied > 0)
        .collect();
    most.sort_by_key(|(_, denied)| core::cmp::Reverse(*denied));
    let first = most.into_iter().take(DENYING).map(|(id, _)| id).collect();
    let by_minute = figures::tallies(inner, first, Step::Minute).await?;
    let mut loads: Vec<ContractLoad> = by_minute
        .into_iter()
        .map(|(contract, counts)| ContractLoad {
            contract,
            tally: figures::tally(&counts),
            rate: per_second(counts.asked()),
        })
        .filter(|load| load.tally.denied > 0)
        .collect();
    loads.sort_by_key(|load| core::cmp::Reverse(load.tally.denied));
    Ok(loads)
}

/// Converts requests per hour.
#[allow(clippy::cast_precision_loss, reason = "a rate for people")]
fn per_second(requests: u64) -> f64 {
    requests as f64 / 3600.0
}

fn health(status: &Value, cluster: &Value) -> Health {
    let catalogue = &status["catalogue"];
    let mut troubles = texts(&status["troubles"]);
    let of_cluster = texts(&cluster["troubles"]).into_iter();
    let others: Vec<_> = of_cluster.filter(|one| !troubles.contains(one)).collect();
    troubles.extend(others);
    let (state, sentence, advice) = if status["ready"] != true {
        (
            HealthLevel::Bad,
            "This node is not ready.".to_owned(),
            Some(troubles.join("; ")),
        )
    } else if let Some(trouble) = catalogue["trouble"].as_str() {
        (
            HealthLevel::Warn,
            "The database of contracts does not answer; this node decides by its last copy."
                .to_owned(),
            Some(trouble.to_owned()),
        )
    } else if !troubles.is_empty() {
        (
            HealthLevel::Warn,
            "This node decides, with trouble.".to_owned(),
            Some(troubles.join("; ")),
        )
    } else {
        (HealthLevel::Good, "This node decides.".to_owned(), None)
    };
    let contracts = status["contracts"].as_u64().unwrap_or(0).to_string();
    Health {
        state,
        sentence,
        advice,
        parts: vec![
            nodes(cluster),
            unmatched(status),
            ("contracts".to_owned(), contracts, HealthLevel::Good),
            (
                "kept in a".to_owned(),
                text(&catalogue["source"]),
                HealthLevel::Good,
            ),
            (
                "version".to_owned(),
                text(&status["version"]),
                HealthLevel::Good,
            ),
        ],
    }
}

/// How many requests of this node had a key that no contract binds: mostly typing errors in the names of entries.
fn unmatched(status: &Value) -> (String, String, HealthLevel) {
    let count = status["unmatched"].as_u64().unwrap_or(0);
    let state = if count == 0 {
        HealthLevel::Good
    } else {
        HealthLevel::Warn
    };
    (
        "requests that no contract binds".to_owned(),
        count.to_string(),
        state,
    )
}

/// Live nodes, of all expected ones: dead nodes count as expected until they are forgotten.
fn nodes(cluster: &Value) -> (String, String, HealthLevel) {
    let expected = cluster["expected"].as_u64().unwrap_or(0);
    let all = usize::try_from(expected).unwrap_or(usize::MAX).max(1);
    let heard = list(&cluster["peers"])
        .filter(|peer| matches!(peer["freshness"].as_str(), Some("fresh" | "late")))
        .count()
        + 1;
    let state = if heard == all {
        HealthLevel::Good
    } else {
        HealthLevel::Warn
    };
    ("nodes".to_owned(), format!("{heard} of {all}"), state)
}

pub(super) async fn audit(page: &PageRequest) -> Result<Reply, Fault> {
    let mut fit = Fit::of(ENTRIES);
    loop {
        let view = tried(page, fit.rows()).await?;
        if let Some(answer) = fit.take(page::audit(&page.frame, &view)) {
            return Ok(answer);
        }
    }
}

async fn tried(page: &PageRequest, most: usize) -> Result<Audit, Fault> {
    let (who, object) = (page.query.get("who"), page.query.get("object"));
    let after = page.query.get("after");
    let after = if after.is_empty() {
        String::new()
    } else {
        format!("&after={}", encoded(after))
    };
    let path = format!("/audit?limit={most}{after}");
    let told = page.inner.get(&path).await?;
    let row = |entry: &Value| {
        let what = text(&entry["what"]);
        let outcome = text(&entry["outcome"]);
        AuditRow {
            at: moment(&entry["at"]).unwrap_or_default(),
            who: text(&entry["who"]),
            from: text(&entry["origin"]),
            kind: String::new(),
            object: text(&entry["object"]),
            is_done: !REFUSALS.contains(&&*outcome) && !outcome.starts_with(REFUSED),
            action: what,
            outcome,
        }
    };
    let rows = items(&told).map(row);
    Ok(Audit {
        who: who.to_owned(),
        object: object.to_owned(),
        rows: rows
            .filter(|row| row.who.contains(who) && row.object.contains(object))
            .collect(),
        next: some(&told["next"]),
    })
}

/// The secret of a new token is shown once.
pub(super) async fn settings(page: &PageRequest, made: Option<NewSecret>) -> Result<Reply, Fault> {
    let tokens = match page.inner.get("/tokens").await {
        Ok(told) => items(&told).filter_map(token).collect(),
        // Not every role may list them.
        Err(fault) if matches!(fault.code(), "forbidden" | "read_only") => Vec::new(),
        Err(fault) => return Err(fault),
    };
    let view = SettingsPage { tokens, made };
    // Valid tokens come before revoked ones.
    let cut = |view: &mut SettingsPage, fit: &mut Fit| {
        view.tokens.sort_by_key(|token| token.revoked.is_some());
        fit.cut(&mut view.tokens);
    };
    Ok(fitted(&page.frame, &view, cut, page::settings))
}

fn token(told: &Value) -> Option<TokenRow> {
    Some(TokenRow {
        id: text(&told["id"]),
        name: text(&told["name"]),
        role: role(told["role"].as_str()?),
        created: moment(&told["created"])?,
        expires: moment(&told["expires"]),
        used: moment(&told["used"]),
        revoked: moment(&told["revoked"]),
    })
}

pub(super) async fn make(page: &PageRequest) -> Result<Reply, Fault> {
    let form = &page.form;
    let days = days(form)?;
    let until = |days: u64| {
        time::told(time::now_ns().saturating_add(days.saturating_mul(86_400 * SECOND_NS)))
    };
    let body =
        json!({ "name": form.get("name"), "role": form.get("role"), "expires": days.map(until) });
    let told = page
        .inner
        .ask(Method::POST, "/tokens", &Body::json(&body.to_string()))
        .await?;
    let made = NewSecret {
        name: text(&told["token"]["name"]),
        secret: text(&told["secret"]),
    };
    settings(page, Some(made)).await
}

pub(super) async fn revoke(page: &PageRequest) -> Result<Reply, Fault> {
    let path = format!("/tokens/{}", encoded(page.form.get("id")));
    page.inner
        .ask(Method::DELETE, &path, &Body::json(""))
        .await?;
    Ok(onward(&Url::to("/console/settings")))
}

/// The most contracts that are searched for those that deny most.
const CONTRACTS_MAX: usize = 1000;
const DENYING: usize = 8;
/// Audit entries on a page.
const ENTRIES: usize = 200;
/// Changes on the overview.
const CHANGES: u64 = 8;
/// Outcomes of refused attempts.
const REFUSALS: [&str; 8] = [
    "forbidden",
    "invalid",
    "conflict",
    "not_found",
    "in_use",
    "breaks",
    "malformed",
    "read_only",
];
