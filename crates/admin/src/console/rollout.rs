//! Roll-outs from the page of a contract: confirmed first, and other edits stay.

use http::Method;
use serde_json::json;
use tollgate_console::editor::{Draft, DraftKind, yaml};
use tollgate_console::page::RolloutStep;
use tollgate_console::part::BindingMode;

use super::desk::{Done, PageRequest, onward};
use super::inner::{Body, encoded};
use super::thing::{Edited, at, conflict, edited, here, refused, show};
use super::told::{list, number};
use crate::answer::Reply;
use crate::fault::Fault;

/// Takes the step once it is confirmed. Other edits in the form stay.
pub(super) async fn rollout(page: &mut PageRequest, kind: DraftKind) -> Result<Reply, Fault> {
    let (edited, ..) = edited(page, kind);
    let step = page.form.get("rollout").split_once(':');
    let step = step.and_then(|(percent, policy)| Some((percent.parse::<u8>().ok()?, policy)));
    let Some((percent @ 0..=100, policy)) = step else {
        return Err(Fault::invalid(
            "a step is a percentage and a policy, as `10:burst`",
        ));
    };
    let reason = page.form.get("rollout.reason");
    if reason.is_empty() {
        let asked = RolloutStep {
            policy: policy.to_owned(),
            mode: match percent {
                0 => BindingMode::Shadow,
                100 => BindingMode::Enforce,
                percent => BindingMode::Percent(percent),
            },
        };
        let asked = Some(asked);
        return show(page, kind, Edited { asked, ..edited }).await;
    }
    let place = at(kind, &edited.id);
    let before = page.inner.get(&place).await?;
    let body = json!({ "policy": policy, "to": percent }).to_string();
    let body = Body {
        seen: Some(edited.version),
        ..Body::json(&body)
    };
    let path = format!("{place}/rollout?reason={}", encoded(reason));
    let done = match page.inner.ask(Method::POST, &path, &body).await {
        Ok(done) => Done::of(&done),
        Err(fault) if fault.code() == "conflict" => return conflict(page, kind, edited).await,
        Err(fault) => return refused(page, kind, edited, &fault).await,
    };
    let is_saved = |draft: &Draft| draft.document() == before["document"];
    if edited.draft.as_ref().is_some_and(is_saved) || edited.text == yaml(&before["document"]) {
        return Ok(onward(&done.on(&here(kind, &edited.id))));
    }
    let after = page.inner.get(&place).await?;
    let step = list(&after["document"]["policies"])
        .find(|of| of["name"] == policy)
        .cloned();
    page.frame.notice = Some(done.notice());
    // A text keeps the version that it began with; saving it then reports a conflict.
    let (version, draft) = match edited.draft {
        None => (edited.version, None),
        Some(draft) => {
            let draft = draft.rolled_out(policy, &step.unwrap_or_default());
            (number(&after["version"]), Some(draft))
        }
    };
    let edited = Edited {
        version,
        draft,
        ..edited
    };
    show(page, kind, edited).await
}
