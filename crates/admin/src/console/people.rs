//! Identities: search, why one is blocked, and what can be done for it.

use http::Method;
use serde_json::{Value, json};
use tollgate_console::editor::{AssignmentDraft, Fields};
use tollgate_console::page::{
    self, AssignmentRow, Blocked, Identities, Identity, IdentityRow, KeyState, Spent,
};
use tollgate_console::part::Mode;
use tollgate_console::{Moment, Url};

use super::desk::{Page, html, moment, onward};
use super::inner::{Body, encoded};
use super::things::text;
use crate::answer::Answer;
use crate::fault::Fault;

/// Those whose assignment begins with what is searched for.
pub(super) async fn search(page: &Page) -> Result<Answer, Fault> {
    let query = page.query.get("q");
    let mut view = Identities {
        query: query.to_owned(),
        ..Identities::default()
    };
    if page.frame.read_only.is_none() {
        let after = page.query.get("after");
        let after = if after.is_empty() {
            String::new()
        } else {
            format!("&after={}", encoded(after))
        };
        let told = page
            .inner
            .get(&format!(
                "/assignments?limit=50&prefix={}{after}",
                encoded(query)
            ))
            .await?;
        let row = |item: &Value| {
            let document = &item["document"];
            IdentityRow {
                identity: text(&document["identity"]),
                plan: document["plan"].as_str().map(str::to_owned),
                until: moment(&document["until"]),
                is_blocked: false,
                note: text(&document["note"]),
            }
        };
        view.rows = told["items"]
            .as_array()
            .into_iter()
            .flatten()
            .map(row)
            .collect();
        view.next = told["next"].as_str().map(str::to_owned);
    }
    Ok(html(page::identities(&page.frame, &view)))
}

/// One identity.
pub(super) async fn one(page: &Page) -> Result<Answer, Fault> {
    let identity = page.query.get("id");
    let told = page
        .inner
        .get(&format!("/keys/explain?key={}", encoded(identity)))
        .await?;
    let items = assignments(page, identity).await?;
    let first = items.first().map(|item| &item["document"]);
    let view = Identity {
        identity: identity.to_owned(),
        blocked: blocked(&told, page.frame.now),
        is_banned: None,
        states: states(&told, page.frame.now),
        decisions: Vec::new(),
        draft: first
            .and_then(AssignmentDraft::from_document)
            .unwrap_or_default(),
        assignments: items.iter().map(row).collect(),
        plans: ids(page, "/plans?limit=500").await?,
        contracts: ids(page, "/contracts?limit=500").await?,
        customer: None,
    };
    Ok(html(page::identity(&page.frame, &view)))
}

async fn assignments(page: &Page, identity: &str) -> Result<Vec<Value>, Fault> {
    if page.frame.read_only.is_some() {
        return Ok(Vec::new());
    }
    let path = format!("/assignments?limit=50&identity={}", encoded(identity));
    let told = page.inner.get(&path).await?;
    Ok(told["items"].as_array().cloned().unwrap_or_default())
}

async fn ids(page: &Page, path: &str) -> Result<Vec<String>, Fault> {
    let told = page.inner.get(path).await?;
    let items = told["items"].as_array().into_iter().flatten();
    Ok(items.map(|item| text(&item["id"])).collect())
}

fn row(item: &Value) -> AssignmentRow {
    let document = &item["document"];
    let overrides = document["overrides"].as_array().into_iter().flatten();
    let overrides: Vec<String> = overrides.map(Value::to_string).collect();
    AssignmentRow {
        id: text(&item["id"]),
        version: item["version"].as_u64().unwrap_or(0),
        plan: document["plan"].as_str().map(str::to_owned),
        contract: document["contract"].as_str().map(str::to_owned),
        from: moment(&document["from"]),
        until: moment(&document["until"]),
        overrides: overrides.join(", "),
        note: text(&document["note"]),
    }
}

/// Why the next request would be refused, by the policy that refuses for longest.
fn blocked(told: &Value, now: Moment) -> Option<Blocked> {
    if told["allowed"] != false {
        return None;
    }
    let policies = told["policies"].as_array().into_iter().flatten();
    let refusing =
        policies.filter(|policy| policy["allowed"] == false && policy["enforced"] == true);
    let worst =
        refusing.max_by_key(|policy| policy["retry_after_ms"].as_u64().unwrap_or(u64::MAX))?;
    let left = worst["retry_after_ms"].as_i64();
    Some(Blocked {
        why: format!(
            "policy {} of contract {} has {} left of {}",
            text(&worst["policy"]),
            text(&worst["contract"]),
            worst["remaining"],
            worst["capacity"]
        ),
        until: left.map(|left| now.plus(left)),
    })
}

fn states(told: &Value, now: Moment) -> Vec<KeyState> {
    let mut states: Vec<KeyState> = Vec::new();
    for policy in told["policies"].as_array().into_iter().flatten() {
        let contract = text(&policy["contract"]);
        if states.last().is_none_or(|state| state.contract != contract) {
            states.push(KeyState {
                contract,
                ..KeyState::default()
            });
        }
        let number = |name: &str| policy[name].as_u64().unwrap_or(0);
        let spent = Spent {
            policy: text(&policy["policy"]),
            text: String::new(),
            spent: number("capacity").saturating_sub(number("remaining")),
            limit: number("capacity"),
            full: policy["reset_after_ms"]
                .as_i64()
                .filter(|left| *left > 0)
                .map(|left| now.plus(left)),
            mode: if policy["enforced"] == true {
                Mode::Enforce
            } else {
                Mode::Shadow
            },
        };
        if let Some(state) = states.last_mut() {
            state.policies.push(spent);
        }
    }
    states
}

/// Does something for an identity.
pub(super) async fn act(page: &Page, what: &str) -> Result<Answer, Fault> {
    let form = &page.form;
    let (identity, reason) = (form.get("identity"), form.get("reason"));
    match what {
        "assign" => assign(page, form).await?,
        "unassign" => {
            let path = format!(
                "/assignments/{}?reason={}",
                encoded(form.get("id")),
                encoded(reason)
            );
            let body = Body {
                seen: form.get("version").parse().ok(),
                ..Body::json("")
            };
            page.inner.ask(Method::DELETE, &path, &body).await?;
        }
        "reset" | "refund" => {
            let (name, value) = identity.split_once('=').ok_or_else(|| {
                Fault::invalid("an identity is an entry and its value, as user=42")
            })?;
            let cost: u64 = form.get("cost").parse().unwrap_or(1);
            let body =
                json!({ "key": { name: value }, "cost": cost, "reason": reason }).to_string();
            page.inner
                .ask(Method::POST, &format!("/keys/{what}"), &Body::json(&body))
                .await?;
        }
        _ => return Err(Fault::not_found("nothing of that kind can be done here")),
    }
    Ok(onward(&Url::to("/console/identity").query("id", identity)))
}

async fn assign(page: &Page, form: &Fields) -> Result<(), Fault> {
    let draft = AssignmentDraft::from_fields(form);
    let document = draft.document();
    let id = match (draft.word("id"), draft.word("contract")) {
        ("", "") => draft.word("identity").to_owned(),
        ("", contract) => format!("{}@{contract}", draft.word("identity")),
        (id, _) => id.to_owned(),
    };
    let seen = form.get("version").parse().unwrap_or(0);
    let path = format!(
        "/assignments/{}?reason={}",
        encoded(&id),
        encoded(form.get("reason"))
    );
    let document = document.to_string();
    let body = Body {
        seen: Some(seen),
        ..Body::json(&document)
    };
    page.inner.ask(Method::PUT, &path, &body).await?;
    Ok(())
}
