//! What a customer sees behind a signed link: limits and usage of one identity, and nothing else.

use std::sync::Arc;

use serde_json::json;
use tollgate_console::chart::Tally;
use tollgate_console::page::{self, Closed, Customer, UsedRow};
use tollgate_serve::desk::Visit;
use tollgate_serve::shared::Shared;

use super::desk::{html, stranger};
use super::fit::{Fit, fitted};
use super::inner::SignedIn;
use super::people::states;
use super::told::{list, some};
use super::why::{Typed, explained, recent};
use super::{MY, figures, is_read_by_people};
use crate::access::links::{self, LinkError};
use crate::access::{Caller, ClientOrigin};
use crate::admin::Office;
use crate::answer::Reply;
use crate::fault::Fault;
use crate::time;

/// Answers programs with the identity, and browsers with the page.
pub(super) async fn mine(
    office: Arc<Office>,
    shared: Arc<Shared>,
    visit: &Visit,
) -> Result<Reply, Fault> {
    let path = visit.request.uri().path();
    let client = ClientOrigin::of(&office, &visit.peer, visit.request.headers());
    let signed = path.strip_prefix(MY).unwrap_or_default();
    let opened = links::open(&office.access.seal, signed, time::now_ns())?;
    let is_page = is_read_by_people(visit.request.headers());
    match opened {
        Ok(identity) if is_page => {
            let inner = SignedIn {
                office,
                shared,
                caller: Caller::looking("customer"),
                client,
            };
            shown(&inner, visit, &identity.to_string()).await
        }
        Ok(identity) => Ok(Reply::json(&json!({ "identity": identity.to_string() }))),
        Err(error) if is_page => Ok(closed(visit, error)),
        Err(error) => Err(Fault::forbidden(error.told())),
    }
}

async fn shown(inner: &SignedIn, visit: &Visit, identity: &str) -> Result<Reply, Fault> {
    let frame = stranger(&visit.request);
    let key = Typed::read(&page::as_part(identity))?;
    let mut told = explained(inner, &key, "").await?;
    // Where contracts match more than the identity, show the limits of the latest request.
    if told["matched"] == false
        && let Some(seen) = recent(inner, &key).await?.1.first()
    {
        told = explained(inner, &Typed::read(&seen.key)?, "").await?;
    }
    let used = figures::used(inner, &key.counted(inner)).await?;
    let used = used.unwrap_or_default();
    let states = states(&told, frame.now);
    let view = Customer {
        name: identity.to_owned(),
        plan: list(&told["assignments"]).find_map(|by| some(&by["plan"])),
        limits: states
            .into_iter()
            .flat_map(|state| state.policies)
            .collect(),
        today: most(&used, |row| row.today),
        month: most(&used, |row| row.month),
    };
    let cut = |view: &mut Customer, fit: &mut Fit| fit.cut(&mut view.limits);
    Ok(fitted(&frame, &view, cut, page::customer))
}

/// Each contract that binds a request counts it, so the largest count stands for all.
fn most(used: &[UsedRow], of: impl Fn(&UsedRow) -> Tally) -> Tally {
    let tallies = used.iter().map(of);
    tallies.max_by_key(|tally| tally.all()).unwrap_or_default()
}

fn closed(visit: &Visit, error: LinkError) -> Reply {
    let sentence = match error {
        LinkError::Expired => "The time of this link is up.",
        LinkError::Tampered => "This link is not whole: a part of it is missing or was changed.",
    };
    let view = Closed {
        sentence: sentence.to_owned(),
        advice: "Open it again as it was sent, or ask whoever gave it to you for another."
            .to_owned(),
    };
    let page = page::closed(&stranger(&visit.request), &view);
    html(page).with(http::StatusCode::FORBIDDEN)
}

/// The page for other failures: a customer cannot sign in.
pub(super) fn failed(visit: &Visit, fault: &Fault) -> Reply {
    let view = Closed {
        sentence: fault.message().to_owned(),
        advice: "Try again in a while.".to_owned(),
    };
    let page = page::closed(&stranger(&visit.request), &view);
    html(page).with(fault.status())
}
