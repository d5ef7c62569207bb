//! One contract or plan: the editor, the handling of its form, and the preview of a change.

use http::Method;
use serde_json::{Value, json};
use tollgate_console::chart::{Tally, Traffic, Tried};
use tollgate_console::editor::{Draft, DraftKind, Editor, Fields, chip, yaml};
use tollgate_console::page::{self, Conflict, ProblemPage, Reach, RolloutStep, Thing};
use tollgate_console::part::{ChangeRow, Chip, Difference, FormError, messages};
use tollgate_console::{Url, bytes_shown};

use super::desk::{Done, PageRequest, html, onward};
use super::figures;
use super::fit::{Fit, fitted};
use super::inner::{Body, encoded};
use super::list::place;
use super::told::{at_ms, change, different, items, list, number, text};
use crate::answer::Reply;
use crate::fault::Fault;

pub(super) async fn one(page: &PageRequest, kind: DraftKind) -> Result<Reply, Fault> {
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
    let mut item = page.inner.get(&at(kind, id)).await?;
    // Offers to make a contract follow this plan; nothing changes until it is saved.
    let plan = page.query.get("plan");
    if !plan.is_empty() && kind == DraftKind::Contract {
        item["document"]["plan"] = plan.into();
    }
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

#[derive(Default)]
pub(super) struct Edited {
    pub(super) id: String,
    pub(super) version: u64,
    pub(super) draft: Option<Draft>,
    pub(super) text: String,
    pub(super) is_text: bool,
    pub(super) messages: Option<Vec<FormError>>,
    pub(super) different: Option<Vec<Difference>>,
    pub(super) tried: Option<Result<Tried, String>>,
    /// The step of a roll-out that waits for confirmation.
    pub(super) asked: Option<RolloutStep>,
}

pub(super) async fn show(
    page: &PageRequest,
    kind: DraftKind,
    edited: Edited,
) -> Result<Reply, Fault> {
    let Edited {
        id,
        version,
        draft,
        text,
        is_text,
        messages,
        different,
        tried,
        asked,
    } = edited;
    let (tried, untried) = match tried {
        None => (None, None),
        Some(Ok(tried)) => (Some(tried), None),
        Some(Err(why)) => (None, Some(why)),
    };
    let is_new = version == 0 && page.frame.read_only.is_none();
    let mut view = Thing {
        id: id.clone(),
        edited: different,
        tried,
        untried,
        asked,
        ..Thing::default()
    };
    if !is_new {
        surround(page, kind, &mut view).await?;
    }
    view.editor = Editor {
        kind,
        id,
        version,
        draft,
        text,
        is_text,
        messages,
        reason: page.form.get("reason").to_owned(),
        plans: ids(page, "/plans?limit=500").await?,
    };
    Ok(fitted(&page.frame, &view, cut, page::thing))
}

/// Leaves out rows that do not fit. The document is shown whole: as text if necessary.
fn cut(view: &mut Thing, fit: &mut Fit) {
    fit.cut(&mut view.history);
    fit.cut(&mut view.rollout);
    fit.cut(&mut view.editor.plans);
    view.edited.iter_mut().for_each(|edited| fit.cut(edited));
    if let Some(reach) = &mut view.reach {
        fit.cut(&mut reach.contracts);
        fit.cut(&mut reach.plans);
    }
    view.editor.is_text |= fit.is_least();
}

/// Fills in the parts around the editor of an existing object.
async fn surround(page: &PageRequest, kind: DraftKind, view: &mut Thing) -> Result<(), Fault> {
    view.history = history(page, kind, &view.id).await?;
    match kind {
        DraftKind::Contract => {
            if let Some(hour) = figures::hour(&page.inner, &view.id).await? {
                view.shadowed = Some(hour.shadowed);
                view.traffic = Some(hour.traffic);
            }
            let saved = page.inner.get(&at(kind, &view.id)).await?;
            let step = |Chip { name, mode, .. }| RolloutStep { policy: name, mode };
            let policies = list(&saved["document"]["policies"]);
            view.rollout = policies.map(|policy| step(chip(policy))).collect();
        }
        DraftKind::Plan => {
            let of = |place: &str| format!("{place}?limit=50&plan={}", encoded(&view.id));
            let assigned = figures::assigned(&page.inner, vec![view.id.clone()]).await?;
            view.reach = Some(Reach {
                contracts: ids(page, &of("/contracts")).await?,
                plans: ids(page, &of("/plans")).await?,
                assignments: assigned.values().sum(),
            });
        }
    }
    Ok(())
}

/// The ids of a list to choose from: as many as fit.
pub(super) async fn ids(page: &PageRequest, path: &str) -> Result<Vec<String>, Fault> {
    let told = page.inner.get(path).await?;
    let mut bytes = 0;
    let fits = |id: &String| {
        bytes += bytes_shown(id);
        bytes <= CHOICES_BYTES_MAX
    };
    let ids = items(&told).map(|item| text(&item["id"]));
    Ok(ids.take_while(fits).collect())
}

async fn history(page: &PageRequest, kind: DraftKind, id: &str) -> Result<Vec<ChangeRow>, Fault> {
    // A file has no history.
    if page.frame.read_only.is_some() {
        return Ok(Vec::new());
    }
    let path = format!("{}/history?limit=20", at(kind, id));
    let told = page.inner.get(&path).await?;
    Ok(items(&told).map(change).collect())
}

/// The document as text, and its content type.
fn typed(kind: DraftKind, form: &Fields) -> (Option<Draft>, String, &'static str) {
    if form.get("face") == "text" {
        return (None, form.get("text").to_owned(), "application/yaml");
    }
    let draft = Draft::from_fields(kind, form);
    let document = draft.document().to_string();
    (Some(draft), document, "application/json")
}

/// The editor's state after a form, its document, and its content type.
pub(super) fn edited(page: &PageRequest, kind: DraftKind) -> (Edited, String, &'static str) {
    let form = &page.form;
    let (draft, document, language) = typed(kind, form);
    let text = draft
        .as_ref()
        .map_or_else(|| document.clone(), |draft| yaml(&draft.document()));
    let edited = Edited {
        id: form.get("id").to_owned(),
        version: form.get("version").parse().unwrap_or(0),
        is_text: draft.is_none(),
        draft,
        text,
        ..Edited::default()
    };
    (edited, document, language)
}

/// Saves a form, previews it, or switches between form and text.
pub(super) async fn submit(
    page: &PageRequest,
    kind: DraftKind,
    is_tried: bool,
) -> Result<Reply, Fault> {
    let form = &page.form;
    let (edited, document, language) = edited(page, kind);
    let (id, version) = (edited.id.clone(), edited.version);
    let wanted = if is_tried { "try" } else { form.get("do") };
    if id.is_empty() && matches!(wanted, "try" | "save") {
        return refused(page, kind, edited, &nameless()).await;
    }
    let body = Body {
        seen: None,
        kind: language,
        text: &document,
    };
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
        "try" | "as-sentence" => look(page, kind, edited, &body, wanted).await,
        "save" => {
            let path = format!("{}?reason={}", at(kind, &id), encoded(form.get("reason")));
            let body = Body {
                seen: Some(version),
                ..body
            };
            match page.inner.ask(Method::PUT, &path, &body).await {
                Ok(done) => Ok(onward(&Done::of(&done).on(&here(kind, &id)))),
                Err(fault) if fault.code() == "conflict" => conflict(page, kind, edited).await,
                Err(fault) => refused(page, kind, edited, &fault).await,
            }
        }
        // A policy was added or removed.
        _ => show(page, kind, edited).await,
    }
}

/// A dry run of saving.
async fn look(
    page: &PageRequest,
    kind: DraftKind,
    edited: Edited,
    body: &Body<'_>,
    wanted: &str,
) -> Result<Reply, Fault> {
    let path = format!("{}?dry_run=true", at(kind, &edited.id));
    match page.inner.ask(Method::PUT, &path, body).await {
        Ok(told) => {
            let present = page.inner.get(&at(kind, &edited.id)).await.ok();
            let before = present.as_ref().map(|item| &item["document"]);
            let different = different(before, Some(&told["document"]));
            let draft = Draft::from_document(kind, &told["document"]);
            let is_tried = wanted == "try";
            let tried = if is_tried {
                Some(attempt(page, kind, &edited.id, body).await?)
            } else {
                None
            };
            let edited = Edited {
                draft,
                is_text: edited.is_text && is_tried,
                messages: Some(Vec::new()),
                different: Some(different),
                tried,
                ..edited
            };
            show(page, kind, edited).await
        }
        Err(fault) => refused(page, kind, edited, &fault).await,
    }
}

/// The preview against the requests of the last hour, or why there is none.
async fn attempt(
    page: &PageRequest,
    kind: DraftKind,
    id: &str,
    body: &Body<'_>,
) -> Result<Result<Tried, String>, Fault> {
    let path = format!("{}/try?minutes=60", at(kind, id));
    let told = match page.inner.ask(Method::POST, &path, body).await {
        Ok(told) => told,
        Err(fault) if fault.code() == "not_kept" => return Ok(Err(fault.message().to_owned())),
        Err(fault) => return Err(fault),
    };
    let requests = number(&told["requests"]);
    if requests == 0 {
        return Ok(Err(
            "No request of the last hour is remembered, so nothing can be tried.".to_owned(),
        ));
    }
    let buckets = told["buckets"].as_array().map_or(&[][..], Vec::as_slice);
    let first = buckets.first().unwrap_or(&Value::Null);
    let traffic = |when: &str| Traffic {
        from: at_ms(number(&first["at_ms"])),
        step_ms: number(&first["length_ms"]),
        points: buckets
            .iter()
            .map(|bucket| {
                let count = |name: &str| number(&bucket[format!("{name}_{when}")]);
                Tally {
                    allowed: count("allowed"),
                    delayed: count("delayed"),
                    denied: count("denied"),
                }
            })
            .collect(),
        limit: None,
    };
    let share = match number(&told["one_in"]) {
        0 | 1 => String::new(),
        many => format!(" of one in {many} keys"),
    };
    Ok(Ok(Tried {
        before: traffic("before"),
        after: traffic("after"),
        source: format!(
            "{requests} requests{share} of the last hour, keys by the contract as it is"
        ),
    }))
}

pub(super) async fn refused(
    page: &PageRequest,
    kind: DraftKind,
    edited: Edited,
    fault: &Fault,
) -> Result<Reply, Fault> {
    let status = fault.status();
    let edited = Edited {
        messages: Some(complaints(fault)),
        ..edited
    };
    Ok(show(page, kind, edited).await?.with(status))
}

/// Errors in a form while the user types.
pub(super) async fn check(page: &PageRequest, kind: DraftKind) -> Result<Reply, Fault> {
    let (_, document, language) = typed(kind, &page.form);
    if page.form.get("id").is_empty() {
        return Ok(html(messages(&complaints(&nameless())).into_string()));
    }
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

fn nameless() -> Fault {
    Fault::invalid("it needs an id: a name that nothing else of its kind has")
}

fn complaints(fault: &Fault) -> Vec<FormError> {
    let message = |text: &str| FormError {
        field: String::new(),
        text: text.to_owned(),
    };
    let details: Vec<FormError> = fault.details().map(message).collect();
    if details.is_empty() {
        vec![message(fault.message())]
    } else {
        details
    }
}

/// Another change was saved first: shows both, so that no edit is lost.
pub(super) async fn conflict(
    page: &PageRequest,
    kind: DraftKind,
    edited: Edited,
) -> Result<Reply, Fault> {
    let changes = history(page, kind, &edited.id).await?;
    let mine = edited.draft.as_ref().map(Draft::document);
    let theirs = changes.into_iter().next().unwrap_or_default();
    let present = page.inner.get(&at(kind, &edited.id)).await.ok();
    let view = ProblemPage {
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
        ..ProblemPage::default()
    };
    Ok(html(page::problem(&page.frame, &view)).with(http::StatusCode::CONFLICT))
}

/// Deletes, or rolls back.
pub(super) async fn act(page: &PageRequest, kind: DraftKind, what: &str) -> Result<Reply, Fault> {
    let (form, id) = (&page.form, page.query.get("id"));
    let seen = form.get("version").parse().ok();
    let reason = encoded(form.get("reason"));
    let (method, path, body, to) = if what == "delete" {
        let path = format!("{}?reason={reason}", at(kind, id));
        (Method::DELETE, path, String::new(), list_url(kind))
    } else {
        let to: u64 = form.get("to").parse().unwrap_or(0);
        let path = format!("{}/rollback?reason={reason}", at(kind, id));
        let body = json!({ "to": to }).to_string();
        (Method::POST, path, body, here(kind, id))
    };
    let body = Body {
        seen,
        ..Body::json(&body)
    };
    let done = page.inner.ask(method, &path, &body).await?;
    Ok(onward(&Done::of(&done).on(&to)))
}

pub(super) fn at(kind: DraftKind, id: &str) -> String {
    format!("{}/{}", place(kind), encoded(id))
}

pub(super) fn here(kind: DraftKind, id: &str) -> Url {
    let page = match kind {
        DraftKind::Contract => Url::to("/console/contract"),
        DraftKind::Plan => Url::to("/console/plan"),
    };
    page.query("id", id)
}

fn list_url(kind: DraftKind) -> Url {
    Url::to(match kind {
        DraftKind::Contract => "/console/contracts",
        DraftKind::Plan => "/console/plans",
    })
}

/// Bytes of names in menus; a page has each up to four times.
const CHOICES_BYTES_MAX: usize = 8_000;
