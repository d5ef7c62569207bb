//! The rest: how everything is, who did what, and tokens.

use http::Method;
use serde_json::{Value, json};
use tollgate_console::Url;
use tollgate_console::page::{
    self, Audit, AuditRow, Health, NewSecret, Overview, Settings, State, TokenRow,
};

use super::desk::{Page, html, moment, onward, role};
use super::inner::{Body, encoded};
use super::things::{change, text};
use crate::answer::Answer;
use crate::fault::Fault;
use crate::time::{self, SECOND_NS};

/// How everything is.
pub(super) async fn overview(page: &Page) -> Result<Answer, Fault> {
    let status = page.inner.get("/status").await?;
    let mut view = Overview {
        health: health(&status),
        ..Overview::default()
    };
    if page.frame.read_only.is_none() {
        let after = page.frame.revision.saturating_sub(CHANGES);
        let told = page
            .inner
            .get(&format!("/changes?limit={CHANGES}&after={after}"))
            .await?;
        view.changes = told["items"]
            .as_array()
            .into_iter()
            .flatten()
            .rev()
            .map(change)
            .collect();
    }
    Ok(html(page::overview(&page.frame, &view)))
}

fn health(status: &Value) -> Health {
    let catalogue = &status["catalogue"];
    let troubles: Vec<String> = status["troubles"]
        .as_array()
        .into_iter()
        .flatten()
        .map(Value::to_string)
        .collect();
    let (state, sentence, advice) = if status["ready"] != true {
        (
            State::Bad,
            "This node is not ready.".to_owned(),
            Some(troubles.join("; ")),
        )
    } else if let Some(trouble) = catalogue["trouble"].as_str() {
        (
            State::Warn,
            "The database of contracts does not answer; this node decides by its last copy."
                .to_owned(),
            Some(trouble.to_owned()),
        )
    } else if !troubles.is_empty() {
        (
            State::Warn,
            "This node decides, with trouble.".to_owned(),
            Some(troubles.join("; ")),
        )
    } else {
        (State::Good, "This node decides.".to_owned(), None)
    };
    let contracts = status["contracts"].as_u64().unwrap_or(0).to_string();
    Health {
        state,
        sentence,
        advice,
        parts: vec![
            ("contracts".to_owned(), contracts, State::Good),
            (
                "kept in a".to_owned(),
                text(&catalogue["source"]),
                State::Good,
            ),
            ("version".to_owned(), text(&status["version"]), State::Good),
        ],
    }
}

/// Who did what.
pub(super) async fn audit(page: &Page) -> Result<Answer, Fault> {
    let (who, object) = (page.query.get("who"), page.query.get("object"));
    let after = page.query.get("after");
    let after = if after.is_empty() {
        String::new()
    } else {
        format!("&after={}", encoded(after))
    };
    let told = page.inner.get(&format!("/audit?limit=200{after}")).await?;
    let row = |entry: &Value| {
        let what = text(&entry["what"]);
        let outcome = text(&entry["outcome"]);
        AuditRow {
            at: moment(&entry["at"]).unwrap_or_default(),
            who: text(&entry["who"]),
            from: text(&entry["origin"]),
            kind: String::new(),
            object: text(&entry["object"]),
            is_done: !REFUSALS.contains(&&*outcome),
            action: what,
            outcome,
        }
    };
    let rows = told["items"].as_array().into_iter().flatten().map(row);
    let view = Audit {
        who: who.to_owned(),
        object: object.to_owned(),
        rows: rows
            .filter(|row| row.who.contains(who) && row.object.contains(object))
            .collect(),
        next: told["next"].as_str().map(str::to_owned),
    };
    Ok(html(page::audit(&page.frame, &view)))
}

/// Tokens; one that was just made is shown once.
pub(super) async fn settings(page: &Page, made: Option<NewSecret>) -> Result<Answer, Fault> {
    let tokens = match page.inner.get("/tokens").await {
        Ok(told) => told["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(token)
            .collect(),
        // Only some may see them.
        Err(fault) if matches!(fault.code(), "forbidden" | "read_only") => Vec::new(),
        Err(fault) => return Err(fault),
    };
    Ok(html(page::settings(
        &page.frame,
        &Settings { tokens, made },
    )))
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

/// Makes a token.
pub(super) async fn make(page: &Page) -> Result<Answer, Fault> {
    let form = &page.form;
    let days: Option<u64> = form.get("days").parse().ok();
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

/// Takes a token back.
pub(super) async fn revoke(page: &Page) -> Result<Answer, Fault> {
    let path = format!("/tokens/{}", encoded(page.form.get("id")));
    page.inner
        .ask(Method::DELETE, &path, &Body::json(""))
        .await?;
    Ok(onward(&Url::to("/console/settings")))
}

/// Changes shown at once.
const CHANGES: u64 = 8;
/// Outcomes that say that nothing was done.
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
