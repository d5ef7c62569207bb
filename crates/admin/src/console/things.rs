//! Contracts and plans: lists, the editor, and what becomes of a form.

use http::Method;
use serde_json::{Value, json};
use tollgate_catalogue::differences;
use tollgate_console::Url;
use tollgate_console::editor::{Draft, Editor, Fields, Kind, chip, yaml};
use tollgate_console::page::{
    self, Conflict, ContractPage, ContractRow, Contracts, PlanPage, PlanRow, Plans, Problem,
    RolloutStep,
};
use tollgate_console::part::{Change, Chip, Difference, Message, Mode, messages};

use super::desk::{Page, html, moment, onward};
use super::inner::{Body, encoded};
use crate::answer::Answer;
use crate::fault::Fault;

/// A list of contracts or plans.
pub(super) async fn list(page: &Page, kind: Kind) -> Result<Answer, Fault> {
    let (query, after) = (page.query.get("q"), page.query.get("after"));
    let mut path = format!("{}?limit=50&prefix={}", place(kind), encoded(query));
    if !after.is_empty() {
        path = format!("{path}&after={}", encoded(after));
    }
    let told = page.inner.get(&path).await?;
    let items = told["items"].as_array().cloned().unwrap_or_default();
    let next = told["next"].as_str().map(str::to_owned);
    Ok(html(match kind {
        Kind::Contract => {
            let rows = items
                .iter()
                .map(|item| contract_row(&item["document"]))
                .collect();
            let view = Contracts {
                query: query.to_owned(),
                rows,
                all: None,
                next,
            };
            page::contracts(&page.frame, &view)
        }
        Kind::Plan => {
            let rows = items
                .iter()
                .map(|item| plan_row(&item["document"]))
                .collect();
            let view = Plans {
                query: query.to_owned(),
                rows,
                all: None,
                next,
            };
            page::plans(&page.frame, &view)
        }
    }))
}

fn contract_row(document: &Value) -> ContractRow {
    let policies = policies(document);
    let pairs = document["match"].as_object().cloned().unwrap_or_default();
    ContractRow {
        id: text(&document["id"]),
        matches: pairs
            .iter()
            .map(|(name, value)| (name.clone(), text(value)))
            .collect(),
        key: texts(&document["key"]),
        plan: document["plan"].as_str().map(str::to_owned),
        coordination: document["coordination"]
            .as_str()
            .unwrap_or("local")
            .to_owned(),
        mode: mode(&policies),
        policies,
        ..ContractRow::default()
    }
}

fn plan_row(document: &Value) -> PlanRow {
    PlanRow {
        id: text(&document["id"]),
        follows: document["follows"].as_str().map(str::to_owned),
        policies: policies(document),
        ..PlanRow::default()
    }
}

fn policies(document: &Value) -> Vec<Chip> {
    document["policies"]
        .as_array()
        .into_iter()
        .flatten()
        .map(chip)
        .collect()
}

fn mode(policies: &[Chip]) -> Mode {
    let only_watches =
        !policies.is_empty() && policies.iter().all(|chip| chip.mode == Mode::Shadow);
    if only_watches {
        Mode::Shadow
    } else {
        Mode::Enforce
    }
}

/// One contract or plan, or the form of a new one.
pub(super) async fn one(page: &Page, kind: Kind) -> Result<Answer, Fault> {
    let id = page.query.get("id");
    if id.is_empty() {
        let draft = Draft::new(kind);
        return show(
            page,
            kind,
            Edited {
                draft: Some(draft),
                ..Edited::default()
            },
        )
        .await;
    }
    let item = page.inner.get(&at(kind, id)).await?;
    let document = &item["document"];
    let edited = Edited {
        id: id.to_owned(),
        version: item["version"].as_u64().unwrap_or(0),
        draft: Draft::from_document(kind, document),
        text: yaml(document),
        ..Edited::default()
    };
    show(page, kind, edited).await
}

/// What stands in the editor.
#[derive(Default)]
struct Edited {
    id: String,
    version: u64,
    draft: Option<Draft>,
    text: String,
    is_text: bool,
    messages: Option<Vec<Message>>,
    different: Option<Vec<Difference>>,
}

async fn show(page: &Page, kind: Kind, edited: Edited) -> Result<Answer, Fault> {
    let is_new = edited.version == 0;
    let history = if is_new {
        Vec::new()
    } else {
        history(page, kind, &edited.id).await?
    };
    let plans = page.inner.get("/plans?limit=500").await?;
    let plans = plans["items"].as_array().into_iter().flatten();
    let Edited {
        id,
        version,
        draft,
        text,
        is_text,
        messages,
        different,
    } = edited;
    let rollout = draft
        .iter()
        .flat_map(|draft| &draft.policies)
        .map(|policy| {
            let Chip { name, mode, .. } = chip(&policy.document());
            RolloutStep {
                policy: name,
                mode,
                shadowed: None,
            }
        });
    let rollout = if is_new {
        Vec::new()
    } else {
        rollout.collect()
    };
    let editor = Editor {
        kind,
        id: id.clone(),
        version,
        draft,
        text,
        is_text,
        messages,
        plans: plans.map(|plan| self::text(&plan["id"])).collect(),
    };
    Ok(html(match kind {
        Kind::Contract => page::contract(
            &page.frame,
            &ContractPage {
                id,
                editor,
                edited: different,
                rollout,
                history,
                ..ContractPage::default()
            },
        ),
        Kind::Plan => page::plan(
            &page.frame,
            &PlanPage {
                id,
                editor,
                edited: different,
                history,
                ..PlanPage::default()
            },
        ),
    }))
}

async fn history(page: &Page, kind: Kind, id: &str) -> Result<Vec<Change>, Fault> {
    // A file has no history.
    if page.frame.read_only.is_some() {
        return Ok(Vec::new());
    }
    let told = page
        .inner
        .get(&format!("{}/history?limit=20", at(kind, id)))
        .await?;
    Ok(told["items"]
        .as_array()
        .into_iter()
        .flatten()
        .map(change)
        .collect())
}

/// A change as pages show it.
pub(super) fn change(told: &Value) -> Change {
    let documents = [&told["before"], &told["after"]]
        .map(|document| Some(document).filter(|document| !document.is_null()));
    Change {
        revision: told["revision"].as_u64().unwrap_or(0),
        kind: text(&told["kind"]),
        id: text(&told["id"]),
        version: told["version"].as_u64().unwrap_or(0),
        author: text(&told["author"]),
        at: moment(&told["at"]).unwrap_or_default(),
        reason: text(&told["reason"]),
        differences: different(documents[0], documents[1]),
    }
}

fn different(before: Option<&Value>, after: Option<&Value>) -> Vec<Difference> {
    let shown = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let line = |difference: &tollgate_catalogue::Difference| Difference {
        path: difference.path.join("."),
        before: difference.before.as_ref().map(shown),
        after: difference.after.as_ref().map(shown),
    };
    differences(before, after).iter().map(line).collect()
}

/// What was typed: the document as text, and in which language.
fn typed(kind: Kind, form: &Fields) -> (Option<Draft>, String, &'static str) {
    if form.get("face") == "text" {
        return (None, form.get("text").to_owned(), "application/yaml");
    }
    let draft = Draft::from_fields(kind, form);
    let document = draft.document().to_string();
    (Some(draft), document, "application/json")
}

/// The form of a contract or plan came: it is saved, looked at, or only turned over.
pub(super) async fn submit(page: &Page, kind: Kind, is_tried: bool) -> Result<Answer, Fault> {
    let form = &page.form;
    let (draft, document, language) = typed(kind, form);
    let version = form.get("version").parse().unwrap_or(0);
    let id = form.get("id").to_owned();
    let text = draft
        .as_ref()
        .map_or_else(|| document.clone(), |draft| yaml(&draft.document()));
    let edited = Edited {
        id: id.clone(),
        version,
        is_text: draft.is_none(),
        draft,
        text,
        ..Edited::default()
    };
    let wanted = if is_tried { "try" } else { form.get("do") };
    match wanted {
        "as-text" => {
            show(
                page,
                kind,
                Edited {
                    is_text: true,
                    ..edited
                },
            )
            .await
        }
        "try" | "as-sentence" => look(page, kind, edited, (&document, language), wanted).await,
        "save" => {
            let path = format!("{}?reason={}", at(kind, &id), encoded(form.get("reason")));
            let body = Body {
                seen: Some(version),
                kind: language,
                text: &document,
            };
            match page.inner.ask(Method::PUT, &path, &body).await {
                Ok(_) => Ok(onward(&here(kind, &id))),
                Err(fault) if fault.code() == "conflict" => conflict(page, kind, edited).await,
                Err(fault) => refused(page, kind, edited, &fault).await,
            }
        }
        // A policy was added or taken away.
        _ => show(page, kind, edited).await,
    }
}

/// What a document would change, without changing it.
async fn look(
    page: &Page,
    kind: Kind,
    edited: Edited,
    (document, language): (&str, &'static str),
    wanted: &str,
) -> Result<Answer, Fault> {
    let path = format!("{}?dry_run=true", at(kind, &edited.id));
    let body = Body {
        seen: None,
        kind: language,
        text: document,
    };
    match page.inner.ask(Method::PUT, &path, &body).await {
        Ok(told) => {
            let present = page.inner.get(&at(kind, &edited.id)).await.ok();
            let before = present.as_ref().map(|item| &item["document"]);
            let different = different(before, Some(&told["document"]));
            let draft = Draft::from_document(kind, &told["document"]);
            let is_text = edited.is_text && wanted == "try";
            show(
                page,
                kind,
                Edited {
                    draft,
                    is_text,
                    messages: Some(Vec::new()),
                    different: Some(different),
                    ..edited
                },
            )
            .await
        }
        Err(fault) => refused(page, kind, edited, &fault).await,
    }
}

async fn refused(page: &Page, kind: Kind, edited: Edited, fault: &Fault) -> Result<Answer, Fault> {
    let status = fault.status();
    let edited = Edited {
        messages: Some(complaints(fault)),
        ..edited
    };
    Ok(show(page, kind, edited).await?.with(status))
}

/// What is wrong with a form, while it is typed.
pub(super) async fn check(page: &Page, kind: Kind) -> Result<Answer, Fault> {
    let (_, document, language) = typed(kind, &page.form);
    let path = format!("{}?dry_run=true", at(kind, page.form.get("id")));
    let body = Body {
        seen: None,
        kind: language,
        text: &document,
    };
    let list = match page.inner.ask(Method::PUT, &path, &body).await {
        Ok(_) => Vec::new(),
        Err(fault) => complaints(&fault),
    };
    Ok(html(messages(&list).into_string()))
}

fn complaints(fault: &Fault) -> Vec<Message> {
    let message = |text: &str| Message {
        field: String::new(),
        text: text.to_owned(),
    };
    let details: Vec<Message> = fault.details().map(message).collect();
    if details.is_empty() {
        vec![message(fault.message())]
    } else {
        details
    }
}

/// Somebody else was first: both changes, and nothing is lost.
async fn conflict(page: &Page, kind: Kind, edited: Edited) -> Result<Answer, Fault> {
    let changes = history(page, kind, &edited.id).await?;
    let mine = edited.draft.as_ref().map(Draft::document);
    let theirs = changes.into_iter().next().unwrap_or_default();
    let present = page.inner.get(&at(kind, &edited.id)).await.ok();
    let view = Problem {
        status: 409,
        sentence: format!(
            "You edited version {} of {}; version {} was saved meanwhile.",
            edited.version, edited.id, theirs.version
        ),
        advice: "Compare both, then edit the present version.".to_owned(),
        conflict: Some(Conflict {
            mine: different(
                present.as_ref().map(|item| &item["document"]),
                mine.as_ref(),
            ),
            theirs,
            text: edited.text,
        }),
    };
    Ok(html(page::problem(&page.frame, &view)).with(http::StatusCode::CONFLICT))
}

/// Deletes, goes back, or rolls out.
pub(super) async fn act(page: &Page, kind: Kind, what: &str) -> Result<Answer, Fault> {
    let (form, id) = (&page.form, page.query.get("id"));
    let seen = form.get("version").parse().ok();
    let reason = encoded(form.get("reason"));
    let (method, path, body, to) = match what {
        "delete" => (
            Method::DELETE,
            format!("{}?reason={reason}", at(kind, id)),
            String::new(),
            list_url(kind),
        ),
        "rollback" => {
            let to: u64 = form.get("to").parse().unwrap_or(0);
            (
                Method::POST,
                format!("{}/rollback?reason={reason}", at(kind, id)),
                json!({ "to": to }).to_string(),
                here(kind, id),
            )
        }
        _ => {
            let percent: u64 = form.get("percent").parse().unwrap_or(100);
            let body = json!({ "policy": form.get("policy"), "to": percent });
            (
                Method::POST,
                format!("{}/rollout?reason=rollout", at(kind, id)),
                body.to_string(),
                here(kind, id),
            )
        }
    };
    let body = Body {
        seen,
        ..Body::json(&body)
    };
    page.inner.ask(method, &path, &body).await?;
    Ok(onward(&to))
}

fn place(kind: Kind) -> &'static str {
    match kind {
        Kind::Contract => "/contracts",
        Kind::Plan => "/plans",
    }
}

fn at(kind: Kind, id: &str) -> String {
    format!("{}/{}", place(kind), encoded(id))
}

fn here(kind: Kind, id: &str) -> Url {
    let page = match kind {
        Kind::Contract => Url::to("/console/contract"),
        Kind::Plan => Url::to("/console/plan"),
    };
    page.query("id", id)
}

fn list_url(kind: Kind) -> Url {
    Url::to(match kind {
        Kind::Contract => "/console/contracts",
        Kind::Plan => "/console/plans",
    })
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(text).collect()
}
