//! Actions for a key and its entries: refund or charge tokens, change the plan, ban, make a link for the customer.

use http::Method;
use serde_json::{Value, json};
use tollgate_console::editor::{AssignmentDraft, Fields};
use tollgate_console::page::as_part;
use tollgate_limit::Cost;

use super::desk::{Done, PageRequest, onward};
use super::inner::{Body, encoded};
use super::told::text;
use super::why::{Typed, here, why};
use crate::answer::Reply;
use crate::fault::Fault;
use crate::time;

pub(super) async fn act(page: &PageRequest, what: &str) -> Result<Reply, Fault> {
    let form = &page.form;
    let identity = form.get("identity");
    let done = match what {
        "assign" => assign(page, form).await?,
        "unassign" => remove(page, "/assignments", form).await?,
        "ban" => ban(page, form).await?,
        "unban" => remove(page, "/bans", form).await?,
        "reset" | "refund" | "charge" => key(page, what, form).await?,
        "link" => return link(page, identity, form).await,
        _ => return Err(Fault::not_found("nothing of that kind can be done here")),
    };
    let key = match form.get("key") {
        "" => as_part(identity),
        key => key.to_owned(),
    };
    Ok(onward(&Done::of(&done).on(&here(&key))))
}

/// Removes an assignment or a ban.
async fn remove(page: &PageRequest, place: &str, form: &Fields) -> Result<Value, Fault> {
    let (id, reason) = (encoded(form.get("id")), encoded(form.get("reason")));
    let body = Body {
        seen: form.get("version").parse().ok(),
        ..Body::json("")
    };
    page.inner
        .ask(
            Method::DELETE,
            &format!("{place}/{id}?reason={reason}"),
            &body,
        )
        .await
}

async fn key(page: &PageRequest, what: &str, form: &Fields) -> Result<Value, Fault> {
    let key = Typed::read(form.get("key"))?;
    let cost = match form.get("cost") {
        "" => 1,
        text => text.parse::<u64>().map_err(|_| {
            let most = Cost::MAX.tokens();
            let what = format!("“{text}” is no cost: write a whole number from 0 to {most}, as 10");
            Fault::invalid(what)
        })?,
    };
    let body = json!({ "key": key.json(), "cost": cost, "reason": form.get("reason") });
    page.inner
        .ask(
            Method::POST,
            &format!("/keys/{what}"),
            &Body::json(&body.to_string()),
        )
        .await
}

async fn ban(page: &PageRequest, form: &Fields) -> Result<Value, Fault> {
    let (identity, reason) = (form.get("identity"), form.get("reason"));
    let mut ban = json!({ "identity": identity });
    if !reason.is_empty() {
        ban["reason"] = json!(reason);
    }
    if let Some(until) = moment("until", form.get("until"))? {
        ban["until"] = json!(until);
    }
    let path = format!("/bans/{}", encoded(identity));
    // An expired one is replaced.
    let present = match page.inner.get(&path).await {
        Ok(item) => item["version"].as_u64(),
        Err(fault) if fault.code() == "not_found" => Some(0),
        Err(fault) => return Err(fault),
    };
    let text = ban.to_string();
    let body = Body {
        seen: present,
        ..Body::json(&text)
    };
    page.inner
        .ask(
            Method::PUT,
            &format!("{path}?reason={}", encoded(reason)),
            &body,
        )
        .await
}

/// A time from a form, in UTC: with or without seconds, and with or without its zone.
fn moment(name: &str, typed: &str) -> Result<Option<String>, Fault> {
    if typed.is_empty() {
        return Ok(None);
    }
    let written = typed.trim().replacen(' ', "T", 1);
    let forms = [
        written.clone(),
        format!("{written}Z"),
        format!("{written}:00Z"),
        format!("{written}T00:00:00Z"),
    ];
    let found = forms.iter().find_map(|form| time::read(form));
    let wrong = || {
        Fault::invalid(format!(
            "“{typed}” is no time: write `{name}` in UTC, as 2026-12-31T23:00 or 2026-12-31"
        ))
    };
    found.map(|nanos| Some(time::told(nanos))).ok_or_else(wrong)
}

/// `None` for an empty field.
pub(super) fn days(form: &Fields) -> Result<Option<u64>, Fault> {
    let typed = form.get("days");
    let wrong = |_| Fault::invalid(format!("“{typed}” is no number of days: write it as 90"));
    if typed.is_empty() {
        return Ok(None);
    }
    typed.parse().map(Some).map_err(wrong)
}

async fn link(page: &PageRequest, identity: &str, form: &Fields) -> Result<Reply, Fault> {
    let days = days(form)?;
    let path = format!("/identities/{}/link", encoded(identity));
    let body = json!({ "days": days }).to_string();
    let made = page
        .inner
        .ask(Method::POST, &path, &Body::json(&body))
        .await?;
    why(page, form.get("key"), Some(text(&made["path"]))).await
}

async fn assign(page: &PageRequest, form: &Fields) -> Result<Value, Fault> {
    let draft = AssignmentDraft::from_fields(form);
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
    let mut document = draft.document();
    for name in ["from", "until"] {
        if let Some(moment) = moment(name, draft.word(name))? {
            document[name] = moment.into();
        }
    }
    let document = document.to_string();
    let body = Body {
        seen: Some(seen),
        ..Body::json(&document)
    };
    page.inner.ask(Method::PUT, &path, &body).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_and_browsers_write_them() {
        let read = |text| moment("until", text).ok().flatten();
        for text in [
            "2026-12-31T23:00:00Z",
            "2026-12-31T23:00",
            "2026-12-31 23:00:00",
        ] {
            assert_eq!(
                read(text).as_deref(),
                Some("2026-12-31T23:00:00Z"),
                "{text}"
            );
        }
        assert_eq!(read("2026-12-31").as_deref(), Some("2026-12-31T00:00:00Z"));
        assert_eq!(moment("until", "").ok(), Some(None));
        let wrong = moment("from", "31.12.2026").unwrap_err();
        assert!(
            wrong
                .message()
                .contains("`from` in UTC, as 2026-12-31T23:00"),
            "{}",
            wrong.message()
        );
    }
}
