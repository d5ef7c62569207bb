//! The console: signing in and out, and pages that are filled by internal calls of the API.
//!
//! Not here: the looks of pages (`tollgate-console`), and the meaning of objects (`resource`).

mod acts;
mod cluster;
mod customer;
mod desk;
mod figures;
mod fit;
mod house;
mod inner;
mod list;
mod people;
mod ranks;
mod rollout;
mod tail;
mod thing;
mod told;
mod why;

use std::sync::Arc;

use http::header::{ACCEPT, LOCATION, SET_COOKIE};
use http::{HeaderMap, Method, StatusCode};
use tollgate_console::assets::Asset;
use tollgate_console::editor::{DraftKind, Fields};
use tollgate_console::page::{self, Login, ProblemPage};
use tollgate_console::{PageFrame, Theme, Url};
use tollgate_serve::desk::Visit;
use tollgate_serve::shared::Shared;

use crate::access::{self, ClientOrigin, origin, sessions, signins};
use crate::admin::Office;
use crate::answer::Reply;
use crate::fault::Fault;
use crate::query::Query;
use crate::route::is_change;
use desk::{PageRequest, file, html, onward, stranger};
use inner::SignedIn;

/// Answers below `/console` and `/my`; browsers get a page where programs get JSON.
pub(crate) async fn answer(
    office: Arc<Office>,
    shared: Arc<Shared>,
    visit: &Visit,
) -> Result<Reply, Fault> {
    let headers = visit.request.headers();
    let answered = dispatch(office, shared, visit).await;
    match answered {
        Err(fault) if is_read_by_people(headers) => Ok(told(visit, &fault)),
        answered => answered,
    }
}

/// Whether a path needs no sign-in: the sign-in page, and assets.
pub(crate) fn is_open(path: &str) -> bool {
    let is_way = matches!(
        path,
        "/console/login" | "/console/logout" | "/console/theme"
    );
    is_way || path.starts_with("/console/static/") || path.starts_with(MY)
}

/// A refusal before the body is read, as a page or as JSON.
pub(crate) fn refusal(visit: &Visit, fault: Fault) -> Reply {
    if is_read_by_people(visit.request.headers()) {
        return told(visit, &fault);
    }
    fault.answer()
}

async fn dispatch(office: Arc<Office>, shared: Arc<Shared>, visit: &Visit) -> Result<Reply, Fault> {
    let request = &visit.request;
    let path = request.uri().path();
    if is_change(request.method()) {
        origin::check(request)?;
    }
    if let Some(asset) = path.strip_prefix("/console/static/").and_then(Asset::find) {
        return Ok(file(asset));
    }
    match (request.method(), path) {
        (&Method::POST, "/console/login") => login(&office, visit).await,
        (&Method::GET | &Method::HEAD, "/console/login") => {
            let shut = (!office.lets_in()).then(|| Fault::unauthorized(access::NOBODY));
            Ok(door(visit, shut.as_ref()))
        }
        (&Method::POST, "/console/logout") => logout(&office, visit).await,
        (&Method::POST, "/console/theme") => Ok(theme(visit)),
        (_, "/console/login" | "/console/logout" | "/console/theme") => {
            Err(Fault::wrong_method("POST"))
        }
        (&Method::GET | &Method::HEAD, path) if path.starts_with(MY) => {
            customer::mine(office, shared, visit).await
        }
        (method, path) => {
            let client = ClientOrigin::of(&office, &visit.peer, request.headers());
            let caller = access::caller(&office, request.headers(), client).await?;
            let renewed = caller.session.as_ref();
            let renewed = renewed
                .and_then(|session| sessions::renewed(&office, session, visit.peer.is_sealed));
            let inner = SignedIn {
                office,
                shared,
                caller,
                client,
            };
            let mut page = PageRequest::new(inner, request).await?;
            let is_sent = *method == Method::POST;
            let rest = path.strip_prefix("/console").unwrap_or_default();
            let answered = if is_sent {
                sent(&mut page, rest).await
            } else {
                looked_at(&page, rest).await
            };
            let answered = match answered {
                Err(fault) if is_read_by_people(request.headers()) => {
                    Ok(problem(&page.frame, &fault, &page.form))
                }
                answered => answered,
            };
            answered.map(|answer| answer.lines(SET_COOKIE, renewed.as_deref()))
        }
    }
}

/// `GET`.
async fn looked_at(page: &PageRequest, path: &str) -> Result<Reply, Fault> {
    match path {
        "" | "/" => house::overview(page).await,
        "/contracts" => list::things(page, DraftKind::Contract).await,
        "/contract" => thing::one(page, DraftKind::Contract).await,
        "/plans" => list::things(page, DraftKind::Plan).await,
        "/plan" => thing::one(page, DraftKind::Plan).await,
        "/bans" => list::bans(page).await,
        "/identities" => people::search(page).await,
        "/why" => why::why(page, page.query.get("key"), None).await,
        "/top" => ranks::top(page).await,
        "/tail" => tail::tail(page).await,
        "/usage" => ranks::usage(page).await,
        "/usage/export" => ranks::export(page).await,
        "/cluster" => cluster::cluster(page).await,
        "/audit" => house::audit(page).await,
        "/settings" => house::settings(page, None).await,
        _ => Err(Fault::not_found("there is no such page")),
    }
}

/// `POST`.
async fn sent(page: &mut PageRequest, path: &str) -> Result<Reply, Fault> {
    let acted = path.strip_prefix("/identity/");
    if let Some(what) = acted.or(path.strip_prefix("/key/")) {
        return acts::act(page, what).await;
    }
    let (kind, rest) = match (path.strip_prefix("/contract"), path.strip_prefix("/plan")) {
        (Some(rest), _) => (DraftKind::Contract, rest),
        (_, Some(rest)) => (DraftKind::Plan, rest),
        _ if path == "/settings/token" => return house::make(page).await,
        _ if path == "/settings/revoke" => return house::revoke(page).await,
        _ => return Err(Fault::not_found("nothing of that kind can be done here")),
    };
    match rest {
        "" => thing::submit(page, kind, false).await,
        "/try" => thing::submit(page, kind, true).await,
        "/check" => thing::check(page, kind).await,
        "/rollout" => rollout::rollout(page, kind).await,
        "/delete" | "/rollback" => thing::act(page, kind, rest.trim_start_matches('/')).await,
        _ => Err(Fault::not_found("nothing of that kind can be done here")),
    }
}

/// Whether the client is a browser.
fn is_read_by_people(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|line| line.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("text/html"))
}

/// A refusal as a page: sign-in if the caller is unknown, otherwise the problem.
fn told(visit: &Visit, fault: &Fault) -> Reply {
    let request = &visit.request;
    let path = request.uri().path();
    if path.starts_with(MY) {
        return customer::failed(visit, fault);
    }
    if path == "/console/login" {
        return door(visit, Some(fault)).with(fault.status());
    }
    if fault.status() == StatusCode::UNAUTHORIZED && *request.method() == Method::GET {
        let next = request
            .uri()
            .path_and_query()
            .map_or(path, |whole| whole.as_str());
        return onward(&Url::to("/console/login").query("next", next));
    }
    problem(&stranger(request), fault, &Fields::default())
}

fn problem(frame: &PageFrame, fault: &Fault, form: &Fields) -> Reply {
    let view = ProblemPage {
        status: fault.status().as_u16(),
        sentence: fault.message().to_owned(),
        advice: fault.details().collect::<Vec<_>>().join("; "),
        typed: form.typed(),
        ..ProblemPage::default()
    };
    html(page::problem(frame, &view)).with(fault.status())
}

/// The sign-in page.
fn door(visit: &Visit, fault: Option<&Fault>) -> Reply {
    let query = visit.request.uri().query().unwrap_or("");
    let query = Fields::parse(query);
    let view = Login {
        complaint: fault.map(|fault| fault.message().to_owned()),
        next: query.get("next").to_owned(),
    };
    let frame: PageFrame = stranger(&visit.request);
    html(page::login(&frame, &view))
}

/// Stores a theme in a cookie; needs no sign-in.
fn theme(visit: &Visit) -> Reply {
    let body = String::from_utf8_lossy(visit.request.body());
    let form = Fields::parse(&body);
    let theme = Theme::from_name(form.get("theme")).name();
    let cookie = format!("theme={theme}; Path=/; Max-Age=31536000; SameSite=Strict");
    Reply::bare(StatusCode::SEE_OTHER)
        .line(LOCATION, ours(form.get("next")))
        .line(SET_COOKIE, &cookie)
}

/// The redirect target, if it is a page of the console; the first page otherwise.
fn ours(next: &str) -> &str {
    let rest = next.strip_prefix("/console");
    let is_ours = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']));
    // Refuses anything but a single-line address.
    let is_plain = next
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_ours && is_plain {
        next
    } else {
        "/console"
    }
}

fn form(visit: &Visit, known: &[&str]) -> Result<Query, Fault> {
    let text = std::str::from_utf8(visit.request.body());
    let text = text.map_err(|_| Fault::malformed("the form is not text"))?;
    Query::read(text, known)
}

async fn login(office: &Office, visit: &Visit) -> Result<Reply, Fault> {
    let form = form(visit, &["token", "next", "user", "csrf"])?;
    let secret = form.text("token")?.unwrap_or_default();
    let client = ClientOrigin::of(office, &visit.peer, visit.request.headers());
    let caller = access::by_secret(office, secret.trim(), client).await?;
    let cookie = sessions::begin(office, &caller, visit.peer.is_sealed)?;
    signins::admitted(office, &caller.name, client).await;
    let next = form.text("next")?.unwrap_or_default();
    Ok(Reply::bare(StatusCode::SEE_OTHER)
        .line(LOCATION, ours(next))
        .line(SET_COOKIE, &cookie))
}

async fn logout(office: &Office, visit: &Visit) -> Result<Reply, Fault> {
    let form = form(visit, &["csrf"])?;
    let headers = visit.request.headers();
    let client = ClientOrigin::of(office, &visit.peer, headers);
    let caller = access::caller(office, headers, client).await?;
    let Some(session) = &caller.session else {
        return Err(Fault::malformed("there is no session to end"));
    };
    sessions::check_csrf(office, session, form.text("csrf")?)?;
    let cookie = sessions::end(office, session, visit.peer.is_sealed).await;
    Ok(Reply::bare(StatusCode::SEE_OTHER)
        .line(LOCATION, "/console/login")
        .line(SET_COOKIE, &cookie))
}

/// The prefix of customers' pages.
const MY: &str = "/my/";

#[cfg(test)]
mod tests {
    use super::ours;

    #[test]
    fn only_pages_of_the_console_are_gone_to() {
        for next in [
            "/console",
            "/console/contract?id=a%20b",
            "/console?done=force",
        ] {
            assert_eq!(ours(next), next);
        }
        for next in [
            "",
            "//evil",
            "/consolee",
            "https://evil/console",
            "/console/\r\nx: y",
            "/console/\\evil",
            "/my/x",
        ] {
            assert_eq!(ours(next), "/console", "{next}");
        }
    }
}
