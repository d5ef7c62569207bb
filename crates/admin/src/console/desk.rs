//! One request for a page: caller, fields, and the frame of the page.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, LOCATION};
use http::{HeaderMap, Method, Request, StatusCode};
use serde_json::Value;
use tollgate_console::assets::CONTENT_SECURITY_POLICY as POLICY;
use tollgate_console::editor::Fields;
use tollgate_console::{Moment, Notice, PageFrame, Theme, TokenRole, Url, Who};

use super::inner::SignedIn;
use crate::access::sessions;
use crate::answer::Reply;
use crate::fault::Fault;
use crate::time;

pub(super) struct PageRequest {
    pub(super) inner: SignedIn,
    pub(super) frame: PageFrame,
    /// The query string.
    pub(super) query: Fields,
    pub(super) form: Fields,
}

impl PageRequest {
    /// Refuses changes that do not come from a page of this server.
    pub(super) async fn new(inner: SignedIn, request: &Request<Bytes>) -> Result<Self, Fault> {
        let body = (*request.method() == Method::POST).then(|| request.body());
        let form = body.map_or_else(Fields::default, |body| {
            Fields::parse(&String::from_utf8_lossy(body))
        });
        let Some(session) = &inner.caller.session else {
            return Err(Fault::unauthorized("sign in to look at pages"));
        };
        if body.is_some() {
            sessions::check_csrf(&inner.office, session, Some(form.get("csrf")))?;
        }
        let query = Fields::parse(request.uri().query().unwrap_or(""));
        let csrf = sessions::csrf(&inner.office, session)?;
        let status = inner.get("/status").await?;
        let frame = PageFrame {
            who: Some(Who {
                name: inner.caller.name.clone(),
                role: role(inner.caller.role.name()),
            }),
            csrf,
            read_only: read_only(&status),
            revision: status["catalogue"]["revision"].as_u64().unwrap_or(0),
            notice: Done::from_name(query.get("done")).map(Done::notice),
            ..stranger(request)
        };
        Ok(Self {
            inner,
            frame,
            query,
            form,
        })
    }
}

/// The frame before sign-in.
pub(super) fn stranger(request: &Request<Bytes>) -> PageFrame {
    let headers = request.headers();
    let host = headers.get(HOST).and_then(|line| line.to_str().ok());
    // The answer to a form has no address to return to.
    let here = request.uri().path_and_query();
    let here = here.filter(|_| *request.method() == Method::GET);
    PageFrame {
        theme: theme(headers),
        here: here.map_or("/console", |here| here.as_str()).to_owned(),
        now: now(),
        node: host.unwrap_or_default().to_owned(),
        ..PageFrame::default()
    }
}

pub(super) fn now() -> Moment {
    Moment(i64::try_from(time::now_ns() / 1_000_000).unwrap_or(i64::MAX))
}

pub(super) fn role(name: &str) -> TokenRole {
    let found = TokenRole::ALL.into_iter().find(|role| role.name() == name);
    found.unwrap_or(TokenRole::Viewer)
}

fn read_only(status: &Value) -> Option<String> {
    let catalogue = &status["catalogue"];
    if catalogue["read_only"] != true {
        return None;
    }
    Some(match catalogue["file"].as_str() {
        Some(file) => format!("Contracts come from the file {file}; change them there."),
        None => "There is no catalogue; say where it is in the server's settings.".to_owned(),
    })
}

fn theme(headers: &HeaderMap) -> Theme {
    let lines = headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|line| line.to_str().ok());
    let mut cookies = lines.flat_map(|line| line.split(';'));
    let theme = cookies.find_map(|cookie| cookie.trim().strip_prefix("theme="));
    theme.map_or(Theme::System, Theme::from_name)
}

/// The outcome of a form, shown on the next page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Done {
    /// A change is in force on this node.
    InForce,
    /// A change was stored, but is not in force on this node yet.
    Kept,
    Applied,
    /// Nothing changed.
    Nothing,
}

impl Done {
    const ALL: [(Self, &'static str, &'static str); 4] = [
        (
            Self::InForce,
            "force",
            "Done. This node decides by it; every other does within a second.",
        ),
        (
            Self::Kept,
            "kept",
            "Kept, but not in force here yet: look at the health line of the overview.",
        ),
        (Self::Applied, "applied", "Done."),
        (
            Self::Nothing,
            "nothing",
            "There was nothing to do: no contract binds this key.",
        ),
    ];

    /// From the API's answer to a change.
    pub(super) fn of(told: &Value) -> Self {
        match (told["in_force"].as_bool(), told["applied"].as_bool()) {
            (Some(true), _) => Self::InForce,
            (Some(false), _) => Self::Kept,
            (None, Some(false)) => Self::Nothing,
            (None, _) => Self::Applied,
        }
    }

    /// The address of the page that shows it.
    pub(super) fn on(self, url: &Url) -> Url {
        let found = Self::ALL.iter().find(|(done, ..)| *done == self);
        found.map_or_else(
            || url.clone(),
            |(_, name, _)| url.clone().query("done", name),
        )
    }

    fn from_name(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, is, _)| *is == name);
        found.map(|(done, ..)| *done)
    }

    pub(super) fn notice(self) -> Notice {
        let found = Self::ALL.iter().find(|(done, ..)| *done == self);
        Notice {
            is_good: self != Self::Kept,
            text: found.map_or("", |(.., text)| text).to_owned(),
        }
    }
}

pub(super) fn html(page: String) -> Reply {
    Reply::text("text/html; charset=utf-8", page).line(CONTENT_SECURITY_POLICY, POLICY)
}

/// Redirects.
pub(super) fn onward(to: &Url) -> Reply {
    Reply::bare(StatusCode::SEE_OTHER).line(LOCATION, &to.to_string())
}

/// Cacheable for ever: the name changes with the content.
pub(super) fn file(asset: tollgate_console::assets::Asset) -> Reply {
    Reply::text(asset.kind, asset.text).line(CACHE_CONTROL, "public, max-age=31536000, immutable")
}
